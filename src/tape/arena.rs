//! Memory for texts that JavaScript reads in place.
//!
//! The largest cost of a replay is memory that is touched for the first time: the system clears it page by page, which takes longer than
//! the scan that fills it. So the texts of a large replay share chunks of huge pages, if the system has them. The pages of a text that
//! JavaScript drops are released at once, without waiting for the other texts of the chunk.

use std::marker::PhantomData;
use std::sync::Arc;
use std::{ptr, slice};

use memmap2::{MmapMut, MmapRaw};

/// Minimum size in bytes of a text in a chunk. A shorter one costs less to copy into V8's heap than to keep track of.
const MIN_BYTES: usize = 4 << 10;

/// Size of a huge page in bytes: what the system clears at once.
const HUGE_PAGE: usize = 2 << 20;

/// Chunks are used once the texts have this size in total, in bytes: those of a small replay would fill too little of a chunk.
const FIRST_BYTES: usize = 1 << 20;

/// Texts begin at multiples of this, the size of a cache line.
const ALIGNMENT: usize = 64;

/// A text for JavaScript.
pub enum Text<Unit> {
    /// To be copied.
    Own(Vec<Unit>),
    /// To be read in place.
    Shared(Shared<Unit>),
}

impl<Unit> Text<Unit> {
    /// The units.
    pub fn units(&self) -> &[Unit] {
        match self {
            Text::Own(units) => units,
            Text::Shared(shared) => shared.units(),
        }
    }
}

/// Allocates the texts of one thread of a replay.
#[derive(Default)]
pub(super) struct Arena {
    chunk: Option<Arc<Chunk>>,
    /// Number of bytes in use in the chunk.
    used: usize,
    /// Total size of all texts so far, in bytes.
    total: usize,
}

impl Arena {
    /// Stores a text, given as bytes or UTF-16 units.
    #[inline]
    pub(crate) fn text<Unit: Copy>(&mut self, text: &[Unit]) -> Text<Unit> {
        self.place(text).map_or_else(|| Text::Own(text.to_vec()), Text::Shared)
    }

    /// Copies the text into a chunk. Returns `None` if the text is short, if there was little text so far, or if the system refuses the
    /// memory.
    fn place<Unit: Copy>(&mut self, text: &[Unit]) -> Option<Shared<Unit>> {
        let bytes = size_of_val(text);
        self.total = self.total.saturating_add(bytes);
        if bytes < MIN_BYTES || self.total < FIRST_BYTES {
            return None;
        }
        let (chunk, start) = self.room(bytes)?;
        let to = chunk.at(start);
        // SAFETY: `room` reserves `bytes` bytes of the chunk from `start` on for this text alone, so nothing else reads or writes them, and
        // they do not overlap with `text`. `start` is aligned for every unit.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), to, bytes) };
        Some(Shared(Memory::Part(Part { chunk, start, length: text.len(), units: PhantomData })))
    }

    /// Drops a text that is not needed. If it is the last one in the chunk, the next text gets its space.
    pub(crate) fn take_back<Unit>(&mut self, text: Text<Unit>) {
        let Text::Shared(Shared(Memory::Part(mut part))) = text else { return };
        let end = (part.start + part.length * size_of::<Unit>()).next_multiple_of(ALIGNMENT);
        if end == self.used && self.chunk.as_ref().is_some_and(|chunk| Arc::ptr_eq(chunk, &part.chunk)) {
            self.used = part.start;
            // Its pages will be written again, so they are not released.
            part.length = 0;
        }
    }

    fn room(&mut self, bytes: usize) -> Option<(Arc<Chunk>, usize)> {
        let chunk = match self.chunk.take().filter(|chunk| self.used.saturating_add(bytes) <= chunk.length) {
            Some(chunk) => chunk,
            None => {
                self.used = 0;
                Arc::new(Chunk::new(bytes)?)
            }
        };
        let start = self.used;
        self.used = (start + bytes).next_multiple_of(ALIGNMENT);
        self.chunk = Some(chunk.clone());
        Some((chunk, start))
    }
}

/// A memory map of huge pages.
struct Chunk {
    map: MmapRaw,
    /// Offset of the first huge page in the map.
    offset: usize,
    length: usize,
}

impl Chunk {
    /// Allocates a chunk with room for a text of `bytes` bytes. Returns `None` if the system refuses the memory.
    fn new(bytes: usize) -> Option<Self> {
        let length = bytes.checked_next_multiple_of(HUGE_PAGE)?;
        let map = MmapRaw::from(MmapMut::map_anon(length.checked_add(HUGE_PAGE)?).ok()?);
        let offset = map.as_ptr().align_offset(HUGE_PAGE);
        // Without huge pages the chunk is only slower. Miri does not support the call.
        #[cfg(all(target_os = "linux", not(miri)))]
        let _ = map.advise_range(memmap2::Advice::HugePage, offset, length);
        Some(Chunk { map, offset, length })
    }

    fn at(&self, start: usize) -> *mut u8 {
        // Never beyond the end of the map.
        self.map.as_mut_ptr().wrapping_add(self.offset + start)
    }

    /// Releases the pages of a text that is dropped. The map keeps its addresses.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn release(&self, start: usize, bytes: usize) {
        let page = rustix::param::page_size();
        // The chunk begins at a page boundary.
        let (from, to) = (start.next_multiple_of(page), (start + bytes) / page * page);
        if from < to {
            // SAFETY: the pages read as zeros afterwards. No other text is on any of them, and this one is being dropped.
            let _ = unsafe {
                self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, self.offset + from, to - from)
            };
        }
    }

    /// On other systems, only a whole chunk is released.
    #[cfg(not(all(target_os = "linux", not(miri))))]
    fn release(&self, _: usize, _: usize) {}
}

/// A text that JavaScript reads in place.
pub struct Shared<Unit>(Memory<Unit>);

enum Memory<Unit> {
    Part(Part<Unit>),
    /// A text so long that copying it into a chunk would cost more than the chunk saves.
    Whole(Vec<Unit>),
}

impl<Unit> Shared<Unit> {
    /// The units.
    pub fn units(&self) -> &[Unit] {
        match &self.0 {
            Memory::Part(part) => part.units(),
            Memory::Whole(units) => units,
        }
    }
}

impl<Unit> From<Vec<Unit>> for Shared<Unit> {
    fn from(mut units: Vec<Unit>) -> Self {
        units.shrink_to_fit();
        Shared(Memory::Whole(units))
    }
}

/// A part of a chunk that contains other texts too.
struct Part<Unit> {
    chunk: Arc<Chunk>,
    /// Its offset in the chunk, in bytes.
    start: usize,
    /// Its length in units.
    length: usize,
    units: PhantomData<Unit>,
}

impl<Unit> Part<Unit> {
    fn units(&self) -> &[Unit] {
        // SAFETY: `Arena::place` has written `length` units there, and nothing changes them; the chunk lives as long as the text.
        unsafe { slice::from_raw_parts(self.chunk.at(self.start).cast(), self.length) }
    }
}

impl<Unit> Drop for Part<Unit> {
    fn drop(&mut self) {
        // The last text drops the chunk with all its pages.
        if Arc::strong_count(&self.chunk) > 1 {
            self.chunk.release(self.start, self.length * size_of::<Unit>());
        }
    }
}

#[cfg(test)]
mod tests;
