//! A history that is folded line by line: what each line does to it, as soon as the lines before it are known.

use std::collections::HashSet;

use super::editable::{Editable, EditableHistory};
use crate::json::Span;
use crate::session::format::{Body, Cut, Edit, key_of};

/// Stands for an item without a key. A key is a safe integer.
const NO_KEY: u64 = u64::MAX;

/// Stands for an item, of which only the key matters.
#[derive(Clone, Copy)]
struct AnyItem;

impl Editable for AnyItem {
    fn with_marker_of(&self, _: &Self) -> Self {
        AnyItem
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
}

/// The keys of the items of a history, to which lines are applied one by one.
#[derive(Default)]
pub(crate) struct KeyedHistory {
    /// The keys, until an event edits items. Most sessions have no such events, and this is much smaller.
    plain: Vec<u64>,
    edited: Option<EditableHistory<AnyItem>>,
    changes: Vec<HistoryChange>,
}

impl KeyedHistory {
    /// Applies an event of this line. Returns false if it edits an item that is not there; it has no effect then.
    pub(crate) fn apply(&mut self, body: &Body, line: &[u8]) -> bool {
        self.changes.clear();
        let before = self.len();
        let key = |item: &Span| key_of(item.of(line));
        match body {
            Body::Content(item) => {
                self.push(key(item));
                self.changes.push(HistoryChange::APPENDED);
            }
            Body::Compressed(item) => self.replace([key(item)]),
            Body::Purge(purge) => self.replace(purge.items.iter().map(key)),
            Body::Rewind(_, Cut::Before(key)) if self.edit().cut_before(*key) => self.dropped_from(before),
            Body::Rewind(count, _) => {
                self.drop_last(*count);
                self.dropped_from(before);
            }
            Body::Edit(edit) => {
                let history = self.edit();
                let Some(changes) = places_of(edit, history) else { return false };
                match &**edit {
                    Edit::Mutate { removed, replacements } => {
                        history.mutate(removed, replacements.iter().map(|(key, _)| (*key, AnyItem)));
                    }
                    Edit::Insert { after, content } => {
                        history.insert_after(*after, AnyItem, key(content));
                    }
                    Edit::Bind { index, key, .. } => {
                        history.change(*index as usize, Some(*key), |item| item);
                    }
                }
                self.changes = changes;
            }
            _ => {}
        }
        true
    }

    /// What the last event has changed, from the beginning of the history to its end: no change moves what is behind a later one. Empty if it has
    /// changed nothing.
    pub(crate) fn changes(&self) -> &[HistoryChange] {
        &self.changes
    }

    fn len(&self) -> usize {
        self.edited.as_ref().map_or(self.plain.len(), EditableHistory::len)
    }

    fn push(&mut self, key: Option<u64>) {
        match &mut self.edited {
            Some(history) => history.push(AnyItem, key),
            None => self.plain.push(key.unwrap_or(NO_KEY)),
        }
    }

    fn replace(&mut self, keys: impl IntoIterator<Item = Option<u64>>) {
        let removed = self.len() as u64;
        *self = KeyedHistory::default();
        keys.into_iter().for_each(|key| self.push(key));
        let added = self.len() as u64;
        if removed + added > 0 {
            self.changes.push(HistoryChange { removed, added, behind: 0 });
        }
    }

    fn drop_last(&mut self, count: u64) {
        let left = |length: usize| usize::try_from((length as u64).saturating_sub(count)).unwrap_or(length);
        match &mut self.edited {
            Some(history) => history.truncate(left(history.len())),
            None => self.plain.truncate(left(self.plain.len())),
        }
    }

    /// Items were dropped from the end of the history, which had this length.
    fn dropped_from(&mut self, before: usize) {
        let removed = (before - self.len()) as u64;
        if removed > 0 {
            self.changes.push(HistoryChange { removed, added: 0, behind: 0 });
        }
    }

    fn edit(&mut self) -> &mut EditableHistory<AnyItem> {
        let plain = std::mem::take(&mut self.plain);
        self.edited.get_or_insert_with(|| {
            let mut history = EditableHistory::default();
            plain.into_iter().for_each(|key| history.push(AnyItem, (key != NO_KEY).then_some(key)));
            history
        })
    }
}

/// What an edit will change in a history; `None` if it edits an item that is not there.
fn places_of(edit: &Edit, history: &EditableHistory<AnyItem>) -> Option<Vec<HistoryChange>> {
    let length = history.len();
    match edit {
        Edit::Mutate { removed, replacements } => {
            let replaced: HashSet<u64> = replacements.iter().map(|(key, _)| *key).collect();
            let removed: HashSet<u64> = removed.iter().copied().collect();
            let gone = removed.difference(&replaced).flat_map(|key| history.indices(*key).map(|at| (at, 0)));
            let changed = replaced.iter().flat_map(|key| history.indices(*key).map(|at| (at, 1)));
            Some(runs_of(gone.chain(changed).collect(), length))
        }
        Edit::Insert { after, .. } => {
            let first = history.indices(*after).next()?;
            Some(vec![HistoryChange { removed: 0, added: 1, behind: (length - first - 1) as u64 }])
        }
        Edit::Bind { index, content, .. } => {
            let index = usize::try_from(*index).ok().filter(|index| *index < length)?;
            let items = u64::from(content.is_some());
            Some(vec![HistoryChange { removed: items, added: items, behind: (length - index) as u64 - items }])
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
