//! The history in force: what a strict replay of the recorder's file would give, as a hash of each item, so that it can be compared with the
//! history that a program has.

mod hash_list;

use std::collections::HashMap;
use std::path::Path;

use hash_list::HashList;

use crate::json::{Nesting, Span, escape_line_separators};
use crate::lines::{LineSource, Threads, digest};
use crate::session::fold::FoldOptions;
use crate::session::format::{Body, Cut, Edit, Line, Mode, marker_of, read_line, write_with_marker};
use crate::session::read::{Replay, ReplayError, Snapshots, append_item};

/// No item has this key: keys are safe integers.
const NO_KEY: u64 = u64::MAX;

/// An item in 24 bytes: a hash of it without its marker, one of the marker, and its key. Both are separate because an item that replaces another
/// one takes over the marker of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemHash {
    body: u64,
    /// Of an item without a marker, a hash of the whole item: it may have `metadata` or not.
    marker: u64,
    key: u64,
}

/// Size of an [`ItemHash`] in bytes.
pub const ITEM_HASH_BYTES: usize = 24;

impl ItemHash {
    /// The hash of an item, given as the JSON text that a recorder writes.
    pub fn of(item: &[u8]) -> Self {
        let mut own = item.to_vec();
        escape_line_separators(&mut own, 0);
        let item = &own[..];
        let mut text = Vec::with_capacity(item.len() + 32);
        write_with_marker(&mut text, item, b"");
        let body = fast_hash(&text);
        match marker_of(item) {
            Some(marker) => {
                let key = marker.key.unwrap_or(NO_KEY);
                ItemHash { body, marker: fast_hash(marker.place.of(item)), key }
            }
            None => ItemHash { body, marker: fast_hash(item), key: NO_KEY },
        }
    }

    /// This item with another marker, which is given as JSON text.
    fn marked(self, marker: &[u8], key: u64) -> Self {
        ItemHash { marker: fast_hash(marker), key, ..self }
    }

    /// This item in the place of another one.
    fn in_place_of(self, old: ItemHash) -> Self {
        ItemHash { body: self.body, ..old }
    }

    fn key(&self) -> Option<u64> {
        (self.key != NO_KEY).then_some(self.key)
    }

