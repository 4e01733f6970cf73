//! Texts as a terminal, a URL, a page or a shell reads them: without colour codes and invisible characters, percent-decoded,
//! without HTML entities, without quoting. Rules and known secrets are searched for in them, and hits are mapped back.

/// The longest sequence of a terminal that is passed over.
const MAX_SEQUENCE: usize = 512;

/// A text derived from another.
pub(super) struct View {
    /// The derived text.
    pub text: Vec<u8>,
    /// Whether rules apply to it, or only known secrets are searched for.
    pub has_rules: bool,
    /// The ranges that differ: in the derived text, and in the original.
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy)]
struct Piece {
    at: usize,
    end: usize,
    source_at: usize,
    source_end: usize,
}

impl View {
    /// Maps a range of the derived text to the original. What is taken out at its edges stays.
    pub(crate) fn map(&self, start: usize, end: usize) -> (usize, usize) {
        (self.source(start, false), self.source(end, true))
    }

    fn source(&self, at: usize, is_end: bool) -> usize {
        // A range ends before what is taken out there, and begins after it.
        let before = match is_end {
            true => self.pieces.partition_point(|piece| piece.at < at),
            false => self.pieces.partition_point(|piece| piece.at < at || (piece.at == at && piece.end == at)),
        };
        let Some(piece) = before.checked_sub(1).map(|index| self.pieces[index]) else { return at };
        match at < piece.end {
            true if is_end => piece.source_end,
            true => piece.source_at,
            false => piece.source_end + (at - piece.end),
        }
    }
}

/// How a view is derived: what changes at an offset, the bytes that changes begin with, and whether the rules apply to the view.
type Derivation = (fn(&[u8], usize) -> Option<Change>, &'static [u8], bool);

/// The views of a text that differ from it.
pub(super) fn views(text: &[u8]) -> impl Iterator<Item = View> + '_ {
    let views: [Derivation; 4] = [
        (invisible, b"\x1b\x00\x08\xc2\xe2\xef\xcd", true),
        (percent, b"%", true),
        (entity, b"&", true),
        (quoting, b"\\'", false),
    ];
    views.into_iter().filter_map(|(change, bytes, has_rules)| derived(text, bytes, change, has_rules))
}

/// A text without percent-encoding; `None` if it has none.
pub(super) fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    derived(text, b"%", percent, true).map(|view| view.text)
}

/// Whether a text may have a view that differs from it.
pub(super) fn may_differ(text: &[u8]) -> bool {
    // Without a branch for each byte, so that it is compiled to vector instructions.
    let is_special = |byte: &u8| matches!(byte, b'\\' | b'%' | b'&' | b'\'' | 0x1b | 0 | 8 | 0xc2 | 0xe2 | 0xef | 0xcd);
    text.chunks(64).any(|chunk| chunk.iter().fold(false, |any, byte| any | is_special(byte)))
}

/// What becomes of the bytes at a place.
struct Change {
    /// How many bytes it replaces.
    length: usize,
    /// What replaces them.
    by: Option<char>,
    /// A byte that replaces them, if it is no character.
    byte: Option<u8>,
    /// Whether the character before is replaced too.
    with_character_before: bool,
}

impl Change {
    fn removal(length: usize) -> Option<Self> {
        Some(Change { length, by: None, byte: None, with_character_before: false })
    }
}

fn derived(text: &[u8], bytes: &[u8], change: fn(&[u8], usize) -> Option<Change>, has_rules: bool) -> Option<View> {
    let mut is_special = [false; 256];
    bytes.iter().for_each(|byte| is_special[*byte as usize] = true);
    let mut view = View { text: Vec::new(), has_rules, pieces: Vec::new() };
    let (mut at, mut copied) = (0, 0);
    while let Some(length) = text[at..].iter().position(|byte| is_special[*byte as usize]) {
        at += length;
        let Some(change) = change(text, at) else {
            at += 1;
            continue;
        };
        let before = match change.with_character_before {
            true => last_character(&text[copied..at]),
            false => 0,
        };
        view.text.extend_from_slice(&text[copied..at - before]);
        let start = view.text.len();
        if let Some(by) = change.by {
            view.text.extend_from_slice(by.encode_utf8(&mut [0; 4]).as_bytes());
        }
        view.text.extend(change.byte);
        let source_end = (at + change.length).min(text.len());
        view.pieces.push(Piece { at: start, end: view.text.len(), source_at: at - before, source_end });
        (at, copied) = (source_end, source_end);
    }
    if view.pieces.is_empty() {
        return None;
    }
    view.text.extend_from_slice(&text[copied..]);
    Some(view)
}

fn last_character(text: &[u8]) -> usize {
    let length = text.iter().rev().take(4).position(|byte| byte & 0xc0 != 0x80);
    length.map_or(0, |length| length + 1)
}

/// Colour codes and other sequences of terminals, characters without width, NUL, and what a backspace strikes over.
fn invisible(text: &[u8], at: usize) -> Option<Change> {
    let rest = &text[at..];
    match rest {
        [0x1b, ..] => Change::removal(sequence(rest)),
        [0, ..] if is_within_text(text, at) => Change::removal(1),
        [8, ..] => Some(Change { length: 1, by: None, byte: None, with_character_before: true }),
        // Soft hyphen, and the one-byte form of a sequence's beginning.
        [0xc2, 0xad, ..] => Change::removal(2),
        [0xcd, 0x8f, ..] => Change::removal(2),
        // U+200B to U+200F, U+202A to U+202E, U+2060 to U+2064, U+FEFF, variation selectors.
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa0..=0xa4, ..] => Change::removal(3),
        [0xef, 0xbb, 0xbf, ..] | [0xef, 0xb8, 0x80..=0x8f, ..] => Change::removal(3),
        _ => None,
    }
}

