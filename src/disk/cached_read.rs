//! The beginning of a file, read on the calling thread if that can be done without waiting for anything.
//!
//! A page that the system has in memory costs a few microseconds, handing the file to another thread and back ten times that.
//! But the thread that asks is the one JavaScript runs on: it must not wait for a disk, a server or the writer of a pipe. So
//! every step either has what it needs in memory or is given up, and the caller goes the way that may wait. Linux alone can say
//! so at each step; elsewhere nothing is ever read here.

use std::path::Path;

/// The beginning of the regular file at `path`, as much of it as `buffer` has room for and is in memory. `None`: it can't be had
/// without waiting, or not at all. Which of the two is not told, nor is what went wrong.
pub fn read_cached<'b>(path: &Path, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let length = read(path, buffer)?;
    buffer.get(..length)
}

#[cfg(target_os = "linux")]
use linux::read;

#[cfg(not(target_os = "linux"))]
fn read(_: &Path, _: &mut [u8]) -> Option<usize> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::IoSliceMut;
    use std::path::Path;

    use rustix::fd::OwnedFd;
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, fstatfs, openat2};
    use rustix::io::{ReadWriteFlags, preadv2};

    /// Local disks whose drivers read without waiting when told so (`RWF_NOWAIT`): ext2 to ext4, XFS, btrfs. Others refuse the
    /// read (tmpfs, overlayfs), or may wait for a server or a program before it comes to that: opening is a request on NFS and
    /// FUSE.
    const FILE_SYSTEMS: [i64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

    /// - `NONBLOCK`: a file that another process holds a lease on is refused, not waited for.
    /// - `NOATIME`: the time of access would be a write, which may wait for the journal. Refused for files of other users.
    /// - `NOCTTY`: should a terminal have taken the file's place meanwhile, it does not become that of this process.
    const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOATIME).union(OFlags::NOCTTY);

    pub fn read(path: &Path, buffer: &mut [u8]) -> Option<usize> {
        // Only a look first: opening a pipe for reading would start a writer that waits for a reader.
        let place = open(path, OFlags::PATH)?;
        let looked_at = fstat(&place).ok()?;
        if !is_local_file(&place, &looked_at)? {
            return None;
        }
        let file = open(path, READING)?;
        if !is_same(&fstat(&file).ok()?, &looked_at) {
            return None;
        }
        preadv2(&file, &mut [IoSliceMut::new(buffer)], 0, ReadWriteFlags::NOWAIT).ok()
    }

    /// Opens what is found by names in memory alone.
    fn open(path: &Path, flags: OFlags) -> Option<OwnedFd> {
        openat2(CWD, path, flags | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::CACHED).ok()
    }

    fn is_local_file(place: &OwnedFd, stat: &Stat) -> Option<bool> {
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Some(false);
        }
        let file_system = fstatfs(place).ok()?.f_type as i64;
        Some(FILE_SYSTEMS.contains(&file_system))
    }

    fn is_same(one: &Stat, other: &Stat) -> bool {
        (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use rustix::fs::{Advice, CWD, FileType, Mode, fadvise, inotify, mknodat};
    use std::fs::{self, File, OpenOptions};
    use std::mem::MaybeUninit;
    use std::os::unix::fs::{OpenOptionsExt, symlink};
    use tempfile::TempDir;

    /// The kernel may drop names and pages at any time, and looking up a name is given up when another is being changed: what is possible
    /// is possible in one of many attempts.
    fn eventually(path: &Path) -> Option<Vec<u8>> {
        let mut buffer = [0; 64];
        (0..1000).find_map(|_| read_cached(path, &mut buffer).map(<[u8]>::to_vec))
    }

    /// A directory on a file system on which cached files can be read, if the system has that; tests need not bring one.
    fn directory() -> Option<TempDir> {
        let directory = tempfile::tempdir().unwrap();
        let type_of =
            std::process::Command::new("stat").args(["-f", "-c", "%T"]).arg(directory.path()).output().unwrap();
        let known = ["ext2/ext3", "xfs", "btrfs"].contains(&String::from_utf8_lossy(&type_of.stdout).trim());
        (known && has_openat2()).then_some(directory)
    }

    fn has_openat2() -> bool {
        let flags = rustix::fs::OFlags::PATH;
        rustix::fs::openat2(CWD, "/", flags, Mode::empty(), rustix::fs::ResolveFlags::CACHED).is_ok()
    }

    #[test]
    fn a_file_that_was_just_written_is_read() {
        let Some(directory) = directory() else { return };
        let (path, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&path, "a\nb").unwrap();
        symlink("file", &link).unwrap();
        assert_eq!(eventually(&path).as_deref(), Some(&b"a\nb"[..]));
        // Where a link leads to ext4 has in memory; others may have to look.
        let through_link = eventually(&link);
        assert!(through_link.as_deref().is_none_or(|bytes| bytes == b"a\nb"), "{through_link:?}");
        fs::write(&path, "").unwrap();
        assert_eq!(eventually(&path).as_deref(), Some(&b""[..]));
        fs::write(&path, [b'x'; 5000]).unwrap();
        assert_eq!(eventually(&path).unwrap(), [b'x'; 64]);
    }

    #[test]
    fn a_file_that_is_not_in_memory_is_left_alone() {
        let Some(directory) = directory() else { return };
        let path = directory.path().join("file");
        // btrfs keeps what is small beside the name, and that in memory.
        let bytes = [b'x'; 1 << 16];
        fs::write(&path, bytes).unwrap();
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        // The system may keep a page for a while all the same.
        let is_gone = || {
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            read_cached(&path, &mut [0; 64]).is_none()
        };
        assert!((0..100).any(|_| is_gone()));
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(eventually(&path).as_deref(), Some(&bytes[..64]));
    }

    #[test]
    fn reading_leaves_the_time_of_access() {
        let Some(directory) = directory() else { return };
        let path = directory.path().join("file");
        fs::write(&path, "a\n").unwrap();
        // Older than the time of change: the next access that is not told otherwise marks it.
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        File::options().write(true).open(&path).unwrap().set_times(fs::FileTimes::new().set_accessed(old)).unwrap();
        assert!(eventually(&path).is_some());
        assert_eq!(fs::metadata(&path).unwrap().accessed().unwrap(), old);
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, &pipe, inotify::WatchFlags::OPEN).unwrap();
        let mut room = [MaybeUninit::uninit(); 512];
        let mut was_opened = || inotify::Reader::new(&watch, &mut room).next().is_ok();
        for _ in 0..10 {
            assert_eq!(read_cached(&pipe, &mut [0; 64]), None);
        }
        assert!(!was_opened());
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
        assert!(was_opened());
        for path in [directory.path(), Path::new("/dev/zero"), Path::new("/proc/self/cmdline"), Path::new("")] {
            assert_eq!(read_cached(path, &mut [0; 64]), None, "{}", path.display());
        }
    }

    #[test]
    fn a_file_on_another_file_system_is_not_opened() {
        let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = directory.path().join("file");
        fs::write(&path, "a\n").unwrap();
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, &path, inotify::WatchFlags::OPEN).unwrap();
        let mut room = [MaybeUninit::uninit(); 512];
        let mut was_opened = || inotify::Reader::new(&watch, &mut room).next().is_ok();
        for _ in 0..10 {
            assert_eq!(read_cached(&path, &mut [0; 64]), None);
        }
        assert!(!was_opened());
        assert_eq!(fs::read(&path).unwrap(), b"a\n");
        assert!(was_opened());
    }
}
