//! Verification in parallel with the fold: other threads compute hashes. The folding thread helps when they fall behind.
//!
//! A batch is a chunk of folded lines. The hash of a line needs only the stored hash of the line before, so the lines of batches are
//! checked in any order. Blobs may be large, so they are pipelined on their own: few lines can name many of them. State hashes need the sum of all earlier batches, so they are checked one batch after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::blob_claims::{BlobChecker, BlobClaim};
use super::check::{Aspect, Findings};
use crate::hash::HexHash;
use crate::run::format::{ChainChecker, LineOffsets};
use crate::run::read::Chunk;
use crate::run::state::{Changes, Scratch, StateHasher};
use crate::task::{Pipeline, Worker, spare_cores};

/// Maximum number of helper threads for lines. More would be idle, because only one thread folds.
const MAX_HELPERS: usize = 3;

/// Maximum number of batches in progress for each thread.
const BATCHES_PER_THREAD: usize = 3;

/// Number of claims about blobs that are checked as one job.
const CLAIMS_PER_JOB: usize = 16;

/// Folded lines, with what their verification needs.
pub(crate) struct Batch {
    /// The lines.
    pub chunk: Chunk,
    /// Logical time of the first of them.
    pub first: u64,
    /// The stored hash of the line before.
    pub previous: HexHash,
    /// The notes of the fold about them.
    pub notes: Notes,
}

impl Batch {
    /// The buffers of the batch. `None` if it is still in use elsewhere.
    fn into_spare(self: Arc<Self>) -> Option<Spare> {
        let Batch { chunk, mut notes, .. } = Arc::into_inner(self)?;
        notes.clear();
        Some(Spare { lines: chunk.into_spare(), notes })
    }
}

/// The fold's notes about lines, for their verification on another thread.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The offsets of the lines, in order.
    pub offsets: Vec<LineOffsets>,
    /// What the events say about blobs.
    pub claims: Vec<BlobClaim>,
    /// The changes by the lines' events, if states are hashed. The event of the last line may have been refused and changes nothing.
    pub changes: Changes,
}

impl Notes {
    /// Removes all notes and keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.offsets.clear();
        self.claims.clear();
        self.changes.clear();
    }
}

/// The buffers of a verified batch, for reuse. New buffers would mean new pages for each batch, freed by another thread than the one that
/// allocated them.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    /// For [`LogReader::next_chunk`](super::log::LogReader::next_chunk).
    pub lines: Vec<u8>,
    /// Empty notes.
    pub notes: Notes,
}

/// Verifies batches.
pub(crate) struct Verifier {
    lines: Pipeline<LineVerifier>,
    /// `None` if state hashes are not verified.
    states: Option<Pipeline<StateVerifier>>,
    /// `None` if blobs are not verified.
    blobs: Option<Pipeline<BlobVerifier>>,
    stopping: Arc<Stopping>,
    findings: Findings,
    spares: Vec<Spare>,
}

/// When verification stops.
struct Stopping {
    at_failure: bool,
    /// The place of the earliest failure found so far.
    earliest: AtomicU64,
}

impl Stopping {
    fn note(&self, found: &Findings) {
        if let Some(failure) = found.first_failure() {
            self.earliest.fetch_min(failure.place, Ordering::Relaxed);
        }
    }

    /// Verifies a batch, unless an earlier failure makes that unnecessary.
    fn verified(&self, batch: Arc<Batch>, verify: impl FnOnce(&Batch, &mut Findings)) -> Verified {
        let mut findings = Findings::default();
        if !self.is_behind_failure(batch.first) {
            verify(&batch, &mut findings);
            self.note(&findings);
        }
        (findings, batch.into_spare())
    }

    /// Whether an earlier failure makes it unnecessary to verify events from `first` on.
    fn is_behind_failure(&self, first: u64) -> bool {
        self.at_failure && first > self.earliest.load(Ordering::Relaxed)
    }
}

/// The findings of a batch, and its buffers if the batch is no longer needed.
type Verified = (Findings, Option<Spare>);

