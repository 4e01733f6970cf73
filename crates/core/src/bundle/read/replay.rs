//! Replay, verification and trace of opened runs, plain or in bundles: adds redactions, partial logs and signed manifests.

use super::open::OpenedBundle;
use crate::bundle::format::SNAPSHOT;
use crate::run::{
    Failed, Range, ReplayOptions, Replayed, RunError, StartFrom, Trace, Verification, replay as replay_run, verify,
    verify_partial,
};
use crate::signature::TrustedKeys;
use crate::task::Task;

/// Replays an opened run like [`run::replay`](replay_run). A partial bundle is always replayed from its snapshot, regardless of `options.start_from`.
pub fn replay_opened(
    opened: &OpenedBundle,
    options: &ReplayOptions,
    task: &mut Task<'_>,
) -> Result<Replayed, Box<Failed>> {
    let mut options = options.clone();
    options.redactions = opened.redactions.of_run();
    if opened.is_partial() {
        options.start_from = StartFrom::BundleSnapshot(opened.root().join(SNAPSHOT));
    }
    // The manifest's signature does not cover a snapshot outside the run's directory, so such a snapshot needs one of its own.
    let is_from_elsewhere =
        matches!(&options.start_from, StartFrom::SnapshotFile(path) if path.components().count() > 1);
    if !is_from_elsewhere {
        options.trusted = opened.keys_for_snapshots(&options.trusted);
    }
    replay_run(&opened.run_directory(), &options, task)
}

/// Verifies an opened run like [`run::verify`](verify). Redacted and missing data are unverifiable. With trusted keys, snapshots must
/// be signed by one of them, unless the manifest is.
pub fn verify_opened(
    opened: &OpenedBundle,
    trusted: &TrustedKeys,
    task: &mut Task<'_>,
) -> Result<Verification, RunError> {
    let (directory, redactions) = (opened.run_directory(), opened.redactions.of_run());
    let trusted = opened.keys_for_snapshots(trusted);
    if opened.is_partial() {
        return verify_partial(&directory, &opened.root().join(SNAPSHOT), &trusted, &redactions, task);
    }
    verify(&directory, &trusted, &redactions, task)
}

/// Reads the events of an opened run. `range.first` is ignored: the manifest contains the first time of a partial log.
pub fn trace_opened(opened: &OpenedBundle, range: Range) -> Result<Trace, RunError> {
    let first = Some(opened.manifest.partial.as_ref().map_or(0, |partial| partial.logical_time + 1));
    Trace::open(&opened.run_directory().log(), Range { first, ..range }, opened.redactions.of_run())
}

#[cfg(test)]
mod tests;
