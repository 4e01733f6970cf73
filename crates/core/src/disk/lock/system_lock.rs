//! The operating system's locks on files whose content names their owner, such as the locks of sessions.
//!
//! Unlike [`lock`](super::lock), this neither creates, writes nor removes the file: that is a protocol of its owner, which other programs
//! follow too. The lock only says whether the owner is alive, also where its pid means nothing: in another pid namespace, or after the pid
//! was given to another process. The system releases it when the process ends for any reason.

use std::path::Path;
use std::time::Duration;

use crate::disk::open::File;
use crate::disk::system::{Links, OpenOptions};

/// How often, and at what intervals, to try again while another process looks at the file: a look takes microseconds.
const MAX_ATTEMPTS: u32 = 50;
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// Device and inode of a file.
pub type FileId = (u64, u64);

/// A lock on a file, held until it is dropped.
#[derive(Debug)]
pub struct SystemLock(File);

/// What a look at a file has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Some process holds the lock.
    Held,
    /// None does.
    Free,
    /// There is no file at the path any more, or another one.
    Another,
    /// The file can't be opened, or its file system has no such locks.
    Unknown,
}

impl SystemLock {
    /// Locks the file at `path` if it is the one with this id. Returns `None` if it is not, or if the file system has no such locks.
    /// No other process locks this file exclusively; one that is in the way holds a shared lock for the length of a look.
    pub fn hold(path: &Path, id: FileId) -> Option<Self> {
        let options = OpenOptions { read: true, write: true, links: Links::Refused, ..OpenOptions::default() };
        let file = File::open_patiently(path, &options).ok().filter(|file| has_id(file, id))?;
        for _ in 0..MAX_ATTEMPTS {
            match system::try_lock(&file, system::Kind::Exclusive) {
                Ok(true) => return Some(SystemLock(file)),
                Ok(false) => std::thread::sleep(RETRY_INTERVAL),
                Err(system::Refused) => return None,
            }
        }
        None
    }

    /// Whether any process holds the lock on the file at `path`, which had this id. Two that look at the same time don't see each other.
    pub fn look(path: &Path, id: FileId) -> Look {
        let options = OpenOptions { read: true, links: Links::Refused, ..OpenOptions::default() };
        let file = match File::open_patiently(path, &options) {
            Ok(file) => file,
            Err(error) if error.code == "ENOENT" => return Look::Another,
            Err(_) => return Look::Unknown,
        };
        if !has_id(&file, id) {
            return Look::Another;
        }
        match system::try_lock(&file, system::Kind::Shared) {
            Ok(true) => {
                system::unlock(&file);
                Look::Free
            }
            Ok(false) => Look::Held,
            Err(system::Refused) => Look::Unknown,
        }
    }
}

/// Locks a file that this process has just created, for as long as it is open. Succeeds or not: not every file system has such locks.
pub(crate) fn mark_in_use(file: &File) {
    let _ = system::try_lock(file, system::Kind::Exclusive);
}

impl Drop for SystemLock {
    /// Unlocks explicitly: a child that this process is just starting has the file open too, until it runs its program.
    fn drop(&mut self) {
        system::unlock(&self.0);
    }
}

/// Whether an open file is a regular one with this id. Not every system has ids.
fn has_id(file: &File, id: FileId) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.id().is_none_or(|found| found == id))
}

/// Locks with `flock`, which belongs to the open file: closing another handle of the same file does not release it.
#[cfg(unix)]
mod system {
    use super::File;
    use std::fs::TryLockError;

    #[derive(Clone, Copy)]
    pub(crate) enum Kind {
        Shared,
        Exclusive,
    }

    pub(crate) struct Refused;

    /// Returns whether the lock was taken.
    pub(crate) fn try_lock(file: &File, kind: Kind) -> Result<bool, Refused> {
        let file = file.as_real().ok_or(Refused)?;
        let locked = match kind {
            Kind::Shared => file.try_lock_shared(),
            Kind::Exclusive => file.try_lock(),
        };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(_)) => Err(Refused),
        }
    }

    pub(crate) fn unlock(file: &File) {
        if let Some(file) = file.as_real() {
            let _ = file.unlock();
        }
    }
}

/// Locks a byte far beyond the end of the file: on Windows a locked range can't be read by others, and they must read the owner.
#[cfg(windows)]
mod system {
    use super::File;
    use std::ffi::c_void;
    use std::os::windows::io::AsRawHandle;
    use std::{io, ptr};

    #[derive(Clone, Copy)]
    pub enum Kind {
        Shared = 0,
        Exclusive = 2,
    }

