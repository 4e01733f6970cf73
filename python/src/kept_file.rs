//! Recordings without a path that can be opened again: bytes, open files, pipes.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use session_tape_core::{Cancellation, LineSource};
use tempfile::TempDir;

/// Number of bytes that are copied at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// A recording in a temporary directory of its own, so that no other file is mistaken for a part of it. Dropping it removes the directory.
#[derive(Debug)]
pub struct KeptFile(TempDir);

impl KeptFile {
    /// Creates an empty recording. Returns it and its file, open for writing.
    pub fn create() -> io::Result<(Self, File)> {
        let kept = KeptFile(tempfile::tempdir()?);
        let file = File::create(kept.path())?;
        Ok((kept, file))
    }

    /// Creates a recording with these bytes.
    pub fn with(bytes: &[u8]) -> io::Result<Self> {
        let (kept, mut file) = Self::create()?;
        file.write_all(bytes)?;
        Ok(kept)
    }

    /// Creates a recording with the content of `source`, copied block by block.
    pub fn copy(source: &LineSource) -> io::Result<Self> {
        let (kept, mut file) = Self::create()?;
        let (mut block, mut at) = (vec![0; BLOCK_BYTES], 0);
        let cancellation = Cancellation::current();
        loop {
            cancellation.check()?;
            let count = source.read_at(&mut block, at).map_err(io::Error::other)?;
            if count == 0 {
                return Ok(kept);
            }
            file.write_all(&block[..count])?;
            at += count as u64;
        }
    }

    /// The path of the recording.
    pub fn path(&self) -> PathBuf {
        self.directory().join("recording")
    }

    /// The directory, which contains only the recording.
    pub fn directory(&self) -> &Path {
        self.0.path()
    }
}
