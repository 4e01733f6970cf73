//! Locks: files that name their owner, and locks that the system holds.

mod file_lock;
mod system_lock;

pub use file_lock::{FileLock, LockError};
pub(crate) use system_lock::mark_in_use;
pub use system_lock::{FileId, Look, SystemLock};
