//! An open file of any file system; in releases always a file of the operating system.

// This module wraps the operating system's file but does not open any.
#![allow(clippy::disallowed_types)]

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::SystemTime;

use super::metadata::Metadata;
use super::open_file::OpenFile;

/// An open file. [`OpenFile`] documents its methods.
#[derive(Debug)]
pub struct File(OpenedFile);

#[cfg(not(feature = "failpoints"))]
type OpenedFile = std::fs::File;

#[cfg(feature = "failpoints")]
#[derive(Debug)]
enum OpenedFile {
    Real(std::fs::File),
    Mounted(Box<dyn OpenFile>),
}

/// `std::fs::File` implements it too.
#[cfg(feature = "failpoints")]
impl std::panic::RefUnwindSafe for File {}

#[cfg(not(feature = "failpoints"))]
impl File {
    /// A file of the operating system.
    pub fn real(file: std::fs::File) -> Self {
        File(file)
    }

    /// The operating system's file, if this is one.
    pub fn as_real(&self) -> Option<&std::fs::File> {
        Some(&self.0)
    }

    fn opened(&self) -> &impl OpenFile {
        &self.0
    }
}

#[cfg(feature = "failpoints")]
impl File {
    /// A file of the operating system.
    pub fn real(file: std::fs::File) -> Self {
        File(OpenedFile::Real(file))
    }

    /// A file of a file system that a test has mounted.
    pub fn mounted(file: impl OpenFile + 'static) -> Self {
        File(OpenedFile::Mounted(Box::new(file)))
    }

    /// The operating system's file, if this is one.
    pub fn as_real(&self) -> Option<&std::fs::File> {
        match &self.0 {
            OpenedFile::Real(file) => Some(file),
            OpenedFile::Mounted(_) => None,
        }
    }

    fn opened(&self) -> &dyn OpenFile {
        match &self.0 {
            OpenedFile::Real(file) => file,
            OpenedFile::Mounted(file) => &**file,
        }
    }
}

#[allow(missing_docs)] // See `OpenFile`.
impl File {
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| self.opened().read(buffer))
    }

    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        uninterrupted(|| self.opened().read_at(buffer, offset))
    }

    pub fn next_data(&self, offset: u64) -> io::Result<u64> {
        self.opened().next_data(offset)
    }

    pub fn next_hole(&self, offset: u64) -> io::Result<u64> {
        self.opened().next_hole(offset)
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        uninterrupted(|| self.opened().write(bytes))
    }

    pub fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        self.opened().seek(to)
    }

    pub fn set_len(&self, size: u64) -> io::Result<()> {
        self.opened().set_len(size)
    }

    pub fn sync_data(&self) -> io::Result<()> {
        self.opened().sync_data()
    }

    pub fn sync_all(&self) -> io::Result<()> {
        self.opened().sync_all()
    }

    pub fn sync_file_system(&self) -> io::Result<()> {
        self.opened().sync_file_system()
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        self.opened().metadata()
    }

    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.opened().set_modified(time)
    }

    pub fn set_owner(&self, owner: (u32, u32)) -> io::Result<()> {
        self.opened().set_owner(owner)
    }

    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.opened().set_mode(mode)
    }

    pub fn mode(&self) -> Option<u32> {
        self.opened().mode()
    }

    #[cfg(unix)]
    pub fn try_lock(&self) -> Result<(), std::fs::TryLockError> {
        self.opened().try_lock()
    }

    #[cfg(unix)]
    pub fn unlock(&self) -> io::Result<()> {
        self.opened().unlock()
    }
}

/// Repeats a call that a signal has interrupted, so that no reader or writer of a file has to.
fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Reads until the buffer is full or the input ends. Returns the number of bytes.
pub(crate) fn read_up_to(input: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        File::read(self, buffer)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        File::write(self, bytes)
    }

    /// Nothing is buffered here.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.opened().seek(to)
    }
}
