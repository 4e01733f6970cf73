//! The records of a source: lines of JSON, a document with an array of records, or JSON values one after another.

use sha2::{Digest as _, Sha256};

use super::value::{Json, Object};
use crate::disk::{BOM, OsError};
use crate::hash::Hash;
use crate::json::{Cursor, Nesting, is_blank};
use crate::lines::{LineSource, ReadError};
use crate::task::Cancellation;

/// The longest record that is read, in bytes.
pub(super) const MAX_RECORD_BYTES: usize = if cfg!(test) { 4 << 20 } else { 256 << 20 };

/// Number of bytes read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// Number of bytes at the beginning of a source from which its format is detected.
pub(super) const HEAD_BYTES: usize = 4 << 20;

/// Number of parsable records at the beginning of a source from which its format is detected.
const HEAD_RECORDS: usize = 500;

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
pub(super) struct Place {
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
    pub place: Place,
    /// Its SHA-256; zeros if hashes are not wanted.
    pub hash: Hash,
    /// Its content.
    pub content: Content<'a>,
}

/// What a record is.
pub(super) enum Content<'a> {
    /// A JSON value.
    Value(Json<'a>),
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
    pub(super) fn of(beginning: &'a [u8], is_all: bool) -> Self {
        let text = beginning.strip_prefix(BOM).unwrap_or(beginning);
        let mut lines = Vec::new();
        for line in text.split(|byte| *byte == b'\n') {
            lines.extend(Json::parse(line).filter(|value| value.is_object()).map(Json::object));
        }
        let document = document_of(text, is_all);
        let values = if lines.is_empty() || lines.len() == 1 && !is_all { values_of(text) } else { Vec::new() };
        Head { lines, values, document }
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
    let (object, is_whole) = Object::read(text);
    (!is_whole).then_some(object)
}

fn values_of(text: &[u8]) -> Vec<Object<'_>> {
    let (mut values, mut at) = (Vec::new(), 0);
    while let Some(start) = memchr::memchr(b'{', &text[at..]) {
        at += start;
        let mut cursor = Cursor::new(&text[at..]);
        match cursor.value_bytes(&mut Nesting::default()) {
            Ok(value) => {
                values.push(Json(value).object());
                at += value.len();
            }
            Err(_) => at += memchr::memchr(b'\n', &text[at..]).unwrap_or(text.len() - at),
        }
        if values.len() >= HEAD_RECORDS {
            break;
        }
    }
    values
}

/// The hash of a source, computed while it is read in order.
#[derive(Default)]
struct SourceHash(Option<Sha256>);

