//! Opening a bundle in either form.

use std::path::Path;

use super::archive::ArchiveReader;
use super::container::Container;
use super::directory::{DirectoryReader, open_file};
use super::error::{BundleCode, BundleError};
use super::limits::Limits;
use crate::disk::files;

/// The bundle at `path`, to be read once.
pub fn open_container(path: &Path, limits: &Limits) -> Result<Box<dyn Container>, BundleError> {
    // The path itself is the caller's and may be a link.
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
