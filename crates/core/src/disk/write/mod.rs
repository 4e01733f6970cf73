//! Files that are written: appended to, replaced whole, or built beside their destination.

mod append;
mod atomic_file;
mod mode;
pub mod new_directory;
mod recorded_file;
mod staged;
mod temporary;

pub(crate) use append::AppendedFile;
pub use append::{Appender, Torn};
pub use atomic_file::write_atomically;
pub use mode::{BY_UMASK, OWNER_ONLY};
pub(crate) use recorded_file::{FileId, RecordedFile};
pub use recorded_file::{OpenError, Replaced};
pub use staged::{StageError, StagedDirectory, StagedFile};
pub use temporary::{Naming, TemporaryDirectory, TemporaryFile, sync_entry};
