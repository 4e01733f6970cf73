//! Files that were appended to and have not been synced since.
//!
//! A flush with [`Durability::Fsync`](crate::disk::sync::Durability) promises that every record enqueued before it is on stable
//! storage, including those in a file that the recorder has left for another one. Such a file stays open until it is synced: if
//! it were opened again, it could be a different file, and a failed write-back that the kernel has already reported would go
//! unnoticed.

use std::path::{Path, PathBuf};

use super::appender::AppendedFile;
use super::target::Target;
use crate::disk::sync::{directories_above, try_to_sync_directory, unless_impossible};
use crate::disk::system::OsError;

/// Number of files that are kept open before they are synced without a flush: where files have no identity, and where each batch finds a
/// copy in the place of the file, each batch opens another one.
const MAX_FILES: usize = 8;

/// The files to sync. A file stays here until its data and its directory entries are synced.
#[derive(Debug, Default)]
pub(crate) struct Unsynced(Vec<UnsyncedFile>);

#[derive(Debug)]
struct UnsyncedFile {
    path: PathBuf,
    file: AppendedFile,
    with_entries: bool,
}

/// A failed sync, with the path of the file that it was for.
pub(crate) type SyncError = (OsError, PathBuf);

impl Unsynced {
    /// Adds a file that was appended to through `target`.
    pub(crate) fn add(&mut self, target: &Target, file: AppendedFile) {
        let with_entries = target.take_unsynced_entries();
        match self.0.iter_mut().find(|known| known.path == target.path() && known.file.is_same_file(&file)) {
            Some(known) => known.with_entries |= with_entries,
            None => self.0.push(UnsyncedFile { path: target.path().to_path_buf(), file, with_entries }),
        }
    }

    /// Whether every file is synced.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether so many files are open that they are to be synced now.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FILES
    }

    /// Syncs all files, even if one fails. Returns the first error. A failed file is not synced again: the kernel marks its pages
    /// clean, so a second sync would succeed without having written them.
    pub(crate) fn sync(self) -> Result<(), SyncError> {
        let synced = self.0.into_iter().map(|file| file.sync().map_err(|error| (error, file.path)));
        synced.fold(Ok(()), Result::and)
    }
}

impl UnsyncedFile {
    fn sync(&self) -> Result<(), OsError> {
        self.file.sync(&self.path)?;
        if !self.with_entries {
            return Ok(());
        }
        directories_above(&self.path).iter().try_for_each(|directory| self.sync_directory(directory))
    }

    /// Syncs the entries of a directory. Where directories can't be synced, tries to sync the whole file system instead.
    fn sync_directory(&self, directory: &Path) -> Result<(), OsError> {
        match try_to_sync_directory(directory) {
            Ok(true) => Ok(()),
            Ok(false) => unless_impossible(self.file.sync_file_system(&self.path)),
            // The directory was removed, and its entries with it.
            Err(error) if error.code == "ENOENT" => Ok(()),
            Err(error) => Err(error),
        }
    }
}
