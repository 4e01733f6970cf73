//! The records of a source: lines of JSON, a document with an array of records, or JSON values one after another.

use std::ops::Range;

use super::Stop;
use super::hashes::{Hashed, Hashes};
use super::unended::Unended;
use super::value::{Json, Object};
use crate::disk::{BOM, OsError};
use crate::json::{Cursor, Nesting, NotJson, is_blank};
use crate::lines::{LineSource, ReadError};
use crate::task::Cancellation;

/// The longest record that is read, in bytes.
pub(super) const MAX_RECORD_BYTES: usize = if cfg!(test) { 4 << 20 } else { 256 << 20 };

/// Number of bytes read at a time. So few in tests that most records are read in several pieces.
const CHUNK_BYTES: usize = if cfg!(test) { 50 } else { 256 << 10 };

/// Number of bytes at the beginning of a source from which its format is detected.
pub(super) const HEAD_BYTES: usize = 4 << 20;

/// Number of parsable records at the beginning of a source from which its format is detected.
const HEAD_RECORDS: usize = 500;

/// The longest token of JSON that can't be told from its beginning, `\u0000`. What stops being JSON so near to the end may be JSON once more is read.
const LONGEST_TOKEN: usize = 6;

/// Number of records after which cancellation is checked.
const RECORDS_BETWEEN_CHECKS: u64 = 64;

/// How a source is divided into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A record is a line.
    Lines,
    /// One document with an array under this key. The document without the array is a record, and so is each of the array's elements.
    Document(&'static str),
    /// A record is a JSON value. Anything may be between values but other values.
    Values,
}

/// Where a record is in its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordPlace {
    /// The physical line of its first byte, from 1.
    pub line: u64,
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length in bytes, without the ending of its line.
    pub length: u64,
}

/// A record that was found.
pub(super) struct Found<'a> {
    /// Where it is. Of a document this is its text up to and including the bracket that opens its array.
    pub place: RecordPlace,
    /// Its content.
    pub content: Content<'a>,
}

/// What a record is.
pub(super) enum Content<'a> {
    /// A JSON value, and its members if it is an object.
    Value(Json<'a>, Object<'a>),
    /// The document without the elements of its array.
    Head(Json<'a>),
    /// It is not JSON. `is_last` says whether nothing follows it, not even an empty line.
    Unparseable { is_last: bool },
    /// It is longer than [`MAX_RECORD_BYTES`].
    TooLarge,
}

/// Reads bytes until the buffer is full or the source ends. Returns how many.
pub(super) fn read_fully(source: &LineSource, buffer: &mut [u8], offset: u64) -> Result<usize, ReadError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// The beginning of a source, from which its format is detected and the fields of its `session_start` are read.
pub(super) struct Head<'a> {
    /// Its first parsable lines, but at most those in the first 4 MiB.
    pub lines: Vec<Object<'a>>,
    /// Its first values one after another, if its first line is not one.
    pub values: Vec<Object<'a>>,
    /// The members of the document that the source is, or may be as far as it was read.
    pub document: Option<Object<'a>>,
}

/// Reads the beginning of a source.
pub(super) fn read_beginning(source: &LineSource) -> Result<Vec<u8>, ReadError> {
    let size = usize::try_from(source.size()).unwrap_or(usize::MAX).min(HEAD_BYTES);
    let mut bytes = vec![0; size];
    let count = read_fully(source, &mut bytes, 0)?;
    bytes.truncate(count);
    Ok(bytes)
}

impl<'a> Head<'a> {
    /// What the beginning of a source has. `is_all` says whether it is the whole source.
    pub(super) fn of(beginning: &'a [u8], is_all: bool) -> Result<Self, Stop> {
        let text = beginning.strip_prefix(BOM).unwrap_or(beginning);
        let (mut lines, mut checks) = (Vec::new(), Checks::default());
        for line in text.split(|byte| *byte == b'\n') {
            checks.check()?;
            lines.extend(Json::parse(line).filter(|value| value.is_object()).map(Json::object).map(Object::shrunk));
        }
        let document = document_of(text, is_all);
        let values = if lines.is_empty() || lines.len() == 1 && !is_all { values_of(text)? } else { Vec::new() };
        Ok(Head { lines, values, document })
    }

