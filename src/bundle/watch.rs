//! Who wants to know how far the work on a bundle is, and may stop it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::error::BundleError;

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes done.
    pub bytes: u64,
    /// Bytes to do, the same from the first word to the last. Of an export those of the source, each of which counts half when it is
    /// looked through and half when it is written; of an archive that is read its own, for what it expands to is not known.
    pub total: u64,
    /// Files done.
    pub files: u64,
}

/// Who looks on.
pub struct JobWatch<'w> {
    /// Set to stop. Looked at with every block.
    pub cancelled: &'w AtomicBool,
    /// Told of every block; how often it passes that on is its own affair.
    pub progress: &'w mut dyn FnMut(Progress),
}

impl JobWatch<'_> {
    /// Tells how far it is; an error if it is to stop.
    pub fn tell(&mut self, progress: Progress) -> Result<(), BundleError> {
        self.check()?;
        (self.progress)(progress);
        Ok(())
    }

    /// An error if it is to stop.
    pub fn check(&self) -> Result<(), BundleError> {
        if self.cancelled.load(Ordering::Relaxed) { Err(BundleError::cancelled()) } else { Ok(()) }
    }
}
