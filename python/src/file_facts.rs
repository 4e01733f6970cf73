//! The size and hash of the file of a recording.

use std::path::Path;

use session_tape::{FileHash, LineSource};

/// The size and hash of a file; size 0 and no hash if it cannot be read.
#[derive(Clone, Debug, Default)]
pub struct FileFacts {
    pub bytes: u64,
    pub sha256: Option<[u8; 32]>,
}

impl FileFacts {
    /// Reads the file at a path.
    pub fn of(path: &Path) -> Self {
        LineSource::open(path).map_or_else(|_| Self::default(), |source| FileHash::default().finish(&source).into())
    }
}

impl From<(u64, [u8; 32])> for FileFacts {
    fn from((bytes, sha256): (u64, [u8; 32])) -> Self {
        FileFacts { bytes, sha256: Some(sha256) }
    }
}
