//! Finds the places at which built-in rules may match, without decoding: the literals of the rules, and escapes that could hide one.
//!
//! The prefilter searches every byte of a source and determines the speed of redaction, hence the search of [`needles`].

mod needles;

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::{Range, RangeInclusive};

use super::builtin::is_plausible;
use super::encoded::{Segment, end_of_discord_token, segments};
use super::escapes::{MAX_LEVELS, unescaped};
use super::views::shown;
use needles::Needles;

/// The number of bytes that are looked at together for what may hide literals.
const CHUNK_BYTES: usize = 64;

/// Escapes of characters that need none, which may hide a literal: `\u002x` to `\u007x`, and slashes.
const ESCAPE_NEEDLES: [&[u8]; 5] = [b"\\u00", b"1\\/", b"1/\\/", b"%3A%2F%2F", b"%3a%2f%2f"];

/// Escapes of characters that are not shown. Those of control characters begin with `\u00`.
const INVISIBLE_ESCAPES: [&[u8]; 9] =
    [b"\\u034f", b"\\u034F", b"\\u200", b"\\u202", b"\\u206", b"\\ufeff", b"\\uFEFF", b"\\ufe0", b"\\uFE0"];

/// Characters that are not shown, of three bytes: the first two, and the range of the third.
const INVISIBLE_CHARACTERS: [([u8; 2], RangeInclusive<u8>); 5] = [
    ([0xe2, 0x80], 0x8b..=0x8f),
    ([0xe2, 0x80], 0xaa..=0xae),
    ([0xe2, 0x81], 0xa0..=0xa4),
    ([0xef, 0xb8], 0x80..=0x8f),
    ([0xef, 0xbb], 0xbf..=0xbf),
];

/// Finds candidates: places of needles at which a match is plausible.
#[derive(Debug)]
pub(crate) struct Prefilter {
    needles: Needles,
}

impl Prefilter {
    /// A prefilter for rules with these literals, of at least three bytes; `None` without literals.
    pub(crate) fn new(literals: &[Vec<u8>]) -> Option<Self> {
        (!literals.is_empty()).then(|| Prefilter { needles: Needles::new(needles(literals)) })
    }

    /// Calls `found` with the offset of each text that is encoded and has a candidate in it, or that is shown as another one with a
    /// candidate. If `is_cut`, `text` may begin within one.
    pub(crate) fn encoded(&self, text: &[u8], is_cut: bool, found: &mut dyn FnMut(usize)) {
        self.hidden(text).for_each(&mut *found);
        for segment in segments(text, is_cut).filter(|segment| self.is_candidate(text, segment)) {
            found(segment.start);
        }
    }

    /// Whether a text that is encoded has a candidate in it, or one that is shown as another.
    pub(crate) fn has_encoded(&self, text: &[u8]) -> bool {
        self.hidden(text).next().is_some() || segments(text, false).any(|segment| self.is_candidate(text, &segment))
    }

    /// Whether an encoded text has a candidate in it, or is the beginning of one.
    pub(crate) fn is_candidate(&self, text: &[u8], segment: &Segment) -> bool {
        self.find(&segment.decoded, 0).is_some() || end_of_discord_token(text, segment).is_some()
    }

    /// The offset of a candidate from `from` on, in the first line that has one.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let shown = ShownLines { prefilter: self, text, end: Cell::new(0) };
        self.needles.find(text, from, |needle, start| {
            let (before, after) = (&text[..start], &text[start + needle.len()..]);
            match is_invisible(needle, before, after) {
                true => shown.has_candidate_at(start),
                false => is_candidate(needle, before, after),
            }
        })
    }

    /// Whether there may be something in a text that is not shown, or hides a letter.
    pub(crate) fn may_hide(&self, text: &[u8]) -> bool {
        let has_needle =
            |needle: &[u8], start: usize| is_invisible(needle, &text[..start], &text[start + needle.len()..]);
        hiding(text).next().is_some() || self.needles.find(text, 0, has_needle).is_some()
    }

    /// The offsets of bytes that hide a candidate: control characters, and letters that are percent-encoded.
    fn hidden<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let shown = ShownLines { prefilter: self, text, end: Cell::new(0) };
        hiding(text).filter(move |at| text[*at] == b'%' || shown.has_candidate_at(*at))
    }

    /// Whether a text has a candidate as it is shown, which is looked for as the rules are applied: at each level of escapes.
    fn has_candidate_as_shown(&self, text: &[u8]) -> bool {
        let has_candidate = |text: &[u8]| {
            let accepts = |needle: &[u8], start: usize| {
                let (before, after) = (&text[..start], &text[start + needle.len()..]);
                !is_invisible(needle, before, after) && is_candidate(needle, before, after)
            };
            self.needles.find(text, 0, accepts).is_some()
        };
        let mut text = Cow::Borrowed(text);
        for _ in 0..=MAX_LEVELS {
            if shown(&text).is_some_and(|view| has_candidate(&view.text)) {
                return true;
            }
            let decoded = match memchr::memchr(b'\\', &text) {
                Some(_) => unescaped(&text).into_owned(),
                None => return false,
            };
            if *text == decoded {
                return false;
            }
            text = Cow::Owned(decoded);
        }
        true
    }
}

