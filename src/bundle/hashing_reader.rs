//! The bytes of one file on their way: hashed, counted, perhaps kept, while somebody reads them.

use std::io::{self, Read, Write};

use twox_hash::XxHash3_128;

use super::container::{into_io_error, read_failed};
use super::error::BundleError;
use super::file_hash::{FileHasher, Hashed};
use crate::disk::file::File;

/// How much is passed on at a time.
const BLOCK_BYTES: usize = 128 << 10;

/// Told of every block how many bytes it has; an error ends the reading.
pub type Tick<'t> = &'t mut dyn FnMut(u64) -> Result<(), BundleError>;

/// A file that is read.
pub struct HashingReader<'c> {
    input: &'c mut dyn Read,
    hasher: &'c mut FileHasher,
    /// Where a copy of it goes.
    copy: Option<File>,
    tick: Tick<'c>,
    print: Option<XxHash3_128>,
    size: u64,
    fault: Option<BundleError>,
}

/// A file that was read to its end.
pub struct HashedFile {
    /// The hash of its bytes, and what was seen among them.
    pub hashed: Hashed,
    /// A fingerprint of them, much quicker to make again than the hash. No proof of anything: see [`XxHash3_128`]. 0 unless it
    /// was asked for.
    pub fingerprint: u128,
    /// How many there were.
    pub size: u64,
    /// The copy.
    pub copy: Option<File>,
}

impl<'c> HashingReader<'c> {
    /// Reads `input`.
    pub fn new(input: &'c mut dyn Read, hasher: &'c mut FileHasher, copy: Option<File>, tick: Tick<'c>) -> Self {
        HashingReader { input, hasher, copy, tick, print: None, size: 0, fault: None }
    }

    /// The same, and takes a fingerprint.
    pub fn with_fingerprint(self) -> Self {
        HashingReader { print: Some(XxHash3_128::new()), ..self }
    }

    /// Why a read failed, if that was not the reader's fault.
    pub fn fault(&mut self) -> Option<BundleError> {
        self.fault.take()
    }

    /// Reads what is left, to the end.
    pub fn finish(mut self) -> Result<HashedFile, BundleError> {
        let mut block = vec![0; BLOCK_BYTES];
        while self.advance(&mut block)? > 0 {}
        let fingerprint = self.print.map_or(0, |print| print.finish_128());
        Ok(HashedFile { hashed: self.hasher.finish()?, fingerprint, size: self.size, copy: self.copy })
    }

    /// Gives the file up, so that the hasher is ready for another one.
    pub fn abandon(self) -> Result<(), BundleError> {
        self.hasher.finish().map(drop)
    }

    fn advance(&mut self, buffer: &mut [u8]) -> Result<usize, BundleError> {
        let count = loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(read_failed)?,
            }
        };
        self.hasher.update(&buffer[..count])?;
        if let Some(print) = &mut self.print {
            print.write(&buffer[..count]);
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