    /// The records by which lines are detected.
    pub(super) fn first_lines(&self) -> &[Object<'a>] {
        &self.lines[..self.lines.len().min(HEAD_RECORDS)]
    }

    /// The records by which values one after another are detected: the lines if they are such.
    pub(super) fn first_values(&self) -> &[Object<'a>] {
        let values = if self.values.is_empty() { &self.lines } else { &self.values };
        &values[..values.len().min(HEAD_RECORDS)]
    }
}

/// The members of the object that is all of `text`, or of the one that goes on beyond it.
fn document_of(text: &[u8], is_all: bool) -> Option<Object<'_>> {
    let text = text.trim_ascii_start();
    if text.first() != Some(&b'{') {
        return None;
    }
    if is_all {
        return Json::parse(text).map(Json::object);
    }
    let (object, length) = Object::read(text);
    length.is_none().then_some(object)
}

/// The objects of `text`. What is not one ends with its line.
fn values_of(text: &[u8]) -> Result<Vec<Object<'_>>, Stop> {
    let (mut values, mut at) = (Vec::new(), 0);
    let (mut nesting, mut unended, mut checks) = (Nesting::default(), Unended::default(), Checks::default());
    while let Some(start) = memchr::memchr(b'{', &text[at..]).filter(|_| values.len() < HEAD_RECORDS) {
        checks.check()?;
        at += start;
        let mut cursor = Cursor::new(&text[at..]);
        let is_open = unended.leaves_open(at as u64);
        match if is_open { Err(NotJson) } else { cursor.value_bytes(&mut nesting) } {
            Ok(value) => {
                values.push(Json(value).object());
                at += value.len();
            }
            Err(NotJson) => {
                unended.remember(&text[at..at + cursor.position()], at as u64);
                at += memchr::memchr(b'\n', &text[at..]).unwrap_or(text.len() - at);
            }
        }
    }
    Ok(values)
}

/// Checks now and then whether the work goes on.
#[derive(Default)]
struct Checks {
    records: u64,
}

impl Checks {
    /// To be called before each record.
    fn check(&mut self) -> Result<(), Stop> {
        if self.records.is_multiple_of(RECORDS_BETWEEN_CHECKS) {
            check_cancelled()?;
        }
        self.records += 1;
        Ok(())
    }
}

fn check_cancelled() -> Result<(), Stop> {
    let checked = Cancellation::current().check();
    checked.map_err(|error| OsError::new(&error, "read", None).into())
}

/// Reads the records of a source in order.
pub(super) struct Records<'s> {
    source: &'s LineSource,
    layout: Layout,
    buffer: Vec<u8>,
    filled: usize,
    /// Number of bytes of the buffer that were taken.
    taken: usize,
    /// Offset of the buffer in the source.
    base: u64,
    /// The number of the line in which the next byte is.
    line: u64,
    at_end: bool,
    /// What the last broken value leaves open.
    unended: Unended,
    checks: Checks,
    hashes: Option<Hashes>,
    /// The document, once it is scanned.
    document: Option<Document>,
    next_element: usize,
}

impl<'s> Records<'s> {
    /// The records of a source. With `hashes`, those of the records and of the source are computed.
    pub(super) fn new(source: &'s LineSource, layout: Layout, hashes: bool) -> Self {
        Records {
            source,
            layout,
            buffer: Vec::new(),
            filled: 0,
            taken: 0,
            base: 0,
            line: 1,
            at_end: false,
            unended: Unended::default(),
            checks: Checks::default(),
            hashes: hashes.then(Hashes::new),
            document: None,
            next_element: 0,
        }
    }

    /// Scans the document. Returns whether it is one: everything in it parses. Does nothing in other layouts.
    pub(super) fn prepare(&mut self) -> Result<bool, Stop> {
        let Layout::Document(key) = self.layout else { return Ok(true) };
        self.document = DocumentScan::of(self, key)?;
        self.go_to(0);
        Ok(self.document.is_some())
    }

