//! Random access to the content of an archive with a seek table. Frames are decompressed when they are needed, and the last few are kept.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::frame::{TORN, decompress};
use super::packed::Packed;
use super::table::Frame;
use crate::disk::OsError;
use crate::task::spare_cores;

/// Maximum number of threads that read different frames at once; each has one of the kept frames.
const MAX_READERS: usize = 8;

/// The content of an archive, by its own offsets. Any thread can read any part of it.
///
/// From the first frame on that does not check there is a single [`TORN`] byte, and then the end.
pub struct FramedFile {
    packed: Packed,
    frames: Vec<Frame>,
    /// The first frame that is known to be damaged.
    damaged: AtomicUsize,
    /// The frames that were used last, the newest at the end.
    kept: Mutex<VecDeque<(usize, Arc<Slot>)>>,
    most_kept: usize,
}

/// A frame that is decompressed by the first thread that needs it, while others that need it too wait.
type Slot = Mutex<Option<Arc<Vec<u8>>>>;

/// A panic leaves a frame whole or not decompressed.
impl std::panic::RefUnwindSafe for FramedFile {}

impl FramedFile {
    pub(super) fn new(packed: Packed, frames: Vec<Frame>) -> Self {
        // One more for a line that continues in the next frame.
        let most_kept = (spare_cores() + 1).min(MAX_READERS) + 1;
        FramedFile { packed, frames, damaged: AtomicUsize::new(usize::MAX), kept: Mutex::default(), most_kept }
    }

    /// The size of the content in bytes, as the seek table has it.
    pub fn size(&self) -> u64 {
        self.frames.last().map_or(0, Frame::end)
    }

    /// The ranges of the content's frames from `start` on, several small ones as one range of at least `least` bytes. The first range begins at
    /// `start`.
    pub fn ranges(&self, start: u64, least: u64) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut begin = start;
        let first = self.frames.partition_point(|frame| frame.end() <= start);
        for frame in &self.frames[first..] {
            if frame.end() - begin >= least {
                ranges.push(begin..frame.end());
                begin = frame.end();
            }
        }
        if begin < self.size() || ranges.is_empty() {
            ranges.push(begin..self.size().max(begin));
        }
        ranges
    }

    /// Reads bytes of one frame at `offset`, and returns how many; 0 at the end.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, OsError> {
        let index = self.frames.partition_point(|frame| frame.end() <= offset);
        let Some(frame) = self.frames.get(index).filter(|_| !buffer.is_empty()) else { return Ok(0) };
        if index <= self.damaged.load(Ordering::Acquire)
            && let Some(content) = self.content_of(index)?
        {
            let rest = &content[(offset - frame.offset) as usize..];
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            return Ok(count);
        }
        if index == self.damaged.load(Ordering::Acquire) && offset == frame.offset {
            buffer[0] = TORN;
            return Ok(1);
        }
        Ok(0)
    }

    /// The size of the content before the first frame that is known not to check.
    pub fn damage(&self) -> Option<u64> {
        self.frames.get(self.damaged.load(Ordering::Acquire)).map(|frame| frame.offset)
    }

    /// The content of a frame. `None` if it does not check.
    fn content_of(&self, index: usize) -> Result<Option<Arc<Vec<u8>>>, OsError> {
        let slot = self.slot_of(index);
        let mut kept = slot.lock();
        if let Some(content) = &*kept {
            return Ok(Some(content.clone()));
        }
        match decompress(&self.packed, &self.frames[index])? {
            Some(content) => Ok(Some(kept.insert(Arc::new(content)).clone())),
            None => {
                self.damaged.fetch_min(index, Ordering::AcqRel);
                Ok(None)
            }
        }
    }

    fn slot_of(&self, index: usize) -> Arc<Slot> {
        let mut kept = self.kept.lock();
        let found = kept.iter().position(|(number, _)| *number == index).and_then(|at| kept.remove(at));
        let (_, slot) = found.unwrap_or_default();
        kept.push_back((index, slot.clone()));
        while kept.len() > self.most_kept {
            kept.pop_front();
        }
        slot
    }
}
