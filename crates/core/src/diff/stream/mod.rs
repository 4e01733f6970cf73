//! Two recordings, read side by side.

mod feed;
mod run_digest;
mod run_stream;
mod session_digest;
mod session_stream;
mod sides;
mod source;
mod spill;

pub use run_digest::edit_runs;
pub use run_stream::{ComparedEvents, OpenCalls, RunCursor, RunEvent, first_time};
pub use session_digest::edit_sessions;
pub use session_stream::{Parts, Record, SessionCursor, parts_of, start_of};
pub use sides::{Members, excerpts, of_event, of_record, parting_block, quoted};
pub use source::{Source, SourceKind};
pub use spill::{Element, Spill};
