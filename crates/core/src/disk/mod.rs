//! All disk access: the only module that opens, reads, writes, syncs, renames, lists, locks and removes files.
//!
//! It does not know sessions, runs or bundles. `docs/durability.md` says what it promises for each [`durability`]. Everything goes
//! through one trait, [`file_system::FileSystem`]: in releases that of the operating system, in tests any that is [mounted](mount).

pub mod append;
pub mod atomic_file;
pub mod boot;
pub mod cached_read;
pub mod durability;
pub mod file;
pub mod file_system;
pub mod files;
pub mod input_file;
pub mod lock;
pub mod metadata;
pub mod mode;
pub mod mount;
pub mod new_directory;
pub mod open_file;
pub mod open_options;
pub mod os_error;
pub mod parent;
pub mod real;
pub mod recorded_file;
pub mod sniff;
pub mod staged;
pub mod stream;
pub mod sync_directory;
pub mod system_lock;
pub mod target;
pub mod temporary;
pub mod unsupported;
pub mod unsynced;
