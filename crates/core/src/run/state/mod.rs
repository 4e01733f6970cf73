//! The state of a run: legal transitions, its document, its hash and its snapshots.

mod accumulator;
mod changes;
mod entry;
pub(crate) mod snapshot;
mod state;
mod state_hash;
mod state_sum;
mod transition;

pub(crate) use changes::{Changes, Scratch, Tape};
pub(crate) use entry::NoSink;
pub use snapshot::Snapshot;
pub(crate) use snapshot::{Content, MAX_SNAPSHOT_BYTES, invalid};
pub use state::State;
#[cfg(test)]
pub(crate) use state::{CallStatus, Counter, Node, NodeStatus, RunStatus, TaskStatus};
pub(crate) use state_hash::StateHasher;
