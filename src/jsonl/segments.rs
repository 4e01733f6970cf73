//! Processes a file segment by segment on all cores, and returns the results in the order of the segments.

use std::ops::Range;
use std::vec::IntoIter;

use super::source::LineSource;
use crate::pipeline::{InOrder, Pipeline, Worker, spare_cores};

/// Size of a segment, which is one job, in bytes: a few chunks, about a millisecond of work.
pub const SEGMENT_BYTES: u64 = 1 << 20;

/// Maximum number of helpers. With more threads, memory bandwidth is the limit.
const MAX_HELPERS: usize = 7;

/// Splits a file into segments of equal size from `start` on. The last one ends where the file ended when it was opened, since a
/// file that keeps growing would have no end. A line that continues beyond that offset is read to its end.
pub fn equal_segments(source: &LineSource, start: u64) -> Vec<Range<u64>> {
    let count = source.size().saturating_sub(start).div_ceil(SEGMENT_BYTES).max(1);
    let segment = |index: u64| {
        let begin = start + index * SEGMENT_BYTES;
        begin..(begin + SEGMENT_BYTES).min(source.size().max(begin))
    };
    (0..count).map(segment).collect()
}

/// Which threads work on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One for each core, up to a limit.
    All,
    /// Only the thread that takes the results, since the other cores work on other files.
    Own,
}

/// Segments of a file that are being processed.
pub struct Segments<W: Worker<Job = Range<u64>>> {
    pipeline: Pipeline<W>,
    helpers: usize,
    rest: IntoIter<Range<u64>>,
    outputs: InOrder<W::Output>,
}

impl<W: Worker<Job = Range<u64>>> Segments<W> {
    /// Starts to process these segments. `make` creates a worker for each thread; it keeps its buffers from segment to segment.
    pub fn new(segments: Vec<Range<u64>>, threads: Threads, make: impl Fn() -> W) -> Self {
        let most = if threads == Threads::All { spare_cores().min(MAX_HELPERS) } else { 0 };
        let helpers = most.min(segments.len().saturating_sub(1));
        let workers = (0..helpers).map(|_| make()).collect();
        let pipeline = Pipeline::parallel(make(), workers, room(helpers));
        let mut segments = Segments { pipeline, helpers, rest: segments.into_iter(), outputs: InOrder::default() };
        segments.hand_over();
        segments
    }

    /// The result of the next segment; `None` after the last one.
    ///
    /// # Panics
    ///
    /// If a worker panicked.
    pub fn next_output(&mut self) -> Option<W::Output> {
        let output = self.outputs.next(|| self.pipeline.next_output())?;
        self.hand_over();
        Some(output)
    }

    /// Queues segments, but only so many that results that wait for their turn need little memory.
    fn hand_over(&mut self) {
        while self.pipeline.under_way() + self.outputs.waiting() < room(self.helpers)
            && let Some(segment) = self.rest.next()
        {
            self.pipeline.push(segment);
        }
    }
}

/// Maximum number of segments that are in progress, or done before their turn.
fn room(helpers: usize) -> usize {
    2 * (helpers + 1)
}

#[cfg(test)]
mod tests;
