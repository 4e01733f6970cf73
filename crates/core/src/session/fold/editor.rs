//! Resolves edits: applies them to the history that they edit, once that is known.

use super::editable::{Editable, EditableHistory};
use super::history::{HistoryEffect, ItemEdit, ItemRef, MarkerText, NewMarker, Step};
use crate::lines::{LineSource, ReadError};
use crate::session::format::{EventType, Marker, marker_of, seq_of};

/// Maximum gap, in bytes, between items that are read from the file together, and maximum size of what is.
const READ_TOGETHER: u64 = 16 << 10;
const MAX_TOGETHER: u64 = 1 << 20;

/// An item of a history that is edited.
#[derive(Clone, Debug)]
struct Item {
    place: ItemRef,
    /// Its marker. `None` if it has none.
    marker: Option<MarkerText>,
    /// The marker is not the one in the item's text.
    is_new: bool,
    invalidates: bool,
}

impl Editable for Item {
    fn with_marker_of(&self, old: &Self) -> Self {
        Item { place: self.place, marker: old.marker.clone(), is_new: true, invalidates: false }
    }
}

/// Resolves edits of one history, which grows. Keeps its items with their keys from the first edit on: they are read from the file only then, so that
/// a session without edits costs nothing.
#[derive(Debug, Default)]
pub struct Editor {
    /// The first items of the history.
    history: EditableHistory<Item>,
    bytes: Vec<u8>,
}

/// An edit that does not fit the history: its line and its type.
type Misfit = (u64, EventType);

impl Editor {
    /// Applies the edits of `effect`, whose lines are the first of the file, and leaves their result in it: it has no edits afterwards. `kept` is the
    /// number of items of the history at the last call that are still its first ones. Returns the edits that do not fit.
    pub fn resolve(
        &mut self,
        effect: &mut HistoryEffect,
        kept: usize,
        source: &LineSource,
    ) -> Result<Vec<Misfit>, ReadError> {
        self.history.truncate(kept);
        let (mut misfits, mut steps) = (Vec::new(), std::mem::take(&mut effect.steps));
        // Nothing edits the items behind the last edit.
        let last = steps.last_mut().map(|step| std::mem::take(&mut step.then.items)).unwrap_or_default();
        let new = effect.plain.items[self.history.len()..].iter();
        let added = steps.iter().flat_map(|step| &step.then.items);
        let keyed = self.read_keys(&new.chain(added).copied().collect::<Vec<_>>(), &effect.markers, source)?;
        let mut keyed = keyed.into_iter();
        self.push(keyed.by_ref().take(effect.plain.items.len() - self.history.len()));
        for Step { line, edit, then } in steps {
            let event_type = edit.event_type();
            if !self.apply(edit) {
                misfits.push((line, event_type));
            }
            self.history.truncate(then.kept_of(self.history.len()));
            self.push(keyed.by_ref().take(then.items.len()));
        }
        self.finish(effect);
        effect.plain.items.extend(last);
        Ok(misfits)
    }

    /// Removes all items but the first `kept`, as lines without edits have done.
    pub fn truncate(&mut self, kept: usize) {
        self.history.truncate(kept);
    }

    fn push(&mut self, items: impl Iterator<Item = (Item, Option<u64>)>) {
        items.for_each(|(item, key)| self.history.push(item, key));
    }

    /// Applies an edit. Returns false if it does not fit the history.
    fn apply(&mut self, edit: ItemEdit) -> bool {
        match edit {
            ItemEdit::Cut { key, count } => {
                if !self.history.cut_before(key) {
                    let left = (self.history.len() as u64).saturating_sub(count);
                    self.history.truncate(left as usize);
                }
                true
            }
            ItemEdit::Mutate { removed, replacements } => {
                let replacements = replacements.into_iter().map(|(key, place)| (key, Item::at(place)));
                self.history.mutate(&removed, replacements);
                true
            }
            ItemEdit::Insert { after, item, marker } => {
                let (marker, key) = marker.unzip();
                self.history.insert_after(after, Item { marker, ..Item::at(item) }, key.flatten())
            }
            ItemEdit::Bind { index, marker, key, content, invalidates } => {
                let bind = |old: Item| Item {
                    place: content.unwrap_or(old.place),
                    marker: Some(MarkerText::Text(marker)),
                    is_new: true,
                    invalidates: invalidates || (content.is_none() && old.invalidates),
                };
                usize::try_from(index).is_ok_and(|index| self.history.change(index, Some(key), bind))
            }
        }
    }

