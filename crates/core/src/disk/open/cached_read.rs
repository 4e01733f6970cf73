//! Reads a file, or its beginning, on the calling thread if that is possible without waiting.
//!
//! Reading a page that the system has in memory takes a few microseconds, handing the file to another thread and back takes ten
//! times as long. But the caller is the JavaScript thread, which must not wait for a disk, a server or the writer of a pipe. So
//! each step either finds what it needs in memory or fails, and the caller falls back to a way that may wait. Only Linux
//! supports this at each step; elsewhere, and under Miri, which lacks these calls, nothing is ever read here.

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use linux::read;

#[cfg(not(all(target_os = "linux", not(miri))))]
pub fn read(_: &std::path::Path, _: usize) -> Option<CachedRead> {
    None
}

/// The result of a cached read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedRead {
    /// The beginning of the file. If only a part of the file is in memory, only its first part is read.
    pub bytes: Vec<u8>,
    /// Size of the file in bytes before it was read.
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

    /// Local file systems that read without waiting if told so (`RWF_NOWAIT`): ext2 to ext4, XFS, btrfs. Others refuse the read
    /// (tmpfs, overlayfs) or may wait for a server or a program even earlier: on NFS and FUSE, opening a file is a request.
    const FILE_SYSTEMS: [i64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

    /// - `NONBLOCK`: fails instead of waiting if another process holds a lease on the file.
    /// - `NOATIME`: updating the time of access would be a write, which may wait for the journal. Fails for files of other
    ///   users.
    /// - `NOCTTY`: if a terminal has replaced the file in the meantime, it does not become the terminal of this process.
    const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOATIME).union(OFlags::NOCTTY);

    /// Reads at most the first `limit` bytes of the file at `path`. Returns `None` if that is impossible without waiting, or
    /// impossible at all.
    pub(crate) fn read(path: &Path, limit: usize) -> Option<CachedRead> {
        // The first descriptor only identifies the file: opening a pipe for reading would release a writer that waits for a
        // reader.
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
        let size = u64::try_from(opened.st_size).ok()?;
        // One byte more than the file has, to notice that it has grown.
        let mut bytes = vec![0; usize::try_from(size).map_or(limit, |size| limit.min(size.saturating_add(1)))];
        let length = preadv2(&file, &mut [IoSliceMut::new(&mut bytes)], 0, ReadWriteFlags::NOWAIT).ok()?;
        bytes.truncate(length);
        Some(CachedRead { bytes, size })
    }

    /// Opens a path whose names are all in memory.
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
