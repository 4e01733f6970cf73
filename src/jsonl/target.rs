//! A file that is appended to, with what its first sync and its lock need.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lock::FileLock;

/// A file that is appended to.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// Directories whose entries must be synced before the file counts as synced.
    directories: Mutex<Vec<PathBuf>>,
    /// Held as long as anything may be appended.
    lock: Mutex<Option<FileLock>>,
}

impl Target {
    /// The file at `path`, which exists. Its directory is synced with it once: the process that created the file may have died
    /// before it did that.
    pub fn existing(path: PathBuf) -> Self {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directories = vec![directory.unwrap_or(Path::new(".")).to_path_buf()];
        Target { path, directories: Mutex::new(directories), lock: Mutex::default() }
    }

    /// The file at `path`, which was just created, and with it entries in `directories`.
    pub fn created(path: PathBuf, directories: Vec<PathBuf>) -> Self {
        Target { path, directories: Mutex::new(directories), lock: Mutex::default() }
    }

    /// The file, locked as long as anything may be appended.
    #[must_use]
    pub fn locked(self, lock: FileLock) -> Self {
        Target { lock: Mutex::new(Some(lock)), ..self }
    }

    /// Releases the lock.
    pub fn unlock(&self) {
        guard(&self.lock).take();
    }

    /// Hands over the lock if it is the one at `path`.
    pub fn take_lock(&self, path: &Path) -> Option<FileLock> {
        guard(&self.lock).take_if(|lock| lock.path() == path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directories that are to be synced with the file. The caller takes over syncing them.
    pub(super) fn take_directories(&self) -> Vec<PathBuf> {
        std::mem::take(&mut *guard(&self.directories))
    }
}

/// A lock that another thread panicked under is taken all the same: what it guards is replaced whole.
fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
