//! The records of a session, as they are compared: the lines that a replay counts as events.
//!
//! Lines that a replay skips silently (blank lines, `null`, lines that do not parse) are skipped here too. Events that it skips with a
//! warning (malformed, unknown, out of place) were recorded, and are compared as they are in the file.

use super::cursor::Batch;
use super::event::Row;
use super::feed::BatchReader;
use super::source::Source;
use crate::diff::error::{Damage, DiffError, SessionFault, Side};
use crate::disk::files;
use crate::json::{Cursor, Nesting, Span};
use crate::lines::{LineReader, LineSource, Lines};
use crate::session::format::{Body, Line, Mode, StartFields};

/// The row of a line, which is passed without its ending. Returns `None` if the line is not a record.
pub(crate) fn record_row(line: &[u8], nesting: &mut Nesting) -> Option<Row> {
    let mut row = Row::of(Span { start: 0, end: line.len() as u32 }, 0);
    let mut cursor = Cursor::new(line);
    cursor.white_space();
    if cursor.peek()? != b'{' {
        let value = cursor.value(nesting).and_then(|span| cursor.finish().map(|()| span)).ok()?;
        return (value.of(line) != b"null").then_some(Row { payload: Some(value), is_value: true, ..row });
    }
    let [head, payload] = cursor.members(["type", "payload"], nesting).ok()?;
    cursor.finish().ok()?;
    (row.head, row.payload) = (head, payload);
    Some(row)
}

/// Reads a session's file.
pub(crate) struct SessionRecords {
    file: LineSource,
    reader: LineReader,
    nesting: Nesting,
    place: Damage,
    lines: u64,
    records: u64,
}

impl SessionRecords {
    /// Opens the file. Returns the reader and the size of the file in bytes.
    pub(crate) fn open(source: &Source, side: Option<Side>) -> Result<(Self, u64), DiffError> {
        let size = files::metadata(&source.log).map_or(0, |metadata| metadata.size);
        let file = LineSource::open(&source.log).map_err(|error| source.unread(error, side))?;
        let mut reader = LineReader::default();
        // Bytes that are appended in the meantime are not read: that might never end.
        reader.begin(0..file.size());
        let (nesting, place) = (Nesting::default(), source.place(side));
        Ok((SessionRecords { file, reader, nesting, place, lines: 0, records: 0 }, size))
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SessionFault> {
        let Some(chunk) = self.reader.next_chunk(&self.file, self.lines)? else {
            return if self.lines == 0 { Err(SessionFault::EmptyFile) } else { Ok(false) };
        };
        batch.bytes.extend_from_slice(chunk.bytes);
        (batch.offset, batch.end) = (chunk.offset, chunk.offset + chunk.bytes.len() as u64);
        let (at_start, unterminated) = (chunk.at_start, chunk.unterminated);
        for (start, line) in Lines::new(&batch.bytes) {
            if at_start && start == 0 {
                start_of(line, &mut self.nesting)?;
            }
            self.lines += 1;
            let row = record_row(line, &mut self.nesting);
            batch.is_torn = unterminated && row.is_none();
            let Some(row) = row else { continue };
            let line = Span { start: start as u32, end: (start + line.len()) as u32 };
            batch.rows.push(Row { line, number: self.records, ..row });
            self.records += 1;
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

impl BatchReader for SessionRecords {
    type Batch = Batch;
    type Error = DiffError;

    fn read(&mut self, spare: Option<Batch>) -> Result<Option<Batch>, DiffError> {
        let mut batch = spare.unwrap_or_default();
        batch.bytes.clear();
        batch.rows.clear();
        batch.is_torn = false;
        let read = self.next_batch(&mut batch).map_err(|error| DiffError::of_session(error, self.place.clone()))?;
        Ok(read.then_some(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::stream::Cursor;
    use std::io::Write;

    fn records(text: &[u8]) -> Result<(Vec<String>, bool), &'static str> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let source = Source::session(file.path());
        let mut cursor = Cursor::<SessionRecords>::open(&source, None, 0, false).map_err(|error| error.code())?;
        let mut found = Vec::new();
        while cursor.advance().map_err(|error| error.code())? {
            let (record, (offset, length)) = (cursor.event().unwrap(), cursor.line());
            assert_eq!(record.place(), found.len() as i64);
            assert_eq!(&text[offset as usize..][..length as usize], record.line);
            let [name, payload] = [record.head(), record.payload()].map(Option::unwrap_or_default);
            found.push(format!("{} {}", String::from_utf8_lossy(name), String::from_utf8_lossy(payload)));
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
        assert_eq!(records(b""), Err("EmptyFile"));
        assert_eq!(records(b"\xef\xbb\xbf"), Err("EmptyFile"));
        assert_eq!(records(b"\n"), Err("MissingStart"));
        assert_eq!(records(format!("\n{START}\n").as_bytes()), Err("MissingStart"));
        assert_eq!(records(br#"{"type":"session_start","payload":{}}"#), Err("InvalidStart"));
    }

    #[test]
    fn threaded_reading_of_large_files_has_the_same_result() {
        let line = format!("{{\"type\":\"x\",\"payload\":\"{}\"}}\n", "y".repeat(1000));
        let (found, _) = records(format!("{START}\n{}", line.repeat(2000)).as_bytes()).unwrap();
        assert_eq!(found.len(), 2001);
    }
}
