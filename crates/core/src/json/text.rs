//! The value of a JSON string, stored in its canonical form without the quotes.
//!
//! The canonical form is that of `JSON.stringify`. Each value has exactly one form, so equal texts are equal bytes, and printing is a copy.
//! Almost all strings of a log have no escapes and are borrowed unchanged. A lone surrogate, which JavaScript strings can contain but UTF-8
//! can't, remains an escape.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use super::decode::decode;

/// The value of a JSON string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Text<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    /// The value of a valid JSON string, given the text between its quotes.
    #[inline]
    pub fn from_json(inside: &'a str) -> Self {
        if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
            Text(Cow::Borrowed(inside))
        } else {
            Self::escaped(inside)
        }
    }

    /// Like [`from_json`](Self::from_json), for a text with escapes. A separate function, so that only the search is inlined.
    #[inline(never)]
    fn escaped(inside: &'a str) -> Self {
        if has_canonical_escapes(inside.as_bytes()) {
            return Text(Cow::Borrowed(inside));
        }
        let mut canonical = String::with_capacity(inside.len());
        escape_units(&mut canonical, decode(inside.as_bytes()));
        Text(Cow::Owned(canonical))
    }

    /// The value of a JSON string that is known to have no escapes.
    #[inline]
    pub(crate) fn from_unescaped(inside: &'a str) -> Self {
        debug_assert!(memchr::memchr(b'\\', inside.as_bytes()).is_none());
        Text(Cow::Borrowed(inside))
    }

    /// Converts a Rust string.
    pub fn from_plain(text: &'a str) -> Self {
        if !text.bytes().any(needs_escape) {
            return Text(Cow::Borrowed(text));
        }
        let mut canonical = String::with_capacity(text.len() + 8);
        escape_units(&mut canonical, text.encode_utf16());
        Text(Cow::Owned(canonical))
    }

    /// Converts a JavaScript string, in UTF-16. Lone surrogates are preserved.
    pub fn from_units(units: &[u16]) -> Text<'static> {
        let mut canonical = String::with_capacity(units.len() + 8);
        escape_units(&mut canonical, units.iter().copied());
        Text(Cow::Owned(canonical))
    }

    /// A text from its canonical form without the quotes.
    pub(crate) fn from_canonical(inside: String) -> Text<'static> {
        Text(Cow::Owned(inside))
    }

    /// The canonical form without the quotes.
    #[inline]
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// Whether it is the empty string.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same text, owned.
    pub fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }

    /// The same text, borrowed from this one.
    pub fn borrowed(&self) -> Text<'_> {
        Text(Cow::Borrowed(&self.0))
    }

    /// The text as a Rust string, with lone surrogates replaced by U+FFFD.
    pub fn to_plain(&self) -> Cow<'_, str> {
        if !self.has_escapes() {
            return Cow::Borrowed(&self.0);
        }
        let mut plain = String::with_capacity(self.0.len());
        self.append_plain(&mut plain);
        Cow::Owned(plain)
    }

    /// Appends the text to a string, like [`to_plain`](Self::to_plain).
    pub fn append_plain(&self, plain: &mut String) {
        let mut rest = &*self.0;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            plain.push_str(&rest[..at]);
            let escape = rest.as_bytes().get(at + 1).copied().unwrap_or_default();
            if escape == b'u' {
                // Only control characters and lone surrogates have numeric escapes.
                let number = rest.get(at + 2..at + 6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                plain.push(number.and_then(char::from_u32).unwrap_or('\u{fffd}'));
                rest = rest.get(at + 6..).unwrap_or_default();
            } else {
                plain.push(match escape {
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    other => char::from(other),
                });
                rest = rest.get(at + 2..).unwrap_or_default();
            }
        }
        plain.push_str(rest);
    }

    fn has_escapes(&self) -> bool {
        memchr::memchr(b'\\', self.0.as_bytes()).is_some()
    }

    /// The code points. A lone surrogate counts as a code point.
    fn code_points(&self) -> impl Iterator<Item = u32> + '_ {
        char::decode_utf16(decode(self.0.as_bytes())).map(|c| match c {
            Ok(c) => u32::from(c),
            Err(lone) => u32::from(lone.unpaired_surrogate()),
        })
    }
}

