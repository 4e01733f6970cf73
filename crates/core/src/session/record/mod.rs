//! Recording a session, and forking one.

mod fork;
mod import;
mod recorder;

pub use fork::{ForkError, ForkSource, ForkTarget, fork};
pub use import::{ImportFault, ImportOptions, Imported, import_foreign};
pub use recorder::{FileNameForm, Record, Recorder, RecorderConfig};
