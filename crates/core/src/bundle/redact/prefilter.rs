//! Finds the places at which built-in rules may match, without decoding: the literals of the rules, and escapes that could hide one.
//!
//! The prefilter searches every byte of a source and determines the speed of redaction, hence the vectorized multi-string search of
//! `aho_corasick::packed`. That search compares as many bytes of each needle as the shortest needle has, up to four, and has
//! fewer false positives the more it compares. Therefore short and long needles are searched separately.

use aho_corasick::packed;
use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind, Span};

use super::builtin::is_plausible;
use super::encoded::segments;

/// The maximum number of needles of a vectorized search.
const MAX_PACKED_NEEDLES: usize = 64;

/// The number of buckets of a vectorized search for so many needles.
const BUCKETS: usize = 16;

/// The minimum length of a long needle: the number of bytes that the vectorized search compares.
const LONG_BYTES: usize = 4;

/// The searches alternate after this many bytes, so that a find of one does not make the other scan the whole text.
const WINDOW_BYTES: usize = 4 << 10;

/// The number of bytes that are searched for hidden literals at once.
const HIDDEN_WINDOW_BYTES: usize = 16 << 10;

/// Strings that replace the literals that contain them as needles: of several, and of those that begin as lines of dashes do.
const SHARED_NEEDLES: [&[u8]; 3] = [b"_v1_", b"-BEGIN ", b"-END "];

/// Escapes of characters that need none, which may hide a literal: `\u002x` to `\u007x`, and slashes.
const ESCAPE_NEEDLES: [&[u8]; 5] = [b"\\u00", b"1\\/", b"1/\\/", b"%3A%2F%2F", b"%3a%2f%2f"];

/// Characters that are not seen, which may be in the middle of a literal.
const INVISIBLE_NEEDLES: [&[u8]; 7] =
    [b"\\u200", b"\\ufeff", b"\xe2\x80\x8b", b"\xe2\x80\x8c", b"\xe2\x80\x8d", b"\xe2\x81\xa0", b"\xef\xbb\xbf"];

/// Finds candidates: places of needles at which a match is plausible.
#[derive(Debug)]
pub struct Prefilter {
    searches: Vec<Searcher>,
    longest: usize,
}

/// Searches for some of the needles.
#[derive(Debug)]
struct Searcher {
    needles: Vec<Vec<u8>>,
    algorithm: Algorithm,
}

#[derive(Debug)]
enum Algorithm {
    /// Vectorized, if the processor supports it.
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
}

impl Prefilter {
    /// A prefilter for rules with these literals; `None` without literals.
    pub fn new(literals: &[Vec<u8>]) -> Result<Option<Self>, BuildError> {
        if literals.is_empty() {
            return Ok(None);
        }
        let needles = needles(literals);
        let longest = needles.iter().map(Vec::len).max().unwrap_or(0);
        let (long, short): (Vec<_>, Vec<_>) = needles.iter().cloned().partition(|needle| needle.len() >= LONG_BYTES);
        // As equal parts as possible.
        let parts = long.len().div_ceil(MAX_PACKED_NEEDLES).max(1);
        let long = long.chunks(long.len().div_ceil(parts).max(1)).map(by_bucket);
        let packed: Option<Vec<_>> =
            long.chain([short]).filter(|needles| !needles.is_empty()).map(Searcher::packed).collect();
        let searches = match packed {
            Some(searches) => searches,
            None => vec![Searcher::automaton(needles)?],
        };
        Ok(Some(Prefilter { searches, longest }))
    }

    /// Calls `found` with the offset of each text that is encoded and has a candidate in it. If `is_cut`, `text` may begin within one.
    pub fn encoded(&self, text: &[u8], is_cut: bool, found: &mut dyn FnMut(usize)) {
        // Several searches of a window that the processor's cache holds are faster than as many of the whole text.
        for start in (0..text.len()).step_by(HIDDEN_WINDOW_BYTES) {
            hidden_in_words(text, start, (start + HIDDEN_WINDOW_BYTES).min(text.len())).for_each(&mut *found);
        }
        for segment in segments(text, is_cut).filter(|segment| self.find(&segment.decoded, 0).is_some()) {
            found(segment.start);
        }
    }

    /// Whether a text that is encoded has a candidate in it.
    pub fn has_encoded(&self, text: &[u8]) -> bool {
        hidden_in_words(text, 0, text.len()).next().is_some()
            || segments(text, false).any(|segment| self.find(&segment.decoded, 0).is_some())
    }

    /// The offset of the first candidate from `from` on.
    pub fn find(&self, text: &[u8], mut from: usize) -> Option<usize> {
        while from < text.len() {
            let end = (from + WINDOW_BYTES).min(text.len());
            let seen = (end + self.longest - 1).min(text.len());
            // A find after the window is ignored: `seen` may have cut off an earlier needle of the other search.
            let found = self.searches.iter().filter_map(|search| search.find(text, from, seen)).min();
            if let Some(start) = found.filter(|start| *start < end) {
                return Some(start);
            }
            from = end;
        }
        None
    }
}

impl Searcher {
    fn packed(needles: Vec<Vec<u8>>) -> Option<Self> {
        if needles.len() > MAX_PACKED_NEEDLES {
            return None;
        }
        let algorithm = Algorithm::Packed(packed::Searcher::new(&needles)?);
        Some(Searcher { needles, algorithm })
    }

