//! Errors of the operating system in the wording of Node.js, so that users read what `fs` would have reported.

use std::io;
use std::path::{Path, PathBuf};

/// A failed system call, as Node reports one: `ENOENT: no such file or directory, open '/x/y.jsonl'`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}, {syscall}{}", quoted(path))]
pub struct OsError {
    /// `ENOENT`, `EACCES`… `UNKNOWN` if the error has no such name.
    pub code: &'static str,
    /// The message of Node.js for the code.
    pub message: &'static str,
    /// `open`, `read`, `write`…
    pub syscall: &'static str,
    /// The path, if the call took one.
    pub path: Option<PathBuf>,
    /// Negative, as in Node.js; 0 if the system gave no number.
    pub errno: i32,
}

fn quoted(path: &Option<PathBuf>) -> String {
    path.as_ref().map(|path| format!(" '{}'", path.display())).unwrap_or_default()
}

impl OsError {
    /// Describes `error`, which `syscall` returned, with the path if that call takes one.
    pub fn new(error: &io::Error, syscall: &'static str, path: Option<&Path>) -> Self {
        let (code, message) = name(error);
        let errno = error.raw_os_error().map_or(0, |number| -number.abs());
        OsError { code, message, syscall, path: path.map(Path::to_path_buf), errno }
    }

    /// The error for something at `path` that is not a file, as described by `what`. No system call would report it: opening
    /// and reading it succeeds, and may never end.
    pub fn not_a_file(what: &'static str, path: &Path) -> Self {
        OsError { code: "EINVAL", message: what, syscall: "open", path: Some(path.to_path_buf()), errno: EINVAL }
    }

    /// The error for a thread that the system has refused.
    pub fn no_thread(error: &io::Error) -> Self {
        let errno = error.raw_os_error().map_or(0, |number| -number.abs());
        let message = "the system refuses another thread";
        OsError { code: "EAGAIN", message, syscall: "pthread_create", path: None, errno }
    }

    /// Whether the work was [cancelled](crate::task::Cancellation), so that nothing has actually failed.
    pub fn is_cancelled(&self) -> bool {
        self.code == "ECANCELED"
    }

    /// The error for a directory that was opened like a file.
    pub fn directory() -> Self {
        let (code, message) = name_of_kind(io::ErrorKind::IsADirectory);
        OsError { code, message, syscall: "read", path: None, errno: EISDIR }
    }
}

#[cfg(unix)]
const EINVAL: i32 = -libc::EINVAL;
#[cfg(unix)]
const EISDIR: i32 = -libc::EISDIR;

#[cfg(not(unix))]
const EINVAL: i32 = 0;
#[cfg(not(unix))]
const EISDIR: i32 = 0;

#[cfg(unix)]
fn name(error: &io::Error) -> (&'static str, &'static str) {
    let number = error.raw_os_error();
    NAMES
        .iter()
        .find(|(known, ..)| Some(*known) == number)
        .map_or_else(|| name_of_kind(error.kind()), |(_, code, message)| (*code, *message))
}

#[cfg(not(unix))]
fn name(error: &io::Error) -> (&'static str, &'static str) {
    name_of_kind(error.kind())
}

/// Names an error by its kind: for systems whose error numbers are not errno, and for errors without a number.
fn name_of_kind(kind: io::ErrorKind) -> (&'static str, &'static str) {
    use io::ErrorKind::*;
    match kind {
        NotFound => ("ENOENT", "no such file or directory"),
        // On systems with errno, an error without a number was wrapped on its way; in nearly all cases it was EACCES.
        PermissionDenied if cfg!(unix) => ("EACCES", "permission denied"),
        PermissionDenied => ("EPERM", "operation not permitted"),
        AlreadyExists => ("EEXIST", "file already exists"),
        IsADirectory => ("EISDIR", "illegal operation on a directory"),
        NotADirectory => ("ENOTDIR", "not a directory"),
        StorageFull => ("ENOSPC", "no space left on device"),
        ReadOnlyFilesystem => ("EROFS", "read-only file system"),
        QuotaExceeded => ("EDQUOT", "disk quota exceeded"),
        FileTooLarge => ("EFBIG", "file too large"),
        InvalidFilename => ("ENAMETOOLONG", "name too long"),
        ResourceBusy => ("EBUSY", "resource busy or locked"),
        InvalidInput => ("EINVAL", "invalid argument"),
        NotSeekable => ("ESPIPE", "invalid seek"),
        OutOfMemory => ("ENOMEM", "not enough memory"),
        UnexpectedEof => ("EOF", "end of file"),
        _ => ("UNKNOWN", "unknown error"),
    }
}