impl SourceHash {
    fn add(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.0 {
            hasher.update(bytes);
        }
    }
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
    line: u64,
    at_end: bool,
    hashes: bool,
    whole: SourceHash,
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
            line: 0,
            at_end: false,
            hashes,
            whole: SourceHash(hashes.then(Sha256::new)),
            document: None,
            next_element: 0,
        }
    }

    /// Scans the document. Returns whether it is one: everything in it parses. Does nothing in other layouts.
    pub(super) fn prepare(&mut self) -> Result<bool, ReadError> {
        let Layout::Document(key) = self.layout else { return Ok(true) };
        self.document = scan_document(self.source, key, &mut self.whole)?;
        Ok(self.document.is_some())
    }

    /// The document without the elements of its array, once it is [prepared](Self::prepare).
    pub(super) fn document_head(&self) -> Option<Json<'_>> {
        self.document.as_ref().map(|document| Json(&document.head))
    }

    /// The hash of the source, once all records were read.
    pub(super) fn source_hash(self) -> Hash {
        self.whole.0.map_or(Hash::default(), |hasher| hasher.finalize().into())
    }

    /// How far the source is read, in bytes.
    pub(super) fn position(&self) -> u64 {
        self.base + self.taken as u64
    }

    /// The next record, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Found<'_>>, ReadError> {
        match self.layout {
            Layout::Lines => self.next_line(),
            Layout::Document(_) => self.next_element(),
            Layout::Values => self.next_value(),
        }
    }

    fn hash_of(&self, bytes: &[u8]) -> Hash {
        if self.hashes { Sha256::digest(bytes).into() } else { Hash::default() }
    }

    fn next_line(&mut self) -> Result<Option<Found<'_>>, ReadError> {
        loop {
            let mut searched = 0;
            let newline = loop {
                let text = &self.buffer[self.taken..self.filled];
                match memchr::memchr(b'\n', &text[searched..]) {
                    Some(at) => break Some(searched + at),
                    None if self.at_end => break None,
                    None => searched = text.len(),
                }
                if searched > MAX_RECORD_BYTES {
                    return self.pass_large_line().map(Some);
                }
                self.fill()?;
            };
            let end = newline.unwrap_or(self.filled - self.taken);
            if newline.is_none() && end == 0 {
                return Ok(None);
            }
            self.line += 1;
            let (start, base) = (self.taken, self.base);
            let is_first = base + start as u64 == 0;
            self.taken += end + usize::from(newline.is_some());
            self.whole.add(&self.buffer[start..self.taken]);
            let skip = if is_first && self.buffer[start..start + end].starts_with(BOM) { BOM.len() } else { 0 };
            let line = &self.buffer[start + skip..start + end];
            let line = if newline.is_some() { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
            if is_blank(line) {
                continue;
            }
            let (from, to) = (start + skip, start + skip + line.len());
            let place = Place { line: self.line, offset: base + from as u64, length: line.len() as u64 };
            if Json::parse(line).is_none() {
                let hash = self.hash_of(&self.buffer[from..to]);
                let is_last = self.is_finished()?;
                return Ok(Some(Found { place, hash, content: Content::Unparseable { is_last } }));
            }
            let line = &self.buffer[from..to];
            // It parsed, so it is trimmed only.
            let value = Json(line.trim_ascii());
            return Ok(Some(Found { place, hash: self.hash_of(line), content: Content::Value(value) }));
        }
    }

    /// Whether everything was taken.
    fn is_finished(&mut self) -> Result<bool, ReadError> {
        if self.taken == self.filled && !self.at_end {
            self.fill()?;
        }
        Ok(self.taken == self.filled && self.at_end)
    }

    /// Passes a line that is longer than any record, piece by piece.
    fn pass_large_line(&mut self) -> Result<Found<'_>, ReadError> {
        self.line += 1;
        let offset = self.position();
        let (mut hasher, mut length, mut pending_return) = (Sha256::new(), 0, false);
        loop {
            let text = &self.buffer[self.taken..self.filled];
            let newline = memchr::memchr(b'\n', text);
            let piece = &text[..newline.unwrap_or(text.len())];
            // A `\r` belongs to the line unless it ends it.
            let (piece, ends_in_return) = match piece.strip_suffix(b"\r") {
                Some(before) => (before, true),
                None => (piece, false),
            };
            if pending_return && !(piece.is_empty() && newline.is_some() && !ends_in_return) {
                hasher.update(b"\r");
                length += 1;
            }
            if self.hashes {
                hasher.update(piece);
            }
            length += piece.len() as u64;
            pending_return = ends_in_return;
            let taken = self.taken + newline.map_or(text.len(), |at| at + 1);
            self.whole.add(&self.buffer[self.taken..taken]);
            self.taken = taken;
            if newline.is_some() || self.at_end {
                if pending_return && newline.is_none() {
                    hasher.update(b"\r");
                    length += 1;
                }
                break;
            }
            self.fill()?;
        }
        let place = Place { line: self.line, offset, length };
        let hash = if self.hashes { hasher.finalize().into() } else { Hash::default() };
        Ok(Found { place, hash, content: Content::TooLarge })
    }

    fn next_value(&mut self) -> Result<Option<Found<'_>>, ReadError> {
        if self.line == 0 {
            self.line = 1;
        }
        // Between values.
        loop {
            let rest = &self.buffer[self.taken..self.filled];
            let skip = if self.position() == 0 && rest.starts_with(BOM) { BOM.len() } else { 0 };
            let blank = rest[skip..].iter().position(|byte| !byte.is_ascii_whitespace());
            let passed = skip + blank.unwrap_or(rest.len() - skip);
            self.pass(passed);
            if blank.is_some() || self.at_end {
                break;
            }
            self.fill()?;
        }
        if self.taken == self.filled && self.at_end {
            return Ok(None);
        }
        let (mut scan, mut scanned) = (Depth::default(), 0);
        let end = loop {
            let text = &self.buffer[self.taken..self.filled];
            if let Some(end) = scan.end_of_value(&text[scanned..]) {
                break Some(scanned + end);
            }
            scanned = text.len();
            if self.at_end || scanned > MAX_RECORD_BYTES {
                break None;
            }
            self.fill()?;
        };
        let (start, line, offset) = (self.taken, self.line, self.position());
        let text_length = self.filled - self.taken;
        let whole = end.filter(|end| Json::parse(&self.buffer[start..start + end]).is_some());
        // What is not JSON ends with its line, so that the next value is found again.
        let length = whole
            .unwrap_or_else(|| memchr::memchr(b'\n', &self.buffer[start..self.filled]).unwrap_or(text_length).max(1));
        self.pass(length);
        let bytes = &self.buffer[start..start + length];
        let place = Place { line, offset, length: length as u64 };
        let hash = self.hash_of(bytes);
        if whole.is_some() {
            let content = Content::Value(Json(&self.buffer[start..start + length]));
            return Ok(Some(Found { place, hash, content }));
        }
        let is_last = self.is_finished()?;
        Ok(Some(Found { place, hash, content: Content::Unparseable { is_last } }))
    }

    /// Takes bytes of the buffer.
    fn pass(&mut self, length: usize) {
        let bytes = &self.buffer[self.taken..self.taken + length];
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.whole.add(bytes);
        self.taken += length;
    }

    fn next_element(&mut self) -> Result<Option<Found<'_>>, ReadError> {
        let Some(document) = &self.document else { return Ok(None) };
        let index = self.next_element;
        self.next_element += 1;
        if index == 0 {
            let hash = document.hash;
            return Ok(Some(Found { place: document.place, hash, content: Content::Head(Json(&document.head)) }));
        }
        let Some(place) = document.elements.get(index - 1).copied() else { return Ok(None) };
        self.base = place.offset + place.length;
        if place.length > MAX_RECORD_BYTES as u64 {
            let hash = if self.hashes { hash_at(self.source, place)? } else { Hash::default() };
            return Ok(Some(Found { place, hash, content: Content::TooLarge }));
        }
        self.buffer.resize(place.length as usize, 0);
        if read_fully(self.source, &mut self.buffer, place.offset)? < self.buffer.len() {
            return Err(ReadError::Changed);
        }
        let hash = self.hash_of(&self.buffer);
        Ok(Some(Found { place, hash, content: Content::Value(Json(&self.buffer)) }))
    }

    /// Reads more into the buffer, which is enlarged if a record fills it.
    fn fill(&mut self) -> Result<(), ReadError> {
        let failed = |error| ReadError::System(OsError::new(&error, "read", None));
        Cancellation::current().check().map_err(failed)?;
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

/// The hash of a record that is too large to be read whole.
fn hash_at(source: &LineSource, place: Place) -> Result<Hash, ReadError> {
    let (mut hasher, mut block, mut at) = (Sha256::new(), vec![0; CHUNK_BYTES], 0);
    while at < place.length {
        let length = usize::try_from(place.length - at).unwrap_or(usize::MAX).min(block.len());
        let count = read_fully(source, &mut block[..length], place.offset + at)?;
        if count == 0 {
            return Err(ReadError::Changed);
        }
        hasher.update(&block[..count]);
        at += count as u64;
    }
    Ok(hasher.finalize().into())
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
    /// Its text with an empty array.
    head: Vec<u8>,
    place: Place,
    hash: Hash,
    elements: Vec<Place>,
}

/// Finds the elements of the array under `key`. `None` if the source is not one JSON object.
fn scan_document(source: &LineSource, key: &str, whole: &mut SourceHash) -> Result<Option<Document>, ReadError> {
    let mut scan = DocumentScan::new(key, whole.0.is_some());
    let (mut block, mut at) = (vec![0; CHUNK_BYTES], 0);
    while at < source.size() {
        let limit = usize::try_from(source.size() - at).unwrap_or(usize::MAX).min(block.len());
        let count = read_fully(source, &mut block[..limit], at)?;
        if count == 0 {
            break;
        }
        whole.add(&block[..count]);
        let skip = if at == 0 && block[..count].starts_with(BOM) { BOM.len() } else { 0 };
        if !scan.add(&block[skip..count], at + skip as u64) {
            return Ok(None);
        }
        at += count as u64;
    }
    Ok(scan.finish())
}

/// Where a scan of a document is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Outside of the array.
    Outside,
    /// In the array, between its elements.
    Between,
    /// In an element.
    Element,
}

