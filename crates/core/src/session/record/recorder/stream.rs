//! A record whose line is written in parts, because it is too large to be held. What is recorded meanwhile waits, and follows it.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Buffered, Kind, Record, Recorder, State, append_rest};
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
#[derive(Default)]
pub(super) struct Streaming {
    /// What had waited for the file, if the record has created it.
    waited: Option<Vec<Buffered>>,
    /// Number and size of the lines that were queued for it then.
    queued: (u64, u64),
    /// What waits for the record would have created the file too.
    is_file_wanted: bool,
}

impl Recorder {
    /// Begins a record whose payload follows in parts, and creates the file. Returns its number; `None` if the recorder is inactive. Until the record
    /// ends, the caller must neither dispose of the recorder nor resume another file. If another one is being written in parts, this one, and what
    /// is recorded after it, waits for its end.
    pub fn begin_stream(&self, type_json: &[u8], milliseconds: f64) -> Option<f64> {
        let mut stream = self.stream.lock();
        let state = &mut *self.lock();
        if state.disposed || self.writer.has_failed() {
            return None;
        }
        self.end_batch(state);
        let record = Record::<&[u8]> { type_json, milliseconds, payload: None };
        let mut rest = Vec::new();
        let Ok(_) = append_rest(&mut rest, record, &mut state.clock);
        rest.truncate(rest.len() - END.len());
        rest.extend_from_slice(PAYLOAD_KEY);
        let begun = Buffered { kind: Kind::Stream, version: Version::of(type_json), rest };
        if state.streaming.is_some() {
            self.want_file(state);
            state.buffered.push(begun);
            return Some(state.last_number());
        }
        let mut streaming = Streaming::default();
        if state.target.is_none() {
            streaming.queued = (state.buffered.len() as u64, state.buffered_size());
            streaming.waited = Some(state.buffered.clone());
            let Ok(true) = self.create_file::<&[u8]>(state, milliseconds, None) else { return None };
        }
        self.start_stream(&mut stream, state, &begun, streaming)
    }

    fn start_stream(
        &self,
        stream: &mut Stream,
        state: &mut State,
        begun: &Buffered,
        streaming: Streaming,
    ) -> Option<f64> {
        if !has_numbers_left(state.seq, 1.0) {
            self.fail_exhausted(state, 1);
            return None;
        }
        let target = state.target.clone()?;
        state.seq += 1.0;
        state.streaming = Some(streaming);
        let mut head = Vec::new();
        envelope::begin(&mut head, begun.version, state.seq);
        head.extend_from_slice(&begun.rest);
        *stream = Stream::Begun(target, head);
        Some(state.seq)
    }

    /// Lets a record wait for the end of the one that is written in parts.
    pub(super) fn buffer_behind_stream<P: Payload>(
        &self,
        state: &mut State,
        record: Record<'_, P>,
        creates_file: bool,
    ) -> Result<bool, P::Error> {
        self.buffer(state, record, Kind::Line)?;
        if creates_file {
            self.want_file(state);
        }
        Ok(true)
    }

    /// The file is not removed with the record that is written in parts, if that is not completed.
    pub(super) fn want_file(&self, state: &mut State) {
        if let Some(streaming) = &mut state.streaming {
            streaming.is_file_wanted = true;
        }
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
    pub fn write_part(&self, part: Vec<u8>, is_last: bool) {
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
            let written = line.write(&bytes).and_then(|()| if is_last { line.expect_at_path() } else { Ok(()) });
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
        self.push_waiting(&mut stream, state);
        true
    }

    /// The record is not completed: the file, and the numbers, are as before, and what was recorded meanwhile follows the record before.
    pub fn abort_stream(&self) {
        // A process that ends does not wait longer for a disk that does not answer.
        let Some(mut stream) = self.stream.try_lock_for(LAST_WRITES) else { return };
        let state = &mut *self.lock();
        self.abort(&mut stream, state);
    }

    /// The same for all that have begun: the process ends.
    pub fn abort_streams(&self) {
        let Some(mut stream) = self.stream.try_lock_for(LAST_WRITES) else { return };
        let state = &mut *self.lock();
        while state.streaming.is_some() {
            self.abort(&mut stream, state);
        }
    }

    fn abort(&self, stream: &mut Stream, state: &mut State) {
        cut(stream);
        let Some(streaming) = state.streaming.take() else { return };
        self.end_batch(state);
        state.seq -= 1.0;
        if !self.discard_streamed(state, streaming) {
            self.push_waiting(stream, state);
        }
    }

    /// Removes the file that the record has created, if nothing else needs it: what it was created with waits for it again, and so does what was
    /// recorded meanwhile.
    fn discard_streamed(&self, state: &mut State, streaming: Streaming) -> bool {
        let Streaming { waited: Some(mut waiting), queued: (lines, bytes), is_file_wanted: false } = streaming else {
            return false;
        };
        let Some(target) = state.target.clone() else { return false };
        if self.writer.take_back(&target, lines, bytes).is_err() {
            return false;
        }
        state.seq -= lines as f64;
        waiting.append(&mut state.buffered);
        self.discard_file(state, waiting);
        true
    }

    /// Queues what has waited, up to the next record that is written in parts, which begins.
    fn push_waiting(&self, stream: &mut Stream, state: &mut State) {
        self.end_batch(state);
        let Some(target) = state.target.clone() else { return };
        let mut waiting = std::mem::take(&mut state.buffered);
        let next = waiting.iter().position(|record| record.kind == Kind::Stream);
        if let Some(at) = next {
            state.buffered = waiting.split_off(at + 1);
        }
        let begun = if next.is_some() { waiting.pop() } else { None };
        if !waiting.is_empty() {
            let Ok(_) = self.push_together::<&[u8]>(state, &target, &waiting, None);
        }
        if let Some(begun) = begun {
            self.start_stream(stream, state, &begun, Streaming::default());
        }
    }
}

/// Removes what is written of the line. If that fails, a torn line stays, and the next record begins on a new one.
fn cut(stream: &mut Stream) {
    if let Stream::Open(line) = std::mem::take(stream) {
        let _ = line.cut();
    }
}
