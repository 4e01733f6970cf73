//! Finds hashes in a text, as digits of either case, however the text is escaped.

use std::borrow::Cow;

use crate::bundle::redact::escapes::{MAX_LEVELS, map_to_encoded, unescaped};
use crate::hash::{HEX_BYTES, Hash};

/// A hash in a text, with what is known about it.
pub(super) struct Found<T> {
    /// The offset of the first digit, or of the folder before it: a path in a store is `ab/abcd…`.
    pub start: usize,
    /// The offset after the last digit.
    pub end: usize,
    /// What is known about the hash.
    pub known: T,
    /// The length of the folder's two digits and what stands between them and the hash; 0 without a folder.
    pub folder: usize,
}

/// The hashes in a text about which something is known, in order.
pub(super) fn find<T: Copy>(text: &[u8], known: &dyn Fn(&Hash) -> Option<T>) -> Vec<Found<T>> {
    let mut found = Vec::new();
    let mut levels = vec![Cow::Borrowed(text)];
    for level in 0..=MAX_LEVELS {
        let text = &levels[level];
        let mut here = plain(text, known);
        if level > 0 {
            // Of the folder is not known how long it is with its escapes.
            here.iter_mut().for_each(|found| found.start += std::mem::take(&mut found.folder));
        }
        let mut ranges: Vec<_> = here.iter().map(|found| (found.start, found.end)).collect();
        for level in levels[..level].iter().rev() {
            map_to_encoded(level, &mut ranges);
        }
        for (found, range) in here.iter_mut().zip(ranges) {
            (found.start, found.end) = range;
        }
        found.append(&mut here);
        // Only escapes of digits hide any: what stands around them does not matter.
        if memchr::memmem::find(text, b"u00").is_none() || memchr::memchr(b'\\', text).is_none() {
            break;
        }
        let next = unescaped(text).into_owned();
        if next == **text {
            break;
        }
        levels.push(Cow::Owned(next));
    }
    found.sort_by_key(|found| (found.start, std::cmp::Reverse(found.end)));
    let mut end = 0;
    found.retain(|found| {
        let is_next = found.start >= end;
        end = end.max(found.end);
        is_next
    });
    found
}

/// The hashes in a text that is not decoded.
fn plain<T: Copy>(text: &[u8], known: &dyn Fn(&Hash) -> Option<T>) -> Vec<Found<T>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(digits) = text.get(at..at + HEX_BYTES) {
        if let Some(other) = digits.iter().rposition(|byte| !byte.is_ascii_hexdigit()) {
            at += other + 1;
            continue;
        }
        let run = HEX_BYTES + text[at + HEX_BYTES..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let end = at + run;
        while at + HEX_BYTES <= end {
            let mut hash = Hash::default();
            let digits = &text[at..at + HEX_BYTES];
            let is_hash = const_hex::decode_to_slice(digits, &mut hash).is_ok();
            let Some(known) = is_hash.then(|| known(&hash)).flatten() else {
                at += 1;
                continue;
            };
            let folder = folder(&text[..at], digits);
            found.push(Found { start: at - folder, end: at + HEX_BYTES, known, folder });
            at += HEX_BYTES;
        }
        at = at.max(end);
    }
    found
}

/// The length of the folder before a hash in a path: its first two digits, and a slash or a backslash, which may have escapes.
fn folder(before: &[u8], digits: &[u8]) -> usize {
    let separators = before.iter().rev().take(8).take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    let path = &before[..before.len() - separators];
    let is_folder = separators > 0 && path.len() >= 2 && path[path.len() - 2..].eq_ignore_ascii_case(&digits[..2]);
    if is_folder { separators + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bundle::redact::escapes::tests::escaped;
    use crate::hash::sha256_hex;

    proptest! {
        #[test]
        fn a_hash_is_found_whatever_stands_around_it_and_however_it_is_escaped(
            before in "[0-9a-fA-F/\\\\\"\u{8}\nxé]{0,9}", after in "[0-9a-f\"\\\\\nxé]{0,70}",
            choices in prop::collection::vec(any::<u8>(), 1..9), levels in 0usize..3, is_upper: bool,
        ) {
            let digits = String::from_utf8(sha256_hex([b"x"]).to_vec()).unwrap();
            let digits = if is_upper { digits.to_uppercase() } else { digits };
            let hash = crate::hash::sha256([b"x"]);
            let (mut text, mut alone) = (format!("{before}{digits}{after}"), digits);
            for _ in 0..levels {
                (text, alone) = (escaped(&text, &choices), escaped(&alone, &[3]));
            }
            let is_hash = |found: &Hash| (*found == hash).then_some(7);
            let found = find(text.as_bytes(), &is_hash);
            prop_assert_eq!(found.len(), 1);
            prop_assert!(found[0].end <= text.len() && found[0].end - found[0].start >= 64 && found[0].known == 7);
            let rest = [&text[..found[0].start], &text[found[0].end..]].concat();
            prop_assert!(find(rest.as_bytes(), &is_hash).is_empty());
            prop_assert_eq!(find(alone.as_bytes(), &is_hash).first().map(|found| (found.start, found.end)), Some((0, alone.len())));
        }
    }
}
