//! Opens files for reading without ever blocking, and reports what is there instead of a file.
//!
//! Any path may lead to a pipe without a writer, a terminal or a device: opening it in the ordinary way may block forever, and reading it
//! may never end. So everything is opened in non-blocking mode and examined only then: what is examined before may have been replaced by
//! the time it is opened.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::disk::open::files;
use crate::disk::system::File;
use crate::disk::system::{FileKind, Links, Metadata, OpenOptions, OsError};
use crate::task::Cancellation;

/// How long to wait while another process holds a lease on the file, which it has to give up before the file can be opened. Linux revokes
/// the lease within this time.
const LEASE_PATIENCE: Duration = Duration::from_secs(50);

/// A regular file that is open for reading. Reads fail after the work that opened it was [cancelled](Cancellation).
#[derive(Debug)]
pub struct InputFile {
    file: File,
    cancellation: Cancellation,
}

impl InputFile {
    /// Opens the regular file at `path`.
    pub fn open(path: &Path) -> Result<Self, OsError> {
        let (file, metadata) = File::open_any(path, Links::Followed)?;
        metadata.expect_regular(path)?;
        Ok(Self::of(file))
    }

    /// Wraps a file that is already open.
    pub fn of(file: File) -> Self {
        InputFile { file, cancellation: Cancellation::current() }
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The open file, of which reads no longer fail when the work is cancelled.
    pub fn into_file(self) -> File {
        self.file
    }

    /// The current metadata of the file.
    pub fn metadata(&self) -> Result<Metadata, OsError> {
        self.file.metadata().map_err(|error| OsError::new(&error, "fstat", None))
    }

    /// Reads the file, but at most its first `limit` bytes. From a file with a hole, only what is before the hole, and a single NUL: its size is
    /// only claimed, so no memory may depend on it, and no document contains a NUL.
    pub fn read_up_to(&mut self, limit: u64) -> Result<Vec<u8>, OsError> {
        let size = self.metadata()?.size.min(limit);
        let before_hole = self.file.next_hole(0).map_or(size, |hole| hole.min(size));
        let limit = if before_hole < size { before_hole } else { limit };
        let mut bytes = Vec::with_capacity(usize::try_from(before_hole).unwrap_or_default());
        let read = self.seek(SeekFrom::Start(0)).and_then(|_| self.take(limit).read_to_end(&mut bytes));
        read.map_err(|error| OsError::new(&error, "read", None))?;
        if before_hole < size {
            bytes.push(0);
        }
        Ok(bytes)
    }

    /// The SHA-256 of at most the next `limit` bytes, and how many they are.
    pub(crate) fn sha256(&mut self, limit: u64) -> io::Result<([u8; 32], u64)> {
        let (mut input, mut block) = (self.take(limit), vec![0; limit.min(256 << 10) as usize]);
        let (mut hasher, mut size) = (Sha256::new(), 0);
        loop {
            match input.read(&mut block)? {
                0 => return Ok((hasher.finalize().into(), size)),
                count => {
                    hasher.update(&block[..count]);
                    size += count as u64;
                }
            }
        }
    }

    /// Passes over the hole at the position. Returns its length: 0 if there is none, or if the file system can't tell holes from data.
    pub fn pass_hole(&mut self) -> io::Result<u64> {
        self.cancellation.check()?;
        let at = self.file.stream_position()?;
        let data = self.file.next_data(at).map_or(at, |data| data.max(at));
        self.file.seek(SeekFrom::Start(data))?;
        Ok(data - at)
    }
}

impl Read for InputFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.cancellation.check()?;
        self.file.read(buffer)
    }
}

impl Seek for InputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl File {
    /// Opens whatever is at `path` for reading, and returns it with its metadata.
    pub fn open_any(path: &Path, links: Links) -> Result<(File, Metadata), OsError> {
        let file = Self::open_patiently(path, &OpenOptions { read: true, links, ..OpenOptions::default() })?;
        let metadata = file.metadata().map_err(|error| OsError::new(&error, "fstat", None))?;
        Ok((file, metadata))
    }

