//! Items laid out while they are scanned: by the thread that scans them, as long as they are in the processor's cache, so that nothing is
//! left to do but to hand them over.
//!
//! It is done in advance: items may be removed by a line that comes later. So it is not done for a while where a `compressed` event was
//! found, since another one is likely to follow: only what no tape has is read from the file again, at the end.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::history::ItemRef;
use super::item_sink::ItemSink;
use crate::jsonl::reader::Chunk;
use crate::jsonl::scan::{Cursor, Span};
use crate::jsonl::tape::{FinishedTape, TapeBuilder};

/// About how much of the file is on a tape: what JavaScript builds in one turn of the event loop.
pub const TAPE_BYTES: usize = 256 << 10;

/// How far behind a `compressed` event items are laid out again: several times as much as agents let gather between two of them.
const PAUSE_BYTES: u64 = 4 << 20;

/// How long items are laid out behind their chunk only, if in some chunk it was for nothing.
const PAUSE_AFTER_MISS: u64 = 1 << 20;

/// Where in a file items are laid out, for all threads that scan it.
#[derive(Debug, Default)]
pub struct Pause {
    until: AtomicU64,
}

impl Pause {
    fn after(&self, offset: u64) {
        self.until.fetch_max(offset.saturating_add(PAUSE_BYTES), Ordering::Relaxed);
    }

    fn has(&self, offset: u64) -> bool {
        offset < self.until.load(Ordering::Relaxed)
    }
}

/// Items of history that follow each other, laid out.
pub struct ItemTape {
    /// Which items of history they are. The tape may have more at its end: these were removed.
    pub items: Range<usize>,
    /// Their values.
    pub tape: FinishedTape,
    /// How many bytes of JSON they were.
    bytes: usize,
}

/// Lays out the items of one segment after the other.
///
/// An item is laid out while its line is scanned, so that nothing of it is read twice. Whether the line adds an item to the history is known
/// only afterwards; if in some chunk of lines it was another item, or none, the chunk's items are laid out once more.
pub struct Layout {
    builder: TapeBuilder,
    pause: Arc<Pause>,
    /// The items on the tape that is under way, and the bytes of their JSON.
    open: Range<usize>,
    bytes: usize,
    done: ItemTapes,
    ahead: Ahead,
}

/// The items of a chunk that are laid out while it is scanned.
#[derive(Default)]
struct Ahead {
    is_wanted: bool,
    /// The number that the first of them has in the history of the segment.
    first: usize,
    items: Vec<ItemRef>,
    line_offset: u64,
    /// Nothing is laid out ahead up to this offset.
    not_before: u64,
}

impl Layout {
    /// A layout that pauses with others.
    pub fn new(pause: Arc<Pause>) -> Self {
        Layout {
            builder: TapeBuilder::default(),
            pause,
            open: 0..0,
            bytes: 0,
            done: ItemTapes::default(),
            ahead: Ahead::default(),
        }
    }

    /// The chunk at this offset is scanned next. The segment has so many items before it.
    pub fn begin_chunk(&mut self, offset: u64, length: usize) {
        self.ahead.is_wanted = offset >= self.ahead.not_before && !self.pause.has(offset);
        self.ahead.first = length;
    }

    /// Lays out what a chunk adds to the history of the segment, of which it has left `kept` items, unless that was done while it was
    /// scanned. `items` is that history after the chunk.
    pub fn add(&mut self, chunk: &Chunk<'_>, kept: usize, items: &[ItemRef]) {
        let Ahead { first, items: ref ahead, .. } = self.ahead;
        let is_laid_out = std::mem::take(&mut self.ahead.is_wanted) && kept == first && items[kept..] == ahead[..];
        let missed = !is_laid_out && !ahead.is_empty();
        self.ahead.items.clear();
        if is_laid_out {
            return;
        }
        // What was laid out ahead comes behind these.
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

    /// The chunk at this offset has removed all that was before it.
    pub fn pause_after(&self, offset: u64) {
        self.pause.after(offset);
    }

    /// The tapes of the segment.
    pub fn finish(&mut self) -> ItemTapes {
        self.close();
        std::mem::take(&mut self.done)
    }

    fn truncate(&mut self, kept: usize) {
        if self.open.end > kept {
            // More values can't be put behind those that were removed.
            self.open.end = kept.max(self.open.start);
            self.close();
        }
        self.done.truncate(kept);
    }

    fn push(&mut self, index: usize, json: &[u8]) {
        self.make_room(index, json.len());
        if !self.builder.push(json) {
            self.next_tape(index);
            // On an empty tape there is room.
            self.builder.push(json);
        }
        self.pushed(index, json.len());
    }

    /// Begins another tape if there is no room for so many bytes of JSON more, or if its items would not follow each other.
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
            self.ahead.items.push(ItemRef { offset: self.ahead.line_offset + start as u64, length: length as u32 });
            self.pushed(index, length);
        }
        is_taken
    }
}

/// Tapes of items of one history, in its order. Some items may be on none.
#[derive(Default)]
pub struct ItemTapes {
    tapes: VecDeque<ItemTape>,
    bytes: usize,
}

impl ItemTapes {
    fn push(&mut self, tape: ItemTape) {
        self.bytes += tape.bytes;
        self.tapes.push_back(tape);
    }

    /// Appends the tapes of another history, whose first item is now number `base`.
    pub fn append(&mut self, base: usize, later: ItemTapes) {
        for tape in later.tapes {
            self.push(ItemTape { items: tape.items.start + base..tape.items.end + base, ..tape });
        }
    }

    /// Removes all items but the first `kept`.
    pub fn truncate(&mut self, kept: usize) {
        while let Some(last) = self.tapes.back_mut().filter(|last| last.items.end > kept) {
            last.items.end = kept;
            if last.items.is_empty() {
                self.bytes -= last.bytes;
                self.tapes.pop_back();
            }
        }
    }

    /// The items on the first tape. Tapes of items before `sent` are dropped.
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

    /// How many bytes of JSON the values of all tapes were.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
