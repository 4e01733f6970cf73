//! Two recordings, read side by side.

mod feed;
mod run_digest;
mod run_stream;
mod session_digest;
mod session_stream;
mod sides;
mod source;

pub(crate) use run_digest::edit_runs;
pub(crate) use run_stream::{ComparedEvents, OpenCalls};
pub(crate) use run_stream::{RunCursor, RunEvent};
pub(crate) use session_digest::edit_sessions;
pub(crate) use session_stream::{Parts, SessionCursor, start_of};
pub(crate) use session_stream::{Record, parts_of};
pub(crate) use sides::{Members, excerpts, of_event, of_record, parting_block, quoted};
pub use source::Source;
pub(crate) use source::SourceKind;