    /// The document without the elements of its array, once it is [prepared](Self::prepare).
    pub(super) fn document_head(&self) -> Option<Json<'_>> {
        self.document.as_ref().map(|document| Json(&document.head))
    }

    /// The hashes of the source and of its records, once all of these were read. Zeros and nothing if they are not wanted.
    pub(super) fn into_hashes(self) -> Result<Hashed, Stop> {
        self.hashes.map_or_else(|| Ok(Hashed::default()), Hashes::finish)
    }

    /// The next record, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Found<'_>>, Stop> {
        self.checks.check()?;
        match self.layout {
            Layout::Lines => self.next_line(),
            Layout::Document(_) => self.next_element(),
            Layout::Values => self.next_value(),
        }
    }

    fn position(&self) -> u64 {
        self.base + self.taken as u64
    }

    /// What is in the buffer and was not taken.
    fn rest(&self) -> &[u8] {
        &self.buffer[self.taken..self.filled]
    }

    fn next_line(&mut self) -> Result<Option<Found<'_>>, Stop> {
        loop {
            let mut searched = 0;
            let newline = loop {
                match memchr::memchr(b'\n', &self.rest()[searched..]) {
                    Some(at) => break Some(searched + at),
                    None if self.at_end => break None,
                    None => searched = self.rest().len(),
                }
                if searched > MAX_RECORD_BYTES {
                    return self.pass_large_line().map(Some);
                }
                self.fill()?;
            };
            let end = newline.unwrap_or(self.rest().len());
            if newline.is_none() && end == 0 {
                return Ok(None);
            }
            let is_last = self.is_all(end + usize::from(newline.is_some()))?;
            let (start, number) = (self.taken, self.line);
            let skip = if self.position() == 0 && self.rest()[..end].starts_with(BOM) { BOM.len() } else { 0 };
            self.taken += end + usize::from(newline.is_some());
            self.line += 1;
            let line = &self.buffer[start + skip..start + end];
            let line = if newline.is_some() { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
            let (from, to) = (start + skip, start + skip + line.len());
            if is_blank(line) {
                self.hash_gap(start..self.taken)?;
                continue;
            }
            self.hash_gap(start..from)?;
            self.hash_record(from..to, true)?;
            self.hash_gap(to..self.taken)?;
            let place = RecordPlace { line: number, offset: self.base + from as u64, length: (to - from) as u64 };
            return Ok(Some(Found { place, content: content_of(&self.buffer[from..to], is_last) }));
        }
    }

    /// Whether nothing follows the next `length` bytes, which are in the buffer.
    fn is_all(&mut self, length: usize) -> Result<bool, Stop> {
        if self.rest().len() == length && !self.at_end {
            self.fill()?;
        }
        Ok(self.rest().len() == length && self.at_end)
    }

    fn hash_gap(&mut self, range: Range<usize>) -> Result<(), Stop> {
        self.hashes.as_mut().map_or(Ok(()), |hashes| hashes.gap(&self.buffer[range]))
    }

    fn hash_record(&mut self, range: Range<usize>, is_end: bool) -> Result<(), Stop> {
        self.hashes.as_mut().map_or(Ok(()), |hashes| hashes.record(&self.buffer[range], is_end))
    }

    /// Passes a line that is longer than any record, piece by piece.
    fn pass_large_line(&mut self) -> Result<Found<'_>, Stop> {
        let mut place = RecordPlace { line: self.line, offset: self.position(), length: 0 };
        loop {
            let newline = memchr::memchr(b'\n', self.rest());
            let until = newline.unwrap_or(self.rest().len());
            // A `\r` belongs to the line unless it ends it: what follows it must be known.
            let is_held = newline.is_none() && !self.at_end && self.rest()[..until].ends_with(b"\r");
            let ends_in_return = newline.is_some() && self.rest()[..until].ends_with(b"\r");
            let (start, length) = (self.taken, until - usize::from(is_held || ends_in_return));
            self.hash_record(start..start + length, newline.is_some() || self.at_end)?;
            place.length += length as u64;
            self.taken += length;
            if newline.is_some() || self.at_end {
                let gap = newline.map_or(0, |newline| newline + 1 - length);
                self.hash_gap(self.taken..self.taken + gap)?;
                self.taken += gap;
                self.line += 1;
                return Ok(Found { place, content: Content::TooLarge });
            }
            self.fill()?;
        }
    }

    fn next_value(&mut self) -> Result<Option<Found<'_>>, Stop> {
        if self.next_byte(|byte| byte.is_ascii_whitespace())?.is_none() {
            return Ok(None);
        }
        let mut place = RecordPlace { line: self.line, offset: self.position(), length: 0 };
        let (length, is_json) = match self.value_length()? {
            Value::Whole(length) => (length, true),
            // What is not JSON ends with its line, so that the next value is found again.
            Value::Broken => (self.line_length()?, false),
            Value::TooLarge => {
                self.skip_large(true)?;
                place.length = self.position() - place.offset;
                return Ok(Some(Found { place, content: Content::TooLarge }));
            }
        };
        let is_last = !is_json && self.is_all(length)?;
        place.length = length as u64;
        let start = self.taken;
        self.hash_record(start..start + length, true)?;
        self.pass_counted(length);
        Ok(Some(Found { place, content: content_of(&self.buffer[start..start + length], is_last) }))
    }

    /// The next byte that is not white space, which is not taken; or `None` at the end. The white space, and a byte order mark before it, is a gap.
    fn next_byte(&mut self, is_space: impl Fn(u8) -> bool) -> Result<Option<u8>, Stop> {
        loop {
            let skip = if self.position() == 0 && self.rest().starts_with(BOM) { BOM.len() } else { 0 };
            let found = self.rest()[skip..].iter().position(|byte| !is_space(*byte));
            let passed = skip + found.unwrap_or(self.rest().len() - skip);
            self.skip(passed)?;
            if found.is_some() || self.at_end {
                return Ok(self.rest().first().copied());
            }
            self.fill()?;
        }
    }

    /// The length of the line that the next byte is in, without its ending; that of its beginning if it is longer than any record.
    fn line_length(&mut self) -> Result<usize, Stop> {
        let mut searched = 0;
        loop {
            match memchr::memchr(b'\n', &self.rest()[searched..]) {
                Some(at) => return Ok(searched + at),
                None => searched = self.rest().len(),
            }
            if self.at_end || searched > MAX_RECORD_BYTES {
                return Ok(searched);
            }
            self.fill()?;
        }
    }

    /// The length of the value that begins with the next byte. Its bytes are then in the buffer, unless it is too large.
    fn value_length(&mut self) -> Result<Value, Stop> {
        let (start, mut nesting, mut read) = (self.position(), Nesting::default(), 0);
        if self.unended.leaves_open(start) {
            return Ok(Value::Broken);
        }
        loop {
            let length = self.rest().len();
            // A value is read again only once there is twice as much of it.
            if length >= 2 * read || length > MAX_RECORD_BYTES || self.at_end {
                let mut cursor = Cursor::new(self.rest());
                let is_value = cursor.value(&mut nesting).is_ok();
                let end = cursor.position();
                // The end of the buffer may be in the middle of a number.
                let is_cut = end == length && !matches!(self.rest()[0], b'{' | b'[' | b'"');
                if is_value && (self.at_end || !is_cut) {
                    return Ok(Value::Whole(end));
                }
                if !is_value && (self.at_end || length - end >= LONGEST_TOKEN) {
                    self.unended.remember(&self.buffer[self.taken..self.taken + end], start);
                    return Ok(Value::Broken);
                }
                read = length;
            }
            if length > MAX_RECORD_BYTES {
                return Ok(Value::TooLarge);
            }
            self.fill()?;
        }
    }

    /// Takes bytes that belong to no record.
    fn skip(&mut self, length: usize) -> Result<(), Stop> {
        self.hash_gap(self.taken..self.taken + length)?;
        self.pass_counted(length);
        Ok(())
    }

    /// Takes a value that need not be in memory, as a record or not. Returns whether it ends.
    fn skip_large(&mut self, is_record: bool) -> Result<bool, Stop> {
        let mut depth = Depth::default();
        loop {
            let end = depth.end_of_value(self.rest());
            let length = end.unwrap_or(self.rest().len());
            let is_end = end.is_some() || self.at_end;
            match is_record {
                true => self.hash_record(self.taken..self.taken + length, is_end)?,
                false => self.hash_gap(self.taken..self.taken + length)?,
            }
            self.pass_counted(length);
            if is_end {
                return Ok(end.is_some());
            }
            self.fill()?;
        }
    }

    /// Takes bytes of the buffer, and counts their lines.
    fn pass_counted(&mut self, length: usize) {
        self.line += memchr::memchr_iter(b'\n', &self.rest()[..length]).count() as u64;
        self.taken += length;
    }

    fn next_element(&mut self) -> Result<Option<Found<'_>>, Stop> {
        let Some(document) = &self.document else { return Ok(None) };
        let index = self.next_element.checked_sub(1);
        let place = match index {
            None => document.place,
            Some(index) => match document.elements.get(index) {
                Some(place) => *place,
                None => return Ok(None),
            },
        };
        self.next_element += 1;
        let is_too_large = place.length > MAX_RECORD_BYTES as u64;
        if index.is_none() || is_too_large {
            self.hash_again(place)?;
            let head = self.document.as_ref().filter(|_| index.is_none());
            let content = head.map_or(Content::TooLarge, |document| Content::Head(Json(&document.head)));
            return Ok(Some(Found { place, content }));
        }
        self.go_to(place.offset);
        let length = place.length as usize;
        while self.rest().len() < length {
            if self.at_end {
                return Err(Stop::changed());
            }
            self.fill()?;
        }
        let range = self.taken..self.taken + length;
        self.taken = range.end;
        if let Some(hashes) = &mut self.hashes {
            hashes.record_again(&self.buffer[range.clone()], true)?;
        }
        Ok(Some(Found { place, content: content_of(&self.buffer[range], false) }))
    }

    /// Hashes a record of the document that need not be in memory.
    fn hash_again(&mut self, place: RecordPlace) -> Result<(), Stop> {
        let Some(hashes) = &mut self.hashes else { return Ok(()) };
        let (mut block, mut at) = (vec![0; CHUNK_BYTES], 0);
        while at < place.length {
            let length = usize::try_from(place.length - at).unwrap_or(usize::MAX).min(block.len());
            let count = read_fully(self.source, &mut block[..length], place.offset + at)?;
            if count == 0 {
                return Err(Stop::changed());
            }
            at += count as u64;
            hashes.record_again(&block[..count], at == place.length)?;
        }
        Ok(())
    }

    /// Continues at an offset.
    fn go_to(&mut self, offset: u64) {
        let ahead = offset.checked_sub(self.position()).and_then(|ahead| usize::try_from(ahead).ok());
        match ahead.filter(|ahead| *ahead <= self.rest().len()) {
            Some(ahead) => self.taken += ahead,
            None => (self.base, self.taken, self.filled, self.at_end) = (offset, 0, 0, false),
        }
    }

    /// Reads more into the buffer, which is enlarged if a record fills it.
    fn fill(&mut self) -> Result<(), Stop> {
        check_cancelled()?;
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.base += self.taken as u64;
            self.filled -= self.taken;
            self.taken = 0;
        }
        if self.filled == self.buffer.len() {
            let size = (self.filled * 2).clamp(CHUNK_BYTES, MAX_RECORD_BYTES + 2 * CHUNK_BYTES);
            self.buffer.resize(size.max(self.filled + CHUNK_BYTES), 0);
        }
        let offset = self.base + self.filled as u64;
        let limit = usize::try_from(self.source.size().saturating_sub(offset)).unwrap_or(usize::MAX);
        let until = self.filled + (self.buffer.len() - self.filled).min(limit);
        let count = self.source.read_at(&mut self.buffer[self.filled..until], offset)?;
        self.at_end = count == 0;
        self.filled += count;
        Ok(())
    }
}

