//! Reads the events of a log in order: decodes each line, and adds the logical time of the event concerned to an error.
//!
//! Each line is proven to have the form of an event, a known kind with all its fields, and the logical time expected at its place. Hashes
//! are not checked.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

use super::decoded_event::Event;
use super::log::{Chunk, LogReader, Position, find};
use crate::disk::InputFile;
use crate::json::Nesting;
use crate::lines::Lines;
use crate::run::format::{ErrorCode, EventLine, Redactions, RunError, event_id};

/// Decodes the lines of a log, in order.
pub(super) struct EventDecoder<'r> {
    /// The time that the next line must have. `None` before the first line of a log that may begin at any time.
    next: Option<u64>,
    redactions: Cow<'r, Redactions>,
    nesting: Nesting,
}

impl<'r> EventDecoder<'r> {
    /// A decoder whose first line must have the time `next`. Events that `redactions` lists may lack a salt.
    pub(crate) fn new(next: Option<u64>, redactions: Cow<'r, Redactions>) -> Self {
        EventDecoder { next, redactions, nesting: Nesting::default() }
    }

    /// Splits the next line, which must have the form of an event and the expected time. The decoder moves on only in [`decode`](Self::decode).
    #[inline]
    pub(crate) fn split<'a>(&self, line: &'a str) -> Result<EventLine<'a>, RunError> {
        let line = EventLine::split(line)?;
        check_time(self.next, line.time)?;
        Ok(line)
    }

    /// Decodes a [split](Self::split) line, and moves on to the next one.
    #[inline]
    pub(crate) fn decode<'a>(&mut self, line: &EventLine<'a>) -> Result<Event<'a>, RunError> {
        self.redactions.admit(line)?;
        let event = Event::decode(line, &mut self.nesting)?;
        self.next = Some(line.time + 1);
        Ok(event)
    }

    /// Adds the time of the next event to an error that has none: a line whose own time can't be read is at the place of that event.
    pub(crate) fn place(&self, error: RunError) -> RunError {
        match self.next {
            Some(next) if error.system.is_none() => error.at_unless_known(next),
            _ => error,
        }
    }
}

/// An event of a chunk.
pub struct ReadEvent<'a> {
    /// The offset of its line in the chunk.
    pub start: usize,
    /// Its line.
    pub line: EventLine<'a>,
    /// The decoded event.
    pub event: Event<'a>,
}

/// Reads the events of a log, a chunk at a time.
pub struct EventReader<'r> {
    log: LogReader<InputFile>,
    decoder: EventDecoder<'r>,
    is_over: bool,
}

impl<'r> EventReader<'r> {
    /// Opens the log at `path` at the event at `from`, which is found without reading earlier ones. The log's first event must have the
    /// time `first`, if that is given. If the times in the log are not in order, it is read from its first event on, so that the error says
    /// where.
    pub fn open(path: &Path, first: Option<u64>, from: u64, redactions: Cow<'r, Redactions>) -> Result<Self, RunError> {
        let (mut next, mut offset, mut is_over) = (first, 0, false);
        if from > first.unwrap_or(0) {
            match find(&mut InputFile::open(path)?, from)? {
                Position::At(found) => (offset, next) = (found, Some(from)),
                Position::BehindEnd => is_over = true,
                Position::Unclear => {}
            }
        }
        let log = LogReader::open_at(path, offset)?;
        Ok(EventReader { log, decoder: EventDecoder::new(next, redactions), is_over })
    }

    /// The logical time of the first event of the log at `path`; 0 if there is none.
    pub fn first_time(path: &Path) -> Result<u64, RunError> {
        let chunk = LogReader::open(path)?.next_chunk(Vec::new())?;
        let line = chunk.as_ref().and_then(|chunk| Lines::new(chunk.bytes()).next());
        // A line that is not an event is reported when it is read.
        Ok(line.and_then(|(_, line)| EventLine::peek_time(line)).unwrap_or(0))
    }

    /// The size of the log in bytes.
    pub fn size(&self) -> Result<u64, RunError> {
        self.log.size()
    }

    /// The next lines, or `None` at the end. `spare` is as for [`LogReader::next_chunk`].
    pub fn next_chunk(&mut self, spare: Vec<u8>) -> Result<Option<Chunk>, RunError> {
        if self.is_over {
            return Ok(None);
        }
        self.log.next_chunk(spare).map_err(|error| self.decoder.place(error))
    }

    /// Decodes the events of the chunk that was read last, and passes each to `take` until that breaks. The error is that of the first line
    /// that is not an event.
    #[inline]
    pub fn decode(
        &mut self,
        chunk: &Chunk,
        mut take: impl FnMut(&ReadEvent<'_>) -> ControlFlow<()>,
    ) -> Result<(), RunError> {
        for line in chunk.lines() {
            let event = line.and_then(|(start, line)| {
                let line = self.decoder.split(line)?;
                Ok(ReadEvent { start, event: self.decoder.decode(&line)?, line })
            });
            let event = event.map_err(|error| self.decoder.place(error))?;
            if take(&event).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The offset in the log of the end of the lines read so far.
    pub fn offset(&self) -> u64 {
        self.log.offset()
    }

    /// Number of torn bytes at the end of the log. Valid once the end was reached.
    pub fn torn_bytes(&self) -> u64 {
        self.log.torn().bytes
    }
}

/// Checks that an event has the expected logical time, if there is one.
pub(crate) fn check_time(expected: Option<u64>, found: u64) -> Result<(), RunError> {
    let Some(expected) = expected.filter(|expected| *expected != found) else { return Ok(()) };
    let message = format!(
        "{} stands where {} should: an event was lost, inserted, repeated or moved",
        event_id(found),
        event_id(expected)
    );
    Err(RunError::new(ErrorCode::TimeGap, message).at(found).compared(expected.to_string(), found.to_string()))
}
