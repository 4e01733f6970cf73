//! Making directory entries durable.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use super::files;
#[cfg(unix)]
use super::open_options::OpenOptions;
use super::os_error::OsError;
#[cfg(unix)]
use super::parent::parent;

/// Syncs the entries of `directory`.
#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> Result<(), OsError> {
    failpoint!("writer::before_directory_sync");
    let handle = files::open(directory, &OpenOptions { read: true, ..OpenOptions::default() })?;
    handle.sync_all().map_err(|error| OsError::new(&error, "fsync", None))
}

/// The directories that lead to the file at `path` within its file system, the nearest first. Which of them are new, and by whom they were
/// made, is not known: a directory that another process has just made is as little on stable storage as one that this process has made.
#[cfg(unix)]
pub(super) fn directories_above(path: &Path) -> Vec<PathBuf> {
    let directory = parent(path);
    // Links in the path lead elsewhere than to the entries that are synced.
    let directory = files::canonicalize(directory).or_else(|_| std::path::absolute(directory));
    let Ok(directory) = directory else { return Vec::new() };
    let device_of = |path: &Path| files::metadata(path).ok()?.inode.map(|inode| inode.device);
    let device = device_of(&directory);
    let above = directory.ancestors().take_while(|above| device_of(above) == device);
    above.map(Path::to_path_buf).collect()
}

/// Windows syncs directory entries with the file.
#[cfg(not(unix))]
pub(super) fn directories_above(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// The same.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> Result<(), OsError> {
    Ok(())
}
