//! The text of JSON strings, as JavaScript sees it: UTF-16, bytes that are not UTF-8 replaced by U+FFFD.

use super::block::{BLOCK_BYTES, TwoBlocks, ends_plain, plain_ascii, plain_ascii_of_two};
use super::scan::{Cursor, NotJson};
use super::simple_escape::{MEANINGS, meaning};

/// Whether a line is nothing but JavaScript white space (`String.prototype.trim` leaves nothing).
pub fn is_blank(line: &[u8]) -> bool {
    if line.iter().all(|b| matches!(b, b' ' | b'\t' | 0x0b | 0x0c | b'\r' | b'\n')) {
        return true;
    }
    std::str::from_utf8(line).is_ok_and(|text| text.chars().all(is_white_space))
}

/// Whether a string is nothing but JavaScript white space, given its inside, the text between the quotes as it is in the JSON.
pub(crate) fn is_blank_string(inside: &[u8]) -> bool {
    let is_blank_unit = |unit| char::from_u32(u32::from(unit)).is_some_and(is_white_space);
    if inside.contains(&b'\\') { decode(inside).all(is_blank_unit) } else { is_blank(inside) }
}

fn is_white_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

/// Whether the inside of a valid JSON string, once unescaped, is `word`, which is ASCII.
#[inline]
pub fn spells(inside: &[u8], word: &str) -> bool {
    if inside == word.as_bytes() {
        return true;
    }
    // Each character takes six bytes at most when escaped, so the length rules out nearly every other string.
    inside.len() > word.len()
        && inside.len() <= 6 * word.len()
        && inside.contains(&b'\\')
        && decode(inside).eq(word.encode_utf16())
}

/// The same for a `word` that need not be ASCII.
pub(crate) fn spells_any(inside: &[u8], word: &str) -> bool {
    inside == word.as_bytes() || (inside.contains(&b'\\') && decode(inside).eq(word.encode_utf16()))
}

/// The UTF-16 code units of the inside of a valid JSON string. Lone surrogates are kept.
pub fn decode(inside: &[u8]) -> impl Iterator<Item = u16> + '_ {
    let mut units = Vec::with_capacity(inside.len());
    decode_onto(&mut units, inside);
    units.into_iter()
}

/// Appends the UTF-16 code units of the inside of a valid JSON string.
pub(super) fn decode_onto(units: &mut Vec<u16>, inside: &[u8]) {
    let mut at = 0;
    loop {
        at += copy_plain_ascii(units, &inside[at..]);
        match &inside[at..] {
            [] => return,
            rest @ [b'\\', ..] => {
                let (unit, length) = escaped_unit(rest);
                units.push(unit);
                at = inside.len().min(at + length);
            }
            [byte, ..] if byte.is_ascii() => {
                units.push(u16::from(*byte));
                at += 1;
            }
            rest => at += push_beyond_ascii(units, rest),
        }
    }
}

/// Appends the plain ASCII text at the beginning of `bytes` as UTF-16 code units. Returns its length.
#[inline]
fn copy_plain_ascii(onto: &mut Vec<u16>, bytes: &[u8]) -> usize {
    let mut at = 0;
    // Copies whole blocks and truncates the last one: one branch per block.
    while let Some(block) = bytes[at..].first_chunk::<BLOCK_BYTES>() {
        onto.extend(block.iter().map(|byte| u16::from(*byte)));
        let plain = plain_ascii(block);
        at += plain;
        if plain < BLOCK_BYTES {
            onto.truncate(onto.len() - (BLOCK_BYTES - plain));
            return at;
        }
    }
    let tail = &bytes[at..];
    let plain = tail.iter().position(|&byte| ends_plain(byte) || !byte.is_ascii()).unwrap_or(tail.len());
    onto.extend(tail[..plain].iter().map(|byte| u16::from(*byte)));
    at + plain
}

/// Like [`decode_onto`], but stops once there are `most` units. The last character is appended whole, so there may be one unit more.
pub(crate) fn decode_up_to(units: &mut Vec<u16>, inside: &[u8], most: usize) {
    let mut rest = inside;
    while !rest.is_empty() && units.len() < most {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        let (text, escaped) = rest.split_at(plain);
        push_lossy_up_to(units, text, most);
        rest = escaped;
        if !escaped.is_empty() && units.len() < most {
            let (unit, length) = escaped_unit(escaped);
            units.push(unit);
            rest = &escaped[length..];
        }
    }
}

/// Number of bytes that are decoded at a time.
const STEP_BYTES: usize = size_of::<TwoBlocks>();

/// Why decoding stopped.
enum Next {
    /// The buffer is full.
    Room,
    /// The quote that ends the string.
    End,
    /// Something other than plain ASCII text or a simple escape.
    Other,
}

/// Decodes plain ASCII and simple escapes at the beginning of `bytes`, one unit per character. Returns the numbers of bytes read and of units
/// written, and why it stopped. Copies whole blocks; the next step overwrites what was copied after the end of the plain text.
#[inline(always)]
fn decode_simple<Unit: From<u8> + Copy>(into: &mut [Unit], bytes: &[u8]) -> (usize, usize, Next) {
    let (mut read, mut written) = (0, 0);
    loop {
        let Some(room) = into[written..].first_chunk_mut::<STEP_BYTES>() else { return (read, written, Next::Room) };
        let block = bytes[read..].first_chunk().copied().unwrap_or_else(|| last_blocks(&bytes[read..]));
        // `map` is one call per byte in builds that do not inline it.
        for (to, byte) in room.iter_mut().zip(block) {
            *to = Unit::from(byte);
        }
        let plain = plain_ascii_of_two(&block);
        if plain == STEP_BYTES {
            // A constant rather than `plain`, so that the next load does not depend on this comparison.
            (read, written) = (read + STEP_BYTES, written + STEP_BYTES);
            continue;
        }
        (read, written) = (read + plain, written + plain);
        let escaped = match bytes[read..] {
            [b'"', ..] => return (read, written, Next::End),
            [b'\\', escape, ..] => MEANINGS[usize::from(escape)],
            _ => 0,
        };
        if escaped == 0 {
            return (read, written, Next::Other);
        }
        // In bounds: there was room for a whole block, and its plain text is shorter.
        into[written] = Unit::from(escaped);
        (read, written) = (read + 2, written + 1);
    }
}

