//! Files of a source in their redacted form, written beside the bundle until that is sealed.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_128;

use crate::bundle::error::BundleError;
use crate::bundle::manifest::ListedFile;
use crate::bundle::planned_file::{ByteSource, PlannedFile};
use crate::disk::file::File;
use crate::disk::files;
use crate::disk::temporary::{NEW, TemporaryDirectory};

/// How much is written at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// A directory for redacted files, removed on drop.
#[derive(Debug)]
pub struct Staging {
    directory: TemporaryDirectory,
    count: u64,
}

impl Staging {
    /// A directory in `beside`.
    pub fn new(beside: &Path) -> Result<Self, BundleError> {
        Ok(Staging { directory: TemporaryDirectory::new_in(beside, NEW)?, count: 0 })
    }

    /// A new file in it.
    pub fn file(&mut self) -> Result<StagedItem, BundleError> {
        let path = self.directory.path().join(self.count.to_string());
        self.count += 1;
        let out = BufWriter::with_capacity(BLOCK_BYTES, files::create_new(&path)?);
        Ok(StagedItem { path, out, sha256: Sha256::new(), print: XxHash3_128::new(), size: 0 })
    }
}

/// A redacted file under way.
pub struct StagedItem {
    path: PathBuf,
    out: BufWriter<File>,
    sha256: Sha256,
    print: XxHash3_128,
    size: u64,
}

impl Write for StagedItem {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.sha256.update(bytes);
        self.print.write(bytes);
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl StagedItem {
    /// The file, to be exported.
    pub fn finish(mut self) -> Result<PlannedFile, BundleError> {
        self.out.flush().map_err(|error| BundleError::system(&error, "write", Some(&self.path)))?;
        let listed = ListedFile { sha256: self.sha256.finalize().into(), size: self.size };
        let origin = ByteSource::File(self.path, 0, self.print.finish_128());
        Ok(PlannedFile { listed, origin, marked: None })
    }

    /// Removes it: nothing in it is redacted.
    pub fn discard(self) -> Result<(), BundleError> {
        Ok(files::remove_file(&self.path)?)
    }
}
