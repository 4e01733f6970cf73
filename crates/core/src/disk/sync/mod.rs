//! Durability: which files and directories still have to be synced.

mod durability;
mod sync_directory;
mod unsynced;

pub use durability::Durability;
pub(crate) use sync_directory::sync_directory;
pub(crate) use sync_directory::sync_entries;
pub(crate) use unsynced::{SyncError, Unsynced};
