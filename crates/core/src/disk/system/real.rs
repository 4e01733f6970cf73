//! The file system of the operating system. Only this module calls it.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs::{self, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::file::File;
use super::file_system::{FileSystem, Names};
use super::metadata::{FileKind, Inode, Metadata};
#[cfg(unix)]
use super::mode::BY_UMASK;
use super::open_file::OpenFile;
use super::open_options::{Create, Links, OpenOptions};

/// The file system of the operating system.
pub(crate) struct Real;

impl FileSystem for Real {
    fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let mut system = fs::OpenOptions::new();
        system.read(options.read).write(options.write).append(options.append);
        system.create(options.create == Create::IfMissing).create_new(options.create == Create::New);
        set_flags(&mut system, options);
        open_with(&mut system, path, options).map(File::real)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::metadata(path).map(|metadata| metadata_of(&metadata))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::symlink_metadata(path).map(|metadata| metadata_of(&metadata))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path).or_else(|error| unresolved(path).ok_or(error))
    }

    fn read_directory(&self, path: &Path) -> io::Result<Names> {
        let entries = fs::read_dir(path)?;
        Ok(Box::new(entries.map(|entry| entry.map(|entry| entry.file_name()))))
    }

    fn create_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        let mut system = fs::DirBuilder::new();
        set_directory_mode(&mut system, mode);
        system.create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// On systems other than Linux, an empty directory that is created at `to` at the last moment is replaced if `from` is a directory.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
                // The file system does not support the flag.
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
                result => return Ok(result?),
            }
        }
        if fs::symlink_metadata(from)?.is_dir() {
            return fs::rename(from, to);
        }
        // `tempfile` knows how each system does this for files.
        let persisted = tempfile::TempPath::try_from_path(from)?.persist_noclobber(to).map_err(|refused| {
            // The caller removes the file.
            let _ = refused.path.keep();
            refused.error
        });
        match persisted {
            Err(error) if refuses_links(&error) => rename_over_reserved(from, to),
            result => result,
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }
}

/// Renames a file on a file system without hard links. Nobody else can create the name while this process's own empty file has it; a crash
/// in between leaves that.
fn rename_over_reserved(from: &Path, to: &Path) -> io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).open(to)?;
    fs::rename(from, to).inspect_err(|_| {
        let _ = fs::remove_file(to);
    })
}

/// Whether an error of creating a hard link means that there are none: on exFAT, shares of SMB, virtiofs, Android.
#[cfg(unix)]
fn refuses_links(error: &io::Error) -> bool {
    const REFUSALS: [i32; 5] = [libc::EPERM, libc::EACCES, libc::ENOTSUP, libc::EOPNOTSUPP, libc::ENOSYS];
    error.raw_os_error().is_some_and(|code| REFUSALS.contains(&code))
}

/// Windows renames without links.
#[cfg(not(unix))]
fn refuses_links(_: &io::Error) -> bool {
    false
}

impl File {
    /// A new file without a name, which is removed with its last handle.
    pub fn unnamed() -> io::Result<File> {
        tempfile::tempfile().map(File::real)
    }
}

#[cfg(unix)]
fn set_flags(system: &mut fs::OpenOptions, options: &OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    let links = if options.links == Links::Refused { libc::O_NOFOLLOW } else { 0 };
    // Miri does not support the other flags.
    let waits = if cfg!(miri) { 0 } else { libc::O_NONBLOCK | libc::O_NOCTTY };
    system.custom_flags(waits | links);
    system.mode(options.mode.unwrap_or(BY_UMASK));
}

#[cfg(unix)]
fn set_directory_mode(system: &mut fs::DirBuilder, mode: u32) {
    std::os::unix::fs::DirBuilderExt::mode(system, mode);
}

/// Windows has no modes.
#[cfg(windows)]
fn set_directory_mode(_: &mut fs::DirBuilder, _: u32) {}

#[cfg(unix)]
fn open_with(system: &mut fs::OpenOptions, path: &Path, _: &OpenOptions) -> io::Result<fs::File> {
    system.open(path)
}

/// No path on Windows leads to anything whose opening blocks.
#[cfg(windows)]
fn set_flags(system: &mut fs::OpenOptions, options: &OpenOptions) {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    system.custom_flags(if options.links == Links::Refused { FILE_FLAG_OPEN_REPARSE_POINT } else { 0 });
}

/// The absolute path, with its links, if the file can be opened but its path can't be resolved. That is the case on drives of some drivers,
/// including RAM disks, and for long paths in Wine.
#[cfg(windows)]
fn unresolved(path: &Path) -> Option<PathBuf> {
    fs::metadata(path).and_then(|_| std::path::absolute(path)).ok()
}

#[cfg(not(windows))]
fn unresolved(_: &Path) -> Option<PathBuf> {
    None
}

