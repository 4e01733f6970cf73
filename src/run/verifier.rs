//! Verification beside the fold: hashes are computed by other threads, and by the folding one when those are behind.
//!
//! A batch is a chunk of lines that were folded. Its lines are checked against their hashes on any thread, for a line's own
//! hash needs only the stored one before it. Its state hashes are summed up batch by batch, by whichever thread is free. Memory is
//! bounded: a fold that is too far ahead helps until it isn't.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::thread;

use super::chain::{self, Integrity};
use super::changes::Changes;
use super::check::{Aspect, Findings};
use super::event::LineOffsets;
use super::log::Chunk;
use super::outputs::{Output, OutputChecker};
use super::state_hash::StateHasher;
use crate::cancellation::Cancellation;
use crate::hash::HexHash;

/// More helpers than this find nothing to do: reading and folding are one thread's work.
const MAX_HELPERS: usize = 3;

/// How many jobs may wait for each helper.
const JOBS_A_HELPER: usize = 6;

/// Lines that were folded, with what their verification needs.
pub struct Batch {
    /// The lines.
    pub chunk: Chunk,
    /// Logical time of the first of them.
    pub first: u64,
    /// The stored hash of the line before.
    pub previous: HexHash,
    /// What was noted while they were folded.
    pub notes: Notes,
}

/// What is noted of lines while they are folded, for those who verify them elsewhere.
#[derive(Debug, Default)]
pub struct Notes {
    /// Where the lines are, in order.
    pub offsets: Vec<LineOffsets>,
    /// What is to be checked against blobs.
    pub outputs: Vec<Output>,
    /// What the lines' events changed, if states are hashed. The last line may have been refused.
    pub changes: Changes,
}

impl Notes {
    fn clear(&mut self) {
        self.offsets.clear();
        self.outputs.clear();
        self.changes.clear();
    }
}

/// The buffers of a batch that is done with, to be used again: fresh ones would be fresh pages for each batch, freed by another
/// thread than the one that asked for them.
#[derive(Debug, Default)]
pub struct Spare {
    /// For [`LogReader::next_chunk`](super::log::LogReader::next_chunk).
    pub lines: Vec<u8>,
    /// Empty.
    pub notes: Notes,
}

/// What verifies batches.
pub struct Verifier {
    hasher: Option<Mutex<StateHasher>>,
    outputs: Option<OutputChecker>,
    stop_at_failure: bool,
    helpers: usize,
    queue: Mutex<Queue>,
    /// There is a job, or one is done.
    changed: Condvar,
    findings: Mutex<Findings>,
    /// Where the earliest failure is that was found so far.
    earliest: AtomicU64,
    spares: Mutex<Vec<Spare>>,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<Arc<Batch>>,
    states: VecDeque<Arc<Batch>>,
    /// Someone is summing up states: they come one batch after the other.
    summing: bool,
    closed: bool,
}

enum Job {
    Lines(Arc<Batch>),
    States(Arc<Batch>),
}

impl Queue {
    fn take(&mut self) -> Option<Job> {
        if !self.summing
            && let Some(batch) = self.states.pop_front()
        {
            self.summing = true;
            return Some(Job::States(batch));
        }
        self.lines.pop_front().map(Job::Lines)
    }

    fn len(&self) -> usize {
        self.lines.len() + self.states.len()
    }

    fn is_done(&self) -> bool {
        self.len() == 0 && !self.summing
    }
}

