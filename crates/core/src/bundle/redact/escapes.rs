//! Decodes the escapes of JSON strings, and maps ranges of the decoded text back to the encoded one.
//!
//! A secret may be encoded with any escapes that JSON allows, and a JSON string may contain JSON. Therefore a text is matched
//! undecoded, decoded, decoded twice and so on.

use std::borrow::Cow;

/// How many times a text is decoded at most, for JSON in strings of JSON. Escapes of that depth would take a million backslashes; only
/// chains of `\\u005c` need more.
pub(super) const MAX_LEVELS: usize = 20;

/// A part of an encoded text.
enum Piece<'a> {
    /// Bytes that decode to themselves.
    Plain(&'a [u8]),
    /// A number of bytes that decode to one character.
    Character(usize, char),
}

impl Piece<'_> {
    fn encoded_len(&self) -> usize {
        match self {
            Piece::Plain(bytes) => bytes.len(),
            Piece::Character(length, _) => *length,
        }
    }

    fn decoded_len(&self) -> usize {
        match self {
            Piece::Plain(bytes) => bytes.len(),
            Piece::Character(_, c) => c.len_utf8(),
        }
    }
}

/// The pieces of a text. Invalid escapes decode to themselves; invalid UTF-8 and lone surrogates to U+FFFD.
struct Pieces<'a> {
    rest: &'a [u8],
    /// The number of bytes of `rest` that are known to be UTF-8.
    valid: usize,
    /// Whether the byte before is ESC, which no JSON has.
    follows_esc: bool,
}

impl<'a> Pieces<'a> {
    fn new(text: &'a [u8]) -> Self {
        Pieces { rest: text, valid: 0, follows_esc: false }
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.follows_esc = taken.last() == Some(&0x1b);
        self.rest = rest;
        self.valid = self.valid.saturating_sub(length);
        taken
    }

    /// Takes the UTF-8 up to the next backslash, or invalid bytes.
    fn plain(&mut self) -> Piece<'a> {
        if self.valid == 0 {
            let chunk = self.rest.utf8_chunks().next();
            let (valid, invalid) = chunk.map_or((0, 0), |chunk| (chunk.valid().len(), chunk.invalid().len()));
            if valid == 0 {
                self.take(invalid);
                return Piece::Character(invalid, char::REPLACEMENT_CHARACTER);
            }
            self.valid = valid;
        }
        let known = &self.rest[..self.valid];
        let length = memchr::memchr(b'\\', known).unwrap_or(known.len());
        Piece::Plain(self.take(length))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        // `ESC \` ends a terminal's sequence.
        let is_end = self.follows_esc && !self.rest.starts_with(b"\\u");
        match (self.rest.first()?, escape(self.rest).filter(|_| !is_end)) {
            (b'\\', Some((length, c))) => {
                self.take(length);
                Some(Piece::Character(length, c))
            }
            (b'\\', None) => Some(Piece::Plain(self.take(1))),
            _ => Some(self.plain()),
        }
    }
}

/// The escape at the beginning of a text: its length and its character. `None` if there is no valid escape.
fn escape(text: &[u8]) -> Option<(usize, char)> {
    let c = match text.get(1).filter(|_| text[0] == b'\\')? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unit_escape(text),
        _ => return None,
    };
    Some((2, c))
}

fn unit_escape(text: &[u8]) -> Option<(usize, char)> {
    let high = unit(text)?;
    let low = text.get(6..).and_then(unit).filter(|_| (0xd800..0xdc00).contains(&high));
    match char::decode_utf16([Some(high), low].into_iter().flatten()).next()? {
        Ok(c) => Some((if c.len_utf16() == 2 { 12 } else { 6 }, c)),
        Err(_) => Some((6, char::REPLACEMENT_CHARACTER)),
    }
}

fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | (*digit as char).to_digit(16)? as u16))
}

/// The length of the escape at the beginning of a text.
pub(super) fn escape_length(text: &[u8]) -> Option<usize> {
    escape(text).map(|(length, _)| length)
}

