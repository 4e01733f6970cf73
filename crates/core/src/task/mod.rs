//! Work on background threads: a task's cancellation and progress, the pipelines that divide it, and where threads come from.

pub mod background;
mod cancellation;
mod pipeline;
mod task;
pub mod threading;

pub use cancellation::Cancellation;
pub(crate) use pipeline::grouped;
pub use pipeline::{InOrder, Pipeline, Worker, spare_cores};
pub use task::{Cancelled, Progress, Task};
