//! Memory for the texts that JavaScript reads in place.
//!
//! What a replay costs most is memory that is touched for the first time: the system clears it page by page, and takes longer to do so than
//! the scan to fill it. So the texts of a large replay share chunks of huge pages, where the system has them. A text that JavaScript drops
//! gives its pages back at once: it does not wait for the others in its chunk.

use std::marker::PhantomData;
use std::ptr;
use std::slice;
use std::sync::Arc;

use memmap2::{MmapMut, MmapRaw};

/// A shorter text costs less to copy into V8's heap than to keep track of.
const MIN_BYTES: usize = 4 << 10;

/// How much the system clears at once.
const HUGE_PAGE: usize = 2 << 20;

/// The texts of a small replay would fill too little of a chunk.
const FIRST_BYTES: usize = 1 << 20;

/// Texts begin at multiples of this, a line of the processor's cache.
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

/// Where the texts of one thread of a replay are put.
#[derive(Default)]
pub struct Arena {
    chunk: Option<Arc<Chunk>>,
    /// How much of the chunk is in use.
    used: usize,
    /// The bytes of all texts so far.
    total: usize,
}

impl Arena {
    /// The text of these units, which are bytes or UTF-16.
    pub fn text<Unit: Copy>(&mut self, text: &[Unit]) -> Text<Unit> {
        self.place(text).map_or_else(|| Text::Own(text.to_vec()), Text::Shared)
    }

    /// Copies the text into a chunk. `None` if it is short, or if the system has no memory of this kind.
    fn place<Unit: Copy>(&mut self, text: &[Unit]) -> Option<Shared<Unit>> {
        let bytes = size_of_val(text);
        self.total = self.total.saturating_add(bytes);
        if bytes < MIN_BYTES || self.total < FIRST_BYTES {
            return None;
        }
        let (chunk, start) = self.room(bytes)?;
        let to = chunk.at(start);
        // SAFETY: `room` gives `bytes` bytes of the chunk behind `start` to this text alone, so nothing else reads or writes them, and they
        // do not overlap with `text`. `start` is aligned for every unit.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), to, bytes) };
        Some(Shared(Memory::Part(Part { chunk, start, length: text.len(), units: PhantomData })))
    }

    /// Drops a text that is not wanted. What was placed last leaves its room to the next one.
    pub fn take_back<Unit>(&mut self, text: Text<Unit>) {
        let Text::Shared(Shared(Memory::Part(mut part))) = text else { return };
        let end = (part.start + part.length * size_of::<Unit>()).next_multiple_of(ALIGNMENT);
        if end == self.used && self.chunk.as_ref().is_some_and(|chunk| Arc::ptr_eq(chunk, &part.chunk)) {
            self.used = part.start;
            // Its pages are written again: they are not given back.
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

/// Some huge pages.
struct Chunk {
    map: MmapRaw,
    /// Where in the map the first huge page begins.
    offset: usize,
    length: usize,
}

impl Chunk {
    /// A chunk with room for a text of so many bytes.
    fn new(bytes: usize) -> Option<Self> {
        let length = bytes.checked_next_multiple_of(HUGE_PAGE)?;
        let map = MmapRaw::from(MmapMut::map_anon(length.checked_add(HUGE_PAGE)?).ok()?);
        let offset = map.as_ptr().align_offset(HUGE_PAGE);
        // Without huge pages it is slower, no more. Miri does not know the call.
        #[cfg(all(target_os = "linux", not(miri)))]
        let _ = map.advise_range(memmap2::Advice::HugePage, offset, length);
        Some(Chunk { map, offset, length })
    }

    fn at(&self, start: usize) -> *mut u8 {
        // No further than the end of the map.
        self.map.as_mut_ptr().wrapping_add(self.offset + start)
    }

    /// Gives back the pages of a text that ends here. The map keeps its place.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn release(&self, start: usize, bytes: usize) {
        let page = rustix::param::page_size();
        // The chunk begins at a page.
        let (from, to) = (start.next_multiple_of(page), (start + bytes) / page * page);
        if from < to {
            // SAFETY: the pages are zero afterwards. Only this text was on all of them, and it is dropped.
            let _ = unsafe {
                self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, self.offset + from, to - from)
            };
        }
    }

    /// Elsewhere a chunk goes as a whole.
    #[cfg(not(all(target_os = "linux", not(miri))))]
    fn release(&self, _: usize, _: usize) {}
}

/// A text that JavaScript reads where it is.
pub struct Shared<Unit>(Memory<Unit>);

enum Memory<Unit> {
    Part(Part<Unit>),
    /// A text so long that to copy it into a chunk would cost more than a chunk saves.
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

/// A part of a chunk, in which there are other texts.
struct Part<Unit> {
    chunk: Arc<Chunk>,
    /// Where in the chunk it begins, in bytes.
    start: usize,
    /// How many units it has.
    length: usize,
    units: PhantomData<Unit>,
}

impl<Unit> Part<Unit> {
    fn units(&self) -> &[Unit] {
        // SAFETY: `Arena::place` has written so many units there, which nothing changes; the chunk lives as long as the text.
        unsafe { slice::from_raw_parts(self.chunk.at(self.start).cast(), self.length) }
    }
}

impl<Unit> Drop for Part<Unit> {
    fn drop(&mut self) {
        // The last one drops the chunk, and all of its pages.
        if Arc::strong_count(&self.chunk) > 1 {
            self.chunk.release(self.start, self.length * size_of::<Unit>());
        }
    }
}

#[cfg(test)]
mod tests;
