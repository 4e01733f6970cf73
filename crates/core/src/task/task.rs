//! The caller's view of running work.

use std::io;

use super::cancellation::{Cancellation, cancelled};

/// How far work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of bytes processed.
    pub bytes: u64,
    /// The total number of bytes. For an export the size of the source, of which planning and writing count half each; for reading an archive
    /// its compressed size, because the uncompressed size is unknown. A file that grows while it is read makes it larger.
    pub total: u64,
    /// The number of files processed, where there are several.
    pub files: u64,
    /// Whether all of it is processed, and what was made is about to get its name. The numbers do not count then.
    pub is_last: bool,
}

/// Work that its caller can cancel and task.
pub struct Task<'t> {
    /// Set by the caller to cancel the work. Checked after every 256 KiB or so.
    pub cancellation: &'t Cancellation,
    /// Called as often as that, without any throttling.
    pub progress: &'t mut dyn FnMut(Progress),
}

/// The caller has cancelled the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl From<Cancelled> for io::Error {
    fn from(Cancelled: Cancelled) -> Self {
        cancelled()
    }
}

impl Task<'_> {
    /// Returns an error if the caller has cancelled the work.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.cancellation.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Reports progress. Returns an error if the caller has cancelled the work, before the report or from within it.
    pub fn report(&mut self, progress: Progress) -> Result<(), Cancelled> {
        self.check()?;
        (self.progress)(progress);
        self.check()
    }

    /// To be called when what was made is whole, and before it gets its name: nothing is reported later, so the caller can cancel the work for the last
    /// time, and nothing stays then.
    pub fn conclude(&mut self) -> Result<(), Cancelled> {
        self.report(Progress { is_last: true, ..Progress::default() })
    }

    /// Reports progress in bytes.
    pub fn report_bytes(&mut self, bytes: u64, total: u64) -> Result<(), Cancelled> {
        self.report(Progress { bytes, total: total.max(bytes), ..Progress::default() })
    }
}
