//! The first divergence, and the alignment of what follows it.

mod align;
mod divergence;
mod edits;

pub use divergence::Compared;
pub(crate) use divergence::{
    DivergenceKind, PartingEvent, PartingRecord, RunDivergence, SessionDivergence, diverging_events, diverging_records,
    first_of, start_of,
};
#[cfg(test)]
pub use edits::Op;
pub(crate) use edits::edits;
pub(crate) use edits::{Digested, Edit, Edits, MAX_EDITS, NOTHING};
