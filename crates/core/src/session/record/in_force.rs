//! The history in force: what a strict replay of the recorder's file would give, as a hash of each item, so that it can be compared with the
//! history that a program has.

use std::collections::HashMap;
use std::path::Path;

use base64ct::{Base64, Encoding};

use crate::json::{Nesting, escape_line_separators, may_have_line_separators};
use crate::lines::{Digest, Lines, ReadError};
use crate::session::fold::{FoldOptions, History, Item, ItemRef, each_text};
use crate::session::format::{Line, Marker, Mode, NO_KEY, marker_of, write_with_marker};
use crate::session::read::{ItemLayout, Replay, ReplayError};

/// An item in 24 bytes: a hash of it without its marker, one of the marker, and its key. Both are separate because an item that replaces another
/// one takes over the marker of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemHash {
    body: u64,
    /// Of an item without a marker, a hash of the whole item: it may have `metadata` or not.
    marker: u64,
    key: u64,
}

/// Size of an [`ItemHash`] in bytes, and of its text in characters.
const ITEM_HASH_BYTES: usize = 24;
const ITEM_HASH_CHARACTERS: usize = ITEM_HASH_BYTES / 3 * 4;

impl ItemHash {
    /// The hashes of the history of a finished replay.
    pub fn of_history<L: ItemLayout>(replay: &Replay<L>) -> Result<Vec<Self>, ReadError> {
        let (items, source) = (replay.items(), replay.source());
        let (mut hashes, mut edited) = (Vec::with_capacity(items.len()), Vec::new());
        each_text(items, source, &mut Vec::new(), |item, text| {
            edited.clear();
            if item.marker.is_some() {
                item.append_to(&mut edited, replay.markers(), source)?;
            }
            hashes.push(ItemHash::of(if edited.is_empty() { text } else { &edited }));
            Ok(())
        })?;
        Ok(hashes)
    }

    /// The hash of an item, given as the JSON text that a recorder writes.
    pub fn of(item: &[u8]) -> Self {
        let escaped = with_escaped_separators(item);
        let item = escaped.as_deref().unwrap_or(item);
        let mut text = Vec::with_capacity(item.len() + 32);
        match marker_of(item) {
            // The text that `write_with_marker` writes for an empty marker.
            Some(Marker { place, key }) => {
                text.extend_from_slice(&item[..place.start as usize]);
                text.extend_from_slice(&item[place.end as usize..]);
                ItemHash { body: fast_hash(&text), marker: fast_hash(place.of(item)), key: key.unwrap_or(NO_KEY) }
            }
            None => {
                write_with_marker(&mut text, item, b"");
                ItemHash { body: fast_hash(&text), marker: fast_hash(item), key: NO_KEY }
            }
        }
    }

    fn to_bytes(self) -> [u8; ITEM_HASH_BYTES] {
        let mut bytes = [0; ITEM_HASH_BYTES];
        for (part, value) in bytes.chunks_exact_mut(8).zip([self.body, self.marker, self.key]) {
            part.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    fn of_bytes(bytes: &[u8; ITEM_HASH_BYTES]) -> Self {
        let [body, marker, key] = [0, 8, 16].map(|at| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        });
        ItemHash { body, marker, key }
    }

    /// The texts of hashes, one after another: 32 ASCII characters each.
    pub fn to_text(hashes: impl IntoIterator<Item = Self>) -> String {
        let (mut all, mut one) = (String::new(), [0; ITEM_HASH_CHARACTERS]);
        for hash in hashes {
            // There is room for it.
            all.push_str(Base64::encode(&hash.to_bytes(), &mut one).unwrap_or_default());
        }
        all
    }

    /// The hashes of texts that follow each other. Those that are none are left out.
    pub fn of_text(text: &str) -> Vec<Self> {
        let hashes = text.as_bytes().chunks_exact(ITEM_HASH_CHARACTERS).filter_map(|one| {
            let mut bytes = [0; ITEM_HASH_BYTES];
            Base64::decode(one, &mut bytes).ok()?;
            Some(Self::of_bytes(&bytes))
        });
        hashes.collect()
    }
}

impl Item for ItemHash {
    fn key(&self) -> Option<u64> {
        (self.key != NO_KEY).then_some(self.key)
    }

    fn in_place_of(self, old: &Self) -> Self {
        ItemHash { body: self.body, ..*old }
    }

