//! Replay, verification and trace of a run that was opened: of the run as such, with what its manifest says of it.

use super::open::Opened;
use super::path::SNAPSHOT;
use crate::run::error::RunError;
use crate::run::fold::Watch;
use crate::run::replay::{Failed, ReplayOptions, Replayed, replay as replay_run};
use crate::run::start_from::StartFrom;
use crate::run::trace::{Range, Trace};
use crate::run::verify::{Verification, verify, verify_partial};
use crate::signature::TrustedKeys;

/// Replays a run that was opened, as [`replay`](replay_run) does its directory. A partial bundle is replayed from its snapshot,
/// wherever `options` say to start.
pub fn replay(opened: &Opened, options: &ReplayOptions, watch: &mut Watch<'_>) -> Result<Replayed, Box<Failed>> {
    let mut options = options.clone();
    if opened.manifest.is_some() {
        options.redactions = opened.redactions.of_run();
    }
    if opened.is_partial() {
        options.start_from = StartFrom::BundleSnapshot(opened.root().join(SNAPSHOT));
    }
    // No manifest lists a snapshot that was brought from elsewhere.
    let is_from_elsewhere =
        matches!(&options.start_from, StartFrom::SnapshotFile(path) if path.components().count() > 1);
    if !is_from_elsewhere {
        options.trusted = opened.keys_for_snapshots(&options.trusted);
    }
    replay_run(&opened.run_directory(), &options, watch)
}

/// Verifies a run that was opened, as [`verify`] does its directory: what is redacted or not there is unverifiable. If there are
/// trusted keys, its snapshots must be signed by one of them.
pub fn verify_run(opened: &Opened, trusted: &TrustedKeys, watch: &mut Watch<'_>) -> Result<Verification, RunError> {
    let (directory, redactions) = (opened.run_directory(), opened.redactions.of_run());
    let trusted = opened.keys_for_snapshots(trusted);
    if opened.is_partial() {
        return verify_partial(&directory, &opened.root().join(SNAPSHOT), &trusted, &redactions, watch);
    }
    verify(&directory, &trusted, &redactions, watch)
}

/// The events of a run that was opened. Where its log begins, its manifest says, whatever `range` does.
pub fn trace(opened: &Opened, range: Range) -> Result<Trace, RunError> {
    let partial = opened.manifest.as_ref().and_then(|manifest| manifest.partial.as_ref());
    let first = Some(partial.map_or(0, |partial| partial.logical_time + 1));
    Trace::open(&opened.run_directory().log(), Range { first, ..range }, opened.redactions.of_run())
}

#[cfg(test)]
mod tests;
