//! A reader that hashes and counts the bytes of a file while they are read, and copies them if asked to.

use std::io::{self, Read, Write};

use twox_hash::XxHash3_128;

use super::file_hash::{FileHasher, Hashed};
use crate::bundle::format::{BundleError, ListedFile};
use crate::bundle::read::{into_io_error, read_failed};
use crate::disk::File;

const BLOCK_BYTES: usize = 128 << 10;

/// Called after every block with its number of bytes. An error ends the reading.
pub(super) type Tick<'t> = &'t mut dyn FnMut(u64) -> Result<(), BundleError>;

/// Wraps the reader of one file.
pub(crate) struct HashingReader<'c> {
    input: &'c mut dyn Read,
    hasher: &'c mut FileHasher,
    /// The file that receives a copy.
    copy: Option<File>,
    tick: Tick<'c>,
    fingerprint: Option<XxHash3_128>,
    size: u64,
    fault: Option<BundleError>,
}

/// The result of reading a file to its end.
pub(crate) struct HashedFile {
    /// Its hash and size.
    pub listed: ListedFile,
    /// The candidates of the prefilter.
    pub candidates: Option<Vec<u64>>,
    /// An [`XxHash3_128`] of the bytes, much faster than the hash and not collision resistant. 0 without
    /// [`with_fingerprint`](HashingReader::with_fingerprint).
    pub fingerprint: u128,
    /// The written copy.
    pub copy: Option<File>,
}

impl<'c> HashingReader<'c> {
    /// A reader of `input` that copies to `copy`.
    pub(crate) fn new(input: &'c mut dyn Read, hasher: &'c mut FileHasher, copy: Option<File>, tick: Tick<'c>) -> Self {
        HashingReader { input, hasher, copy, tick, fingerprint: None, size: 0, fault: None }
    }

    /// Computes a fingerprint too.
    pub(crate) fn with_fingerprint(self) -> Self {
        HashingReader { fingerprint: Some(XxHash3_128::new()), ..self }
    }

    /// Takes the error of a failed read, which the consumer may have replaced by one of its own.
    pub(crate) fn take_error(&mut self) -> Option<BundleError> {
        self.fault.take()
    }

    /// Reads the rest of the input.
    pub(crate) fn finish(mut self) -> Result<HashedFile, BundleError> {
        let mut block = vec![0; BLOCK_BYTES];
        while self.advance(&mut block)? > 0 {}
        let fingerprint = self.fingerprint.map_or(0, |fingerprint| fingerprint.finish_128());
        let Hashed { sha256, candidates } = self.hasher.finish();
        Ok(HashedFile { listed: ListedFile { sha256, size: self.size }, candidates, fingerprint, copy: self.copy })
    }

    fn advance(&mut self, buffer: &mut [u8]) -> Result<usize, BundleError> {
        let count = self.input.read(buffer).map_err(read_failed)?;
        self.hasher.update(&buffer[..count]);
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.write(&buffer[..count]);
        }
        if let Some(copy) = &mut self.copy {
            copy.write_all(&buffer[..count]).map_err(|error| BundleError::system(&error, "write", None))?;
        }
        self.size += count as u64;
        (self.tick)(count as u64)?;
        Ok(count)
    }
}

impl Read for HashingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.advance(buffer).map_err(|error| {
            self.fault = Some(error.clone());
            into_io_error(error)
        })
    }
}
