//! Diff: where two executions diverge, and why (`docs/diff.md`).
//!
//! Reads two logs side by side (`stream`), event by event as they are compared (`projection`), up to the first difference (`align`); finds causal
//! chains and guesses the likely cause (`ancestry`).

mod align;
mod ancestry;
mod compare;
mod document;
mod error;

mod projection;
mod stream;
#[cfg(test)]
mod tests;

pub use align::Compared;
pub use ancestry::trace_ancestors;
pub use compare::{Diff, DiffOptions, diff};
pub use document::{print, print_chain};
pub use error::{DiffError, Side};
pub use projection::{
    CountCalls, Digester, Facts, Index, Places, Pointer, ROOT, Reference, Shape, SpareTree, Tree, UnansweredCalls,
    hash, project_facts, project_line, project_record, text_of, with_references,
};
pub use stream::{ComparedEvents, OpenCalls, Record, Source, SourceKind, parts_of};
