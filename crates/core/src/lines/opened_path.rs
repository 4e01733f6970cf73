//! What is at a path, looked up once: everything that is to be known of it is read from the open file.

use std::path::{Path, PathBuf};

use crate::archived::open_either;
use crate::disk::{File, Links, Metadata, OsError, sniff};

/// What was found at a path: a file, or anything else, which is open; or why nothing could be opened.
pub struct OpenedPath {
    pub(super) path: PathBuf,
    pub(super) found: Result<(File, Metadata), OsError>,
    /// The archive that was opened because there is no file at the path.
    pub(super) archive: Option<PathBuf>,
}

impl OpenedPath {
    /// Opens what is at `path`, or the archive next to it if only that exists. Waits for nothing, and reads nothing.
    pub fn at(path: &Path) -> Self {
        let (found, archive) = match open_either(path, Links::Followed) {
            Ok((file, metadata, archive)) => (Ok((file, metadata)), archive),
            Err(error) => (Err(error), None),
        };
        OpenedPath { path: path.to_path_buf(), found, archive }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The metadata of what is open; `None` if nothing is.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.found.as_ref().ok().map(|(_, metadata)| metadata)
    }

    /// The first bytes of a regular file. `None` for anything else, for an archive that was opened in place of a missing file, and if the file can't be
    /// read.
    pub fn beginning(&self) -> Option<Vec<u8>> {
        let (file, metadata) = self.found.as_ref().ok().filter(|_| self.archive.is_none())?;
        metadata.is_file().then(|| sniff::beginning_of_file(file))?
    }
}
