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
pub enum Drop {
    /// So many items, from the end; more than there are empties it.
    Last(u64),
    /// Everything.
    All,
}

/// The effect of some lines on history: first drop, then append. Effects compose, see [`HistoryEffect::append`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEffect {
    /// What leaves the history before these lines.
    pub drop: Drop,
    /// What these lines add and don't take back themselves.
    pub items: Vec<ItemRef>,
}

/// So many items would be a file of more than 40 TB. A rewind of as many says "everything", and is not counted:
/// counts that saturate would not add up in every order.
const BEYOND_ANY_HISTORY: u64 = 1 << 40;

impl Default for HistoryEffect {
    /// The effect of no lines.
    fn default() -> Self {
        HistoryEffect { drop: Drop::Last(0), items: Vec::new() }
    }
}

impl HistoryEffect {
    /// A `content` event.
    pub fn push(&mut self, item: ItemRef) {
        self.items.push(item);
    }

    /// A `compressed` event: what was before is as if it had never been.
    pub fn replace(&mut self, summary: ItemRef) {
        self.drop = Drop::All;
        self.items.clear();
        self.items.push(summary);
    }

    /// A `rewind` event: takes the own items first, and what is left to take from those before.
    pub fn rewind(&mut self, count: u64) {
        if count >= BEYOND_ANY_HISTORY {
            self.drop = Drop::All;
            self.items.clear();
            return;
        }
        let own = self.items.len() as u64;
        self.items.truncate(own.saturating_sub(count) as usize);
        if let Drop::Last(dropped) = &mut self.drop {
            *dropped = dropped.saturating_add(count.saturating_sub(own));
        }
    }

    /// The effect of these lines and then those of `later`.
    pub fn append(&mut self, later: HistoryEffect) {
        match later.drop {
            Drop::All => *self = later,
            Drop::Last(count) => {
                self.rewind(count);
                self.items.extend(later.items);
            }
        }
    }

    /// How many of `length` items that were there before remain.
    pub fn kept_of(&self, length: usize) -> usize {
        match self.drop {
            Drop::All => 0,
            Drop::Last(count) => (length as u64).saturating_sub(count) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push,
        Replace,
        Rewind(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => Just(Step::Push),
            1 => Just(Step::Replace),
            2 => (0u64..6).prop_map(Step::Rewind),
            1 => Just(Step::Rewind(u64::MAX)),
        ];
        proptest::collection::vec(step, 0..40)
    }

    fn item(offset: usize) -> ItemRef {
        ItemRef { offset: offset as u64, length: 1 }
    }

    fn effect(steps: &[Step], first: usize) -> HistoryEffect {
        let mut effect = HistoryEffect::default();
        for (index, step) in steps.iter().enumerate() {
            match step {
                Step::Push => effect.push(item(first + index)),
                Step::Replace => effect.replace(item(first + index)),
                Step::Rewind(count) => effect.rewind(*count),
            }
        }
        effect
    }

    /// The rules, on a plain list.
    fn model(steps: &[Step]) -> Vec<ItemRef> {
        let mut list = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            match step {
                Step::Push => list.push(item(index)),
                Step::Replace => list = vec![item(index)],
                Step::Rewind(count) => list.truncate(list.len().saturating_sub((*count).min(1 << 40) as usize)),
            }
        }
        list
    }

    proptest! {
        #[test]
        fn the_effect_of_a_whole_is_that_of_its_parts(steps in steps(), cut in 0usize..40) {
            let cut = cut.min(steps.len());
            let mut joined = effect(&steps[..cut], 0);
            let later = effect(&steps[cut..], cut);
            let before = joined.items.len();
            prop_assert_eq!(later.kept_of(before) <= before, true);
            joined.append(later);
            prop_assert_eq!(&joined, &effect(&steps, 0));
            prop_assert_eq!(joined.items, model(&steps));
        }
    }
}
