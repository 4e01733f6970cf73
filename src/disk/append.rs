//! Appending whole lines to a file, so that whatever fails, the file ends at a line.
//!
//! The file is opened for each batch and never created: one that was deleted, moved or forbidden meanwhile is
//! noticed (`docs/session-format.md` section 3, rule 4). A batch goes out in one write where the system takes it in one, so
//! batches of several writers stand behind each other and not in each other.

use std::io::{self, Seek};
use std::path::Path;
#[cfg(unix)]
use std::time::{Duration, Instant};

use super::file::File;
use super::files;
use super::metadata::FileKind;
use super::open_options::OpenOptions;
use super::os_error::OsError;

/// How long a batch waits for another writer of the same file. The lock keeps one writer from cutting back its
/// torn batch while another appends behind it; a writer that was suspended in mid-write must not stop the others
/// for good, so after this time the batch goes out without.
#[cfg(unix)]
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// A file that is open for one batch.
pub struct Appender {
    file: File,
    /// The file does not end in `\n`: the torn bytes stay, and the next line must not be fused onto them.
    torn: bool,
    regular: bool,
    id: FileId,
    /// Where the file ends, unless others append to it.
    end: u64,
}

/// A file that was appended to, open to be synced.
#[derive(Debug)]
pub struct AppendedFile {
    file: File,
    id: FileId,
    regular: bool,
}

impl AppendedFile {
    /// Puts what was appended on stable storage.
    pub fn sync(&self) -> Result<(), OsError> {
        failpoint!("append::before_sync");
        match self.file.sync_data() {
            // A pipe or a device that has no storage of its own.
            Err(error) if !self.regular && error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced.map_err(|error| OsError::new(&error, "fdatasync", None)),
        }
    }

    /// Syncs the whole file system that the file is in, directory entries included. False where the system can't.
    pub fn sync_file_system(&self) -> bool {
        self.file.sync_file_system()
    }

    /// Whether both have the same file open, so that a sync of one is a sync of the other.
    pub fn is_same_file(&self, other: &AppendedFile) -> bool {
        self.id.is_some() && self.id == other.id
    }
}

/// Device and inode of a file; `None` where the system has no such numbers.
type FileId = Option<(u64, u64)>;

/// A batch that could not be written whole. What of it is in the file are whole lines, `lines` of them.
#[derive(Debug)]
pub struct Torn {
    /// What the system said.
    pub error: OsError,
    /// How many lines of the batch are in the file.
    pub lines: u64,
}

impl Appender {
    /// Opens `path`, which must exist. `known_end` is where the caller's last line ended: what may not be read ends in `\n` there.
    pub fn open(path: &Path, known_end: Option<u64>) -> Result<Self, OsError> {
        let open = |read| files::open(path, &OpenOptions { append: true, read, ..OpenOptions::default() });
        // Reading is for the look at the last byte; a file that may only be written is appended to all the same.
        let (file, readable) = match open(true) {
            Err(error) if matches!(error.code, "EACCES" | "EPERM") => (open(false)?, false),
            opened => (opened?, true),
        };
        lock_against_other_writers(&file);
        let metadata = file.metadata().map_err(|error| OsError::new(&error, "fstat", None))?;
        if matches!(metadata.kind, FileKind::Pipe | FileKind::Socket) {
            // It would take the lines and keep none.
            let error = io::Error::from(io::ErrorKind::NotSeekable);
            return Err(OsError::new(&error, "open", Some(path)));
        }
        let regular = metadata.is_file();
        let end = metadata.size;
        let is_whole = || if readable { ends_in_newline(&file, end) } else { Ok(known_end == Some(end)) };
        let torn = regular && end > 0 && !is_whole()?;
        Ok(Appender { file, torn, regular, id: metadata.id(), end })
    }

    /// Where the file ends, unless others append to it.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Appends `lines`, each of which ends in `\n`.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), Torn> {
        let newline: &[u8] = if self.torn { b"\n" } else { b"" };
        let mut batch = Batch { newline, lines, written: 0 };
        failpoint!("append::before_write");
        while batch.written < batch.len() {
            match batch.write_to(&self.file) {
                Ok(0) => return Err(self.cut_back(&batch, io::ErrorKind::WriteZero.into())),
                Ok(count) => batch.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.cut_back(&batch, error)),
            }
        }
        failpoint!("append::after_write");
        self.torn = false;
        self.end += batch.len() as u64;
        Ok(())
    }

    /// Ends the batch: other writers may append again. The file stays open to be synced.
    pub fn finish(self) -> AppendedFile {
        #[cfg(unix)]
        // Closing the file would release the lock too, but it may stay open for long.
        let _ = self.file.unlock();
        AppendedFile { file: self.file, id: self.id, regular: self.regular }
    }

    /// Takes the part of a line that was written out of the file again.
    fn cut_back(&mut self, batch: &Batch<'_>, error: io::Error) -> Torn {
        let error = OsError::new(&error, "write", None);
        let whole = batch.whole_lines();
        let lines = memchr::memchr_iter(b'\n', &batch.lines[..whole]).count() as u64;
        let surplus = batch.written - batch.newline.len().min(batch.written) - whole;
        // Without a whole line behind it the newline goes too: the file is then as it was.
        let surplus = if whole == 0 { batch.written } else { surplus };
        if surplus > 0 && self.regular {
            self.remove_end(surplus as u64);
        }
        Torn { error, lines }
    }

    /// Removes the last `count` bytes that this appender wrote, unless someone has appended behind them: what
    /// others wrote is never cut.
    fn remove_end(&mut self, count: u64) {
        // Behind an append, the position is the end of what was appended.
        if let Ok(end) = self.file.stream_position()
            && self.file.metadata().is_ok_and(|metadata| metadata.size == end)
        {
            // If this fails too, the torn bytes stay: the next writer sees them and begins a new line.
            failpoint!("append::before_truncate");
            let _ = self.file.set_len(end.saturating_sub(count));
            failpoint!("append::after_truncate");
        }
    }
}

/// What is to be written, with the newline that ends what another left torn.
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

    /// How many bytes of `lines` that were written are whole lines.
    fn whole_lines(&self) -> usize {
        let of_lines = self.written.saturating_sub(self.newline.len());
        memchr::memrchr(b'\n', &self.lines[..of_lines]).map_or(0, |at| at + 1)
    }
}

/// A byte that can't be read must not be taken for a torn line: the newline behind it would be an empty line in the middle of a log.
fn ends_in_newline(file: &File, length: u64) -> Result<bool, OsError> {
    let mut last = [0];
    loop {
        match file.read_at(&mut last, length - 1) {
            Ok(count) => return Ok(count == 1 && last == *b"\n"),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(OsError::new(&error, "read", None)),
        }
    }
}

/// Advisory, and released when the file is closed.
#[cfg(unix)]
fn lock_against_other_writers(file: &File) {
    let deadline = Instant::now() + LOCK_PATIENCE;
    while let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
        if Instant::now() >= deadline {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Locks of Windows keep readers out as well, so there none is taken.
#[cfg(not(unix))]
fn lock_against_other_writers(_: &File) {}

#[cfg(test)]
mod tests;
