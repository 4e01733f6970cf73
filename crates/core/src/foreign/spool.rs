//! Bytes that are written once and read again: in memory while they are few, else in a file without a name, which only its owner can read and
//! which is gone with its last handle.

use std::io::Write as _;
use std::sync::Arc;

use super::Stop;
use crate::disk::{File, OsError};
use crate::lines::LineSource;

/// Number of bytes that are kept in memory before they go to the file.
const KEPT_BYTES: usize = 1 << 20;

/// Bytes that are appended, and read at any offset.
#[derive(Default)]
pub(super) struct Spool {
    /// What is not in the file.
    tail: Vec<u8>,
    /// The bytes before the tail.
    file: Option<(File, u64)>,
}

impl Spool {
    /// Number of bytes.
    pub(super) fn size(&self) -> u64 {
        self.written() + self.tail.len() as u64
    }

    fn written(&self) -> u64 {
        self.file.as_ref().map_or(0, |(_, written)| *written)
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if self.tail.len() + bytes.len() < KEPT_BYTES {
            self.tail.extend_from_slice(bytes);
            return Ok(());
        }
        // What is long is not copied.
        self.spill(bytes)
    }

    /// Moves the tail to the file, and `bytes` behind it.
    fn spill(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let (file, written) = match &mut self.file {
            Some((file, written)) => (file, written),
            None => {
                let file = File::unnamed().map_err(|error| OsError::new(&error, "open", None))?;
                let (file, written) = self.file.insert((file, 0));
                (file, written)
            }
        };
        for bytes in [&self.tail, bytes] {
            file.write_all(bytes).map_err(|error| OsError::new(&error, "write", None))?;
            *written += bytes.len() as u64;
        }
        self.tail.clear();
        Ok(())
    }

    /// The `length` bytes at `offset`, which were appended.
    pub(super) fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Stop> {
        let (mut bytes, written) = (vec![0; length], self.written());
        let in_file = usize::try_from(written.saturating_sub(offset)).unwrap_or(usize::MAX).min(length);
        if let Some((file, _)) = &self.file {
            let mut filled = 0;
            while filled < in_file {
                match file.read_at(&mut bytes[filled..in_file], offset + filled as u64) {
                    Ok(0) => return Err(Stop::Read(crate::lines::ReadError::Changed)),
                    Ok(count) => filled += count,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(OsError::new(&error, "read", None).into()),
                }
            }
        }
        let start = usize::try_from((offset + in_file as u64).saturating_sub(written)).unwrap_or(usize::MAX);
        let rest = self.tail.get(start..start.saturating_add(length - in_file));
        bytes[in_file..].copy_from_slice(rest.ok_or(Stop::Read(crate::lines::ReadError::Changed))?);
        Ok(bytes)
    }

    /// The bytes as a source of lines.
    pub(super) fn into_source(mut self) -> Result<LineSource, Stop> {
        if self.file.is_none() {
            return Ok(LineSource::in_memory(self.tail));
        }
        self.spill(&[])?;
        match self.file {
            Some((file, _)) => Ok(LineSource::of_file(file)?),
            None => Ok(LineSource::in_memory(Vec::new())),
        }
    }
}

/// Reads what was appended, from the beginning on.
#[derive(Default)]
pub(super) struct SpoolReader {
    spool: Arc<Spool>,
    at: u64,
    block: Vec<u8>,
    taken: usize,
}

/// Number of bytes read at a time.
const BLOCK_BYTES: u64 = 64 << 10;

impl SpoolReader {
    pub(super) fn new(spool: Arc<Spool>) -> Self {
        SpoolReader { spool, ..SpoolReader::default() }
    }

    /// Whether everything was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.taken == self.block.len() && self.at >= self.spool.size()
    }

    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: usize) -> Result<&[u8], Stop> {
        let have = self.block.len() - self.taken;
        if have < length {
            let most = BLOCK_BYTES.max(length as u64).min(have as u64 + self.spool.size() - self.at);
            let more = usize::try_from(most).unwrap_or(usize::MAX) - have;
            self.block.drain(..self.taken);
            self.taken = 0;
            self.block.extend_from_slice(&self.spool.read(self.at, more)?);
            self.at += more as u64;
        }
        let found = self.block.get(self.taken..self.taken + length).ok_or_else(Stop::changed)?;
        self.taken += length;
        Ok(found)
    }
}
