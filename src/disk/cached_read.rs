//! A file, or its beginning, read on the calling thread if that can be done without waiting for anything.
//!
//! A page that the system has in memory costs a few microseconds, handing the file to another thread and back ten times that.
//! But the thread that asks is the one JavaScript runs on: it must not wait for a disk, a server or the writer of a pipe. So
//! every step either has what it needs in memory or is given up, and the caller goes the way that may wait. Linux alone can say
//! so at each step; elsewhere, and under Miri, which does not know these calls, nothing is ever read here.

#[cfg(all(target_os = "linux", not(miri)))]
pub use linux::read;

#[cfg(not(all(target_os = "linux", not(miri))))]
pub fn read(_: &std::path::Path, _: &mut [u8]) -> Option<CachedRead> {
    None
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedRead {
    /// How many bytes of the buffer are filled. Of a file that is in memory in part only the first part is read.
    pub length: usize,
    /// How many bytes the file had before it was read.
    pub size: u64,
}

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use std::io::IoSliceMut;
    use std::path::Path;

    use rustix::fd::OwnedFd;
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, fstatfs, openat2};
    use rustix::io::{ReadWriteFlags, preadv2};

    use super::CachedRead;

    /// Local disks whose drivers read without waiting when told so (`RWF_NOWAIT`): ext2 to ext4, XFS, btrfs. Others refuse the
    /// read (tmpfs, overlayfs), or may wait for a server or a program before it comes to that: opening is a request on NFS and
    /// FUSE.
    const FILE_SYSTEMS: [i64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

    /// - `NONBLOCK`: a file that another process holds a lease on is refused, not waited for.
    /// - `NOATIME`: the time of access would be a write, which may wait for the journal. Refused for files of other users.
    /// - `NOCTTY`: should a terminal have taken the file's place meanwhile, it does not become that of this process.
    const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOATIME).union(OFlags::NOCTTY);

    /// Reads the beginning of the file at `path` into `buffer`. `None`: it can't be had without waiting, or not at all.
    pub fn read(path: &Path, buffer: &mut [u8]) -> Option<CachedRead> {
        // Only a look first: opening a pipe for reading would start a writer that waits for a reader.
        let place = open(path, OFlags::PATH)?;
        let looked_at = fstat(&place).ok()?;
        if !is_local_file(&place, &looked_at)? {
            return None;
        }
        let file = open(path, READING)?;
        let opened = fstat(&file).ok()?;
        if !is_same(&opened, &looked_at) {
            return None;
        }
        let length = preadv2(&file, &mut [IoSliceMut::new(buffer)], 0, ReadWriteFlags::NOWAIT).ok()?;
        Some(CachedRead { length, size: u64::try_from(opened.st_size).ok()? })
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
#[cfg(all(target_os = "linux", not(miri)))]
mod tests;
