//! JSON text for `JSON.parse`, with one byte for each character: ASCII is unchanged, U+0080–U+00FF are Latin-1 bytes, and all other
//! characters are escaped. V8 parses such text faster than two-byte text, or UTF-8, which it has to decode first.

use serde::Serialize;

use super::text::OutputText;
use session_tape_core::lines::MAX_LINE_BYTES;

/// A JSON text under construction.
#[derive(Default)]
pub struct JsonText {
    latin1: Vec<u8>,
    /// Whether a key has characters beyond Latin-1. They must not be escaped: `JSON.parse` of Node 24 sometimes mistakes a key that
    /// begins with an escape for another one (nodejs/node#63785).
    has_wide_key: bool,
}

impl JsonText {
    /// An empty text with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        JsonText { latin1: Vec::with_capacity(bytes), has_wide_key: false }
    }

    /// Makes room for `bytes` more.
    pub fn reserve(&mut self, bytes: usize) {
        self.latin1.reserve(bytes);
    }

    /// Size of the text in bytes.
    pub fn bytes(&self) -> usize {
        self.latin1.len()
    }

    /// Appends ASCII.
    pub fn syntax(&mut self, ascii: &str) {
        self.latin1.extend_from_slice(ascii.as_bytes());
    }

    /// Begins an object. Its members follow, then [`close`](Self::close).
    pub fn open(&mut self) {
        self.syntax("{");
    }

    /// Ends an object.
    pub fn close(&mut self) {
        self.syntax("}");
    }

    /// Appends the key of the next member of an object; its value follows.
    pub fn key(&mut self, key: &str) {
        // After a member, the last byte is the end of its value, which is never an opening brace.
        self.syntax(if self.latin1.last() == Some(&b'{') { "\"" } else { ",\"" });
        self.syntax(key);
        self.syntax("\":");
    }

    /// Appends a small value.
    pub fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        // Serialisation fails only for maps whose keys are not strings.
        self.raw(&serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec()));
    }

    /// Appends the next member of an object, with a small value.
    pub fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.key(key);
        self.value(value);
    }

    /// Appends JSON text from a file. Characters beyond ASCII occur only in strings, so escaping them does not change its meaning.
    pub fn raw(&mut self, json: &[u8]) {
        if !self.has_wide_key && has_wide_key(json) {
            self.has_wide_key = true;
        }
        let mut rest = json;
        while !rest.is_empty() {
            let (ascii, beyond) = rest.split_at(ascii_prefix(rest));
            self.latin1.extend_from_slice(ascii);
            let (beyond, later) = beyond.split_at(beyond.iter().position(u8::is_ascii).unwrap_or(beyond.len()));
            self.beyond_ascii(beyond);
            rest = later;
        }
    }

    /// Appends another text.
    pub fn append(&mut self, other: JsonText) {
        self.latin1.extend_from_slice(&other.latin1);
        self.has_wide_key |= other.has_wide_key;
    }

    /// Appends JSON text that `write` appends to a buffer, without copying it if it is ASCII.
    pub fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.latin1.len();
        write(&mut self.latin1);
        if !self.latin1[start..].is_ascii() {
            let json = self.latin1.split_off(start);
            self.raw(&json);
        }
    }

    fn beyond_ascii(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| self.char(c));
            if !chunk.invalid().is_empty() {
                self.char(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    #[inline]
    fn char(&mut self, c: char) {
        match u32::from(c) {
            code @ 0..=0xff => self.latin1.push(code as u8),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| self.unit(*unit)),
        }
    }

    fn unit(&mut self, unit: u16) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.latin1.extend_from_slice(b"\\u");
        self.latin1.extend([12, 8, 4, 0].map(|shift| HEX[usize::from(unit >> shift & 0xf)]));
    }

    /// Appends a number. Infinity is written as a number that parses to it.
    pub fn number(&mut self, value: f64) {
        self.syntax(&number_json(value));
    }

    /// Appends an array of the values.
    pub fn array<T>(&mut self, values: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut Self, T)) {
        self.syntax("[");
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self.syntax(",");
            }
            each(self, value);
        }
        self.syntax("]");
    }

    /// Finishes the text for V8, in [pieces](super::job::pieces) if it is large.
    pub fn finish_in_pieces(self) -> Vec<OutputText> {
        let Some(pieces) = super::job::pieces::split_if_large(&self.latin1) else { return vec![self.finish()] };
        let finished = |latin1| JsonText { latin1, has_wide_key: self.has_wide_key }.finish();
        pieces.into_iter().map(finished).collect()
    }

    /// Finishes the text for V8.
    pub fn finish(self) -> OutputText {
        if self.latin1.len() <= MAX_LINE_BYTES && !self.has_wide_key {
            return OutputText::Latin1(self.latin1);
        }
        // A huge text that mostly consists of escapes has, without them, no more units than it had bytes in the file.
        OutputText::Utf16(unescape_units(&self.latin1))
    }
}

