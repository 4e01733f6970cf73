//! The line scanner: whether a line is valid JSON, and where in it the values are.
//!
//! The verdict is that of JavaScript's `JSON.parse` on the line's text, byte for byte (`docs/session-format.md`
//! section 2, "the model is JavaScript"). Nothing is built: a value is a [`Span`] of the line, which is read again
//! if it is needed.
//!
//! The scanner works on raw bytes, before any decoding. That is sound: bytes that are not UTF-8 become
//! U+FFFD, which JSON allows inside strings and nowhere else, just as it does every other character
//! above U+007F; and a malformed sequence never swallows the ASCII byte after it.

use super::block::{BLOCK_BYTES, LARGE_BLOCK_BYTES, LargeBlock, are_simple_escapes, ends_plain, masks};
use super::simple_escape::is_simple_escape;
use crate::json::block;

/// The place of a value in its line, as byte offsets. Lines are shorter than 4 GiB, see
/// [`MAX_LINE_BYTES`](super::MAX_LINE_BYTES).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte, greater than `start`.
    pub end: u32,
}

impl Span {
    /// The bytes of this value in `line`, which must be the line that it was found in.
    pub fn of<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        &line[self.start as usize..self.end as usize]
    }

    /// Length of the value in bytes.
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the span has no bytes. Never true for a value that was found.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// The text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotJson;

/// The open brackets of a value that is being skipped, one bit per level: `{` is 1, `[` is 0.
/// Reused for all lines, so that a scan allocates once. Nesting is limited only by the length of the line, as in V8.
#[derive(Debug, Default)]
pub struct Nesting {
    bits: Vec<u64>,
    depth: usize,
}

impl Nesting {
    #[inline]
    pub(crate) fn open(&mut self, object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        self.bits[word] = (self.bits[word] & !(1 << bit)) | (u64::from(object) << bit);
        self.depth += 1;
    }

    pub(crate) fn close(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn in_object(&self) -> bool {
        let top = self.depth - 1;
        self.bits[top / 64] >> (top % 64) & 1 == 1
    }

    fn reset(&mut self) {
        self.depth = 0;
        // A line with a million brackets must not hold memory for the rest of the file.
        if self.bits.len() > 1024 {
            self.bits = Vec::new();
        }
    }
}

/// The place of a key without its quotes, empty for a value that has none; and whether the key is known to have no escapes.
pub(crate) type KeyPlace = (Span, bool);

const NO_KEY: KeyPlace = (Span { start: 0, end: 0 }, true);

/// Receives the values that a cursor moves over, in the order of the text.
pub(crate) trait Visitor {
    /// An object or array begins. An error ends the walk.
    fn open(&mut self, key: KeyPlace, start: usize, is_object: bool) -> Result<(), NotJson>;
    /// The innermost object or array has ended.
    fn close(&mut self, end: usize);
    /// Another value, and whether it is a string that is known to have no escapes.
    fn scalar(&mut self, key: KeyPlace, value: Span, is_plain: bool);
}

impl Visitor for () {
    #[inline(always)]
    fn open(&mut self, _: KeyPlace, _: usize, _: bool) -> Result<(), NotJson> {
        Ok(())
    }

    #[inline(always)]
    fn close(&mut self, _: usize) {}

    #[inline(always)]
    fn scalar(&mut self, _: KeyPlace, _: Span, _: bool) {}
}

/// A position in a line that moves forward over JSON.
#[derive(Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of `bytes`, one line without its line ending.
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// A cursor at the beginning of a value of `line`.
    pub(crate) fn of(line: &'a [u8], value: Span) -> Self {
        Cursor { bytes: line, at: value.start as usize }
    }

    /// The next byte, not consumed.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The byte at this offset.
    #[inline]
    pub fn at(&self, offset: u32) -> Option<u8> {
        self.bytes.get(offset as usize).copied()
    }

    /// The offset of the next byte.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Moves over JSON white space.
    #[inline]
    pub fn white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Moves to the end of the line, where only white space may be left.
    pub fn finish(&mut self) -> Result<(), NotJson> {
        self.white_space();
        if self.at == self.bytes.len() { Ok(()) } else { Err(NotJson) }
    }

    fn take(&mut self, expected: u8) -> Result<(), NotJson> {
        if self.peek() == Some(expected) {
            self.at += 1;
            return Ok(());
        }
        Err(NotJson)
    }

    /// The place from `start` up to the next byte.
    #[inline]
    pub fn span_from(&self, start: usize) -> Span {
        Span { start: start as u32, end: self.at as u32 }
    }

