//! JSON text for `JSON.parse`, with one byte for each character: ASCII is unchanged, U+0080–U+00FF are Latin-1 bytes, and all other
//! characters are escaped. V8 parses such text faster than two-byte text, or UTF-8, which it has to decode first.

use super::text::OutputText;
pub use session_tape_core::json::JsonText;
use session_tape_core::lines::MAX_LINE_BYTES;

/// The text for V8, in [pieces](super::pieces) if it is large.
pub fn finished_in_pieces(json: JsonText) -> Vec<OutputText> {
    let json = json.into_bytes();
    let pieces = super::pieces::split_if_large(&json).unwrap_or_else(|| vec![json]);
    pieces.into_iter().map(finished).collect()
}

/// The text for V8.
pub fn finished(json: impl Into<Vec<u8>>) -> OutputText {
    let json = json.into();
    if json.is_ascii() && json.len() <= MAX_LINE_BYTES {
        return OutputText::Latin1(json);
    }
    let text = String::from_utf8_lossy(&json);
    // A huge text that mostly consists of characters that would be escaped has no more units than bytes.
    latin1(&text).map_or_else(|| OutputText::Utf16(text.encode_utf16().collect()), OutputText::Latin1)
}

/// A JSON text with one byte for each character. `None` if that is longer than a string can be, or if a key would be escaped: `JSON.parse` of Node 24
/// sometimes mistakes a key that begins with an escape for another one (nodejs/node#63785).
fn latin1(text: &str) -> Option<Vec<u8>> {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    if has_wide_key(text) {
        return None;
    }
    let (mut latin1, mut rest) = (Vec::with_capacity(text.len()), text);
    while !rest.is_empty() {
        let (ascii, beyond) = rest.split_at(ascii_prefix(rest.as_bytes()));
        latin1.extend_from_slice(ascii.as_bytes());
        let (beyond, later) = beyond.split_at(beyond.find(|c: char| c.is_ascii()).unwrap_or(beyond.len()));
        for c in beyond.chars() {
            if let Ok(byte) = u8::try_from(u32::from(c)) {
                latin1.push(byte);
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                latin1.extend_from_slice(b"\\u");
                latin1.extend([12, 8, 4, 0].map(|shift| HEX[usize::from(*unit >> shift & 0xf)]));
            }
        }
        rest = later;
    }
    (latin1.len() <= MAX_LINE_BYTES).then_some(latin1)
}

/// Whether a key of a JSON text has characters beyond Latin-1.
fn has_wide_key(text: &str) -> bool {
    let (json, mut from) = (text.as_bytes(), 0);
    // In JSON text, a byte beyond ASCII is inside a string, and that string is a key if a colon follows it.
    loop {
        let start = from + ascii_prefix(&json[from..]);
        if start == json.len() {
            return false;
        }
        from = start + string_end(&json[start..]);
        let behind = json[from..].iter().find(|byte| !byte.is_ascii_whitespace());
        if behind == Some(&b':') && text[start..from].chars().any(|c| u32::from(c) > 0xff) {
            return true;
        }
    }
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

#[cfg(test)]
mod tests;
