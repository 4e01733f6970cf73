//! Durability: which files and directories still have to be synced.

mod durability;
mod sync_directory;
mod unsynced;

pub use durability::Durability;
pub use sync_directory::{sync_directory, sync_entries};
pub use unsynced::{SyncError, Unsynced};
