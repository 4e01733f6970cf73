//! Files that are written: appended to, replaced whole, or built beside their destination.

mod append;
pub mod atomic_file;
mod mode;
pub mod new_directory;
mod recorded_file;
mod staged;
pub mod temporary;

pub(crate) use append::AppendedFile;
pub use append::{Appender, Torn};
pub use atomic_file::write;
pub use mode::{BY_UMASK, OWNER_ONLY, of_directory};
pub(crate) use recorded_file::{FileId, RecordedFile};
pub use recorded_file::{OpenError, Replaced};
pub use staged::{StageError, StagedDirectory, StagedFile};
pub use temporary::{NEW, Naming, TemporaryDirectory, TemporaryFile, sync_entry};
