//! Runs: the hash-chained log of a workflow's execution, and the state that it builds (`docs/run-format.md`).
//!
//! `format` reads and prints lines, `graph` is the workflow, `state` what events change, `read` reads logs; `replay`, `verify` and `record` are
//! the operations on a run's directory (`store`).

#[cfg(test)]
mod documentation_tests;
mod format;
mod graph;
pub mod read;
pub mod record;
mod replay;
#[cfg(test)]
mod sample;
mod state;
mod store;
#[cfg(test)]
pub(crate) mod testing;
mod verify;

pub use format::{ErrorCode, EventLine, Kind, Redactions, RunError, event_id};
pub(crate) use format::{FieldType, Payload, PayloadField};
pub use graph::{Dag, Scheduler};
pub use replay::{Failed, ReplayOptions, Replayed, StartFrom, Verify};
pub use state::{Snapshot, State};
pub use store::RunDirectory;
pub use verify::{Aspect, Verification};
