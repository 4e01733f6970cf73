//! Runs the prefilter over a file while it is hashed, so that redaction need not read files without candidates.

use std::sync::Arc;

use super::prefilter::{Prefilter, line_at};

/// The number of bytes on either side of a block boundary that are searched together: more than a needle and the text around it that
/// decides whether it is plausible.
const OVERLAP_BYTES: usize = 1 << 10;

/// The maximum number of candidates of a file. Files with more are matched line by line instead.
const MAX_PLACES: usize = 1 << 16;

/// The prefilter's state within the current file.
pub(crate) struct StreamPrefilter {
    prefilter: Arc<Prefilter>,
    /// The number of bytes before the next block.
    offset: u64,
    /// The last of these bytes.
    tail: Vec<u8>,
    candidates: Vec<u64>,
    has_too_many: bool,
}

impl StreamPrefilter {
    /// A search that begins with the next file.
    pub(crate) fn new(prefilter: Arc<Prefilter>) -> Self {
        StreamPrefilter { prefilter, offset: 0, tail: Vec::new(), candidates: Vec::new(), has_too_many: false }
    }

    /// Searches the next bytes of the file.
    pub(crate) fn update(&mut self, block: &[u8]) {
        if self.has_too_many {
            return;
        }
        if self.offset == 0 && (block.starts_with(b"\xff\xfe") || block.starts_with(b"\xfe\xff")) {
            // UTF-16 may hide any literal.
            self.candidates.push(0);
        }
        if !self.tail.is_empty() {
            let boundary = [&self.tail[..], &block[..block.len().min(OVERLAP_BYTES)]].concat();
            self.search(&boundary, self.offset - self.tail.len() as u64, true);
            // What is not shown may keep the parts of a name further apart.
            if self.prefilter.may_hide(&boundary[line_at(&boundary, self.tail.len())]) {
                self.candidates.push(self.offset);
            }
        }
        self.search(block, self.offset, self.offset > 0);
        self.tail.extend_from_slice(&block[block.len().saturating_sub(OVERLAP_BYTES)..]);
        self.tail.drain(..self.tail.len().saturating_sub(OVERLAP_BYTES));
        self.offset += block.len() as u64;
    }

    /// If `is_cut`, the text may begin in the middle of an encoded one. The rest of a line with a candidate is passed over.
    fn search(&mut self, text: &[u8], offset: u64, is_cut: bool) {
        let mut from = 0;
        while let Some(start) = self.prefilter.find(text, from) {
            let line = memchr::memrchr(b'\n', &text[from..start]).map_or(from, |newline| from + newline + 1);
            self.search_encoded(&text[from..line], offset + from as u64, is_cut && from == 0);
            self.candidates.push(offset + start as u64);
            from = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |newline| start + newline + 1);
            if self.candidates.len() > MAX_PLACES {
                self.has_too_many = true;
                return;
            }
        }
        self.search_encoded(&text[from..], offset + from as u64, is_cut && from == 0);
    }

    fn search_encoded(&mut self, text: &[u8], offset: u64, is_cut: bool) {
        let candidates = &mut self.candidates;
        self.prefilter.encoded(text, is_cut, &mut |start| {
            if candidates.len() <= MAX_PLACES {
                candidates.push(offset + start as u64);
            }
        });
        self.has_too_many |= candidates.len() > MAX_PLACES;
    }

    /// Ends the file and returns its candidates, ascending; `None` if there are too many. Lines without one have no matches. The next
    /// bytes belong to another file.
    pub(crate) fn finish(&mut self) -> Option<Vec<u64>> {
        let mut candidates = std::mem::take(&mut self.candidates);
        let has_too_many = std::mem::take(&mut self.has_too_many);
        (self.offset, self.tail) = (0, Vec::new());
        candidates.sort_unstable();
        candidates.dedup();
        (!has_too_many).then_some(candidates)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::bundle::redact::{RedactOptions, RuleSet};

    /// A shared prefilter: building one takes longer than searching any of these texts.
    fn prefilter() -> Arc<Prefilter> {
        static PREFILTER: LazyLock<Arc<Prefilter>> =
            LazyLock::new(|| RuleSet::new(&RedactOptions::default()).unwrap().prefilter().unwrap());
        PREFILTER.clone()
    }

    fn places(stream_prefilter: &mut StreamPrefilter, text: &[u8], sizes: &[usize]) -> Option<Vec<u64>> {
        let mut rest = text;
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (block, later) = rest.split_at((*size).min(rest.len()));
            stream_prefilter.update(block);
            rest = later;
        }
        stream_prefilter.finish()
    }

    #[test]
    fn too_many_candidates_affect_only_their_file() {
        let mut stream_prefilter = StreamPrefilter::new(prefilter());
        assert_eq!(places(&mut stream_prefilter, &b"AKIA\n".repeat(MAX_PLACES + 1), &[100_000]), None);
        assert_eq!(places(&mut stream_prefilter, &b"%61\n".repeat(MAX_PLACES + 1), &[100_000]), None);
        assert_eq!(places(&mut stream_prefilter, b"x AKIA", &[100]), Some(vec![2]));
        assert_eq!(places(&mut stream_prefilter, b"", &[100]), Some(vec![]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn prefilter_misses_nothing_for_any_chunk_boundaries(
            parts in prop::collection::vec(("(AKIA|https://a|Bearer|sk-|x1/|\\\\u003|asic|glpat-|hooks\\.slack\\.com|Key=|a%61|c2stYW50LWFwaTAzLWFiY2RlZmdo| |@|/|\n)", 0usize..1500), 1..30),
            sizes in prop::collection::vec(1usize..2000, 1..5),
        ) {
            let mut text = Vec::new();
            for (part, gap) in parts {
                text.extend_from_slice(part.as_bytes());
                text.extend(std::iter::repeat_n(b'.', gap / 3 * usize::from(gap % 3 == 0)));
            }
            let prefilter = prefilter();
            let (mut expected, mut from) = (Vec::new(), 0);
            while let Some(start) = prefilter.find(&text, from) {
                expected.push(start as u64);
                from = start + 1;
            }
            let found = places(&mut StreamPrefilter::new(prefilter.clone()), &text, &sizes).unwrap();
            prefilter.encoded(&text, false, &mut |start| expected.push(start as u64));
            expected.sort_unstable();
            expected.dedup();
            let lines = |places: &[u64]| -> BTreeSet<u64> {
                places.iter().map(|at| memchr::memchr_iter(b'\n', &text[..*at as usize]).count() as u64).collect()
            };
            // At the end of a block less text is visible: additional candidates are allowed there, missing ones are not.
            prop_assert!(lines(&expected).is_subset(&lines(&found)), "{expected:?} and not {found:?}");
            let whole = places(&mut StreamPrefilter::new(self::prefilter()), &text, &[text.len()]).unwrap();
            prop_assert_eq!(lines(&whole), lines(&expected));
        }
    }
}
