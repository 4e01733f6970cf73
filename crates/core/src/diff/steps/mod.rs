//! Steps: digests of what is compared, of each event and of all events up to it. Two recordings have the same prefix at a step if and only if
//! [`diff`](super::diff) finds no difference up to it.

mod read_tree;
mod run_steps;
mod session_steps;

pub use run_steps::RunSteps;
pub use session_steps::{RecordDigest, RecordDigester, SessionSteps, Step};
