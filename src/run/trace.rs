//! The event trace: a log's events one by one, over a range of times, with no more of the log in memory than a chunk.

use std::path::Path;

use super::decoded_event::Event;
use super::error::{ErrorCode, RunError, event_id};
use super::event::EventLine;
use super::kind::Kind;
use super::log::{Chunk, LogReader, Position, find};
use super::redactions::Redactions;
use crate::disk::input_file::InputFile;
use crate::jsonl::scan::Nesting;

/// The events of a log, in order.
///
/// Each is proven to be a line of the one form, of a known kind with all its fields, at the logical time that its place
/// demands; those that are not wanted too. Hashes are not looked at.
pub struct Trace {
    reader: LogReader<InputFile>,
    lines: ChunkLines,
    nesting: Nesting,
    /// The time that the next line must have. None before the first line of a log that may begin anywhere.
    next: Option<u64>,
    range: Range,
    redactions: Redactions,
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
    fn holds(&self, event: &EventLine<'_>, kind: Kind) -> bool {
        event.time >= self.from && self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }
}

impl Trace {
    /// Opens the log at `path` at the first event of `range`, which is found without reading what comes before.
    pub fn open(path: &Path, range: Range, redactions: Redactions) -> Result<Self, RunError> {
        let (mut next, mut offset, mut done) = (range.first, 0, range.from > range.to);
        if range.from > range.first.unwrap_or(0) {
            match find(&mut InputFile::open(path)?, range.from)? {
                Position::At(found) => (offset, next) = (found, Some(range.from)),
                Position::BehindEnd => done = true,
                // Read from the beginning, the log says itself what is wrong with it.
                Position::Unclear => {}
            }
        }
        let reader = LogReader::open_at(path, offset)?;
        let (lines, nesting) = (ChunkLines::default(), Nesting::default());
        Ok(Trace { reader, lines, nesting, next, range, redactions, done })
    }

    /// The next event, or `None` at the end of the range or of the log. After an error there is no next one.
    #[allow(clippy::should_implement_trait)] // An event borrows from the trace, which an Iterator can't say.
    pub fn next(&mut self) -> Option<Result<EventLine<'_>, RunError>> {
        while !self.done {
            match self.advance() {
                Ok(Some((start, end, true))) => return Some(EventLine::split(self.lines.text(start, end))),
                Ok(Some(_)) => {}
                Ok(None) => self.done = true,
                Err(error) => {
                    self.done = true;
                    return Some(Err(self.placed(error)));
                }
            }
        }
        None
    }

    /// A line whose own time can't be read stands where one with the next time should.
    fn placed(&self, error: RunError) -> RunError {
        match self.next {
            Some(next) if error.system.is_none() => error.at_unless_known(next),
            _ => error,
        }
    }

    /// Moves over the next line: where in the chunk it is, and whether it is wanted.
    fn advance(&mut self) -> Result<Option<(usize, usize, bool)>, RunError> {
        let Some((start, end)) = self.lines.next(&mut self.reader)? else { return Ok(None) };
        let event = EventLine::split(self.lines.text(start, end))?;
        check_time(self.next, event.time)?;
        if event.time > self.range.to {
            return Ok(None);
        }
        self.redactions.admit(&event)?;
        let kind = understand(&event, &mut self.nesting)?.kind();
        let wanted = self.range.holds(&event, kind);
        self.next = Some(event.time + 1);
        self.done = event.time == self.range.to;
        Ok(Some((start, end, wanted)))
    }
}

/// Understands a line. Where its payload is not JSON, the error says what is wrong with the whole of it.
#[inline]
pub(crate) fn understand<'a>(line: &EventLine<'a>, nesting: &mut Nesting) -> Result<Event<'a>, RunError> {
    Event::decode(line, nesting).map_err(|error| match error.code {
        ErrorCode::NotAJsonLine => line.fault(),
        _ => error,
    })
}

/// Whether an event has the logical time that its place demands.
pub(crate) fn check_time(expected: Option<u64>, found: u64) -> Result<(), RunError> {
    let Some(expected) = expected.filter(|expected| *expected != found) else { return Ok(()) };
    let message = format!(
        "{} stands where {} should: an event was lost, inserted, repeated or moved",
        event_id(found),
        event_id(expected)
    );
    Err(RunError::new(ErrorCode::TimeGap, message).at(found).compared(expected.to_string(), found.to_string()))
}

/// The lines of one chunk after the other.
#[derive(Default)]
struct ChunkLines {
    chunk: Option<Chunk>,
    at: usize,
    /// How many bytes of the chunk are whole lines of UTF-8.
    valid: usize,
    /// What is wrong with the line behind those.
    fault: Option<RunError>,
}

impl ChunkLines {
    /// Where in the chunk the next line is, without its `\n`.
    fn next(&mut self, reader: &mut LogReader<InputFile>) -> Result<Option<(usize, usize)>, RunError> {
        while self.at == self.valid {
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            let spare = self.chunk.take().map(Chunk::into_spare).unwrap_or_default();
            (self.at, self.valid) = (0, 0);
            let Some(chunk) = reader.next_chunk(spare)? else { return Ok(None) };
            let (text, fault) = chunk.text();
            (self.valid, self.fault) = (text.len(), fault);
            self.chunk = Some(chunk);
        }
        let start = self.at;
        let rest = &self.bytes()[start..self.valid];
        let end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.at = (end + 1).min(self.valid);
        Ok(Some((start, end)))
    }

    fn bytes(&self) -> &[u8] {
        self.chunk.as_ref().map_or(&[], Chunk::bytes)
    }

