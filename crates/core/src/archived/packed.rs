//! The compressed bytes of an archive, and copies of what is in them.

use std::io::{self, Read};
use std::path::Path;

use crate::disk::{File, OsError};

/// The compressed bytes of an archive.
#[derive(Debug)]
pub enum Packed {
    /// A large file.
    File(File),
    /// A small file, read whole.
    Memory(Vec<u8>),
}

/// An unpacked copy of an archive without a usable seek table.
pub enum Unpacked {
    /// A file without a name, and its size.
    File(File, u64),
    /// A small content.
    Memory(Vec<u8>),
}

impl Packed {
    /// Reads at `offset` until the buffer is full or the archive ends. Returns the number of bytes.
    pub(super) fn fill(&self, buffer: &mut [u8], offset: u64) -> Result<usize, OsError> {
        let mut filled = 0;
        while filled < buffer.len() {
            let read = self.read_at(&mut buffer[filled..], offset + filled as u64);
            match read.map_err(|error| OsError::new(&error, "read", None))? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Packed::File(file) => file.read_at(buffer, offset),
            Packed::Memory(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
        }
    }

    /// Reads the archive from an offset on.
    pub(super) fn reader_at(&self, offset: u64) -> PackedReader<'_> {
        PackedReader { packed: self, offset }
    }
}

/// Reads an archive.
pub(super) struct PackedReader<'p> {
    packed: &'p Packed,
    /// The offset of the next byte.
    pub(super) offset: u64,
}

impl Read for PackedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.packed.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Whether a path has the file name of the archive of a bundle.
pub(crate) fn is_bundle_name(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(b".tar.zst"))
}
