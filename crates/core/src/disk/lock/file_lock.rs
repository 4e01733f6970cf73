//! A lock that gives a file to one recorder only, across processes too, for callers that ask for it.
//!
//! The lock is one of the operating system, on a file next to the locked one. The system releases it when its owner ends for any
//! reason, so a dead process does not block others. The lock file describes the owner. The locked file itself is not touched.

use std::ffi::OsString;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::disk::open::{File, files};
use crate::disk::system::OsError;

/// Maximum number of attempts: a process that locks and unlocks all the time can remove the file between our opening and locking it.
const MAX_ATTEMPTS: u32 = 100;

/// Maximum size of an owner's description in bytes; more than any needs.
const MAX_OWNER_BYTES: u64 = 4096;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    file: File,
}

/// The reason a lock was not acquired.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Another owner holds the lock.
    #[error("locked by {owner}")]
    Held {
        /// The owner's description of itself; empty if that can't be read.
        owner: String,
    },
    /// The lock file can't be created, opened or written.
    #[error("{0}")]
    System(OsError),
    /// The file system has no locks.
    #[error("{0}")]
    Unsupported(OsError),
}

impl FileLock {
    /// Locks the file at `path`, without waiting. `owner` is written to the lock file for other processes to read.
    pub fn acquire(path: &Path, owner: &str) -> Result<Self, LockError> {
        let path = Self::path_for(path);
        for _ in 0..MAX_ATTEMPTS {
            if let Some(mut file) = system::try_lock(&path)? {
                failpoint!("lock::before_owner");
                write_owner(&mut file, owner)
                    .map_err(|error| LockError::System(OsError::new(&error, "write", Some(&path))))?;
                return Ok(FileLock { path, file });
            }
        }
        Err(LockError::Held { owner: String::new() })
    }

    /// The lock file of the file at `path`: the same one through whatever links the file is reached.
    pub fn path_for(path: &Path) -> PathBuf {
        let mut name = OsString::from(files::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()));
        name.push(".lock");
        PathBuf::from(name)
    }

    /// The path of the lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        failpoint!("lock::before_remove");
        system::remove(&self.file, &self.path);
    }
}

fn read_owner(file: &mut File) -> String {
    let mut owner = String::new();
    let read = file.take(MAX_OWNER_BYTES).read_to_string(&mut owner);
    read.map(|_| owner).unwrap_or_default()
}

fn write_owner(file: &mut File, owner: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(owner.as_bytes())
}

/// Locks with `flock`, which the kernel releases when its owner ends.
#[cfg(unix)]
mod system {
    use super::*;
    use crate::disk::open::input_file;
    use crate::disk::system::{Create, OpenOptions, is_no_lock};
    use std::fs::TryLockError;

    /// Opens and locks the lock file. Returns `None` if its last owner has removed it in the meantime: then the caller has to try
    /// again.
    pub(crate) fn try_lock(path: &Path) -> Result<Option<File>, LockError> {
        let mut file = open(path).map_err(LockError::System)?;
        match file.try_lock() {
            Ok(()) => Ok(is_still_there(&file, path).then_some(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { owner: read_owner(&mut file) }),
            Err(TryLockError::Error(error)) => Err(refused(OsError::new(&error, "flock", Some(path)), path)),
        }
    }

    /// The error for a file that can't be locked. Where there are no locks, no one needs the file.
    fn refused(error: OsError, path: &Path) -> LockError {
        if !is_no_lock(&error) {
            return LockError::System(error);
        }
        let _ = files::remove_file(path);
        LockError::Unsupported(error)
    }

    /// Opens the lock file. Fails for anything but a regular file: a pipe, for example, can't store the owner.
    fn open(path: &Path) -> Result<File, OsError> {
        let options = OpenOptions { read: true, write: true, create: Create::IfMissing, ..OpenOptions::default() };
        let file = input_file::open_patiently(path, &options)?;
        let metadata = file.metadata().map_err(|error| OsError::new(&error, "fstat", None))?;
        input_file::expect_regular(&metadata, path)?;
        Ok(file)
    }

    /// Removes the file while it is still locked: a process that has it open finds that it is gone, and tries again. If another program
    /// has removed it before, the file at the path may be the lock of another owner, and stays.
    pub(crate) fn remove(file: &File, path: &Path) {
        if is_still_there(file, path) {
            let _ = files::remove_file(path);
        }
    }

    /// Whether the open file is still the one at `path`.
    fn is_still_there(file: &File, path: &Path) -> bool {
        match (file.metadata(), files::metadata(path)) {
            (Ok(open), Ok(there)) => open.id().is_some() && open.id() == there.id(),
            _ => false,
        }
    }
}

/// The owner has the lock file open for writing, and shares it for reading and deletion only. The system removes the file when its
/// owner closes it or ends. Unlike a file that is locked by `LockFileEx`, it can't be removed and created again while another
/// process has it open, so there are never two owners; and the description of the owner can be read.
///
/// Only files of the operating system have share modes, so no other file system can be mounted here.
#[cfg(windows)]
#[allow(clippy::disallowed_types)]
mod system {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::windows::fs::OpenOptionsExt;
    use std::time::Duration;

