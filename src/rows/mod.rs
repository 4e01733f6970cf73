//! Recordings as rows: one row for each line of a session or event of a run, with everything that tables need.
//!
//! - [`session_rows`] reads the lines of a part of a session, so that the parts of a large file can be read in parallel. Data that depends on
//!   earlier lines comes from [`steps`], the session's final history and the [`session_summary`], in the order of the parts.
//! - [`run_rows`] reads the events of a run.
//!
//! The step of a row is the projection that `diff` compares (`session_projection`, `run_projection`), as a digest.

pub mod file_hash;
pub mod item;
mod line_hashes;
mod read_tree;
pub mod run_rows;
pub mod session_rows;
pub mod session_summary;
pub mod steps;

#[cfg(test)]
mod tests;
