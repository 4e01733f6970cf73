//! Finds the hits in a part of a session.

use std::ops::Range;
use std::sync::{Arc, Weak};

use memchr::memchr_iter;

use super::hit::{Hit, Speaker};
use super::query::Query;
use super::strings::{StringPlace, Strings, inside};
use crate::json::{Nesting, Span, Text, decode};
use crate::lines::{LineReader, LineSource, ReadError};
use crate::session::format::{Event, Line, Mode};
use crate::session::read::RecordReader;
use crate::task::Worker;

/// A bound of the time of an event: the characters of `2026-02-11T16:00:00.000Z`.
pub type Bound = [u8; 24];

/// What is searched, and for what.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// The query.
    pub query: Query,
    /// The [bits](super::Field::bit) of the fields that are searched.
    pub fields: u8,
    /// Search only items of this speaker.
    pub speaker: Option<Speaker>,
    /// Search only calls and responses of this tool, in UTF-16.
    pub tool: Option<Vec<u16>>,
    /// Search only sessions of this project, in UTF-16.
    pub project_hash: Option<Vec<u16>>,
    /// Search only events with a time, and not those that are certainly earlier than the first bound, or later than the second. The caller has to look
    /// at the times of the hits.
    pub between: Option<(Option<Bound>, Option<Bound>)>,
    /// Whether to leave out items that are not in the history at the end of the file.
    pub is_current: bool,
    /// Number of units that a snippet has on each side of the first match.
    pub context: usize,
    /// The most hits that are of use.
    pub limit: usize,
}

/// What was found in a part of a file.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// The hits. Their line numbers are relative to the part, whose first line is 1.
    pub(super) hits: Vec<Hit>,
    /// Number of lines of the part.
    pub(super) lines: u64,
    /// Why the part was not read to its end.
    pub(super) failure: Option<ReadError>,
    /// Whether the file ends in the part.
    pub(super) is_at_end: bool,
}

/// Size of a line, in bytes, for which memory is not kept.
const LONG_LINE_BYTES: usize = 4 << 20;

/// Scans parts of sessions. Reuses its buffers.
pub(super) struct Scanner {
    options: Arc<ScanOptions>,
    reader: LineReader,
    nesting: Nesting,
    strings: Strings,
}

impl Scanner {
    pub(super) fn new(options: Arc<ScanOptions>) -> Self {
        Scanner { options, reader: new_reader(), nesting: Nesting::default(), strings: Strings::default() }
    }

    pub(super) fn options(&self) -> &Arc<ScanOptions> {
        &self.options
    }

    /// Finds the hits in a small session. Its lines are counted only if there are hits.
    pub(super) fn scan_small(&mut self, source: &LineSource) -> Scanned {
        let mut scanned = self.scan_lines(source, 0..source.size(), false);
        if let Err(error) = number(&mut scanned.hits, source) {
            scanned.hits.clear();
            scanned.failure = Some(error);
        }
        scanned
    }

    /// Finds the hits in the lines that begin in `part`, and counts these lines.
    pub(super) fn scan(&mut self, source: &LineSource, part: Range<u64>) -> Scanned {
        self.scan_lines(source, part, true)
    }

    fn scan_lines(&mut self, source: &LineSource, part: Range<u64>, counts: bool) -> Scanned {
        let mut scanned = Scanned::default();
        let Scanner { options, reader, nesting, strings } = self;
        let mut is_long = false;
        reader.begin(part);
        loop {
            let chunk = match reader.next_chunk(source, 0) {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => {
                    scanned.failure = Some(error);
                    break;
                }
            };
            is_long |= chunk.bytes.len() > LONG_LINE_BYTES;
            if chunk.bytes == RecordReader::SKIPPED {
                scanned.lines += 1;
                continue;
            }
            let mut of_chunk =
                OfChunk { options, scanned: &mut scanned, counts, counted: 0, offset: chunk.offset, text: chunk.bytes };
            options.query.prefilter.each_candidate(chunk.bytes, |at, line| {
                if let Line::Event(event) = Line::read_into(&mut strings.taken, line, Mode::Lenient, nesting) {
                    of_chunk.add(at, line, &event, strings);
                }
                of_chunk.scanned.hits.len() < options.limit
            });
            of_chunk.count_lines();
            if scanned.hits.len() >= options.limit {
                break;
            }
        }
        scanned.is_at_end = reader.is_at_end();
        if is_long {
            *reader = new_reader();
        }
        scanned
    }

    /// The first line of a file.
    pub(super) fn first_line<'s>(&'s mut self, source: &LineSource) -> Result<Option<&'s [u8]>, ReadError> {
        self.reader.begin(0..1);
        let chunk = self.reader.next_chunk(source, 0)?;
        Ok(chunk.map(|chunk| &chunk.bytes[..memchr::memchr(b'\n', chunk.bytes).unwrap_or(chunk.bytes.len())]))
    }
}

