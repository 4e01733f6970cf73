//! Files that are written: appended to, replaced whole, or built beside their destination.

mod append;
pub mod atomic_file;
mod mode;
pub mod new_directory;
mod recorded_file;
mod staged;
pub mod temporary;

pub use append::{AppendedFile, Appender, Torn};
pub use atomic_file::write;
pub use mode::{BY_UMASK, OWNER_ONLY, of_directory};
pub use recorded_file::{FileId, OpenError, RecordedFile, Replaced};
pub use staged::{StageError, StagedDirectory, StagedFile};
pub use temporary::{NEW, Naming, TemporaryDirectory, TemporaryFile, sync_entry};
