//! Opens a bundle in either form.

use std::path::Path;

use super::archive::ArchiveReader;
use super::container::Container;
use super::directory::{DirectoryReader, open_file};
use crate::bundle::format::{BundleCode, BundleError, Limits};
use crate::disk::files;

/// Opens the bundle at `path` for one visit.
pub(super) fn open_container(path: &Path, limits: &Limits) -> Result<Box<dyn Container>, BundleError> {
    // The caller's path may be a link; only links inside the bundle are refused.
    let disk = files::canonicalize(path)?;
    if files::is_directory(&disk) {
        return Ok(Box::new(DirectoryReader::open(&disk, limits)?));
    }
    let (file, _) = open_file(&disk).map_err(|error| match error.code {
        BundleCode::Device => BundleError::new(BundleCode::NotABundle, error.message),
        _ => error,
    })?;
    Ok(Box::new(ArchiveReader::open(file, limits)?))
}
