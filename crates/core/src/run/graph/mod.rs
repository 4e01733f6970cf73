//! The graph of a workflow: compiling it, and which task is assigned to which worker.

mod assignment;
mod causality;
mod dag;
mod graphs;
mod lookup;
mod normalize;
mod scheduler;

pub use assignment::check_assignment;
#[cfg(test)]
pub use assignment::decide;
pub use causality::Causality;
pub use dag::{Dag, Workflow, compile};
pub use graphs::Graphs;
pub use lookup::Lookup;
pub use normalize::Normalizer;
pub use scheduler::Scheduler;
