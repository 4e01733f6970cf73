//! An index from ids to small numbers that takes about five bytes per id, because the ids themselves stay in their owner's list.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

/// An index of things that their owner keeps in a list. Seeded randomly, so that no log can contain ids that are chosen to collide.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookup {
    table: HashTable<u32>,
    seed: DefaultHashBuilder,
}

impl Lookup {
    /// The number for which `is` returns true, among those whose keys have the hash of `key`.
    #[inline]
    pub(crate) fn find<K: Hash + ?Sized>(&self, key: &K, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.table.find(self.seed.hash_one(key), |&index| is(index)).copied()
    }

    /// Removes the number that [`find`](Self::find) returns, if there is one.
    pub(crate) fn remove<K: Hash + ?Sized>(&mut self, key: &K, is: impl Fn(u32) -> bool) {
        if let Ok(entry) = self.table.find_entry(self.seed.hash_one(key), |&index| is(index)) {
            entry.remove();
        }
    }

    /// Adds a number that is not in the index. `key_of` returns the key of a number that is.
    pub(crate) fn insert<K: Hash>(&mut self, key: K, index: u32, key_of: impl Fn(u32) -> K) {
        let seed = &self.seed;
        self.table.insert_unique(seed.hash_one(&key), index, |&other| seed.hash_one(key_of(other)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_and_no_other() {
        let names: Vec<String> = (0..1000).map(|n| format!("id-{n}")).collect();
        let mut lookup = Lookup::default();
        for (index, name) in names.iter().enumerate() {
            assert_eq!(lookup.find(name.as_str(), |found| names[found as usize] == *name), None);
            lookup.insert(name.as_str(), index as u32, |other| names[other as usize].as_str());
        }
        for (index, name) in names.iter().enumerate() {
            assert_eq!(lookup.find(name.as_str(), |found| names[found as usize] == *name), Some(index as u32));
        }
    }
}