impl Verifier {
    /// A verifier of lines; of states' hashes if there is the hasher of the state before them; of outputs if there is a checker.
    /// One that stops at a failure looks at nothing behind it.
    pub fn new(hasher: Option<StateHasher>, outputs: Option<OutputChecker>, stop_at_failure: bool) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Verifier {
            hasher: hasher.map(Mutex::new),
            outputs,
            stop_at_failure,
            helpers: (cores - 1).min(MAX_HELPERS),
            queue: Mutex::default(),
            changed: Condvar::new(),
            findings: Mutex::default(),
            earliest: AtomicU64::new(u64::MAX),
            spares: Mutex::default(),
        }
    }

    /// Whether the hashes of states are verified.
    pub fn hashes_states(&self) -> bool {
        self.hasher.is_some()
    }

    /// Whether outputs are verified.
    pub fn checks_outputs(&self) -> bool {
        self.outputs.is_some()
    }

    /// Runs `fold`, which submits batches, and returns when all of them are verified.
    pub fn run<T>(&self, fold: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            // Also when `fold` panics: helpers must not wait for ever.
            let closing = Closing(self);
            let cancellation = Cancellation::current();
            for _ in 0..self.helpers {
                let helper = thread::Builder::new().name("session-tape-verify".into());
                // Without helpers the folding thread does it all.
                let cancellation = cancellation.clone();
                let _ = helper.spawn_scoped(scope, move || cancellation.during(|| self.help()));
            }
            let result = fold();
            drop(closing);
            self.help();
            result
        })
    }

    /// Takes a batch. Works on batches itself while too many wait.
    pub fn submit(&self, batch: Batch) {
        let batch = Arc::new(batch);
        let mut queue = self.queue.lock();
        if self.hasher.is_some() {
            queue.states.push_back(batch.clone());
        }
        queue.lines.push_back(batch);
        self.changed.notify_all();
        while queue.len() > self.helpers * JOBS_A_HELPER {
            queue = self.work(queue);
        }
    }

    /// Whether there is no use in going on.
    pub fn has_failed(&self) -> bool {
        self.stop_at_failure && self.earliest.load(Ordering::Relaxed) != u64::MAX
    }

    /// The buffers of a batch that is done with, or new ones.
    pub fn spare(&self) -> Spare {
        self.spares.lock().pop().unwrap_or_default()
    }

    /// What was found, and the hasher of the state behind all batches if states were hashed.
    pub fn finish(self) -> (Findings, Option<StateHasher>) {
        let findings = self.findings.into_inner();
        let hasher = self.hasher.map(Mutex::into_inner);
        (findings, hasher)
    }

    /// Works until there will be nothing to do any more.
    fn help(&self) {
        let mut queue = self.queue.lock();
        while !(queue.closed && queue.is_done()) {
            queue = self.work(queue);
        }
    }

    /// Does one job, or waits until something changes.
    fn work<'q>(&'q self, mut queue: MutexGuard<'q, Queue>) -> MutexGuard<'q, Queue> {
        let Some(job) = queue.take() else {
            self.changed.wait(&mut queue);
            return queue;
        };
        drop(queue);
        let batch = match job {
            Job::Lines(batch) => {
                self.verify_lines(&batch);
                batch
            }
            Job::States(batch) => {
                let _summing = Summing(self);
                self.verify_states(&batch);
                batch
            }
        };
        if let Some(Batch { chunk, mut notes, .. }) = Arc::into_inner(batch) {
            notes.clear();
            self.spares.lock().push(Spare { lines: chunk.into_spare(), notes });
        }
        self.changed.notify_all();
        self.queue.lock()
    }

    fn is_moot(&self, batch: &Batch) -> bool {
        self.stop_at_failure && batch.first > self.earliest.load(Ordering::Relaxed)
    }

    fn verify_lines(&self, batch: &Batch) {
        if self.is_moot(batch) {
            return;
        }
        let mut findings = Findings::default();
        let check = findings.of_mut(Aspect::Chain);
        let mut previous = &batch.previous;
        for (time, offsets) in (batch.first..).zip(&batch.notes.offsets) {
            let Some(parts) = offsets.hashed_parts(batch.chunk.bytes(), time) else { break };
            check.checked += 1;
            match chain::check(previous, &parts) {
                Ok(Integrity::Whole) => {}
                Ok(Integrity::PayloadRedacted) => check.unverifiable += 1,
                Err(error) => check.fail(time, error),
            }
            previous = parts.hash;
        }
        if let Some(checker) = &self.outputs {
            checker.check_all(&batch.notes.outputs, findings.of_mut(Aspect::OutputHashes));
        }
        self.report(findings);
    }

    fn verify_states(&self, batch: &Batch) {
        let Some(hasher) = self.hasher.as_ref().filter(|_| !self.is_moot(batch)) else { return };
        let mut findings = Findings::default();
        let parts = |event: usize| {
            batch.notes.offsets.get(event)?.hashed_parts(batch.chunk.bytes(), batch.first + event as u64)
        };
        let check = findings.of_mut(Aspect::StateHashes);
        batch.notes.changes.verify(batch.first, parts, &mut hasher.lock(), check);
        self.report(findings);
    }

    /// Adds findings to those that there are.
    pub fn report(&self, found: Findings) {
        if let Some(failure) = found.first_failure() {
            self.earliest.fetch_min(failure.place, Ordering::Relaxed);
        }
        self.findings.lock().merge(found);
    }
}

