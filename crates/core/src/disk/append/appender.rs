//! Appends whole lines to a file, so that the file ends at a line whatever fails.
//!
//! The file is opened for each batch and never created, so that a file that was deleted or moved, or whose permissions have changed,
//! is noticed (`docs/session-format.md` section 3, rule 4). A batch is one write if the system accepts it in one, so the batches of
//! several writers follow each other and are not interleaved. A file that is not the one that was written
//! ([`recorded_file`](super::recorded_file)) is not appended to.

use std::io::{self, Seek};
use std::path::Path;
use std::sync::Arc;
#[cfg(unix)]
use std::time::{Duration, Instant};

use super::recorded_file::{FileId, OpenError, Replaced};
use super::target::Target;
use crate::disk::open::{File, files};
use crate::disk::system::{FileKind, Metadata, OpenOptions, OsError};

/// How long a batch waits for another writer of the same file. The lock keeps a writer from cutting back its torn batch while
/// another one appends after it. But a writer that was suspended in the middle of a write must not block the others for good, so
/// after this time a batch is written without the lock.
#[cfg(unix)]
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// A file that is open for one batch.
#[derive(Debug)]
pub struct Appender {
    target: Arc<Target>,
    file: File,
    /// Whether the file does not end in `\n`. The torn bytes stay, and the next line must not be appended to them.
    torn: bool,
    regular: bool,
    id: FileId,
    /// The offset of the file's end, unless others append to it.
    end: u64,
}

/// A file that was appended to, still open in order to be synced.
#[derive(Debug)]
pub struct AppendedFile {
    file: File,
    id: FileId,
    regular: bool,
}

impl AppendedFile {
    /// Syncs what was appended to stable storage. Errors name the file at `path`.
    pub fn sync(&self, path: &Path) -> Result<(), OsError> {
        failpoint!("append::before_sync");
        match self.file.sync_data() {
            // A pipe, or a device without storage of its own.
            Err(error) if !self.regular && error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced.map_err(|error| OsError::new(&error, "fdatasync", Some(path))),
        }
    }

    /// Syncs the whole file system of the file, including directory entries.
    pub fn sync_file_system(&self, path: &Path) -> Result<(), OsError> {
        self.file.sync_file_system().map_err(|error| OsError::new(&error, "syncfs", Some(path)))
    }

    /// Whether both have the same file open, so that syncing one also syncs the other.
    pub fn is_same_file(&self, other: &AppendedFile) -> bool {
        self.id.is_some() && self.id == other.id
    }
}

/// A batch that was not written completely. The file contains whole lines of it only.
#[derive(Debug)]
pub struct Torn {
    /// The error of the system.
    pub error: OsError,
    /// Number of lines of the batch that are in the file.
    pub lines: u64,
    /// The offset in the file at which the last of them ends.
    pub end: u64,
}

impl Appender {
    /// Opens the file of `target`, which must exist and be the one that was appended to through it before. If the file may not be read,
    /// it ends in `\n` only if it ends where the last batch did.
    pub fn open(target: &Arc<Target>) -> Result<Self, OpenError> {
        let path = target.path();
        let (file, metadata, readable) = open_locked(path)?;
        if matches!(metadata.kind, FileKind::Pipe | FileKind::Socket) {
            // It would accept the lines but not keep them.
            let error = io::Error::from(io::ErrorKind::NotSeekable);
            return Err(OsError::new(&error, "open", Some(path)).into());
        }
        let known_end = target.end();
        target.check(&file, &metadata, readable)?;
        let regular = metadata.is_file();
        let end = metadata.size;
        let is_whole = || if readable { ends_in_newline(&file, end) } else { Ok(known_end == Some(end)) };
        let torn = regular && end > 0 && !is_whole()?;
        Ok(Appender { target: target.clone(), file, torn, regular, id: metadata.id(), end })
    }

    /// The offset of the file's end, unless others append to it.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Cuts the file back to this offset, at which a line ended. Returns false if another writer has appended after what this one wrote.
    pub(crate) fn cut_to(&mut self, end: u64) -> Result<bool, OsError> {
        let size = self.file.metadata().map_err(|error| OsError::new(&error, "fstat", None))?.size;
        if size != self.end {
            return Ok(false);
        }
        failpoint!("append::before_truncate");
        self.file.set_len(end).map_err(|error| OsError::new(&error, "ftruncate", None))?;
        failpoint!("append::after_truncate");
        self.end = end;
        self.target.cut_to(end);
        Ok(true)
    }

    /// An error if the file that is open is no longer the one at its path.
    pub(crate) fn expect_at_path(&self) -> Result<(), OpenError> {
        let there = files::metadata(self.target.path())?;
        if self.regular && self.id.is_some() && there.id() != self.id {
            return Err(OpenError::Replaced(Replaced::OtherStart));
        }
        Ok(())
    }

    /// The file that is appended to.
    pub fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// Appends `lines`, each of which ends in `\n`. Returns the offset in the file at which they end.
    pub fn append(&mut self, lines: &[u8]) -> Result<u64, Torn> {
        let newline: &[u8] = if self.torn { b"\n" } else { b"" };
        let mut batch = Batch { newline, lines, written: 0 };
        failpoint!("append::before_write");
        while batch.written < batch.len() {
            match batch.write_to(&self.file) {
                Ok(0) => return Err(self.cut_back(&batch, io::ErrorKind::WriteZero.into())),
                Ok(count) => batch.written += count,
                Err(error) => return Err(self.cut_back(&batch, error)),
            }
        }
        failpoint!("append::after_write");
        let is_first = self.end == 0;
        if std::mem::take(&mut self.torn) {
            self.target.newline_added_at(self.end);
        }
        self.end += batch.len() as u64;
        if self.regular {
            self.target.appended(self.id, self.end, lines, is_first);
        }
        Ok(self.position().unwrap_or(self.end))
    }

