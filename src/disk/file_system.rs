//! The file system as this crate uses it: the one trait behind which everything is opened, renamed, listed and removed.
//!
//! [`Real`](super::real::Real) is that of the operating system, and in releases the only one. Which one a path belongs to is decided
//! in [`mount`](super::mount).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::boot::Boot;
use super::cached_read::CachedRead;
use super::file::File;
use super::metadata::Metadata;
use super::open_options::OpenOptions;

/// The names in a directory, in no order.
pub type Names = Box<dyn Iterator<Item = io::Result<OsString>>>;

/// A file system.
///
/// What a method did is visible to every process when it returns. Entries of directories (created, renamed, removed) become durable
/// when their directory is synced: it is [opened](Self::open) for reading and [`sync_all`](super::open_file::OpenFile::sync_all)ed.
/// Until then a power cut may undo each of them, in any order, but none by halves: a renamed file has the old name or the new one,
/// and a replaced file is there in its old form or its new one. What is in a file becomes durable by syncing the file.
///
/// Errors are those of the system calls: their numbers, or their [`io::ErrorKind`]s.
pub trait FileSystem: Send + Sync {
    /// Opens a file, or for reading a directory. Never waits: `WouldBlock` means that another process holds a lease on the file.
    fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File>;

    /// Reads the beginning of the regular file at `path`, as much of it as `buffer` has room for and is in memory. `None`: it can't be
    /// had without waiting, or not at all.
    fn read_cached(&self, _path: &Path, _buffer: &mut [u8]) -> Option<CachedRead> {
        None
    }

    /// Which start of the system this is: what was not synced may have been there before another one, and be gone. `None` if that is not known.
    fn boot(&self) -> Option<Boot> {
        None
    }

    /// What is at `path`; links are followed.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// What is at `path`, which may be a link.
    fn symlink_metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// The path of what is at `path` without links. A file system that has none has nothing to resolve.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.metadata(path).map(|_| path.to_path_buf())
    }

    /// The names in a directory.
    fn read_directory(&self, path: &Path) -> io::Result<Names>;

    /// Creates a directory in one that is there.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, in place of a file that is at `to`. Both paths are of this file system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file or a directory to where there is nothing: `AlreadyExists` if there is something.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file. Those who have it open can go on.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes a directory and everything in it, entry by entry, and follows no link.
    fn remove_tree(&self, path: &Path) -> io::Result<()>;
}
