//! The payload of a line to be written: JSON text in the form in which the caller has it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// JSON text that is copied when its line is written.
pub trait Payload {
    /// Why the text could not be read.
    type Error;
    /// A lower bound of the text's length in bytes, nearly always exact.
    fn size(&self) -> usize;
    /// Appends the text to `buffer`.
    fn append_to(self, buffer: &mut Vec<u8>) -> Result<(), Self::Error>;
}

impl Payload for &[u8] {
    type Error = std::convert::Infallible;

    fn size(&self) -> usize {
        self.len()
    }

    fn append_to(self, buffer: &mut Vec<u8>) -> Result<(), Self::Error> {
        buffer.extend_from_slice(self);
        Ok(())
    }
}

/// Escapes raw U+2028 and U+2029 from offset `from` on, since some tools split lines there. In JSON text they
/// occur only in strings, so the escape means the same.
pub(crate) fn escape_line_separators(text: &mut Vec<u8>, from: usize) {
    // Both are so rare that in nearly all cases only the search takes time.
    if !may_have_line_separators(&text[from..]) {
        return;
    }
    let tail = text.split_off(from);
    let mut rest = &tail[..];
    while let Some(at) = FINDER.find(rest) {
        text.extend_from_slice(&rest[..at]);
        match rest.get(at + 2) {
            Some(0xa8) => text.extend_from_slice(br"\u2028"),
            Some(0xa9) => text.extend_from_slice(br"\u2029"),
            _ => text.extend_from_slice(&rest[at..rest.len().min(at + 3)]),
        }
        rest = &rest[rest.len().min(at + 3)..];
    }
    text.extend_from_slice(rest);
}

/// Whether the text may have a raw U+2028 or U+2029. Otherwise [`escape_line_separators`] changes nothing.
#[inline]
pub(crate) fn may_have_line_separators(text: &[u8]) -> bool {
    FINDER.find(text).is_some()
}

/// The first two of the three bytes of U+2028 and U+2029.
const SEPARATORS: &[u8] = b"\xe2\x80";

/// Built once: for a short text, building it takes longer than the search.
static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(SEPARATORS));

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn separators_are_escaped_and_nothing_else(text in "[a\u{2028}\u{2029}\u{2027}\u{2030}\u{e9}\"]{0,20}") {
            let mut bytes = text.as_bytes().to_vec();
            escape_line_separators(&mut bytes, 0);
            let expected = text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        }
    }
}