/// Decodes the escapes of a text once.
pub(crate) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', text).is_none() && std::str::from_utf8(text).is_ok() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    for piece in Pieces::new(text) {
        match piece {
            Piece::Plain(bytes) => out.extend_from_slice(bytes),
            Piece::Character(_, c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(out)
}

/// Maps ranges of the decoded text to ranges of `text`, in place. A range that covers a part of an escape is extended to all of it.
pub(super) fn map_to_encoded(text: &[u8], ranges: &mut [(usize, usize)]) {
    let mut edges: Vec<(usize, bool, usize)> = Vec::with_capacity(ranges.len() * 2);
    for (number, (start, end)) in ranges.iter().enumerate() {
        edges.push((*start, false, number));
        edges.push((*end, true, number));
    }
    edges.sort_unstable();
    let (mut encoded_at, mut decoded_at, mut next) = (0, 0, edges.into_iter().peekable());
    for piece in Pieces::new(text) {
        let (encoded_len, decoded_len) = (piece.encoded_len(), piece.decoded_len());
        let decoded_end = decoded_at + decoded_len;
        while let Some((edge, is_end, number)) =
            next.next_if(|(edge, is_end, _)| *edge < decoded_end || (*is_end && *edge == decoded_end))
        {
            let place = match (&piece, is_end) {
                (Piece::Plain(_), _) => encoded_at + (edge - decoded_at),
                // An end between two pieces was handled with the first of them, so this is one at the beginning of the text.
                (Piece::Character(..), true) => encoded_at + if edge == decoded_at { 0 } else { encoded_len },
                (Piece::Character(..), false) => encoded_at,
            };
            let range = &mut ranges[number];
            *(if is_end { &mut range.1 } else { &mut range.0 }) = place;
        }
        encoded_at += encoded_len;
        decoded_at = decoded_end;
    }
    for (_, is_end, number) in next {
        let range = &mut ranges[number];
        *(if is_end { &mut range.1 } else { &mut range.0 }) = encoded_at;
    }
}

#[cfg(test)]
#[allow(missing_docs)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Encodes a text for a JSON string; `choices` select among the possible escapes.
    pub fn escaped(text: &str, choices: &[u8]) -> String {
        let mut choices = choices.iter().copied().cycle();
        let mut out = String::new();
        for c in text.chars() {
            let short = match c {
                '"' => Some("\\\""),
                '\\' => Some("\\\\"),
                '/' => Some("\\/"),
                '\n' => Some("\\n"),
                '\r' => Some("\\r"),
                '\t' => Some("\\t"),
                _ => None,
            };
            let must = c < ' ' || c == '"' || c == '\\';
            match (choices.next().unwrap_or(0) % 4, short) {
                (0, _) if !must => out.push(c),
                (1 | 0, Some(short)) => out.push_str(short),
                (2, _) => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04X}"))),
                _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
            }
        }
        out
    }

    #[test]
    fn invalid_escapes_are_not_decoded() {
        for (text, expected) in [
            (&br"a\nb\/\u0041\\n"[..], &b"a\nb/A\\n"[..]),
            (br"\x \u12 \u00g1 \", br"\x \u12 \u00g1 \"),
            (br"\ud83d\ude00 \ud83d\u0041", "😀 \u{fffd}A".as_bytes()),
            (b"a\xffb", "a\u{fffd}b".as_bytes()),
        ] {
            assert_eq!(unescaped(text), expected, "{}", text.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn every_encoding_of_a_text_is_decoded(text in any::<String>(), choices in prop::collection::vec(any::<u8>(), 1..20)) {
            let text: String = text.chars().collect();
            let escaped = escaped(&text, &choices);
            prop_assert_eq!(&*unescaped(escaped.as_bytes()), text.as_bytes());
            prop_assert_eq!(&serde_json::from_str::<String>(&format!("\"{escaped}\"")).unwrap(), &text);
        }

        #[test]
        fn ranges_are_mapped_to_the_encoded_text(
            parts in prop::collection::vec("[a\\\\\"\n/é😀]{1,3}", 3),
            choices in prop::collection::vec(any::<u8>(), 1..9),
        ) {
            let written_parts: Vec<_> = parts.iter().map(|part| escaped(part, &choices)).collect();
            let text = written_parts.concat();
            let (first, second) = (parts[0].len(), parts[0].len() + parts[1].len());
            let mut ranges = [(first, second), (0, first), (second, second + parts[2].len())];
            map_to_encoded(text.as_bytes(), &mut ranges);
            let at = |range: (usize, usize)| &text[range.0..range.1];
            prop_assert_eq!([at(ranges[0]), at(ranges[1]), at(ranges[2])], [&written_parts[1], &written_parts[0], &written_parts[2]].map(|part| &part[..]));
        }

        #[test]
        fn nothing_panics_whatever_the_bytes(text in prop::collection::vec(any::<u8>(), 0..40), start in 0usize..50, length in 0usize..9) {
            let read = unescaped(&text).len();
            let mut ranges = [(start.min(read), (start + length).min(read))];
            map_to_encoded(&text, &mut ranges);
            prop_assert!(ranges[0].0 <= ranges[0].1 && ranges[0].1 <= text.len());
        }
    }
}
