//! Projections: what of an event is compared, as a tree, and when two trees are equal.

mod digest;
mod equal;
mod fields;
mod ignore;
mod mark;
mod places;
mod run_projection;
mod session_projection;

pub(crate) use digest::{Digester, hash, with_references};
pub(crate) use equal::{Pair, same_place, trees_are_equal};
pub(crate) use fields::{Field, Note, fields};
pub use ignore::Pointer;
pub use mark::Tree;
pub(crate) use mark::{Mark, Reference, SpareTree};
pub(crate) use places::Places;
pub(crate) use run_projection::{events_are_plainly_equal, project_event};
pub(crate) use session_projection::{
    BlockType, Calls, CountCalls, Known, block_type, call_id, may_have_calls, project_line, project_record,
    records_are_plainly_equal,
};