    /// The offset at which the bytes end that were appended last, wherever other programs had moved the end of the file to.
    fn position(&mut self) -> Option<u64> {
        if self.regular { self.file.stream_position().ok() } else { None }
    }

    /// Ends the batch: other writers may append again. The file stays open to be synced.
    pub fn finish(self) -> (Arc<Target>, AppendedFile) {
        #[cfg(unix)]
        // Closing the file would also release the lock, but the file may stay open for a long time.
        let _ = self.file.unlock();
        (self.target, AppendedFile { file: self.file, id: self.id, regular: self.regular })
    }

    /// Removes the part of a line that was written.
    fn cut_back(&mut self, batch: &Batch<'_>, error: io::Error) -> Torn {
        let error = OsError::new(&error, "write", None);
        let whole = batch.whole_lines();
        let lines = memchr::memchr_iter(b'\n', &batch.lines[..whole]).count() as u64;
        let surplus = batch.written - batch.newline.len().min(batch.written) - whole;
        // If no whole line follows the newline, it is removed too, and the file is as before.
        let surplus = if whole == 0 { batch.written } else { surplus };
        let end = self.position().unwrap_or(self.end + batch.written as u64).saturating_sub(surplus as u64);
        if surplus > 0 && self.regular {
            self.remove_end(surplus as u64);
        }
        Torn { error, lines, end }
    }

    /// Removes the last `count` bytes that this appender wrote, unless another writer has appended after them: what others wrote is
    /// never removed.
    fn remove_end(&mut self, count: u64) {
        // After an append, the position is the end of the appended bytes.
        if let Ok(end) = self.file.stream_position()
            && self.file.metadata().is_ok_and(|metadata| metadata.size == end)
        {
            // If this fails too, the torn bytes stay: the next writer finds them and begins a new line.
            failpoint!("append::before_truncate");
            let _ = self.file.set_len(end.saturating_sub(count));
            failpoint!("append::after_truncate");
        }
    }
}

/// The bytes to write: the lines, preceded by a newline if the file ends in a torn line.
struct Batch<'a> {
    newline: &'a [u8],
    lines: &'a [u8],
    written: usize,
}

impl Batch<'_> {
    fn len(&self) -> usize {
        self.newline.len() + self.lines.len()
    }

    fn write_to(&self, file: &File) -> io::Result<usize> {
        match self.written.checked_sub(self.newline.len()) {
            Some(0) if self.newline.is_empty() => file.write(self.lines),
            Some(of_lines) => file.write(&self.lines[of_lines..]),
            None => file.write(&[self.newline, self.lines].concat()),
        }
    }

    /// The size of the whole lines that were written, in bytes of `lines`.
    fn whole_lines(&self) -> usize {
        let of_lines = self.written.saturating_sub(self.newline.len());
        memchr::memrchr(b'\n', &self.lines[..of_lines]).map_or(0, |at| at + 1)
    }
}

/// An unreadable byte must not count as a torn line: the newline that would be appended would be an empty line in the middle of the
/// log.
fn ends_in_newline(file: &File, length: u64) -> Result<bool, OsError> {
    let mut last = [0];
    let read = file.read_at(&mut last, length - 1);
    Ok(read.map_err(|error| OsError::new(&error, "read", None))? == 1 && last == *b"\n")
}

/// Opens the file at `path` for a batch. Returns whether it may be read, too.
fn open_locked(path: &Path) -> Result<(File, Metadata, bool), OsError> {
    let open = |read| File::open_patiently(path, &OpenOptions { append: true, read, ..OpenOptions::default() });
    loop {
        // A file that may be written but not read is appended to anyway.
        let (file, readable) = match open(true) {
            Err(error) if matches!(error.code, "EACCES" | "EPERM") => (open(false)?, false),
            opened => (opened?, true),
        };
        lock_against_other_writers(&file);
        let metadata = file.metadata().map_err(|error| OsError::new(&error, "fstat", None))?;
        // Who had the lock before may have archived the session: what is appended to a file that was removed is gone.
        if !was_removed(&metadata, path) {
            return Ok((file, metadata, readable));
        }
    }
}

/// Whether an open file is no longer at `path`, nor anywhere else. A few file systems count no names.
fn was_removed(metadata: &Metadata, path: &Path) -> bool {
    metadata.is_file()
        && metadata.inode.is_some_and(|inode| inode.links == 0)
        && files::metadata(path).map_or(true, |there| there.id() != metadata.id())
}

/// Takes the lock under which every batch is written. It is released when the file is closed. Returns `false` if another writer still has it after
/// half a second. A file system without such locks has no other writers.
#[cfg(unix)]
pub(crate) fn lock_against_other_writers(file: &File) -> bool {
    let deadline = Instant::now() + LOCK_PATIENCE;
    while let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Takes no lock: on Windows it would also block readers.
#[cfg(not(unix))]
pub(crate) fn lock_against_other_writers(_: &File) -> bool {
    true
}

#[cfg(test)]
mod tests;
