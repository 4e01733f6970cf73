//! The effect of lines on the history, computed without the history before them.

use std::num::NonZeroU32;

use crate::lines::{LineSource, ReadError};
use crate::session::format::{Change, Raw, write_with_marker};

/// The place of an item's JSON text in the session's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRef {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// The number, from 1, of its [marker](HistoryEffect::markers) if that is not the one in the text.
    pub marker: Option<NonZeroU32>,
}

impl ItemRef {
    /// The item at this place, as it stands there.
    pub fn at(offset: u64, length: u32) -> Self {
        ItemRef { offset, length, marker: None }
    }

    /// The marker that it has instead of the one in its text, if it is an item of a history with these markers.
    pub(in crate::session) fn new_marker<'m>(&self, markers: &'m [NewMarker]) -> Option<&'m NewMarker> {
        markers.get(self.marker?.get() as usize - 1)
    }

    /// Appends the JSON text of the item, which is one of a history with these markers.
    pub fn append_to(&self, json: &mut Vec<u8>, markers: &[NewMarker], source: &LineSource) -> Result<(), ReadError> {
        let Some(marker) = self.new_marker(markers) else {
            return source.append_bytes_at(self.offset, self.length as usize, json);
        };
        let (mut text, mut scratch) = (Vec::new(), Vec::new());
        let text = source.bytes_at(self.offset, self.length as usize, &mut text)?;
        let marker = match &marker.value {
            MarkerText::Text(text) => text,
            MarkerText::At { offset, length } => source.bytes_at(*offset, *length as usize, &mut scratch)?,
        };
        write_with_marker(json, text, marker);
        Ok(())
    }
}

/// A marker that an item has instead of the one in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMarker {
    /// The marker.
    pub value: MarkerText,
    /// The responses that a provider has stored for the item are invalid.
    pub invalidates: bool,
}

/// The JSON text of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerText {
    /// Its place in the session's file.
    At {
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes.
        length: u32,
    },
    /// The text.
    Text(Raw),
}

/// All items of the earlier history are removed.
pub(crate) const ALL: u64 = u64::MAX;

/// A truncation of the history, then an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain<T> {
    /// How many items are removed from the end of the history before these lines; all if there are fewer.
    pub drop: u64,
    /// The items that these lines add and do not remove again.
    pub items: Vec<T>,
}

/// An edit, and the effect of the lines between it and the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the edit's line, relative to the range of the effect.
    pub line: u64,
    /// The edit. What it does depends on the history before it.
    pub edit: Change<ItemRef>,
    /// What follows.
    pub then: Plain<ItemRef>,
}

/// The effect of some lines on the history: a truncation and an addition, then edits in order, each with a truncation and an addition behind it.
/// Effects combine, see [`HistoryEffect::append`]. Edits stay in this form until the history before them is known, and are then
/// [resolved](super::Editor).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryEffect {
    /// The effect of the lines before the first edit.
    pub plain: Plain<ItemRef>,
    /// The edits that are not resolved yet.
    pub steps: Vec<Step>,
    /// The markers that items got from edits that are resolved.
    pub markers: Vec<NewMarker>,
    /// Edits were resolved, so that items need not be in the order of the file.
    pub is_edited: bool,
}

/// A rewind of this many items removes everything: they would fill a file of more than 40 TB. It is not added to other counts, because
/// saturating addition is not associative.
const BEYOND_ANY_HISTORY: u64 = 1 << 40;

impl<T> Default for Plain<T> {
    /// The neutral effect, that of no lines.
    fn default() -> Self {
        Plain { drop: 0, items: Vec::new() }
    }
}

impl<T> Plain<T> {
    /// Removes the whole history.
    fn clear(&mut self) {
        self.drop = ALL;
        self.items.clear();
    }

    /// Removes items of these lines first, and then earlier ones.
    fn rewind(&mut self, count: u64) {
        if count >= BEYOND_ANY_HISTORY {
            return self.clear();
        }
        let own = self.items.len() as u64;
        self.items.truncate(own.saturating_sub(count) as usize);
        self.drop = self.drop.saturating_add(count.saturating_sub(own));
    }

    /// Combines this effect with that of the lines that follow.
    pub fn append(&mut self, later: Plain<T>) {
        if later.drop == ALL {
            *self = later;
        } else {
            self.rewind(later.drop);
            self.items.extend(later.items);
        }
    }

    /// The number of items that remain of an earlier history of `length` items.
    pub fn kept_of(&self, length: usize) -> usize {
        (length as u64).saturating_sub(self.drop) as usize
    }
}

impl HistoryEffect {
    /// Whether there are edits that are not resolved yet.
    pub fn has_edits(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Approximate size of the edits: the number of their keys and items, and of the items behind them.
    pub fn edit_size(&self) -> usize {
        let size = |step: &Step| match &step.edit {
            Change::Mutate { removed, replacements } => removed.len() + replacements.len(),
            _ => 1,
        };
        self.steps.iter().map(|step| 1 + size(step) + step.then.items.len()).sum()
    }

    /// The items that are added before the first edit: all, if there are no edits.
    pub fn items(&self) -> &[ItemRef] {
        &self.plain.items
    }

    /// Applies what the event in this line does.
    #[inline]
    pub fn apply(&mut self, line: u64, change: Change<ItemRef>) {
        match change {
            Change::Append(item) => self.last().items.push(item),
            Change::Replace(items) => *self.last() = Plain { drop: ALL, items },
            Change::Cut { count, before: None } => self.last().rewind(count),
            edit => self.steps.push(Step { line, edit, then: Plain::default() }),
        }
    }

    /// Combines this effect, that of `lines` lines, with that of the lines that follow.
    pub fn append(&mut self, later: HistoryEffect, lines: u64) {
        self.last().append(later.plain);
        self.steps.extend(later.steps.into_iter().map(|step| Step { line: step.line + lines, ..step }));
    }

    /// The number of items that remain of an earlier history of `length` items, as far as no edit is concerned.
    pub fn kept_of(&self, length: usize) -> usize {
        self.plain.kept_of(length)
    }

    fn last(&mut self) -> &mut Plain<ItemRef> {
        match self.steps.last_mut() {
            Some(step) => &mut step.then,
            None => &mut self.plain,
        }
    }
}

#[cfg(test)]
mod tests;