/// The lines of a text as they are shown, each of which is looked at once, however much in it is not shown.
struct ShownLines<'s> {
    prefilter: &'s Prefilter,
    text: &'s [u8],
    /// The end of the last line that was looked at.
    end: Cell<usize>,
}

impl ShownLines<'_> {
    /// Whether the line at `at` has a candidate as it is shown. False if it was looked at before.
    fn has_candidate_at(&self, at: usize) -> bool {
        if at < self.end.get() {
            return false;
        }
        let line = line_at(self.text, at);
        self.end.set(line.end);
        self.prefilter.has_candidate_as_shown(with_next(self.text, line))
    }
}

/// The line that has the byte at `at`, without its end.
pub(super) fn line_at(text: &[u8], at: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
    start..end
}

/// A line, and what a value in it or below it may be told by.
fn with_next(text: &[u8], line: Range<usize>) -> &[u8] {
    &text[line.start..text.len().min(line.end + CHUNK_BYTES)]
}

/// Whether a needle, found between `before` and `after`, is something that is not shown.
fn is_invisible(needle: &[u8], before: &[u8], after: &[u8]) -> bool {
    let next = after.first().map_or(0, u8::to_ascii_lowercase);
    match needle {
        b"\\u00" => match next {
            b'0' => matches!(after.get(1), Some(b'0' | b'8')),
            b'1' => matches!(after.get(1), Some(b'b' | b'B')),
            b'a' => matches!(after.get(1), Some(b'd' | b'D')),
            digit => matches!(digit, b'8' | b'9'),
        },
        // Parts of emoji.
        b"\\u200" if next == b'd' => follows_ascii(before),
        b"\\ufe0" | b"\\uFE0" | [0xef, 0xb8, _] | [0xe2, 0x80, 0x8d] => follows_ascii(before),
        b"\\u200" => (b'b'..=b'f').contains(&next),
        b"\\u202" => (b'a'..=b'e').contains(&next),
        b"\\u206" => (b'0'..=b'4').contains(&next),
        [b'\\', ..] => INVISIBLE_ESCAPES.contains(&needle),
        [0xe2 | 0xef, ..] => true,
        _ => false,
    }
}

/// Whether the last character of a text is ASCII, in a text that may have escapes.
fn follows_ascii(text: &[u8]) -> bool {
    let is_escape = || text.len() >= 6 && text[text.len() - 6..].starts_with(b"\\u");
    text.last().is_some_and(u8::is_ascii) && !is_escape()
}

/// Whether a match is plausible at a needle that is shown, found between `before` and `after`.
fn is_candidate(needle: &[u8], before: &[u8], after: &[u8]) -> bool {
    !is_mere_word(needle, before, after) && is_plausible(needle, before, after)
}

/// Whether a frequent needle is a word of code or prose, which no match has.
fn is_mere_word(needle: &[u8], before: &[u8], after: &[u8]) -> bool {
    match needle {
        // Only a key of JSON, whose quote may be encoded.
        b"ermissions" => after.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b" .,:;()_-".contains(byte)),
        _ => is_mere_key(needle, before, after),
    }
}

/// Whether `key` or `keys` is a word by itself, which is the most frequent needle in code and the name of nothing secret.
fn is_mere_key(needle: &[u8], before: &[u8], after: &[u8]) -> bool {
    if needle.len() != 3 || !needle.eq_ignore_ascii_case(b"key") {
        return false;
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let after = after.strip_prefix(b"s").unwrap_or(after);
    let begins_word = match before {
        // `API key`
        [word @ .., b' '] => {
            let ends =
                |end: &&[u8]| word.len() >= end.len() && word[word.len() - end.len()..].eq_ignore_ascii_case(end);
            ![&b"api"[..], b"access", b"private", b"secret"].iter().any(ends)
        }
        _ => !before.last().is_some_and(is_part),
    };
    begins_word && !after.first().is_some_and(is_part)
}

/// The offsets of bytes that may hide a literal: the first ones of what is not shown, and of a letter that is percent-encoded.
fn hiding(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    // Without a branch for each byte, so that it is compiled to vector instructions.
    // NUL and a backspace differ in one bit.
    let is_special = |byte: u8| byte & !8 == 0 || matches!(byte, 0x1b | b'%' | 0xc2 | 0xcd);
    let has_any = move |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | is_special(*byte));
    let chunks = text.chunks(CHUNK_BYTES).enumerate().filter(move |(_, chunk)| has_any(chunk));
    let places = chunks.flat_map(|(number, chunk)| (0..chunk.len()).map(move |at| number * CHUNK_BYTES + at));
    let backspaces = memchr::memmem::find_iter(text, b"\\b").filter(|at| is_backspace(&text[..*at]));
    places.filter(|at| is_hiding(text, *at)).chain(backspaces)
}

