//! The event trace: a log's events one by one, over a range of times, with no more of the log in memory than a chunk.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

use super::error::RunError;
use super::event::EventLine;
use super::event_reader::{EventReader, ReadEvent};
use super::kind::Kind;
use super::log::Chunk;
use super::redactions::Redactions;

/// The events of a log, in order.
///
/// Each is proven to be an event, as [`EventReader`] does it; those that are not wanted too.
pub struct Trace {
    reader: EventReader<'static>,
    range: Range,
    chunk: Option<Chunk>,
    /// Where in the chunk the lines of the events are that are wanted.
    wanted: Vec<(usize, usize)>,
    /// How many of those were handed out.
    taken: usize,
    /// What is wrong with the line behind those.
    fault: Option<RunError>,
    done: bool,
}

/// Which events of a log are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first logical time wanted.
    pub from: u64,
    /// The last logical time wanted.
    pub to: u64,
    /// The kinds wanted. None: all.
    pub kinds: Option<Vec<Kind>>,
    /// The logical time of the log's first line: 0, but for what comes after a snapshot. None: whatever it is.
    pub first: Option<u64>,
}

impl Default for Range {
    fn default() -> Self {
        Range { from: 0, to: u64::MAX, kinds: None, first: Some(0) }
    }
}

impl Range {
    fn holds(&self, time: u64, kind: Kind) -> bool {
        time >= self.from && self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }
}

impl Trace {
    /// Opens the log at `path` at the first event of `range`, which is found without reading what comes before.
    pub fn open(path: &Path, range: Range, redactions: Redactions) -> Result<Self, RunError> {
        let reader = EventReader::open(path, range.first, range.from, Cow::Owned(redactions))?;
        let done = range.from.max(range.first.unwrap_or(0)) > range.to;
        Ok(Trace { reader, range, chunk: None, wanted: Vec::new(), taken: 0, fault: None, done })
    }

    /// The next event, or `None` at the end of the range or of the log. After an error there is no next one.
    #[allow(clippy::should_implement_trait)] // An event borrows from the trace, which an Iterator can't say.
    pub fn next(&mut self) -> Option<Result<EventLine<'_>, RunError>> {
        while self.taken == self.wanted.len() {
            if let Some(fault) = self.fault.take() {
                return Some(Err(fault));
            }
            if self.done {
                return None;
            }
            if let Err(fault) = self.read() {
                (self.done, self.fault) = (true, Some(fault));
            }
        }
        let (start, end) = self.wanted[self.taken];
        self.taken += 1;
        let bytes = self.chunk.as_ref().map_or(&[][..], Chunk::bytes);
        // Already validated; validating it again costs little compared with splitting it.
        Some(EventLine::split(std::str::from_utf8(&bytes[start..end]).unwrap_or_default()))
    }

    /// Passes each event of the range to `take`, decoded, all kinds. The error is that of the first line that is no event.
    pub fn for_each(self, mut take: impl FnMut(&ReadEvent<'_>)) -> Result<(), RunError> {
        let Trace { mut reader, range, done, .. } = self;
        let (mut spare, mut is_over) = (Vec::new(), done);
        while !is_over {
            let Some(chunk) = reader.next_chunk(spare)? else { break };
            reader.decode(&chunk, |event| {
                if (range.from..=range.to).contains(&event.line.time) {
                    take(event);
                }
                is_over = event.line.time >= range.to;
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            spare = chunk.into_spare();
        }
        Ok(())
    }

    /// Reads the next chunk, and notes which of its events are wanted. An error is that of the line behind those.
    fn read(&mut self) -> Result<(), RunError> {
        let Trace { reader, range, chunk, wanted, done, .. } = self;
        wanted.clear();
        self.taken = 0;
        let spare = chunk.take().map(Chunk::into_spare).unwrap_or_default();
        let Some(read) = reader.next_chunk(spare)? else {
            *done = true;
            return Ok(());
        };
        reader.decode(chunk.insert(read), |event| {
            let time = event.line.time;
            if time <= range.to && range.holds(time, event.event.kind()) {
                wanted.push((event.start, event.start + event.line.line.len()));
            }
            *done = time >= range.to;
            if *done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }
}

#[cfg(test)]
mod tests;
