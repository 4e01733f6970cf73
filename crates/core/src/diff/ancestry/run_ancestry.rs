//! The ancestors of a run's event, found by following `parent` in the log.

use std::io::{self, Read, Seek, SeekFrom};

use super::causal_chain::{Chain, Edge, Evidence, MAX_EDGES};
use crate::diff::stream::{Source, first_time};
use crate::disk::{InputFile, OsError};
use crate::json::Nesting;
use crate::lines::Lines;
use crate::run::{
    ErrorCode, Event, EventLine, MAX_LINE_BYTES, Payload, Position, Range, Redactions, RunError, Trace, event_id, find,
    peek_time,
};
use crate::task::{Progress, Task};

/// Number of bytes before an event that are read together with it: most causes are near.
const BLOCK_BYTES: u64 = 256 << 10;

/// Number of causes followed between two checks for cancellation.
const EDGES_AT_A_TIME: usize = 256;

/// The ancestors of the event at `time`. Returns `None` if there is no such event.
pub(crate) fn chain(source: &Source, time: u64, task: &mut Task<'_>) -> Result<Option<Chain>, RunError> {
    let first = match source.first {
        Some(first) => first,
        None => first_time(source)?,
    };
    if time < first {
        return Ok(None);
    }
    let mut log = Lookup::open(source)?;
    let Some(mut parent) = log.event(time)?.map(|event| event.parent) else { return Ok(None) };
    let (mut chain, mut child) = (Chain::default(), time);
    while let Some(time) = parent {
        if time < first || chain.edges.len() == MAX_EDGES {
            chain.truncated = true;
            break;
        }
        if chain.edges.len() % EDGES_AT_A_TIME == 0 {
            task.report(Progress::default())?;
        }
        if time >= child {
            return Err(not_earlier(child, time));
        }
        let event = log.event(time)?.ok_or_else(|| not_earlier(child, time))?;
        (parent, child) = (event.parent, time);
        chain.edges.push(event.edge);
    }
    Ok(Some(chain))
}

/// Whether the log has an event at this time.
pub(crate) fn has_event(source: &Source, time: u64) -> Result<bool, RunError> {
    Lookup::open(source)?.event(time).map(|event| event.is_some())
}

fn not_earlier(child: u64, parent: u64) -> RunError {
    let message =
        format!("{} names {} as its cause, which is no earlier event of the log", event_id(child), event_id(parent));
    RunError::new(ErrorCode::ParentMissing, message).at(child)
}

struct Ancestor {
    parent: Option<u64>,
    edge: Edge,
}

/// Looks up events of a log by their time. Earlier events near the last one that was read are found in memory.
struct Lookup<'s> {
    source: &'s Source,
    file: InputFile,
    block: Vec<u8>,
    /// Time, start and end of each line in the block.
    lines: Vec<(u64, usize, usize)>,
}

impl<'s> Lookup<'s> {
    fn open(source: &'s Source) -> Result<Self, RunError> {
        let file = InputFile::open(&source.log)?;
        Ok(Lookup { source, file, block: Vec::new(), lines: Vec::new() })
    }

    fn event(&mut self, time: u64) -> Result<Option<Ancestor>, RunError> {
        if self.lines.binary_search_by_key(&time, |line| line.0).is_err() {
            match find(&mut self.file, time)? {
                Position::At(offset) => self.load(offset).map_err(|error| OsError::new(&error, "read", None))?,
                Position::BehindEnd => return Ok(None),
                Position::Unclear => return Err(self.damage(time)),
            }
        }
        let Ok(at) = self.lines.binary_search_by_key(&time, |line| line.0) else { return Ok(None) };
        let (_, start, end) = self.lines[at];
        let line = std::str::from_utf8(&self.block[start..end]).unwrap_or_default();
        ancestor(line).map(Some).map_err(|error| error.at_unless_known(time))
    }

    /// Reads the line at `offset` and the block before it.
    fn load(&mut self, offset: u64) -> io::Result<()> {
        let start = offset.saturating_sub(BLOCK_BYTES);
        let before = (offset - start) as usize;
        self.block.clear();
        self.file.seek(SeekFrom::Start(start))?;
        let mut wanted = before as u64 + 4096;
        loop {
            let read = (&mut self.file).take(wanted).read_to_end(&mut self.block)?;
            let line = &self.block[before.min(self.block.len())..];
            if read == 0 || memchr::memchr(b'\n', line).is_some() || line.len() > MAX_LINE_BYTES {
                break;
            }
            wanted = line.len() as u64;
        }
        self.index(start > 0);
        Ok(())
    }

