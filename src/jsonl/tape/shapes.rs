//! The shapes of objects: which keys, in which order. Most objects of a session have one of a few, so an object on a tape is the number of its
//! shape and its values, and its reader can build all objects of a shape in the same way.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The shape of an object without members. All others are a shape and one key more.
pub const EMPTY: u32 = 0;

/// The shapes that were met, each with a number.
pub struct Shapes {
    shapes: Vec<Shape>,
    /// The keys of all shapes, one after the other, as they stand between their quotes.
    keys: Vec<u8>,
    by_key: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Default)]
struct Shape {
    /// The shape without the last key.
    parent: u32,
    /// Where the last key ends in `keys`. It begins where that of the shape before ends.
    key_end: usize,
    /// The shape with one key more that was met last: mostly the next one too.
    last_child: u32,
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
    /// The shape with one key more, which stands between its quotes as `key`.
    #[inline]
    pub fn with_key(&mut self, shape: u32, key: &[u8]) -> u32 {
        let last = self.shapes[shape as usize].last_child;
        if last != EMPTY && self.key(last) == key {
            return last;
        }
        let child = self.child(shape, key);
        self.shapes[shape as usize].last_child = child;
        child
    }

    fn child(&mut self, shape: u32, key: &[u8]) -> u32 {
        let hash = self.hasher.hash_one((shape, key));
        let is_child = |child: &u32| self.shapes[*child as usize].parent == shape && self.key(*child) == key;
        if let Some(child) = self.by_key.find(hash, is_child) {
            return *child;
        }
        let child = self.shapes.len() as u32;
        self.keys.extend_from_slice(key);
        self.shapes.push(Shape { parent: shape, key_end: self.keys.len(), last_child: EMPTY });
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
    pub fn list(&self) -> ShapeList {
        ShapeList { shapes: self.shapes.clone(), keys: self.keys.clone() }
    }

    /// Forgets all shapes.
    pub fn clear(&mut self) {
        self.shapes.truncate(1);
        self.shapes[EMPTY as usize].last_child = EMPTY;
        self.keys.clear();
        self.by_key.clear();
    }
}

/// What the reader of a tape has to know about shapes.
pub struct ShapeList {
    shapes: Vec<Shape>,
    keys: Vec<u8>,
}

impl ShapeList {
    /// All shapes in the order of their numbers, from 1 on: the one that each extends, and its last key.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let numbers = 1..self.shapes.len();
        numbers.map(|shape| (self.shapes[shape].parent, key_of(&self.shapes, &self.keys, shape as u32)))
    }
}

fn key_of<'k>(shapes: &[Shape], keys: &'k [u8], shape: u32) -> &'k [u8] {
    let start = (shape as usize).checked_sub(1).map_or(0, |before| shapes[before].key_end);
    &keys[start..shapes[shape as usize].key_end]
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_list_has_what_each_shape_extends() {
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