/// Whether a byte may hide a literal.
fn is_hiding(text: &[u8], at: usize) -> bool {
    match text[at] {
        0x1b | 0 | 8 => true,
        0xc2 => matches!(text.get(at + 1), Some(0x80..=0x9f | 0xad)),
        0xcd => text.get(at + 1) == Some(&0x8f),
        b'%' => {
            let digits = text.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
            digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).is_some_and(is_word)
        }
        _ => false,
    }
}

/// Whether `\b` behind `before` may be a backspace. With more backslashes it is one only behind a word; elsewhere programs have it in
/// regular expressions.
fn is_backspace(before: &[u8]) -> bool {
    let escapes = before.iter().rev().take(64).take_while(|byte| **byte == b'\\').count();
    escapes == 0 || before[..before.len() - escapes].last().is_some_and(|byte| is_word(*byte))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn needles(literals: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let escapes = ESCAPE_NEEDLES.into_iter().chain(INVISIBLE_ESCAPES).map(<[u8]>::to_vec);
    let characters = INVISIBLE_CHARACTERS
        .into_iter()
        .flat_map(|([first, second], third)| third.map(move |third| vec![first, second, third]));
    let mut needles: Vec<Vec<u8>> = literals.iter().cloned().chain(escapes).chain(characters).collect();
    needles.sort_unstable();
    needles.dedup();
    needles
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bundle::redact::{builtin, named};

    fn literals() -> Vec<Vec<u8>> {
        let literals = builtin::all().flat_map(|rule| rule.literals).chain(named::LITERALS);
        literals.map(|literal| literal.as_bytes().to_vec()).collect()
    }

    /// The offsets of all candidates from `from` on, by brute force.
    fn candidates(needles: &[Vec<u8>], text: &[u8], from: usize) -> Vec<usize> {
        let prefilter = Prefilter::new(&literals()).unwrap();
        let is_at = |at: usize, needle: &Vec<u8>| {
            let (before, after) = (&text[..at], &text[(at + needle.len()).min(text.len())..]);
            let is_candidate = || match is_invisible(needle, before, after) {
                true => prefilter.has_candidate_as_shown(with_next(text, line_at(text, at))),
                false => is_candidate(needle, before, after),
            };
            text[at..].starts_with(needle) && is_candidate()
        };
        (from..text.len()).filter(|at| needles.iter().any(|needle| is_at(*at, needle))).collect()
    }

    #[test]
    fn no_literal_is_too_short_to_be_searched_for() {
        assert!(literals().iter().all(|literal| literal.len() >= 3));
    }

    #[test]
    fn a_key_is_a_candidate_only_as_a_part_of_a_name() {
        let prefilter = Prefilter::new(&literals()).unwrap();
        let is_candidate = |text: &str| prefilter.find(text.as_bytes(), 0).is_some();
        for text in ["api_key=x1", "API key: x1", "secretKey='x1'", "access-keys: x1", "key-pass=x1", "keypass = x1"] {
            assert!(is_candidate(text), "{text}");
        }
        for text in ["key=x1", "for key in keys: x1", "the key: x1", "{\"key\":1}", "keys=x1", "no permissions: x1"] {
            assert!(!is_candidate(text), "{text}");
        }
        assert!(is_candidate("\"permissions\": x1") && is_candidate("%22permissions%22"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn a_candidate_of_the_first_line_with_one_is_found_however_many_there_are(
            parts in prop::collection::vec((0usize..200, "[ a-z@0-9\\\\/:\n]{0,12}", 0usize..60), 1..12),
            from in 0usize..40,
        ) {
            let literals = literals();
            let all = needles(&literals);
            let mut text = Vec::new();
            for (needle, around, gap) in parts {
                text.extend(std::iter::repeat_n(b'.', gap));
                text.extend_from_slice(around.as_bytes());
                text.extend_from_slice(&all[needle % all.len()]);
                text.extend_from_slice(around.as_bytes());
            }
            let expected = candidates(&all, &text, from);
            let line = |at: usize| memchr::memchr_iter(b'\n', &text[..at]).count();
            let found = Prefilter::new(&literals).unwrap().find(&text, from);
            prop_assert_eq!(found.map(line), expected.first().map(|at| line(*at)));
            prop_assert!(found.is_none_or(|found| expected.contains(&found)));
        }
    }
}
