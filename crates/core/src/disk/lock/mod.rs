//! Locks: files that name their owner, and locks that the system holds.

pub(crate) mod boot;
mod file_lock;
mod system_lock;

pub use boot::Boot;
pub use file_lock::{FileLock, LockError};
pub use system_lock::{FileId, Look, SystemLock};
