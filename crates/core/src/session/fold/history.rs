//! The effect of lines on the history, computed without the history before them.

use serde::{Deserialize, Serialize};

/// The place of an item's JSON text in the session's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRef {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

/// How much of the earlier history is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Truncation {
    /// A number of items from the end; all if there are fewer.
    Last(u64),
    /// All items.
    All,
}

/// The effect of some lines on the history: a truncation, then an addition. Effects combine, see [`HistoryEffect::append`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEffect {
    /// How much of the history before these lines is removed.
    pub drop: Truncation,
    /// The items that these lines add and do not remove again.
    pub items: Vec<ItemRef>,
}

/// A rewind of this many items removes everything: they would fill a file of more than 40 TB. It is not added to other counts, because
/// saturating addition is not associative.
const BEYOND_ANY_HISTORY: u64 = 1 << 40;

impl Default for HistoryEffect {
    /// The neutral effect, that of no lines.
    fn default() -> Self {
        HistoryEffect { drop: Truncation::Last(0), items: Vec::new() }
    }
}

impl HistoryEffect {
    /// Applies a `content` event.
    pub fn push(&mut self, item: ItemRef) {
        self.items.push(item);
    }

    /// Applies a `compressed` event, which replaces the whole history.
    pub fn replace(&mut self, summary: ItemRef) {
        self.drop = Truncation::All;
        self.items.clear();
        self.items.push(summary);
    }

    /// Applies a `rewind` event, which removes items of these lines first, and then earlier ones.
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

    /// Combines this effect with that of the lines that follow.
    pub fn append(&mut self, later: HistoryEffect) {
        match later.drop {
            Truncation::All => *self = later,
            Truncation::Last(count) => {
                self.rewind(count);
                self.items.extend(later.items);
            }
        }
    }

    /// The number of items that remain of an earlier history of `length` items.
    pub fn kept_of(&self, length: usize) -> usize {
        match self.drop {
            Truncation::All => 0,
            Truncation::Last(count) => (length as u64).saturating_sub(count) as usize,
        }
    }
}

#[cfg(test)]
mod tests;
