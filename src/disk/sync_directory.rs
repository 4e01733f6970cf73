//! Making directory entries durable.

use std::path::Path;

#[cfg(unix)]
use super::files;
#[cfg(unix)]
use super::open_options::OpenOptions;
use super::os_error::OsError;

/// Syncs the entries of `directory`.
#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> Result<(), OsError> {
    failpoint!("writer::before_directory_sync");
    let handle = files::open(directory, &OpenOptions { read: true, ..OpenOptions::default() })?;
    handle.sync_all().map_err(|error| OsError::new(&error, "fsync", None))
}

/// Windows syncs directory entries with the file.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> Result<(), OsError> {
    Ok(())
}
