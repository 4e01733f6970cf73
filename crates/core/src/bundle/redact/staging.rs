//! A temporary directory, next to the destination, for the redacted files of an export.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_128;

use crate::bundle::export::{ByteSource, PlannedFile};
use crate::bundle::format::{BundleError, ListedFile};
use crate::disk::write::TemporaryDirectory;
use crate::disk::{BY_UMASK, File, files};

const BLOCK_BYTES: usize = 256 << 10;

/// A directory of redacted files, removed on drop.
#[derive(Debug)]
pub(crate) struct Staging {
    directory: TemporaryDirectory,
    count: u64,
}

impl Staging {
    /// Creates a directory in `beside`.
    pub(crate) fn new(beside: &Path) -> Result<Self, BundleError> {
        Ok(Staging { directory: TemporaryDirectory::new_in(beside)?, count: 0 })
    }

    /// Creates a file in it.
    pub(crate) fn file(&mut self) -> Result<RedactedFile, BundleError> {
        let path = self.directory.path().join(self.count.to_string());
        self.count += 1;
        let out = BufWriter::with_capacity(BLOCK_BYTES, files::create_new(&path, BY_UMASK)?);
        Ok(RedactedFile { path, out, sha256: Sha256::new(), fingerprint: XxHash3_128::new(), size: 0 })
    }
}

/// Writes and hashes a redacted file.
pub(crate) struct RedactedFile {
    path: PathBuf,
    out: BufWriter<File>,
    sha256: Sha256,
    fingerprint: XxHash3_128,
    size: u64,
}

impl Write for RedactedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.sha256.update(bytes);
        self.fingerprint.write(bytes);
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl RedactedFile {
    /// Completes the file for the export plan.
    pub(crate) fn finish(mut self) -> Result<PlannedFile, BundleError> {
        self.out.flush().map_err(|error| BundleError::system(&error, "write", Some(&self.path)))?;
        let listed = ListedFile { sha256: self.sha256.finalize().into(), size: self.size };
        let origin = ByteSource::File(self.path, 0, self.fingerprint.finish_128());
        Ok(PlannedFile { listed, origin, candidates: None })
    }

    /// Removes the file, which turned out to equal the original.
    pub(crate) fn discard(self) -> Result<(), BundleError> {
        Ok(files::remove_file(&self.path)?)
    }
}
