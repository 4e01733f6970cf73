//! Projections: what of an event is compared, as a tree, and when two trees are equal.

mod digest;
mod equal;
mod fields;
mod ignore;
mod places;
pub mod run_projection;
pub mod session_projection;
mod tree;

pub use digest::{Digester, hash, with_references};
pub use equal::{Pair, same_place};
pub use fields::{Field, FieldOptions, Note, fields};
pub use ignore::Pointer;
pub use places::Places;
pub use run_projection::{Facts, project_event, project_facts};
pub use session_projection::{
    BlockType, Calls, CountCalls, Known, UnansweredCalls, block_type, may_have_calls, project_line, project_record,
};
pub use tree::{Index, Mark, ROOT, Reference, Shape, SpareTree, Tree, inside, text_of};
