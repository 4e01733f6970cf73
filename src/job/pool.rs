//! Jobs with a single batch on Node's own thread pool.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, Result};
use napi::{Env, Task};

use super::end::JobEnd;
use crate::text::OutputText;

/// A job whose promise resolves to the text of its end. For short reads that are never cancelled: they come in thousands, and Node's
/// pool has few threads.
pub struct PoolJob(Option<Work>);

type Work = Box<dyn FnOnce() -> JobEnd + Send>;

impl PoolJob {
    /// Starts the job.
    pub fn start(work: impl FnOnce() -> JobEnd + Send + 'static) -> AsyncTask<Self> {
        AsyncTask::new(PoolJob(Some(Box::new(work))))
    }
}

impl Task for PoolJob {
    type Output = OutputText;
    type JsValue = OutputText;

    fn compute(&mut self) -> Result<OutputText> {
        let work = self.0.take();
        // A panic on this thread would end the process.
        let end = catch_unwind(AssertUnwindSafe(|| work.map_or_else(JobEnd::closed, |work| work())));
        Ok(end.unwrap_or_else(|panic| JobEnd::panicked(&*panic)).into_text())
    }

    fn resolve(&mut self, _: Env, text: OutputText) -> Result<OutputText> {
        Ok(text)
    }
}
