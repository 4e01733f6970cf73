//! The disk room: the only place that opens, writes, syncs, renames and locks the files of recordings.
//!
//! It knows nothing of sessions, runs or bundles. What it promises at each [`durability`] is in `docs/durability.md`.

pub mod append;
pub mod atomic_file;
pub mod cached_read;
pub mod durability;
pub mod input_file;
pub mod lock;
pub mod new_directory;
pub mod os_error;
pub mod sniff;
pub mod stream;
pub mod sync_directory;
pub mod target;
pub mod unsynced;
