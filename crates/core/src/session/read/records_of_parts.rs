//! Reads the lines of a session, part by part.

use std::ops::Range;
use std::sync::Arc;

use crate::json::Nesting;
use crate::lines::{LineReader, LineSource, Lines, ReadError};
use crate::session::fold::LinePosition;
use crate::session::format::{Body, Line, Mode};

/// Reads the lines of parts of a session. Reuses its buffer.
pub struct Records {
    pub(super) source: Arc<LineSource>,
    pub(super) reader: LineReader,
    mode: Mode,
    nesting: Nesting,
}

impl Records {
    /// A reader of the parts of a file.
    pub(crate) fn new(source: Arc<LineSource>, reader: LineReader, mode: Mode) -> Self {
        Records { source, reader, mode, nesting: Nesting::default() }
    }

    /// Reads the lines that begin in a part and that `may_matter`, and calls `take` with each event. Unlike in a replay, an invalid `session_start` does
    /// not end it. `may_matter` is also called with several lines at once: a search of all is faster than one of each.
    pub(crate) fn each(
        &mut self,
        part: Range<u64>,
        may_matter: fn(&[u8]) -> bool,
        mut take: impl FnMut(&Body, &LinePosition<'_>),
    ) -> Result<(), ReadError> {
        self.reader.begin(part);
        while let Some(chunk) = self.reader.next_chunk(&self.source, 0)? {
            let lines = Some(chunk.bytes).filter(|lines| may_matter(lines)).unwrap_or_default();
            for (at, line) in Lines::new(lines).filter(|(_, line)| may_matter(line)) {
                if let Line::Event(event) = Line::read(line, self.mode, &mut self.nesting) {
                    take(&event.body, &LinePosition { line, offset: chunk.offset + at as u64, first_of_file: false });
                }
            }
        }
        Ok(())
    }
}
