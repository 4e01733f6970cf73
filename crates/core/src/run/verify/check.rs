//! The results of a verification: for each aspect how many checks failed or were impossible, and the first failure.

use crate::run::format::RunError;

/// An aspect of a run that is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// Lines, their order, their hashes, and that the state allows each event.
    Chain,
    /// Workflow, graph and run belong together.
    Dag,
    /// Tasks were assigned as the scheduler decides.
    Schedule,
    /// The state after each event has the recorded hash.
    StateHashes,
    /// The outputs of tools have the recorded hashes.
    OutputHashes,
    /// The snapshots match the log.
    Snapshots,
    /// The stored blobs have their hashes and sizes.
    Blobs,
}

/// The result of verifying one aspect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Number of checks, including failed ones.
    pub checked: u64,
    /// Number of failed checks.
    pub failed: u64,
    /// Number of things that could not be checked.
    pub unverifiable: u64,
    /// The failure of the earliest event.
    pub first_failure: Option<Failure>,
    /// The place of the latest event that failed.
    latest: Option<u64>,
}

/// What is wrong with an event, and its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The logical time expected at this place, which may differ from the event's own.
    pub place: u64,
    /// The error.
    pub error: RunError,
}

impl Check {
    /// Whether something was checked, nothing failed and nothing was unverifiable.
    pub fn holds(&self) -> bool {
        self.checked > 0 && self.failed == 0 && self.unverifiable == 0
    }

    /// Counts a failure of an event that was counted as checked. Of two failures at the same place, the first is kept.
    pub fn fail(&mut self, place: u64, error: RunError) {
        self.failed += 1;
        self.latest = self.latest.max(Some(place));
        self.remember(Failure { place, error });
    }

    /// Counts a failure unless the event at `place` is the latest that failed: an event fails once.
    pub fn fail_too(&mut self, place: u64, error: RunError) {
        if self.latest != Some(place) {
            self.fail(place, error);
        }
    }

    fn remember(&mut self, failure: Failure) {
        if self.first_failure.as_ref().is_none_or(|first| failure.place < first.place) {
            self.first_failure = Some(failure);
        }
    }

    fn merge(&mut self, other: Check) {
        self.checked += other.checked;
        self.failed += other.failed;
        self.unverifiable += other.unverifiable;
        self.latest = self.latest.max(other.latest);
        if let Some(failure) = other.first_failure {
            self.remember(failure);
        }
    }
}

/// The result of a verification: a [`Check`] for each aspect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings([Check; ASPECTS.len()]);

/// In the order in which failures of the same event are reported: a failure of a later aspect may be a consequence of an earlier one.
const ASPECTS: [Aspect; 7] = [
    Aspect::Dag,
    Aspect::Chain,
    Aspect::Schedule,
    Aspect::StateHashes,
    Aspect::OutputHashes,
    Aspect::Blobs,
    Aspect::Snapshots,
];

impl Findings {
    /// The result for `aspect`.
    pub fn of(&self, aspect: Aspect) -> &Check {
        &self.0[aspect as usize]
    }

    /// The result for `aspect`, to add to.
    pub fn of_mut(&mut self, aspect: Aspect) -> &mut Check {
        &mut self.0[aspect as usize]
    }

    /// Adds findings of other events or threads. Of two failures of an aspect at the same place, the one merged first is kept.
    pub fn merge(&mut self, other: Findings) {
        for (check, other) in self.0.iter_mut().zip(other.0) {
            check.merge(other);
        }
    }

    /// The failure of the earliest event.
    pub fn first_failure(&self) -> Option<&Failure> {
        // `min_by_key` returns the first of equals, in the order of the aspects.
        ASPECTS.iter().filter_map(|&aspect| self.of(aspect).first_failure.as_ref()).min_by_key(|failure| failure.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::format::ErrorCode;

    fn error(code: ErrorCode) -> RunError {
        RunError::new(code, "")
    }

    #[test]
    fn unchecked_claims_do_not_hold() {
        let checked = Check { checked: 1, ..Check::default() };
        assert!(checked.holds());
        assert!(!Check::default().holds());
        assert!(!Check { unverifiable: 1, ..checked.clone() }.holds());
        let mut failed = checked;
        failed.fail(0, error(ErrorCode::ChainBroken));
        assert!(!failed.holds());
    }

    #[test]
    fn the_first_failure_is_that_of_the_earliest_event_in_whatever_order_they_are_found() {
        let mut found = Findings::default();
        for (aspect, place, code) in [
            (Aspect::Chain, 9, ErrorCode::AfterEnd),
            (Aspect::OutputHashes, 4, ErrorCode::BlobMissing),
            (Aspect::StateHashes, 4, ErrorCode::StateMismatch),
            (Aspect::Chain, 5, ErrorCode::ChainBroken),
        ] {
            let mut later = Findings::default();
            later.of_mut(aspect).fail(place, error(code));
            found.merge(later);
        }
        assert_eq!(found.of(Aspect::Chain).failed, 2);
        assert_eq!(found.of(Aspect::Chain).first_failure.as_ref().unwrap().place, 5);
        assert_eq!(found.first_failure().unwrap().error.code, ErrorCode::StateMismatch);
    }
}
