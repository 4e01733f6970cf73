//! Where a caller wants a replay to start.

use std::path::PathBuf;

/// Where a replay starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartFrom {
    /// At the first event.
    #[default]
    Log,
    /// Behind the newest snapshot that is good.
    LatestSnapshot,
    /// Behind the snapshot with this id, or the newest good one before it.
    Snapshot(String),
    /// Behind the snapshot in this file, or the newest good one of the run before it. A name alone is that of a file of the run.
    SnapshotFile(PathBuf),
    /// Behind the snapshot in this file, with which a partial bundle begins. The log has no earlier events to fall back on.
    BundleSnapshot(PathBuf),
}
