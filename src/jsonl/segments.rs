//! Working through a file segment by segment, on all cores, with the results in the segments' order.
//!
//! The caller that asks for results works as well, and does everything alone when there is no other thread: helpers are
//! never waited for unless they are at work.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::source::Source;
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
    fn work(&mut self, source: &Source, segment: Range<u64>) -> Self::Output;
}

/// The ranges of about equal size that a file has from `start` on. The last ends where the file ended when it was opened:
/// a file that grows all the time would have no end. A line that was under way there is read to its end.
pub fn equal_segments(source: &Source, start: u64) -> Vec<Range<u64>> {
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
    source: Arc<Source>,
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
    pub fn new(source: Arc<Source>, segments: Vec<Range<u64>>, make: impl Fn() -> W) -> Self {
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
mod tests {
    use super::super::reader::LineReader;
    use super::*;
    use std::io::Write;
    use std::time::Duration;

    fn source(bytes: u64) -> Arc<Source> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut line = 0u64;
        let mut content = Vec::new();
        while (content.len() as u64) < bytes {
            content.extend_from_slice(format!("{line:>width$}\n", width = (line * 37 % 5000) as usize).as_bytes());
            line += 1;
        }
        file.write_all(&content).unwrap();
        Arc::new(Source::open(file.path()).unwrap())
    }

    /// Collects the numbers in the lines.
    struct Numbers(LineReader, fn(u64));

    impl Worker for Numbers {
        type Output = Vec<u64>;

        fn work(&mut self, source: &Source, segment: Range<u64>) -> Vec<u64> {
            (self.1)(segment.start);
            let mut numbers = Vec::new();
            self.0.begin(segment);
            while let Some(chunk) = self.0.next_chunk(source, 0, &mut |_| {}).unwrap() {
                let text = std::str::from_utf8(chunk.bytes).unwrap();
                numbers.extend(text.lines().map(|line| line.trim().parse::<u64>().unwrap()));
            }
            numbers
        }
    }

    fn in_order(source: &Arc<Source>, pause: fn(u64), spare: usize) -> Vec<u64> {
        let mut segments =
            Segments::new(source.clone(), equal_segments(source, 0), || Numbers(LineReader::default(), pause));
        segments.spare(spare);
        let mut all = Vec::new();
        while let Some(numbers) = segments.next_output() {
            all.extend(numbers);
        }
        assert!(segments.next_output().is_none());
        all
    }

    #[test]
    fn results_come_in_the_files_order_whoever_is_faster() {
        let source = source(9 << 20);
        let alone = in_order(&source, |_| {}, usize::MAX);
        assert!(alone.len() > 3000 && alone.iter().enumerate().all(|(index, number)| index as u64 == *number));
        let pauses: [fn(u64); 3] = [
            |_| {},
            |start| std::thread::sleep(Duration::from_millis(start / SEGMENT_BYTES % 3)),
            |start| std::thread::sleep(Duration::from_millis(9 - start / SEGMENT_BYTES)),
        ];
        for pause in pauses {
            assert!(in_order(&source, pause, 0) == alone);
        }
    }

    #[test]
    fn a_small_file_is_one_segment() {
        assert_eq!(in_order(&source(10), |_| {}, 0), [0, 1, 2, 3, 4][..in_order(&source(10), |_| {}, 0).len()]);
        assert_eq!(in_order(&source(0), |_| {}, 0), [] as [u64; 0]);
    }

    #[test]
    fn what_is_appended_meanwhile_is_left_to_the_next_reader() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&b"0\n".repeat(1 << 20)).unwrap();
        file.write_all(b"1").unwrap();
        let source = Arc::new(Source::open(file.path()).unwrap());
        file.write_all(b"23\n").unwrap();
        file.write_all(&b"4\n".repeat(1 << 20)).unwrap();
        let found = in_order(&source, |_| {}, 0);
        let (last, rest) = found.split_last().unwrap();
        assert_eq!((*last, rest.len()), (123, 1 << 20), "a line that was under way is whole");
        assert!(rest.iter().all(|number| *number == 0));
    }

    #[test]
    fn work_that_is_dropped_ends() {
        let source = source(9 << 20);
        let mut segments =
            Segments::new(source.clone(), equal_segments(&source, 0), || Numbers(LineReader::default(), |_| {}));
        assert!(segments.next_output().is_some());
        drop(segments);
        // Helpers hold the source as long as they work.
        let ended = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            Arc::strong_count(&source) == 1
        });
        assert!(ended);
    }

    #[test]
    fn a_panic_of_any_worker_reaches_whoever_asks() {
        let source = source(9 << 20);
        let panics = |start: u64| assert!(start < 5 << 20, "a worker that panics");
        let result = catch_unwind(|| in_order(&source, panics, 0));
        assert!(result.is_err());
        assert!(!in_order(&source, |_| {}, 0).is_empty());
    }
}
