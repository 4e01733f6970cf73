//! Looks for marks in a file that is read for another reason, so that redaction need not read what has none.

use std::sync::Arc;

use super::prefilter::Prefilter;

/// How much on either side of where two blocks meet is looked at together: a mark, and what tells whether a match is likely there.
const SEAM_BYTES: usize = 1 << 10;

/// The most places that are noted. Where there are more, each line is looked at anyway.
const MAX_PLACES: usize = 1 << 16;

/// Where marks are in the file under way.
pub struct StreamPrefilter {
    prefilter: Arc<Prefilter>,
    /// How many bytes came before.
    offset: u64,
    /// The last of them.
    tail: Vec<u8>,
    places: Vec<u64>,
    is_flooded: bool,
}

impl StreamPrefilter {
    /// For these marks.
    pub fn new(prefilter: Arc<Prefilter>) -> Self {
        StreamPrefilter { prefilter, offset: 0, tail: Vec::new(), places: Vec::new(), is_flooded: false }
    }

    /// Looks at the next bytes of the file.
    pub fn look_at(&mut self, block: &[u8]) {
        if self.is_flooded {
            return;
        }
        if !self.tail.is_empty() {
            let seam = [&self.tail[..], &block[..block.len().min(SEAM_BYTES)]].concat();
            self.note(&seam, self.offset - self.tail.len() as u64);
        }
        self.note(block, self.offset);
        self.tail.extend_from_slice(&block[block.len().saturating_sub(SEAM_BYTES)..]);
        self.tail.drain(..self.tail.len().saturating_sub(SEAM_BYTES));
        self.offset += block.len() as u64;
    }

    fn note(&mut self, text: &[u8], offset: u64) {
        let mut from = 0;
        while let Some(start) = self.prefilter.find(text, from) {
            self.places.push(offset + start as u64);
            from = start + 1;
            if self.places.len() > MAX_PLACES {
                self.is_flooded = true;
                return;
            }
        }
    }

    /// Where in the file something may be that has to be looked at, in order: where it is none of these, nothing is hit. None if
    /// there are too many. What is looked at next is another file.
    pub fn finish(&mut self) -> Option<Vec<u64>> {
        let mut places = std::mem::take(&mut self.places);
        let is_flooded = std::mem::take(&mut self.is_flooded);
        (self.offset, self.tail) = (0, Vec::new());
        places.sort_unstable();
        places.dedup();
        (!is_flooded).then_some(places)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bundle::redact::{RedactOptions, RuleSet};

    fn prefilter() -> Arc<Prefilter> {
        RuleSet::new(&RedactOptions::default()).unwrap().prefilter().unwrap()
    }

    fn places(stream_prefilter: &mut StreamPrefilter, text: &[u8], sizes: &[usize]) -> Option<Vec<u64>> {
        let mut rest = text;
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (block, later) = rest.split_at((*size).min(rest.len()));
            stream_prefilter.look_at(block);
            rest = later;
        }
        stream_prefilter.finish()
    }

    #[test]
    fn a_flood_is_told_and_forgotten_with_the_file() {
        let mut stream_prefilter = StreamPrefilter::new(prefilter());
        assert_eq!(places(&mut stream_prefilter, &b"AKIA ".repeat(MAX_PLACES + 1), &[100_000]), None);
        assert_eq!(places(&mut stream_prefilter, b"x AKIA", &[100]), Some(vec![2]));
        assert_eq!(places(&mut stream_prefilter, b"", &[100]), Some(vec![]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn nothing_is_missed_however_a_file_is_read(
            parts in prop::collection::vec(("(AKIA|https://a|Bearer|sk-|x1/|\\\\u003|asic|glpat-|hooks.slack.com|Key=| |@|/)", 0usize..1500), 1..30),
            sizes in prop::collection::vec(1usize..2000, 1..5),
        ) {
            let mut text = Vec::new();
            for (part, gap) in parts {
                text.extend_from_slice(part.as_bytes());
                text.extend(std::iter::repeat_n(b'.', gap / 3 * usize::from(gap % 3 == 0)));
            }
            let marks = prefilter();
            let (mut expected, mut from) = (Vec::new(), 0);
            while let Some(start) = marks.find(&text, from) {
                expected.push(start as u64);
                from = start + 1;
            }
            let found = places(&mut StreamPrefilter::new(marks), &text, &sizes).unwrap();
            // Where a block ends it may see less, and then it has to say so rather than not.
            prop_assert!(expected.iter().all(|place| found.contains(place)), "{expected:?} and not {found:?}");
            let whole = places(&mut StreamPrefilter::new(self::prefilter()), &text, &[text.len()]).unwrap();
            prop_assert_eq!(whole, expected);
        }
    }
}