/// Texts are ordered by the UTF-8 bytes of their values, which is the order of code points.
impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.has_escapes() || other.has_escapes() {
            return self.code_points().cmp(other.code_points());
        }
        self.0.as_bytes().cmp(other.0.as_bytes())
    }
}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_plain())
    }
}

/// Whether every escape is one that `JSON.stringify` writes, as in almost all texts with escapes. A text with numeric escapes may be
/// canonical even if this is false.
fn has_canonical_escapes(mut inside: &[u8]) -> bool {
    while let Some(at) = memchr::memchr(b'\\', inside) {
        match inside.get(at + 1) {
            Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => inside = &inside[at + 2..],
            _ => return false,
        }
    }
    true
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Writes UTF-16 code units as `JSON.stringify` does.
fn escape_units(out: &mut String, units: impl Iterator<Item = u16>) {
    for unit in char::decode_utf16(units) {
        match unit {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\t') => out.push_str("\\t"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok('\r') => out.push_str("\\r"),
            Ok(c @ '\0'..='\u{1f}') => push_hex(out, c as u16),
            Ok(c) => out.push(c),
            Err(lone) => push_hex(out, lone.unpaired_surrogate()),
        }
    }
}

fn push_hex(out: &mut String, unit: u16) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.push(char::from_digit(u32::from(unit >> shift & 0xf), 16).unwrap_or('0'));
    }
}

/// Appends a key or index to a JSON pointer, escaped. Both may be the canonical form of a JSON string, where the two characters have no escapes.
pub(crate) fn push_name(pointer: &mut String, name: &str) {
    pointer.push('/');
    for c in name.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_those_of_json_stringify() {
        for (json, canonical) in [
            (r"plain é \u2028", "plain é \u{2028}"),
            (r#"\u0022\u005c\/"#, r#"\"\\/"#),
            (r"\u0008\u0009\u000a\u000C\u000d", r"\b\t\n\f\r"),
            (r"\u0000\u001F\u007f", "\\u0000\\u001f\u{7f}"),
            (r"\ud83d\uDE00", "😀"),
            (r"\uD83D", r"\ud83d"),
            (r"\ude00\ud83d", r"\ude00\ud83d"),
        ] {
            assert_eq!(Text::from_json(json).as_json(), canonical, "{json}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_bytes_of_the_text_not_of_its_escapes() {
        let sorted = ["", "\n", "!", "\"", "#", "\\", "]", "a", "a\n", "ab", "é", "\u{ffff}", "😀"];
        let mut texts: Vec<_> = sorted.iter().rev().map(|text| Text::from_plain(text)).collect();
        texts.sort();
        assert_eq!(texts.iter().map(Text::to_plain).collect::<Vec<_>>(), sorted);
        assert!(Text::from_json(r"\ud83d") < Text::from_plain("\u{ffff}"));
    }

    #[test]
    fn only_texts_with_escapes_are_copied() {
        assert!(matches!(Text::from_json("é a").0, Cow::Borrowed(_)));
        assert!(matches!(Text::from_plain("é a").0, Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn equal_texts_have_equal_representations(text in any::<String>()) {
            let plain = Text::from_plain(&text);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(&plain, &Text::from_json(&json[1..json.len() - 1]));
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(&plain, &Text::from_json(&escaped));
            prop_assert_eq!(&plain, &Text::from_units(&text.encode_utf16().collect::<Vec<_>>()));
            prop_assert_eq!(plain.to_plain().into_owned(), text.clone());
        }

        #[test]
        fn texts_are_ordered_by_their_bytes(left in "[a\"\n\\\\é]{0,4}", right in "[a\"\n\\\\é]{0,4}") {
            prop_assert_eq!(Text::from_plain(&left).cmp(&Text::from_plain(&right)), left.as_bytes().cmp(right.as_bytes()));
        }
    }
}