    pub struct Refused;

    const LOCKFILE_FAIL_IMMEDIATELY: u32 = 1;
    const ERROR_LOCK_VIOLATION: i32 = 33;
    const ERROR_IO_PENDING: i32 = 997;

    /// The upper half of the offset of the locked byte.
    const OFFSET_HIGH: u32 = 1 << 30;

    /// `OVERLAPPED`, which only the system reads.
    #[allow(dead_code)]
    #[repr(C)]
    struct Overlapped {
        internal: usize,
        internal_high: usize,
        offset: u32,
        offset_high: u32,
        event: *mut c_void,
    }

    impl Overlapped {
        fn of_the_byte() -> Self {
            Overlapped { internal: 0, internal_high: 0, offset: 0, offset_high: OFFSET_HIGH, event: ptr::null_mut() }
        }
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn LockFileEx(file: *mut c_void, flags: u32, reserved: u32, low: u32, high: u32, range: *mut Overlapped)
        -> i32;
        fn UnlockFileEx(file: *mut c_void, reserved: u32, low: u32, high: u32, range: *mut Overlapped) -> i32;
    }

    /// Returns whether the lock was taken.
    pub fn try_lock(file: &File, kind: Kind) -> Result<bool, Refused> {
        let file = file.as_real().ok_or(Refused)?;
        let mut range = Overlapped::of_the_byte();
        let flags = LOCKFILE_FAIL_IMMEDIATELY | kind as u32;
        // SAFETY: the handle is that of an open file, and `range` lives until the call returns: the file was not opened for overlapped
        // operations, so the call completes before it returns.
        if unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &mut range) } != 0 {
            return Ok(true);
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING) => Ok(false),
            _ => Err(Refused),
        }
    }

    pub fn unlock(file: &File) {
        let Some(file) = file.as_real() else { return };
        let mut range = Overlapped::of_the_byte();
        // SAFETY: as above.
        unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &mut range) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::open::files;

    fn lock_file(directory: &tempfile::TempDir) -> (std::path::PathBuf, FileId) {
        let path = directory.path().join("s.lock");
        std::fs::write(&path, "owner").unwrap();
        let id = files::metadata(&path).unwrap().id().unwrap_or_default();
        (path, id)
    }

    #[test]
    fn probe_distinguishes_held_from_released_locks() {
        let directory = tempfile::tempdir().unwrap();
        let (path, id) = lock_file(&directory);
        assert_eq!(SystemLock::look(&path, id), Look::Free);
        let lock = SystemLock::hold(&path, id).unwrap();
        assert_eq!((SystemLock::look(&path, id), SystemLock::look(&path, id)), (Look::Held, Look::Held));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "owner");
        std::fs::write(&path, "renew").unwrap();
        assert_eq!(SystemLock::look(&path, id), Look::Held, "closing another handle releases nothing");
        drop(lock);
        assert_eq!(SystemLock::look(&path, id), Look::Free);
    }

    #[test]
    fn concurrent_probes_do_not_block_each_other_or_an_owner() {
        let directory = tempfile::tempdir().unwrap();
        let (path, id) = lock_file(&directory);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..2000).for_each(|_| assert_eq!(SystemLock::look(&path, id), Look::Free)));
            }
        });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..2000).for_each(|_| assert_ne!(SystemLock::look(&path, id), Look::Unknown)));
            }
            for _ in 0..20 {
                assert!(SystemLock::hold(&path, id).is_some());
            }
        });
    }

    #[test]
    fn probe_detects_a_replaced_or_removed_lock_file() {
        let directory = tempfile::tempdir().unwrap();
        let (path, (device, inode)) = lock_file(&directory);
        if cfg!(unix) {
            assert_eq!(SystemLock::look(&path, (device, inode + 1)), Look::Another);
            assert!(SystemLock::hold(&path, (device, inode + 1)).is_none());
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(SystemLock::look(&path, (device, inode)), Look::Another);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(SystemLock::look(&path, (device, inode)), if cfg!(unix) { Look::Another } else { Look::Unknown });
        assert!(SystemLock::hold(&path, (device, inode)).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_of_the_owner_does_not_inherit_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let (path, id) = lock_file(&directory);
        let _lock = SystemLock::hold(&path, id).unwrap();
        // `spawn` returns when the child runs its program.
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(has_open(std::process::id(), &path));
        assert!(!has_open(child.id(), &path));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    fn has_open(pid: u32, path: &Path) -> bool {
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|target| target == path)
    }
}
