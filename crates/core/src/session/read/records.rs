//! The lines of a session in order: what is recorded in each, how a replay reads it, what it does to the history, and whether its item remains there.
//!
//! A line is last, and torn if it does not parse, exactly if the file ended there when it was opened; what is appended later is not read. So every
//! line is complete in itself, and its place suffices to continue reading there.

use std::iter::Peekable;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::final_history::FinalHistory;
use super::records_of_parts::Records;
use crate::disk::BOM;
use crate::foreign::open_lines;
use crate::json::Nesting;
use crate::lines::{LineReader, LineSource, Lines, ReadError, equal_segments};
use crate::session::fold::{History, HistoryChange, KeyedItem, LinePosition};
use crate::session::format::{Body, Cut, Line, Mode, is_string, read_type};

/// How a replay reads a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStatus {
    /// An event.
    Ok,
    /// An event of a known type whose payload does not fit.
    Malformed,
    /// An event of a type that this release does not know.
    Unknown,
    /// Not JSON.
    Unparseable,
    /// Not JSON, but the last line of its file, as a crash leaves it.
    Torn,
}

impl LineStatus {
    /// The name that users read.
    pub fn as_str(self) -> &'static str {
        match self {
            LineStatus::Ok => "ok",
            LineStatus::Malformed => "malformed",
            LineStatus::Unknown => "unknown",
            LineStatus::Unparseable => "unparseable",
            LineStatus::Torn => "torn",
        }
    }

    /// The status of a line; `None` for a blank line and for `null`, which a replay skips. Never `Torn`, which depends on what follows the line.
    pub fn of(line: &Line, is_first: bool) -> Option<Self> {
        match line {
            Line::Blank | Line::Null => None,
            Line::Unparseable => Some(LineStatus::Unparseable),
            Line::Unsupported { .. } | Line::WithoutSeq => Some(LineStatus::Malformed),
            Line::Event(event) => Some(match &event.body {
                Body::Malformed(..) | Body::Rewind(_, Cut::Malformed) => LineStatus::Malformed,
                Body::SessionStart(None) if is_first => LineStatus::Malformed,
                Body::Unknown(_) => LineStatus::Unknown,
                _ => LineStatus::Ok,
            }),
        }
    }
}

/// The items of a part, in order.
type Items = Peekable<std::vec::IntoIter<u64>>;

/// Whether these bytes are at this offset of the file.
fn has_bytes(source: &LineSource, offset: u64, bytes: &[u8]) -> Result<bool, ReadError> {
    let mut found = [0; BOM.len()];
    let found = &mut found[..bytes.len()];
    Ok(source.read_at(found, offset)? == bytes.len() && found == bytes)
}

/// Which lines are read, and how.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// How strictly lines are validated.
    pub mode: Mode,
    /// The number and the offset of the first line to read. `None` is the beginning of the file.
    pub from: Option<(u64, u64)>,
    /// Read only records of these types, in UTF-16.
    pub types: Option<Vec<Vec<u16>>>,
    /// Whether to find which items remain in the history, which takes a pass over the file of its own.
    pub history: bool,
    /// Whether to find what each line does to the history.
    pub changes: bool,
}

/// A line of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLine<'l> {
    /// Its number, from 1.
    pub number: u64,
    /// The offset of its content in the file.
    pub offset: u64,
    /// The length of its content in bytes.
    pub length: u64,
    /// Its content, if it is JSON other than `null`.
    pub json: Option<&'l [u8]>,
    /// How a replay reads it. `None` for a blank line and for `null`, which a replay skips.
    pub status: Option<LineStatus>,
    /// Whether its item is in the history at the end of the file. `None` if it has no item, or the options do not ask.
    pub in_history: Option<bool>,
    /// What it does to the history, from its beginning to its end: no change moves what is behind a later one. Empty if it does nothing, or the options
    /// do not ask.
    pub changes: &'l [HistoryChange],
}

/// Reads the lines of a session.
pub struct RecordReader {
    source: Arc<LineSource>,
    reader: LineReader,
    nesting: Nesting,
    options: RecordOptions,
    /// The number of the next line.
    number: u64,
    history: Option<ItemsInHistory>,
    changes: Option<Changes>,
}

impl RecordReader {
    /// What readers return for a line that they have skipped because it can't be JSON, and for a last line of this one byte.
    pub const SKIPPED: &[u8] = b"\0";

    /// The content of a line that a reader has skipped, given the line without its `\n`: without a BOM at the beginning of the file and, if a `\n`
    /// follows, without a `\r` at its end.
    pub fn skipped_content(
        source: &LineSource,
        line: Range<u64>,
        is_terminated: bool,
    ) -> Result<Range<u64>, ReadError> {
        let has_bom = line.start == 0 && has_bytes(source, 0, BOM)?;
        let start = if has_bom { BOM.len() as u64 } else { line.start };
        let has_return = is_terminated && line.end > start && has_bytes(source, line.end - 1, b"\r")?;
        Ok(start..line.end - u64::from(has_return))
    }

