//! Progress and cancellation of operations on bundles.

use std::sync::atomic::{AtomicBool, Ordering};

use super::format::BundleError;

/// The progress of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of bytes processed.
    pub bytes: u64,
    /// The total number of bytes, constant during an operation. For an export the size of the source, of which planning and writing
    /// count half each. For reading an archive its compressed size, because the uncompressed size is unknown.
    pub total: u64,
    /// The number of files processed.
    pub files: u64,
}

/// The caller's view of a running operation.
pub struct JobWatch<'w> {
    /// Set by the caller to cancel. Checked for every block.
    pub cancelled: &'w AtomicBool,
    /// Called after every block, without any throttling.
    pub progress: &'w mut dyn FnMut(Progress),
}

impl JobWatch<'_> {
    /// Reports progress. Fails with [`BundleCode::Cancelled`](super::error::BundleCode::Cancelled) if the caller cancelled.
    pub fn report(&mut self, progress: Progress) -> Result<(), BundleError> {
        self.check()?;
        (self.progress)(progress);
        Ok(())
    }

    /// Fails with [`BundleCode::Cancelled`](super::error::BundleCode::Cancelled) if the caller cancelled.
    pub fn check(&self) -> Result<(), BundleError> {
        if self.cancelled.load(Ordering::Relaxed) { Err(BundleError::cancelled()) } else { Ok(()) }
    }
}
