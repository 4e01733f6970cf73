//! Makes directory entries durable.

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

/// The directories that lead to the file at `path` within its file system, nearest first. It is unknown which of them are new and who
/// created them: a directory that another process has just created is no more durable than one that this process has created.
#[cfg(unix)]
pub(super) fn directories_above(path: &Path) -> Vec<PathBuf> {
    let directory = parent(path);
    // Links are resolved: the entries to sync are those of the directories that they lead to.
    let directory = files::canonicalize(directory).or_else(|_| std::path::absolute(directory));
    let Ok(directory) = directory else { return Vec::new() };
    let device_of = |path: &Path| files::metadata(path).ok()?.inode.map(|inode| inode.device);
    let device = device_of(&directory);
    let above = directory.ancestors().take_while(|above| device_of(above) == device);
    above.map(Path::to_path_buf).collect()
}

/// Always empty: Windows syncs directory entries together with the file.
#[cfg(not(unix))]
pub(super) fn directories_above(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// Nothing to do on Windows.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> Result<(), OsError> {
    Ok(())
}
