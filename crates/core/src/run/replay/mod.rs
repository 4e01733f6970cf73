//! Rebuilding the state of a run, from the log or a snapshot.

mod replay;
mod replay_start;
mod start_from;
mod start_resolver;

pub use replay::{Failed, ReplayOptions, Replayed, Verify};
pub(crate) use replay_start::ReplayStart;
pub use start_from::StartFrom;
pub(crate) use start_resolver::StartResolver;
