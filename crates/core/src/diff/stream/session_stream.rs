//! The records of a session, one after the other, as they are compared: the lines that a replay counts as events.
//!
//! Lines that a replay skips silently (blank lines, `null`, lines that do not parse) are skipped here too. Events that it skips with a
//! warning (malformed, unknown, out of place) were recorded, and are compared as they are in the file.

use super::feed::{BatchReader, Feed};
use super::source::Source;
use crate::diff::error::SessionFault;
use crate::disk::files;
use crate::json::{Cursor, Nesting, NotJson, Span, spells};
use crate::lines::{LineReader, LineSource, Lines, ReadError};
use crate::session::format::{Body, Line, Mode, StartFields};

/// A record of a batch: the range of its line, and the positions of its parts in the line.
#[derive(Clone, Copy, Debug)]
struct Row {
    start: usize,
    end: usize,
    parts: Parts,
}

/// The parts of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// An object, with its `type` and its `payload` if it has them.
    Envelope {
        /// The value of `type`.
        name: Option<Span>,
        /// The value of `payload`.
        payload: Option<Span>,
    },
    /// A JSON value that is not an object.
    Value(Span),
}

/// The parts of a line, which is passed without its ending. Returns `None` if the line is not a record.
pub(crate) fn parts_of(line: &[u8], nesting: &mut Nesting) -> Option<Parts> {
    let mut cursor = Cursor::new(line);
    cursor.white_space();
    if cursor.peek()? != b'{' {
        let value = cursor.value(nesting).and_then(|span| cursor.finish().map(|()| span)).ok()?;
        return (value.of(line) != b"null").then_some(Parts::Value(value));
    }
    let (mut name, mut payload) = (None, None);
    let scanned = cursor.object(|cursor, key| {
        let value = cursor.value(nesting)?;
        if spells(key, "payload") {
            payload = Some(value);
        } else if spells(key, "type") {
            name = Some(value);
        }
        Ok(())
    });
    scanned.and_then(|_| cursor.finish()).map_err(|NotJson| ()).ok()?;
    Some(Parts::Envelope { name, payload })
}

/// A batch of records.
#[derive(Default)]
pub(super) struct SessionBatch {
    bytes: Vec<u8>,
    offset: u64,
    rows: Vec<Row>,
    /// Whether the last line is torn.
    is_torn: bool,
    fault: Option<SessionFault>,
    end: u64,
}

/// Reads a session's file.
pub(crate) struct SessionReader {
    file: LineSource,
    reader: LineReader,
    nesting: Nesting,
    lines: u64,
    is_over: bool,
}

impl SessionReader {
    fn open(source: &Source) -> Result<Self, SessionFault> {
        let file = LineSource::open(&source.log)?;
        let mut reader = LineReader::default();
        // Bytes that are appended in the meantime are not read: that might never end.
        reader.begin(0..file.size());
        Ok(SessionReader { file, reader, nesting: Nesting::default(), lines: 0, is_over: false })
    }

    fn next_batch(&mut self, batch: &mut SessionBatch) -> Result<bool, ReadError> {
        let Some(chunk) = self.reader.next_chunk(&self.file, self.lines)? else { return Ok(false) };
        batch.bytes.extend_from_slice(chunk.bytes);
        batch.offset = chunk.offset;
        batch.end = chunk.offset + chunk.bytes.len() as u64;
        batch.is_torn = false;
        let (at_start, unterminated) = (chunk.at_start, chunk.unterminated);
        for (start, line) in Lines::new(&batch.bytes) {
            if at_start && start == 0 {
                batch.fault = start_of(line, &mut self.nesting).err();
            }
            self.lines += 1;
            let parts = parts_of(line, &mut self.nesting);
            batch.is_torn = unterminated && parts.is_none();
            batch.rows.extend(parts.map(|parts| Row { start, end: start + line.len(), parts }));
        }
        Ok(true)
    }
}

/// The metadata in the first line of a session, which is passed without its ending.
pub(crate) fn start_of(line: &[u8], nesting: &mut Nesting) -> Result<StartFields, SessionFault> {
    match Line::read(line, Mode::Lenient, nesting) {
        Line::Event(event) => match event.body {
            Body::SessionStart(fields) => fields.ok_or(SessionFault::InvalidStart),
            _ => Err(SessionFault::MissingStart),
        },
        _ => Err(SessionFault::MissingStart),
    }
}

impl BatchReader for SessionReader {
    type Batch = SessionBatch;
    type Error = SessionFault;

    fn read(&mut self, spare: Option<SessionBatch>) -> Result<Option<SessionBatch>, SessionFault> {
        let mut batch = spare.unwrap_or_default();
        batch.bytes.clear();
        batch.rows.clear();
        batch.fault = None;
        if self.is_over || !self.next_batch(&mut batch)? {
            return if self.lines == 0 { Err(SessionFault::EmptyFile) } else { Ok(None) };
        }
        self.is_over = batch.fault.is_some();
        Ok(Some(batch))
    }
}

