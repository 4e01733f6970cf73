//! Session files: the conversation of a CLI, one JSON line an event (`docs/session-format.md`).

pub mod checkpoint;
pub mod envelope;
pub mod event;
pub mod fold;
pub mod header;
pub mod history;
pub mod line;
pub mod message;
pub mod payload;
pub mod recorder;
pub mod replay;
pub mod scan;
pub mod snapshot;
pub mod warnings;
