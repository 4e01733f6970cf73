//! Runs: the hash-chained log of a workflow's execution, and the state that it builds (`docs/run-format.md`).

pub mod absence;
pub mod assignment;
pub mod blob;
pub mod canonical;
pub mod causality;
pub mod chain;
pub mod changes;
pub mod check;
pub mod created;
pub mod dag;
pub mod decoded_event;
pub mod directory;
pub mod documents;
pub mod entry;
pub mod error;
pub mod event;
pub mod fields;
pub mod fold;
pub mod kind;
pub mod log;
pub mod lookup;
pub mod normalize;
pub mod outputs;
pub mod payload;
#[cfg(test)]
pub mod recorded;
pub mod recorder;
pub mod recording;
pub mod redactions;
pub mod replay;
pub mod replay_start;
pub mod resume;
pub mod salts;
#[cfg(test)]
pub mod sample;
pub mod scheduler;
pub mod snapshot;
pub mod start_from;
pub mod start_resolver;
pub mod state;
pub mod state_hash;
pub mod text;
pub mod trace;
pub mod transition;
pub mod verifier;
pub mod verify;
