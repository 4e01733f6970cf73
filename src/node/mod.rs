//! The Node.js binding: the only module that knows JavaScript. It converts values and delegates.
//!
//! Values are passed as JSON text or on a tape: V8's own `JSON.stringify` and `JSON.parse` are faster than building values through
//! Node-API.

mod batch_builder;
mod bundle;
mod bundle_json;
mod bundles;
mod describe;
mod diff;
mod error_json;
mod external_memory;
mod fork;
mod header;
mod identity;
mod job;
mod json;
mod message_json;
mod opened_run;
mod pages;
mod preview;
mod reading;
mod recorder;
mod replay;
mod run_columns;
mod run_events;
mod run_json;
mod run_recorder;
mod run_replay;
mod session_batches;
mod session_lock;
mod session_records;
mod small_replay;
mod text;
mod workflow;
mod writing;
