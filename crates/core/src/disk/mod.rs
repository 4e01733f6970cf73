//! All disk access: the only module that opens, reads, writes, syncs, renames, lists, locks and removes files.
//!
//! It does not know sessions, runs or bundles. `docs/durability.md` says what it promises for each [`Durability`]. Everything goes through one
//! trait, [`FileSystem`](testing::FileSystem): in releases that of the operating system, in tests any that is mounted.

pub mod append;
pub mod lock;
mod open;
mod sync;
mod system;
pub mod testing;
pub mod write;

pub use open::{BOM, File, files, sniff};
pub(crate) use open::{InputFile, read_up_to};
pub use sync::Durability;
pub(crate) use sync::sync_entries;
pub(crate) use system::{BY_UMASK, Links, OWNER_ONLY};
pub use system::{FileKind, Inode, Metadata, OpenOptions, OsError};
