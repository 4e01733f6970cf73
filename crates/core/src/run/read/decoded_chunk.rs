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

/// The allocated memory of a list of events, for reuse.
#[derive(Default)]
pub(super) struct EventBuffer(Vec<DecodedLine<'static>>);

impl EventBuffer {
    fn of(mut events: Vec<DecodedLine<'_>>) -> Self {
        events.clear();
        // `collect` reuses the allocation of the list that it consumes.
        EventBuffer(events.into_iter().map_while(|_| None).collect())
    }
}

impl DecodedChunk {
    /// The lines, and the memory of the list of events.
    pub(crate) fn into_parts(mut self) -> (Chunk, EventBuffer) {
        let events = self.with_dependent_mut(|_, lines| EventBuffer::of(std::mem::take(&mut lines.events)));
        (self.into_owner(), events)
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

    /// Decodes the lines of a chunk. If the decoder notes offsets, it adds those of the lines that have the form of an event to `offsets`.
    /// That is one more than there are events if the line after the last event has that form and is still not an event.
    pub(crate) fn decode(&mut self, chunk: Chunk, buffer: EventBuffer, offsets: &mut Vec<LineOffsets>) -> DecodedChunk {
        DecodedChunk::new(chunk, |chunk| {
            let EventBuffer(mut events) = buffer;
            let fault = self.read(chunk, &mut events, offsets).err();
            DecodedLines { events, fault }
        })
    }

    fn read<'a>(
        &mut self,
        chunk: &'a Chunk,
        events: &mut Vec<DecodedLine<'a>>,
        offsets: &mut Vec<LineOffsets>,
    ) -> Result<(), Fault> {
        for line in chunk.lines() {
            let (start, line) = line?;
            let line = EventLine::split(line)?;
            if self.notes_offsets {
                offsets.push(LineOffsets::of(&line, start));
            }
            let event = self.event(&line).map_err(|error| Fault::of_line(&line, error))?;
            events.push(DecodedLine { event, is_redacted: line.salt.is_none() });
        }
        Ok(())
    }

    #[inline]
    fn event<'a>(&mut self, line: &EventLine<'a>) -> Result<Event<'a>, RunError> {
        self.redactions.admit(line)?;
        Event::decode(line, &mut self.nesting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::format::log_of;
    use crate::run::read::log::LogReader;

    #[test]
    fn the_memory_of_a_list_of_events_is_used_again() {
        let log = log_of(100, 10);
        let read = || LogReader::new(&log[..], 0).next_chunk(Vec::new()).unwrap().unwrap();
        let mut decoder = ChunkDecoder::new(Arc::default(), false);
        let decoded = decoder.decode(read(), EventBuffer::default(), &mut Vec::new());
        assert_eq!(decoded.borrow_dependent().events.len(), 100);
        let memory = decoded.borrow_dependent().events.as_ptr().addr();
        let (_, buffer) = decoded.into_parts();
        assert!(buffer.0.capacity() >= 100);
        let again = decoder.decode(read(), buffer, &mut Vec::new());
        assert_eq!(
            (again.borrow_dependent().events.len(), again.borrow_dependent().events.as_ptr().addr()),
            (100, memory)
        );
    }
}
