//! The events of a chunk of lines, decoded as far as possible without a state, so that any thread can decode any chunk.

use std::sync::Arc;

use self_cell::self_cell;

use super::decoded_event::Event;
use super::log::Chunk;
use crate::json::Nesting;
use crate::run::format::{EventLine, LineOffsets, Redactions, RunError};

self_cell! {
    /// Lines, with the events that borrow from them.
    pub struct DecodedChunk {
        owner: Chunk,
        #[covariant]
        dependent: DecodedLines,
    }
}

/// The events of lines, up to the first line that is not an event.
pub(super) struct DecodedLines<'a> {
    /// The events, in order. Their times are not checked yet.
    pub events: Vec<DecodedLine<'a>>,
    /// The offsets of the lines that have the form of an event, if they are noted. That is one more than there are events if the line after
    /// the last event has that form and is still not an event.
    pub offsets: Vec<LineOffsets>,
    /// What is wrong with the line after them.
    pub fault: Option<Fault>,
}

/// An event, and what the fold needs to know about its line.
pub(super) struct DecodedLine<'a> {
    /// The event.
    pub event: Event<'a>,
    /// Whether the line has no salt.
    pub is_redacted: bool,
}

/// What is wrong with a line.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// The line's logical time, if the line has the form of an event. Its time is checked before this error is reported.
    pub time: Option<u64>,
    /// The error.
    pub error: Box<RunError>,
}

impl Fault {
    fn of_line(line: &EventLine<'_>, error: RunError) -> Self {
        Fault { time: Some(line.time), error: Box::new(error) }
    }
}

impl From<RunError> for Fault {
    fn from(error: RunError) -> Self {
        Fault { time: None, error: Box::new(error) }
    }
}

/// Decodes chunks.
pub(super) struct ChunkDecoder {
    redactions: Arc<Redactions>,
    /// Whether to note the offsets of lines.
    notes_offsets: bool,
    nesting: Nesting,
}

impl ChunkDecoder {
    /// A decoder for a log in which the events that `redactions` lists may lack a salt.
    pub(crate) fn new(redactions: Arc<Redactions>, notes_offsets: bool) -> Self {
        ChunkDecoder { redactions, notes_offsets, nesting: Nesting::default() }
    }

    /// Decodes the lines of a chunk.
    pub(crate) fn decode(&mut self, chunk: Chunk) -> DecodedChunk {
        DecodedChunk::new(chunk, |chunk| {
            let mut lines = DecodedLines { events: Vec::new(), offsets: Vec::new(), fault: None };
            lines.fault = self.read(chunk, &mut lines).err();
            lines
        })
    }

    fn read<'a>(&mut self, chunk: &'a Chunk, lines: &mut DecodedLines<'a>) -> Result<(), Fault> {
        for line in chunk.lines() {
            let (start, line) = line?;
            let line = EventLine::split(line)?;
            if self.notes_offsets {
                lines.offsets.push(LineOffsets::of(&line, start));
            }
            let event = self.event(&line).map_err(|error| Fault::of_line(&line, error))?;
            lines.events.push(DecodedLine { event, is_redacted: line.salt.is_none() });
        }
        Ok(())
    }

    #[inline]
    fn event<'a>(&mut self, line: &EventLine<'a>) -> Result<Event<'a>, RunError> {
        self.redactions.admit(line)?;
        Event::decode(line, &mut self.nesting)
    }
}