    fn text(&self, start: usize, end: usize) -> &str {
        // Found valid before; to look again costs little beside the parse of a line.
        std::str::from_utf8(&self.bytes()[start..end]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain::tests::log_of;
    use super::*;
    use std::io::Write;

    fn file_of(log: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(log).unwrap();
        file
    }

    fn times(log: &[u8], range: Range) -> (Vec<u64>, Option<RunError>) {
        let file = file_of(log);
        let mut trace = Trace::open(file.path(), range, Redactions::default()).unwrap();
        let mut times = Vec::new();
        while let Some(event) = trace.next() {
            match event {
                Ok(event) => times.push(event.time),
                Err(error) => {
                    assert!(trace.next().is_none());
                    return (times, Some(error));
                }
            }
        }
        (times, None)
    }

    #[test]
    fn a_range_holds_the_events_from_its_first_to_its_last() {
        let log = log_of(2000, 100);
        for (from, to) in
            [(0, u64::MAX), (0, 0), (1, 5), (1500, 1700), (1999, 1999), (1999, u64::MAX), (2000, 9999), (7, 6)]
        {
            let expected: Vec<u64> = (from..=to.min(1999)).collect();
            assert_eq!(times(&log, Range { from, to, ..Range::default() }), (expected, None), "{from} to {to}");
        }
        assert_eq!(times(b"", Range::default()), (vec![], None));
    }

    #[test]
    fn only_the_kinds_that_are_wanted_are_handed_out() {
        let log = log_of(30, 10);
        let range = Range { from: 4, to: 20, kinds: Some(vec![Kind::Error, Kind::Heartbeat]), first: Some(0) };
        assert_eq!(times(&log, range).0, [6, 9, 12, 15, 18]);
    }

    #[test]
    fn an_event_without_salt_is_one_that_is_listed_as_redacted() {
        let log = String::from_utf8(log_of(5, 10)).unwrap();
        let salt = log.split(",\"salt\":").nth(4).unwrap().split_once(',').unwrap().0;
        let file = file_of(log.replace(&format!(",\"salt\":{salt}"), "").as_bytes());
        let first_error = |redactions| {
            let mut trace = Trace::open(file.path(), Range::default(), redactions).unwrap();
            std::iter::from_fn(|| trace.next().map(|event| event.err())).flatten().next()
        };
        let error = first_error(Redactions::default()).unwrap();
        assert_eq!((error.code, error.time), (ErrorCode::MissingField, Some(3)));
        assert_eq!(first_error(Redactions { events: [3].into(), ..Redactions::default() }), None);
    }

    #[test]
    fn an_event_that_is_not_wanted_must_be_one_all_the_same() {
        let log = String::from_utf8(log_of(5, 10)).unwrap();
        for (from, to, code) in [
            ("\"kind\":\"BlobStored\"", "\"kind\":\"BlobLost\"", ErrorCode::UnknownKind),
            ("\"size\":1", "\"sice\":1", ErrorCode::MissingField),
            ("\"size\":1", "\"size\":01", ErrorCode::NotAJsonLine),
            ("\"n\":1}", "\"n\":1},\"x\":{}", ErrorCode::NotCanonical),
        ] {
            let range = Range { kinds: Some(vec![Kind::Heartbeat]), ..Range::default() };
            let (seen, error) = times(log.replacen(from, to, 1).as_bytes(), range);
            assert_eq!((seen, error.map(|error| (error.code, error.time))), (vec![], Some((code, Some(1)))), "{to}");
        }
    }

    #[test]
    fn a_torn_end_is_no_event() {
        let log = log_of(5, 10);
        let last = memchr::memchr_iter(b'\n', &log).nth(3).unwrap() + 1;
        for cut in 1..log.len() - last {
            assert_eq!(times(&log[..log.len() - cut], Range::default()), (vec![0, 1, 2, 3], None));
        }
    }

    #[test]
    fn what_comes_after_a_snapshot_begins_anywhere() {
        let log = log_of(10, 10);
        let start = memchr::memchr_iter(b'\n', &log).nth(3).unwrap() + 1;
        let later = &log[start..];
        assert_eq!(times(later, Range { first: None, ..Range::default() }).0, [4, 5, 6, 7, 8, 9]);
        assert_eq!(times(later, Range { first: Some(4), from: 8, ..Range::default() }).0, [8, 9]);
        let (seen, error) = times(later, Range::default());
        assert_eq!((seen, error.map(|error| error.code)), (vec![], Some(ErrorCode::TimeGap)));
    }

    #[test]
    fn a_damaged_line_ends_the_trace_with_an_error_wherever_it_is() {
        let log = log_of(3000, 100);
        let at = memchr::memchr_iter(b'\n', &log).nth(1999).unwrap() + 1;
        for (bytes, code) in [
            (&b"\n"[..], ErrorCode::NotAJsonLine),
            (b"garbage\n", ErrorCode::NotAJsonLine),
            (b"\xff\n", ErrorCode::NotAJsonLine),
            (&log[..at][memchr::memrchr(b'\n', &log[..at - 1]).unwrap() + 1..], ErrorCode::TimeGap),
        ] {
            let damaged = [&log[..at], bytes, &log[at..]].concat();
            let (seen, error) = times(&damaged, Range::default());
            assert_eq!((seen.len(), error.unwrap().code), (2000, code));
            let (seen, error) = times(&damaged, Range { from: 1990, ..Range::default() });
            assert_eq!((seen.len(), error.unwrap().code), (10, code));
            let (seen, error) = times(&damaged, Range { to: 1999, ..Range::default() });
            assert_eq!((seen.len(), error), (2000, None), "nothing behind the range is looked at");
        }
    }
}