    /// Opens `path`. Waits until another process has given up its lease on the file.
    pub fn open_patiently(path: &Path, options: &OpenOptions) -> Result<File, OsError> {
        let (cancellation, deadline) = (Cancellation::current(), Instant::now() + LEASE_PATIENCE);
        loop {
            match files::open(path, options) {
                // Another process has yet to give up a lease, which only regular files can have.
                Err(error) if error.code == "EAGAIN" && Instant::now() < deadline => {
                    cancellation.check_while_waiting().map_err(|error| OsError::new(&error, "open", Some(path)))?;
                    std::thread::sleep(Duration::from_millis(5));
                }
                opened => return opened.map_err(|error| refusal(error, path)),
            }
        }
    }
}

/// Replaces the error for a socket, which can't be opened: the system reports the same one as for a missing device.
fn refusal(error: OsError, path: &Path) -> OsError {
    match files::metadata(path).ok().and_then(|metadata| name_of(metadata.kind)) {
        Some(what @ SOCKET) => OsError::not_a_file(what, path),
        _ => error,
    }
}

impl Metadata {
    /// Fails with a description of what is at `path`, unless it is a regular file.
    pub fn expect_regular(&self, path: &Path) -> Result<(), OsError> {
        if self.is_file() {
            return Ok(());
        }
        Err(name_of(self.kind).map_or_else(OsError::directory, |what| OsError::not_a_file(what, path)))
    }
}

impl OsError {
    /// The error about a recording: if there is something else than a regular file in its place, it says what to do.
    #[must_use]
    pub(crate) fn about_recording(self) -> Self {
        let advice = ADVICE.iter().find(|(what, _)| *what == self.message);
        OsError { message: advice.map_or(self.message, |(_, advice)| advice), ..self }
    }
}

const PIPE: &str = "a pipe, not a regular file";
const SOCKET: &str = "a socket, not a regular file";
const DEVICE: &str = "a device, not a regular file";
const OTHER: &str = "not a regular file";

/// What to do about a recording that is none of these.
const ADVICE: [(&str, &str); 4] = [
    (PIPE, "a pipe, not a regular file; write its content to a file first"),
    (SOCKET, "a socket, not a regular file; write its content to a file first"),
    (DEVICE, "a device, not a regular file; write its content to a file first"),
    (OTHER, "not a regular file; write its content to a file first"),
];

/// Describes what is there instead of a regular file. `None` for a directory, for which the system has an error of its own.
fn name_of(kind: FileKind) -> Option<&'static str> {
    match kind {
        FileKind::Directory => None,
        FileKind::Pipe => Some(PIPE),
        FileKind::Socket => Some(SOCKET),
        FileKind::CharacterDevice | FileKind::BlockDevice => Some(DEVICE),
        FileKind::File | FileKind::Link | FileKind::Other => Some(OTHER),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn make_pipe(path: &Path) {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn non_regular_files_are_refused_without_waiting() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        make_pipe(&at("pipe"));
        let _socket = UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("pipe", at("link")).unwrap();
        let refused = |path: &Path| InputFile::open(path).err().unwrap().to_string();
        for (name, what) in [("pipe", "a pipe"), ("socket", "a socket"), ("link", "a pipe")] {
            let expected = format!("EINVAL: {what}, not a regular file, open '{}'", at(name).display());
            assert_eq!(refused(&at(name)), expected);
        }
        assert_eq!(refused(Path::new("/dev/zero")), "EINVAL: a device, not a regular file, open '/dev/zero'");
        assert_eq!(refused(root.path()), "EISDIR: illegal operation on a directory, read");
        assert_eq!(refused(&at("none")), format!("ENOENT: no such file or directory, open '{}'", at("none").display()));
        assert!(File::open_any(&at("link"), Links::Refused).is_err());
    }

    #[test]
    fn a_file_is_read_until_the_work_that_opened_it_is_cancelled() {
        let mut temporary = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut temporary, b"0123456789").unwrap();
        let cancellation = Cancellation::default();
        let mut file = cancellation.during(|| InputFile::open(temporary.path())).unwrap();
        assert_eq!(file.read_up_to(4).unwrap(), b"0123");
        cancellation.cancel();
        assert_eq!(file.read_up_to(4).unwrap_err().code, "ECANCELED");
        assert_eq!(InputFile::open(temporary.path()).unwrap().read_up_to(99).unwrap(), b"0123456789");
    }
}
