//! The graph of a workflow: compiling it, and which task is assigned to which worker.

mod assignment;
mod causality;
mod dag;
mod graphs;
mod lookup;
mod normalize;
mod scheduler;

pub(crate) use assignment::check_assignment;
#[cfg(test)]
pub(crate) use assignment::decide;
pub(crate) use causality::Causality;
pub use dag::Dag;
pub(crate) use dag::Workflow;
pub(crate) use graphs::Graphs;
pub(crate) use lookup::Lookup;
pub(crate) use normalize::Normalizer;
pub use scheduler::Scheduler;
