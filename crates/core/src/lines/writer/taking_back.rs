//! Taking lines back that were queued last, and lines that are written in parts. Both cut the file back to the line before.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::sink::Sink;
use super::thread::BatchError;
use super::{LAST_WRITES, SEGMENT_BYTES, State, WriteError, Writer};
use crate::disk::append::{Replaced, Target};
use crate::disk::{Durability, OsError, files};

/// Why lines can't be taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TakeBackError {
    /// The writer has failed.
    #[error("recording is not active")]
    Failed,
    /// They are being written.
    #[error("the records are not written yet")]
    NotWritten,
    /// Another program has appended to the file.
    #[error("another program has appended to '{}'", .0.display())]
    AppendedTo(PathBuf),
    /// The file can't be cut.
    #[error("{0}")]
    Write(#[from] WriteError),
}

impl Writer {
    /// Takes the last `lines` lines back, which have `bytes` bytes in all and were queued together: out of the queue or, once they are written, out of
    /// the file. Returns whether a tap may have got them.
    pub fn take_back(&self, target: &Arc<Target>, lines: u64, bytes: u64) -> Result<bool, TakeBackError> {
        let mut state = self.shared.state.lock();
        if state.takes_no_more() {
            return Err(TakeBackError::Failed);
        }
        if let Some(was_tapped) = state.take_from_queue(target, lines, bytes) {
            return Ok(was_tapped);
        }
        drop(state);
        if !self.shared.drain(Instant::now() + LAST_WRITES) {
            return Err(TakeBackError::NotWritten);
        }
        let mut state = self.shared.state.lock();
        if state.takes_no_more() {
            return Err(TakeBackError::Failed);
        }
        let known = target.end();
        let mut sink = Sink::open(target, state.seam.as_ref()).map_err(|(error, _)| error)?;
        let end = sink.end();
        let is_as_written = known.is_none_or(|known| known == end);
        if !is_as_written
            || !sink.cut_to(target.without_newline(end.saturating_sub(bytes))).map_err(WriteError::from)?
        {
            return Err(TakeBackError::AppendedTo(target.path().to_path_buf()));
        }
        state.forget_written(lines, bytes);
        if let Some((target, file)) = sink.finish()
            && self.shared.durability == Durability::Fsync
        {
            state.unsynced.add(&target, file);
        }
        Ok(state.tap.is_some())
    }

    /// Removes the file of `target`, which was created for lines that were taken back, unless others have written to it. Releases its lock.
    pub fn discard(&self, target: &Arc<Target>) {
        self.shared.state.lock().targets.retain(|held| !Arc::ptr_eq(held, target));
        if files::metadata(target.path()).is_ok_and(|metadata| metadata.size == 0) {
            // If this fails, an empty file stays, which is no session.
            let _ = files::remove_file(target.path());
        }
        target.unlock();
    }

    /// Ends a [hold](Self::hold).
    pub fn release(&self) {
        let mut state = self.shared.state.lock();
        if std::mem::take(&mut state.is_held) && !state.queue.is_empty() {
            self.shared.start(state);
        }
    }

    /// Opens the file of `target` for one line that is written in parts. Everything that was queued before must be written, and nothing may be queued
    /// until the line ends.
    pub(crate) fn open_line(&self, target: &Arc<Target>) -> Result<OpenLine, BatchError> {
        let seam = self.shared.state.lock().seam.clone();
        let sink = Sink::open(target, seam.as_ref())?;
        Ok(OpenLine { from: sink.end(), end: None, sink })
    }

    /// Counts a line that is complete as queued and written.
    pub(crate) fn close_line(&self, line: OpenLine) {
        let end = line.end.unwrap_or(line.from);
        let appended = line.sink.finish();
        let mut state = self.shared.state.lock();
        state.queued += 1;
        state.written += 1;
        if let Some(acknowledgements) = &mut state.acknowledgements {
            acknowledgements.note(b"\n", 1, end);
        }
        if let Some((target, file)) = appended
            && self.shared.durability == Durability::Fsync
        {
            state.unsynced.add(&target, file);
        }
    }
}

