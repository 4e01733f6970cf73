//! What lines do to history, without knowing what history they meet.

use serde::{Deserialize, Serialize};

/// Where an item of history stands in its file: its JSON text, untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRef {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

/// What leaves the history that was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Truncation {
    /// So many items, from the end; more than there are empties it.
    Last(u64),
    /// Everything.
    All,
}

/// The effect of some lines on history: first drop, then append. Effects compose, see [`HistoryEffect::append`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEffect {
    /// What leaves the history before these lines.
    pub drop: Truncation,
    /// What these lines add and don't take back themselves.
    pub items: Vec<ItemRef>,
}

/// So many items would be a file of more than 40 TB. A rewind of as many says "everything", and is not counted:
/// counts that saturate would not add up in every order.
const BEYOND_ANY_HISTORY: u64 = 1 << 40;

impl Default for HistoryEffect {
    /// The effect of no lines.
    fn default() -> Self {
        HistoryEffect { drop: Truncation::Last(0), items: Vec::new() }
    }
}

impl HistoryEffect {
    /// A `content` event.
    pub fn push(&mut self, item: ItemRef) {
        self.items.push(item);
    }

    /// A `compressed` event: what was before is as if it had never been.
    pub fn replace(&mut self, summary: ItemRef) {
        self.drop = Truncation::All;
        self.items.clear();
        self.items.push(summary);
    }

    /// A `rewind` event: takes the own items first, and what is left to take from those before.
    pub fn rewind(&mut self, count: u64) {
        if count >= BEYOND_ANY_HISTORY {
            self.drop = Truncation::All;
            self.items.clear();
            return;
        }
        let own = self.items.len() as u64;
        self.items.truncate(own.saturating_sub(count) as usize);
        if let Truncation::Last(dropped) = &mut self.drop {
            *dropped = dropped.saturating_add(count.saturating_sub(own));
        }
    }

    /// The effect of these lines and then those of `later`.
    pub fn append(&mut self, later: HistoryEffect) {
        match later.drop {
            Truncation::All => *self = later,
            Truncation::Last(count) => {
                self.rewind(count);
                self.items.extend(later.items);
            }
        }
    }

    /// How many of `length` items that were there before remain.
    pub fn kept_of(&self, length: usize) -> usize {
        match self.drop {
            Truncation::All => 0,
            Truncation::Last(count) => (length as u64).saturating_sub(count) as usize,
        }
    }
}

#[cfg(test)]
mod tests;
