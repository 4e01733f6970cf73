//! The lock of a lake: exports to one lake wait for each other. Otherwise two of them could list the same source, whose rows would be doubled.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::manifest::FOLDER;

/// The file that is locked. It stays: if each export removed it, two could hold locks on two files of this name.
const LOCK: &str = ".lock";

thread_local! {
    /// The lakes to which this thread is exporting.
    static HELD: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

/// The exclusive right to export to a lake. The system releases the lock when the process ends, however it ends.
pub struct LakeLock {
    file: File,
    lake: PathBuf,
    /// Must be dropped by the thread that took it, whose list of lakes has it.
    _of_thread: PhantomData<*const ()>,
}

/// The result of an attempt to lock a lake.
pub enum Attempt {
    Locked(LakeLock),
    /// Another thread or process is exporting to the lake.
    Busy,
    /// The calling thread itself is exporting to the lake, so that waiting would never end.
    Nested,
}

impl LakeLock {
    /// Tries to lock a lake, whose folder is created if it does not exist. On a file system without locks it always succeeds.
    pub fn attempt(lake: &Path) -> Result<Attempt, Failure> {
        let folder = lake.join(FOLDER);
        fs::create_dir_all(lake).map_err(|error| Failure::at(lake, &error))?;
        fs::create_dir_all(&folder).map_err(|error| Failure::at(&folder, &error))?;
        let path = folder.join(LOCK);
        let failed = |error: io::Error| Failure::at(&path, &error);
        let lake = lake.canonicalize().map_err(failed)?;
        if HELD.with_borrow(|held| held.contains(&lake)) {
            return Ok(Attempt::Nested);
        }
        let file = open(&path).map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(Attempt::Busy),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => return Ok(Attempt::Busy),
            Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => return Err(failed(error)),
            _ => {}
        }
        HELD.with_borrow_mut(|held| held.push(lake.clone()));
        Ok(Attempt::Locked(LakeLock { file, lake, _of_thread: PhantomData }))
    }
}

impl Drop for LakeLock {
    fn drop(&mut self) {
        // A process that was forked meanwhile has a copy of the file, so that closing this one would not release the lock.
        let _ = self.file.unlock();
        HELD.with_borrow_mut(|held| held.retain(|lake| *lake != self.lake));
    }
}

/// Opens the file to be locked. If another user has created it, it can only be opened for reading, which suffices on local file systems.
fn open(path: &Path) -> io::Result<File> {
    match OpenOptions::new().write(true).create(true).truncate(false).open(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => File::open(path).map_err(|_| error),
        opened => opened,
    }
}
