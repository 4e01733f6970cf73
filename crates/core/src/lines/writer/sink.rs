//! Where batches go: into their file or, in a host's tests, through the host's function.

use std::path::Path;
use std::sync::Arc;

use super::WriteError;
use super::thread::BatchError;
use crate::disk::append::{AppendedFile, Appender, OpenError, Target, Torn};
use crate::disk::{File, InputFile, OpenOptions, OsError};

/// Appends bytes to the file at a path in the place of the system. Returns when that is done. Called by one thread at a time.
pub type Seam = Arc<dyn Fn(&Path, &[u8]) -> Result<(), OsError> + Send + Sync>;

/// What appends to a file.
pub(crate) enum Sink {
    /// The system.
    File(Appender),
    /// The host.
    Seam(Seamed),
}

pub(crate) struct Seamed {
    seam: Seam,
    target: Arc<Target>,
    end: u64,
    torn: bool,
}

impl Sink {
    /// Opens the file of `target`, which must exist unless there is a seam.
    pub(crate) fn open(target: &Arc<Target>, seam: Option<&Seam>) -> Result<Self, BatchError> {
        let path = target.path();
        if let Some(seam) = seam {
            let (size, torn) = end_of(path);
            // The function may keep what it is passed anywhere else.
            let end = size.max(target.end().unwrap_or(0));
            let torn = torn && size == end;
            return Ok(Sink::Seam(Seamed { seam: seam.clone(), target: target.clone(), end, torn }));
        }
        Appender::open(target).map(Sink::File).map_err(|error| batch_error(error, path))
    }

    /// An error if the file that is open is no longer the one at its path.
    pub(crate) fn expect_at_path(&self) -> Result<(), BatchError> {
        match self {
            Sink::File(appender) => appender.expect_at_path().map_err(|error| batch_error(error, self.target().path())),
            Sink::Seam(_) => Ok(()),
        }
    }

    pub(crate) fn target(&self) -> &Arc<Target> {
        match self {
            Sink::File(appender) => appender.target(),
            Sink::Seam(seamed) => &seamed.target,
        }
    }

    /// The offset of the file's end, unless others append to it.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Sink::File(appender) => appender.end(),
            Sink::Seam(seamed) => seamed.end,
        }
    }

    /// Appends bytes. Returns the offset in the file at which they end.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<u64, Torn> {
        match self {
            Sink::File(appender) => appender.append(bytes),
            Sink::Seam(seamed) => seamed.append(bytes),
        }
    }

    /// Cuts the file back to `end`. Returns false if others have appended to it: what they wrote is never removed.
    pub(crate) fn cut_to(&mut self, end: u64) -> Result<bool, OsError> {
        match self {
            Sink::File(appender) => appender.cut_to(end),
            Sink::Seam(seamed) => seamed.cut_to(end),
        }
    }

    /// Ends appending. Returns what is to be synced.
    pub(crate) fn finish(self) -> Option<(Arc<Target>, AppendedFile)> {
        match self {
            Sink::File(appender) => Some(appender.finish()),
            Sink::Seam(_) => None,
        }
    }
}

impl Seamed {
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Torn> {
        let with_newline = self.torn.then(|| [b"\n", bytes].concat());
        let all = with_newline.as_deref().unwrap_or(bytes);
        (self.seam)(self.target.path(), all).map_err(|error| Torn { error, lines: 0, end: self.end })?;
        if std::mem::take(&mut self.torn) {
            self.target.newline_added_at(self.end);
        }
        let is_first = self.end == 0;
        self.end += all.len() as u64;
        self.target.appended(None, self.end, bytes, is_first);
        Ok(self.end)
    }

    fn cut_to(&mut self, end: u64) -> Result<bool, OsError> {
        cut(self.target.path(), end)?;
        self.end = end;
        self.target.cut_to(end);
        Ok(true)
    }
}

/// The size of a file, and whether it ends in a torn line. A file that can't be read is for the seam to report.
fn end_of(path: &Path) -> (u64, bool) {
    let Ok(file) = InputFile::open(path) else { return (0, false) };
    let size = file.metadata().map_or(0, |metadata| metadata.size);
    let mut last = *b"\n";
    let is_torn = size > 0 && file.file().read_at(&mut last, size - 1).is_ok() && last != *b"\n";
    (size, is_torn)
}

fn batch_error(error: OpenError, path: &Path) -> BatchError {
    match error {
        OpenError::System(error) => (error.into(), path.to_path_buf()),
        OpenError::Replaced(why) => (WriteError::Replaced { why, path: path.to_path_buf() }, path.to_path_buf()),
    }
}

fn cut(path: &Path, end: u64) -> Result<(), OsError> {
    let file = File::open_patiently(path, &OpenOptions { write: true, ..OpenOptions::default() })?;
    let metadata = file.metadata().map_err(|error| OsError::new(&error, "fstat", None))?;
    if metadata.size > end {
        file.set_len(end).map_err(|error| OsError::new(&error, "ftruncate", None))?;
    }
    Ok(())
}
