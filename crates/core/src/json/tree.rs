//! A JSON value as a flat tree over its text.
//!
//! Nodes are in the order of the text, and each one knows where its subtree ends, so nothing here recurses, however deeply a value
//! is nested. Values that do not count are marked, not removed: paths stay those of the text.

use std::borrow::Cow;
use std::collections::HashSet;

use super::decode::spells;
use super::scan::{Cursor, KeyPlace, Nesting, NotJson, Span, Visitor};
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

/// What is noted at a value, whose default is nothing.
pub trait Mark: Copy + Default + PartialEq {
    /// The value does not count. That is noted of a member that another one of the same key follows.
    const DROPPED: Self;
}

/// Whether the value does not count.
impl Mark for bool {
    const DROPPED: Self = true;
}

#[derive(Clone, Debug)]
struct Node<M> {
    shape: Shape,
    /// Whether the value is a string that is known to have no escapes.
    is_plain: bool,
    mark: M,
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
    /// Equal for keys with equal bytes, and rarely for others. Of an element: how many more elements the node stands for.
    tag: u32,
}

impl Key {
    #[inline(always)]
    fn tag(inside: &[u8]) -> u32 {
        let byte = |at: usize| u32::from(inside.get(at).copied().unwrap_or_default());
        let last = byte(inside.len().wrapping_sub(1));
        (inside.len() as u32) << 24 ^ byte(inside.len() / 2) << 16 ^ byte(0) << 8 ^ last
    }
}

/// A parsed JSON value.
#[derive(Clone, Debug)]
pub struct Tree<'a, M = bool> {
    text: Cow<'a, str>,
    nodes: Vec<Node<M>>,
    has_escaped_keys: bool,
}

/// A value of a tree. The first one, 0, is the whole.
pub type Index = u32;

/// The whole of a tree.
pub(crate) const ROOT: Index = 0;

/// Number of nodes for which memory is kept from tree to tree.
const MAX_KEPT_NODES: usize = 64 << 10;

/// Maximum number of members that are compared with each other to find repeated keys. For more, a hash set is faster.
const MANY: usize = 16;

/// The memory of a discarded tree, for reuse by the next one.
#[derive(Debug, Default)]
pub struct SpareTree<M = bool> {
    nodes: Vec<Node<M>>,
    nesting: Nesting,
}

