//! JSON text for `JSON.parse`: one byte a character. ASCII stands as it is, U+0080–U+00FF as one Latin-1 byte, the rest
//! is escaped. V8 parses such text faster than UTF-8 that it must decode first, or two-byte text.

use serde::Serialize;

use super::text::OutputText;
use crate::jsonl::MAX_LINE_BYTES;

/// JSON text that is being written.
#[derive(Default)]
pub struct JsonText {
    latin1: Vec<u8>,
    /// Some key has characters beyond Latin-1. They must not be escaped: `JSON.parse` of Node 24 takes a key that begins with an escape
    /// for another one at times (nodejs/node#63785).
    has_wide_key: bool,
}

impl JsonText {
    /// Text that has room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        JsonText { latin1: Vec::with_capacity(bytes), has_wide_key: false }
    }

    /// Makes room for `bytes` more.
    pub fn reserve(&mut self, bytes: usize) {
        self.latin1.reserve(bytes);
    }

    /// How long the text is, in bytes.
    pub fn bytes(&self) -> usize {
        self.latin1.len()
    }

    /// Appends ASCII.
    pub fn syntax(&mut self, ascii: &str) {
        self.latin1.extend_from_slice(ascii.as_bytes());
    }

    /// Begins an object. Members follow, then [`close`](Self::close).
    pub fn open(&mut self) {
        self.syntax("{");
    }

    /// Ends an object.
    pub fn close(&mut self) {
        self.syntax("}");
    }

    /// Appends the key of an object's next member; its value follows.
    pub fn key(&mut self, key: &str) {
        // Behind a member stands the end of its value, never this.
        self.syntax(if self.latin1.last() == Some(&b'{') { "\"" } else { ",\"" });
        self.syntax(key);
        self.syntax("\":");
    }

    /// Appends a small value.
    pub fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        // Only maps whose keys are no strings have no JSON text.
        self.raw(&serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec()));
    }

    /// Appends an object's next member, which is small.
    pub fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.key(key);
        self.value(value);
    }

    /// Appends JSON text from a file. Beyond ASCII it has characters in strings only, so an escape means the same.
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

    /// Appends a number. Infinity has a JSON text that parses to it.
    pub fn number(&mut self, value: f64) {
        self.syntax(&number_json(value));
    }

    /// Appends the values, separated, in brackets.
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

    /// The text for V8.
    pub fn finish(self) -> OutputText {
        if self.latin1.len() <= MAX_LINE_BYTES && !self.has_wide_key {
            return OutputText::Latin1(self.latin1);
        }
        // A huge line that was mostly escaped above has, unescaped, no more units than it had bytes.
        OutputText::Utf16(unescape_units(&self.latin1))
    }
}

/// A number as JSON. Infinity has a text that parses to it.
pub fn number_json(value: f64) -> String {
    if value == f64::INFINITY {
        "1e999".to_owned()
    } else if value == f64::NEG_INFINITY {
        "-1e999".to_owned()
    } else if value == 0.0 && value.is_sign_negative() {
        "-0".to_owned()
    } else {
        crate::session::message::js_number(value)
    }
}

/// Whether a key of a valid JSON text has characters beyond Latin-1.
fn has_wide_key(json: &[u8]) -> bool {
    let mut from = 0;
    // In JSON text a byte beyond ASCII stands in a string, and the string is a key if a colon comes after its end.
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
    // What is not UTF-8 becomes U+FFFD.
    text.utf8_chunks().any(|chunk| !chunk.invalid().is_empty() || chunk.valid().chars().any(beyond_latin1))
}

/// The offset behind the quote that ends a string, from somewhere inside it that is not behind a backslash.
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

/// How many bytes from the beginning are ASCII. Looks at a block at a time, which the compiler turns into vector instructions.
fn ascii_prefix(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(32).take_while(|block| block.iter().fold(0, |any, byte| any | byte) < 0x80);
    let at = blocks.count() * 32;
    bytes[at..].iter().position(|byte| !byte.is_ascii()).map_or(bytes.len(), |further| at + further)
}

/// Turns the escapes of characters beyond Latin-1, which this module wrote, back into the units that they stand for.
/// Escapes that came from the file and mean such a character may be turned too: in a JSON string they mean the same.
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
            // An escape of two characters: its second must not be taken for the beginning of another.
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