    /// Moves over an object. Calls `member` at the beginning of each value with the key, still escaped and without its
    /// quotes. `member` must move over the value.
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), NotJson>,
    ) -> Result<Span, NotJson> {
        let start = self.at;
        self.take(b'{')?;
        self.white_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(self.span_from(start));
        }
        loop {
            self.white_space();
            let key = self.key()?;
            member(self, key)?;
            self.white_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(self.span_from(start));
                }
                _ => return Err(NotJson),
            }
        }
    }

    /// Moves over a key, its colon and the white space before the value.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<&'a [u8], NotJson> {
        Ok(self.key_place()?.0.of(self.bytes))
    }

    #[inline]
    fn key_place(&mut self) -> Result<KeyPlace, NotJson> {
        let start = self.at as u32 + 1;
        let is_plain = self.short_string()?;
        let end = self.at as u32 - 1;
        match self.bytes[self.at..] {
            // The usual form, without white space.
            [b':', value, ..] if value > b' ' => self.at += 1,
            _ => {
                self.white_space();
                self.take(b':')?;
                self.white_space();
            }
        }
        Ok((Span { start, end }, is_plain))
    }

    /// Moves over an array, calling `element` at the beginning of each value. `element` must move over it.
    pub fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), NotJson>) -> Result<Span, NotJson> {
        let start = self.at;
        self.take(b'[')?;
        self.white_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(self.span_from(start));
        }
        loop {
            self.white_space();
            element(self)?;
            self.white_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(self.span_from(start));
                }
                _ => return Err(NotJson),
            }
        }
    }

    /// Moves over any value.
    #[inline]
    pub fn value(&mut self, nesting: &mut Nesting) -> Result<Span, NotJson> {
        let start = self.at;
        match self.peek() {
            Some(b'{' | b'[') => self.walk(nesting, &mut ())?,
            _ => self.scalar().map(drop)?,
        }
        Ok(self.span_from(start))
    }

    /// Whether `bytes` are one JSON value and nothing else.
    #[inline]
    pub fn is_value(bytes: &[u8], nesting: &mut Nesting) -> bool {
        let mut cursor = Cursor::new(bytes);
        cursor.value(nesting).is_ok() && cursor.at == bytes.len()
    }

    /// Moves over any value. Returns its bytes.
    #[inline]
    pub fn value_bytes(&mut self, nesting: &mut Nesting) -> Result<&'a [u8], NotJson> {
        let start = self.at;
        self.value(nesting)?;
        Ok(&self.bytes[start..self.at])
    }

    /// The bytes from the next one on.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Moves over a number of bytes that the caller knows to be part of the value.
    #[inline]
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Moves over any value and tells `visitor` of all values in it. Without recursion: nesting costs a bit per level, never stack.
    pub(crate) fn walk(&mut self, nesting: &mut Nesting, visitor: &mut impl Visitor) -> Result<(), NotJson> {
        let walked = self.walk_levels(nesting, visitor);
        nesting.reset();
        walked
    }

    fn walk_levels(&mut self, nesting: &mut Nesting, visitor: &mut impl Visitor) -> Result<(), NotJson> {
        let mut key = NO_KEY;
        loop {
            self.white_space();
            let start = self.at;
            match self.peek() {
                Some(b'{') => {
                    visitor.open(key, start, true)?;
                    self.at += 1;
                    self.white_space();
                    if self.peek() != Some(b'}') {
                        nesting.open(true);
                        key = self.key_place()?;
                        continue;
                    }
                    self.at += 1;
                    visitor.close(self.at);
                }
                Some(b'[') => {
                    visitor.open(key, start, false)?;
                    self.at += 1;
                    self.white_space();
                    if self.peek() != Some(b']') {
                        nesting.open(false);
                        key = NO_KEY;
                        continue;
                    }
                    self.at += 1;
                    visitor.close(self.at);
                }
                _ => {
                    let is_plain = self.scalar()?;
                    visitor.scalar(key, self.span_from(start), is_plain);
                }
            }
            match self.leave_levels(nesting, visitor)? {
                Some(next) => key = next,
                None => return Ok(()),
            }
        }
    }

    /// After a value: closes the brackets that end here. Returns the key of the next value, or `None` if the outermost bracket was closed.
    #[inline]
    fn leave_levels(&mut self, nesting: &mut Nesting, visitor: &mut impl Visitor) -> Result<Option<KeyPlace>, NotJson> {
        while nesting.depth > 0 {
            self.white_space();
            match (self.peek(), nesting.in_object()) {
                (Some(b','), true) => {
                    self.at += 1;
                    self.white_space();
                    return self.key_place().map(Some);
                }
                (Some(b','), false) => {
                    self.at += 1;
                    return Ok(Some(NO_KEY));
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.at += 1;
                    nesting.close();
                    visitor.close(self.at);
                }
                _ => return Err(NotJson),
            }
        }
        Ok(None)
    }

    /// Moves over a value that is no object and no array. Returns whether it is a string that is known to have no escapes.
    #[inline]
    fn scalar(&mut self) -> Result<bool, NotJson> {
        match self.peek() {
            Some(b'"') => return self.short_string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => Err(NotJson),
        }?;
        Ok(false)
    }

    #[inline]
    fn literal(&mut self, word: &[u8]) -> Result<(), NotJson> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        Err(NotJson)
    }

    fn number(&mut self) -> Result<(), NotJson> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(NotJson) }
    }

    /// Moves over a string, quotes included.
    #[inline]
    pub fn string(&mut self) -> Result<Span, NotJson> {
        let start = self.at;
        self.short_string()?;
        Ok(self.span_from(start))
    }

    /// Moves over a string. Returns `true` if it is known to have no escapes, which is found out only for short strings: those without escapes
    /// that end within the first block.
    #[inline]
    pub fn short_string(&mut self) -> Result<bool, NotJson> {
        self.take(b'"')?;
        if let Some(block) = self.bytes[self.at..].first_chunk() {
            self.at += block::plain(block);
        }
        let is_plain = self.peek() == Some(b'"');
        if !is_plain {
            self.rest_of_string()?;
        }
        self.at += 1;
        Ok(is_plain)
    }

    /// Moves to the quote that ends the string, from any position in it except the middle of an escape.
    fn rest_of_string(&mut self) -> Result<(), NotJson> {
        if self.large_blocks_of_string()? {
            return Ok(());
        }
        loop {
            self.at += plain_prefix(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => return Ok(()),
                Some(b'\\') => self.escape()?,
                // A control character, or the end of the line.
                _ => return Err(NotJson),
            }
        }
    }

    /// Moves to the closing quote and returns `true`, or stops when less than a large block is left of the line.
    #[inline]
    fn large_blocks_of_string(&mut self) -> Result<bool, NotJson> {
        while let Some(block) = self.bytes[self.at..].first_chunk() {
            if self.rest_of_string_in(block)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves to the closing quote and returns `true` if it is in the block that begins here. Otherwise moves past the block, but not into the middle
    /// of an escape.
    #[inline(always)]
    fn rest_of_string_in(&mut self, block: &LargeBlock) -> Result<bool, NotJson> {
        let (ends, backslashes) = masks(block);
        let escaped = backslashes << 1;
        let end = ends & !escaped;
        let behind =
            if backslashes >> (LARGE_BLOCK_BYTES - 1) == 0 { LARGE_BLOCK_BYTES } else { LARGE_BLOCK_BYTES - 1 };
        let length = behind.min(end.trailing_zeros() as usize);
        let marked = escaped & !u64::MAX.checked_shl(length as u32).unwrap_or(0);
        // Where backslashes follow each other, only a pass from left to right can tell which one escapes which.
        if backslashes & escaped != 0 || (marked != 0 && !are_simple_escapes(block, marked)) {
            return self.rest_of_string_by_escapes(ends, backslashes);
        }
        self.at += length;
        match end {
            0 => Ok(false),
            _ if self.peek() == Some(b'"') => Ok(true),
            _ => Err(NotJson),
        }
    }

    /// The same for blocks with any escapes, which are checked one after the other.
    fn rest_of_string_by_escapes(&mut self, ends: u64, backslashes: u64) -> Result<bool, NotJson> {
        let begin = self.at;
        let mut hits = ends | backslashes;
        while hits != 0 {
            let at = hits.trailing_zeros();
            self.at = begin + at as usize;
            if ends >> at & 1 == 1 {
                return if self.peek() == Some(b'"') { Ok(true) } else { Err(NotJson) };
            }
            self.escape()?;
            let behind = (self.at - begin) as u32;
            hits &= u64::MAX.checked_shl(behind).unwrap_or(0);
        }
        self.at = self.at.max(begin + LARGE_BLOCK_BYTES);
        Ok(false)
    }

    #[inline]
    fn escape(&mut self) -> Result<(), NotJson> {
        match self.bytes.get(self.at + 1) {
            Some(byte) if is_simple_escape(*byte) => self.at += 2,
            Some(b'u') => {
                let hex = self.bytes.get(self.at + 2..self.at + 6).ok_or(NotJson)?;
                if !hex.iter().all(u8::is_ascii_hexdigit) {
                    return Err(NotJson);
                }
                self.at += 6;
            }
            _ => return Err(NotJson),
        }
        Ok(())
    }
}

/// The length of the plain string text at the beginning of `bytes`.
#[inline]
pub fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk() {
        let plain = block::plain(block);
        at += plain;
        if plain < BLOCK_BYTES {
            return at;
        }
    }
    at + bytes[at..].iter().position(|&byte| ends_plain(byte)).unwrap_or(bytes.len() - at)
}

#[cfg(test)]
mod tests;