#[cfg(unix)]
#[rustfmt::skip]
const NAMES: &[(i32, &str, &str)] = &[
    (libc::EACCES, "EACCES", "permission denied"),
    (libc::EAGAIN, "EAGAIN", "resource temporarily unavailable"),
    (libc::EBADF, "EBADF", "bad file descriptor"),
    (libc::EBUSY, "EBUSY", "resource busy or locked"),
    (libc::ECANCELED, "ECANCELED", "operation canceled"),
    (libc::EDQUOT, "EDQUOT", "disk quota exceeded"),
    (libc::EEXIST, "EEXIST", "file already exists"),
    (libc::EFAULT, "EFAULT", "bad address in system call argument"),
    (libc::EFBIG, "EFBIG", "file too large"),
    (libc::EINTR, "EINTR", "interrupted system call"),
    (libc::EINVAL, "EINVAL", "invalid argument"),
    (libc::EIO, "EIO", "i/o error"),
    (libc::EISDIR, "EISDIR", "illegal operation on a directory"),
    (libc::ELOOP, "ELOOP", "too many symbolic links encountered"),
    (libc::EMFILE, "EMFILE", "too many open files"),
    (libc::EMLINK, "EMLINK", "too many links"),
    (libc::ENAMETOOLONG, "ENAMETOOLONG", "name too long"),
    (libc::ENFILE, "ENFILE", "file table overflow"),
    (libc::ENODEV, "ENODEV", "no such device"),
    (libc::ENOLCK, "ENOLCK", "no locks available"),
    (libc::ENOENT, "ENOENT", "no such file or directory"),
    (libc::ENOMEM, "ENOMEM", "not enough memory"),
    (libc::ENOSPC, "ENOSPC", "no space left on device"),
    (libc::ENOSYS, "ENOSYS", "function not implemented"),
    (libc::ENOTDIR, "ENOTDIR", "not a directory"),
    (libc::ENOTSUP, "ENOTSUP", "operation not supported on socket"),
    (libc::EOPNOTSUPP, "ENOTSUP", "operation not supported on socket"),
    (libc::ENXIO, "ENXIO", "no such device or address"),
    (libc::EOVERFLOW, "EOVERFLOW", "value too large for defined data type"),
    (libc::EPERM, "EPERM", "operation not permitted"),
    (libc::EPIPE, "EPIPE", "broken pipe"),
    (libc::EROFS, "EROFS", "read-only file system"),
    (libc::ESPIPE, "ESPIPE", "invalid seek"),
    (libc::ESTALE, "ESTALE", "stale file handle"),
    (libc::ETIMEDOUT, "ETIMEDOUT", "connection timed out"),
    (libc::ETXTBSY, "ETXTBSY", "text file is busy"),
    (libc::EXDEV, "EXDEV", "cross-device link not permitted"),
];

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn error_messages_are_those_of_node() {
        let path = Path::new("/x/y.jsonl");
        let missing = io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(
            OsError::new(&missing, "open", Some(path)).to_string(),
            "ENOENT: no such file or directory, open '/x/y.jsonl'"
        );
        let directory = io::Error::from_raw_os_error(libc::EISDIR);
        assert_eq!(
            OsError::new(&directory, "read", None).to_string(),
            "EISDIR: illegal operation on a directory, read"
        );
        assert_eq!(OsError::new(&missing, "open", None).errno, -libc::ENOENT);
    }

    #[test]
    fn system_error_without_a_name_has_the_code_unknown() {
        assert_eq!(OsError::new(&io::Error::from_raw_os_error(9999), "read", None).code, "UNKNOWN");
    }
}
