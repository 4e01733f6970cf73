//! Files that are appended to: what a recorder knows of its file, each batch, and what has yet to be synced.

mod appender;
mod recorded_file;
mod target;
mod unsynced;

pub use appender::{AppendedFile, Appender};
pub(crate) use appender::{Torn, lock_against_other_writers};
pub use recorded_file::OpenError;
pub(crate) use recorded_file::Replaced;
pub use target::Target;
pub(crate) use unsynced::{SyncError, Unsynced};
