//! Where the bundle of a part of a run begins.

use std::path::PathBuf;

use super::source::ExportFrom;
use crate::bundle::format::{BundleCode, BundleError, Partial, RedactionList, RunSummary, metadata, of_run, path};
use crate::hash::HexHash;
use crate::run::{RunDirectory, Snapshot};
use crate::signature::TrustedKeys;

/// The snapshot of a partial bundle, and the offset in the log of the first event after it.
pub(super) struct PartialStart {
    pub(super) time: u64,
    pub(super) event_hash: HexHash,
    pub(super) path: PathBuf,
    pub(super) offset: u64,
    pub(super) status: Option<&'static str>,
    /// Metadata of the run's beginning, if the source is a partial bundle without it in its log.
    pub(super) summary: Option<RunSummary>,
}

/// Finds the requested snapshot and checks that it belongs to this log.
pub(super) fn find_start(
    run: &RunDirectory,
    from: &ExportFrom,
    redactions: &RedactionList,
) -> Result<PartialStart, BundleError> {
    let not_found = |why: String| BundleError::new(BundleCode::SnapshotNotFound, why);
    let times = match from {
        ExportFrom::Snapshot(id) => {
            let time = Snapshot::time_of_id(id);
            vec![time.ok_or_else(|| not_found(format!("'{}' is no id of a snapshot", crate::json::quoted(id))))?]
        }
        _ => run.snapshot_times().map_err(|error| of_run(BundleCode::SnapshotNotFound, error))?,
    };
    let mut refusals = Vec::new();
    for time in times {
        match check_snapshot(run, time, redactions) {
            Ok(start) => return Ok(start),
            Err(error) => refusals.push(format!("{}: {error}", Snapshot::id_at(time))),
        }
    }
    let why = if refusals.is_empty() { "the run has none".to_owned() } else { refusals.join("; ") };
    Err(not_found(format!("There is no snapshot with which the bundle could begin: {why}")))
}

fn check_snapshot(run: &RunDirectory, time: u64, redactions: &RedactionList) -> Result<PartialStart, BundleError> {
    let start = run
        .start_after_snapshot(time, &redactions.of_run())
        .map_err(|error| of_run(BundleCode::SnapshotNotFound, error))?;
    let path = run.snapshot(time);
    Ok(PartialStart {
        time,
        event_hash: start.previous,
        path,
        offset: start.offset,
        status: start.state.status(),
        summary: None,
    })
}

/// The start of a source that is a partial bundle: its own snapshot.
pub(super) fn start_of_partial(run: &RunDirectory, partial: &Partial) -> Result<PartialStart, BundleError> {
    let of = |error| of_run(BundleCode::SourceInvalid, error).of_file(path::SNAPSHOT);
    let path = run.root().join(path::SNAPSHOT);
    let content = Snapshot::read(&path, &TrustedKeys::default()).map_err(of)?.content;
    let status = content.decode_state().map_err(of)?.status();
    let document = run
        .read_text(path::METADATA)
        .map_err(|error| of_run(BundleCode::SourceInvalid, error).of_file(path::METADATA))?;
    let summary = Some(metadata::summary_of_run(&document)?);
    Ok(PartialStart { time: partial.logical_time, event_hash: content.event_hash, path, offset: 0, status, summary })
}
