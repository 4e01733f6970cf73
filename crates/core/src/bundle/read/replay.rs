//! Replay, verification and trace of opened runs, plain or in bundles: adds redactions, partial logs and signed manifests.

use super::open::OpenedBundle;
use crate::bundle::format::SNAPSHOT;
use crate::run::read::{Range, Trace};
use crate::run::{Failed, ReplayOptions, Replayed, RunError, StartFrom, Verification};
use crate::signature::TrustedKeys;
use crate::task::Task;

impl OpenedBundle {
    /// Replays an opened run like [`RunDirectory::replay`](crate::run::RunDirectory::replay). A partial bundle is always replayed from its snapshot, regardless of `options.start_from`.
    pub fn replay(&self, options: &ReplayOptions, task: &mut Task<'_>) -> Result<Replayed, Box<Failed>> {
        let mut options = options.clone();
        options.redactions = self.redactions.of_run();
        if self.is_partial() {
            options.start_from = StartFrom::BundleSnapshot(self.root().join(SNAPSHOT));
        }
        // The manifest's signature does not cover a snapshot outside the run's directory, so such a snapshot needs one of its own.
        let is_from_elsewhere =
            matches!(&options.start_from, StartFrom::SnapshotFile(path) if path.components().count() > 1);
        if !is_from_elsewhere {
            options.trusted = self.keys_for_snapshots(&options.trusted);
        }
        self.run_directory().replay(&options, task)
    }

    /// Verifies an opened run like [`RunDirectory::verify`](crate::run::RunDirectory::verify). Redacted and missing data are unverifiable. With trusted keys, snapshots must
    /// be signed by one of them, unless the manifest is.
    pub fn verify(&self, trusted: &TrustedKeys, task: &mut Task<'_>) -> Result<Verification, RunError> {
        let (directory, redactions) = (self.run_directory(), self.redactions.of_run());
        let trusted = self.keys_for_snapshots(trusted);
        if self.is_partial() {
            return directory.verify_partial(&self.root().join(SNAPSHOT), &trusted, &redactions, task);
        }
        directory.verify(&trusted, &redactions, task)
    }

    /// Reads the events of an opened run. `range.first` is ignored: the manifest contains the first time of a partial log.
    pub fn trace(&self, range: Range) -> Result<Trace, RunError> {
        let first = Some(self.manifest.partial.as_ref().map_or(0, |partial| partial.logical_time + 1));
        Trace::open(&self.run_directory().log(), Range { first, ..range }, self.redactions.of_run())
    }
}

#[cfg(test)]
mod tests;