    /// Reads the keys of items.
    fn read_keys(
        &mut self,
        mut items: &[ItemRef],
        markers: &[NewMarker],
        source: &LineSource,
    ) -> Result<Vec<(Item, Option<u64>)>, ReadError> {
        let mut keyed = Vec::with_capacity(items.len());
        while let Some(first) = items.first() {
            let (together, length) = read_together(items);
            let (now, later) = items.split_at(together);
            let marker_by_edit = |item: &ItemRef| item.marker.and_then(|number| markers.get(number.get() as usize - 1));
            let bytes = source.bytes_at(first.offset, length, &mut self.bytes)?;
            for item in now {
                let at = (item.offset - first.offset) as usize;
                let text = bytes.get(at..at + item.length as usize).unwrap_or_default();
                keyed.push(match marker_by_edit(item) {
                    Some(marker) => marked_anew(*item, marker, source)?,
                    None => as_written(*item, marker_of(text)),
                });
            }
            items = later;
        }
        Ok(keyed)
    }

    /// Leaves the history in `effect`.
    fn finish(&mut self, effect: &mut HistoryEffect) {
        effect.is_edited = true;
        effect.markers.clear();
        let markers = &mut effect.markers;
        effect.plain.items.clear();
        effect.plain.items.extend(self.history.iter().map(|item| {
            let mut place = item.place;
            place.marker = None;
            if let (true, Some(value)) = (item.is_new, item.marker) {
                markers.push(NewMarker { value, invalidates: item.invalidates });
                // More markers than that would not fit into memory.
                place.marker = u32::try_from(markers.len()).ok().and_then(std::num::NonZeroU32::new);
            }
            place
        }));
    }
}

impl Item {
    /// The item at this place, whose own marker does not matter.
    fn at(place: ItemRef) -> Self {
        Item { place, marker: None, is_new: false, invalidates: false }
    }
}

/// An item and its key, given the marker in its text.
fn as_written(place: ItemRef, marker: Option<Marker>) -> (Item, Option<u64>) {
    let Some(marker) = marker else { return (Item::at(place), None) };
    let offset = place.offset + u64::from(marker.place.start);
    let value = MarkerText::At { offset, length: marker.place.end - marker.place.start };
    (Item { marker: Some(value), ..Item::at(place) }, marker.key)
}

/// An item whose marker an earlier edit has set, and its key.
fn marked_anew(place: ItemRef, marker: &NewMarker, source: &LineSource) -> Result<(Item, Option<u64>), ReadError> {
    let key = match &marker.value {
        MarkerText::Text(text) => seq_of(text),
        MarkerText::At { offset, length } => seq_of(source.bytes_at(*offset, *length as usize, &mut Vec::new())?),
    };
    let item =
        Item { marker: Some(marker.value.clone()), is_new: true, invalidates: marker.invalidates, ..Item::at(place) };
    Ok((item, key))
}

/// The number of items that lie so close together that one read is cheaper than several, and the number of bytes from the first of them to the end
/// of the last.
fn read_together(items: &[ItemRef]) -> (usize, usize) {
    let Some(first) = items.first() else { return (0, 0) };
    let mut end = first.offset + u64::from(first.length);
    let mut count = 1;
    for item in &items[1..] {
        let item_end = item.offset.saturating_add(u64::from(item.length));
        if item.offset < end || item.offset - end > READ_TOGETHER || item_end - first.offset > MAX_TOGETHER {
            break;
        }
        (end, count) = (item_end, count + 1);
    }
    (count, (end - first.offset) as usize)
}
