//! Working through a file segment by segment, on all cores, with the results in the segments' order.
//!
//! The caller that asks for results works as well, and does everything alone when there is no other thread: helpers are
//! never waited for unless they are at work.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::source::LineSource;
use crate::background;

/// How much of the file is one piece of work: some chunks, about a millisecond.
pub const SEGMENT_BYTES: u64 = 1 << 20;

/// More threads than this wait for memory rather than for each other.
const MOST_HELPERS: usize = 7;

/// What is done with a segment. Each thread has a worker of its own, which keeps its buffers.
pub trait Worker: Send + 'static {
    /// What comes of a segment.
    type Output: Send + 'static;

    /// Works on the segment.
    fn work(&mut self, source: &LineSource, segment: Range<u64>) -> Self::Output;
}

/// The ranges of about equal size that a file has from `start` on. The last ends where the file ended when it was opened:
/// a file that grows all the time would have no end. A line that was under way there is read to its end.
pub fn equal_segments(source: &LineSource, start: u64) -> Vec<Range<u64>> {
    let count = source.size().saturating_sub(start).div_ceil(SEGMENT_BYTES).max(1);
    let segment = |index: u64| {
        let begin = start + index * SEGMENT_BYTES;
        begin..(begin + SEGMENT_BYTES).min(source.size().max(begin))
    };
    (0..count).map(segment).collect()
}

/// Segments of a file, being worked on.
pub struct Segments<W: Worker> {
    shared: Arc<Shared<W::Output>>,
    worker: W,
    helpers: usize,
}

struct Shared<O> {
    source: Arc<LineSource>,
    segments: Vec<Range<u64>>,
    progress: Mutex<Progress<O>>,
    changed: Condvar,
}

struct Progress<O> {
    /// The segment whose result is handed out next; `results` begin with it.
    base: usize,
    results: VecDeque<Option<O>>,
    /// The first segment that no thread has taken.
    next: usize,
    /// Behind the last segment.
    end: usize,
    /// How far the work may run ahead of what is handed out.
    window: usize,
    /// How many helpers may work, and how many do.
    allowed: usize,
    at_work: usize,
    /// A helper panicked; the thread that waits for it panics too.
    panicked: bool,
}

impl<W: Worker> Segments<W> {
    /// Begins to work on these segments of `source`. `make` makes a worker for each thread.
    pub fn new(source: Arc<LineSource>, segments: Vec<Range<u64>>, make: impl Fn() -> W) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let helpers = (cores - 1).min(MOST_HELPERS).min(segments.len().saturating_sub(1));
        let progress = Progress {
            base: 0,
            results: VecDeque::new(),
            next: 0,
            end: segments.len(),
            window: 2 * (helpers + 1),
            allowed: helpers,
            at_work: 0,
            panicked: false,
        };
        let shared = Arc::new(Shared { source, segments, progress: Mutex::new(progress), changed: Condvar::new() });
        for _ in 0..helpers {
            let (shared, mut worker) = (shared.clone(), make());
            background::spawn_helper(move || shared.help(&mut worker));
        }
        Segments { shared, worker: make(), helpers }
    }

    /// Leaves `cores` of the machine's to others from now on.
    pub fn spare(&mut self, cores: usize) {
        let mut progress = self.shared.lock();
        let allowed = self.helpers.saturating_sub(cores);
        if progress.allowed != allowed {
            progress.allowed = allowed;
            self.shared.changed.notify_all();
        }
    }

    /// The result of the next segment, `None` behind the last.
    ///
    /// # Panics
    ///
    /// If a worker panicked.
    pub fn next_output(&mut self) -> Option<W::Output> {
        loop {
            let mut progress = self.shared.lock();
            assert!(!progress.panicked, "a helper panicked");
            if progress.base == progress.end {
                return None;
            }
            if let Some(output) = progress.pop() {
                self.shared.changed.notify_all();
                return Some(output);
            }
            match progress.claim() {
                Some(segment) => {
                    drop(progress);
                    let output = self.worker.work(&self.shared.source, self.shared.segments[segment].clone());
                    self.shared.lock().put(segment, output);
                }
                None => self.shared.changed.wait(&mut progress),
            }
        }
    }
}

impl<W: Worker> Drop for Segments<W> {
    /// Helpers stop at the end of their segment.
    fn drop(&mut self) {
        let mut progress = self.shared.lock();
        progress.end = progress.next;
        progress.allowed = usize::MAX;
        self.shared.changed.notify_all();
    }
}

impl<O> Shared<O> {
    fn lock(&self) -> MutexGuard<'_, Progress<O>> {
        self.progress.lock()
    }

    fn help<W: Worker<Output = O>>(&self, worker: &mut W) {
        while let Some(segment) = self.claim_as_helper() {
            let range = self.segments[segment].clone();
            let output = catch_unwind(AssertUnwindSafe(|| worker.work(&self.source, range)));
            let mut progress = self.lock();
            progress.at_work -= 1;
            match output {
                Ok(output) => progress.put(segment, output),
                Err(_) => progress.panicked = true,
            }
            self.changed.notify_all();
        }
    }

    /// Waits until there is something to do. `None` when there will be no more.
    fn claim_as_helper(&self) -> Option<usize> {
        let mut progress = self.lock();
        loop {
            if progress.next == progress.end || progress.panicked {
                return None;
            }
            if progress.at_work < progress.allowed
                && let Some(segment) = progress.claim()
            {
                progress.at_work += 1;
                return Some(segment);
            }
            self.changed.wait(&mut progress);
        }
    }
}

impl<O> Progress<O> {
    fn claim(&mut self) -> Option<usize> {
        if self.next == self.end || self.next >= self.base + self.window {
            return None;
        }
        self.next += 1;
        self.results.push_back(None);
        Some(self.next - 1)
    }

    fn put(&mut self, segment: usize, output: O) {
        // Nothing is handed out before it is there, so the segment is not behind `base`.
        if let Some(slot) = self.results.get_mut(segment - self.base) {
            *slot = Some(output);
        }
    }

    fn pop(&mut self) -> Option<O> {
        let output = self.results.front_mut()?.take()?;
        self.results.pop_front();
        self.base += 1;
        Some(output)
    }
}

#[cfg(test)]
mod tests;
