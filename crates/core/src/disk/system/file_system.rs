//! The file system as this crate uses it: the trait through which everything is opened, renamed, listed and removed.
//!
//! [`Real`](super::real::Real) is the file system of the operating system, and the only one in releases. [`mount`](super::mount) decides which
//! one a path belongs to.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::file::File;
use super::metadata::Metadata;
use super::open_options::OpenOptions;

/// The names in a directory, in any order.
pub type Names = Box<dyn Iterator<Item = io::Result<OsString>>>;

/// A file system.
///
/// The effect of a method is visible to every process when the method returns. Directory entries (created, renamed, removed) become durable
/// when their directory is [opened](Self::open) for reading and [synced](super::open_file::OpenFile::sync_all). Until then a power cut may undo
/// each of these operations, in any order, but never half of one: a renamed file has the old name or the new one, and a replaced file is there
/// in its old form or its new one. The content of a file becomes durable when the file is synced.
///
/// Errors are those of the system calls: their numbers, or their [`io::ErrorKind`]s.
pub trait FileSystem: Send + Sync {
    /// Opens a file, or a directory for reading. Never waits: `WouldBlock` means that another process holds a lease on the file.
    fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File>;

    /// The metadata of what is at `path`. Follows links.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// The metadata of what is at `path`, which may be a link.
    fn symlink_metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// The path without links. A file system without links has nothing to resolve.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.metadata(path).map(|_| path.to_path_buf())
    }

    /// Lists the names in a directory.
    fn read_directory(&self, path: &Path) -> io::Result<Names>;

    /// Creates a directory in an existing one, with these permissions, less the umask.
    fn create_directory(&self, path: &Path, mode: u32) -> io::Result<()>;

    /// Renames a file, and replaces a file at `to`. Both paths belong to this file system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file or a directory. Fails with `AlreadyExists` if `to` exists.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file. Handles that are open stay usable.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes a directory with everything in it, entry by entry, without following links.
    fn remove_tree(&self, path: &Path) -> io::Result<()>;
}