/// Someone is summing up states, until this is dropped.
struct Summing<'v>(&'v Verifier);

impl Drop for Summing<'_> {
    fn drop(&mut self) {
        self.0.queue.lock().summing = false;
        self.0.changed.notify_all();
    }
}

/// Nothing more is submitted.
struct Closing<'v>(&'v Verifier);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.queue.lock().closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain::GENESIS;
    use super::super::chain::tests::log_of;
    use super::super::check::Check;
    use super::super::error::{ErrorCode, RunError};
    use super::super::event::EventLine;
    use super::super::log::LogReader;
    use super::*;

    /// Each line of a log as a batch of its own.
    fn batches(log: &[u8]) -> Vec<Batch> {
        let mut previous = GENESIS;
        let mut batches = Vec::new();
        for (first, line) in (0..).zip(log.split_inclusive(|byte| *byte == b'\n')) {
            let chunk = LogReader::new(line, 0).next_chunk(Vec::new()).unwrap().unwrap();
            let text = std::str::from_utf8(line).unwrap().trim_end();
            let event = EventLine::split(text).unwrap();
            let notes = Notes { offsets: vec![LineOffsets::of(&event, 0)], ..Notes::default() };
            batches.push(Batch { chunk, first, previous, notes });
            previous = *event.hash;
        }
        batches
    }

    fn chain_of(log: &[u8], verifier: Verifier) -> Check {
        verifier.run(|| batches(log).into_iter().for_each(|batch| verifier.submit(batch)));
        verifier.finish().0.of(Aspect::Chain).clone()
    }

    fn damaged() -> Vec<u8> {
        let log = String::from_utf8(log_of(200, 10)).unwrap();
        log.replace("\"n\":20}", "\"n\":21}").replace("\"n\":150}", "\"n\":151}").into_bytes()
    }

    #[test]
    fn every_batch_is_verified_whoever_does_it() {
        let check = chain_of(&damaged(), Verifier::new(None, None, false));
        assert_eq!((check.checked, check.failed), (200, 2));
        assert_eq!(check.first_failure.unwrap().place, 20);
    }

    #[test]
    fn a_failure_that_is_known_hides_none_before_it() {
        let verifier = Verifier::new(None, None, true);
        let mut findings = Findings::default();
        findings.of_mut(Aspect::Chain).fail(100, RunError::new(ErrorCode::ChainBroken, "known"));
        verifier.report(findings);
        assert!(verifier.has_failed());
        let check = chain_of(&damaged(), verifier);
        assert_eq!(check.first_failure.unwrap().place, 20);
        assert!(check.checked < 200, "what comes behind is passed over");
    }

    #[test]
    #[should_panic(expected = "the fold broke")]
    fn a_fold_that_panics_leaves_no_thread_waiting() {
        Verifier::new(None, None, true).run(|| panic!("the fold broke"));
    }
}
