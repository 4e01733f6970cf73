//! Recording a session, and forking one.

mod fork;
mod in_force;
mod recorder;

pub use fork::{ForkError, ForkSource, ForkTarget, fork};
pub use in_force::{HistoryError, ITEM_HASH_BYTES, ItemHash, Tail};
pub use recorder::{FileNameForm, Record, Recorder, RecorderConfig, Watched};
