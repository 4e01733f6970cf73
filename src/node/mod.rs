//! The Node.js binding: the only place that knows of JavaScript. It converts and delegates.
//!
//! Text goes in and text comes out. V8's own `JSON.stringify` and `JSON.parse` do the rest on the other side, since
//! a value built through N-API costs more than all that is saved here.

mod batch_builder;
mod bundle;
mod bundle_json;
mod bundles;
mod diff;
mod error_json;
mod header;
mod job;
mod json;
mod message_json;
mod reading;
mod recorder;
mod replay;
mod run_events;
mod run_json;
mod run_recorder;
mod run_replay;
mod session_batches;
mod text;
mod workflow;
mod writing;
