//! The hashes of a history, which is edited by index and by key.

use super::{ItemHash, NO_KEY};

/// Maximum number of items of a block: an insertion moves no more than 12 KiB.
const BLOCK_ITEMS: usize = if cfg!(test) { 4 } else { 512 };

/// A list in blocks. An operation at an index or a key reads and moves the items of the blocks that it concerns, and passes over the others.
#[derive(Clone, Debug, Default)]
pub(super) struct HashList {
    /// None is empty.
    blocks: Vec<Block>,
    len: usize,
}

#[derive(Clone, Debug, Default)]
struct Block {
    items: Vec<ItemHash>,
    keys: KeyFilter,
}

impl HashList {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ItemHash> {
        self.blocks.iter().flat_map(|block| &block.items)
    }

    pub(super) fn get(&self, index: usize) -> Option<&ItemHash> {
        let (block, at) = self.place(index)?;
        self.blocks[block].items.get(at)
    }

    pub(super) fn push(&mut self, item: ItemHash) {
        if self.blocks.last().is_none_or(|block| block.items.len() >= BLOCK_ITEMS) {
            self.blocks.push(Block::default());
        }
        let last = self.blocks.len() - 1;
        self.blocks[last].items.push(item);
        self.blocks[last].keys.add(item);
        self.len += 1;
    }

    pub(super) fn truncate(&mut self, length: usize) {
        let Some((block, at)) = self.place(length) else { return };
        self.blocks.truncate(block + 1);
        self.blocks[block].items.truncate(at);
        self.blocks[block].update();
        self.blocks.retain(|block| !block.items.is_empty());
        self.len = length;
    }

    /// Replaces the item at an index. Does nothing if there is none.
    pub(super) fn set(&mut self, index: usize, item: ItemHash) {
        let Some((block, at)) = self.place(index) else { return };
        let block = &mut self.blocks[block];
        let old = std::mem::replace(&mut block.items[at], item);
        if old.key != item.key {
            block.update();
        }
    }

    /// Inserts an item behind the one at an index.
    pub(super) fn insert_behind(&mut self, index: usize, item: ItemHash) {
        let Some((block, at)) = self.place(index) else { return };
        self.blocks[block].items.insert(at + 1, item);
        self.blocks[block].keys.add(item);
        self.len += 1;
        if self.blocks[block].items.len() > BLOCK_ITEMS {
            let second = self.blocks[block].split();
            self.blocks.insert(block + 1, second);
        }
    }

    /// The index of the first item with a key.
    pub(super) fn first(&self, key: u64) -> Option<usize> {
        let mut before = 0;
        for Block { items, keys } in &self.blocks {
            if keys.may_have(key)
                && let Some(at) = items.iter().position(|item| item.key == key)
            {
                return Some(before + at);
            }
            before += items.len();
        }
        None
    }

    /// Changes the items that have one of these keys, which must be sorted, or removes those for which `change` returns false.
    pub(super) fn retain_mut(&mut self, keys: &[u64], mut change: impl FnMut(&mut ItemHash) -> bool) {
        let mut concerned = Vec::new();
        for block in &mut self.blocks {
            concerned.clear();
            concerned.extend(keys.iter().copied().filter(|key| block.keys.may_have(*key)));
            if concerned.is_empty() {
                continue;
            }
            let before = block.items.len();
            block.items.retain_mut(|item| concerned.binary_search(&item.key).is_err() || change(item));
            self.len -= before - block.items.len();
            if block.items.len() < before {
                block.update();
            }
        }
        self.join_small_blocks();
    }

    /// Joins neighbours that have few items, so that there are no more than four times as many blocks as necessary.
    fn join_small_blocks(&mut self) {
        self.blocks.dedup_by(|second, first| {
            let is_small = first.items.len() + second.items.len() <= BLOCK_ITEMS / 2;
            if is_small {
                first.items.append(&mut second.items);
                first.update();
            }
            is_small
        });
        self.blocks.retain(|block| !block.items.is_empty());
    }

    /// The block that has the item at an index, and its index there.
    fn place(&self, index: usize) -> Option<(usize, usize)> {
        let mut rest = index;
        for (number, block) in self.blocks.iter().enumerate() {
            if rest < block.items.len() {
                return Some((number, rest));
            }
            rest -= block.items.len();
        }
        None
    }
}

impl FromIterator<ItemHash> for HashList {
    fn from_iter<I: IntoIterator<Item = ItemHash>>(items: I) -> Self {
        let mut list = HashList::default();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

impl Block {
    /// Moves the second half of the items to a new block.
    fn split(&mut self) -> Block {
        let mut second = Block { items: self.items.split_off(self.items.len() / 2), keys: KeyFilter::default() };
        self.update();
        second.update();
        second
    }

    /// Items were removed, or have other keys.
    fn update(&mut self) {
        self.items.shrink_to(self.items.len() * 2);
        self.keys = KeyFilter::default();
        self.items.iter().for_each(|item| self.keys.add(*item));
    }
}

/// Which keys a block may have: a Bloom filter of eight bits an item of a full block, and two probes.
#[derive(Clone, Debug)]
struct KeyFilter([u64; FILTER_WORDS]);

const FILTER_WORDS: usize = 64;
const FILTER_BITS: u64 = 64 * FILTER_WORDS as u64;

impl Default for KeyFilter {
    fn default() -> Self {
        KeyFilter([0; FILTER_WORDS])
    }
}

impl KeyFilter {
    fn add(&mut self, item: ItemHash) {
        if item.key != NO_KEY {
            probes(item.key).into_iter().for_each(|(word, bit)| self.0[word] |= bit);
        }
    }

    fn may_have(&self, key: u64) -> bool {
        probes(key).into_iter().all(|(word, bit)| self.0[word] & bit != 0)
    }
}

/// The bits of a key: two parts of its product with 2⁶⁴ divided by the golden ratio, which spreads keys that follow each other.
fn probes(key: u64) -> [(usize, u64); 2] {
    let spread = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [spread >> 52, spread >> 40].map(|bits| {
        let bit = bits % FILTER_BITS;
        ((bit / 64) as usize, 1 << (bit % 64))
    })
}