/// Whether a NUL is a half of a character in UTF-16, or alone, rather than the end of one of several texts.
fn is_within_text(text: &[u8], at: usize) -> bool {
    let is_wide = || text.get(at + 2) == Some(&0) || at.checked_sub(2).is_some_and(|before| text[before] == 0);
    let near = &text[at.saturating_sub(64)..text.len().min(at + 64)];
    is_wide() || memchr::memchr_iter(0, near).count() == 1
}

/// The length of a terminal's sequence that begins with ESC.
fn sequence(text: &[u8]) -> usize {
    let text = &text[..text.len().min(MAX_SEQUENCE)];
    match text.get(1) {
        Some(b'[') => {
            let length = text[2..].iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
            2 + length + usize::from(text.get(2 + length).is_some_and(|byte| (0x40..0x7f).contains(byte)))
        }
        Some(b']') => {
            let end = memchr::memchr(7, text);
            let string_end = memchr::memmem::find(&text[1..], b"\x1b\\").map(|at| at + 2);
            [end, string_end].into_iter().flatten().min().map_or(2, |end| end + 1)
        }
        Some(b'(' | b')') => text.len().min(3),
        Some(0x40..=0x7e) => 2,
        _ => 1,
    }
}

fn hex_byte(text: &[u8]) -> Option<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    Some(digit(*text.first()?)? << 4 | digit(*text.get(1)?)?)
}

fn percent(text: &[u8], at: usize) -> Option<Change> {
    let byte = hex_byte(&text[at + 1..])?;
    Some(Change { length: 3, by: None, byte: Some(byte), with_character_before: false })
}

fn entity(text: &[u8], at: usize) -> Option<Change> {
    let rest = &text[at + 1..text.len().min(at + 12)];
    let end = rest.iter().position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(&rest[..end]).ok()?;
    let number = |number: &str| match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    };
    let by = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "sol" => '/',
        "equals" => '=',
        "plus" => '+',
        "colon" => ':',
        "commat" => '@',
        "dollar" => '$',
        "num" => '#',
        "excl" => '!',
        "percnt" => '%',
        _ => char::from_u32(number(name.strip_prefix('#')?)?)?,
    };
    Some(Change { length: end + 2, by: Some(by), byte: None, with_character_before: false })
}

/// Escapes of programs, `\x41` and `\101`, and the quoting of shells: `'\''`, `'"'"'`, `\$`.
fn quoting(text: &[u8], at: usize) -> Option<Change> {
    let rest = &text[at..];
    let quote = |length| Some(Change { length, by: Some('\''), byte: None, with_character_before: false });
    if rest.starts_with(b"'\\''") {
        return quote(4);
    }
    if rest.starts_with(b"'\"'\"'") {
        return quote(5);
    }
    let byte = |length, byte| Some(Change { length, by: None, byte: Some(byte), with_character_before: false });
    match rest {
        [b'\\', b'x' | b'X', ..] => byte(4, hex_byte(&rest[2..])?),
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
            byte(4, (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
        }
        [b'\\', mark, ..] if mark.is_ascii_punctuation() || *mark == b' ' => byte(2, *mark),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first view, with the range of the original that a word in it comes from.
    fn seen(text: &str, word: &str) -> String {
        let view =
            views(text.as_bytes()).find(|view| memchr::memmem::find(&view.text, word.as_bytes()).is_some()).unwrap();
        let start = memchr::memmem::find(&view.text, word.as_bytes()).unwrap();
        let (start, end) = view.map(start, start + word.len());
        text[start..end].to_owned()
    }

    #[test]
    fn words_with_invisible_characters_are_found_and_mapped_to_the_original() {
        for (before, written, after) in [
            ("a ", "se\u{1b}[01;31mcr\u{1b}[met", "\u{1b}[0m b"),
            ("\u{1b}[1m", "s\u{200b}ec\u{feff}ret", "\u{200b}"),
            ("", "s\0e\0c\0r\0e\0t", "\0"),
            // What is struck over before the word stays, because nothing of the word is derived from it.
            ("xs\u{8}", "se\u{8}ec\u{8}cr\u{8}re\u{8}et\u{8}t", " y"),
            ("\u{1b}]8;;http://x\u{7}", "secr\u{1b}]8;;\u{7}et", ""),
            ("%41", "s%65cr%65t", "%20"),
            ("&amp;", "s&#101;cr&#x65;t", "&lt;"),
            ("\\x41", "s\\x65c\\162et", "\\n"),
            ("", "se\u{ad}cret", ""),
        ] {
            assert_eq!(seen(&format!("{before}{written}{after}"), "secret"), written);
        }
        assert_eq!(seen(r"x='it'\''s 5\$'", "it's 5$"), r"it'\''s 5\$");
        assert_eq!(seen(r#"x='it'"'"'s'"#, "it's"), r#"it'"'"'s"#);
    }

    #[test]
    fn plain_texts_need_no_view() {
        for text in ["", "plain", "100 % of it", "a & b", "it's", "é – “x”"] {
            assert_eq!(views(text.as_bytes()).count(), 0, "{text}");
        }
    }

    proptest! {
        #[test]
        fn ranges_stay_within_the_text_and_in_order(text in prop::collection::vec(prop::sample::select(b"a%4&#;x\\'\"\x1b[m\x00\x08\xe2\x80\x8b ".to_vec()), 0..60)) {
            for view in views(&text) {
                let mut last = 0;
                for at in 0..view.text.len() {
                    let (start, end) = view.map(at, at + 1);
                    prop_assert!(start <= end && end <= text.len() && last <= start, "{at}: {start}, {end}, {last}");
                    last = start;
                }
            }
        }
    }
}
