//! Files that are replaced whole, or built beside their destination.

mod atomic_file;
pub(crate) mod new_directory;
mod staged;
mod temporary;

pub use atomic_file::write_atomically;
pub(crate) use staged::{StageError, StagedDirectory, StagedFile};
pub(crate) use temporary::{Naming, TemporaryDirectory, TemporaryFile, sync_entry};
