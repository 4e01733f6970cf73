//! Writes the files of a bundle to a directory or an archive.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::archived::is_bundle_name;
use crate::bundle::format::{BundleCode, BundleError, BundlePath, Limits};
use crate::bundle::read::{ArchiveWriter, Compression, expands_too_much};
use crate::disk::write::{StagedDirectory, StagedFile};
use crate::disk::{BY_UMASK, File};

/// The writer of a bundle.
pub(super) enum Sink {
    /// A directory, and the current file.
    Directory(StagedDirectory, Option<File>),
    /// An archive.
    Archive(Box<ArchiveWriter<BufWriter<StagedFile>>>),
}

impl Sink {
    /// Begins a bundle at `destination`. Its name selects the form. `tar_bytes` is the size of an archive's tar.
    pub(crate) fn new(destination: &Path, compression: Compression, tar_bytes: u64) -> Result<Self, BundleError> {
        if !is_bundle_name(destination) {
            return Ok(Sink::Directory(StagedDirectory::new(destination, true)?, None));
        }
        let compression = compression.granted()?;
        let out = BufWriter::with_capacity(256 << 10, StagedFile::new(destination, StagedFile::NEW, BY_UMASK)?);
        let writer = ArchiveWriter::new(out, compression, tar_bytes).map_err(failed)?;
        Ok(Sink::Archive(Box::new(writer)))
    }

    /// Begins a file of `size` bytes. Calls of [`write`](Self::write) follow, then [`end`](Self::end).
    pub(crate) fn begin(&mut self, path: &BundlePath, size: u64) -> Result<(), BundleError> {
        match self {
            Sink::Directory(staged, file) => {
                let path: PathBuf = path.below(staged.path());
                *file = Some(staged.create(&path)?);
                Ok(())
            }
            Sink::Archive(writer) => writer.begin(path.as_str(), size).map_err(failed),
        }
    }

    /// Writes bytes of the current file.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        match self {
            Sink::Directory(_, Some(file)) => file.write_all(bytes).map_err(failed),
            Sink::Directory(_, None) => Ok(()),
            Sink::Archive(writer) => writer.write(bytes).map_err(failed),
        }
    }

    /// Ends the current file.
    pub(crate) fn end(&mut self) -> Result<(), BundleError> {
        match self {
            Sink::Directory(staged, file) => Ok(file.take().map_or(Ok(()), |file| staged.keep(&file))?),
            Sink::Archive(writer) => writer.end().map_err(failed),
        }
    }

    /// Ends the bundle after its last file.
    pub(crate) fn finish(self) -> Result<Finished, BundleError> {
        match self {
            Sink::Directory(staged, _) => Ok(Finished::Directory(staged)),
            Sink::Archive(writer) => {
                let out = writer.finish().map_err(failed)?.into_inner();
                let mut staged = out.map_err(|refused| failed(refused.into_error()))?;
                let size = staged.file().metadata().map_err(failed)?.size;
                Ok(Finished::Archive(staged, size))
            }
        }
    }
}

/// A complete bundle that is not yet at its destination.
pub(super) enum Finished {
    /// A directory.
    Directory(StagedDirectory),
    /// An archive, and its size in bytes.
    Archive(StagedFile, u64),
}

impl Finished {
    /// Whether it is an archive that exceeds the expansion ratio of a bounded one.
    pub(crate) fn expands_too_much(&self, tar_bytes: u64) -> bool {
        matches!(self, Finished::Archive(_, size) if expands_too_much(*size, tar_bytes))
    }

    /// Moves the bundle to its destination. Fails for an archive that expands to more than `limits` allow, because readers with these
    /// limits would refuse it.
    pub(crate) fn commit(self, tar_bytes: u64, limits: &Limits) -> Result<(), BundleError> {
        match self {
            Finished::Directory(staged) => Ok(staged.commit()?),
            Finished::Archive(_, size) if tar_bytes > limits.max_tar_bytes(size) => {
                let message = format!(
                    "The archive would expand to {tar_bytes} bytes, more than {} times its size, which is the limit; export to a directory instead",
                    limits.expansion
                );
                Err(BundleError::new(BundleCode::ExpansionTooLarge, message))
            }
            Finished::Archive(staged, _) => Ok(staged.commit()?),
        }
    }
}

fn failed(error: io::Error) -> BundleError {
    BundleError::system(&error, "write", None)
}
