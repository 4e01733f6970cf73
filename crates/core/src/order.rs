//! Sorting and collecting that takes no time worth a copy of its own: the standard library compiles its stable sort for each type and each order,
//! which is 6 to 30 KB of the addon each time.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts like [`slice::sort_by`], with the same result. For what is sorted once a call: a comparison costs a call, and places are sorted before items.
pub(crate) fn sort_by<T>(items: &mut [T], mut order: impl FnMut(&T, &T) -> Ordering) {
    let mut places: Vec<usize> = (0..items.len()).collect();
    sort_places(&mut places, &mut |one, other| order(&items[one], &items[other]));
    // Each place takes its item from the place that it names, cycle by cycle.
    for start in 0..items.len() {
        let mut to = start;
        loop {
            let from = std::mem::replace(&mut places[to], to);
            if from == start {
                break;
            }
            items.swap(to, from);
            to = from;
        }
    }
}

/// Sorts places of something by what is there. Stable.
#[inline(never)]
pub(crate) fn sort_places(places: &mut [usize], order: &mut dyn FnMut(usize, usize) -> Ordering) {
    places.sort_by(|one, other| order(*one, *other));
}

/// Collects a map by inserting, where [`collect`](Iterator::collect) sorts first.
pub(crate) fn map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// Collects a set by inserting, where [`collect`](Iterator::collect) sorts first.
pub(crate) fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorting_by_places_gives_what_the_stable_sort_of_the_library_gives(keys in prop::collection::vec(0u8..40, 0..300)) {
            let mut items: Vec<(u8, String)> = keys.iter().enumerate().map(|(at, key)| (*key, at.to_string())).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            sort_by(&mut items, |one, other| one.0.cmp(&other.0));
            prop_assert_eq!(items, expected);
        }

        #[test]
        fn the_last_of_several_entries_with_one_key_is_kept(entries in prop::collection::vec((0u8..40, any::<u16>()), 0..100)) {
            prop_assert_eq!(map(entries.clone()), entries.iter().copied().collect::<BTreeMap<_, _>>());
            prop_assert_eq!(set(entries.clone()), entries.into_iter().collect::<BTreeSet<_>>());
        }
    }
}
