//! The interface through which readers visit the files of a bundle, in a directory or in an archive.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use crate::bundle::format::{BundleCode, BundleError, BundlePath};

/// Receives the files of a container.
pub(crate) trait Visitor {
    /// Called for each file with a valid and unique path. Unread content is skipped. An error ends the visit.
    fn file(&mut self, path: &BundlePath, size: u64, content: &mut dyn Read) -> Result<(), BundleError>;

    /// Called for each problem that does not prevent further reading. An error ends the visit.
    fn problem(&mut self, problem: BundleError) -> Result<(), BundleError>;
}

/// A bundle's files, in either form.
pub(crate) trait Container {
    /// Visits every file, in the container's order. After an error there may be further files that can't be reached.
    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<(), BundleError>;

    /// The number of bytes to read.
    fn total(&self) -> u64;

    /// The number of bytes read so far, updated during a visit.
    fn position(&self) -> Rc<Cell<u64>>;
}

/// Wraps an error so that it can be returned by a [`Read`] implementation.
pub(crate) fn into_io_error(error: BundleError) -> io::Error {
    io::Error::other(error)
}

/// Unwraps an error made by [`into_io_error`], or converts a system error with `otherwise`.
pub(super) fn from_io_error(error: io::Error, otherwise: impl FnOnce(&io::Error) -> BundleError) -> BundleError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<BundleError>()) {
        Some(carried) => carried.clone(),
        None => otherwise(&error),
    }
}

/// Converts an error of reading an entry's content.
pub(crate) fn read_failed(error: io::Error) -> BundleError {
    from_io_error(error, |error| match error.kind() {
        io::ErrorKind::UnexpectedEof => BundleError::new(BundleCode::Truncated, "It ends too early"),
        _ => BundleError::system(error, "read", None),
    })
}

/// Fills the buffer, or as much of it as there is input, and returns the number of bytes read.
pub(crate) fn read_up_to(input: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
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
