//! A file that is to be in a bundle, and where its bytes come from.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::directory::open_file;
use super::error::{BundleCode, BundleError};
use super::manifest::ListedFile;

/// Where the bytes of a file come from.
#[derive(Clone, Debug)]
pub enum ByteSource {
    /// Made here.
    Bytes(Vec<u8>),
    /// A file from this offset on, and the fingerprint by which it is known again.
    File(PathBuf, u64, u128),
}

/// A file that is to be in the bundle.
#[derive(Clone, Debug)]
pub struct PlannedFile {
    /// Size and hash.
    pub listed: ListedFile,
    /// Its bytes.
    pub origin: ByteSource,
    /// Where among them the marks of the redaction are: for a log each of them, for other files at least one if there is any. None if
    /// that is not known.
    pub marked: Option<Vec<u64>>,
}

impl PlannedFile {
    /// A file made here.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        let listed = ListedFile { sha256: crate::hash::sha256([&bytes]), size: bytes.len() as u64 };
        PlannedFile { listed, origin: ByteSource::Bytes(bytes), marked: None }
    }

    /// Its bytes, to be read once.
    pub fn open(&self) -> Result<Box<dyn Read + '_>, BundleError> {
        match &self.origin {
            ByteSource::Bytes(bytes) => Ok(Box::new(&bytes[..])),
            ByteSource::File(path, offset, _) => {
                let (mut file, _) = open_file(path)?;
                file.seek(SeekFrom::Start(*offset)).map_err(|error| BundleError::system(&error, "read", None))?;
                Ok(Box::new(file.take(self.listed.size)))
            }
        }
    }
}

/// That a file is no longer what it was when it was looked at.
pub fn changed(disk: &Path) -> BundleError {
    let message =
        format!("{} was changed while it was exported; export it again when nobody writes to it", disk.display());
    BundleError::new(BundleCode::SourceChanged, message)
}
