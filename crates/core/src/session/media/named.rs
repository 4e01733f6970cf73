//! The images that a text names, as a CLI finds them that deletes the images which no file names: by a pattern, in any text
//! (`docs/session-format.md` section 10).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

/// What stands before an id, but for white space: `"contentId"\s*:\s*"`.
const KEY: &[u8] = br#""contentId""#;

const VALUE_BEGIN: &[u8] = br#""sha256:"#;

/// The number of hexadecimal digits of an id.
const DIGITS: usize = 64;

/// The size of an id with its quotes.
const VALUE_BYTES: usize = VALUE_BEGIN.len() + DIGITS + 1;

static KEYS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(KEY));

/// The images that a text names, which comes in pieces.
#[derive(Default)]
pub(in crate::session) struct NamedImages {
    /// The digits of their ids.
    digits: BTreeSet<[u8; DIGITS]>,
    /// The end of the last piece, as far as a name may continue behind it.
    begun: Vec<u8>,
}

/// What follows a key.
enum Value<'t> {
    /// An id, and the number of bytes up to its end.
    Id([u8; DIGITS], usize),
    /// Nothing yet that is none, without its white space: the colon, and what is there of the id.
    Unfinished(&'t [u8], &'t [u8]),
    /// Something else.
    Other,
}

impl NamedImages {
    /// Adds a piece.
    pub(in crate::session) fn add(&mut self, piece: &[u8]) {
        let mut text = std::mem::take(&mut self.begun);
        text.extend_from_slice(piece);
        let mut at = 0;
        while let Some(found) = KEYS.find(&text[at..]) {
            let (start, end) = (at + found, at + found + KEY.len());
            match value_in(&text[end..]) {
                Value::Id(digits, bytes) => {
                    self.digits.insert(digits);
                    at = end + bytes;
                }
                Value::Unfinished(colon, value) => {
                    self.begun = [KEY, colon, value].concat();
                    return;
                }
                Value::Other => at = start + 1,
            }
        }
        let rest = &text[at..];
        self.begun = rest[rest.len().saturating_sub(KEY.len() - 1)..].to_vec();
    }

    /// Whether the text names none.
    pub(in crate::session) fn is_empty(&self) -> bool {
        self.digits.is_empty()
    }

    /// Their ids, in ascending order.
    pub(in crate::session) fn ids(&self) -> impl Iterator<Item = String> + '_ {
        self.digits.iter().map(|digits| format!("sha256:{}", String::from_utf8_lossy(digits)))
    }
}

fn value_in(text: &[u8]) -> Value<'_> {
    let behind_key = without_space(text);
    let Some((colon, behind_colon)) = behind_key.split_at_checked(1).filter(|(colon, _)| *colon == b":") else {
        return if may_be_space(behind_key) { Value::Unfinished(b"", behind_key) } else { Value::Other };
    };
    let value = without_space(behind_colon);
    if may_be_space(value) {
        return Value::Unfinished(colon, value);
    }
    let there = value.len().min(VALUE_BYTES);
    let is_right = |(at, byte): (usize, &u8)| match at {
        _ if at < VALUE_BEGIN.len() => *byte == VALUE_BEGIN[at],
        _ if at < VALUE_BYTES - 1 => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        _ => *byte == b'"',
    };
    if !value[..there].iter().enumerate().all(is_right) {
        return Value::Other;
    }
    match value[VALUE_BEGIN.len().min(there)..].first_chunk() {
        Some(digits) if there == VALUE_BYTES => Value::Id(*digits, text.len() - value.len() + VALUE_BYTES),
        _ => Value::Unfinished(colon, value),
    }
}

/// The text from the first character on that is no white space of a regular expression of JavaScript.
fn without_space(mut text: &[u8]) -> &[u8] {
    loop {
        let bytes = match text {
            [b'\t'..=b'\r' | b' ', ..] => 1,
            [0xc2, 0xa0, ..] => 2,
            [0xe1, 0x9a, 0x80, ..]
            | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
            | [0xe2, 0x81, 0x9f, ..]
            | [0xe3, 0x80, 0x80, ..]
            | [0xef, 0xbb, 0xbf, ..] => 3,
            _ => return text,
        };
        text = &text[bytes..];
    }
}

/// Whether a text may be the beginning of a character that is white space.
fn may_be_space(text: &[u8]) -> bool {
    matches!(
        text,
        [] | [0xc2 | 0xe1 | 0xe2 | 0xe3 | 0xef] | [0xe1, 0x9a] | [0xe2, 0x80 | 0x81] | [0xe3, 0x80] | [0xef, 0xbb]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id_of(digit: u8) -> String {
        format!("sha256:{}", char::from(digit).to_string().repeat(DIGITS))
    }

    /// The pattern, with the white space of JavaScript.
    fn by_pattern(text: &[u8]) -> Vec<String> {
        let space = r"[\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]*";
        let pattern = regex::Regex::new(&format!(r#""contentId"{space}:{space}"(sha256:[0-9a-f]{{64}})""#)).unwrap();
        let text = String::from_utf8_lossy(text);
        let mut ids: Vec<_> = pattern.captures_iter(&text).map(|found| found[1].to_owned()).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    proptest! {
        #[test]
        fn the_names_are_those_of_the_pattern_whatever_the_pieces(
            parts in prop::collection::vec(prop_oneof![
                6 => Just(b"\"contentId\"".to_vec()),
                6 => Just(b":".to_vec()),
                3 => (0..3u8).prop_map(|n| format!("\"{}\"", id_of(b"0af"[usize::from(n)])).into_bytes()),
                1 => Just(format!("\"{}\"", id_of(b'A')).into_bytes()),
                1 => Just(format!("\"{}\"", &id_of(b'1')[1..]).into_bytes()),
                1 => Just(format!("\"{}1\"", id_of(b'1')).into_bytes()),
                4 => prop::sample::select(vec![" ", "\n", "\t", "\u{a0}", "\u{feff}", "\u{2028}", "\u{3000}", "\u{85}", "\u{1680}", "\u{205f}", "\u{200b}", "\u{2030}"])
                    .prop_map(|space| space.as_bytes().to_vec()),
                1 => prop::sample::select(vec![&b"\""[..], b"\"content", b"\xe2", b"\xe2\x80", b"\xc2", b"x", b"\\", b"\"sha256:"]).prop_map(<[u8]>::to_vec),
            ], 0..40),
            cuts in prop::collection::vec(1..60usize, 1..8),
        ) {
            let text = parts.concat();
            let (mut images, mut rest, mut cuts) = (NamedImages::default(), &text[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                images.add(piece);
                rest = later;
            }
            prop_assert_eq!(images.ids().collect::<Vec<_>>(), by_pattern(&text));
            prop_assert!(images.begun.len() <= KEY.len() + 1 + VALUE_BYTES + 3);
        }
    }

    #[test]
    fn no_white_space_is_kept_however_much_there_is() {
        let mut images = NamedImages::default();
        images.add(b"\"contentId\"");
        for _ in 0..10_000 {
            images.add(&[b' '; 100]);
        }
        images.add(format!(":\"{}\"", id_of(b'7')).as_bytes());
        assert_eq!(images.ids().collect::<Vec<_>>(), [id_of(b'7')]);
    }
}