/// A number as JSON. Infinity is written as a number that parses to it.
pub fn number_json(value: f64) -> String {
    if value == f64::INFINITY {
        "1e999".to_owned()
    } else if value == f64::NEG_INFINITY {
        "-1e999".to_owned()
    } else if value == 0.0 && value.is_sign_negative() {
        "-0".to_owned()
    } else {
        session_tape_core::session::format::js_number(value)
    }
}

/// Whether a key of a valid JSON text has characters beyond Latin-1.
fn has_wide_key(json: &[u8]) -> bool {
    let mut from = 0;
    // In JSON text, a byte beyond ASCII is inside a string, and that string is a key if a colon follows it.
    while let Some(at) = json[from..].iter().position(|byte| !byte.is_ascii()) {
        let start = from + at;
        let end = start + string_end(&json[start..]);
        let behind = json[end..].iter().find(|byte| !byte.is_ascii_whitespace());
        if behind == Some(&b':') && is_wide(&json[start..end]) {
            return true;
        }
        from = end;
    }
    false
}

fn is_wide(text: &[u8]) -> bool {
    let beyond_latin1 = |c: char| u32::from(c) > 0xff;
    // Invalid UTF-8 becomes U+FFFD.
    text.utf8_chunks().any(|chunk| !chunk.invalid().is_empty() || chunk.valid().chars().any(beyond_latin1))
}

/// The offset after the closing quote of a string, from a position inside it that does not follow a backslash.
#[inline]
pub fn string_end(inside: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &inside[at..]) {
        at += found + 1;
        if inside[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    inside.len()
}

/// Number of ASCII bytes at the beginning. Checks a block at a time, which the compiler vectorises.
fn ascii_prefix(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(32).take_while(|block| block.iter().fold(0, |any, byte| any | byte) < 0x80);
    let at = blocks.count() * 32;
    bytes[at..].iter().position(|byte| !byte.is_ascii()).map_or(bytes.len(), |further| at + further)
}

/// Replaces the escapes of characters beyond Latin-1 that this module wrote by the code units that they stand for. May also replace
/// such escapes from the file: in a JSON string they mean the same.
fn unescape_units(latin1: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(latin1.len() / 2);
    let mut rest = latin1;
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = rest.get(2..6).filter(|_| byte == b'\\' && tail.first() == Some(&b'u'));
        let unit = hex.and_then(|hex| u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match unit {
            Some(unit) if unit > 0xff => {
                units.push(unit);
                rest = &rest[6..];
            }
            // An escape of two characters, whose second one must not count as the beginning of another escape.
            _ if byte == b'\\' && !tail.is_empty() => {
                units.extend([u16::from(byte), u16::from(tail[0])]);
                rest = &rest[2..];
            }
            _ => {
                units.push(u16::from(byte));
                rest = tail;
            }
        }
    }
    units
}

#[cfg(test)]
mod tests;