fn content_of(bytes: &[u8], is_last: bool) -> Content<'_> {
    match Json::read(bytes) {
        Some((json, fields)) => Content::Value(json, fields),
        None => Content::Unparseable { is_last },
    }
}

/// What begins somewhere in a source.
enum Value {
    /// A JSON value of this length.
    Whole(usize),
    /// Something that is not JSON.
    Broken,
    /// More than [`MAX_RECORD_BYTES`].
    TooLarge,
}

/// How deep in brackets and strings a scan of JSON is. Nothing is validated.
#[derive(Clone, Copy, Default)]
struct Depth {
    brackets: u64,
    in_string: bool,
    escaped: bool,
    in_scalar: bool,
}

impl Depth {
    /// The number of bytes up to the end of the value that `text` begins with or continues. `None` if it goes on.
    fn end_of_value(&mut self, text: &[u8]) -> Option<usize> {
        for (at, byte) in text.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.brackets == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' if self.in_scalar => return Some(at),
                b'"' => self.in_string = true,
                b'{' | b'[' if self.in_scalar => return Some(at),
                b'{' | b'[' => self.brackets += 1,
                b'}' | b']' => {
                    self.brackets = self.brackets.saturating_sub(1);
                    if self.brackets == 0 {
                        return Some(at + 1);
                    }
                }
                byte if self.brackets == 0 && byte.is_ascii_whitespace() => return Some(at),
                _ => self.in_scalar = self.brackets == 0,
            }
        }
        None
    }
}