/// The last bytes of a text, padded with a byte that no string contains.
#[cold]
fn last_blocks(bytes: &[u8]) -> TwoBlocks {
    let mut block = [0; STEP_BYTES];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

/// Appends the characters that [`decode_simple`] decodes. Returns the number of bytes read, and whether the string ends there.
fn decode_simple_onto<Unit: From<u8> + Copy + Default>(onto: &mut Vec<Unit>, bytes: &[u8]) -> (usize, bool) {
    let (mut read, mut length) = (0, onto.len());
    let is_end = loop {
        onto.resize(length + Cursor::ROOM, Unit::default());
        let (more_read, written, next) = decode_simple(&mut onto[length..], &bytes[read..]);
        (read, length) = (read + more_read, length + written);
        match next {
            Next::Room => {}
            Next::End => break true,
            Next::Other => break false,
        }
    };
    onto.truncate(length);
    (read, is_end)
}

impl<'a> Cursor<'a> {
    /// Number of units by which a buffer of decoded text grows at a time. Small, because short strings pay for it too.
    pub const ROOM: usize = 512;

    /// Moves over the string that begins here, and appends its characters, one byte each. Returns its inside. `Err` is the offset in the inside of the
    /// first character above U+00FF, or of the first byte that is not JSON; the characters before it are appended, and the cursor stays.
    pub fn narrow_string(&mut self, narrow: &mut Vec<u8>) -> Result<&'a [u8], usize> {
        let bytes = self.rest().get(1..).unwrap_or_default();
        let mut at = 0;
        loop {
            let (read, is_end) = decode_simple_onto(narrow, &bytes[at..]);
            at += read;
            if is_end {
                self.skip(at + 2);
                return Ok(&bytes[..at]);
            }
            let (byte, length) = match &bytes[at..] {
                [b'\\', b'u', digits @ ..] => (narrow_unit(digits).ok_or(at)?, 6),
                // U+0080 to U+00FF.
                [first @ (0xc2 | 0xc3), second @ 0x80..=0xbf, ..] => (first << 6 | second & 0x3f, 2),
                _ => return Err(at),
            };
            narrow.push(byte);
            at += length;
        }
    }

    /// Continues at the offset where [`narrow_string`](Self::narrow_string) stopped: appends the rest of the string as UTF-16 code units. Returns
    /// the whole inside.
    pub fn wide_string(&mut self, units: &mut Vec<u16>, mut at: usize) -> Result<&'a [u8], NotJson> {
        let bytes = self.rest().get(1..).unwrap_or_default();
        loop {
            let (read, is_end) = decode_simple_onto(units, &bytes[at..]);
            at += read;
            if is_end {
                self.skip(at + 2);
                return Ok(&bytes[..at]);
            }
            match &bytes[at..] {
                [b'\\', b'u', digits @ ..] => {
                    units.push(digits.first_chunk().and_then(hex).ok_or(NotJson)?);
                    at += 6;
                }
                rest @ [0x80..=0xff, ..] => at += push_beyond_ascii(units, rest),
                // A control character, an invalid escape, or the end of the text.
                _ => return Err(NotJson),
            }
        }
    }
}

fn narrow_unit(digits: &[u8]) -> Option<u8> {
    u8::try_from(hex(digits.first_chunk()?)?).ok()
}

/// Appends the units of the characters at the beginning of `bytes` that are not ASCII. Returns their length in bytes. An invalid UTF-8 sequence
/// never includes an ASCII byte.
#[inline]
fn push_beyond_ascii(units: &mut Vec<u16>, bytes: &[u8]) -> usize {
    let length = bytes.iter().position(u8::is_ascii).unwrap_or(bytes.len());
    push_lossy(units, &bytes[..length]);
    length
}

fn hex(digits: &[u8; 4]) -> Option<u16> {
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
}

fn push_lossy(units: &mut Vec<u16>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        units.extend(chunk.valid().encode_utf16());
        if !chunk.invalid().is_empty() {
            units.push(0xfffd);
        }
    }
}

fn push_lossy_up_to(units: &mut Vec<u16>, bytes: &[u8], most: usize) {
    for chunk in bytes.utf8_chunks() {
        let broken = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        for c in chunk.valid().chars().chain(broken) {
            if units.len() >= most {
                return;
            }
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        }
    }
}

/// The code unit of the escape at the beginning of `bytes`, and the length of the escape in bytes.
pub(crate) fn escaped_unit(bytes: &[u8]) -> (u16, usize) {
    match bytes.get(1) {
        Some(b'u') => (bytes.get(2..).and_then(<[u8]>::first_chunk).and_then(hex).unwrap_or(0), 6),
        Some(other) => (u16::from(meaning(*other).unwrap_or(*other)), 2),
        None => (u16::from(b'\\'), 1),
    }
}

#[cfg(test)]
mod tests;
