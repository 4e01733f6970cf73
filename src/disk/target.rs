//! A file that is appended to, with what its first sync and its lock need.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::lock::FileLock;
use super::parent::parent;

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
        let directories = vec![parent(&path).to_path_buf()];
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

    /// The directories that are to be synced with the file. The caller takes over syncing them.
    pub(super) fn take_directories(&self) -> Vec<PathBuf> {
        std::mem::take(&mut *self.directories.lock())
    }
}
