//! Where a caller wants a replay to begin.

use std::path::PathBuf;

/// Where a replay begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartFrom {
    /// With the first event.
    #[default]
    Log,
    /// With the newest snapshot that is good.
    LatestSnapshot,
    /// With the snapshot of this id, or the newest good one before it.
    Snapshot(String),
    /// With the snapshot in this file, or the newest good one of the run before it. A name alone is that of a file of the run.
    SnapshotFile(PathBuf),
}