struct DocumentScan<'k> {
    key: &'k str,
    part: Part,
    depth: u64,
    in_string: bool,
    escaped: bool,
    line: u64,
    head: Vec<u8>,
    /// Where the last string at depth 1 is in the head.
    last_string: std::ops::Range<usize>,
    /// The key, between its colon and the end of its value.
    is_key: bool,
    place: Option<Place>,
    hasher: Option<Sha256>,
    hash: Hash,
    has_array: bool,
    element: Vec<u8>,
    element_place: Place,
    elements: Vec<Place>,
    /// Whether an element is expected, behind a comma.
    expects_element: bool,
}

impl<'k> DocumentScan<'k> {
    fn new(key: &'k str, hashes: bool) -> Self {
        DocumentScan {
            key,
            part: Part::Outside,
            depth: 0,
            in_string: false,
            escaped: false,
            line: 1,
            head: Vec::new(),
            last_string: 0..0,
            is_key: false,
            place: None,
            hasher: hashes.then(Sha256::new),
            hash: Hash::default(),
            has_array: false,
            element: Vec::new(),
            element_place: Place::default(),
            elements: Vec::new(),
            expects_element: false,
        }
    }

    /// Scans more of the text, which begins at `offset`. Returns whether it may be a document so far.
    fn add(&mut self, text: &[u8], offset: u64) -> bool {
        let mut at = 0;
        while at < text.len() {
            // The inside of strings is passed in one step.
            if self.in_string && !self.escaped {
                let plain = memchr::memchr2(b'"', b'\\', &text[at..]).unwrap_or(text.len() - at);
                self.keep(&text[at..at + plain]);
                at += plain;
                if at == text.len() {
                    break;
                }
            }
            if !self.take(text[at], offset + at as u64) {
                return false;
            }
            at += 1;
        }
        true
    }

