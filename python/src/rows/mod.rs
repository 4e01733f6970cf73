//! Recordings as rows: one row for each line of a session or event of a run, with everything that tables need.
//!
//! - [`session_rows`] reads the lines of a part of a session, so that the parts of a large file can be read in parallel. Data that depends on
//!   earlier lines comes from the steps, the session's final history and the [`session_summary`], in the order of the parts.
//! - [`run_rows`] reads the events of a run.
//!
//! The step of a row is the projection that `diff` compares, as a digest.

mod file_hash;
mod hashed_line;
mod item;
mod run_rows;
mod session_rows;
mod session_summary;

#[cfg(test)]
mod tests;

pub use file_hash::{FileHash, HashedFile};
pub use item::{Block, Value};
pub use run_rows::{RunRow, RunVerdicts, read_run, run_id, verify_recording};
pub use session_rows::{Change, SessionPart, SessionReader, SessionRow};
pub use session_summary::{SessionFold, SessionSummary, text as text_of_json};
