//! Finds the places at which built-in rules may match, without decoding: the literals of the rules, and escapes that could hide one.
//!
//! The prefilter searches every byte of a source and determines the speed of redaction, hence the search of [`needles`].

mod needles;

use super::builtin::is_plausible;
use super::encoded::{Segment, end_of_discord_token, segments};
use needles::Needles;

/// The number of bytes that are looked at together for what may hide literals.
const CHUNK_BYTES: usize = 64;

/// Escapes of characters that need none, which may hide a literal: `\u002x` to `\u007x`, and slashes.
const ESCAPE_NEEDLES: [&[u8]; 5] = [b"\\u00", b"1\\/", b"1/\\/", b"%3A%2F%2F", b"%3a%2f%2f"];

/// Characters that are not seen, which may be in the middle of a literal.
const INVISIBLE_NEEDLES: [&[u8]; 7] =
    [b"\\u200", b"\\ufeff", b"\xe2\x80\x8b", b"\xe2\x80\x8c", b"\xe2\x80\x8d", b"\xe2\x81\xa0", b"\xef\xbb\xbf"];

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

    /// Calls `found` with the offset of each text that is encoded and has a candidate in it. If `is_cut`, `text` may begin within one.
    pub(crate) fn encoded(&self, text: &[u8], is_cut: bool, found: &mut dyn FnMut(usize)) {
        hidden_in_words(text).for_each(&mut *found);
        for segment in segments(text, is_cut).filter(|segment| self.is_candidate(text, segment)) {
            found(segment.start);
        }
    }

    /// Whether a text that is encoded has a candidate in it.
    pub(crate) fn has_encoded(&self, text: &[u8]) -> bool {
        hidden_in_words(text).next().is_some() || segments(text, false).any(|segment| self.is_candidate(text, &segment))
    }

    /// Whether an encoded text has a candidate in it, or is the beginning of one.
    pub(crate) fn is_candidate(&self, text: &[u8], segment: &Segment) -> bool {
        self.find(&segment.decoded, 0).is_some() || end_of_discord_token(text, segment).is_some()
    }

    /// The offset of a candidate from `from` on, in the first line that has one.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        self.needles.find(text, from, |needle, start| {
            let (before, after) = (&text[..start], &text[start + needle.len()..]);
            !is_mere_word(needle, before, after) && is_plausible(needle, before, after)
        })
    }
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

/// The offsets of bytes that may hide a literal because they stand within a word: control characters of terminals, NUL, a letter that is
/// percent-encoded.
fn hidden_in_words(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    // Without a branch for each byte, so that it is compiled to vector instructions.
    let has_any = |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | matches!(byte, 0x1b | 0 | 8 | b'%'));
    let chunks = text.chunks(CHUNK_BYTES).enumerate().filter(move |(_, chunk)| has_any(chunk));
    let places = chunks.flat_map(|(number, chunk)| (0..chunk.len()).map(move |at| number * CHUNK_BYTES + at));
    let backspaces = memchr::memmem::find_iter(text, b"\\b").filter(|at| is_within_word(text, *at, 2));
    places.filter(|at| is_hiding(text, *at)).chain(backspaces)
}

/// Whether a byte may hide a literal.
fn is_hiding(text: &[u8], at: usize) -> bool {
    match text[at] {
        0x1b => {
            let is_sequence = |byte: &&u8| matches!(byte, b'[' | b'0'..=b'9' | b';' | b'm' | b'K');
            let length = text[at + 1..].iter().take(32).take_while(is_sequence).count();
            is_within_word(text, at, 1 + length)
                || text.get(at + 1 + length) == Some(&0x1b) && at > 0 && is_word(text[at - 1])
        }
        0 | 8 => is_within_word(text, at, 1),
        b'%' => {
            let digits = text.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
            digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).is_some_and(is_word)
        }
        _ => false,
    }
}

/// Whether the bytes before and after a range are those of words.
fn is_within_word(text: &[u8], at: usize, length: usize) -> bool {
    at > 0 && is_word(text[at - 1]) && text.get(at + length).is_some_and(|byte| is_word(*byte))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn needles(literals: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let escapes = ESCAPE_NEEDLES.into_iter().chain(INVISIBLE_NEEDLES).map(<[u8]>::to_vec);
    let mut needles: Vec<Vec<u8>> = literals.iter().cloned().chain(escapes).collect();
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
        let is_at = |at: usize, needle: &Vec<u8>| {
            let (before, after) = (&text[..at], &text[(at + needle.len()).min(text.len())..]);
            text[at..].starts_with(needle)
                && !is_mere_word(needle, before, after)
                && is_plausible(needle, before, after)
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