    /// The content of a line, given without its `\n`: without the `\r` of its ending.
    pub fn content_of(line: &[u8], is_terminated: bool) -> &[u8] {
        if is_terminated { line.strip_suffix(b"\r").unwrap_or(line) } else { line }
    }

    /// Opens the file at `path`. Of a foreign session, the lines are those that it becomes.
    pub fn open(path: &Path, options: RecordOptions) -> Result<Self, ReadError> {
        Self::of(open_lines(path, LineSource::open)?, options)
    }

    /// Reads the lines of an open session.
    pub fn of(source: LineSource, options: RecordOptions) -> Result<Self, ReadError> {
        let source = Arc::new(source.as_opened());
        // A BOM precedes the first line.
        let (number, offset) = options.from.filter(|(number, _)| *number > 1).unwrap_or((1, 0));
        let history = options.history.then(|| ItemsInHistory::find(&source, offset, options.mode)).transpose()?;
        let changes = options.changes.then(|| Changes::of_lines_from(offset));
        let mut reader = LineReader::default().skipping_long_lines();
        reader.begin(offset..source.size());
        Ok(RecordReader { source, reader, nesting: Nesting::default(), options, number, history, changes })
    }

    /// The file whose lines are read.
    pub fn source(&self) -> &Arc<LineSource> {
        &self.source
    }

