//! The requested start point of a replay.

use std::path::PathBuf;

/// The requested start point of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartFrom {
    /// At the first event.
    #[default]
    Log,
    /// After the newest good snapshot.
    LatestSnapshot,
    /// After the snapshot with this id or, if that is not good, the newest good one before it.
    Snapshot(String),
    /// After the snapshot in this file or, if that is not good, the run's newest good one before it. A bare file name is one in the run's
    /// directory of snapshots.
    SnapshotFile(PathBuf),
    /// After the snapshot in this file, with which a partial bundle begins. The log has no earlier events to fall back on.
    BundleSnapshot(PathBuf),
}
