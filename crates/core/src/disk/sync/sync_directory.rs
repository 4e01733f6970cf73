//! Makes directory entries durable, where the file system can.

use std::path::{Path, PathBuf};

use crate::disk::open::File;
#[cfg(unix)]
use crate::disk::open::files;
#[cfg(unix)]
use crate::disk::open::parent;
#[cfg(unix)]
use crate::disk::system::is_no_directory_sync;
use crate::disk::system::{OpenOptions, OsError};

/// Syncs the entries of `directory`. Succeeds if the file system or a sandbox does not let directories be synced: then no program can do
/// more.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), OsError> {
    try_to_sync_directory(directory).map(drop)
}

/// Syncs the entries of `directory`, which lead to the file at `path`. Where directories can't be synced, syncs the whole file system
/// instead, if the system can.
pub(crate) fn sync_entries(directory: &Path, path: &Path) -> Result<(), OsError> {
    if try_to_sync_directory(directory)? {
        return Ok(());
    }
    let file = File::open_patiently(path, &OpenOptions { read: true, ..OpenOptions::default() })?;
    let synced = file.sync_file_system();
    unless_impossible(synced.map_err(|error| OsError::new(&error, "syncfs", Some(path))))
}

/// The result of syncing a whole file system: only an error that means that something is lost.
pub(crate) fn unless_impossible(synced: Result<(), OsError>) -> Result<(), OsError> {
    synced.or_else(|error| match error.code {
        "EIO" | "ENOSPC" | "EDQUOT" => Err(error),
        _ => Ok(()),
    })
}

/// Syncs the entries of `directory`. Returns false if the file system or a sandbox does not let directories be synced.
#[cfg(unix)]
pub(crate) fn try_to_sync_directory(directory: &Path) -> Result<bool, OsError> {
    failpoint!("writer::before_directory_sync");
    let synced = files::open(directory, &OpenOptions { read: true, ..OpenOptions::default() })
        .and_then(|handle| handle.sync_all().map_err(|error| OsError::new(&error, "fsync", Some(directory))));
    match synced {
        Ok(()) => Ok(true),
        Err(error) if is_no_directory_sync(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The directories that lead to the file at `path` within its file system, nearest first. It is unknown which of them are new and who
/// created them: a directory that another process has just created is no more durable than one that this process has created.
#[cfg(unix)]
pub(crate) fn directories_above(path: &Path) -> Vec<PathBuf> {
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
pub(crate) fn directories_above(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// Nothing to do on Windows.
#[cfg(not(unix))]
pub(crate) fn try_to_sync_directory(_: &Path) -> Result<bool, OsError> {
    Ok(true)
}
