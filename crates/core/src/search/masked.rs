//! Searches bytes of which some bits are ignored, so that one search finds the letters of both cases.

use crate::order;

/// A byte that is compared only in part: `byte | ignored == value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MaskedByte {
    ignored: u8,
    value: u8,
}

impl MaskedByte {
    /// Matches each of these bytes, and perhaps others.
    pub(super) fn any_of(bytes: impl Iterator<Item = u8> + Clone) -> Self {
        let first = bytes.clone().next().unwrap_or_default();
        let ignored = bytes.fold(0, |ignored, byte| ignored | (byte ^ first));
        MaskedByte { ignored, value: first | ignored }
    }

    #[inline(always)]
    fn matches(self, byte: u8) -> bool {
        byte | self.ignored == self.value
    }

    /// The only byte that matches; `None` if there are several.
    pub(super) fn only(self) -> Option<u8> {
        (self.ignored == 0).then_some(self.value)
    }

    /// How common the bytes are that match, in JSON of English text and code.
    fn commonness(self) -> usize {
        const COMMON: &[u8] = b"qzxjkvQZXJKVbywgpfBYWGPFmculdMCULD0123456789:,/-_.=(){}[]hrsHRSnNiIoOaAtTeE\\\" ";
        let places = (0..=u8::MAX).filter(|byte| self.matches(*byte));
        places.map(|byte| COMMON.iter().position(|common| *common == byte).map_or(0, |at| at + 1)).max().unwrap_or(0)
    }
}

/// Number of places that are compared at a time: the compiler makes a few vector instructions of each comparison.
const BLOCK: usize = 64;

/// Finds a sequence of masked bytes. Compares two of them everywhere, the least common ones, and the others where both match.
#[derive(Clone, Debug)]
pub(super) struct MaskedFinder {
    bytes: Box<[MaskedByte]>,
    first: usize,
    second: usize,
}

impl MaskedFinder {
    /// Finds these bytes, at least one.
    pub(super) fn new(bytes: Vec<MaskedByte>) -> Self {
        let mut places: Vec<_> = (0..bytes.len()).collect();
        order::sort_places(&mut places, &mut |one, other| bytes[one].commonness().cmp(&bytes[other].commonness()));
        let first = places.first().copied().unwrap_or(0);
        let second = places.get(1).copied().unwrap_or(first);
        MaskedFinder { bytes: bytes.into(), first, second }
    }

    /// The first place, from `from` on, where the bytes are.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { self.find_by_avx2(text, from) };
        }
        self.find_by_blocks(text, from)
    }

    /// The same code with vectors of twice the size.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn find_by_avx2(&self, text: &[u8], from: usize) -> Option<usize> {
        self.find_by_blocks(text, from)
    }

    #[inline(always)]
    fn find_by_blocks(&self, text: &[u8], from: usize) -> Option<usize> {
        let (Some(&first), Some(&second)) = (self.bytes.get(self.first), self.bytes.get(self.second)) else {
            return None;
        };
        let places = (text.len() + 1).saturating_sub(self.bytes.len());
        let mut at = from;
        while at + BLOCK <= places {
            let (Some(one), Some(other)) =
                (text[at + self.first..].first_chunk::<BLOCK>(), text[at + self.second..].first_chunk::<BLOCK>())
            else {
                break;
            };
            let mut any = 0;
            // By index: functions of iterators are not compiled for these vectors.
            for index in 0..BLOCK {
                any |= u8::from(first.matches(one[index])) & u8::from(second.matches(other[index]));
            }
            if any != 0
                && let Some(found) = (at..at + BLOCK).find(|at| self.is_at(text, *at))
            {
                return Some(found);
            }
            at += BLOCK;
        }
        (at..places).find(|at| self.is_at(text, *at))
    }

    #[inline]
    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let here = &text[at..at + self.bytes.len()];
        self.bytes[self.first].matches(here[self.first])
            && here.iter().zip(&self.bytes).all(|(byte, masked)| masked.matches(*byte))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn letters_of_either_case_are_found_wherever_they_are(text in "[abAB]{0,300}", needle in "[ab]{1,6}", from in 0_usize..20) {
            let bytes = needle.bytes().map(|byte| MaskedByte::any_of([byte, byte.to_ascii_uppercase()].into_iter())).collect();
            let from = from.min(text.len());
            let expected = text[from..].to_lowercase().find(&needle).map(|at| at + from);
            let finder = MaskedFinder::new(bytes);
            prop_assert_eq!(finder.find(text.as_bytes(), from), expected);
            prop_assert_eq!(finder.find_by_blocks(text.as_bytes(), from), expected);
        }
    }
}
