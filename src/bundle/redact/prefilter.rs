//! Where a match of a built-in rule may be: marks, by which the literals of rules are found, and escapes that could hide one.
//!
//! Every byte of a source is looked at here, and few places are looked at again, so this is as quick as the processor can be: it
//! compares several bytes at once with the beginnings of all marks. It does so with the more of each mark, and is wrong the less
//! often, the longer the shortest mark is; hence a search for the short ones, and another for the rest.

use aho_corasick::packed;
use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind, Span};

use super::builtin::is_likely;

/// The most marks of one search that the processor can do.
const MAX_MARKS: usize = 64;

/// The length of a mark that is not short: as much as is compared at once.
const LONG_BYTES: usize = 4;

/// How much is searched for some marks before it is searched for the others. What is found in it is looked for once more at most.
const WINDOW_BYTES: usize = 4 << 10;

/// What several literals have in common, and little else has.
const SHARED_MARKS: [&[u8]; 2] = [b"_v1_", b"Key="];

/// Characters that need no escape and have one: only a text that hides something has them. `\u002x` to `\u007x`, and slashes.
const HIDING_MARKS: [&[u8]; 3] = [b"\\u00", b"1\\/", b"1/\\/"];

/// Finds the marks of some literals, where a match is likely.
#[derive(Debug)]
pub struct Prefilter {
    searches: Vec<Searcher>,
    longest: usize,
}

/// Finds some of the marks.
#[derive(Debug)]
struct Searcher {
    marks: Vec<Vec<u8>>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// Where the processor has what it takes.
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
}

impl Prefilter {
    /// The marks of these literals. None if there are none.
    pub fn new(literals: &[Vec<u8>]) -> Result<Option<Self>, BuildError> {
        if literals.is_empty() {
            return Ok(None);
        }
        let marks = marks(literals);
        let longest = marks.iter().map(Vec::len).max().unwrap_or(0);
        let (long, short): (Vec<_>, Vec<_>) = marks.iter().cloned().partition(|mark| mark.len() >= LONG_BYTES);
        let packed: Option<Vec<_>> =
            [long, short].into_iter().filter(|marks| !marks.is_empty()).map(Searcher::packed).collect();
        let searches = match packed {
            Some(searches) => searches,
            None => vec![Searcher::automaton(marks)?],
        };
        Ok(Some(Prefilter { searches, longest }))
    }

    /// Where from `from` on the first mark begins where a match is likely.
    pub fn find(&self, text: &[u8], mut from: usize) -> Option<usize> {
        while from < text.len() {
            let end = (from + WINDOW_BYTES).min(text.len());
            let seen = (end + self.longest - 1).min(text.len());
            // What begins behind the window may be cut off by its end for the other search.
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
    fn packed(marks: Vec<Vec<u8>>) -> Option<Self> {
        if marks.len() > MAX_MARKS {
            return None;
        }
        let way = Way::Packed(packed::Searcher::new(&marks)?);
        Some(Searcher { marks, way })
    }

    fn automaton(marks: Vec<Vec<u8>>) -> Result<Self, BuildError> {
        let mut builder = AhoCorasick::builder();
        let builder = builder.match_kind(MatchKind::LeftmostFirst).kind(Some(AhoCorasickKind::DFA));
        let way = Way::Automaton(builder.build(&marks)?);
        Ok(Searcher { marks, way })
    }

    fn find(&self, text: &[u8], mut from: usize, seen: usize) -> Option<usize> {
        loop {
            let span = Span { start: from, end: seen };
            let found = match &self.way {
                Way::Packed(searcher) => searcher.find_in(text, span)?,
                Way::Automaton(automaton) => automaton.find(aho_corasick::Input::new(text).span(span))?,
            };
            let mark = self.marks.get(found.pattern().as_usize())?;
            if is_likely(mark, &text[..found.start()], &text[found.end()..]) {
                return Some(found.start());
            }
            // What begins within what was passed over is still to be found.
            from = found.start() + 1;
        }
    }
}

fn marks(literals: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mark = |literal: &Vec<u8>| {
        let shared = SHARED_MARKS.into_iter().find(|mark| memchr::memmem::find(literal, mark).is_some());
        shared.map_or_else(|| literal.clone(), <[u8]>::to_vec)
    };
    let hiding = HIDING_MARKS.map(<[u8]>::to_vec);
    let mut marks: Vec<Vec<u8>> = literals.iter().map(mark).chain(hiding).collect();
    marks.sort_unstable();
    marks.dedup();
    marks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bundle::redact::builtin;

    fn literals() -> Vec<Vec<u8>> {
        let literals = builtin::ALL.iter().flat_map(|rule| rule.literals);
        literals.map(|literal| literal.as_bytes().to_vec()).collect()
    }

    /// Where a mark is, tried at every place.
    fn found_slowly(marks: &[Vec<u8>], text: &[u8], from: usize) -> Option<usize> {
        let is_at = |at: usize, mark: &Vec<u8>| {
            text[at..].starts_with(mark) && is_likely(mark, &text[..at], &text[at + mark.len()..])
        };
        (from..text.len()).find(|at| marks.iter().any(|mark| is_at(*at, mark)))
    }

    #[test]
    fn every_literal_has_its_mark_and_none_hides_another() {
        let marks = marks(&literals());
        for literal in literals() {
            let has = |mark: &Vec<u8>| memchr::memmem::find(&literal, mark).is_some();
            assert!(marks.iter().any(has), "{}", literal.escape_ascii());
        }
        for mark in &marks {
            // Of those that begin at a place one is found, and another might be likely there.
            let begin_with_it = marks.iter().filter(|other| other.starts_with(mark)).count();
            assert_eq!(begin_with_it, 1, "{}", mark.escape_ascii());
        }
        let long = marks.iter().filter(|mark| mark.len() >= LONG_BYTES).count();
        assert!(long <= MAX_MARKS, "{long} are more than the processor finds at once");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn the_first_mark_is_found_in_any_way(
            parts in prop::collection::vec((0usize..100, "[ a-z@0-9\\\\/:]{0,12}", 0usize..6000), 1..6),
            from in 0usize..40,
        ) {
            let literals = literals();
            let all = marks(&literals);
            let mut text = Vec::new();
            for (mark, around, gap) in parts {
                text.extend(std::iter::repeat_n(b'.', gap));
                text.extend_from_slice(around.as_bytes());
                text.extend_from_slice(&all[mark % all.len()]);
                text.extend_from_slice(around.as_bytes());
            }
            let expected = found_slowly(&all, &text, from);
            prop_assert_eq!(Prefilter::new(&literals).unwrap().unwrap().find(&text, from), expected);
            let longest = all.iter().map(Vec::len).max().unwrap();
            let by_automaton = Prefilter { searches: vec![Searcher::automaton(all).unwrap()], longest };
            prop_assert_eq!(by_automaton.find(&text, from), expected);
        }
    }
}
