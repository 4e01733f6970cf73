//! A history to which changes are applied one after the other.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use super::order::Order;
use crate::session::format::Change;

/// An item of a [`History`], as far as its reader needs it.
pub(crate) trait Item: Clone {
    /// The key in its marker.
    fn key(&self) -> Option<u64>;

    /// This item as the replacement of `old`, whose marker it takes over.
    #[must_use]
    fn in_place_of(self, old: &Self) -> Self;

    /// This item with another marker, which is given as JSON text, and the key in it. `invalidates`: the responses that a provider has stored for the
    /// item are invalid.
    #[must_use]
    fn marked(self, marker: &[u8], key: u64, invalidates: bool) -> Self;
}

/// A history in which items are found by key and by index. Items may have the same key, or none.
#[derive(Clone, Debug)]
pub(crate) struct History<T> {
    /// The items, until one is looked for by its key. Most sessions have no event that does, and this is much smaller.
    plain: Vec<T>,
    indexed: Option<Indexed<T>>,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        History { plain: Vec::new(), indexed: None }
    }
}

impl<T> FromIterator<T> for History<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        History { plain: items.into_iter().collect(), indexed: None }
    }
}

impl<T: Item> History<T> {
    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.plain.len() + self.indexed.as_ref().map_or(0, |indexed| indexed.order.len())
    }

    /// The items in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.plain.iter().cloned().chain(self.indexed.iter().flat_map(Indexed::iter))
    }

    /// The item with an index.
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        let indexed = || self.indexed.as_ref().and_then(|indexed| Some(indexed.item(indexed.order.at(index)?)));
        self.plain.get(index).cloned().or_else(indexed)
    }

    /// The indices of the items with a key, ascending.
    pub(crate) fn indices(&mut self, key: u64) -> impl Iterator<Item = usize> + '_ {
        self.indexed().indices(key)
    }

    /// The index of the first item with a key.
    pub(crate) fn first(&mut self, key: u64) -> Option<usize> {
        self.indices(key).next()
    }

    /// The number of items that a [`Change::Cut`] leaves.
    pub(crate) fn left_by_cut(&mut self, count: u64, before: Option<u64>) -> usize {
        let by_count = (self.len() as u64).saturating_sub(count) as usize;
        before.and_then(|key| self.first(key)).unwrap_or(by_count)
    }

    /// Applies a change. Returns false if it changes an item that is not there; it has no effect then.
    pub(crate) fn apply(&mut self, change: Change<T>) -> bool {
        match change {
            Change::Append(item) => self.push(item),
            Change::Replace(items) => *self = items.into_iter().collect(),
            Change::Cut { count, before } => {
                let left = self.left_by_cut(count, before);
                self.truncate(left);
            }
            Change::Mutate { removed, replacements } => self.indexed().mutate(&removed, replacements),
            Change::Insert { after, item } => return self.indexed().insert_after(after, item),
            Change::Bind { index, marker, key, content, invalidates } => {
                let bind = |old| content.unwrap_or(old).marked(&marker, key, invalidates);
                return usize::try_from(index).is_ok_and(|index| self.indexed().change(index, bind));
            }
        }
        true
    }

    /// Appends an item.
    pub(crate) fn push(&mut self, item: T) {
        match &mut self.indexed {
            Some(indexed) => indexed.push(item),
            None => self.plain.push(item),
        }
    }

    /// Removes all items but the first `length`.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.plain.truncate(length);
        if let Some(indexed) = &mut self.indexed {
            indexed.truncate(length);
        }
    }

    fn indexed(&mut self) -> &mut Indexed<T> {
        self.indexed.get_or_insert_with(|| {
            let mut indexed = Indexed::default();
            std::mem::take(&mut self.plain).into_iter().for_each(|item| indexed.push(item));
            indexed
        })
    }
}

