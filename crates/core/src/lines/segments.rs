//! Processes a file segment by segment on all cores, and returns the results in the order of the segments.

use std::ops::Range;

use super::source::LineSource;
use crate::task::{InOrder, Pipeline, Worker, spare_cores};

/// Size of a segment, which is one job, in bytes: a few chunks, about a millisecond of work.
pub const SEGMENT_BYTES: u64 = 1 << 20;

/// Maximum number of helpers. With more threads, memory bandwidth is the limit.
const MAX_HELPERS: usize = 7;

/// Splits a file into segments of equal size from `start` on. The last one ends where the file ended when it was opened, since a
/// file that keeps growing would have no end. A line that continues beyond that offset is read to its end. Segments without data are left out:
/// no line begins in a hole, except at its start, and a size that is only claimed must cost neither time nor memory. The segments of an archive are
/// its frames.
pub fn equal_segments(
    source: &LineSource,
    start: u64,
) -> impl DoubleEndedIterator<Item = Range<u64>> + Send + Sync + use<> {
    let size = source.size();
    let segment = move |number: u64| {
        let begin = start + number * SEGMENT_BYTES;
        begin..begin.saturating_add(SEGMENT_BYTES).min(size.max(begin))
    };
    // Threads that read parts of the same frame would wait for each other.
    let frames = source.frame_ranges(start, SEGMENT_BYTES);
    let numbers = if frames.is_none() { numbers_with_data(source, start) } else { Vec::new() };
    frames.into_iter().flatten().chain(numbers.into_iter().flatten().map(segment))
}

/// The numbers of the segments in which lines can begin, as ranges. There are at most as many ranges as the file has holes.
fn numbers_with_data(source: &LineSource, start: u64) -> Vec<Range<u64>> {
    let number_of = |offset: u64| (offset - start) / SEGMENT_BYTES;
    // A line may begin at `start` whatever is there.
    let mut numbers = vec![Range { start: 0, end: 1 }];
    let mut at = start;
    while at < source.size() {
        let data = source.data_at(at);
        if data.start >= source.size() || data.is_empty() {
            break;
        }
        let end = data.end;
        // The line behind the data begins at its end, in the same segment or in the next one.
        let (first, last) = (number_of(data.start), number_of(end.min(source.size() - 1)));
        match numbers.last_mut() {
            Some(before) if first <= before.end => before.end = before.end.max(last + 1),
            _ => numbers.push(first..last + 1),
        }
        at = end;
    }
    numbers
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
pub(crate) struct Segments<W: Worker<Job = Range<u64>>> {
    pipeline: Pipeline<W>,
    helpers: usize,
    rest: Box<dyn Iterator<Item = Range<u64>> + Send + Sync>,
    outputs: InOrder<W::Output>,
}

impl<W: Worker<Job = Range<u64>>> Segments<W> {
    /// Starts to process these segments. `make` creates a worker for each thread; it keeps its buffers from segment to segment.
    pub(crate) fn new<S>(segments: S, threads: Threads, make: impl Fn() -> W) -> Self
    where
        S: IntoIterator<Item = Range<u64>, IntoIter: Send + Sync + 'static>,
    {
        let most = if threads == Threads::All { spare_cores().min(MAX_HELPERS) } else { 0 };
        let mut segments = segments.into_iter();
        let first: Vec<_> = segments.by_ref().take(most + 1).collect();
        let helpers = first.len().saturating_sub(1);
        let workers = (0..helpers).map(|_| make()).collect();
        let pipeline = Pipeline::parallel(make(), workers, room(helpers));
        let mut segments = Segments {
            pipeline,
            helpers,
            rest: Box::new(first.into_iter().chain(segments)),
            outputs: InOrder::default(),
        };
        segments.hand_over();
        segments
    }

    /// The result of the next segment; `None` after the last one.
    ///
    /// # Panics
    ///
    /// If a worker panicked.
    pub(crate) fn next_output(&mut self) -> Option<W::Output> {
        let output = self.outputs.next(|| self.pipeline.next_output())?;
        self.hand_over();
        Some(output)
    }

    /// Says that the next result will not be asked for at once: see [`Pipeline::pause`].
    pub(crate) fn pause(&self) {
        self.pipeline.pause();
    }

    /// Ends the processing: returns when no thread works on a segment any more. To be called once the work is cancelled.
    pub(crate) fn end(mut self) {
        while self.pipeline.next_output().is_some() {}
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
