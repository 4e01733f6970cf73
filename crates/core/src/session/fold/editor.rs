//! Resolves edits: applies them to the history that they edit, once that is known.

use super::editable::{History, Item};
use super::history::{HistoryEffect, ItemRef, MarkerText, NewMarker, Step};
use crate::lines::{LineSource, ReadError};
use crate::session::format::{Change, EventType, marker_of, seq_of};

/// Maximum gap, in bytes, between items that are read from the file together, and maximum size of what is.
const READ_TOGETHER: u64 = 16 << 10;
const MAX_TOGETHER: u64 = 1 << 20;

/// An item of a history that is edited.
#[derive(Clone, Debug)]
struct Placed {
    place: ItemRef,
    /// Its marker, and the key in it. `None` if it has none.
    marker: Option<(MarkerText, Option<u64>)>,
    /// The marker is not the one in the item's text.
    is_new: bool,
    invalidates: bool,
}

impl Item for Placed {
    fn key(&self) -> Option<u64> {
        self.marker.as_ref()?.1
    }

    fn in_place_of(self, old: &Self) -> Self {
        Placed { marker: old.marker.clone(), is_new: true, invalidates: false, ..self }
    }

    fn marked(self, marker: &[u8], key: u64, invalidates: bool) -> Self {
        let marker = Some((MarkerText::Text(marker.into()), Some(key)));
        Placed { marker, is_new: true, invalidates: invalidates || self.invalidates, ..self }
    }
}

/// Resolves edits of one history, which grows. Keeps its items with their keys from the first edit on: they are read from the file only then, so that
/// a session without edits costs nothing.
#[derive(Debug, Default)]
pub struct Editor {
    /// The first items of the history.
    history: History<Placed>,
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
        let added = steps.iter().flat_map(|step| inserted_by(&step.edit).into_iter().chain(&step.then.items));
        let keyed = self.read_keys(&new.chain(added).copied().collect::<Vec<_>>(), &effect.markers, source)?;
        let mut keyed = keyed.into_iter();
        keyed.by_ref().take(effect.plain.items.len() - self.history.len()).for_each(|item| self.history.push(item));
        for Step { line, edit, then } in steps {
            let is_insert = inserted_by(&edit).is_some();
            // Only of an inserted item, its own marker matters.
            let mut item = |place: &ItemRef| if is_insert { keyed.next() } else { None }.unwrap_or(Placed::at(*place));
            if !self.history.apply(edit.map(&mut item)) {
                misfits.push((line, if is_insert { EventType::SyntheticInsert } else { EventType::ChronologyBind }));
            }
            self.history.truncate(then.kept_of(self.history.len()));
            keyed.by_ref().take(then.items.len()).for_each(|item| self.history.push(item));
        }
        self.finish(effect);
        effect.plain.items.extend(last);
        Ok(misfits)
    }

    /// Removes all items but the first `kept`, as lines without edits have done.
    pub fn truncate(&mut self, kept: usize) {
        self.history.truncate(kept);
    }

    /// Reads the keys of items.
    fn read_keys(
        &mut self,
        items: &[ItemRef],
        markers: &[NewMarker],
        source: &LineSource,
    ) -> Result<Vec<Placed>, ReadError> {
        let mut keyed = Vec::with_capacity(items.len());
        each_text(items, source, &mut self.bytes, |item, text| {
            keyed.push(match item.new_marker(markers) {
                Some(marker) => marked_anew(*item, marker, source)?,
                None => as_written(*item, text),
            });
            Ok(())
        })?;
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
            if let (true, Some((value, _))) = (item.is_new, item.marker) {
                markers.push(NewMarker { value, invalidates: item.invalidates });
                // More markers than that would not fit into memory.
                place.marker = u32::try_from(markers.len()).ok().and_then(std::num::NonZeroU32::new);
            }
            place
        }));
    }
}

impl Placed {
    /// The item at this place, without a marker.
    fn at(place: ItemRef) -> Self {
        Placed { place, marker: None, is_new: false, invalidates: false }
    }
}

/// The item that an edit inserts.
fn inserted_by(edit: &Change<ItemRef>) -> Option<&ItemRef> {
    if let Change::Insert { item, .. } = edit { Some(item) } else { None }
}

/// An item with the marker in its text.
fn as_written(place: ItemRef, text: &[u8]) -> Placed {
    let marker = marker_of(text).map(|marker| {
        let offset = place.offset + u64::from(marker.place.start);
        (MarkerText::At { offset, length: marker.place.end - marker.place.start }, marker.key)
    });
    Placed { marker, ..Placed::at(place) }
}

/// An item whose marker an earlier edit has set.
fn marked_anew(place: ItemRef, marker: &NewMarker, source: &LineSource) -> Result<Placed, ReadError> {
    let key = match &marker.value {
        MarkerText::Text(text) => seq_of(text),
        MarkerText::At { offset, length } => seq_of(source.bytes_at(*offset, *length as usize, &mut Vec::new())?),
    };
    let marker_with_key = Some((marker.value.clone(), key));
    Ok(Placed { marker: marker_with_key, is_new: true, invalidates: marker.invalidates, ..Placed::at(place) })
}

/// Calls `take` with each item and its text as it stands in the file.
pub(in crate::session) fn each_text(
    mut items: &[ItemRef],
    source: &LineSource,
    scratch: &mut Vec<u8>,
    mut take: impl FnMut(&ItemRef, &[u8]) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    while let Some(first) = items.first() {
        let (together, length) = read_together(items);
        let bytes = source.bytes_at(first.offset, length, scratch)?;
        for item in &items[..together] {
            let at = (item.offset - first.offset) as usize;
            take(item, bytes.get(at..at + item.length as usize).unwrap_or_default())?;
        }
        items = &items[together..];
    }
    Ok(())
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
