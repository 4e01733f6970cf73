//! Recording a session, and forking one.

mod fork;
mod recorder;

pub use fork::{ForkError, ForkSource, ForkTarget, fork};
pub use recorder::{FileNameForm, Record, Recorder, RecorderConfig, Watched};