/// A document whose array is divided into records.
struct Document {
    /// Its text with an empty array, without white space between its tokens.
    head: Vec<u8>,
    place: RecordPlace,
    elements: Vec<RecordPlace>,
}

/// Finds the elements of the array under a key of a document.
struct DocumentScan<'r, 's> {
    records: &'r mut Records<'s>,
    head: Vec<u8>,
    /// The beginning of the document, up to and including the bracket that opens the array, once that was found.
    place: RecordPlace,
    has_array: bool,
    elements: Vec<RecordPlace>,
}

impl<'r, 's> DocumentScan<'r, 's> {
    /// The document that the source is. `None` if it is not one JSON object.
    fn of(records: &'r mut Records<'s>, key: &str) -> Result<Option<Document>, Stop> {
        if records.next_byte(is_json_space)? != Some(b'{') {
            return Ok(None);
        }
        let place = RecordPlace { line: records.line, offset: records.position(), length: 0 };
        let mut scan = DocumentScan { records, head: Vec::new(), place, has_array: false, elements: Vec::new() };
        if !scan.object(key)? {
            return Ok(None);
        }
        if !scan.has_array {
            scan.place.length = scan.records.position() - place.offset;
        }
        let is_all = scan.next_byte()?.is_none();
        let DocumentScan { head, place, elements, .. } = scan;
        Ok(is_all.then_some(Document { head, place, elements }))
    }