    fn automaton(needles: Vec<Vec<u8>>) -> Result<Self, BuildError> {
        let mut builder = AhoCorasick::builder();
        let builder = builder.match_kind(MatchKind::LeftmostFirst).kind(Some(AhoCorasickKind::DFA));
        let algorithm = Algorithm::Automaton(builder.build(&needles)?);
        Ok(Searcher { needles, algorithm })
    }

    fn find(&self, text: &[u8], mut from: usize, seen: usize) -> Option<usize> {
        loop {
            let span = Span { start: from, end: seen };
            let found = match &self.algorithm {
                Algorithm::Packed(searcher) => searcher.find_in(text, span)?,
                Algorithm::Automaton(automaton) => automaton.find(aho_corasick::Input::new(text).span(span))?,
            };
            let needle = self.needles.get(found.pattern().as_usize())?;
            let (before, after) = (&text[..found.start()], &text[found.end()..]);
            if !is_mere_word(needle, before, after) && is_plausible(needle, before, after) {
                return Some(found.start());
            }
            // Another needle may begin within the rejected one.
            from = found.start() + 1;
        }
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

/// Needles in the order in which a vectorized search puts similar ones into the same of its buckets: it takes the next bucket for each.
/// The bytes of all needles of a bucket are found at a place before it compares, the more often the less similar they are.
fn by_bucket(needles: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let per_bucket = needles.len().div_ceil(BUCKETS);
    let order = (0..per_bucket).flat_map(|row| (0..BUCKETS).map(move |bucket| bucket * per_bucket + row));
    order.filter_map(|at| needles.get(at).cloned()).collect()
}

/// The offsets of bytes that may hide a literal because they stand within a word: control characters of terminals, NUL, a letter that is
/// percent-encoded. Only those from `start` to `end`.
fn hidden_in_words(text: &[u8], start: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
    let window = &text[start..end];
    let is_word =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let is_after_word = move |at: usize| at.checked_sub(1).is_some_and(|before| is_word(text.get(before)));
    let controls = memchr::memchr3_iter(0x1b, 0, 8, window).map(move |at| start + at).filter(move |at| {
        let after = match text[*at] {
            0x1b => {
                text[at + 1..].iter().take(32).find(|byte| !matches!(byte, b'[' | b'0'..=b'9' | b';' | b'm' | b'K'))
            }
            _ => text.get(at + 1),
        };
        is_after_word(*at) && (is_word(after) || after == Some(&0x1b))
    });
    let percent = memchr::memchr_iter(b'%', window).map(move |at| start + at).filter(move |at| {
        let digits = text.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        is_word(byte.as_ref())
    });
    // With the byte after the window, in case it begins before.
    let backspaces =
        memchr::memmem::find_iter(&text[start..(end + 1).min(text.len())], b"\\b").map(move |at| start + at);
    controls.chain(percent).chain(backspaces.filter(move |at| is_after_word(*at) && is_word(text.get(at + 2))))
}

fn needles(literals: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let needle = |literal: &Vec<u8>| {
        let shared = SHARED_NEEDLES.into_iter().find(|needle| memchr::memmem::find(literal, needle).is_some());
        shared.map_or_else(|| literal.clone(), <[u8]>::to_vec)
    };
    let escapes = ESCAPE_NEEDLES.into_iter().chain(INVISIBLE_NEEDLES).map(<[u8]>::to_vec);
    let mut needles: Vec<Vec<u8>> = literals.iter().map(needle).chain(escapes).collect();
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

    /// Like [`Prefilter::find`], by brute force.
    fn find_naively(needles: &[Vec<u8>], text: &[u8], from: usize) -> Option<usize> {
        let is_at = |at: usize, needle: &Vec<u8>| {
            let (before, after) = (&text[..at], &text[(at + needle.len()).min(text.len())..]);
            text[at..].starts_with(needle)
                && !is_mere_word(needle, before, after)
                && is_plausible(needle, before, after)
        };
        (from..text.len()).find(|at| needles.iter().any(|needle| is_at(*at, needle)))
    }

    #[test]
    fn every_literal_contains_a_needle_and_no_needle_is_a_prefix_of_another() {
        let needles = needles(&literals());
        for literal in literals() {
            let has = |needle: &Vec<u8>| memchr::memmem::find(&literal, needle).is_some();
            assert!(needles.iter().any(has), "{}", literal.escape_ascii());
        }
        for needle in &needles {
            // The search finds only one needle at a place, and may reject it although another one there would be plausible.
            let begin_with_it = needles.iter().filter(|other| other.starts_with(needle)).count();
            assert_eq!(begin_with_it, 1, "{}", needle.escape_ascii());
        }
    }

    #[test]
    fn a_key_is_a_candidate_only_as_a_part_of_a_name() {
        let prefilter = Prefilter::new(&literals()).unwrap().unwrap();
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
        fn all_algorithms_find_the_first_candidate(
            parts in prop::collection::vec((0usize..100, "[ a-z@0-9\\\\/:]{0,12}", 0usize..6000), 1..6),
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
            let expected = find_naively(&all, &text, from);
            prop_assert_eq!(Prefilter::new(&literals).unwrap().unwrap().find(&text, from), expected);
            let longest = all.iter().map(Vec::len).max().unwrap();
            let by_automaton = Prefilter { searches: vec![Searcher::automaton(all).unwrap()], longest };
            prop_assert_eq!(by_automaton.find(&text, from), expected);
        }
    }
}
