//! A file that is appended to, with the state for its first sync and its lock.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::recorded_file::{FileId, OpenError, RecordedFile};
use crate::disk::lock::FileLock;
use crate::disk::open::{File, InputFile};
use crate::disk::system::{Metadata, OsError};

/// A file that is appended to.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// Whether this recorder has yet to sync the entries that lead to the file. Another process may have created the file and the
    /// directories above it, and ended before it synced them.
    has_unsynced_entries: AtomicBool,
    recorded: Mutex<RecordedFile>,
    /// The offset at which a newline was added to a torn line.
    newline: Mutex<Option<u64>>,
    /// Held while anything may still be appended.
    lock: Mutex<Option<FileLock>>,
}

impl Target {
    /// The target at `path`, which must exist: a file of another recorder, or of an earlier one.
    pub fn new(path: PathBuf) -> Self {
        Self::of(path, RecordedFile::Unknown)
    }

    /// The target at `path`, which the caller has just created.
    pub fn created(path: PathBuf) -> Self {
        Self::of(path, RecordedFile::Empty)
    }

    fn of(path: PathBuf, recorded: RecordedFile) -> Self {
        let recorded = Mutex::new(recorded);
        Target {
            path,
            has_unsynced_entries: AtomicBool::new(true),
            recorded,
            newline: Mutex::default(),
            lock: Mutex::default(),
        }
    }

    /// Examines the file as it is now, unless it is known. From then on, another one in its place is noticed.
    pub fn examine(&self) -> Result<(), OsError> {
        let mut recorded = self.recorded.lock();
        if !matches!(*recorded, RecordedFile::Unknown) {
            return Ok(());
        }
        let file = InputFile::open(&self.path)?;
        let metadata = file.metadata()?;
        let examined = recorded.examine(file.file(), &metadata);
        examined.map_err(|error| OsError::new(&error, "read", Some(&self.path)))
    }

    /// Whether the file was neither written nor examined.
    pub fn is_unknown(&self) -> bool {
        matches!(*self.recorded.lock(), RecordedFile::Unknown)
    }

    /// Checks that the file that is open is the one that was written.
    pub(crate) fn check(&self, file: &File, found: &Metadata, readable: bool) -> Result<(), OpenError> {
        let mut recorded = self.recorded.lock();
        let checked = match &*recorded {
            RecordedFile::Unknown if readable => recorded.examine(file, found).map(Ok),
            known => known.check(file, found, readable),
        };
        checked.map_err(|error| OsError::new(&error, "read", Some(&self.path)))?.map_err(OpenError::Replaced)
    }

    /// Remembers the file as it is after `lines` were appended to it.
    pub(crate) fn appended(&self, id: FileId, end: u64, lines: &[u8], is_first: bool) {
        self.recorded.lock().appended(id, end, lines, is_first);
    }

    /// Remembers that the file was cut back to this offset.
    pub(crate) fn cut_to(&self, end: u64) {
        self.recorded.lock().cut_to(end);
    }

    /// The offset at which the last line ends that is known to be whole.
    pub(crate) fn end(&self) -> Option<u64> {
        self.recorded.lock().end()
    }

    /// Remembers that the file ended in a torn line at this offset, and got a newline before the lines that were appended.
    pub(crate) fn newline_added_at(&self, end: u64) {
        *self.newline.lock() = Some(end);
    }

    /// Where the file has to be cut so that it ends as it did before the line that begins at this offset: before the newline, if that was added for
    /// this line.
    pub(crate) fn without_newline(&self, start: u64) -> u64 {
        let newline = *self.newline.lock();
        newline.filter(|at| at + 1 == start).unwrap_or(start)
    }

    /// Adds a lock, which is held while anything may still be appended.
    #[must_use]
    pub fn locked(self, lock: FileLock) -> Self {
        Target { lock: Mutex::new(Some(lock)), ..self }
    }

    /// Whether the file is locked by its target.
    pub fn is_locked(&self) -> bool {
        self.lock.lock().is_some()
    }

    /// Releases the lock, which removes a file.
    pub fn unlock(&self) {
        let lock = self.lock.lock().take();
        // Not under the mutex: callers ask whether the file is locked.
        drop(lock);
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
    pub(crate) fn take_unsynced_entries(&self) -> bool {
        self.has_unsynced_entries.swap(false, Ordering::Relaxed)
    }
}