    /// Passes the object. Returns whether it is one.
    fn object(&mut self, key: &str) -> Result<bool, Stop> {
        self.token()?;
        if self.next_byte()? == Some(b'}') {
            return self.token();
        }
        loop {
            let name = self.head.len();
            if self.next_byte()? != Some(b'"') || !self.value()? {
                return Ok(false);
            }
            let is_key = Json(&self.head[name..]).is(key);
            if self.next_byte()? != Some(b':') {
                return Ok(false);
            }
            self.token()?;
            let is_array = is_key && self.next_byte()? == Some(b'[');
            let is_value = if is_array { self.array()? } else { self.value()? };
            if !is_value {
                return Ok(false);
            }
            match self.next_byte()? {
                Some(b',') => self.token()?,
                Some(b'}') => return self.token(),
                _ => return Ok(false),
            };
        }
    }

    /// Passes the array. Returns whether it is one.
    fn array(&mut self) -> Result<bool, Stop> {
        self.token()?;
        if !std::mem::replace(&mut self.has_array, true) {
            self.place.length = self.records.position() - self.place.offset;
        }
        // Of duplicate keys the last one counts.
        self.elements.clear();
        if self.next_byte()? == Some(b']') {
            return self.token();
        }
        loop {
            if self.next_byte()?.is_none() || !self.element()? {
                return Ok(false);
            }
            match self.next_byte()? {
                Some(b',') => self.records.skip(1)?,
                Some(b']') => return self.token(),
                _ => return Ok(false),
            }
        }
    }