    fn index(&mut self, begins_inside: bool) {
        let skip = match memchr::memchr(b'\n', &self.block) {
            Some(newline) if begins_inside => newline + 1,
            _ => 0,
        };
        // The bytes after the last newline are cut off, or a torn line.
        let end = memchr::memrchr(b'\n', &self.block).map_or(skip, |newline| newline + 1).max(skip);
        self.lines.clear();
        for (at, line) in Lines::new(&self.block[skip..end]) {
            if let Some(time) = peek_time(line).filter(|&time| self.lines.last().is_none_or(|last| last.0 < time)) {
                self.lines.push((time, skip + at, skip + at + line.len()));
            }
        }
    }

    /// The error of a log in which an event can't be looked up, found by reading the log from the beginning.
    fn damage(&self, time: u64) -> RunError {
        let Source { log, first, redactions, .. } = self.source;
        let range = Range { from: 0, to: time, kinds: Some(Vec::new()), first: *first };
        let found =
            Trace::open(log, range, Redactions::clone(redactions)).map(|mut trace| trace.next().and_then(Result::err));
        let otherwise = || RunError::new(ErrorCode::TimeGap, "The log's events are not in order").at(time);
        found.unwrap_or_else(Some).unwrap_or_else(otherwise)
    }
}

fn ancestor(line: &str) -> Result<Ancestor, RunError> {
    let event = EventLine::split(line)?;
    let decoded = Event::decode(&event, &mut Nesting::default())?;
    let tool = match &decoded.payload {
        Payload::ToolInvoked { tool, .. }
        | Payload::ToolCompleted { tool, .. }
        | Payload::ToolFailed { tool, .. }
        | Payload::ToolTimedOut { tool, .. } => Some(tool),
        _ => None,
    };
    let label = tool.or(decoded.node.as_ref()).map(|label| label.to_plain().into_owned());
    let (number, kind) = (event.time, event.kind.to_owned());
    let edge = Edge { number, event_id: event.id(), kind, label, evidence: Evidence::Recorded };
    Ok(Ancestor { parent: event.parent, edge })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::{silent, trace};
    use crate::run::{Recorded, SampleOptions};

    #[test]
    fn ancestry_follows_the_recorded_parents() {
        let options = SampleOptions { nodes: 40, max_events: 3000, ..SampleOptions::default() };
        let recorded = Recorded::new(options);
        let source = Source::run(recorded.directory.root());
        for time in (0..=recorded.last()).step_by(7) {
            let mut expected = Vec::new();
            let mut parent = recorded.records[time as usize].parent;
            while let Some(time) = parent {
                expected.push(time);
                parent = recorded.records[time as usize].parent;
            }
            let chain = chain(&source, time, &mut silent()).unwrap().unwrap();
            assert_eq!(chain.edges.iter().map(|edge| edge.number).collect::<Vec<_>>(), expected);
            assert!(!chain.truncated);
            for edge in chain.edges {
                assert_eq!(edge.kind, recorded.records[edge.number as usize].kind.as_str());
                assert_eq!(edge.event_id, event_id(edge.number));
            }
        }
        assert_eq!(chain(&source, recorded.last() + 1, &mut silent()), Ok(None));
    }

    #[test]
    fn ancestry_ends_where_a_partial_log_begins() {
        let recorded = Recorded::new(SampleOptions { nodes: 10, max_events: 300, ..SampleOptions::default() });
        let log = recorded.log();
        let at = memchr::memchr_iter(b'\n', &log).nth(99).unwrap() + 1;
        std::fs::write(recorded.directory.log(), &log[at..]).unwrap();
        let time = recorded.last();
        for first in [Some(100), None] {
            let source = Source { first, ..Source::run(recorded.directory.root()) };
            let chain = chain(&source, time, &mut silent()).unwrap().unwrap();
            assert!(chain.truncated);
            assert!(chain.edges.iter().all(|edge| edge.number >= 100));
        }
    }

    #[test]
    fn event_ids_have_one_spelling() {
        let recorded = Recorded::new(SampleOptions { max_events: 10, ..SampleOptions::default() });
        let path = recorded.directory.root();
        assert_eq!(trace(path, "evt_0").unwrap(), Chain::default());
        for id in
            ["", "0", "evt_", "evt_-1", "evt_00", "evt_+1", "rec_0", "evt_99", "EVT_0", "evt_99999999999999999999"]
        {
            assert_eq!(trace(path, id).unwrap_err().code(), "NoSuchEvent", "{id}");
        }
    }
}