    /// Adds bytes to the element or to the head.
    fn keep(&mut self, bytes: &[u8]) {
        let kept = match self.part {
            Part::Element => {
                self.element_place.length += bytes.len() as u64;
                &mut self.element
            }
            Part::Outside | Part::Between => {
                if let (Some(hasher), false) = (&mut self.hasher, self.has_array) {
                    hasher.update(bytes);
                }
                if let (Some(place), false) = (&mut self.place, self.has_array) {
                    place.length += bytes.len() as u64;
                }
                &mut self.head
            }
        };
        if kept.len() <= MAX_RECORD_BYTES {
            kept.extend_from_slice(bytes);
        }
    }

    fn take(&mut self, byte: u8, offset: u64) -> bool {
        self.line += u64::from(byte == b'\n');
        if self.in_string {
            self.keep(&[byte]);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    self.last_string.end = self.head.len();
                    return self.after_value(offset);
                }
                _ => {}
            }
            return true;
        }
        if self.part == Part::Between {
            return self.take_between(byte, offset);
        }
        self.take_token(byte, offset)
    }

    /// A byte of the array outside of its elements.
    fn take_between(&mut self, byte: u8, offset: u64) -> bool {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => true,
            b']' if !self.expects_element || self.elements.is_empty() => {
                self.part = Part::Outside;
                self.depth -= 1;
                self.keep(b"]");
                true
            }
            b',' if !self.expects_element && !self.elements.is_empty() => {
                self.expects_element = true;
                true
            }
            _ if self.expects_element => {
                self.part = Part::Element;
                self.expects_element = false;
                self.element.clear();
                self.element_place = Place { line: self.line, offset, length: 0 };
                self.take_token(byte, offset)
            }
            _ => false,
        }
    }

    fn take_token(&mut self, byte: u8, offset: u64) -> bool {
        if self.part == Part::Element && self.depth == 2 && self.element_place.length > 0 {
            // A scalar element ends where something else begins.
            if matches!(byte, b',' | b']' | b' ' | b'\t' | b'\n' | b'\r') {
                return self.end_element() && self.take_between(byte, offset);
            }
        }
        if self.part == Part::Outside && self.place.is_none() && !byte.is_ascii_whitespace() {
            if byte != b'{' {
                return false;
            }
            self.place = Some(Place { line: self.line, offset, length: 0 });
        }
        if self.place.is_none() {
            return true;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 {
                    self.last_string.start = self.head.len();
                }
                self.keep(b"\"");
                true
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.keep(&[byte]);
                if byte == b'[' && self.depth == 2 && self.part == Part::Outside && self.is_key {
                    self.begin_array();
                }
                true
            }
            b'}' | b']' => {
                if self.depth == 0 {
                    return false;
                }
                self.depth -= 1;
                self.keep(&[byte]);
                self.after_value(offset)
            }
            b':' if self.depth == 1 && self.part == Part::Outside => {
                let name = Json(self.head.get(self.last_string.clone()).unwrap_or_default());
                self.is_key = name.is(self.key);
                self.keep(b":");
                true
            }
            b',' if self.depth == 1 && self.part == Part::Outside => {
                self.is_key = false;
                self.keep(b",");
                true
            }
            _ => {
                self.keep(&[byte]);
                true
            }
        }
    }

    fn begin_array(&mut self) {
        self.part = Part::Between;
        self.expects_element = true;
        // Of duplicate keys the last one counts.
        self.elements.clear();
        if !self.has_array {
            self.has_array = true;
            self.hash = self.hasher.take().map_or(Hash::default(), |hasher| hasher.finalize().into());
        }
    }

    fn after_value(&mut self, _offset: u64) -> bool {
        if self.part == Part::Element && self.depth == 2 { self.end_element() } else { true }
    }

    fn end_element(&mut self) -> bool {
        self.part = Part::Between;
        let is_large = self.element_place.length > MAX_RECORD_BYTES as u64;
        self.elements.push(self.element_place);
        is_large || Json::parse(&self.element).is_some()
    }

    fn finish(self) -> Option<Document> {
        let is_large = self.head.len() > MAX_RECORD_BYTES;
        let is_whole = self.depth == 0 && !self.in_string && self.part == Part::Outside && !is_large;
        let (place, head) = (self.place?, self.head);
        let value = Json::parse(&head).filter(|value| is_whole && value.is_object())?;
        let head = value.bytes().to_vec();
        let place = if self.has_array { place } else { Place { length: head.len() as u64, ..place } };
        let hash = match self.hasher {
            Some(_) => Sha256::digest(&head).into(),
            None => self.hash,
        };
        Some(Document { head, place, hash, elements: self.elements })
    }
}
