//! A record whose line is written in parts, because it is too large to be held. What is recorded meanwhile waits, and follows it.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Buffered, Record, Recorder, append_rest};
use crate::disk::append::Target;
use crate::json::Payload;
use crate::lines::{LAST_WRITES, OpenLine, WriteError};
use crate::session::format::{END, PAYLOAD_KEY, Version, envelope, has_numbers_left};

/// The line that is being written.
#[derive(Default)]
pub(super) enum Stream {
    #[default]
    None,
    /// Nothing is written yet; the file, and the line's beginning.
    Begun(Arc<Target>, Vec<u8>),
    Open(OpenLine),
}

/// What is to be undone if the line is not completed.
pub(super) struct Streaming {
    /// What had waited for the file, if the record has created it.
    waited: Option<Vec<Buffered>>,
    /// Number and size of the lines that were queued for it then.
    queued: (u64, u64),
}

impl Recorder {
    /// Begins a record whose payload follows in parts, and creates the file. Returns its number; `None` if the recorder is inactive. Until the record
    /// ends, the caller must neither dispose of the recorder nor resume another file.
    pub fn begin_stream(&self, type_json: &[u8], milliseconds: f64) -> Option<f64> {
        let mut stream = self.stream.lock();
        let state = &mut *self.lock();
        if state.disposed || state.streaming.is_some() || self.writer.has_failed() {
            return None;
        }
        self.end_batch(state);
        let mut streaming = Streaming { waited: None, queued: (0, 0) };
        if state.target.is_none() {
            streaming.queued = (state.buffered.len() as u64, state.buffered_size());
            streaming.waited = Some(state.buffered.clone());
            let Ok(true) = self.create_file::<&[u8]>(state, milliseconds, None) else { return None };
        }
        if !has_numbers_left(state.seq, 1.0) {
            self.fail_exhausted(state, 1);
            return None;
        }
        let target = state.target.clone()?;
        state.seq += 1.0;
        state.streaming = Some(streaming);
        let mut head = Vec::new();
        envelope::begin(&mut head, Version::of(type_json), state.seq);
        let record = Record::<&[u8]> { type_json, milliseconds, payload: None };
        let Ok(_) = append_rest(&mut head, record, &mut state.clock);
        head.truncate(head.len() - END.len());
        head.extend_from_slice(PAYLOAD_KEY);
        let number = state.seq;
        *stream = Stream::Begun(target, head);
        Some(number)
    }

    /// Prepares the next part of the payload.
    pub fn part<P: Payload>(&self, text: P, is_last: bool) -> Result<Vec<u8>, P::Error> {
        let mut part = Vec::with_capacity(text.size() + END.len());
        text.append_to(&mut part)?;
        crate::json::escape_line_separators(&mut part, 0);
        if is_last {
            part.extend_from_slice(END);
        }
        Ok(part)
    }

    /// Writes a part. Everything that was recorded before the record must be in the file. An error ends the recording, after the line was removed.
    pub fn write_part(&self, part: Vec<u8>) {
        let mut stream = self.stream.lock();
        if self.writer.has_failed() {
            return cut(&mut stream);
        }
        let opened = match std::mem::take(&mut *stream) {
            Stream::None => return,
            Stream::Begun(target, head) => self.writer.open_line(&target).map(|line| (line, [head, part].concat())),
            Stream::Open(line) => Ok((line, part)),
        };
        let written = opened.and_then(|(mut line, bytes)| {
            let written = line.write(&bytes);
            *stream = Stream::Open(line);
            written
        });
        if let Err((error, path)) = written {
            cut(&mut stream);
            drop(stream);
            self.fail_stream(error, path);
        }
    }

    fn fail_stream(&self, error: WriteError, path: PathBuf) {
        let state = &mut *self.lock();
        if state.streaming.take().is_some() {
            self.fail(state, error, path, 1);
        }
    }

    /// The last part is written: what was recorded meanwhile follows. Returns false if the recording has ended before.
    pub fn end_stream(&self) -> bool {
        let mut stream = self.stream.lock();
        let state = &mut *self.lock();
        if state.streaming.take().is_none() || self.writer.has_failed() {
            cut(&mut stream);
            return false;
        }
        let Stream::Open(line) = std::mem::take(&mut *stream) else { return false };
        self.writer.close_line(line);
        self.forget_history(state);
        self.push_waiting(state);
        true
    }

    /// The record is not completed: the file, and the numbers, are as before, and what was recorded meanwhile follows the record before.
    pub fn abort_stream(&self) {
        // A process that ends does not wait longer for a disk that does not answer.
        let Some(mut stream) = self.stream.try_lock_for(LAST_WRITES) else { return };
        cut(&mut stream);
        let state = &mut *self.lock();
        let Some(Streaming { waited, queued: (lines, bytes) }) = state.streaming.take() else { return };
        state.batch = None;
        state.seq -= 1.0;
        let target = state.target.clone();
        match (waited, target) {
            // Only if nothing follows in the file.
            (Some(waited), Some(target)) if state.buffered.is_empty() => {
                if self.writer.take_back(&target, lines, bytes).is_ok() {
                    state.seq -= lines as f64;
                    self.discard_file(state, waited);
                }
            }
            _ => self.push_waiting(state),
        }
    }

    fn push_waiting(&self, state: &mut super::State) {
        state.batch = None;
        let waiting = std::mem::take(&mut state.buffered);
        if let Some(target) = state.target.clone()
            && !waiting.is_empty()
        {
            let Ok(_) = self.push_together::<&[u8]>(state, &target, &waiting, None);
        }
    }
}

/// Removes what is written of the line. If that fails, a torn line stays, and the next record begins on a new one.
fn cut(stream: &mut Stream) {
    if let Stream::Open(line) = std::mem::take(stream) {
        let _ = line.cut();
    }
}
