//! The files of a bundle one after the other, wherever they lie: one view of directories and archives.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use super::error::{BundleCode, BundleError};
use super::path::BundlePath;

/// Who is shown the files.
pub trait Visitor {
    /// A file of `size` bytes whose path is sound and new. What is not read of its content is passed over. An error ends the visit.
    fn file(&mut self, path: &BundlePath, size: u64, content: &mut dyn Read) -> Result<(), BundleError>;

    /// Something is wrong that does not end the visit, unless the visitor says so.
    fn problem(&mut self, problem: BundleError) -> Result<(), BundleError>;
}

/// What holds the files of a bundle.
pub trait Container {
    /// Shows every file, in the container's order. An error means that there may be more files, which can't be reached.
    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<(), BundleError>;

    /// How many bytes there are to read.
    fn total(&self) -> u64;

    /// How many of them have been read. Moves on during a visit.
    fn position(&self) -> Rc<Cell<u64>>;
}

/// An error of this crate on its way through a reader.
pub fn carried(error: BundleError) -> io::Error {
    io::Error::other(error)
}

/// What a reader's error is: one that was carried through it, or the system's.
pub fn uncarried(error: io::Error, otherwise: impl FnOnce(&io::Error) -> BundleError) -> BundleError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<BundleError>()) {
        Some(carried) => carried.clone(),
        None => otherwise(&error),
    }
}

/// What a failed read of an entry's content is.
pub fn read_failed(error: io::Error) -> BundleError {
    uncarried(error, |error| match error.kind() {
        io::ErrorKind::UnexpectedEof => BundleError::new(BundleCode::Truncated, "It ends too early"),
        _ => BundleError::system(error, "read", None),
    })
}

/// Reads as much as there is, up to the buffer's length.
pub fn read_up_to(input: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
