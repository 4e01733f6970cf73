//! The first divergence, and the alignment of what follows it.

mod align;
mod divergence;
mod edits;

pub use divergence::Compared;
pub(crate) use divergence::{Divergence, DivergenceKind, Parting, divergence, start_of};
#[cfg(test)]
pub(crate) use edits::Edit;
#[cfg(test)]
pub use edits::Op;
pub(crate) use edits::{Edits, MAX_EDITS, NOTHING, Request, edits};
