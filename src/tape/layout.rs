//! Lays out items while they are scanned: the thread that scans them does so while they are in the processor's cache, so that they only have
//! to be passed on afterwards.
//!
//! This is speculative, since a later line may remove the items. So it pauses for a while after a `compressed` event, since another one is
//! likely to follow. Items that are on no tape are read from the file again, at the end.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{FinishedTape, TapeBuilder};
use session_tape_core::json::{Cursor, Span};
use session_tape_core::lines::Chunk;
use session_tape_core::session::fold::ItemRef;
use session_tape_core::session::format::ItemSink;
use session_tape_core::session::read::{ItemLayout, LaidOutItems};

/// Approximate amount of JSON on a tape in bytes: what JavaScript builds in one turn of the event loop.
pub const TAPE_BYTES: usize = 256 << 10;

/// Distance in bytes after a `compressed` event from which items are laid out again: several times what agents let accumulate between two
/// compressions.
const PAUSE_BYTES: u64 = 4 << 20;

/// For this many bytes, items are laid out only after their chunk is scanned, once laying them out ahead was in vain for some chunk.
const PAUSE_AFTER_MISS: u64 = 1 << 20;

/// The offset in a file up to which no items are laid out, shared by all threads that scan the file.
#[derive(Debug, Default)]
pub struct LayoutBackoff {
    until: AtomicU64,
}

impl LayoutBackoff {
    fn after(&self, offset: u64) {
        self.until.fetch_max(offset.saturating_add(PAUSE_BYTES), Ordering::Relaxed);
    }

    fn has(&self, offset: u64) -> bool {
        offset < self.until.load(Ordering::Relaxed)
    }
}

/// Consecutive items of the history, laid out.
pub struct ItemTape {
    /// Their indices in the history. The tape may have further values at its end, of items that were removed.
    pub items: Range<usize>,
    /// Their values.
    pub tape: FinishedTape,
    /// Size of their JSON in bytes.
    bytes: usize,
}

/// Lays out the items of one segment after the other.
///
/// An item is laid out while its line is scanned, so that it is read only once. Whether the line adds the item to the history is known only
/// afterwards: if the items that were laid out for a chunk are not those that it adds, the items of the chunk are laid out again.
pub struct Layout {
    builder: TapeBuilder,
    pause: Arc<LayoutBackoff>,
    /// The items on the current tape, and the size of their JSON in bytes.
    open: Range<usize>,
    bytes: usize,
    done: ItemTapes,
    ahead: Ahead,
}

/// The items of a chunk that are laid out while it is scanned.
#[derive(Default)]
struct Ahead {
    is_wanted: bool,
    /// The index of the first of them in the history of the segment.
    first: usize,
    items: Vec<ItemRef>,
    line_offset: u64,
    /// Before this offset, nothing is laid out ahead.
    not_before: u64,
}

impl Layout {
    /// A layout that shares its pauses with those of other threads.
    pub fn new(pause: Arc<LayoutBackoff>) -> Self {
        Layout {
            builder: TapeBuilder::default(),
            pause,
            open: 0..0,
            bytes: 0,
            done: ItemTapes::default(),
            ahead: Ahead::default(),
        }
    }

    fn truncate(&mut self, kept: usize) {
        if self.open.end > kept {
            // No values can be added after those that were removed.
            self.open.end = kept.max(self.open.start);
            self.close();
        }
        self.done.truncate(kept);
    }

    fn push(&mut self, index: usize, json: &[u8]) {
        self.make_room(index, json.len());
        if !self.builder.push(json) {
            self.next_tape(index);
            // An empty tape has room.
            self.builder.push(json);
        }
        self.pushed(index, json.len());
    }

    /// Begins a new tape if the current one has no room for this many more bytes of JSON, or if its items would not be consecutive.
    fn make_room(&mut self, index: usize, bytes: usize) {
        if index != self.open.end
            || self.bytes + bytes > TAPE_BYTES
            || self.builder.has_full_pools()
            || self.open.is_empty()
        {
            self.next_tape(index);
        }
    }

    fn pushed(&mut self, index: usize, bytes: usize) {
        self.open.end = index + 1;
        self.bytes += bytes;
    }

    fn next_tape(&mut self, index: usize) {
        self.close();
        self.begin(index);
    }

    fn begin(&mut self, index: usize) {
        self.builder.clear();
        (self.open, self.bytes) = (index..index, 0);
    }

