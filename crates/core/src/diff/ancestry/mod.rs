//! Why executions diverge: causal chains and the likely cause.

mod affected;
mod causal_chain;
pub mod cause;
mod run_ancestry;
mod session_ancestry;
mod trace;

pub use affected::affected_nodes;
pub use causal_chain::{Chain, Edge, record_id};
pub use cause::Cause;
pub use run_ancestry::has_event;
pub use session_ancestry::tools;
pub use trace::{chain, trace_ancestors};