/// Reads a session record by record.
pub(crate) struct SessionCursor {
    feed: Feed<SessionReader>,
    batch: SessionBatch,
    at: usize,
    /// The place of the current record, from 0.
    pub place: i64,
    /// Approximate number of bytes compared so far.
    pub bytes: u64,
    /// Size of the file in bytes.
    pub size: u64,
    /// Whether the file ends with a line that does not parse. Known at the end of the file.
    pub is_torn: bool,
}

impl SessionCursor {
    /// Opens the file.
    pub(crate) fn open(source: &Source) -> Result<Self, SessionFault> {
        let size = files::metadata(&source.log).map_or(0, |metadata| metadata.size);
        let feed = Feed::new(SessionReader::open(source)?, size);
        Ok(SessionCursor { feed, batch: SessionBatch::default(), at: 0, place: -1, bytes: 0, size, is_torn: false })
    }

    /// Moves to the next record; the first call moves to the first one. Returns `false` at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, SessionFault> {
        self.at += 1;
        while self.at >= self.batch.rows.len() {
            let spare = std::mem::take(&mut self.batch);
            let Some(mut batch) = self.feed.next(Some(spare))? else { return Ok(false) };
            if let Some(fault) = batch.fault.take() {
                return Err(fault);
            }
            self.is_torn = batch.is_torn;
            self.bytes = batch.end;
            (self.batch, self.at) = (batch, 0);
        }
        self.place += 1;
        Ok(true)
    }

    /// Whether the current record is the last one of its batch.
    pub(crate) fn is_last_of_batch(&self) -> bool {
        self.at + 1 == self.batch.rows.len()
    }

    /// The current record. `None` before the first and after the last one.
    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        let row = self.batch.rows.get(self.at)?;
        let line = self.batch.bytes.get(row.start..row.end).unwrap_or_default();
        Some(Record { line, parts: row.parts, place: self.place, offset: self.batch.offset + row.start as u64 })
    }
}

/// A record of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'b> {
    /// The line, without its ending.
    pub line: &'b [u8],
    /// The positions of its parts in the line.
    pub parts: Parts,
    /// Its place among the records, from 0.
    pub place: i64,
    /// Offset of the line in the file.
    pub offset: u64,
}

impl<'b> Record<'b> {
    /// The JSON text of the type. Empty if the record has none.
    pub(crate) fn name(&self) -> &'b [u8] {
        match self.parts {
            Parts::Envelope { name: Some(name), .. } => name.of(self.line),
            _ => b"",
        }
    }

    /// The JSON text of the payload, or of the whole record if that is not an object. Empty if the record has no payload.
    pub(crate) fn payload(&self) -> &'b [u8] {
        match self.parts {
            Parts::Envelope { payload: Some(span), .. } | Parts::Value(span) => span.of(self.line),
            Parts::Envelope { payload: None, .. } => b"",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn records(text: &[u8]) -> Result<(Vec<String>, bool), SessionFault> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let mut cursor = SessionCursor::open(&Source::session(file.path()))?;
        let mut found = Vec::new();
        while cursor.advance()? {
            let record = cursor.record().unwrap();
            assert_eq!(record.place, found.len() as i64);
            assert_eq!(&text[record.offset as usize..][..record.line.len()], record.line);
            found.push(format!(
                "{} {}",
                String::from_utf8_lossy(record.name()),
                String::from_utf8_lossy(record.payload())
            ));
        }
        Ok((found, cursor.is_torn))
    }

    const START: &str = r#"{"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#;

    #[test]
    fn records_are_the_lines_that_a_replay_counts() {
        let text = format!(
            "\u{feff}{START}\n\n  \nnull\n5\n{{\"type\":\"new\"}}\ngarbage\n{{\"t\\u0079pe\":\"a\",\"type\":\"b\",\"payload\":[1]}}\r\n{{\"torn"
        );
        let (found, is_torn) = records(text.as_bytes()).unwrap();
        assert_eq!(found[1..], [" 5", "\"new\" ", "\"b\" [1]"]);
        assert!(is_torn);
        let (found, is_torn) = records(text.strip_suffix("{\"torn").unwrap().as_bytes()).unwrap();
        assert_eq!((found.len(), is_torn), (4, false));
        assert_eq!(records(format!("{START}\n{{}}").as_bytes()), Ok((vec![found[0].clone(), " ".into()], false)));
    }

    #[test]
    fn file_without_session_start_is_not_a_session() {
        assert_eq!(records(b""), Err(SessionFault::EmptyFile));
        assert_eq!(records(b"\xef\xbb\xbf"), Err(SessionFault::EmptyFile));
        assert_eq!(records(b"\n"), Err(SessionFault::MissingStart));
        assert_eq!(records(format!("\n{START}\n").as_bytes()), Err(SessionFault::MissingStart));
        assert_eq!(records(br#"{"type":"session_start","payload":{}}"#), Err(SessionFault::InvalidStart));
    }

    #[test]
    fn threaded_reading_of_large_files_has_the_same_result() {
        let line = format!("{{\"type\":\"x\",\"payload\":\"{}\"}}\n", "y".repeat(1000));
        let (found, _) = records(format!("{START}\n{}", line.repeat(2000)).as_bytes()).unwrap();
        assert_eq!(found.len(), 2001);
    }
}
