//! Making directory entries durable.

use std::path::Path;

use super::os_error::OsError;

/// Syncs the entries of `directory`.
#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> Result<(), OsError> {
    failpoint!("writer::before_directory_sync");
    let handle = std::fs::File::open(directory).map_err(|error| OsError::new(&error, "open", Some(directory)))?;
    handle.sync_all().map_err(|error| OsError::new(&error, "fsync", None))
}

/// Windows syncs directory entries with the file.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> Result<(), OsError> {
    Ok(())
}
