//! Errors of a bundle that pass through a [`Read`](std::io::Read) as errors of it.

use std::io;

use crate::bundle::format::{BundleCode, BundleError};

/// Wraps an error so that it can be returned by an implementation of [`Read`](io::Read).
pub(crate) fn into_io_error(error: BundleError) -> io::Error {
    io::Error::other(error)
}

/// Converts an error of reading: unwraps one made by [`into_io_error`].
pub(crate) fn read_failed(error: io::Error) -> BundleError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<BundleError>()) {
        Some(carried) => carried.clone(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            BundleError::new(BundleCode::Truncated, "It ends too early")
        }
        None => BundleError::system(&error, "read", None),
    }
}
