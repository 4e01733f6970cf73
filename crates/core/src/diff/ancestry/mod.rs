//! Why executions diverge: causal chains and the likely cause.

mod affected;
mod causal_chain;
pub(crate) mod cause;
mod run_ancestry;
mod session_ancestry;
mod trace;

pub(crate) use affected::affected_nodes;
pub(crate) use causal_chain::Chain;
pub(crate) use cause::Cause;
pub(crate) use run_ancestry::has_event;
#[cfg(test)]
pub(crate) use session_ancestry::history_keys;
pub(crate) use session_ancestry::{tool_of, tools};
pub(crate) use trace::chain;
pub use trace::trace_ancestors;
