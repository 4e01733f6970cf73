//! Looks up single events of a log by their time.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::decoded_event::Event;
use super::log::{Position, find};
use super::trace::{Range, Trace};
use crate::disk::{InputFile, OsError};
use crate::json::Nesting;
use crate::lines::Lines;
use crate::run::format::{ErrorCode, EventLine, Payload, Redactions, RunError};

/// Number of bytes before an event that are read together with it: most causes are near.
const BLOCK_BYTES: u64 = 256 << 10;

/// An event that was looked up.
pub(crate) struct FoundEvent {
    /// The logical time of its cause.
    pub parent: Option<u64>,
    /// The name of its kind, as in its line.
    pub kind: String,
    /// The tool of an event of a call, or else its node.
    pub label: Option<String>,
}

/// Looks up events of a log by their time. Earlier events near the last one that was read are found in memory.
pub(crate) struct EventLookup<'l> {
    log: &'l Path,
    first: Option<u64>,
    redactions: &'l Redactions,
    file: InputFile,
    block: Vec<u8>,
    /// Time, start and end of each line in the block.
    lines: Vec<(u64, usize, usize)>,
}

impl<'l> EventLookup<'l> {
    /// Opens the log at `log`, whose first event is at the time `first`; `None` if that is unknown.
    pub(crate) fn open(log: &'l Path, first: Option<u64>, redactions: &'l Redactions) -> Result<Self, RunError> {
        let file = InputFile::open(log)?;
        Ok(EventLookup { log, first, redactions, file, block: Vec::new(), lines: Vec::new() })
    }

    /// The event at `time`. Returns `None` if there is no such event.
    pub(crate) fn event(&mut self, time: u64) -> Result<Option<FoundEvent>, RunError> {
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
        found(line).map(Some).map_err(|error| error.at_unless_known(time))
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
            if read == 0 || memchr::memchr(b'\n', line).is_some() || line.len() > EventLine::MAX_BYTES {
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
            if let Some(time) =
                EventLine::peek_time(line).filter(|&time| self.lines.last().is_none_or(|last| last.0 < time))
            {
                self.lines.push((time, skip + at, skip + at + line.len()));
            }
        }
    }

    /// The error of a log in which an event can't be looked up, found by reading the log from the beginning.
    fn damage(&self, time: u64) -> RunError {
        let range = Range { from: 0, to: time, kinds: Some(Vec::new()), first: self.first };
        let trace = Trace::open(self.log, range, self.redactions.clone());
        let found = trace.map(|mut trace| trace.next().and_then(Result::err));
        let otherwise = || RunError::new(ErrorCode::TimeGap, "The log's events are not in order").at(time);
        found.unwrap_or_else(Some).unwrap_or_else(otherwise)
    }
}

fn found(line: &str) -> Result<FoundEvent, RunError> {
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
    Ok(FoundEvent { parent: event.parent, kind: event.kind.to_owned(), label })
}
