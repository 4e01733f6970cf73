//! Projections: what of an event is compared, as a tree, and when two trees are equal.

mod digest;
mod equal;
mod fields;
mod ignore;
mod places;
pub(crate) mod run_projection;
pub(crate) mod session_projection;
mod tree;

pub(crate) use digest::{Digester, hash, with_references};
pub(crate) use equal::{Pair, same_place};
pub(crate) use fields::{Field, FieldOptions, Note, fields};
pub use ignore::Pointer;
pub(crate) use places::Places;
pub(crate) use run_projection::project_event;
pub(crate) use run_projection::{Facts, project_facts};
pub(crate) use session_projection::{BlockType, Calls, Known, block_type, may_have_calls};
pub(crate) use session_projection::{CountCalls, UnansweredCalls, project_line, project_record};
pub use tree::{Index, Shape, Tree};
pub(crate) use tree::{Mark, inside};
pub(crate) use tree::{ROOT, Reference, SpareTree, text_of};