impl<'a, M: Mark> Tree<'a, M> {
    /// Parses a JSON text. Bytes that are not UTF-8 are read as U+FFFD. Returns `None` if the text is not JSON.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        Self::of(text_of(text))
    }

    /// Parses a JSON text. Returns `None` if the text is not JSON.
    pub fn of(text: Cow<'a, str>) -> Option<Self> {
        Self::within(&mut SpareTree { nodes: Vec::with_capacity(32), nesting: Nesting::default() }, text)
    }

    /// The same, in the memory of an earlier tree.
    pub fn within(spare: &mut SpareTree<M>, text: Cow<'a, str>) -> Option<Self> {
        Self::build(spare, text, false)
    }

    /// The same, with one node for elements that follow each other in an array and are neither strings nor containers: a long array of numbers
    /// takes no memory.
    pub(crate) fn of_strings(spare: &mut SpareTree<M>, text: Cow<'a, str>) -> Option<Self> {
        Self::build(spare, text, true)
    }

    fn build(spare: &mut SpareTree<M>, text: Cow<'a, str>, joins: bool) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        spare.nodes.clear();
        let SpareTree { nodes, nesting } = spare;
        let (bytes, has_escaped_keys) = (text.as_bytes(), false);
        let mut builder = Builder { bytes, nodes, open: ROOT, has_escaped_keys, joins, can_join: false };
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.walk(nesting, &mut builder).and_then(|()| cursor.finish()).ok()?;
        let has_escaped_keys = builder.has_escaped_keys;
        let mut tree = Tree { text, nodes: std::mem::take(nodes), has_escaped_keys };
        tree.drop_repeated_keys();
        Some(tree)
    }

    /// Returns the memory of the tree for the next one, unless it is too much to be held until then.
    pub fn leave_to(self, spare: &mut SpareTree<M>) {
        if self.nodes.capacity() <= MAX_KEPT_NODES {
            spare.nodes = self.nodes;
        }
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

    fn node(&self, index: Index) -> &Node<M> {
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

    /// What is noted at a value.
    pub fn mark(&self, index: Index) -> M {
        self.node(index).mark
    }

    /// Notes something at a value.
    pub fn set_mark(&mut self, index: Index, mark: M) {
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

    /// How many more elements the node of an element stands for.
    pub(crate) fn joined(&self, index: Index) -> usize {
        if self.is_member(index) { 0 } else { self.node(index).key.tag as usize }
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
        self.children(index).filter(|&child| self.mark(child) != M::DROPPED)
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
            repeated.into_iter().for_each(|member| self.set_mark(member, M::DROPPED));
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
                self.set_mark(member, M::DROPPED);
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
/// times as long. Nearly all texts are ASCII, and checking that takes a fraction of the time of checking UTF-8.
pub(crate) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    if bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Cow::Borrowed(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The text between the quotes of a JSON string.
pub(crate) fn inside(json: &str) -> &str {
    json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default()
}

struct Builder<'t, M> {
    bytes: &'t [u8],
    nodes: &'t mut Vec<Node<M>>,
    /// The innermost open container.
    open: Index,
    has_escaped_keys: bool,
    /// Whether elements are joined.
    joins: bool,
    /// Whether the next element can join the last node.
    can_join: bool,
}

impl<M: Mark> Builder<'_, M> {
    // Inlined: returned in memory, a key would be written in parts and then read as a whole, which stalls the processor.
    #[inline(always)]
    fn push(&mut self, (key, is_plain_key): KeyPlace, value: Span, is_plain: bool, next: Index) {
        let inside = key.of(self.bytes);
        self.has_escaped_keys |= !is_plain_key && inside.contains(&b'\\');
        let key = Key { start: key.start, end: key.end, tag: Key::tag(inside) };
        let shape = match self.bytes[value.start as usize] {
            b'{' => Shape::Object,
            b'[' => Shape::Array,
            b'"' => Shape::String,
            b't' => Shape::True,
            b'f' => Shape::False,
            b'n' => Shape::Null,
            _ => Shape::Number,
        };
        let Span { start, end } = value;
        self.nodes.push(Node { shape, is_plain, mark: M::default(), start, end, key, next });
    }
}

impl<M: Mark> Visitor for Builder<'_, M> {
    #[inline]
    fn open(&mut self, key: KeyPlace, start: usize, _: bool) -> Result<(), NotJson> {
        self.can_join = false;
        let around = std::mem::replace(&mut self.open, self.nodes.len() as Index);
        // Until it is closed, `next` is the container around it.
        self.push(key, Span { start: start as u32, end: start as u32 }, false, around);
        Ok(())
    }

    #[inline]
    fn close(&mut self, end: usize) {
        self.can_join = false;
        let next = self.nodes.len() as Index;
        let node = &mut self.nodes[self.open as usize];
        node.end = end as u32;
        self.open = std::mem::replace(&mut node.next, next);
    }

    #[inline]
    fn scalar(&mut self, key: KeyPlace, value: Span, is_plain: bool) {
        let joins = self.joins && key.0.start == 0 && self.bytes[value.start as usize] != b'"';
        if let Some(last) = self.nodes.last_mut().filter(|_| joins && self.can_join) {
            (last.end, last.key.tag) = (value.end, last.key.tag + 1);
            return;
        }
        self.can_join = joins;
        self.push(key, value, is_plain, self.nodes.len() as Index + 1);
    }
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
        let few = tree(r#"{"a":1,"\u0061":2,"b":3,"a":4}"#);
        assert_eq!(few.text(few.at(&["a"]).unwrap()), "4");
        assert_eq!(few.members(ROOT).count(), 2);
        let many: String = (0..100).map(|n| format!("\"k{}\":{n},", n % 40)).collect();
        let many = format!("{{{many}\"k0\":-1}}");
        let tree = tree(&many);
        assert_eq!(tree.members(ROOT).count(), 40);
        assert_eq!(tree.text(tree.at(&["k0"]).unwrap()), "-1");
        assert_eq!(tree.text(tree.at(&["k39"]).unwrap()), "79");
    }

    #[test]
    fn rejects_text_that_is_not_json() {
        for text in ["", " ", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":1,}", "[1}", "1 2", "[]]", "01", "{a:1}", "nul"] {
            assert!(Tree::<bool>::of(text.into()).is_none(), "{text:?}");
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
            prop_assert_eq!(Tree::<bool>::of(text.as_str().into()).is_some(), is_json);
        }
    }
}
