//! The fold of a log into a state, from the first event or from any later state on.

use std::path::Path;

use super::decoded_chunk::{DecodedLine, DecodedLines, EventBuffer, Fault};
use super::decoded_event::Event;
use super::event_reader::check_time;
use super::log::TornEnd;
use super::read_ahead::{AheadChunk, AheadRules, ReadAhead};
use crate::hash::{HexHash, to_hex};
use crate::run::format::{ErrorCode, Payload, Redactions, RunError};
use crate::run::graph::check_assignment;
use crate::run::replay::ReplayStart;
use crate::run::state::{NoSink, State, StateHasher, Tape};
use crate::run::verify::{Aspect, Batch, BlobClaim, Check, Findings, Notes, Spare, Verifier};
use crate::task::Task;

/// Which events a fold applies, and what it checks.
pub(crate) struct FoldRules<'r> {
    /// Logical time of the last event to apply. `None` applies all events.
    pub until: Option<u64>,
    /// Lists what may be missing from the log.
    pub redactions: &'r Redactions,
    /// Whether to compare assignments with the decisions of the scheduler.
    pub schedule: bool,
    /// Called after each applied event.
    pub observer: Option<Observer<'r>>,
}

/// A callback with the state after an event, and the event.
pub(super) type Observer<'r> = &'r mut dyn FnMut(&State, &Event<'_>);

/// The result of a fold.
pub(crate) struct Folded {
    /// The state after the last applied event.
    pub state: State,
    /// With a verifier, the stored hash of the last line that had the expected time; otherwise that of the line before the first one.
    pub last_hash: HexHash,
    /// The offset in the log after the last line read.
    pub offset: u64,
    /// What follows the last line.
    pub torn: TornEnd,
    /// The findings of the verifier and, if the next event was refused, the reason.
    pub findings: Findings,
    /// Whether the event after the last applied one was refused.
    pub refused: bool,
    /// The hasher of the state, if the verifier hashed states. Valid only if nothing has failed.
    pub hasher: Option<StateHasher>,
}

impl Folded {
    /// The hash of the state. Returns `None` before RunCreated.
    pub(crate) fn state_hash(&self) -> Option<HexHash> {
        let hash = match &self.hasher {
            Some(hasher) => hasher.state_hash(&self.state),
            None => self.state.hash(),
        };
        hash.map(|hash| to_hex(&hash))
    }
}

/// Folds the log at `path` from `start` on. A verifier, if given, checks each event as well, and may end the fold at a failure.
///
/// Returns an error, with the state so far, if the log can't be read or the fold was cancelled. Invalid events are reported in the
/// [findings](Folded::findings).
pub(crate) fn fold(
    path: &Path,
    start: ReplayStart,
    rules: FoldRules<'_>,
    verifier: Option<Verifier>,
    task: &mut Task<'_>,
) -> Result<Folded, Box<(RunError, State)>> {
    let mut fold = Fold::new(start, rules, verifier);
    let result = fold.run(path, task);
    let Fold { state, previous: last_hash, offset, torn, verifier, .. } = fold;
    let (mut findings, hasher) = verifier.map(Verifier::finish).unwrap_or_default();
    let refused = match result {
        Ok(()) => None,
        Err(Stop::Refused(error)) => Some(error),
        Err(Stop::Outside(error)) => return Err(Box::new((error, state))),
    };
    let is_refused = refused.is_some();
    if let Some(error) = refused {
        // Added last: if the verifier found that the line was changed, that explains more than that the changed event is illegal.
        let place = state.next_time();
        findings.of_mut(Aspect::Chain).fail_too(place, error.at_unless_known(place));
    }
    Ok(Folded { state, last_hash, offset, torn, findings, refused: is_refused, hasher })
}

/// Why a fold ended before the log did.
enum Stop {
    /// The next line is not an event, or not a legal one.
    Refused(RunError),
    /// The log can't be read, or the fold was cancelled.
    Outside(RunError),
}

/// A fold in progress.
struct Fold<'r> {
    state: State,
    previous: HexHash,
    rules: FoldRules<'r>,
    verifier: Option<Verifier>,
    offset: u64,
    torn: TornEnd,
    /// The buffers of folded chunks. A verifier keeps them itself, if there is one.
    spares: Vec<Spare>,
}

/// The results of folding a chunk, in addition to the state.
#[derive(Default)]
struct ChunkResult {
    notes: Notes,
    schedule: Check,
    /// Number of lines that had the expected time.
    in_order: usize,
}

impl<'r> Fold<'r> {
    fn new(start: ReplayStart, rules: FoldRules<'r>, verifier: Option<Verifier>) -> Self {
        let ReplayStart { state, previous, offset } = start;
        Fold { state, previous, rules, verifier, offset, torn: TornEnd::default(), spares: Vec::new() }
    }

