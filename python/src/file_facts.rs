//! The size and hashes of the file of a recording.

use std::path::Path;

use session_tape_core::LineSource;

use crate::rows::{FileHash, HashedFile};

/// The size and hashes of a file; size 0 and no hash if it cannot be read.
#[derive(Clone, Debug, Default)]
pub struct FileFacts {
    pub bytes: u64,
    /// Shows whether the content has changed.
    pub fingerprint: Option<u128>,
    /// `None` also if no table needs it.
    pub sha256: Option<[u8; 32]>,
}

impl FileFacts {
    /// Reads the file at a path.
    pub fn of(path: &Path, hash: FileHash) -> Self {
        LineSource::open(path).map_or_else(|_| Self::default(), |source| hash.finish(&source).into())
    }
}

impl From<HashedFile> for FileFacts {
    fn from(HashedFile { bytes, fingerprint, sha256 }: HashedFile) -> Self {
        FileFacts { bytes, fingerprint: Some(fingerprint), sha256 }
    }
}