    fn marked(self, marker: &[u8], key: u64, _: bool) -> Self {
        ItemHash { marker: fast_hash(marker), key, ..self }
    }
}

/// Half of a 128-bit digest. Only items at the same index, and with the same marker or none, are compared.
fn fast_hash(bytes: &[u8]) -> u64 {
    Digest::of(bytes) as u64
}

/// A copy of an item in which U+2028 and U+2029 are escaped, as in a file; `None` if it has neither.
fn with_escaped_separators(item: &[u8]) -> Option<Vec<u8>> {
    may_have_line_separators(item).then(|| {
        let mut escaped = item.to_vec();
        escape_line_separators(&mut escaped, 0);
        escaped
    })
}

/// Why the history of a recorder's file is not known.
#[derive(Debug, PartialEq)]
pub enum HistoryError {
    /// The file does not replay.
    Replay(ReplayError),
    /// The disk does not take what was recorded.
    NotWritten,
}

/// What to record so that a replay gives another history: first a rewind, then replacements, then the items from an index on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Number of items to rewind.
    pub removed: usize,
    /// The key of the first of them, if the rewind can name it.
    pub cut: Option<u64>,
    /// The index and the key of each item that is replaced.
    pub replaced: Vec<(usize, u64)>,
    /// Index of the first item to append.
    pub appended_from: usize,
}

/// The history in force.
#[derive(Default)]
pub(super) struct InForce {
    items: History<ItemHash>,
    nesting: Nesting,
}

impl InForce {
    /// The history of a file, from a strict replay. Also returns the offset of the end of each item that stands in the file as it is in the history.
    pub(super) fn of_file(path: &Path) -> Result<(Self, Vec<Option<u64>>), ReplayError> {
        let options = FoldOptions { mode: Mode::Strict, ..FoldOptions::default() };
        let replay = Replay::open(path, options).and_then(Replay::complete)?;
        replay.outcome(None).metadata?;
        let end = |item: &ItemRef| item.marker.is_none().then(|| item.offset + u64::from(item.length));
        Ok((InForce::of_items(ItemHash::of_history(&replay)?), replay.items().iter().map(end).collect()))
    }

    /// A history of these items.
    pub(super) fn of_items(items: impl IntoIterator<Item = ItemHash>) -> Self {
        InForce { items: items.into_iter().collect(), ..InForce::default() }
    }

    /// The items in order.
    pub(super) fn items(&self) -> impl Iterator<Item = ItemHash> {
        self.items.iter()
    }

    /// A copy of the items, to which further lines can be added.
    pub(super) fn fork(&self) -> Self {
        InForce { items: self.items.clone(), ..InForce::default() }
    }

    /// Applies whole lines, each of which ends in `\n`.
    pub(super) fn add_lines(&mut self, lines: &[u8]) {
        for (_, line) in Lines::new(lines) {
            if let Line::Event(event) = Line::read(line, Mode::Strict, &mut self.nesting)
                && let Some(change) = event.body.change(|span| ItemHash::of(span.of(line)))
            {
                self.items.apply(change);
            }
        }
    }

    /// The shortest of the tails that make a replay give `wanted`: replacements in place if every item that differs can be replaced through its key,
    /// otherwise a rewind to the first difference.
    pub(super) fn tail_to(&mut self, wanted: &[ItemHash]) -> Tail {
        let kept = self.items.len().min(wanted.len());
        let pairs = self.items.iter().zip(wanted).enumerate();
        let differing: Vec<_> =
            pairs.filter(|(_, (own, wanted))| own != *wanted).map(|(at, (own, _))| (at, own.key())).collect();
        let Some(&(first, _)) = differing.first() else { return self.rewind_to(kept) };
        let replaced: Vec<_> = differing.iter().filter_map(|&(index, key)| Some((index, key?))).collect();
        // A replacement also replaces other items with its key.
        let by_key: HashMap<u64, ItemHash> = replaced.iter().map(|&(index, key)| (key, wanted[index])).collect();
        let after = |own: ItemHash| by_key.get(&own.key).map_or(own, |new| new.in_place_of(&own));
        let is_possible = self.items.iter().take(kept).map(after).eq(wanted[..kept].iter().copied());
        if is_possible { Tail { replaced, ..self.rewind_to(kept) } } else { self.rewind_to(first) }
    }

    fn rewind_to(&mut self, kept: usize) -> Tail {
        let key = self.items.get(kept).and_then(|item| item.key());
        // Replay cuts before the first item with the key.
        let cut = key.filter(|key| self.items.first(*key) == Some(kept));
        Tail { removed: self.items.len() - kept, cut, replaced: Vec::new(), appended_from: kept }
    }
}

#[cfg(test)]
mod tests;
