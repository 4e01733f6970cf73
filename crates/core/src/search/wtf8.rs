//! The text of JSON strings as bytes: UTF-8, with lone surrogates in a form of their own.

use std::borrow::Cow;

use crate::json::{escaped_unit, text_of};

/// The bytes that stand for a lone surrogate, which UTF-8 does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surrogates {
    /// Three bytes, as UTF-8 would write it (WTF-8). No other text contains them, but they are not UTF-8.
    Wtf8,
    /// The character U+10F800 + (unit - U+D800), at the end of the last private area. The text remains UTF-8.
    Private,
}

const FIRST_SURROGATE: u32 = 0xd800;

impl Surrogates {
    /// The first character that stands for a surrogate.
    pub(super) const FIRST_PRIVATE: char = '\u{10f800}';

    /// Length of these bytes.
    pub(super) fn length(self) -> usize {
        match self {
            Surrogates::Wtf8 => 3,
            Surrogates::Private => 4,
        }
    }

    /// Appends UTF-16 code units.
    pub(super) fn append_units(self, bytes: &mut Vec<u8>, units: impl IntoIterator<Item = u16>) {
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
                bytes.extend_from_slice(private(lone).encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// The text of the inside of a valid JSON string, with surrogates as WTF-8. Bytes that are not UTF-8 become U+FFFD. A text without escapes is borrowed.
pub(super) fn decode_wtf8(inside: &[u8]) -> Cow<'_, [u8]> {
    Surrogates::Wtf8.decode(inside).map_or_else(Cow::Owned, |text| Cow::Borrowed(text.as_bytes()))
}

/// The same with surrogates in the private area.
pub(super) fn decode_private(inside: &[u8]) -> Cow<'_, str> {
    // What is decoded is UTF-8.
    let owned = |bytes| Cow::Owned(String::from_utf8(bytes).unwrap_or_default());
    Surrogates::Private.decode(inside).map_or_else(owned, Cow::Borrowed)
}

/// The character that stands for a lone surrogate.
fn private(lone: u16) -> char {
    char::from_u32(u32::from(Surrogates::FIRST_PRIVATE) + u32::from(lone) - FIRST_SURROGATE).unwrap_or_default()
}

impl Surrogates {
    /// The text itself if it has no escapes, or else its bytes.
    fn decode(self, inside: &[u8]) -> Result<&str, Vec<u8>> {
        // The whole text is validated at once, which is faster than piece by piece.
        let text = text_of(inside);
        match (text, memchr::memchr(b'\\', inside)) {
            (Cow::Borrowed(text), None) => Ok(text),
            (text, _) => Err(self.unescaped(&text)),
        }
    }

    fn unescaped(self, inside: &str) -> Vec<u8> {
        let (mut bytes, mut rest) = (Vec::with_capacity(inside.len()), inside.as_bytes());
        while let Some(at) = memchr::memchr(b'\\', rest) {
            let (text, escaped) = rest.split_at(at);
            bytes.extend_from_slice(text);
            // Escapes of surrogates may follow each other and then be one character.
            let numeric = escaped.chunks(6).take_while(|escape| escape.starts_with(b"\\u")).count() * 6;
            let length = if numeric > 0 {
                let escapes = escaped[..numeric.min(escaped.len())].chunks(6);
                self.append_units(&mut bytes, escapes.map(|escape| escaped_unit(escape).0));
                numeric
            } else {
                let (unit, length) = escaped_unit(escaped);
                // A simple escape stands for an ASCII character.
                bytes.push(unit as u8 & 0x7f);
                length
            };
            rest = escaped.get(length..).unwrap_or_default();
        }
        bytes.extend_from_slice(rest);
        bytes
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

    fn of(inside: &[u8], surrogates: Surrogates) -> Vec<u8> {
        match surrogates {
            Surrogates::Wtf8 => decode_wtf8(inside).into_owned(),
            Surrogates::Private => decode_private(inside).into_owned().into_bytes(),
        }
    }

    proptest! {
        #[test]
        fn text_as_bytes_is_the_text_as_utf_16(inside in inside()) {
            let units: Vec<u16> = decode(&inside).collect();
            for surrogates in [Surrogates::Wtf8, Surrogates::Private] {
                let mut expected = Vec::new();
                surrogates.append_units(&mut expected, units.iter().copied());
                prop_assert_eq!(of(&inside, surrogates), expected);
            }
        }
    }
}