/// Items that are found by key and by index.
///
/// An operation takes a short time for each key that it names and for each item that it removes, and for nothing else: a replacement of all items with
/// a key is remembered with the key, and applied to an item only when the item is needed.
#[derive(Clone, Debug)]
struct Indexed<T> {
    /// The items, and when each was set. Earlier replacements do not concern it.
    nodes: Vec<(T, u64)>,
    /// The numbers of nodes that are not in use.
    spare: Vec<usize>,
    order: Order,
    /// The nodes of the items with a key, in the order of the history.
    groups: HashMap<u64, VecDeque<usize>>,
    /// When the items with a key were last replaced, and by what.
    replacements: HashMap<u64, (u64, T)>,
    /// Counts replacements.
    clock: u64,
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Indexed {
            nodes: Vec::new(),
            spare: Vec::new(),
            order: Order::default(),
            groups: HashMap::new(),
            replacements: HashMap::new(),
            clock: 0,
        }
    }
}

impl<T: Item> Indexed<T> {
    fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.order.iter().map(|node| self.item(node))
    }

    fn push(&mut self, item: T) {
        let key = item.key();
        let node = self.new_node(item);
        self.order.push(node);
        if let Some(key) = key {
            self.groups.entry(key).or_default().push_back(node);
        }
    }

    fn truncate(&mut self, length: usize) {
        while self.order.len() > length
            && let Some(node) = self.order.pop()
        {
            // The last item of the history is the last one with its key.
            self.leave_group(node, VecDeque::pop_back);
            self.spare.push(node);
        }
    }

    /// Replaces all items whose key is in `replacements`, by the last of these with the key, and removes all others whose key is in `removed`.
    fn mutate(&mut self, removed: &[u64], replacements: Vec<(u64, T)>) {
        let mut replaced = HashSet::new();
        for (key, replacement) in replacements {
            replaced.insert(key);
            if self.groups.contains_key(&key) {
                self.clock += 1;
                self.replacements.insert(key, (self.clock, replacement));
            }
        }
        for key in removed.iter().filter(|key| !replaced.contains(key)) {
            for node in self.groups.remove(key).into_iter().flatten() {
                self.order.remove(node);
                self.spare.push(node);
            }
        }
    }

    /// Inserts an item behind the first one with the key `after`. Returns false if there is none.
    fn insert_after(&mut self, after: u64, item: T) -> bool {
        let Some(first) = self.groups.get(&after).and_then(|nodes| nodes.front().copied()) else { return false };
        let node = self.new_node(item);
        self.order.insert_behind(first, node);
        self.join_group(node);
        true
    }

    /// Replaces the item at `index` by what `change` makes of it. Returns false if there is none.
    fn change(&mut self, index: usize, change: impl FnOnce(T) -> T) -> bool {
        let Some(node) = self.order.at(index) else { return false };
        let item = change(self.item(node));
        let is_moved = self.nodes[node].0.key() != item.key();
        if is_moved {
            let at = self.place_in_group(node);
            self.leave_group(node, |nodes| nodes.remove(at));
        }
        self.nodes[node] = (item, self.clock);
        if is_moved {
            self.join_group(node);
        }
        true
    }

    fn indices(&self, key: u64) -> impl Iterator<Item = usize> + '_ {
        self.groups.get(&key).into_iter().flatten().map(|node| self.order.index_of(*node))
    }

    fn item(&self, node: usize) -> T {
        let (item, since) = &self.nodes[node];
        let replacement = item.key().and_then(|key| self.replacements.get(&key));
        match replacement.filter(|(time, _)| time > since) {
            Some((_, replacement)) => replacement.clone().in_place_of(item),
            None => item.clone(),
        }
    }

    fn new_node(&mut self, item: T) -> usize {
        let at = self.spare.pop().unwrap_or(self.nodes.len());
        let node = (item, self.clock);
        match self.nodes.get_mut(at) {
            Some(spare) => *spare = node,
            None => self.nodes.push(node),
        }
        at
    }

    /// Enters a node that is in the order into the group of its key.
    fn join_group(&mut self, node: usize) {
        let Some(key) = self.nodes[node].0.key() else { return };
        let at = self.place_in_group(node);
        self.groups.entry(key).or_default().insert(at, node);
    }

    /// The place of a node in the group of its key: the number of its nodes before it.
    fn place_in_group(&self, node: usize) -> usize {
        let group = self.nodes[node].0.key().and_then(|key| self.groups.get(&key));
        let index = self.order.index_of(node);
        group.map_or(0, |nodes| nodes.partition_point(|other| self.order.index_of(*other) < index))
    }

    fn leave_group(&mut self, node: usize, leave: impl FnOnce(&mut VecDeque<usize>) -> Option<usize>) {
        let Some(Entry::Occupied(mut group)) = self.nodes[node].0.key().map(|key| self.groups.entry(key)) else {
            return;
        };
        leave(group.get_mut());
        if group.get().is_empty() {
            group.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An item: what it is, its marker, and the key in that.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Named(u32, u32, Option<u64>);

    impl Item for Named {
        fn key(&self) -> Option<u64> {
            self.2
        }

        fn in_place_of(self, old: &Self) -> Self {
            Named(self.0, old.1, old.2)
        }

        fn marked(self, marker: &[u8], key: u64, _: bool) -> Self {
            Named(self.0, std::str::from_utf8(marker).unwrap().parse().unwrap(), Some(key))
        }
    }

    #[derive(Clone, Debug)]
    enum Operation {
        Push(Option<u64>),
        Truncate(usize),
        Cut(u64),
        Mutate(Vec<u64>, Vec<u64>),
        Insert(u64, Option<u64>),
        Bind(usize, u64, bool),
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
            4 => (0usize..30, key(), any::<bool>()).prop_map(|(index, key, content)| Operation::Bind(index, key, content)),
        ]
    }

    /// The same by going through all items.
    fn apply_plainly(history: &mut Vec<Named>, operation: &Operation, id: u32) -> bool {
        let first = |history: &Vec<Named>, key| history.iter().position(|item| item.2 == Some(key));
        match operation {
            Operation::Push(key) => history.push(Named(id, id, *key)),
            Operation::Truncate(length) => history.truncate(*length),
            Operation::Cut(key) => history.truncate(first(history, *key).unwrap_or(history.len().saturating_sub(2))),
            Operation::Mutate(removed, replaced) => {
                let is_in = |keys: &[u64], key: Option<u64>| key.is_some_and(|key| keys.contains(&key));
                history.retain(|item| is_in(replaced, item.2) || !is_in(removed, item.2));
                for item in history.iter_mut() {
                    if let Some(at) = replaced.iter().rposition(|key| item.2 == Some(*key)) {
                        item.0 = id * 10 + at as u32;
                    }
                }
            }
            Operation::Insert(after, key) => {
                let Some(at) = first(history, *after) else { return false };
                history.insert(at + 1, Named(id, id, *key));
            }
            Operation::Bind(index, key, has_content) => {
                let Some(item) = history.get_mut(*index) else { return false };
                *item = Named(if *has_content { id } else { item.0 }, id, Some(*key));
            }
        }
        true
    }

    fn apply(history: &mut History<Named>, operation: &Operation, id: u32) -> bool {
        history.apply(match operation {
            Operation::Push(key) => Change::Append(Named(id, id, *key)),
            Operation::Truncate(length) => {
                history.truncate(*length);
                return true;
            }
            Operation::Cut(key) => Change::Cut { count: 2, before: Some(*key) },
            Operation::Mutate(removed, replaced) => {
                let replacement = |(at, key): (usize, &u64)| (*key, Named(id * 10 + at as u32, 0, None));
                let replacements = replaced.iter().enumerate().map(replacement).collect();
                Change::Mutate { removed: removed.clone(), replacements }
            }
            Operation::Insert(after, key) => Change::Insert { after: *after, item: Named(id, id, *key) },
            Operation::Bind(index, key, has_content) => Change::Bind {
                index: *index as u64,
                marker: id.to_string().into_bytes().into(),
                key: *key,
                content: has_content.then_some(Named(id, 0, None)),
                invalidates: false,
            },
        })
    }

    proptest! {
        #[test]
        fn edits_through_the_index_equal_edits_of_a_plain_list(
            operations in proptest::collection::vec(operation(), 0..120),
        ) {
            let (mut edited, mut plain) = (History::default(), Vec::new());
            for (id, operation) in operations.iter().enumerate() {
                let id = id as u32;
                prop_assert_eq!(apply(&mut edited, operation, id), apply_plainly(&mut plain, operation, id));
                prop_assert!(edited.iter().eq(plain.iter().copied()), "after {:?}", operation);
                prop_assert_eq!((edited.len(), edited.get(id as usize)), (plain.len(), plain.get(id as usize).copied()));
            }
        }
    }
}
