//! Runs: the hash-chained log of a workflow's execution, and the state that it builds (`docs/run-format.md`).
//!
//! `format` reads and prints lines, `graph` is the workflow, `state` what events change, `read` reads logs; `replay`, `verify` and `record` are
//! the operations on a run's directory (`store`).

mod format;
mod graph;
mod read;
mod record;
mod replay;
#[cfg(test)]
mod sample;
mod state;
mod store;
mod verify;

pub use format::{
    Created, ErrorCode, EventLine, FieldType, GENESIS, Kind, MAX_LINE_BYTES, Payload, PayloadField, Redactions,
    RunError, chain, event_id, fields_of, peek_time, print_rest, quoted,
};
#[cfg(test)]
pub(crate) use format::{Envelope, append_line};
pub use graph::{Dag, Graphs, Scheduler, compile};
pub use read::{
    Chunk, Event, EventReader, LogReader, Position, Range, ReadEvent, Trace, empty_log, find, unknown_kind,
};
#[cfg(test)]
pub use record::Recorded;
pub use record::{EventInput, RecordError, RunRecorder, RunRecorderConfig, RunRecording, WrittenSnapshot};
pub use replay::{Failed, Metrics, ReplayOptions, ReplayStart, Replayed, StartFrom, StartResolver, Verify, replay};
#[cfg(test)]
pub use sample::{Chance, Sample, SampleEvent, SampleOptions, any_options};
pub use state::{
    CallStatus, Counter, EntrySink, NoSink, NodeStatus, RunStatus, SUFFIX, Snapshot, State, StateHasher, snapshot,
    snapshot_id, state_hash,
};
pub use store::{BlobStore, RunDirectory, explain_not_a_run, read_dag, read_text};
pub use verify::{Aspect, Check, Verification, verify, verify_partial};
