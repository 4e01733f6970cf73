//! A file that is appended to, with what its first sync and its lock need.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::lock::FileLock;

/// No file ends there.
const UNKNOWN: u64 = u64::MAX;

/// A file that is appended to.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// The entries that lead to it have not been synced by this recorder. Another one may have made the file and the directories above it,
    /// and ended before it synced them.
    has_unsynced_entries: AtomicBool,
    /// Where the last line ends that is known to be whole.
    end: AtomicU64,
    /// Held as long as anything may be appended.
    lock: Mutex<Option<FileLock>>,
}

impl Target {
    /// The file at `path`, which exists.
    pub fn new(path: PathBuf) -> Self {
        Target {
            path,
            has_unsynced_entries: AtomicBool::new(true),
            end: AtomicU64::new(UNKNOWN),
            lock: Mutex::default(),
        }
    }

    /// The file, whose last line ends here.
    #[must_use]
    pub fn ending_at(self, end: u64) -> Self {
        self.set_end(end);
        self
    }

    /// Where its last line ends, if that is known.
    pub fn end(&self) -> Option<u64> {
        Some(self.end.load(Ordering::Relaxed)).filter(|end| *end != UNKNOWN)
    }

    /// Notes where its last line ends.
    pub fn set_end(&self, end: u64) {
        self.end.store(end, Ordering::Relaxed);
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
