//! The disk room: the only place that opens, reads, writes, syncs, renames, lists, locks and removes files.
//!
//! It knows nothing of sessions, runs or bundles. What it promises at each [`durability`] is in `docs/durability.md`. All of it is
//! done through one trait, [`file_system::FileSystem`]: of the operating system in releases, or of whatever a test [mounts](mount).

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
pub mod mount;
pub mod new_directory;
pub mod open_file;
pub mod open_options;
pub mod os_error;
pub mod parent;
pub mod real;
pub mod sniff;
pub mod staged;
pub mod stream;
pub mod sync_directory;
pub mod target;
pub mod temporary;
pub mod unsynced;
