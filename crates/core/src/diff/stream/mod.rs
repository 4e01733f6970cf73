//! Two recordings, read side by side.

mod cursor;
mod event;
mod feed;
mod run_stream;
mod session_stream;
mod sides;
mod source;

pub(crate) use cursor::{Batch, Cursor};
pub(crate) use event::{Event, Row};
pub(crate) use feed::BatchReader;
pub(crate) use run_stream::{OpenCalls, RunEvents, is_compared, row_of};
pub(crate) use session_stream::{SessionRecords, record_row, start_of};
pub(crate) use sides::{Members, of_event, of_record};
pub use source::Source;
pub(crate) use source::SourceKind;
