//! A JSON value as a flat tree over its text. Two events are compared as trees if their bytes differ.
//!
//! Nodes are in the order of the text, and each one knows where its subtree ends, so nothing here recurses, however deeply a value
//! is nested. Values that do not count in a comparison are marked, not removed: paths stay those of the log.

use std::borrow::Cow;
use std::collections::HashSet;

use super::decode::spells;
use super::scan::{Cursor, Nesting, Span};
use super::text::Text;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shape {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
}

/// A reference to another record of the same log, by its place among the records compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The place of the record. Negative before the start of the comparison.
    pub place: i64,
    /// The part of that record, if it has several.
    pub part: u32,
}

/// How a value counts in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// By its value.
    #[default]
    Plain,
    /// Not at all.
    Dropped,
    /// By what it refers to. `None` if it refers to nothing in the recording; all such references are equal.
    Refers(Option<Reference>),
    /// As an array in which order and repetitions do not matter.
    Set,
}

#[derive(Clone, Debug)]
struct Node {
    shape: Shape,
    /// Whether the value is a string that is known to have no escapes.
    is_plain: bool,
    mark: Mark,
    start: u32,
    end: u32,
    /// Empty if the value is not a member.
    key: Key,
    /// The index of the first node after this one's subtree.
    next: u32,
}

/// The key of a member.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    /// The start and end of the key inside its quotes.
    start: u32,
    end: u32,
    /// Equal for keys with equal bytes, and rarely for others.
    tag: u32,
}

impl Key {
    /// The key that begins at offset `start` of the text and has the bytes `inside`.
    fn at(start: usize, inside: &[u8]) -> Self {
        Key { start: start as u32, end: (start + inside.len()) as u32, tag: Self::tag(inside) }
    }

    #[inline(always)]
    fn tag(inside: &[u8]) -> u32 {
        let byte = |at: usize| u32::from(inside.get(at).copied().unwrap_or_default());
        let last = byte(inside.len().wrapping_sub(1));
        (inside.len() as u32) << 24 ^ byte(inside.len() / 2) << 16 ^ byte(0) << 8 ^ last
    }
}

/// A parsed JSON value.
#[derive(Clone, Debug)]
pub struct Tree<'a> {
    text: Cow<'a, str>,
    nodes: Vec<Node>,
    has_escaped_keys: bool,
}

/// A value of a tree. The first one, 0, is the whole.
pub type Index = u32;

/// The whole of a tree.
pub(crate) const ROOT: Index = 0;

/// Maximum number of members that are compared with each other to find repeated keys. For more, a hash set is faster.
const MANY: usize = 16;

/// The memory of a discarded tree, for reuse by the next one.
#[derive(Debug, Default)]
pub struct SpareTree {
    nodes: Vec<Node>,
    open: Vec<Index>,
}