    /// The hash as bytes.
    pub fn to_bytes(self) -> [u8; ITEM_HASH_BYTES] {
        let mut bytes = [0; ITEM_HASH_BYTES];
        for (part, value) in bytes.chunks_exact_mut(8).zip([self.body, self.marker, self.key]) {
            part.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// The hashes of a list of items, one after another.
    pub fn list(bytes: &[u8]) -> Vec<Self> {
        let number = |bytes: &[u8], at: usize| {
            let mut own = [0; 8];
            own.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(own)
        };
        let hashes = bytes.chunks_exact(ITEM_HASH_BYTES);
        hashes.map(|one| ItemHash { body: number(one, 0), marker: number(one, 8), key: number(one, 16) }).collect()
    }
}

/// Half of a 128-bit digest. Only items at the same index, and with the same marker or none, are compared.
fn fast_hash(bytes: &[u8]) -> u64 {
    digest(bytes) as u64
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
    items: HashList,
    nesting: Nesting,
}

impl InForce {
    /// The history of a file, from a strict replay.
    pub(super) fn of_file(path: &Path) -> Result<Self, ReplayError> {
        let options = FoldOptions { mode: Mode::Strict, ..FoldOptions::default() };
        let replay = Replay::open_with(path, options, &Snapshots::None, Threads::All).and_then(Replay::complete)?;
        replay.outcome(None).metadata?;
        let source: &LineSource = replay.source();
        let mut text = Vec::new();
        let mut items = HashList::default();
        for item in replay.items() {
            text.clear();
            append_item(&mut text, item, replay.markers(), source)?;
            items.push(ItemHash::of(&text));
        }
        Ok(InForce { items, ..InForce::default() })
    }

    /// A history of these items.
    pub(super) fn of_items(items: impl IntoIterator<Item = ItemHash>) -> Self {
        InForce { items: items.into_iter().collect(), ..InForce::default() }
    }

    /// A copy of the items, to which further lines can be added.
    pub(super) fn fork(&self) -> Self {
        InForce { items: self.items.clone(), ..InForce::default() }
    }

    /// Applies whole lines, each of which ends in `\n`.
    pub(super) fn add_lines(&mut self, lines: &[u8]) {
        let mut rest = lines;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.add_line(&rest[..end]);
            rest = &rest[end + 1..];
        }
    }

    fn add_line(&mut self, line: &[u8]) {
        if let Line::Event(event) = read_line(line, Mode::Strict, &mut self.nesting) {
            self.apply(&event.body, line);
        }
    }

    fn apply(&mut self, body: &Body, line: &[u8]) {
        let hash = |span: Span| ItemHash::of(span.of(line));
        match body {
            Body::Content(span) => self.items.push(hash(*span)),
            Body::Compressed(span) => self.items = [hash(*span)].into_iter().collect(),
            Body::Purge(purge) => self.items = purge.items.iter().map(|span| hash(*span)).collect(),
            Body::Rewind(count, cut) => self.rewind(*count, *cut),
            Body::Edit(edit) => self.edit(edit, hash),
            _ => {}
        }
    }

    fn edit(&mut self, edit: &Edit, hash: impl Fn(Span) -> ItemHash) {
        match edit {
            Edit::Mutate { removed, replacements } => {
                self.mutate(removed, replacements.iter().map(|(key, span)| (*key, hash(*span))));
            }
            Edit::Insert { after, content } => {
                if let Some(at) = self.items.first(*after) {
                    self.items.insert_behind(at, hash(*content));
                }
            }
            Edit::Bind { index, chronology, key, content, .. } => {
                let Ok(index) = usize::try_from(*index) else { return };
                if let Some(old) = self.items.get(index) {
                    self.items.set(index, content.map_or(*old, hash).marked(chronology, *key));
                }
            }
        }
    }

    fn rewind(&mut self, count: u64, cut: Cut) {
        let by_count = (self.items.len() as u64).saturating_sub(count) as usize;
        let by_key = if let Cut::Before(key) = cut { self.items.first(key) } else { None };
        self.items.truncate(by_key.unwrap_or(by_count));
    }

    fn mutate(&mut self, removed: &[u64], replacements: impl Iterator<Item = (u64, ItemHash)>) {
        // Of several with one key, the last one counts. A replacement precedes a removal.
        let mut changes: HashMap<u64, Option<ItemHash>> = removed.iter().map(|key| (*key, None)).collect();
        changes.extend(replacements.map(|(key, replacement)| (key, Some(replacement))));
        let mut keys: Vec<u64> = changes.keys().copied().collect();
        keys.sort_unstable();
        self.items.retain_mut(&keys, |item| match changes.get(&item.key) {
            Some(Some(replacement)) => {
                *item = replacement.in_place_of(*item);
                true
            }
            Some(None) => false,
            None => true,
        });
    }

    /// The shortest of the tails that make a replay give `wanted`: replacements in place if every item that differs can be replaced through its key,
    /// otherwise a rewind to the first difference.
    pub(super) fn tail_to(&self, wanted: &[ItemHash]) -> Tail {
        let kept = self.items.len().min(wanted.len());
        let pairs = self.items.iter().zip(wanted).enumerate();
        let differing: Vec<_> =
            pairs.filter(|(_, (own, wanted))| own != wanted).map(|(at, (own, _))| (at, own.key())).collect();
        let Some(&(first, _)) = differing.first() else { return self.rewind_to(kept) };
        let replaced: Vec<_> = differing.iter().filter_map(|&(index, key)| Some((index, key?))).collect();
        let in_place = Tail { replaced, ..self.rewind_to(kept) };
        // A replacement also replaces other items with its key.
        let mut after = self.fork();
        after.items.truncate(kept);
        after.mutate(&[], in_place.replaced.iter().map(|&(index, key)| (key, wanted[index])));
        if after.items.iter().eq(&wanted[..kept]) { in_place } else { self.rewind_to(first) }
    }

    fn rewind_to(&self, kept: usize) -> Tail {
        let key = self.items.get(kept).and_then(ItemHash::key);
        // Replay cuts before the first item with the key.
        let cut = key.filter(|key| self.items.first(*key) == Some(kept));
        Tail { removed: self.items.len() - kept, cut, replaced: Vec::new(), appended_from: kept }
    }
}

#[cfg(test)]
mod tests;
