//! Diff: where two executions diverge, and why (`docs/diff.md`).
//!
//! Reads two logs side by side (`stream`), event by event as they are compared (`projection`), up to the first difference (`align`); finds causal
//! chains and guesses the likely cause (`ancestry`). `steps` digests what is compared, for tables.

mod align;
mod ancestry;
mod comparable;
mod compare;
mod document;
mod error;
mod projection;
mod steps;
mod stream;
#[cfg(test)]
mod tests;

pub use align::Compared;
#[cfg(test)]
pub(crate) use ancestry::history_keys;
pub use ancestry::trace_ancestors;
pub use compare::{Diff, DiffOptions, diff};
pub use document::print;
pub use error::{DiffError, Side};
pub use projection::{Pointer, Tree};
pub use steps::{RecordDigest, RecordDigester, RunSteps, SessionSteps, Step};
pub use stream::Source;
pub(crate) use stream::SourceKind;
