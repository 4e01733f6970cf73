//! The Node.js binding: the only module that knows JavaScript. It converts values and delegates.
//!
//! Values are passed as JSON text or on a tape: V8's own `JSON.stringify` and `JSON.parse` are faster than building values through
//! Node-API.

// Files are for the core; see `clippy.toml`.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
// In a test build napi-rs registers nothing, so the binding appears to be unused.
#![cfg_attr(test, allow(dead_code))]

mod archive;
mod atif_export;
mod batch_builder;
mod bundle;
mod bundle_json;
mod bundles;
mod describe;
mod diff;
mod error_json;
mod external_memory;
mod foreign;
mod fork;
mod header;
mod identity;
mod job;
mod json;
mod message_json;
mod opened_run;
mod pages;
mod pieces;
mod preview;
mod reading;
mod recorder;
mod repair;
mod replay;
mod run_events;
mod run_json;
mod run_recorder;
mod run_replay;
mod seam;
mod search;
mod session_batches;
mod session_lock;
mod session_media;
mod session_records;
mod small_replay;
mod tape;
mod text;
mod workflow;
mod writing;
mod writing_job;
