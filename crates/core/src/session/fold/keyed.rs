//! What each line does to the history, as soon as the lines before it are known.

use std::collections::HashSet;

use super::editable::{History, Item};
use crate::session::format::{Change, NO_KEY, key_of};

/// An item by its place and its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyedItem {
    /// Its offset in the file, without the marker that an event has set.
    pub offset: u64,
    key: u64,
}

impl KeyedItem {
    /// The item with this JSON text.
    pub(crate) fn of(text: &[u8], offset: u64) -> Self {
        KeyedItem { offset, key: key_of(text).unwrap_or(NO_KEY) }
    }
}

impl Item for KeyedItem {
    fn key(&self) -> Option<u64> {
        (self.key != NO_KEY).then_some(self.key)
    }

    fn in_place_of(self, old: &Self) -> Self {
        KeyedItem { key: old.key, ..self }
    }

    fn marked(self, _: &[u8], key: u64, _: bool) -> Self {
        KeyedItem { key, ..self }
    }
}

/// Neighbouring items of the history give way to items of an event. Of an event that only gives an item another marker, no items do; the item is the
/// first of those behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryChange {
    /// Number of items that are removed.
    pub removed: u64,
    /// Number of items that take their place.
    pub added: u64,
    /// Number of items behind them.
    pub behind: u64,
}

impl HistoryChange {
    /// An item is appended.
    pub const APPENDED: Self = HistoryChange { removed: 0, added: 1, behind: 0 };

    /// What a change will do to a history, from its beginning to its end: no change moves what is behind a later one. Nothing if it changes an item
    /// that is not there.
    pub(crate) fn of<T: Item>(change: &Change<T>, history: &mut History<T>) -> Vec<Self> {
        let length = history.len();
        let at_end = |removed: usize, added: usize| {
            let change = HistoryChange { removed: removed as u64, added: added as u64, behind: 0 };
            if removed + added > 0 { vec![change] } else { Vec::new() }
        };
        match change {
            Change::Append(_) => at_end(0, 1),
            Change::Replace(items) => at_end(length, items.len()),
            Change::Cut { count, before } => at_end(length - history.left_by_cut(*count, *before), 0),
            Change::Mutate { removed, replacements } => {
                let replaced: HashSet<u64> = replacements.iter().map(|(key, _)| *key).collect();
                let removed: HashSet<u64> = removed.iter().copied().collect();
                let mut items = Vec::new();
                for key in removed.union(&replaced) {
                    items.extend(history.indices(*key).map(|at| (at, u64::from(replaced.contains(key)))));
                }
                runs_of(items, length)
            }
            Change::Insert { after, .. } => {
                let first = history.first(*after);
                let inserted = |at| HistoryChange { removed: 0, added: 1, behind: (length - at - 1) as u64 };
                first.map(inserted).into_iter().collect()
            }
            Change::Bind { index, content, .. } => {
                let index = usize::try_from(*index).ok().filter(|index| *index < length);
                let items = u64::from(content.is_some());
                let bound = |at| HistoryChange { removed: items, added: items, behind: (length - at) as u64 - items };
                index.map(bound).into_iter().collect()
            }
        }
    }
}

/// The changes of items at some indices, each of which gives way to a number of others, with neighbours in one.
fn runs_of(mut items: Vec<(usize, u64)>, length: usize) -> Vec<HistoryChange> {
    items.sort_unstable();
    let mut runs: Vec<HistoryChange> = Vec::new();
    for (index, added) in items {
        let behind = (length - index - 1) as u64;
        match runs.last_mut().filter(|run| run.behind == behind + 1) {
            Some(run) => *run = HistoryChange { removed: run.removed + 1, added: run.added + added, behind },
            None => runs.push(HistoryChange { removed: 1, added, behind }),
        }
    }
    runs
}
