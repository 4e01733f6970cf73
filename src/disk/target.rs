//! A file that is appended to, with what its first sync and its lock need.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::lock::FileLock;

/// A file that is appended to.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// The entries that lead to it have not been synced by this recorder. Another one may have made the file and the directories above it,
    /// and ended before it synced them.
    has_unsynced_entries: AtomicBool,
    /// Held as long as anything may be appended.
    lock: Mutex<Option<FileLock>>,
}

impl Target {
    /// The file at `path`, which exists.
    pub fn new(path: PathBuf) -> Self {
        Target { path, has_unsynced_entries: AtomicBool::new(true), lock: Mutex::default() }
    }

    /// The file, locked as long as anything may be appended.
    #[must_use]
    pub fn locked(self, lock: FileLock) -> Self {
        Target { lock: Mutex::new(Some(lock)), ..self }
    }

    /// Releases the lock.
    pub fn unlock(&self) {
        self.lock.lock().take();
    }

    /// Hands over the lock if it is the one at `path`.
    pub fn take_lock(&self, path: &Path) -> Option<FileLock> {
        self.lock.lock().take_if(|lock| lock.path() == path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directories that lead to the file are to be synced with it. The caller takes over syncing them.
    pub(super) fn take_unsynced_entries(&self) -> bool {
        self.has_unsynced_entries.swap(false, Ordering::Relaxed)
    }
}
