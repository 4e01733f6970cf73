//! The event trace: reads the events of a log one by one, over a range of times, with only one chunk of the log in memory.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

use super::event_reader::{EventReader, ReadEvent};
use super::log::Chunk;
use crate::run::format::{EventLine, Kind, Redactions, RunError};

/// The events of a log, in order.
///
/// Every event read is checked as by [`EventReader`], including those that are not wanted.
pub struct Trace {
    reader: EventReader<'static>,
    range: Range,
    chunk: Option<Chunk>,
    /// Start and end in the chunk of the lines of wanted events.
    wanted: Vec<(usize, usize)>,
    /// Number of those that were returned.
    taken: usize,
    /// What is wrong with the line after those.
    fault: Option<RunError>,
    done: bool,
}

/// Selects events of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first logical time wanted.
    pub from: u64,
    /// The last logical time wanted.
    pub to: u64,
    /// The kinds wanted. `None` for all.
    pub kinds: Option<Vec<Kind>>,
    /// The logical time of the log's first line: 0, unless the log begins after a snapshot. `None` for any time.
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
    /// Opens the log at `path` at the first event of `range`, which is found without reading earlier ones.
    pub fn open(path: &Path, range: Range, redactions: Redactions) -> Result<Self, RunError> {
        let reader = EventReader::open(path, range.first, range.from, Cow::Owned(redactions))?;
        let done = range.from.max(range.first.unwrap_or(0)) > range.to;
        Ok(Trace { reader, range, chunk: None, wanted: Vec::new(), taken: 0, fault: None, done })
    }

    /// The next event, or `None` at the end of the range or of the log, and after an error.
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

    /// Passes each event of the range to `take`, decoded, whatever its kind. The error is that of the first line that is not an event.
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

    /// Reads the next chunk, and notes which of its events are wanted. An error concerns the line after those.
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
