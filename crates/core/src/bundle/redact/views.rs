//! Texts as a terminal, a URL, a page or a shell reads them: without colour codes and invisible characters, percent-decoded,
//! without HTML entities, without quoting. Rules and known secrets are searched for in them, and hits are mapped back.

use std::borrow::Cow;

/// The longest sequence of a terminal that is passed over.
const MAX_SEQUENCE: usize = 512;

/// The bytes that [`invisible`] characters and sequences begin with.
const INVISIBLE: &[u8] = b"\x1b\x00\x08\xc2\xe2\xef\xcd";

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
    /// Takes back the last character of the line, over which the backspace at `at` of the original moves.
    fn strike(&mut self, at: usize) {
        let length = if self.text.ends_with(b"\n") { 0 } else { last_character(&self.text) };
        let start = self.text.len() - length;
        let mut source_at = if length > 0 { self.source(start, false) } else { at };
        self.text.truncate(start);
        while let Some(last) = self.pieces.pop_if(|last| last.end > start || last.source_at >= source_at) {
            source_at = source_at.min(last.source_at);
        }
        self.pieces.push(Piece { at: start, end: start, source_at, source_end: at + 1 });
    }

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

/// What a terminal shows of a text, one of its views; `None` if that does not differ.
pub(super) fn shown(text: &[u8]) -> Option<View> {
    derived(text, INVISIBLE, invisible, true)
}

/// The bytes of a text as a terminal shows it.
pub(super) fn as_shown(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    shown(&text).map_or(text, |view| Cow::Owned(view.text))
}

/// The views of a text that differ from it.
pub(super) fn views(text: &[u8]) -> impl Iterator<Item = View> + '_ {
    let views: [Derivation; 4] =
        [(invisible, INVISIBLE, true), (percent, b"%", true), (entity, b"&", true), (quoting, b"\\'", false)];
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
    /// Whether the character before is struck over.
    is_strike: bool,
}

impl Change {
    fn removal(length: usize) -> Option<Self> {
        Some(Change { length, by: None, byte: None, is_strike: false })
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
        view.text.extend_from_slice(&text[copied..at]);
        if change.is_strike {
            view.strike(at);
            (at, copied) = (at + 1, at + 1);
            continue;
        }
        let start = view.text.len();
        if let Some(by) = change.by {
            view.text.extend_from_slice(by.encode_utf8(&mut [0; 4]).as_bytes());
        }
        view.text.extend(change.byte);
        let source_end = (at + change.length).min(text.len());
        view.pieces.push(Piece { at: start, end: view.text.len(), source_at: at, source_end });
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
        [8, ..] => Some(Change { length: 1, by: None, byte: None, is_strike: true }),
        // The beginning of a sequence as one character. U+0085 is the end of a line.
        [0xc2, 0x80..=0x84 | 0x86..=0x9f, ..] => Change::removal(sequence(rest)),
        // Soft hyphen.
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

/// The length of a terminal's sequence that begins with ESC, or with a character that stands for ESC and a letter.
fn sequence(text: &[u8]) -> usize {
    let text = &text[..text.len().min(MAX_SEQUENCE)];
    let Some(kind) = text.get(1).map(|byte| if text[0] == 0x1b { *byte } else { *byte - 0x40 }) else { return 1 };
    let count = |from: usize, test: fn(&u8) -> bool| text[from..].iter().take_while(|byte| test(byte)).count();
    match kind {
        b'[' => {
            let parameters = 2 + count(2, |byte| (b'0'..=b'?').contains(byte));
            let end = parameters + count(parameters, |byte| (b' '..=b'/').contains(byte));
            let is_whole = text.get(end).is_some_and(|byte| (b'@'..=b'~').contains(byte));
            if is_whole { end + 1 } else { parameters }
        }
        b']' | b'P' | b'X' | b'^' | b'_' => 2 + string(&text[2..]).unwrap_or(0),
        b' ' if matches!(text.get(2), Some(b'F' | b'G' | b'L'..=b'N')) => 3,
        b'#' | b'$' | b'%' | b'('..=b'+' | b'.' | b'/' => {
            let end = 1 + count(1, |byte| (b' '..=b'/').contains(byte));
            let is_whole = text.get(end).is_some_and(|byte| (b'0'..=b'~').contains(byte));
            if is_whole { end + 1 } else { 1 }
        }
        b'0'..=b'~' => 2,
        // No terminal has such a sequence. What follows is a quote, a flag or a word, and the ESC is what was left of another sequence.
        _ => 1,
    }
}

/// The length of the string of a sequence, such as a title or the address of a link, with what ends it. Another control character
/// breaks it off.
fn string(text: &[u8]) -> Option<usize> {
    let is_control = |at: &usize| match text[*at] {
        0xc2 => matches!(text.get(at + 1), Some(0x80..=0x9f)),
        byte => byte < b' ',
    };
    let end = (0..text.len()).find(is_control)?;
    match text[end..] {
        [7, ..] => Some(end + 1),
        [0x1b, b'\\', ..] | [0xc2, 0x9c, ..] => Some(end + 2),
        _ => None,
    }
}

fn hex_byte(text: &[u8]) -> Option<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    Some(digit(*text.first()?)? << 4 | digit(*text.get(1)?)?)
}

fn percent(text: &[u8], at: usize) -> Option<Change> {
    let byte = hex_byte(&text[at + 1..])?;
    Some(Change { length: 3, by: None, byte: Some(byte), is_strike: false })
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
    Some(Change { length: end + 2, by: Some(by), byte: None, is_strike: false })
}

/// Escapes of programs, `\x41` and `\101`, and the quoting of shells: `'\''`, `'"'"'`, `\$`.
fn quoting(text: &[u8], at: usize) -> Option<Change> {
    let rest = &text[at..];
    let quote = |length| Some(Change { length, by: Some('\''), byte: None, is_strike: false });
    if rest.starts_with(b"'\\''") {
        return quote(4);
    }
    if rest.starts_with(b"'\"'\"'") {
        return quote(5);
    }
    let byte = |length, byte| Some(Change { length, by: None, byte: Some(byte), is_strike: false });
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
            ("\u{1b}(B", "s\u{1b}#8ecr\u{1b}7e\u{9b}1mt", "\u{1b}="),
            ("", "sec\u{1b}]8;;http://x\u{1b}\\ret", "\u{9d}8;;\u{9c}"),
            ("a\nb\u{8}\u{8}\u{8}", "sexy\u{8}\u{8}cre\u{1b}[1mx\u{8}t", "\n"),
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
