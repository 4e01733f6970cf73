//! Replays a run: computes its state at the end of the log or after any event, from the beginning or from a snapshot, with a choice of
//! verification (`docs/run-format.md` section 13).

use std::time::{Duration, Instant};

use super::replay_start::ReplayStart;
use super::start_from::StartFrom;
use super::start_resolver::StartResolver;
use crate::hash::HexHash;
use crate::run::format::{Redactions, RunError};
use crate::run::read::{FoldRules, Folded, TornEnd, fold};
use crate::run::state::{Snapshot, State, StateHasher};
use crate::run::store::RunDirectory;
use crate::run::verify::{BlobChecker, Failure, Verifier};
use crate::signature::TrustedKeys;
use crate::task::Task;

/// How much a replay verifies. In any case each line must have the form of an event, be in order, and be allowed by the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Nothing more: no hashes are computed.
    None,
    /// The hashes of lines and payloads.
    #[default]
    Chain,
    /// In addition the state hash after each event, the decisions of the scheduler, the outputs of tools, and stored blobs.
    Full,
}

/// Options of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// Where to start.
    pub start_from: StartFrom,
    /// Logical time of the last event to apply. `None` applies all events.
    pub until: Option<u64>,
    /// What to verify.
    pub verify: Verify,
    /// Trusted keys. If there are any, a snapshot must be signed by one of them.
    pub trusted: TrustedKeys,
    /// What a bundle lists as redacted.
    pub redactions: Redactions,
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The state after the last applied event.
    pub state: State,
    /// The hash of that state.
    pub state_hash: HexHash,
    /// Number of events that led to the state, including those before a snapshot.
    pub event_count: u64,
    /// The id of the snapshot from which the replay began, if any.
    pub from_snapshot: Option<String>,
    /// The cost of the replay.
    pub metrics: Metrics,
    /// Warnings: skipped snapshots, a torn last line.
    pub warnings: Vec<String>,
}

/// The cost of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Events folded.
    pub events: u64,
    /// Bytes of the log read.
    pub bytes: u64,
    /// Wall time.
    pub elapsed: Duration,
}

/// A failed replay.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The error.
    pub error: RunError,
    /// The state after the last event before the error. `None` if there is no such event.
    pub state: Option<State>,
    /// Warnings, as in [`Replayed`].
    pub warnings: Vec<String>,
}

impl RunDirectory {
    /// Replays the run.
    pub fn replay(&self, options: &ReplayOptions, task: &mut Task<'_>) -> Result<Replayed, Box<Failed>> {
        let started = Instant::now();
        let mut warnings = Vec::new();
        let replay = Replay { directory: self, options };
        let start = match replay.start(&mut warnings) {
            Ok(start) => start,
            Err(error) => {
                let error = self.explain_absence(error);
                return Err(Box::new(Failed { error, state: None, warnings }));
            }
        };
        let (first, offset) = (start.state.next_time(), start.offset);
        match replay.run(start, task) {
            Ok((folded, state_hash)) => {
                warnings.extend(torn_warning(&folded));
                let event_count = folded.state.next_time();
                let metrics =
                    Metrics { events: event_count - first, bytes: folded.offset - offset, elapsed: started.elapsed() };
                let from_snapshot = first.checked_sub(1).map(Snapshot::id_at);
                Ok(Replayed { state: folded.state, state_hash, event_count, from_snapshot, metrics, warnings })
            }
            Err(stopped) => Err(Box::new(Failed { error: stopped.error, state: stopped.state, warnings })),
        }
    }
}

struct Replay<'r> {
    directory: &'r RunDirectory,
    options: &'r ReplayOptions,
}

impl Replay<'_> {
    fn start(&self, warnings: &mut Vec<String>) -> Result<ReplayStart, RunError> {
        let ReplayOptions { start_from, until, trusted, redactions, .. } = self.options;
        let resolver = StartResolver { directory: self.directory, trusted, redactions, until: *until };
        resolver.resolve(start_from, warnings)
    }

    /// Folds from `start` on, and returns the result with the state hash. An error comes with the state before it.
    fn run(&self, start: ReplayStart, task: &mut Task<'_>) -> Result<(Folded, HexHash), Box<Stopped>> {
        let first = start.state.next_time();
        let (rules, verifier) = (self.rules(self.options.until), self.verifier(&start.state));
        let folded = fold(&self.directory.log(), start, rules, verifier, task).map_err(|stop| {
            let (error, state) = *stop;
            Stopped::new(error, Some(state))
        })?;
        if let Some(Failure { place, error }) = folded.findings.first_failure().cloned() {
            let is_next = place >= folded.state.next_time();
            let state = if is_next { Some(folded.state) } else { self.state_before(place, first, task) };
            return Err(Stopped::new(error, state));
        }
        match folded.state_hash() {
            Some(hash) => Ok((folded, hash)),
            None => Err(Stopped::new(RunError::empty_log(), None)),
        }
    }

    fn rules(&self, until: Option<u64>) -> FoldRules<'_> {
        FoldRules {
            until,
            redactions: &self.options.redactions,
            schedule: self.options.verify == Verify::Full,
            observer: None,
        }
    }

    fn verifier(&self, before: &State) -> Option<Verifier> {
        match self.options.verify {
            Verify::None => None,
            Verify::Chain => Some(Verifier::new(None, None, true)),
            Verify::Full => {
                let blobs = BlobChecker::new(self.directory.blob_store(), self.options.redactions.clone());
                Some(Verifier::new(Some(StateHasher::of(before)), Some(blobs), true))
            }
        }
    }

    /// The state before the event at `place`. It is folded again, because the fold was already further when the failure was found. Returns
    /// `None` if that fails.
    fn state_before(&self, place: u64, first: u64, task: &mut Task<'_>) -> Option<State> {
        let start = self.start(&mut Vec::new()).ok().filter(|start| start.state.next_time() == first)?;
        let Some(last) = place.checked_sub(1).filter(|last| *last >= first) else { return Some(start.state) };
        let rules = FoldRules { schedule: false, ..self.rules(Some(last)) };
        let mut silent = Task { cancellation: task.cancellation, progress: &mut |_| {} };
        let folded = fold(&self.directory.log(), start, rules, None, &mut silent).ok()?;
        (folded.state.next_time() == place).then_some(folded.state)
    }
}

fn torn_warning(folded: &Folded) -> Option<String> {
    match folded.torn {
        TornEnd { bytes: 0, .. } => None,
        TornEnd { bytes, lines: 0 } => {
            Some(format!("The last line of the log is torn: its {bytes} bytes are no part of the run"))
        }
        TornEnd { bytes, lines } => Some(format!(
            "There is a hole in the log behind its byte {}, as a power cut leaves it: {bytes} bytes with {lines} complete lines are no part of the \
             run. If no power was cut, the log is damaged there",
            folded.offset
        )),
    }
}

/// An error, with the state before it if there is one.
struct Stopped {
    error: RunError,
    state: Option<State>,
}

impl Stopped {
    fn new(error: RunError, state: Option<State>) -> Box<Self> {
        Box::new(Stopped { error, state: state.filter(|state| state.run().is_some()) })
    }
}

#[cfg(test)]
mod long_tests;
#[cfg(test)]
mod tests;
