//! A file of an export plan: its entry in the manifest, and where its bytes come from.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::bundle::format::{BundleCode, BundleError, ListedFile};
use crate::bundle::read::{open_file, read_failed};
use crate::lines::{LineSource, ReadError};

/// Where the bytes of a planned file come from.
#[derive(Clone, Debug)]
pub(crate) enum ByteSource {
    /// A document that the export generated.
    Bytes(Vec<u8>),
    /// A file on disk: its path, the offset of the first byte, and a fingerprint to detect changes.
    File(PathBuf, u64, u128),
    /// An archived session, whose content is exported: its path, and a fingerprint of the content.
    Archive(PathBuf, u128),
}

/// A file that will be part of the bundle.
#[derive(Clone, Debug)]
pub(crate) struct PlannedFile {
    /// Size and hash.
    pub listed: ListedFile,
    /// Where its bytes come from.
    pub origin: ByteSource,
    /// The offsets at which the prefilter of the redaction found candidates: all of a log, at most the first of other files. `None`
    /// if they are unknown.
    pub candidates: Option<Vec<u64>>,
}

impl PlannedFile {
    /// A generated document.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        let listed = ListedFile { sha256: crate::hash::sha256([&bytes]), size: bytes.len() as u64 };
        PlannedFile { listed, origin: ByteSource::Bytes(bytes), candidates: None }
    }

    /// Opens the file for one read from the beginning.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + '_>, BundleError> {
        match &self.origin {
            ByteSource::Bytes(bytes) => Ok(Box::new(&bytes[..])),
            ByteSource::File(path, offset, _) => {
                let (mut file, _) = open_file(path)?;
                file.seek(SeekFrom::Start(*offset)).map_err(read_failed)?;
                Ok(Box::new(file.take(self.listed.size)))
            }
            ByteSource::Archive(path, _) => Ok(Box::new(open_session(path)?.into_reader().take(self.listed.size))),
        }
    }
}

/// Opens a session's file or archive.
pub(crate) fn open_session(path: &Path) -> Result<LineSource, BundleError> {
    LineSource::open(path).map_err(|error| match error {
        ReadError::System(error) => error.into(),
        other => BundleError::new(BundleCode::SourceInvalid, other.to_string()),
    })
}

/// The error for a source file that was changed after it was hashed.
pub(crate) fn source_changed(disk: &Path) -> BundleError {
    let message =
        format!("{} was changed while it was exported; export it again when nobody writes to it", disk.display());
    BundleError::new(BundleCode::SourceChanged, message)
}
