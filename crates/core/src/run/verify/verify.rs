//! Verifies a run: recomputes everything that can be recomputed, and counts the results (`docs/run-format.md` section 13).

use std::path::Path;

use super::blob_claims::BlobChecker;
use super::check::{Aspect, Check, Findings};
use super::verifier::Verifier;
use crate::lines::Lines;
use crate::run::format::{Created, ErrorCode, EventLine, Kind, Redactions, RunError};
use crate::run::graph::Graphs;
use crate::run::read::{FoldRules, Folded, LogReader, fold};
use crate::run::replay::{ReplayStart, StartResolver};
use crate::run::state::{Snapshot, StateHasher};
use crate::run::store::RunDirectory;
use crate::signature::TrustedKeys;
use crate::task::Task;

/// The result of verifying a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The results by aspect. The four flags of the API say whether an aspect [holds](Check::holds).
    pub findings: Findings,
}

impl Verification {
    /// The result for one aspect.
    pub fn check(&self, aspect: Aspect) -> &Check {
        self.findings.of(aspect)
    }

    /// Whether the chain holds, and nothing failed or was unverifiable in the other aspects. These may have nothing to check, such as
    /// outputs or snapshots.
    pub fn is_ok(&self) -> bool {
        let aspects = [
            Aspect::Dag,
            Aspect::Schedule,
            Aspect::StateHashes,
            Aspect::OutputHashes,
            Aspect::Snapshots,
            Aspect::Blobs,
        ];
        let holds = |aspect: &Aspect| self.check(*aspect).failed == 0 && self.check(*aspect).unverifiable == 0;
        self.check(Aspect::Chain).holds() && aspects.iter().all(holds)
    }
}

impl RunDirectory {
    /// Verifies the run. If there are trusted keys, its snapshots must be signed by one of them.
    ///
    /// Returns an error only if something can't be read, or if the caller cancelled. Problems of the run are findings.
    pub fn verify(
        &self,
        trusted: &TrustedKeys,
        redactions: &Redactions,
        task: &mut Task<'_>,
    ) -> Result<Verification, RunError> {
        let created = Created::read(&self.log(), redactions);
        if let Err(error) = &created
            && error.code == ErrorCode::SystemError
        {
            return Err(self.explain_absence(error.clone()));
        }
        let graphs = Graphs::read(self);
        let mut findings = Findings::default();
        graphs.check(created.as_ref().ok(), redactions, findings.of_mut(Aspect::Dag));
        let resolver = StartResolver { directory: self, trusted, redactions, until: None };
        check_snapshots(&resolver, findings.of_mut(Aspect::Snapshots), task)?;
        let Some(dag) = graphs.of_run(created.as_ref().ok()) else {
            // Without the graph there is no state, and without a state nothing else can be verified.
            let error = graphs.into_error().unwrap_or_else(RunError::empty_log);
            return without_state(self, error, findings);
        };
        verify_events(self, ReplayStart::first_event(dag), redactions, findings, task)
    }

    /// Verifies the run of a partial bundle, whose log begins after `snapshot`. The events before it are not in the bundle. They count as
    /// unverifiable, and so does the graph, which only the first of them names.
    ///
    /// Returns an error in the same cases as [`verify`](Self::verify).
    pub fn verify_partial(
        &self,
        snapshot: &Path,
        trusted: &TrustedKeys,
        redactions: &Redactions,
        task: &mut Task<'_>,
    ) -> Result<Verification, RunError> {
        let resolver = StartResolver { directory: self, trusted, redactions, until: None };
        let mut findings = Findings::default();
        findings.of_mut(Aspect::Snapshots).checked = 1;
        let start = match resolver.after_bundle_snapshot(snapshot) {
            Ok(start) => start,
            Err(error) if matches!(error.code, ErrorCode::SystemError | ErrorCode::Cancelled) => return Err(error),
            Err(error) => {
                findings.of_mut(Aspect::Snapshots).fail(0, error.clone());
                findings.of_mut(Aspect::Dag).unverifiable += 1;
                return without_state(self, error, findings);
            }
        };
        Graphs::read(self).check_with(start.state.dag(), findings.of_mut(Aspect::Dag));
        findings.of_mut(Aspect::Chain).unverifiable += start.state.next_time();
        verify_events(self, start, redactions, findings, task)
    }
}

