//! A file that is appended to, with the state for its first sync and its lock.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::lock::FileLock;

/// No file ends at this offset.
const UNKNOWN: u64 = u64::MAX;

/// A file that is appended to.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// Whether this recorder has yet to sync the entries that lead to the file. Another process may have created the file and the
    /// directories above it, and ended before it synced them.
    has_unsynced_entries: AtomicBool,
    /// The offset at which the last line ends that is known to be whole.
    end: AtomicU64,
    /// Held while anything may still be appended.
    lock: Mutex<Option<FileLock>>,
}

impl Target {
    /// The target at `path`, which must exist.
    pub fn new(path: PathBuf) -> Self {
        Target {
            path,
            has_unsynced_entries: AtomicBool::new(true),
            end: AtomicU64::new(UNKNOWN),
            lock: Mutex::default(),
        }
    }

    /// Sets the offset at which the last line ends.
    #[must_use]
    pub fn ending_at(self, end: u64) -> Self {
        self.set_end(end);
        self
    }

    /// The offset at which the last line ends, if it is known.
    pub fn end(&self) -> Option<u64> {
        Some(self.end.load(Ordering::Relaxed)).filter(|end| *end != UNKNOWN)
    }

    /// Sets the offset at which the last line ends.
    pub fn set_end(&self, end: u64) {
        self.end.store(end, Ordering::Relaxed);
    }

    /// Adds a lock, which is held while anything may still be appended.
    #[must_use]
    pub fn locked(self, lock: FileLock) -> Self {
        Target { lock: Mutex::new(Some(lock)), ..self }
    }

    /// Releases the lock.
    pub fn unlock(&self) {
        self.lock.lock().take();
    }

    /// Takes the lock if its lock file is at `path`.
    pub fn take_lock(&self, path: &Path) -> Option<FileLock> {
        self.lock.lock().take_if(|lock| lock.path() == path)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the directories that lead to the file have yet to be synced. The caller then has to sync them.
    pub(super) fn take_unsynced_entries(&self) -> bool {
        self.has_unsynced_entries.swap(false, Ordering::Relaxed)
    }
}
