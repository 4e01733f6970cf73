//! The text of JSON strings as bytes: UTF-8, with lone surrogates in a form of their own.

use std::borrow::Cow;

use super::decode::escaped_unit;

/// The bytes that stand for a lone surrogate, which UTF-8 does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surrogates {
    /// Three bytes, as UTF-8 would write it (WTF-8). No other text contains them, but they are not UTF-8.
    Wtf8,
    /// The character U+10F800 + (unit - U+D800), at the end of the last private area. The text remains UTF-8.
    Private,
}

const FIRST_SURROGATE: u32 = 0xd800;

impl Surrogates {
    /// The first character that stands for a surrogate.
    pub const FIRST_PRIVATE: char = '\u{10f800}';

    /// Length of these bytes.
    pub fn length(self) -> usize {
        match self {
            Surrogates::Wtf8 => 3,
            Surrogates::Private => 4,
        }
    }

    /// Appends UTF-16 code units.
    pub fn append_units(self, bytes: &mut Vec<u8>, units: impl IntoIterator<Item = u16>) {
        for c in char::decode_utf16(units) {
            match c {
                Ok(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(lone) => self.append(bytes, lone.unpaired_surrogate()),
            }
        }
    }

    fn append(self, bytes: &mut Vec<u8>, lone: u16) {
        match self {
            Surrogates::Wtf8 => {
                let [high, low] = [(lone >> 6 & 0x3f) as u8 | 0x80, (lone & 0x3f) as u8 | 0x80];
                bytes.extend_from_slice(&[0xed, high, low]);
            }
            Surrogates::Private => {
                let c = char::from_u32(u32::from(Self::FIRST_PRIVATE) + u32::from(lone) - FIRST_SURROGATE);
                bytes.extend_from_slice(c.unwrap_or_default().encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// The text of the inside of a valid JSON string. Bytes that are not UTF-8 become U+FFFD. A text without escapes is borrowed.
pub fn decode_bytes<'t>(inside: &'t [u8], surrogates: Surrogates) -> Cow<'t, [u8]> {
    match memchr::memchr(b'\\', inside) {
        None if std::str::from_utf8(inside).is_ok() => Cow::Borrowed(inside),
        _ => {
            let mut bytes = Vec::with_capacity(inside.len());
            decode_onto(&mut bytes, inside, surrogates);
            Cow::Owned(bytes)
        }
    }
}

fn decode_onto(bytes: &mut Vec<u8>, inside: &[u8], surrogates: Surrogates) {
    let mut rest = inside;
    while !rest.is_empty() {
        let (plain, escaped) = rest.split_at(memchr::memchr(b'\\', rest).unwrap_or(rest.len()));
        push_lossy(bytes, plain);
        // Escapes of surrogates may follow each other and then be one character.
        let mut at = 0;
        while escaped.get(at) == Some(&b'\\') && escaped.get(at + 1) == Some(&b'u') {
            at = (at + escaped_unit(&escaped[at..]).1).min(escaped.len());
        }
        if at > 0 {
            surrogates.append_units(bytes, escaped[..at].chunks(6).map(|escape| escaped_unit(escape).0));
        } else if !escaped.is_empty() {
            let (unit, length) = escaped_unit(escaped);
            // A simple escape stands for an ASCII character.
            bytes.push(unit as u8);
            at = length.min(escaped.len());
        }
        rest = &escaped[at..];
    }
}

fn push_lossy(bytes: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        bytes.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            bytes.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::decode;

    /// The inside of a JSON string, of pieces of each kind.
    fn inside() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            "[a-zé😀/]{1,20}".prop_map(String::into_bytes),
            any::<u16>().prop_map(|unit| format!("\\u{unit:04X}").into_bytes()),
            (0xd800_u16..0xe000).prop_map(|unit| format!("\\u{unit:04x}").into_bytes()),
            prop::sample::select(vec![r"\n", r"\\", r#"\""#, r"\/", r"\b"]).prop_map(|escape| escape.into()),
            prop::collection::vec(0x80_u8..=0xff, 1..4),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn text_as_bytes_is_the_text_as_utf_16(inside in inside()) {
            let units: Vec<u16> = decode(&inside).collect();
            for surrogates in [Surrogates::Wtf8, Surrogates::Private] {
                let mut expected = Vec::new();
                surrogates.append_units(&mut expected, units.iter().copied());
                prop_assert_eq!(decode_bytes(&inside, surrogates).into_owned(), expected);
            }
            prop_assert!(std::str::from_utf8(&decode_bytes(&inside, Surrogates::Private)).is_ok());
        }
    }
}
