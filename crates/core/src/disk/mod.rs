//! All disk access: the only module that opens, reads, writes, syncs, renames, lists, locks and removes files.
//!
//! It does not know sessions, runs or bundles. `docs/durability.md` says what it promises for each [`Durability`]. Everything goes through one
//! trait, [`FileSystem`](testing::FileSystem): in releases that of the operating system, in tests any that is mounted.

mod lock;
mod open;
mod sync;
mod system;
pub mod testing;
mod write;

pub use lock::{Boot, FileId, FileLock, LockError, Look, SystemLock};
pub use open::{BOM, File, Target, files, sniff};
pub(crate) use open::{InputFile, stream};
pub use sync::Durability;
pub(crate) use sync::{SyncError, Unsynced, sync_entries};
pub(crate) use system::Links;
pub use system::{FileKind, Inode, Metadata, OpenOptions, OsError};
pub use write::{Appender, OpenError, write_atomically};
pub(crate) use write::{
    BY_UMASK, Naming, OWNER_ONLY, Replaced, StageError, StagedDirectory, StagedFile, TemporaryDirectory, TemporaryFile,
    Torn, new_directory, sync_entry,
};