    const GENERIC_READ: u32 = 0x8000_0000;
    const GENERIC_WRITE: u32 = 0x4000_0000;
    const DELETE: u32 = 0x0001_0000;
    const FILE_SHARE_READ: u32 = 1;
    const FILE_SHARE_WRITE: u32 = 2;
    const FILE_SHARE_DELETE: u32 = 4;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    const ERROR_ACCESS_DENIED: i32 = 5;
    const ERROR_SHARING_VIOLATION: i32 = 32;

    /// Opens and locks the lock file. Returns `None` if its last owner is just removing it: then the caller has to try again.
    pub fn try_lock(path: &Path) -> Result<Option<File>, LockError> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        options.access_mode(GENERIC_READ | GENERIC_WRITE | DELETE);
        options.share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
        match options.open(path) {
            Ok(file) => Ok(Some(File::real(file))),
            Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => held_by(path),
            // A file that is being removed can't be opened until its last handle is closed.
            Err(error) if error.raw_os_error() == Some(ERROR_ACCESS_DENIED) && is_being_removed(path) => {
                std::thread::sleep(Duration::from_millis(1));
                Ok(None)
            }
            Err(error) => Err(LockError::System(OsError::new(&error, "open", Some(path)))),
        }
    }

    /// Nothing to do: the system removes the file when it is closed.
    pub fn remove(_: &File, _: &Path) {}

    fn held_by(path: &Path) -> Result<Option<File>, LockError> {
        let mut options = OpenOptions::new();
        options.read(true).share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);
        match options.open(path) {
            Ok(file) => Err(LockError::Held { owner: read_owner(&mut File::real(file)) }),
            // The lock was released in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_being_removed(path) => Ok(None),
            Err(_) => Err(LockError::Held { owner: String::new() }),
        }
    }

    /// Whether the file at `path` is being removed, and gone with its last handle, rather than one that may not be opened.
    fn is_being_removed(path: &Path) -> bool {
        let mut options = OpenOptions::new();
        options.access_mode(0).share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);
        options.open(path).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn second_claim_reports_the_first_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let lock = FileLock::acquire(&path, "first").unwrap();
        let refused = FileLock::acquire(&path, "second").unwrap_err();
        assert_eq!(refused, LockError::Held { owner: "first".to_owned() });
        drop(lock);
        assert!(!FileLock::path_for(&path).exists());
        FileLock::acquire(&path, "second").unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_the_lock_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let lock = FileLock::path_for(&path);
        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        // If the pipe were accepted, the owner would be read from it, but it contains none.
        let held = std::fs::OpenOptions::new().read(true).write(true).open(&lock).unwrap();
        held.lock().unwrap();
        let Err(LockError::System(error)) = FileLock::acquire(&path, "first") else { panic!("it was locked") };
        assert_eq!((error.code, error.message), ("EINVAL", "a pipe, not a regular file"));
    }

    /// Regression: the first owner removed the lock file of the second, so that a third got in.
    #[cfg(unix)]
    #[test]
    fn the_lock_file_of_another_owner_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let first = FileLock::acquire(&path, "first").unwrap();
        std::fs::remove_file(first.path()).unwrap();
        let _second = FileLock::acquire(&path, "second").unwrap();
        drop(first);
        assert_eq!(FileLock::acquire(&path, "third").unwrap_err(), LockError::Held { owner: "second".to_owned() });
    }

    #[test]
    fn lock_of_a_dead_owner_is_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        std::fs::write(FileLock::path_for(&path), "an owner with a long name that was killed").unwrap();
        let _lock = FileLock::acquire(&path, "next").unwrap();
        assert_eq!(FileLock::acquire(&path, "x").unwrap_err(), LockError::Held { owner: "next".to_owned() });
    }

    #[test]
    fn lock_never_has_two_owners() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        if let Ok(_lock) = FileLock::acquire(&path, "one of eight") {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            taken.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