impl<'a> Tree<'a> {
    /// Parses a JSON text. Bytes that are not UTF-8 are read as U+FFFD. Returns `None` if the text is not JSON.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        Self::of(text_of(text))
    }

    /// Parses a JSON text. Returns `None` if the text is not JSON.
    pub fn of(text: Cow<'a, str>) -> Option<Self> {
        Self::within(&mut SpareTree { nodes: Vec::with_capacity(32), open: Vec::new() }, text)
    }

    /// The same, in the memory of an earlier tree.
    pub fn within(spare: &mut SpareTree, text: Cow<'a, str>) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        spare.nodes.clear();
        spare.open.clear();
        let SpareTree { nodes, open } = spare;
        let mut parser = Parser { bytes: text.as_bytes(), at: 0, nodes, open, has_escaped_keys: false };
        parser.run()?;
        let has_escaped_keys = parser.has_escaped_keys;
        let mut tree = Tree { text, nodes: std::mem::take(nodes), has_escaped_keys };
        tree.drop_repeated_keys();
        Some(tree)
    }

    /// Returns the memory of the tree for the next one.
    pub fn leave_to(self, spare: &mut SpareTree) {
        spare.nodes = self.nodes;
    }

    /// The range of a value in the text.
    pub fn span(&self, index: Index) -> Span {
        let Node { start, end, .. } = *self.node(index);
        Span { start, end }
    }

    /// Whether the text consists of the very bytes that were parsed, which were all UTF-8.
    pub fn is_borrowed(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }

    fn node(&self, index: Index) -> &Node {
        &self.nodes[index as usize]
    }

    /// Number of values, including the whole.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The type of a value.
    pub fn shape(&self, index: Index) -> Shape {
        self.node(index).shape
    }

    /// How a value counts in a comparison.
    pub fn mark(&self, index: Index) -> Mark {
        self.node(index).mark
    }

    /// Sets how a value counts in a comparison.
    pub fn set_mark(&mut self, index: Index, mark: Mark) {
        self.nodes[index as usize].mark = mark;
    }

    /// The JSON text of a value.
    pub fn text(&self, index: Index) -> &str {
        let Node { start, end, .. } = *self.node(index);
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Size of a value's JSON text in bytes.
    pub fn length(&self, index: Index) -> usize {
        let Node { start, end, .. } = *self.node(index);
        (end - start) as usize
    }

    /// The string, if the value is one.
    #[inline]
    pub fn string(&self, index: Index) -> Option<Text<'_>> {
        let Node { shape, is_plain, .. } = *self.node(index);
        if shape != Shape::String {
            return None;
        }
        let inside = inside(self.text(index));
        Some(if is_plain { Text::from_unescaped(inside) } else { Text::from_json(inside) })
    }

    /// The key of a member.
    #[inline]
    pub fn key(&self, index: Index) -> Text<'_> {
        let key = self.raw_key(index);
        if self.has_escaped_keys { Text::from_json(key) } else { Text::from_unescaped(key) }
    }

    /// The key of a member as it is in the text, with escapes.
    pub fn raw_key(&self, index: Index) -> &str {
        let Key { start, end, .. } = self.node(index).key;
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Whether a member has this key, which must be ASCII without escapes.
    #[inline(always)]
    pub fn has_key(&self, index: Index, name: &str) -> bool {
        if self.has_escaped_keys {
            return spells(self.raw_key(index).as_bytes(), name);
        }
        self.node(index).key.tag == Key::tag(name.as_bytes()) && self.raw_key(index) == name
    }

    /// The direct children of a value, in order, including dropped ones.
    #[inline]
    pub fn children(&self, index: Index) -> impl Iterator<Item = Index> + '_ {
        let end = self.node(index).next;
        let is_container = matches!(self.shape(index), Shape::Array | Shape::Object);
        let first = if is_container { index + 1 } else { end };
        std::iter::successors((first < end).then_some(first), move |&child| self.next_sibling(index, child))
    }

    /// The index of the first value after this one's subtree.
    pub fn behind(&self, index: Index) -> Index {
        self.node(index).next
    }

    /// Whether a value is a member of an object.
    pub fn is_member(&self, index: Index) -> bool {
        self.node(index).key.start > 0
    }

    /// Whether `inner` is in the subtree of `index`, or is that value itself.
    pub fn holds(&self, index: Index, inner: Index) -> bool {
        (index..self.node(index).next).contains(&inner)
    }

    /// The next child of `container` after `index`, if there is one.
    pub fn next_sibling(&self, container: Index, index: Index) -> Option<Index> {
        Some(self.node(index).next).filter(|&next| next < self.node(container).next)
    }

    /// The members of an object, or the elements of an array, that count.
    pub fn members(&self, index: Index) -> impl Iterator<Item = Index> + '_ {
        self.children(index).filter(|&child| self.mark(child) != Mark::Dropped)
    }

    /// The member with this key, if it counts. `name` must be ASCII without escapes.
    #[inline]
    pub fn member(&self, object: Index, name: &str) -> Option<Index> {
        if self.shape(object) != Shape::Object {
            return None;
        }
        self.members(object).find(|&child| self.has_key(child, name))
    }

    /// The value at the end of a path of keys.
    #[inline]
    pub fn at(&self, path: &[&str]) -> Option<Index> {
        path.iter().try_fold(ROOT, |index, name| self.member(index, name))
    }

    /// The element of an array at an index, where dropped elements are included.
    pub fn element(&self, array: Index, at: usize) -> Option<Index> {
        if self.shape(array) != Shape::Array {
            return None;
        }
        self.children(array).nth(at)
    }

    /// The last of several equal keys counts, as in `JSON.parse`.
    fn drop_repeated_keys(&mut self) {
        for object in 0..self.nodes.len() as u32 {
            if self.shape(object) != Shape::Object {
                continue;
            }
            let count = self.children(object).count();
            if count <= MANY {
                self.drop_repeated_of_few(object);
                continue;
            }
            let members: Vec<Index> = self.children(object).collect();
            let mut seen = HashSet::with_capacity(count);
            let repeated: Vec<Index> =
                members.iter().rev().copied().filter(|&member| !seen.insert(self.key(member))).collect();
            repeated.into_iter().for_each(|member| self.set_mark(member, Mark::Dropped));
        }
    }

    fn drop_repeated_of_few(&mut self, object: Index) {
        let mut members = [ROOT; MANY];
        let mut count = 0;
        for (place, member) in members.iter_mut().zip(self.children(object)) {
            (*place, count) = (member, count + 1);
        }
        let members = &members[..count];
        for (at, &member) in members.iter().enumerate() {
            if members[at + 1..].iter().any(|&later| self.same_key(member, later)) {
                self.set_mark(member, Mark::Dropped);
            }
        }
    }

    fn same_key(&self, one: Index, other: Index) -> bool {
        let may_be_equal = self.node(one).key.tag == self.node(other).key.tag;
        (may_be_equal && self.raw_key(one) == self.raw_key(other))
            || (self.has_escaped_keys && self.key(one) == self.key(other))
    }
}

