//! Replay of a bundle. One that begins with a snapshot has no first event: its replay begins with the snapshot's state.

use std::time::Instant;

use super::open::Opened;
use super::path::SNAPSHOT;
use crate::hash::{as_text, to_hex};
use crate::run::blob::BlobStore;
use crate::run::directory::RunDirectory;
use crate::run::error::{ErrorCode, RunError};
use crate::run::fold::{Folded, Origin, Rules, Watch, fold};
use crate::run::outputs::OutputChecker;
use crate::run::redactions::Redactions;
use crate::run::replay::{Failed, Metrics, ReplayOptions, Replayed, Verify, replay as replay_run};
use crate::run::snapshot::{Snapshot, snapshot_id};
use crate::run::start_from::StartFrom;
use crate::run::state::State;
use crate::run::state_hash::{StateHasher, state_hash};
use crate::run::trace::{Range, Trace};
use crate::run::verifier::Verifier;
use crate::run::verify::{Verification, verify, verify_behind};
use crate::signature::TrustedKeys;

/// Replays a run that was opened, as [`replay`](replay_run) does its directory. What is redacted in it, its manifest says.
pub fn replay(opened: &Opened, options: &ReplayOptions, watch: &mut Watch<'_>) -> Result<Replayed, Box<Failed>> {
    let options = match opened.manifest {
        Some(_) => ReplayOptions { redactions: opened.redactions.of_run(), ..options.clone() },
        None => options.clone(),
    };
    let options = match &options.beginning {
        // No manifest lists what was brought from elsewhere.
        StartFrom::SnapshotFile(path) if path.components().count() > 1 && !opened.is_partial() => options,
        _ => ReplayOptions { trusted: opened.keys_for_snapshots(&options.trusted), ..options },
    };
    if opened.is_partial() {
        let partial = PartialReplay { run: opened.run_directory(), options: &options };
        return partial.replay(watch);
    }
    replay_run(&opened.run_directory(), &options, watch)
}

/// Verifies a run that was opened, as [`verify`] does its directory: what is redacted or not there is unverifiable. If there are
/// trusted keys, its snapshots must be signed by one of them.
pub fn verify_run(opened: &Opened, trusted: &TrustedKeys, watch: &mut Watch<'_>) -> Result<Verification, RunError> {
    let (directory, redactions) = (opened.run_directory(), opened.redactions.of_run());
    let trusted = opened.keys_for_snapshots(trusted);
    if opened.is_partial() {
        return verify_behind(&directory, origin(&directory, &trusted), &redactions, watch);
    }
    verify(&directory, &trusted, &redactions, watch)
}

/// The events of a run that was opened. Where its log begins, its manifest says, whatever `range` does.
pub fn trace(opened: &Opened, range: Range) -> Result<Trace, RunError> {
    let partial = opened.manifest.as_ref().and_then(|manifest| manifest.partial.as_ref());
    let first = Some(partial.map_or(0, |partial| partial.logical_time + 1));
    Trace::open(&opened.run_directory().log(), Range { first, ..range }, opened.redactions.of_run())
}

/// The state with which a partial bundle begins, and what its log is chained to. If there are trusted keys, one of them must have
/// signed the snapshot: see [`Opened::keys_for_snapshots`].
fn origin(run: &RunDirectory, trusted: &TrustedKeys) -> Result<Origin, RunError> {
    let content = Snapshot::read(&run.root().join(SNAPSHOT), trusted)?.content;
    let invalid =
        |why: &str| RunError::new(ErrorCode::SnapshotInvalid, format!("The bundle's snapshot can't be used: {why}"));
    let state = State::from_canonical(std::str::from_utf8(&content.state).unwrap_or_default())?;
    if state.run().is_none() || state.logical_time() != Some(content.logical_time) {
        return Err(invalid("its state is of another time, or of no run"));
    }
    let found = state_hash(&state).map(|hash| to_hex(&hash));
    if found != Some(content.state_hash) {
        let error = invalid("its state is not the one whose hash it has");
        return Err(error.compared(as_text(&content.state_hash), found.as_ref().map_or("", as_text)));
    }
    Ok(Origin { state, previous: content.event_hash, offset: 0 })
}

struct PartialReplay<'r> {
    run: RunDirectory,
    options: &'r ReplayOptions,
}

impl PartialReplay<'_> {
    fn replay(&self, watch: &mut Watch<'_>) -> Result<Replayed, Box<Failed>> {
        let started = Instant::now();
        let failed = |error, state| Box::new(Failed { error, state, warnings: Vec::new() });
        let origin = self.origin().map_err(|error| failed(error, None))?;
        let first = origin.state.next_time();
        let verifier = self.verifier(&origin.state);
        let schedule = self.options.verify == Verify::Full;
        let folded = self.fold(origin, self.options.until, schedule, verifier, watch);
        let folded = folded.map_err(|stop| failed(stop.0, Some(stop.1)))?;
        if let Some(failure) = folded.findings.first_failure().cloned() {
            let is_next = failure.place >= folded.state.next_time();
            let state = if is_next { Some(folded.state) } else { self.state_before(failure.place, watch) };
            return Err(failed(failure.error, state));
        }
        let Some(state_hash) = folded.state_hash() else { return Err(failed(crate::run::origin::empty_log(), None)) };
        let event_count = folded.state.next_time();
        let metrics = Metrics { events: event_count - first, bytes: folded.offset, elapsed: started.elapsed() };
        let from_snapshot = first.checked_sub(1).map(snapshot_id);
        Ok(Replayed { state: folded.state, state_hash, event_count, from_snapshot, metrics, warnings: Vec::new() })
    }

    fn origin(&self) -> Result<Origin, RunError> {
        let origin = origin(&self.run, &self.options.trusted)?;
        let begins = origin.state.logical_time().unwrap_or(0);
        if self.options.until.is_some_and(|until| until < begins) {
            let message =
                format!("The bundle begins after the event at time {begins}: nothing is known of the time before");
            return Err(RunError::new(ErrorCode::SnapshotInvalid, message).at(begins));
        }
        Ok(origin)
    }

    fn verifier(&self, before: &State) -> Option<Verifier> {
        match self.options.verify {
            Verify::None => None,
            Verify::Chain => Some(Verifier::new(None, None, true)),
            Verify::Full => {
                let outputs = OutputChecker::new(BlobStore::new(self.run.blobs()), self.options.redactions.clone());
                Some(Verifier::new(Some(StateHasher::of(before)), Some(outputs), true))
            }
        }
    }

    fn fold(
        &self,
        origin: Origin,
        until: Option<u64>,
        schedule: bool,
        verifier: Option<Verifier>,
        watch: &mut Watch<'_>,
    ) -> Result<Folded, Box<(RunError, State)>> {
        let redactions: &Redactions = &self.options.redactions;
        fold(&self.run.log(), origin, Rules { until, redactions, schedule, observer: None }, verifier, watch)
    }

    /// The state before the event at `place`, made again: the fold had gone on when something was found to be wrong there.
    fn state_before(&self, place: u64, watch: &mut Watch<'_>) -> Option<State> {
        let origin = self.origin().ok()?;
        let last = place.checked_sub(1)?;
        if last < origin.state.next_time() {
            return Some(origin.state);
        }
        let mut silent = Watch { cancelled: watch.cancelled, progress: &mut |_, _| {} };
        let folded = self.fold(origin, Some(last), false, None, &mut silent).ok()?;
        (folded.state.next_time() == place).then_some(folded.state)
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
