//! The paths in the directory of a run (`docs/run-format.md` section 1).

use std::path::{Path, PathBuf};

use super::blob::BlobStore;
use crate::run::format::RunError;
use crate::run::state::snapshot;

/// The directory of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    root: PathBuf,
    log: PathBuf,
    /// The bytes of every blob were found to have the hash that names it.
    has_verified_blobs: bool,
}

impl RunDirectory {
    /// The run in `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        RunDirectory { log: root.join("events.cath-log"), root, has_verified_blobs: false }
    }

    /// The run whose log is at `log`, under any name, and whose other files are in `root`.
    pub fn with_log(root: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Self {
        RunDirectory { root: root.into(), log: log.into(), has_verified_blobs: false }
    }

    /// The run of a bundle that was verified, so that the bytes of its blobs need not be hashed again.
    pub fn of_verified_bundle(root: impl Into<PathBuf>) -> Self {
        RunDirectory { has_verified_blobs: true, ..RunDirectory::new(root) }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The event log.
    pub fn log(&self) -> PathBuf {
        self.log.clone()
    }

    /// The compiled graph, canonical JSON.
    pub fn dag(&self) -> PathBuf {
        self.root.join("dag.json")
    }

    /// The workflow that the graph was compiled from.
    pub fn workflow(&self) -> PathBuf {
        self.root.join("workflow.json")
    }

    /// The snapshots' directory.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// The file of the snapshot that is taken after the event at `time`.
    pub fn snapshot(&self, time: u64) -> PathBuf {
        snapshot::path_of(&self.snapshots(), time)
    }

    /// The times of the snapshots, newest first.
    pub fn snapshot_times(&self) -> Result<Vec<u64>, RunError> {
        snapshot::list(&self.snapshots())
    }

    /// The blobs' directory.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// The store of the blobs, for readers.
    pub fn blob_store(&self) -> BlobStore {
        if self.has_verified_blobs { BlobStore::verified(self.blobs()) } else { BlobStore::new(self.blobs()) }
    }

    /// The manifest of a sealed run. A run that has one is no longer recorded to.
    pub fn manifest(&self) -> PathBuf {
        self.root.join("manifest.json")
    }
}
