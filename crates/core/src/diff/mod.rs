//! Diff: where two executions diverge, and why (`docs/diff.md`).
//!
//! Reads two logs side by side, event by event, up to the first difference: [`divergence`]. [`run_projection`] and
//! [`session_projection`] define equality; [`ancestry`] finds causal chains, and [`cause`] guesses the likely cause.
//! [`compare`] combines them into a diff, and [`document`] prints it.

pub mod affected;
pub mod align;
pub mod ancestry;
pub mod causal_chain;
pub mod cause;
pub mod compare;
pub mod digest;
pub mod divergence;
pub mod document;
pub mod edits;
pub mod equal;
pub mod error;
pub mod feed;
pub mod fields;
pub mod ignore;
pub mod places;
pub mod run_ancestry;
pub mod run_digest;
pub mod run_projection;
pub mod run_stream;
pub mod session_ancestry;
pub mod session_digest;
pub mod session_projection;
pub mod session_stream;
pub mod sides;
pub mod source;
pub mod spill;
pub mod tree;

#[cfg(test)]
mod tests;