/// With this flag, the system opens a link itself, whose metadata say that it is not a file. It also opens other reparse points in this way,
/// such as a file that a server has deduplicated: those are opened again without the flag.
#[cfg(windows)]
fn open_with(system: &mut fs::OpenOptions, path: &Path, options: &OpenOptions) -> io::Result<fs::File> {
    use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
    const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x400;
    let file = system.open(path)?;
    if options.links == Links::Followed {
        return Ok(file);
    }
    let metadata = file.metadata()?;
    let is_diverted = metadata.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0;
    if is_diverted && !metadata.is_symlink() { system.custom_flags(0).open(path) } else { Ok(file) }
}

/// Calls `lseek`, which looks for data or for a hole. Returns `None` if there is none at `offset` or behind it.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn seek_among_holes(file: &fs::File, offset: u64, whence: libc::c_int) -> io::Result<Option<u64>> {
    use std::os::fd::AsRawFd;
    let Ok(offset) = i64::try_from(offset) else { return Ok(None) };
    // SAFETY: the call takes no pointers, and the descriptor is open while `file` is borrowed.
    #[cfg(target_os = "linux")]
    let found = unsafe { libc::lseek64(file.as_raw_fd(), offset, whence) };
    // SAFETY: as above.
    #[cfg(not(target_os = "linux"))]
    let found = unsafe { libc::lseek(file.as_raw_fd(), offset, whence) };
    u64::try_from(found).map(Some).or_else(|_| match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        error => Err(error),
    })
}

impl OpenFile for fs::File {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Read::read(&mut &*self, buffer)
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }

    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn next_data(&self, offset: u64) -> io::Result<u64> {
        match seek_among_holes(self, offset, libc::SEEK_DATA)? {
            Some(data) => Ok(data),
            None => Seek::seek(&mut &*self, SeekFrom::End(0)),
        }
    }

    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn next_hole(&self, offset: u64) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        const BLOCK_BYTES: u64 = 512;
        let metadata = fs::File::metadata(self)?;
        // Some file systems look at every page for a hole. A file of which so much is stored has none that matters.
        if metadata.blocks().saturating_mul(BLOCK_BYTES) >= metadata.len() {
            return Ok(metadata.len());
        }
        Ok(seek_among_holes(self, offset, libc::SEEK_HOLE)?.unwrap_or(metadata.len()))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut &*self, bytes)
    }

    fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        Seek::seek(&mut &*self, to)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        fs::File::set_len(self, size)
    }

    fn sync_data(&self) -> io::Result<()> {
        fs::File::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        fs::File::sync_all(self)
    }

    fn sync_file_system(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        return Ok(rustix::fs::syncfs(self)?);
        #[cfg(not(target_os = "linux"))]
        Err(io::ErrorKind::Unsupported.into())
    }

    fn metadata(&self) -> io::Result<Metadata> {
        fs::File::metadata(self).map(|metadata| metadata_of(&metadata))
    }

    fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        fs::File::set_modified(self, time)
    }

    #[cfg(unix)]
    fn set_owner(&self, (user, group): (u32, u32)) -> io::Result<()> {
        std::os::unix::fs::fchown(self, Some(user), Some(group))
    }

    #[cfg(unix)]
    fn set_mode(&self, mode: u32) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        fs::File::set_permissions(self, fs::Permissions::from_mode(mode))
    }

    #[cfg(unix)]
    fn mode(&self) -> Option<u32> {
        use std::os::unix::fs::PermissionsExt;
        fs::File::metadata(self).ok().map(|metadata| metadata.permissions().mode() & 0o777)
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        fs::File::try_lock(self)
    }

    fn unlock(&self) -> io::Result<()> {
        fs::File::unlock(self)
    }
}

fn metadata_of(metadata: &fs::Metadata) -> Metadata {
    let (kind, inode) = (kind_of(metadata.file_type()), inode_of(metadata));
    Metadata { kind, size: metadata.len(), modified: metadata.modified().ok(), inode }
}

fn kind_of(kind: fs::FileType) -> FileKind {
    #[cfg(unix)]
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_file() => FileKind::File,
        _ if kind.is_dir() => FileKind::Directory,
        _ if kind.is_symlink() => FileKind::Link,
        #[cfg(unix)]
        _ if kind.is_fifo() => FileKind::Pipe,
        #[cfg(unix)]
        _ if kind.is_socket() => FileKind::Socket,
        #[cfg(unix)]
        _ if kind.is_char_device() => FileKind::CharacterDevice,
        #[cfg(unix)]
        _ if kind.is_block_device() => FileKind::BlockDevice,
        _ => FileKind::Other,
    }
}

#[cfg(unix)]
fn inode_of(metadata: &fs::Metadata) -> Option<Inode> {
    use std::os::unix::fs::MetadataExt;
    Some(Inode {
        device: metadata.dev(),
        number: metadata.ino(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
        links: metadata.nlink(),
        owner: (metadata.uid(), metadata.gid()),
    })
}

/// Windows has no time of change that programs can't set.
#[cfg(not(unix))]
fn inode_of(_: &fs::Metadata) -> Option<Inode> {
    None
}
