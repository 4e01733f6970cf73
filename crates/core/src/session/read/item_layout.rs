//! Items that are laid out for their receiver while they are scanned: the thread that scans them does so while they are in the processor's cache, so
//! that they only have to be passed on afterwards. The receiver knows the form that it wants.

use crate::lines::Chunk;
use crate::session::fold::ItemRef;
use crate::session::format::{ItemSink, NoItems};

/// Lays out the items of one segment after the other.
///
/// An item is laid out while its line is scanned, so that it is read only once. Whether the line adds the item to the history is known only
/// afterwards, and a later line may remove it.
pub trait ItemLayout: ItemSink + Send + 'static {
    /// What it makes.
    type LaidOut: LaidOutItems;

    /// Is called before the chunk at `offset` is scanned; `length` is the number of items in the segment's history before it.
    fn begin_chunk(&mut self, offset: u64, length: usize);

    /// Is called after a chunk, which leaves `kept` of the items before it; `items` is the history after it. Those of the chunk are in its bytes.
    fn add(&mut self, chunk: &Chunk<'_>, kept: usize, items: &[ItemRef]);

    /// Is called instead of [`add`](Self::add) for a chunk after which the history of the segment has edits, which change the places of items. The
    /// chunk leaves `kept` of the items before the first edit.
    fn give_up(&mut self, kept: usize);

    /// Is called if the chunk at `offset` has removed all items before it.
    fn pause_after(&self, offset: u64);

    /// Ends the segment, and returns its items.
    fn finish(&mut self) -> Self::LaidOut;
}

/// Items of one history that are laid out, in order. Some may not be.
pub trait LaidOutItems: Default + Send + 'static {
    /// Appends those of another history, whose first item has the index `base` in this one.
    fn append(&mut self, base: usize, later: Self);

    /// Removes all items but the first `kept`.
    fn truncate(&mut self, kept: usize);
}

/// Lays out nothing.
impl ItemLayout for NoItems {
    type LaidOut = ();

    fn begin_chunk(&mut self, _: u64, _: usize) {}

    fn add(&mut self, _: &Chunk<'_>, _: usize, _: &[ItemRef]) {}

    fn give_up(&mut self, _: usize) {}

    fn pause_after(&self, _: u64) {}

    fn finish(&mut self) {}
}

impl LaidOutItems for () {
    fn append(&mut self, _: usize, (): ()) {}

    fn truncate(&mut self, _: usize) {}
}
