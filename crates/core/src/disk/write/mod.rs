//! Files that are replaced whole, or built beside their destination.

mod atomic_file;
pub(crate) mod new_directory;
mod staged;

pub use atomic_file::write_atomically;
pub(crate) use staged::{Naming, StageError, StagedDirectory, StagedFile, TemporaryDirectory, sync_entry};