/// Bytes as text, in which invalid UTF-8 is read as U+FFFD. For valid UTF-8, `String::from_utf8_lossy` alone would take several
/// times as long.
pub(crate) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The text between the quotes of a JSON string.
pub(crate) fn inside(json: &str) -> &str {
    json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default()
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
    nodes: &'t mut Vec<Node>,
    open: &'t mut Vec<Index>,
    has_escaped_keys: bool,
}

impl Parser<'_> {
    /// Returns `None` if the text is not JSON.
    fn run(&mut self) -> Option<()> {
        let mut key = Key::default();
        loop {
            self.white_space();
            let shape = self.shape()?;
            let start = self.at as u32;
            self.nodes.push(Node { shape, is_plain: false, mark: Mark::Plain, start, end: start, key, next: 0 });
            key = Key::default();
            let is_container = matches!(shape, Shape::Array | Shape::Object);
            if is_container {
                self.open.push(self.nodes.len() as u32 - 1);
                self.at += 1;
                self.white_space();
                if !self.takes(closing(shape)) {
                    if shape == Shape::Object {
                        key = self.key()?;
                    }
                    continue;
                }
                self.close();
            } else {
                let index = self.nodes.len() - 1;
                self.nodes[index].is_plain = self.scalar(shape)?;
                self.end_node(index);
            }
            if self.leave(&mut key)? {
                self.white_space();
                return (self.at == self.bytes.len()).then_some(());
            }
        }
    }

    /// After a value: closes the containers that end here. Returns `true` if all are closed, `false` if another value follows.
    fn leave(&mut self, key: &mut Key) -> Option<bool> {
        while let Some(&top) = self.open.last() {
            self.white_space();
            let shape = self.nodes[top as usize].shape;
            if self.takes(b',') {
                if shape == Shape::Object {
                    self.white_space();
                    *key = self.key()?;
                }
                return Some(false);
            }
            if !self.takes(closing(shape)) {
                return None;
            }
            self.close();
        }
        Some(true)
    }

    fn close(&mut self) {
        if let Some(top) = self.open.pop() {
            self.end_node(top as usize);
        }
    }

    fn end_node(&mut self, index: usize) {
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[index];
        (node.end, node.next) = (self.at as u32, next);
    }

    fn shape(&self) -> Option<Shape> {
        Some(match self.bytes.get(self.at)? {
            b'{' => Shape::Object,
            b'[' => Shape::Array,
            b'"' => Shape::String,
            b't' => Shape::True,
            b'f' => Shape::False,
            b'n' => Shape::Null,
            _ => Shape::Number,
        })
    }

    /// Skips a value that is not a container. Returns whether it is a string that is known to have no escapes.
    fn scalar(&mut self, shape: Shape) -> Option<bool> {
        let mut cursor = Cursor::new(&self.bytes[self.at..]);
        if shape == Shape::String {
            let is_plain = cursor.short_string().ok()?;
            self.at += cursor.position();
            return Some(is_plain);
        }
        self.at += cursor.value(&mut Nesting::default()).ok()?.len();
        Some(false)
    }

    // Inlined: returned in memory, a key would be written in parts and then read as a whole, which stalls the processor.
    #[inline(always)]
    fn key(&mut self) -> Option<Key> {
        let mut cursor = Cursor::new(&self.bytes[self.at..]);
        let is_plain = cursor.short_string().ok()?;
        let length = cursor.position();
        let inside = &self.bytes[self.at + 1..self.at + length - 1];
        self.has_escaped_keys |= !is_plain && inside.contains(&b'\\');
        let key = Key::at(self.at + 1, inside);
        self.at += length;
        self.white_space();
        self.takes(b':').then_some(key)
    }

    fn white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }
}