/// A line that is written in parts, under the lock of a batch.
pub(crate) struct OpenLine {
    sink: Sink,
    /// Where the file ended before it.
    from: u64,
    /// Where the last part ends; `None` before the first one.
    end: Option<u64>,
}

impl OpenLine {
    /// Writes the next part, in pieces of at most [`SEGMENT_BYTES`].
    pub(crate) fn write(&mut self, mut part: &[u8]) -> Result<(), BatchError> {
        let path = || self.sink.target().path().to_path_buf();
        let path = path();
        while !part.is_empty() {
            let (piece, rest) = part.split_at(piece_size(part));
            let end = self.sink.append(piece).map_err(|torn| (torn.error.into(), path.clone()))?;
            // Another writer did not wait for the lock: the line is broken in two, and neither part may be removed.
            if self.end.is_some_and(|before| before + piece.len() as u64 != end) {
                return Err((WriteError::Replaced { why: Replaced::Interrupted, path: path.clone() }, path));
            }
            (self.end, part) = (Some(end), rest);
        }
        Ok(())
    }

    /// An error if the file that was written to is no longer the one at its path: a batch would not be appended to it either.
    pub(crate) fn expect_at_path(&self) -> Result<(), BatchError> {
        self.sink.expect_at_path()
    }

    /// Removes what was written of the line.
    pub(crate) fn cut(mut self) -> Result<bool, OsError> {
        self.sink.cut_to(self.from)
    }
}

/// The size of the next piece of a text: never a part of a character.
fn piece_size(text: &[u8]) -> usize {
    if text.len() <= SEGMENT_BYTES {
        return text.len();
    }
    let is_start = |at: &usize| text[*at] & 0xC0 != 0x80;
    (SEGMENT_BYTES - 3..=SEGMENT_BYTES).rev().find(is_start).unwrap_or(SEGMENT_BYTES)
}

impl State {
    /// Removes lines from the end of the queue. `None` if the thread has taken them, or someone waits for them. Returns whether a tap has got them.
    fn take_from_queue(&mut self, target: &Arc<Target>, lines: u64, bytes: u64) -> Option<bool> {
        if self.is_waited_for() || self.is_tapping {
            return None;
        }
        let last = self.queue.back_mut().filter(|last| Arc::ptr_eq(&last.target, target) && last.lines >= lines)?;
        let left = last.bytes.len().checked_sub(bytes as usize)?;
        let was_tapped = last.tapped > left;
        last.bytes.truncate(left);
        last.tapped = last.tapped.min(left);
        last.lines -= lines;
        if last.lines == 0 {
            self.queue.pop_back();
        }
        self.pending_lines = self.pending_lines.saturating_sub(lines);
        self.pending_bytes = self.pending_bytes.saturating_sub(bytes);
        self.forget_queued(lines);
        Some(was_tapped)
    }

    fn forget_queued(&mut self, lines: u64) {
        self.queued = self.queued.saturating_sub(lines);
        if let Some(watched) = self.acknowledgements.as_mut().and_then(|one| one.watched.as_mut()) {
            *watched = watched.saturating_sub(lines);
        }
    }

    fn forget_written(&mut self, lines: u64, bytes: u64) {
        self.forget_queued(lines);
        self.written = self.written.saturating_sub(lines);
        self.synced = self.synced.min(self.written);
        let (lines_in_turn, bytes_in_turn) = self.written_in_turn;
        self.written_in_turn = (lines_in_turn.saturating_sub(lines), bytes_in_turn.saturating_sub(bytes));
        if let Some(acknowledgements) = &mut self.acknowledgements {
            acknowledgements.forget_after(self.written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_at_a_character() {
        for character in ["x", "ü", "€", "🦀"] {
            let text = character.repeat(SEGMENT_BYTES);
            let mut rest = text.as_bytes();
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(piece_size(rest));
                assert!(piece.len() <= SEGMENT_BYTES && piece.len() + 3 >= SEGMENT_BYTES.min(rest.len()));
                assert!(std::str::from_utf8(piece).is_ok());
                rest = behind;
            }
        }
    }
}
