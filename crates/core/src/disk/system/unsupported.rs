//! Errors which mean that a file system or a sandbox has no such operation, rather than that the operation failed.
//!
//! Only operations that this library adds by itself may be left out then. An operation that the user has asked for, such as the sync of
//! a file with `durability: 'fsync'`, fails.

use super::os_error::OsError;

/// Whether the error of opening or syncing a directory means that directories can't be synced: some file systems answer `EINVAL`,
/// `ENOTSUP` or `EBADF`, sandboxes `EPERM`, `EACCES` or `ENOSYS`, and systems that open no directories `EISDIR`.
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) fn is_no_directory_sync(error: &OsError) -> bool {
    is_no_sync(error) || matches!(error.code, "EACCES" | "EPERM" | "EISDIR" | "EBADF")
}

/// Whether the error of syncing a file means that its file system can't.
pub(crate) fn is_no_sync(error: &OsError) -> bool {
    matches!(error.code, "EINVAL" | "ENOTSUP" | "ENOSYS" | "EROFS")
}

/// Whether the error of locking a file means that its file system has no locks, or that their service does not run (`ENOLCK`).
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) fn is_no_lock(error: &OsError) -> bool {
    matches!(error.code, "ENOSYS" | "ENOLCK" | "ENOTSUP")
}
