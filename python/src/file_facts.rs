//! The size and hashes of the file of a recording.

use std::path::Path;

use session_tape::{FileHash, HashedFile, LineSource};

/// The size and hashes of a file; size 0 and no hash if it cannot be read.
#[derive(Clone, Debug, Default)]
pub struct FileFacts {
    pub bytes: u64,
    /// Tells whether the content has changed.
    pub xxh3: Option<u128>,
    /// `None` also if no table needs it.
    pub sha256: Option<[u8; 32]>,
}

impl FileFacts {
    /// Reads the file at a path.
    pub fn of(path: &Path, with_sha256: bool) -> Self {
        let read = |source| FileHash::new(with_sha256).finish(&source).into();
        LineSource::open(path).map_or_else(|_| Self::default(), read)
    }
}

impl From<HashedFile> for FileFacts {
    fn from(HashedFile { bytes, xxh3, sha256 }: HashedFile) -> Self {
        FileFacts { bytes, xxh3: Some(xxh3), sha256 }
    }
}