    /// Reads some lines, and calls `take` with each until it returns false. Such a line, and those after it, are read by the next call. Returns false
    /// at the end of the file.
    pub fn read(&mut self, take: &mut dyn FnMut(&RecordLine<'_>) -> bool) -> Result<bool, ReadError> {
        let Some(chunk) = self.reader.next_chunk(&self.source, 0)? else {
            return if self.reader.position() < self.source.readable() { Err(ReadError::Changed) } else { Ok(false) };
        };
        let (size, start, length) = (self.source.readable(), chunk.offset, chunk.bytes.len());
        if chunk.bytes == RecordReader::SKIPPED {
            let is_terminated = !chunk.unterminated;
            self.take_skipped(start, is_terminated, take)?;
            return Ok(true);
        }
        let mut refused = None;
        for (at, line) in Lines::new(chunk.bytes) {
            let offset = start + at as u64;
            let read = Line::read(line, self.options.mode, &mut self.nesting);
            let content = RecordReader::content_of(line, at + line.len() < length);
            let status = match LineStatus::of(&read, chunk.at_start && at == 0) {
                Some(LineStatus::Unparseable) => Some(unparseable(offset + line.len() as u64, size)),
                status => status,
            };
            let in_history = match (&mut self.history, &read) {
                (Some(history), Line::Event(event)) => {
                    history.holds(&event.body, offset..offset + line.len() as u64)?
                }
                _ => None,
            };
            let changes = match (&mut self.changes, &read) {
                (Some(changes), Line::Event(event)) => {
                    let place = LinePosition { line, offset, first_of_file: false };
                    changes.of_line(&event.body, &place, &self.source, self.options.mode)?
                }
                _ => &[],
            };
            let record = RecordLine {
                number: self.number,
                offset,
                length: content.len() as u64,
                json: matches!(read, Line::Event(_) | Line::WithoutSeq | Line::Unsupported { .. }).then_some(content),
                status,
                in_history,
                changes,
            };
            if self.options.wants(line, &mut self.nesting) && !take(&record) {
                refused = Some(offset);
                break;
            }
            self.number += 1;
        }
        if let Some(offset) = refused {
            self.reader.begin(offset..size);
        }
        Ok(true)
    }

    /// Takes the line at `start`, whose bytes the reader has skipped.
    fn take_skipped(
        &mut self,
        start: u64,
        is_terminated: bool,
        take: &mut dyn FnMut(&RecordLine<'_>) -> bool,
    ) -> Result<(), ReadError> {
        let size = self.source.readable();
        let end = self.reader.position().min(size) - u64::from(is_terminated);
        let content = RecordReader::skipped_content(&self.source, start..end, is_terminated)?;
        let record = RecordLine {
            number: self.number,
            offset: content.start,
            length: content.end - content.start,
            json: None,
            status: Some(unparseable(end, size)),
            in_history: None,
            changes: &[],
        };
        if self.options.types.is_none() && !take(&record) {
            self.reader.begin(start..size);
        } else {
            self.number += 1;
        }
        Ok(())
    }
}

impl RecordOptions {
    /// Whether a line is to be read.
    fn wants(&self, line: &[u8], nesting: &mut Nesting) -> bool {
        let Some(types) = &self.types else { return true };
        let Some(name) = read_type(line, nesting) else { return false };
        types.iter().any(|wanted| is_string(name.of(line), wanted))
    }
}

/// The status of a line that does not parse and whose content ends at `end`.
fn unparseable(end: u64, size: u64) -> LineStatus {
    // One more for the `\n`, which the last line may have or not.
    if end + 1 >= size { LineStatus::Torn } else { LineStatus::Unparseable }
}

/// Size of the parts, in lines, whose items are known at a time. Lower in tests, whose sessions are short.
const PART_LINES: usize = if cfg!(test) { 4 } else { 16 << 10 };

/// The items that are in the history at the end of the file, part by part.
pub(crate) struct ItemsInHistory {
    parts: std::vec::IntoIter<Range<u64>>,
    found: FinalHistory,
    records: Records,
    /// The current part, and its number.
    part: Range<u64>,
    number: usize,
    /// The offsets of its items that remain; `None` if all do.
    items: Option<Items>,
}

impl ItemsInHistory {
    /// Finds them for the lines from `start` on: earlier lines remove nothing of theirs.
    pub(crate) fn find(source: &Arc<LineSource>, start: u64, mode: Mode) -> Result<Self, ReadError> {
        let make = || Records::new(source.clone(), LineReader::default().skipping_long_lines(), mode);
        let damage = source.damage();
        let (parts, mut found) = FinalHistory::find_with(equal_segments(source, start).collect(), PART_LINES, make)?;
        if source.damage() != damage {
            // Lines behind the damage may have been read before that was found. Now it is known.
            return Self::find(source, start, mode);
        }
        if found.edited_length().is_some() && start > 0 {
            // What an edit does depends on all lines before it.
            found = FinalHistory::find_with(equal_segments(source, 0).collect(), PART_LINES, make)?.1;
        }
        let none = Some(Vec::new().into_iter().peekable());
        Ok(ItemsInHistory { parts: parts.into_iter(), found, records: make(), part: 0..0, number: 0, items: none })
    }

    /// Whether an item of an event is in the history; `None` if it has none. Events must be given in the order of the file, but the last one may be
    /// given again.
    fn holds(&mut self, body: &Body, line: Range<u64>) -> Result<Option<bool>, ReadError> {
        if !body.has_items() {
            return Ok(None);
        }
        self.holds_some(line.start, line).map(Some)
    }

    /// Whether an item that begins within these bytes, in the line at the offset `line`, is in the history. Items must be given in the order of the
    /// file, but the last ones may be given again.
    pub(crate) fn holds_some(&mut self, line: u64, bytes: Range<u64>) -> Result<bool, ReadError> {
        if self.found.edited_length().is_some() {
            return Ok(self.found.edited_index(bytes).is_some());
        }
        self.begin_line(line)?;
        let Some(items) = &mut self.items else { return Ok(true) };
        while items.next_if(|offset| *offset < bytes.start).is_some() {}
        Ok(items.peek().is_some_and(|offset| *offset < bytes.end))
    }

    /// Finds the remaining items of the part of a line.
    fn begin_line(&mut self, line: u64) -> Result<(), ReadError> {
        while line >= self.part.end
            && let Some(part) = self.parts.next()
        {
            self.part = part;
            self.number += 1;
            self.items = if line < self.part.end { self.items_of_part()? } else { None };
        }
        Ok(())
    }

    fn items_of_part(&mut self) -> Result<Option<Items>, ReadError> {
        let remaining = self.found.remaining(self.number - 1);
        if remaining == FinalHistory::ALL {
            return Ok(None);
        }
        let mut items = Vec::new();
        if remaining > 0 {
            let effect = self.records.effect(self.part.clone())?;
            items.extend(effect.items().iter().map(|item| item.offset));
            items.truncate(usize::try_from(remaining).unwrap_or(usize::MAX));
        }
        Ok(Some(items.into_iter().peekable()))
    }
}

/// What lines do to the history, one after another.
struct Changes {
    /// The history; `None` as long as the lines before it need not be known.
    history: Option<History<KeyedItem>>,
    /// The offset of the last line that was applied to it, and what that has changed.
    last: Option<u64>,
    changes: Vec<HistoryChange>,
}

impl Changes {
    /// Those of the lines from `offset` on.
    fn of_lines_from(offset: u64) -> Self {
        Changes { history: (offset == 0).then(History::default), last: None, changes: Vec::new() }
    }

    /// Those of an event of a line. Lines must be given in the order of the file, but the last one may be given again.
    fn of_line(
        &mut self,
        body: &Body,
        place: &LinePosition<'_>,
        source: &Arc<LineSource>,
        mode: Mode,
    ) -> Result<&[HistoryChange], ReadError> {
        let Some(change) = body.change(|span| place.keyed(span)) else { return Ok(&[]) };
        let history = match (self.history.take(), body) {
            (Some(history), _) => self.history.insert(history),
            (None, Body::Content(_)) => return Ok(&[HistoryChange::APPENDED]),
            (None, _) => {
                let reader = LineReader::default().skipping_long_lines();
                let before = Records::new(source.clone(), reader, mode).history(std::iter::once(0..place.offset))?;
                self.history.insert(before)
            }
        };
        if self.last.replace(place.offset) != Some(place.offset) {
            self.changes = HistoryChange::of(&change, history);
            history.apply(change);
        }
        Ok(&self.changes)
    }
}

#[cfg(test)]
mod tests;