/// Gives the hits in a file the numbers of their lines.
fn number(hits: &mut [Hit], source: &LineSource) -> Result<(), ReadError> {
    let Some(last) = hits.last() else { return Ok(()) };
    let (length, mut scratch) = (last.place.0 as usize, Vec::new());
    let text = source.bytes_at(0, length, &mut scratch)?;
    let (mut counted, mut line) = (0, 1);
    for hit in hits {
        let at = hit.place.0 as usize;
        line += memchr_iter(b'\n', &text[counted..at]).count() as u64;
        (counted, hit.line) = (at, line);
    }
    Ok(())
}

/// A file of which only the lines that can be read count.
fn new_reader() -> LineReader {
    LineReader::default().skipping_long_lines()
}

/// The hits in some lines.
struct OfChunk<'c> {
    options: &'c ScanOptions,
    scanned: &'c mut Scanned,
    text: &'c [u8],
    offset: u64,
    /// Whether lines are counted.
    counts: bool,
    /// The lines up to here are counted.
    counted: usize,
}

impl OfChunk<'_> {
    fn add(&mut self, at: usize, line: &[u8], event: &Event, strings: &mut Strings) {
        if !self.options.may_be_between(line, event.ts) {
            return;
        }
        let mut number = None;
        strings.each(line, event, &mut |place, string| {
            if !self.options.wants(line, place) {
                return;
            }
            let Some(found) = self.options.query.matcher.matches(string, self.options.context) else { return };
            let line_number = *number.get_or_insert_with(|| {
                self.count_to(at);
                self.scanned.lines + 1
            });
            let offset = self.offset + at as u64;
            self.scanned.hits.push(Hit {
                line: line_number,
                seq: event.seq,
                ts: event.ts.map(|ts| ts.of(line)).filter(|ts| ts.first() == Some(&b'"')).map(Box::from),
                event_type: place.event_type,
                speaker: place.item.and_then(|item| item.speaker),
                field: place.field,
                tool: place.tool.map(|tool| tool.of(line).into()),
                pointer: place.pointer(),
                snippet: Text::from_units(&found.snippet),
                ranges: found.ranges,
                matches: found.count,
                in_history: None,
                place: (offset, place.item.map(|item| offset + u64::from(item.span.start))),
            });
        });
    }

    /// Counts the lines that are not counted yet.
    fn count_lines(&mut self) {
        let is_unterminated = self.text.last().is_some_and(|last| *last != b'\n');
        self.count_to(self.text.len());
        self.scanned.lines += u64::from(is_unterminated);
    }

    #[inline]
    fn count_to(&mut self, at: usize) {
        if self.counts {
            self.scanned.lines += memchr_iter(b'\n', &self.text[self.counted..at]).count() as u64;
            self.counted = at;
        }
    }
}

impl ScanOptions {
    fn wants(&self, line: &[u8], place: &StringPlace<'_>) -> bool {
        let is_speaker =
            self.speaker.is_none_or(|speaker| place.item.is_some_and(|item| item.speaker == Some(speaker)));
        self.fields & place.field.bit() != 0 && is_speaker && self.wants_tool(line, place.tool)
    }

    fn wants_tool(&self, line: &[u8], tool: Option<Span>) -> bool {
        let Some(wanted) = &self.tool else { return true };
        tool.is_some_and(|tool| decode(inside(line, tool)).eq(wanted.iter().copied()))
    }

    /// Whether an event with this `ts` may be within the bounds.
    fn may_be_between(&self, line: &[u8], ts: Option<Span>) -> bool {
        let Some((since, until)) = &self.between else { return true };
        let Some(ts) = ts.map(|ts| ts.of(line)).filter(|ts| ts.first() == Some(&b'"')) else { return false };
        let Some(time) = usual_time(&ts[1..ts.len() - 1]) else { return true };
        since.is_none_or(|since| time >= since) && until.is_none_or(|until| time <= until)
    }
}

/// A time in the form of bounds, whose order is that of the times.
fn usual_time(text: &[u8]) -> Option<Bound> {
    const FORM: &Bound = b"0000-00-00T00:00:00.000Z";
    let time: Bound = text.try_into().ok()?;
    let is_usual =
        time.iter().zip(FORM).all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form });
    // A 30th of February may count as the 2nd of March.
    (is_usual && &time[8..10] <= b"28").then_some(time)
}

/// Scans the parts of one large file. Does not keep it open.
pub(super) struct PartScanner {
    pub(super) scanner: Scanner,
    pub(super) source: Weak<LineSource>,
}

impl Worker for PartScanner {
    type Job = Range<u64>;
    type Output = Scanned;

    fn work(&mut self, part: Range<u64>) -> Scanned {
        self.source.upgrade().map(|source| self.scanner.scan(&source, part)).unwrap_or_default()
    }
}
