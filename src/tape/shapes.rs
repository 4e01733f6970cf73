//! The shapes of objects: their keys in order. Most objects of a session have one of a few shapes, so an object on a tape consists of the
//! number of its shape and its values, and the tape reader can build all objects of a shape in the same way.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The shape of an object without members. Every other shape extends another one by one key.
pub(super) const EMPTY: u32 = 0;

/// The shapes that occurred, each with a number.
pub(super) struct Shapes {
    shapes: Vec<Shape>,
    /// The last keys of all shapes, one after another, as written between their quotes.
    keys: Vec<u8>,
    by_key: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Default)]
struct Shape {
    /// The shape without the last key.
    parent: u32,
    /// End of the last key in `keys`. It begins where the last key of the shape before ends.
    key_end: usize,
    /// The last key, shortened.
    prefix: Prefix,
    /// The most recent extensions of this shape by one key; [`EMPTY`] if there are fewer. Usually the next one is among them.
    recent: [u32; RECENT],
}

/// At most this many keys alternate in one position, in most sessions.
const RECENT: usize = 4;

/// Distinguishes most keys without comparing all their bytes: the length, and the first eight bytes, padded with zeros.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Prefix(usize, u64);

impl Prefix {
    #[inline]
    fn of(key: &[u8]) -> Self {
        let part = |start: usize| key[start..].first_chunk().map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
        let first = match key.first_chunk() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            // Two halves that overlap.
            None if key.len() >= 4 => part(0).unwrap_or(0) | part(key.len() - 4).unwrap_or(0) << (8 * (key.len() - 4)),
            None => key.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        Prefix(key.len(), first)
    }

    /// Whether it contains the whole key.
    #[inline]
    fn is_whole(self) -> bool {
        self.0 <= 8
    }
}

impl Default for Shapes {
    fn default() -> Self {
        Shapes {
            shapes: vec![Shape::default()],
            keys: Vec::new(),
            by_key: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl Shapes {
    /// The shape that extends `shape` by one key, given as written between its quotes.
    #[inline]
    pub(crate) fn with_key(&mut self, shape: u32, key: &[u8]) -> u32 {
        let prefix = Prefix::of(key);
        for child in self.shapes[shape as usize].recent {
            if child == EMPTY {
                break;
            }
            if self.shapes[child as usize].prefix == prefix && (prefix.is_whole() || self.key(child) == key) {
                return child;
            }
        }
        self.other_child(shape, key, prefix)
    }

    #[cold]
    fn other_child(&mut self, shape: u32, key: &[u8], prefix: Prefix) -> u32 {
        let child = self.child(shape, key, prefix);
        let recent = &mut self.shapes[shape as usize].recent;
        recent.rotate_right(1);
        recent[0] = child;
        child
    }

    fn child(&mut self, shape: u32, key: &[u8], prefix: Prefix) -> u32 {
        let hash = self.hasher.hash_one((shape, key));
        let is_child = |child: &u32| self.shapes[*child as usize].parent == shape && self.key(*child) == key;
        if let Some(child) = self.by_key.find(hash, is_child) {
            return *child;
        }
        let child = self.shapes.len() as u32;
        self.keys.extend_from_slice(key);
        self.shapes.push(Shape { parent: shape, key_end: self.keys.len(), prefix, recent: [EMPTY; RECENT] });
        let Shapes { shapes, keys, hasher, .. } = self;
        let hash_of = |child: &u32| hasher.hash_one((shapes[*child as usize].parent, key_of(shapes, keys, *child)));
        self.by_key.insert_unique(hash, child, hash_of);
        child
    }

    /// The last key of a shape.
    fn key(&self, shape: u32) -> &[u8] {
        key_of(&self.shapes, &self.keys, shape)
    }

    /// The list of the shapes.
    pub(crate) fn list(&self) -> ShapeList {
        ShapeList { shapes: self.shapes.clone(), keys: self.keys.clone() }
    }

    /// Forgets all shapes.
    pub(crate) fn clear(&mut self) {
        self.shapes.truncate(1);
        self.shapes[EMPTY as usize].recent = [EMPTY; RECENT];
        self.keys.clear();
        self.by_key.clear();
    }
}

/// The shapes of a tape, for the tape reader.
pub struct ShapeList {
    shapes: Vec<Shape>,
    keys: Vec<u8>,
}

impl ShapeList {
    /// All shapes in the order of their numbers, from 1 on: for each, the shape that it extends, and its last key.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let numbers = 1..self.shapes.len();
        numbers.map(|shape| (self.shapes[shape].parent, key_of(&self.shapes, &self.keys, shape as u32)))
    }
}

#[inline]
fn key_of<'k>(shapes: &[Shape], keys: &'k [u8], shape: u32) -> &'k [u8] {
    let start = (shape as usize).checked_sub(1).map_or(0, |before| shapes[before].key_end);
    &keys[start..shapes[shape as usize].key_end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn shape(shapes: &mut Shapes, keys: &[&str]) -> u32 {
        keys.iter().fold(EMPTY, |shape, key| shapes.with_key(shape, key.as_bytes()))
    }

    fn list(shapes: &Shapes) -> Vec<(u32, String)> {
        shapes.list().iter().map(|(parent, key)| (parent, String::from_utf8(key.to_vec()).unwrap())).collect()
    }

    #[test]
    fn the_same_keys_in_the_same_order_are_one_shape() {
        let mut shapes = Shapes::default();
        let lists: [&[&str]; 7] = [&[], &["a"], &["a", "b"], &["b", "a"], &["ab"], &["a", "a"], &[""]];
        let first = lists.map(|keys| shape(&mut shapes, keys));
        assert_eq!(lists.map(|keys| shape(&mut shapes, keys)), first);
        let mut different = first.to_vec();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), lists.len());
        assert_eq!(first[0], EMPTY);
    }

    proptest! {
        #[test]
        fn shapes_distinguish_keys_by_all_bytes(keys in prop::collection::vec("(a{6,8})?[ab\0]{0,2}", 0..60), parents in prop::collection::vec(0..4_u32, 60)) {
            let mut shapes = Shapes::default();
            let mut known = HashMap::new();
            for (key, parent) in keys.iter().zip(parents) {
                let parent = parent.min(known.len() as u32);
                let child = shapes.with_key(parent, key.as_bytes());
                let next = known.len() as u32 + 1;
                prop_assert_eq!(child, *known.entry((parent, key)).or_insert(next));
            }
        }
    }

    #[test]
    fn shape_list_names_each_parent() {
        let mut shapes = Shapes::default();
        shape(&mut shapes, &["a", "b"]);
        shape(&mut shapes, &["a", "b", "c"]);
        shape(&mut shapes, &["b"]);
        let whole = [(EMPTY, "a".into()), (1, "b".into()), (2, "c".into()), (EMPTY, "b".into())];
        assert_eq!(list(&shapes), whole);
        shapes.clear();
        assert_eq!(list(&shapes), []);
        assert_eq!(shape(&mut shapes, &["b", "a"]), 2);
        assert_eq!(list(&shapes), [(EMPTY, "b".into()), (1, "a".into())]);
    }
}
