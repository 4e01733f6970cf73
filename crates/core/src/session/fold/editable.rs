//! A history whose items are edited through their keys and their indices.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use super::order::Order;

/// An item of an [`EditableHistory`].
pub(super) trait Editable: Clone {
    /// This item as the replacement of `old`, whose marker it takes over.
    #[must_use]
    fn with_marker_of(&self, old: &Self) -> Self;
}

/// A history in which items are found by key and by index. Items may have the same key, or none.
///
/// Every operation takes logarithmic time, for each key that it names, for each item that it removes, and for nothing else: a replacement of all
/// items with a key is remembered with the key, and applied to an item only when the item is needed.
#[derive(Clone, Debug)]
pub(super) struct EditableHistory<T> {
    nodes: Vec<Node<T>>,
    /// The numbers of nodes that are not in use.
    spare: Vec<usize>,
    order: Order,
    groups: HashMap<u64, Group<T>>,
    /// Counts replacements and changes of nodes.
    clock: u64,
}

#[derive(Clone, Debug)]
struct Node<T> {
    item: T,
    key: Option<u64>,
    /// When the item was set. Earlier replacements of the group do not concern it.
    since: u64,
}

/// The items with a key.
#[derive(Clone, Debug)]
struct Group<T> {
    /// Their nodes, in the order of the history.
    nodes: VecDeque<usize>,
    /// What the items that are in the group since an earlier time were replaced by, and that time.
    replacement: Option<(u64, T)>,
}

impl<T> Default for EditableHistory<T> {
    fn default() -> Self {
        EditableHistory {
            nodes: Vec::new(),
            spare: Vec::new(),
            order: Order::default(),
            groups: HashMap::new(),
            clock: 0,
        }
    }
}

