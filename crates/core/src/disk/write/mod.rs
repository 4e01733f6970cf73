//! Files that are written: appended to, replaced whole, or built beside their destination.

mod append;
mod atomic_file;
mod mode;
pub(crate) mod new_directory;
mod recorded_file;
mod staged;
mod temporary;

pub(crate) use append::AppendedFile;
pub use append::Appender;
pub(crate) use append::Torn;
pub use atomic_file::write_atomically;
pub(crate) use mode::{BY_UMASK, OWNER_ONLY};
pub use recorded_file::OpenError;
pub(crate) use recorded_file::Replaced;
pub(crate) use recorded_file::{FileId, RecordedFile};
pub(crate) use staged::{StageError, StagedDirectory, StagedFile};
pub(crate) use temporary::{Naming, TemporaryDirectory, TemporaryFile, sync_entry};
