//! All disk access: the only module that opens, reads, writes, syncs, renames, lists, locks and removes files.
//!
//! It does not know sessions, runs or bundles. `docs/durability.md` says what it promises for each [`Durability`]. Everything goes through one
//! trait, [`FileSystem`]: in releases that of the operating system, in tests any that is mounted.

mod lock;
mod open;
mod sync;
mod system;
mod write;

pub use lock::{Boot, FileId, FileLock, LockError, Look, SystemLock};
pub use open::{BOM, File, InputFile, Target, ZSTD_MAGIC, files, is_archive, sniff, stream};
pub use sync::{Durability, SyncError, Unsynced, sync_entries};
#[cfg(all(test, feature = "failpoints"))]
pub(crate) use system::Real;
pub use system::{Create, FileKind, FileSystem, Inode, Links, Metadata, Names, OpenFile, OpenOptions, OsError};
#[cfg(feature = "failpoints")]
pub use system::{MountGuard, mount};
pub use write::{
    Appender, BY_UMASK, Naming, OWNER_ONLY, OpenError, Replaced, StageError, StagedDirectory, StagedFile,
    TemporaryDirectory, TemporaryFile, Torn, new_directory, sync_entry, write_atomically,
};