impl<T: Editable> EditableHistory<T> {
    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The items in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.order.iter().map(|node| self.item(node))
    }

    /// Appends an item.
    pub(super) fn push(&mut self, item: T, key: Option<u64>) {
        let node = self.new_node(item, key);
        self.order.push(node);
        if let Some(key) = key {
            self.group(key).nodes.push_back(node);
        }
    }

    /// Removes all items but the first `length`.
    pub(super) fn truncate(&mut self, length: usize) {
        while self.len() > length
            && let Some(node) = self.order.pop()
        {
            // The last item of the history is the last one with its key.
            self.leave_group(node, |nodes| {
                nodes.pop_back();
            });
            self.spare.push(node);
        }
    }

    /// Removes the first item with this key and all items after it. Returns false if there is none.
    pub(super) fn cut_before(&mut self, key: u64) -> bool {
        let Some(node) = self.first(key) else { return false };
        self.truncate(self.order.index_of(node));
        true
    }

    /// Replaces all items whose key is in `replacements`, by the last of these with the key, and removes all others whose key is in `removed`.
    pub(super) fn mutate(&mut self, removed: &[u64], replacements: impl Iterator<Item = (u64, T)>) {
        let mut replaced = HashSet::new();
        for (key, replacement) in replacements {
            replaced.insert(key);
            self.replace(key, replacement);
        }
        for key in removed.iter().filter(|key| !replaced.contains(key)) {
            self.remove(*key);
        }
    }

    /// Inserts an item behind the first one with the key `after`. Returns false if there is none.
    pub(super) fn insert_after(&mut self, after: u64, item: T, key: Option<u64>) -> bool {
        let Some(first) = self.first(after) else { return false };
        let node = self.new_node(item, key);
        self.order.insert_behind(first, node);
        self.join_group(node);
        true
    }

    /// Replaces the item at `index` by what `change` makes of it, with another key. Returns false if there is none.
    pub(super) fn change(&mut self, index: usize, key: Option<u64>, change: impl FnOnce(T) -> T) -> bool {
        let Some(node) = self.order.at(index) else { return false };
        let item = change(self.item(node));
        let is_moved = self.nodes[node].key != key;
        if is_moved {
            let at = self.place_in_group(node);
            self.leave_group(node, |nodes| {
                nodes.remove(at);
            });
        }
        self.nodes[node] = Node { item, key, since: self.clock };
        if is_moved {
            self.join_group(node);
        }
        true
    }

    /// The indices of the items with this key, ascending.
    pub(super) fn indices(&self, key: u64) -> impl Iterator<Item = usize> + '_ {
        self.groups.get(&key).into_iter().flat_map(|group| &group.nodes).map(|node| self.order.index_of(*node))
    }

    fn first(&self, key: u64) -> Option<usize> {
        self.groups.get(&key)?.nodes.front().copied()
    }

    fn replace(&mut self, key: u64, replacement: T) {
        let Some(group) = self.groups.get_mut(&key) else { return };
        self.clock += 1;
        group.replacement = Some((self.clock, replacement));
    }

    fn remove(&mut self, key: u64) {
        let Some(group) = self.groups.remove(&key) else { return };
        for node in group.nodes {
            self.order.remove(node);
            self.spare.push(node);
        }
    }

    fn item(&self, node: usize) -> T {
        let Node { item, key, since } = &self.nodes[node];
        let group = key.and_then(|key| self.groups.get(&key));
        match group.and_then(|group| group.replacement.as_ref()) {
            Some((time, replacement)) if time > since => replacement.with_marker_of(item),
            _ => item.clone(),
        }
    }

    fn new_node(&mut self, item: T, key: Option<u64>) -> usize {
        let node = Node { item, key, since: self.clock };
        match self.spare.pop() {
            Some(at) => {
                self.nodes[at] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        }
    }

    fn group(&mut self, key: u64) -> &mut Group<T> {
        self.groups.entry(key).or_insert_with(|| Group { nodes: VecDeque::new(), replacement: None })
    }

    /// Enters a node that is in the order into the group of its key.
    fn join_group(&mut self, node: usize) {
        let Some(key) = self.nodes[node].key else { return };
        let at = self.place_in_group(node);
        self.group(key).nodes.insert(at, node);
    }

    /// The place of a node in the group of its key: the number of its nodes before it.
    fn place_in_group(&self, node: usize) -> usize {
        let group = self.nodes[node].key.and_then(|key| self.groups.get(&key));
        let index = self.order.index_of(node);
        group.map_or(0, |group| group.nodes.partition_point(|other| self.order.index_of(*other) < index))
    }

    fn leave_group(&mut self, node: usize, leave: impl FnOnce(&mut VecDeque<usize>)) {
        let Some(Entry::Occupied(mut group)) = self.nodes[node].key.map(|key| self.groups.entry(key)) else { return };
        leave(&mut group.get_mut().nodes);
        if group.get().nodes.is_empty() {
            group.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An item: what it is, and its marker.
    type Named = (u32, u32);

    impl Editable for Named {
        fn with_marker_of(&self, old: &Self) -> Self {
            (self.0, old.1)
        }
    }

    #[derive(Clone, Debug)]
    enum Operation {
        Push(Option<u64>),
        Truncate(usize),
        Cut(u64),
        Mutate(Vec<u64>, Vec<u64>),
        Insert(u64, Option<u64>),
        Change(usize, Option<u64>),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let key = || 0u64..6;
        let maybe = move || prop::option::weighted(0.8, key());
        let keys = move || proptest::collection::vec(key(), 0..4);
        prop_oneof![
            10 => maybe().prop_map(Operation::Push),
            1 => (0usize..30).prop_map(Operation::Truncate),
            1 => key().prop_map(Operation::Cut),
            3 => (keys(), keys()).prop_map(|(removed, replaced)| Operation::Mutate(removed, replaced)),
            6 => (key(), maybe()).prop_map(|(after, key)| Operation::Insert(after, key)),
            4 => (0usize..30, maybe()).prop_map(|(index, key)| Operation::Change(index, key)),
        ]
    }

    /// The same by going through all items.
    fn apply_plainly(history: &mut Vec<(Named, Option<u64>)>, operation: &Operation, id: u32) -> bool {
        let first = |history: &Vec<(Named, Option<u64>)>, key| history.iter().position(|item| item.1 == Some(key));
        match operation {
            Operation::Push(key) => history.push(((id, id), *key)),
            Operation::Truncate(length) => history.truncate(*length),
            Operation::Cut(key) => {
                let Some(at) = first(history, *key) else { return false };
                history.truncate(at);
            }
            Operation::Mutate(removed, replaced) => {
                let is_in = |keys: &[u64], key: Option<u64>| key.is_some_and(|key| keys.contains(&key));
                history.retain(|item| is_in(replaced, item.1) || !is_in(removed, item.1));
                for item in history.iter_mut() {
                    if let Some(at) = replaced.iter().rposition(|key| item.1 == Some(*key)) {
                        item.0.0 = id * 10 + at as u32;
                    }
                }
            }
            Operation::Insert(after, key) => {
                let Some(at) = first(history, *after) else { return false };
                history.insert(at + 1, ((id, id), *key));
            }
            Operation::Change(index, key) => {
                let Some(item) = history.get_mut(*index) else { return false };
                *item = ((item.0.0, id), *key);
            }
        }
        true
    }

    fn apply(history: &mut EditableHistory<Named>, operation: &Operation, id: u32) -> bool {
        match operation {
            Operation::Push(key) => history.push((id, id), *key),
            Operation::Truncate(length) => history.truncate(*length),
            Operation::Cut(key) => return history.cut_before(*key),
            Operation::Mutate(removed, replaced) => {
                let replacements = replaced.iter().enumerate().map(|(at, key)| (*key, (id * 10 + at as u32, 0)));
                history.mutate(removed, replacements);
            }
            Operation::Insert(after, key) => return history.insert_after(*after, (id, id), *key),
            Operation::Change(index, key) => return history.change(*index, *key, |old| (old.0, id)),
        }
        true
    }

    proptest! {
        #[test]
        fn edits_through_the_index_equal_edits_of_a_plain_list(
            operations in proptest::collection::vec(operation(), 0..120),
        ) {
            let (mut edited, mut plain) = (EditableHistory::default(), Vec::new());
            for (id, operation) in operations.iter().enumerate() {
                let id = id as u32;
                prop_assert_eq!(apply(&mut edited, operation, id), apply_plainly(&mut plain, operation, id));
                prop_assert!(edited.iter().eq(plain.iter().map(|(item, _)| *item)), "after {:?}", operation);
                prop_assert_eq!(edited.len(), plain.len());
            }
        }
    }
}