    /// Applies the events of the log at `path`, up to the last one wanted or until the verifier has failed.
    fn run(&mut self, path: &Path, task: &mut Task<'_>) -> Result<(), Stop> {
        let is_verified = self.verifier.is_some();
        // A verifier needs a core as well.
        let busy = usize::from(is_verified);
        let rules = AheadRules { redactions: self.rules.redactions, notes_offsets: is_verified, busy };
        let mut log = ReadAhead::open_at(path, self.offset, &rules).map_err(Stop::Outside)?;
        let total = log.size();
        while self.wants_more() {
            task.check().map_err(|cancelled| Stop::Outside(cancelled.into()))?;
            let Fold { verifier, spares, .. } = self;
            let spare = || verifier.as_mut().map_or_else(|| spares.pop().unwrap_or_default(), Verifier::spare);
            let Some(chunk) = log.next_chunk(spare).map_err(stopped)? else { break };
            let lines = chunk.lines.borrow_owner();
            self.offset = lines.offset + lines.bytes().len() as u64;
            log.reuse(self.take(chunk)?);
            task.report_bytes(self.offset, total).map_err(|cancelled| Stop::Outside(cancelled.into()))?;
        }
        self.torn = log.torn();
        Ok(())
    }

    fn wants_more(&self) -> bool {
        self.is_wanted() && !self.verifier.as_ref().is_some_and(Verifier::has_failed)
    }

    /// Whether `until` includes the next event.
    fn is_wanted(&self) -> bool {
        self.rules.until.is_none_or(|until| self.state.next_time() <= until)
    }

    /// Folds a chunk. Returns the memory of its list of events for reuse.
    fn take(&mut self, chunk: AheadChunk) -> Result<EventBuffer, Stop> {
        let AheadChunk { lines, notes } = chunk;
        let (first, previous) = (self.state.next_time(), self.previous);
        let mut draft = ChunkResult { notes, ..ChunkResult::default() };
        let result = if self.verifier.as_ref().is_some_and(Verifier::hashes_states) {
            let mut changes = std::mem::take(&mut draft.notes.changes);
            let result = self.fold(lines.borrow_dependent(), &mut draft, &mut changes);
            draft.notes.changes = changes;
            result
        } else {
            self.fold(lines.borrow_dependent(), &mut draft, &mut NoSink)
        };
        let (chunk, buffer) = lines.into_parts();
        let ChunkResult { mut notes, schedule, in_order } = draft;
        match &mut self.verifier {
            Some(verifier) => {
                notes.offsets.truncate(in_order);
                if let Some(parts) = notes.offsets.last().and_then(|last| last.hashed_parts(chunk.bytes(), 0)) {
                    self.previous = *parts.hash;
                }
                let mut findings = Findings::default();
                *findings.of_mut(Aspect::Schedule) = schedule;
                verifier.report(findings);
                verifier.submit(Batch { chunk, first, previous, notes });
            }
            None => {
                notes.clear();
                self.spares.push(Spare { lines: chunk.into_spare(), notes });
            }
        }
        result.map(|()| buffer).map_err(Stop::Refused)
    }

    fn fold(
        &mut self,
        lines: &DecodedLines<'_>,
        draft: &mut ChunkResult,
        tape: &mut impl Tape,
    ) -> Result<(), RunError> {
        for line in &lines.events {
            if !self.is_wanted() {
                return Ok(());
            }
            self.step(line, draft, tape)?;
        }
        match &lines.fault {
            Some(fault) if self.is_wanted() => Err(self.refusal(fault, draft)),
            _ => Ok(()),
        }
    }

    /// The error for the next line, which is not an event. A wrong time takes precedence.
    #[cold]
    fn refusal(&self, fault: &Fault, draft: &mut ChunkResult) -> RunError {
        if let Some(time) = fault.time {
            if let Err(gap) = check_time(Some(self.state.next_time()), time) {
                return gap;
            }
            draft.in_order += 1;
        }
        (*fault.error).clone()
    }

    #[inline]
    fn step(&mut self, line: &DecodedLine<'_>, draft: &mut ChunkResult, tape: &mut impl Tape) -> Result<(), RunError> {
        let event = &line.event;
        check_time(Some(self.state.next_time()), event.time)?;
        draft.in_order += 1;
        let is_decision = self.rules.schedule && matches!(event.payload, Payload::TaskAssigned { .. });
        let decision = is_decision.then(|| check_assignment(&self.state, event));
        self.state.apply_into(event, tape)?;
        if let Some(decision) = decision {
            // A redacted payload proves nothing, neither the worker of this event nor, in RunCreated, the scheduler of the run.
            let is_vouched_for = !line.is_redacted && !self.rules.redactions.events.contains(&0);
            let count = if is_vouched_for { &mut draft.schedule.checked } else { &mut draft.schedule.unverifiable };
            *count += 1;
            decision.unwrap_or_else(|error| draft.schedule.fail(event.time, error));
        }
        if self.verifier.as_ref().is_some_and(Verifier::checks_blobs) {
            draft.notes.claims.extend(BlobClaim::of(event.time, &event.payload, line.is_redacted));
        }
        if let Some(run) = self.state.run() {
            tape.end_event(run.status);
        }
        if let Some(observer) = &mut self.rules.observer {
            observer(&self.state, event);
        }
        Ok(())
    }
}

/// A line over the limit is an error of the next event; a system error is not.
fn stopped(error: RunError) -> Stop {
    match error.code {
        ErrorCode::SystemError => Stop::Outside(error),
        _ => Stop::Refused(error),
    }
}