    /// Passes an element. Returns whether it is a value; one that is too large for a record is not read.
    fn element(&mut self) -> Result<bool, Stop> {
        let mut place = RecordPlace { line: self.records.line, offset: self.records.position(), length: 0 };
        let is_value = match self.records.value_length()? {
            Value::Whole(length) => self.records.skip(length).map(|()| true)?,
            Value::TooLarge => self.records.skip_large(false)?,
            Value::Broken => false,
        };
        place.length = self.records.position() - place.offset;
        self.elements.push(place);
        Ok(is_value)
    }

    /// Passes a value outside of the array. Returns whether it is one that a document may have.
    fn value(&mut self) -> Result<bool, Stop> {
        if self.next_byte()?.is_none() {
            return Ok(false);
        }
        match self.records.value_length()? {
            Value::Whole(length) if self.head.len() + length <= MAX_RECORD_BYTES => self.keep(length).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Passes a byte outside of the array.
    fn token(&mut self) -> Result<bool, Stop> {
        self.keep(1).map(|()| true)
    }

    fn keep(&mut self, length: usize) -> Result<(), Stop> {
        self.head.extend_from_slice(&self.records.rest()[..length]);
        self.records.skip(length)
    }

    fn next_byte(&mut self) -> Result<Option<u8>, Stop> {
        self.records.next_byte(is_json_space)
    }
}

fn is_json_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn a_document_is_what_parses_as_an_object(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), "[{}\\[\\]\",:\\\\ \n\x0c0-]?", any::<bool>()), 0..3),
            padding in 0..60_usize,
        ) {
            const DOCUMENT: &str = r#"{"a\n\"":[1,{}], "list" : [ {"b":"]}"} ,12,null,
                "x\\" ] ,"list":[[],"y"] , "c":-3.5e7, "d": {"list":[0]}}"#;
            let mut text = [" ".repeat(padding), DOCUMENT.to_owned()].concat();
            for (at, change, replaces) in changes {
                let at = at.index(text.len());
                text.replace_range(at..at + usize::from(replaces), &change);
            }
            let source = LineSource::in_memory(text.clone().into_bytes());
            let mut records = Records::new(&source, Layout::Document("list"), false);
            let expected = Json::parse(text.as_bytes()).is_some_and(Json::is_object);
            prop_assert_eq!(records.prepare().unwrap(), expected, "{:?}", text);
            while let Some(found) = expected.then(|| records.next().unwrap()).flatten() {
                let is_read = matches!(found.content, Content::Value(..) | Content::Head(_));
                prop_assert!(is_read, "{:?}", text);
            }
        }

        #[test]
        fn values_are_those_that_a_read_from_each_place_finds(text in broken_values()) {
            let (mut expected, mut at) = (Vec::new(), 0);
            while let Some(start) = text.as_bytes()[at..].iter().position(|byte| !byte.is_ascii_whitespace()) {
                at += start;
                let (length, is_value) = value_or_line(&text.as_bytes()[at..]);
                expected.push((at as u64, length as u64, is_value));
                at += length;
            }
            let source = LineSource::in_memory(text.clone().into_bytes());
            let mut records = Records::new(&source, Layout::Values, false);
            let mut found = Vec::new();
            while let Some(Found { place, content }) = records.next().unwrap() {
                found.push((place.offset, place.length, matches!(content, Content::Value(..))));
            }
            prop_assert_eq!(found, expected, "{:?}", text);
        }

        #[test]
        fn a_beginning_has_the_objects_that_a_read_from_each_place_finds(text in broken_values()) {
            let (mut expected, mut at) = (Vec::new(), 0);
            while let Some(start) = memchr::memchr(b'{', &text.as_bytes()[at..]) {
                at += start;
                let (length, is_value) = value_or_line(&text.as_bytes()[at..]);
                expected.extend(is_value.then(|| text[at..at + length].to_owned()));
                at += length;
            }
            let found = values_of(text.as_bytes()).unwrap();
            let found: Vec<_> = found.iter().map(|object| object.members().collect::<Vec<_>>()).collect();
            let expected: Vec<_> = expected.iter().map(|text| Object::read(text.as_bytes()).0).collect();
            let expected: Vec<_> = expected.iter().map(|object| object.members().collect::<Vec<_>>()).collect();
            prop_assert_eq!(found, expected, "{:?}", text);
        }
    }

    /// The length of the value that `text` begins with, or else of its line; and whether it is a value.
    fn value_or_line(text: &[u8]) -> (usize, bool) {
        let mut cursor = Cursor::new(text);
        match cursor.value(&mut Nesting::default()) {
            Ok(_) => (cursor.position(), true),
            Err(NotJson) => (memchr::memchr(b'\n', text).unwrap_or(text.len()), false),
        }
    }

    /// Values in each other and one after another, which break off anywhere, with strings that look like values.
    fn broken_values() -> impl Strategy<Value = String> {
        const PIECES: &[&str] = &[
            "{\"a\":",
            "{\"a{\":",
            "[",
            "{",
            "}",
            "]",
            ",",
            "\"b\":",
            "\"{\":",
            "\"",
            "\\\"",
            "\\",
            "1",
            "-",
            "tru",
            "true",
            "{}",
            "[]",
            "\"}\"",
            "\"{\\\"a\\\":1}\"",
            "{\"a\":1}",
            "{\"a\":[{}]}",
            "\"\\u00",
            "\n",
            "\n",
            "\n",
            "\r\n",
            " ",
            "x",
        ];
        let runs = (proptest::sample::select(PIECES), proptest::sample::select(PIECES), 1..6_usize);
        proptest::collection::vec(runs, 0..12)
            .prop_map(|runs| runs.into_iter().map(|(a, b, count)| [a, b].concat().repeat(count)).collect())
    }

    #[test]
    fn what_breaks_off_is_read_once() {
        // 2 MB each: hours, were every line read to the end of the text.
        let deep = |line: &str, end: &str| [line.repeat(2_000_000 / line.len()), end.to_owned()].concat();
        let texts = [
            deep("{\"a\":\n", ""),
            deep("{\"a\":\n", "x"),
            deep("{\"a\":\r\n", ""),
            deep("\n{\"a\":[", ""),
            deep("{\"a\":{}, \"b\":\n", "!"),
            deep("{\"a\":{\n\"{\":", ""),
            deep("{\"a\":[\"{\",\n\"{}\",", ""),
            deep("[\n", ""),
            deep("[\n[],[", "}"),
            deep("[1,{\"a\":\n", "\""),
            deep("{\"a\":1}\n{\"b\":\n", ""),
        ];
        for text in texts {
            let shown = &text[..20];
            let _ = values_of(text.as_bytes()).unwrap();
            let source = LineSource::in_memory(text.clone().into_bytes());
            let mut records = Records::new(&source, Layout::Values, false);
            let mut count = 0;
            while records.next().unwrap().is_some() {
                count += 1;
            }
            assert!(count > 1, "{shown}");
        }
    }

    #[test]
    fn what_follows_a_broken_value_is_found_however_much_it_is() {
        let values = MAX_RECORD_BYTES / 8 + 1000;
        let text = ["{\"a\":!\n".to_owned(), "{\"b\":1}\n".repeat(values)].concat();
        let source = LineSource::in_memory(text.into_bytes());
        let mut records = Records::new(&source, Layout::Values, false);
        let mut found = 0;
        while let Some(Found { content, .. }) = records.next().unwrap() {
            found += usize::from(matches!(content, Content::Value(..)));
        }
        assert_eq!(found, values);
    }

    #[test]
    fn the_beginning_of_a_source_is_not_read_on_once_the_work_is_cancelled() {
        let cancellation = Cancellation::default();
        cancellation.cancel();
        cancellation.during(|| {
            for text in ["{}\n{}\n", "{\"a\":\n{\"a\":\n"] {
                assert!(Head::of(text.as_bytes(), true).is_err(), "{text}");
            }
            let source = LineSource::in_memory(b"{}".to_vec());
            assert!(Records::new(&source, Layout::Values, false).next().is_err());
        });
    }
}
