//! The state of a run: legal transitions, its document, its hash and its snapshots.

mod accumulator;
mod changes;
mod entry;
pub mod snapshot;
mod state;
mod state_hash;
mod state_sum;
mod transition;

pub use changes::{Changes, Scratch, Tape};
pub use entry::{EntrySink, NoSink};
pub use snapshot::{Content, MAX_SNAPSHOT_BYTES, SUFFIX, Snapshot, invalid, snapshot_id};
pub use state::{CallStatus, Counter, NodeStatus, RunStatus, State};
#[cfg(test)]
pub use state::{Node, TaskStatus};
pub use state_hash::{StateHasher, state_hash};