fn closing(shape: Shape) -> u8 {
    if shape == Shape::Object { b'}' } else { b']' }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(text: &str) -> Tree<'_> {
        Tree::of(text.into()).unwrap()
    }

    #[test]
    fn values_are_found_at_their_paths() {
        let tree = tree(r#" {"a":[1, {"b":"x\n"} ,[]],"c" : {} , "a\u0062":null} "#);
        let array = tree.at(&["a"]).unwrap();
        assert_eq!(tree.text(array), r#"[1, {"b":"x\n"} ,[]]"#);
        let texts: Vec<_> = tree.children(array).map(|index| tree.text(index)).collect();
        assert_eq!(texts, ["1", r#"{"b":"x\n"}"#, "[]"]);
        assert_eq!(tree.text(tree.at(&["ab"]).unwrap()), "null");
        assert_eq!(tree.text(tree.at(&["c"]).unwrap()), "{}");
        assert_eq!(tree.element(array, 3), None);
        assert_eq!(tree.at(&["a", "b"]), None);
    }

    #[test]
    fn last_of_duplicate_keys_counts() {
        let tree = tree(r#"{"a":1,"\u0061":2,"b":3,"a":4}"#);
        assert_eq!(tree.text(tree.at(&["a"]).unwrap()), "4");
        assert_eq!(tree.members(ROOT).count(), 2);
        let many: String = (0..100).map(|n| format!("\"k{}\":{n},", n % 40)).collect();
        let many = format!("{{{many}\"k0\":-1}}");
        let tree = Tree::of(many.into()).unwrap();
        assert_eq!(tree.members(ROOT).count(), 40);
        assert_eq!(tree.text(tree.at(&["k0"]).unwrap()), "-1");
        assert_eq!(tree.text(tree.at(&["k39"]).unwrap()), "79");
    }

    #[test]
    fn rejects_text_that_is_not_json() {
        for text in ["", " ", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":1,}", "[1}", "1 2", "[]]", "01", "{a:1}", "nul"] {
            assert!(Tree::of(text.into()).is_none(), "{text:?}");
        }
    }

    #[test]
    fn nesting_does_not_use_stack() {
        let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
        assert_eq!(tree(&deep).nodes.len(), 500_000);
    }

    proptest! {
        #[test]
        fn text_is_parsed_if_and_only_if_it_is_json(text in "[\\[\\]{},:\"a0-9.eE+\\-\\\\nutrufals ]{0,24}") {
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(Tree::of(text.as_str().into()).is_some(), is_json);
        }
    }
}
