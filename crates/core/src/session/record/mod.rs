//! Recording a session, forking one, and archiving one.

mod archive;
mod fork;
mod import;
mod in_force;
mod recorder;

pub use archive::{ArchiveError, Archived, archive, remove, restore};
pub use fork::{ForkError, ForkSource, ForkTarget, fork};
pub use import::{ImportFault, ImportOptions, Imported, import_foreign};
pub use in_force::{HistoryError, ITEM_HASH_BYTES, ItemHash, Tail};
pub use recorder::{FileNameForm, Record, Recorder, RecorderConfig, Watched};
