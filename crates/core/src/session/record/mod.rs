//! Recording a session, forking one, and archiving one.

mod archive;
mod fork;
mod recorder;

pub use archive::{ArchiveError, Archived, archive, remove, restore};
pub use fork::{ForkError, ForkSource, ForkTarget, fork};
pub use recorder::{FileNameForm, Record, Recorder, RecorderConfig};
