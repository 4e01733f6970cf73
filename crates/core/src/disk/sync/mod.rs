//! Durability: syncing the entries that lead to files.

mod durability;
mod sync_directory;

pub use durability::Durability;
pub(crate) use sync_directory::sync_entries;
pub(super) use sync_directory::{directories_above, sync_directory, try_to_sync_directory, unless_impossible};