/// Verifies the events from `start` on, and adds the results to `findings`.
fn verify_events(
    directory: &RunDirectory,
    start: ReplayStart,
    redactions: &Redactions,
    mut findings: Findings,
    task: &mut Task<'_>,
) -> Result<Verification, RunError> {
    let first = start.state.next_time();
    let hasher = StateHasher::of(&start.state);
    let blobs = BlobChecker::new(directory.blob_store(), redactions.clone());
    let verifier = Verifier::new(Some(hasher), Some(blobs), false);
    let rules = FoldRules { until: None, redactions, schedule: true, observer: None };
    let folded = fold(&directory.log(), start, rules, Some(verifier), task).map_err(|stop| stop.0)?;
    // What was cancelled while blobs were read is no finding.
    task.check()?;
    findings.merge(folded.findings.clone());
    // Complete lines after a hole: a power cut may have left them, but if it was not a power cut that made the hole, they were events.
    findings.of_mut(Aspect::Chain).unverifiable += folded.torn.lines;
    count_rest(&directory.log(), &folded, first, &mut findings)?;
    Ok(Verification { findings })
}

/// The verification of a run without a state to begin with: its lines can only be counted.
fn without_state(directory: &RunDirectory, error: RunError, mut findings: Findings) -> Result<Verification, RunError> {
    findings.of_mut(Aspect::Chain).checked += 1;
    findings.of_mut(Aspect::Chain).fail(0, error);
    Rest::of(&directory.log(), 0)?.count(&mut findings);
    Ok(Verification { findings })
}

/// Checks that a replay could begin from each snapshot. The caller may cancel it, because snapshots may be many and large.
fn check_snapshots(resolver: &StartResolver<'_>, check: &mut Check, task: &Task<'_>) -> Result<(), RunError> {
    let times = resolver.directory.snapshot_times().unwrap_or_else(|error| {
        check.checked += 1;
        check.fail(0, error);
        Vec::new()
    });
    for time in times {
        task.check()?;
        check.checked += 1;
        if let Err(error) = resolver.after_snapshot(time) {
            let message = format!("{}: {}", Snapshot::id_at(time), error.message);
            check.fail(time, RunError { message, ..error.at_unless_known(time) });
        }
    }
    Ok(())
}

/// Counts the lines after a refused event as unverifiable. `first` is the time of the log's first event.
fn count_rest(path: &Path, folded: &Folded, first: u64, findings: &mut Findings) -> Result<(), RunError> {
    let taken = folded.state.next_time() - first;
    if folded.refused {
        let chain = findings.of_mut(Aspect::Chain);
        // The refused event counts as checked, whether or not its hashes were checked.
        chain.checked = chain.checked.max(taken + 1);
        Rest::of(path, taken)?.count(findings);
    } else if folded.state.run().is_none() {
        let chain = findings.of_mut(Aspect::Chain);
        chain.checked += 1;
        chain.fail(0, RunError::empty_log());
    }
    Ok(())
}

/// Counts of the complete lines of a log that were not folded.
#[derive(Default)]
struct Rest {
    lines: u64,
    assigned: u64,
    completed: u64,
    stored: u64,
}

impl Rest {
    /// The lines after the first `taken`.
    fn of(path: &Path, taken: u64) -> Result<Self, RunError> {
        let mut reader = LogReader::open(path)?;
        let (mut rest, mut passed, mut spare) = (Rest::default(), 0, Vec::new());
        loop {
            let chunk = match reader.next_chunk(spare) {
                Ok(Some(chunk)) => chunk,
                // The content of a line that is too long to be read is unknown.
                Err(error) if error.code == ErrorCode::TooLarge => {
                    rest.add(None);
                    return Ok(rest);
                }
                Ok(None) => return Ok(rest),
                Err(error) => return Err(error),
            };
            for (_, line) in Lines::new(chunk.bytes()) {
                passed += 1;
                if passed > taken {
                    rest.add(std::str::from_utf8(line).ok());
                }
            }
            spare = chunk.into_spare();
        }
    }

    /// Counts a line. A line that can't be parsed may have been of any kind.
    fn add(&mut self, line: Option<&str>) {
        let kind = line.and_then(|line| EventLine::split(line).ok()).map(|event| Kind::parse(event.kind));
        self.lines += 1;
        self.assigned += u64::from(matches!(kind, None | Some(None | Some(Kind::TaskAssigned))));
        self.completed += u64::from(matches!(kind, None | Some(None | Some(Kind::ToolCompleted))));
        self.stored += u64::from(matches!(kind, None | Some(None | Some(Kind::BlobStored))));
    }

    fn count(&self, findings: &mut Findings) {
        // The first line was counted as failed.
        findings.of_mut(Aspect::Chain).unverifiable += self.lines.saturating_sub(1);
        findings.of_mut(Aspect::StateHashes).unverifiable += self.lines;
        findings.of_mut(Aspect::Schedule).unverifiable += self.assigned;
        findings.of_mut(Aspect::OutputHashes).unverifiable += self.completed;
        findings.of_mut(Aspect::Blobs).unverifiable += self.stored;
    }
}

#[cfg(test)]
mod tests;