    fn close(&mut self) {
        let items = std::mem::take(&mut self.open);
        if !items.is_empty() {
            let tape = self.builder.finish();
            self.done.push(ItemTape { items, tape, bytes: self.bytes });
        }
    }
}

impl ItemLayout for Layout {
    type LaidOut = ItemTapes;

    fn begin_chunk(&mut self, offset: u64, length: usize) {
        self.ahead.is_wanted = offset >= self.ahead.not_before && !self.pause.has(offset);
        self.ahead.first = length;
    }

    /// Lays out the items that the chunk adds to the history of the segment, unless that was done while it was scanned.
    fn add(&mut self, chunk: &Chunk<'_>, kept: usize, items: &[ItemRef]) {
        let Ahead { first, items: ref ahead, .. } = self.ahead;
        let is_laid_out = std::mem::take(&mut self.ahead.is_wanted) && kept == first && items[kept..] == ahead[..];
        let missed = !is_laid_out && !ahead.is_empty();
        self.ahead.items.clear();
        if is_laid_out {
            return;
        }
        // Also removes what was laid out ahead, which comes after the kept items.
        self.truncate(kept);
        if missed {
            self.ahead.not_before = chunk.offset + PAUSE_AFTER_MISS;
        }
        if self.pause.has(chunk.offset) {
            return self.close();
        }
        for (index, item) in items.iter().enumerate().skip(kept) {
            let start = (item.offset - chunk.offset) as usize;
            self.push(index, &chunk.bytes[start..start + item.length as usize]);
        }
    }

    /// Nothing more is laid out, by no thread.
    fn give_up(&mut self, kept: usize) {
        self.pause.until.store(u64::MAX, Ordering::Relaxed);
        self.ahead.is_wanted = false;
        self.ahead.items.clear();
        self.truncate(kept.min(self.ahead.first));
        self.close();
    }

    fn pause_after(&self, offset: u64) {
        self.pause.after(offset);
    }

    fn finish(&mut self) -> ItemTapes {
        self.close();
        std::mem::take(&mut self.done)
    }
}

impl ItemSink for Layout {
    #[inline]
    fn begin_line(&mut self, offset: u64) {
        self.ahead.line_offset = offset;
    }

    fn take(&mut self, cursor: &mut Cursor<'_>, mut member: impl FnMut(&[u8], Span)) -> bool {
        if !self.ahead.is_wanted {
            return false;
        }
        let (index, start) = (self.ahead.first + self.ahead.items.len(), cursor.position());
        self.make_room(index, 0);
        let mut is_taken = self.builder.push_object(cursor, &mut member);
        if !is_taken && self.builder.is_full() {
            self.next_tape(index);
            is_taken = self.builder.push_object(cursor, &mut member);
        }
        if is_taken {
            let length = cursor.position() - start;
            self.ahead.items.push(ItemRef::at(self.ahead.line_offset + start as u64, length as u32));
            self.pushed(index, length);
        }
        is_taken
    }
}

/// Tapes of items of one history, in order. Some items may be on no tape.
#[derive(Default)]
pub struct ItemTapes {
    tapes: VecDeque<ItemTape>,
    bytes: usize,
}

impl ItemTapes {
    #[inline]
    fn push(&mut self, tape: ItemTape) {
        self.bytes += tape.bytes;
        self.tapes.push_back(tape);
    }

    /// The indices of the items on the first tape. Drops tapes that begin before item `sent`.
    pub fn next_items(&mut self, sent: usize) -> Option<Range<usize>> {
        while self.tapes.front().is_some_and(|tape| tape.items.start < sent) {
            self.take_next();
        }
        self.tapes.front().map(|tape| tape.items.clone())
    }

    /// Takes the first tape.
    pub fn take_next(&mut self) -> Option<ItemTape> {
        let tape = self.tapes.pop_front()?;
        self.bytes -= tape.bytes;
        Some(tape)
    }

    /// Total size of the JSON of all tapes, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl LaidOutItems for ItemTapes {
    fn append(&mut self, base: usize, later: Self) {
        for tape in later.tapes {
            self.push(ItemTape { items: tape.items.start + base..tape.items.end + base, ..tape });
        }
    }

    fn truncate(&mut self, kept: usize) {
        while let Some(last) = self.tapes.back_mut().filter(|last| last.items.end > kept) {
            last.items.end = kept;
            if last.items.is_empty() {
                self.bytes -= last.bytes;
                self.tapes.pop_back();
            }
        }
    }
}

#[cfg(test)]
mod tests;
