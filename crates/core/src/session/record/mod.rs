//! Recording a session, forking one, and archiving one.

mod archive;
mod fork;
mod import;
mod in_force;
mod media_list;
mod recorder;

pub use archive::{ArchiveError, Archived, archive, remove, restore};
pub use fork::{ForkError, ForkSource, ForkTarget, fork, fork_sequence};
pub use import::{ImportFault, ImportOptions, import_foreign};
pub use in_force::{HistoryError, ItemHash};
pub use recorder::{FileNameForm, Prepared, Record, Recorded, Recorder, RecorderConfig, Watched};
