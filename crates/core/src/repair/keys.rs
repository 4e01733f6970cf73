//! The keys of the items in the history of a repaired session: an event that edits an item is none that a replay reads if the item is not there.

use crate::session::{Body, Cut, Edit, Editable, EditableHistory, marker_of};

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

/// The history, as far as a strict replay reads it.
#[derive(Default)]
pub(super) struct Keys {
    /// The keys, until an event edits items. Most sessions have no such events, and this is much smaller.
    plain: Vec<u64>,
    edited: Option<EditableHistory<AnyItem>>,
}

impl Keys {
    /// Applies an event of this line. Returns false if it edits an item that is not there; it has no effect then.
    pub(super) fn apply(&mut self, body: &Body, line: &[u8]) -> bool {
        let key = |item: &crate::json::Span| marker_of(item.of(line)).and_then(|marker| marker.key);
        match body {
            Body::Content(item) => self.push(key(item)),
            Body::Compressed(item) => self.replace([key(item)]),
            Body::Purge(purge) => self.replace(purge.items.iter().map(key)),
            Body::Rewind(_, Cut::Before(key)) if self.edit().cut_before(*key) => {}
            Body::Rewind(count, _) => self.drop_last(*count),
            Body::Edit(edit) => {
                let history = self.edit();
                match &**edit {
                    Edit::Mutate { removed, replacements } => {
                        history.mutate(removed, replacements.iter().map(|(key, _)| (*key, AnyItem)));
                    }
                    Edit::Insert { after, content } => return history.insert_after(*after, AnyItem, key(content)),
                    Edit::Bind { index, key, .. } => {
                        return usize::try_from(*index)
                            .is_ok_and(|index| history.change(index, Some(*key), |item| item));
                    }
                }
            }
            _ => {}
        }
        true
    }

    fn push(&mut self, key: Option<u64>) {
        match &mut self.edited {
            Some(history) => history.push(AnyItem, key),
            None => self.plain.push(key.unwrap_or(NO_KEY)),
        }
    }

    fn replace(&mut self, keys: impl IntoIterator<Item = Option<u64>>) {
        *self = Keys::default();
        keys.into_iter().for_each(|key| self.push(key));
    }

    fn drop_last(&mut self, count: u64) {
        let left = |length: usize| usize::try_from((length as u64).saturating_sub(count)).unwrap_or(length);
        match &mut self.edited {
            Some(history) => history.truncate(left(history.len())),
            None => self.plain.truncate(left(self.plain.len())),
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