impl Verifier {
    /// A verifier of lines, of state hashes if there is a `hasher` for the state before the first line, and of blobs if there is a
    /// checker. If it stops at a failure, it verifies nothing after it.
    pub(crate) fn new(hasher: Option<StateHasher>, blobs: Option<BlobChecker>, stop_at_failure: bool) -> Self {
        let stopping = Arc::new(Stopping { at_failure: stop_at_failure, earliest: AtomicU64::new(u64::MAX) });
        let helpers = spare_cores().min(MAX_HELPERS);
        let room = (helpers + 1) * BATCHES_PER_THREAD;
        let worker = || LineVerifier { chain: ChainChecker::default(), stopping: stopping.clone() };
        let lines = Pipeline::parallel(worker(), (0..helpers).map(|_| worker()).collect(), room);
        let blobs = blobs.map(Arc::new).map(|checker| {
            let worker = || BlobVerifier { checker: checker.clone(), stopping: stopping.clone() };
            Pipeline::parallel(worker(), (0..helpers).map(|_| worker()).collect(), room)
        });
        let states =
            hasher.map(|hasher| StateVerifier { hasher, scratch: Scratch::default(), stopping: stopping.clone() });
        let states = states.map(|worker| Pipeline::serial(worker, room));
        Verifier { lines, states, blobs, stopping, findings: Findings::default(), spares: Vec::new() }
    }

    /// Whether state hashes are verified.
    pub(crate) fn hashes_states(&self) -> bool {
        self.states.is_some()
    }

    /// Whether blobs are verified.
    pub(crate) fn checks_blobs(&self) -> bool {
        self.blobs.is_some()
    }

    /// Queues a batch. Verifies batches on this thread, or waits, while there are too many in progress.
    pub(crate) fn submit(&mut self, mut batch: Batch) {
        self.submit_claims(&mut batch.notes.claims);
        let batch = Arc::new(batch);
        while let Some(states) = &mut self.states {
            if !states.is_full() {
                states.push(batch.clone());
                break;
            }
            let verified = states.ready_output();
            // Verifies lines rather than wait for the thread that hashes states.
            if !self.add(verified) && !self.lines.help() {
                self.take_states();
            }
        }
        while self.lines.is_full() {
            self.take_lines();
        }
        self.lines.push(batch);
    }

    fn submit_claims(&mut self, claims: &mut Vec<BlobClaim>) {
        while !claims.is_empty() {
            let job = claims.drain(..claims.len().min(CLAIMS_PER_JOB)).collect();
            while self.blobs.as_ref().is_some_and(Pipeline::is_full) {
                self.take_claims();
            }
            if let Some(blobs) = &mut self.blobs {
                blobs.push(job);
            }
        }
    }

    /// Like [`take_lines`](Self::take_lines), for claims about blobs.
    fn take_claims(&mut self) -> bool {
        let Some((_, found)) = self.blobs.as_mut().and_then(Pipeline::next_output) else { return false };
        self.findings.merge(found);
        true
    }

    /// Waits for the result of a batch of lines, and adds it. Returns false if there are no batches in progress.
    fn take_lines(&mut self) -> bool {
        let verified = self.lines.next_output();
        self.add(verified)
    }

    /// Like [`take_lines`](Self::take_lines), for state hashes.
    fn take_states(&mut self) -> bool {
        let verified = self.states.as_mut().and_then(Pipeline::next_output);
        self.add(verified)
    }

    fn add(&mut self, verified: Option<(u64, Verified)>) -> bool {
        let Some((_, (found, spare))) = verified else { return false };
        self.findings.merge(found);
        self.spares.extend(spare);
        true
    }

    /// Whether a failure was found at which verification stops.
    pub(crate) fn has_failed(&self) -> bool {
        self.stopping.at_failure && self.stopping.earliest.load(Ordering::Relaxed) != u64::MAX
    }

    /// The buffers of a verified batch, or new ones.
    pub(crate) fn spare(&mut self) -> Spare {
        self.spares.pop().unwrap_or_default()
    }

    /// Adds findings from elsewhere.
    pub(crate) fn report(&mut self, found: Findings) {
        self.stopping.note(&found);
        self.findings.merge(found);
    }

    /// Waits until all batches are verified. Returns the findings and, if states were hashed, the hasher of the state after the last batch.
    ///
    /// # Panics
    ///
    /// If the verification of a batch panicked.
    pub(crate) fn finish(mut self) -> (Findings, Option<StateHasher>) {
        while self.take_lines() {}
        while self.take_states() {}
        while self.take_claims() {}
        let hasher = self.states.and_then(Pipeline::into_worker).map(|worker| worker.hasher);
        (self.findings, hasher)
    }
}

/// Verifies the lines of batches.
struct LineVerifier {
    chain: ChainChecker,
    stopping: Arc<Stopping>,
}

impl Worker for LineVerifier {
    type Job = Arc<Batch>;
    type Output = Verified;

    fn work(&mut self, batch: Arc<Batch>) -> Verified {
        let stopping = self.stopping.clone();
        stopping.verified(batch, |batch, findings| self.verify(batch, findings))
    }
}

impl LineVerifier {
    fn verify(&mut self, batch: &Batch, findings: &mut Findings) {
        let lines = (batch.first..).zip(&batch.notes.offsets);
        let lines = lines.map_while(|(time, offsets)| offsets.hashed_parts(batch.chunk.bytes(), time));
        self.chain.check_all(&batch.previous, lines, findings.of_mut(Aspect::Chain));
    }
}

/// Verifies what events say about blobs.
struct BlobVerifier {
    checker: Arc<BlobChecker>,
    stopping: Arc<Stopping>,
}

impl Worker for BlobVerifier {
    type Job = Vec<BlobClaim>;
    type Output = Findings;

    fn work(&mut self, mut claims: Vec<BlobClaim>) -> Findings {
        let mut findings = Findings::default();
        claims.retain(|claim| !self.stopping.is_behind_failure(claim.time));
        // Those that read a whole blob come first: then it is not hashed again for others.
        for is_whole in [true, false] {
            let claims = claims.iter().filter(|claim| claim.normalizes() == is_whole);
            claims.for_each(|claim| self.checker.check(claim, &mut findings));
        }
        self.stopping.note(&findings);
        findings
    }
}

/// Verifies the state hashes of batches, in order.
struct StateVerifier {
    /// The hasher of the state after the batches so far.
    hasher: StateHasher,
    scratch: Scratch,
    stopping: Arc<Stopping>,
}

impl Worker for StateVerifier {
    type Job = Arc<Batch>;
    type Output = Verified;

    fn work(&mut self, batch: Arc<Batch>) -> Verified {
        let stopping = self.stopping.clone();
        stopping.verified(batch, |batch, findings| self.verify(batch, findings))
    }
}

impl StateVerifier {
    fn verify(&mut self, batch: &Batch, findings: &mut Findings) {
        let parts = |event: usize| {
            batch.notes.offsets.get(event)?.hashed_parts(batch.chunk.bytes(), batch.first + event as u64)
        };
        let check = findings.of_mut(Aspect::StateHashes);
        batch.notes.changes.verify(batch.first, parts, &mut self.hasher, &mut self.scratch, check);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::format::{ErrorCode, EventLine, GENESIS, RunError, log_of};
    use crate::run::read::LogReader;
    use crate::run::verify::check::Check;

    /// Each line of a log as a separate batch.
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

    fn chain_of(log: &[u8], mut verifier: Verifier) -> Check {
        batches(log).into_iter().for_each(|batch| verifier.submit(batch));
        verifier.finish().0.of(Aspect::Chain).clone()
    }

    fn damaged() -> Vec<u8> {
        let log = String::from_utf8(log_of(200, 10)).unwrap();
        log.replace("\"n\":20}", "\"n\":21}").replace("\"n\":150}", "\"n\":151}").into_bytes()
    }

    #[test]
    fn every_batch_is_verified_on_whichever_thread() {
        let check = chain_of(&damaged(), Verifier::new(None, None, false));
        assert_eq!((check.checked, check.failed), (200, 2));
        assert_eq!(check.first_failure.unwrap().place, 20);
    }

    #[test]
    fn known_failure_does_not_hide_earlier_ones() {
        let mut verifier = Verifier::new(None, None, true);
        let mut findings = Findings::default();
        findings.of_mut(Aspect::Chain).fail(100, RunError::new(ErrorCode::ChainBroken, "known"));
        verifier.report(findings);
        assert!(verifier.has_failed());
        let check = chain_of(&damaged(), verifier);
        assert_eq!(check.first_failure.unwrap().place, 20);
        assert!(check.checked < 200, "what comes behind is passed over");
    }

    /// Batches whose verification panics, because their logical times overflow.
    fn impossible(log: &[u8]) -> impl Iterator<Item = Batch> {
        batches(log).into_iter().map(|mut batch| {
            let offsets = batch.notes.offsets[0];
            batch.notes.offsets.push(offsets);
            Batch { first: u64::MAX, ..batch }
        })
    }

    #[test]
    fn a_panic_of_a_verification_reaches_the_caller() {
        for count in [1, 50] {
            let log = log_of(50, 50);
            let verified = std::panic::catch_unwind(|| {
                let mut verifier = Verifier::new(None, None, false);
                impossible(&log).take(count).for_each(|batch| verifier.submit(batch));
                verifier.finish()
            });
            assert!(verified.unwrap_err().downcast_ref::<&str>().unwrap().contains("overflow"));
        }
    }
}
