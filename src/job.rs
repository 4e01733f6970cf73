//! Background jobs: the only way in which work on a background thread reaches JavaScript.
//!
//! A job is started with a callback. Its work runs on a background thread and sends batches: JSON texts, which may come with a
//! [tape](super::tape). Only a few batches are queued. JavaScript takes them one by one ([`NativeJob::take`]); once it has found the
//! queue empty, `on_ready` is called for the next batch. The last batch is the [end](JobEnd): done, failed, panicked or cancelled.
//!
//! There are two ways to stop a job. [`cancel`](NativeJob::cancel) is for jobs that read: no further batch can be taken, and nothing keeps
//! the process alive, even if a read hangs. [`stop`](NativeJob::stop) is for jobs that write: the job cleans up and then sends its end,
//! which JavaScript waits for.
//!
//! A [`PoolJob`] is a short read that sends only its end.

mod end;
mod pool;
mod progress;
mod queue;
mod registry;
mod reporter;
mod sender;

use std::mem::take;
use std::sync::{Arc, Weak};

use napi::Env;
use napi::bindgen_prelude::{Error, Function, Int32ArraySlice, Result};
use napi_derive::napi;

pub use end::JobEnd;
pub use pool::PoolJob;
pub use progress::{Every, Progress};
pub use queue::{Batch, OutputTape};
pub use registry::{JobGuard, JobRegistry};
pub use reporter::ProgressReporter;
pub use sender::{Closed, Sender};

use super::text::OutputText;
use queue::BatchQueue;
use sender::OnReady;

/// A job, for JavaScript.
#[napi]
pub struct NativeJob {
    queue: Arc<BatchQueue>,
    /// The tape of the last batch that was taken.
    tape: Option<OutputTape>,
    /// The sender drops it at the end of the work.
    on_ready: Weak<OnReady>,
}

impl NativeJob {
    /// A job that has already ended with this batch. No callback is called.
    pub fn ended(end: Batch) -> Self {
        let queue = Arc::new(BatchQueue::default());
        // The queue is empty, so there is room.
        queue.send(end, || false);
        NativeJob { queue, tape: None, on_ready: Weak::new() }
    }
}

impl Drop for NativeJob {
    /// The environment ends, or JavaScript has dropped the job: no further batch will be taken.
    fn drop(&mut self) {
        self.queue.close();
        self.queue.withdraw();
    }
}

/// A job without work, and the sender of its batches. `on_ready` holds the process open until the job ends or is cancelled.
pub fn new_job(on_ready: Function<'_, (), ()>) -> Result<(Sender, NativeJob)> {
    let on_ready = Arc::new(on_ready.build_threadsafe_function::<()>().callee_handled::<false>().build()?);
    let queue = Arc::new(BatchQueue::default());
    let job = NativeJob { queue: queue.clone(), tape: None, on_ready: Arc::downgrade(&on_ready) };
    Ok((Sender::new(queue, on_ready), job))
}

#[napi]
impl NativeJob {
    /// Takes the next batch. Returns null if there is none yet: `on_ready` is called for the next one.
    #[napi(catch_unwind)]
    pub fn take(&mut self) -> Option<OutputText> {
        let Batch { text, tape } = self.queue.take()?;
        self.tape = tape;
        Some(text)
    }

    /// Copies the codes of the batch's tape into an array, and drops them. Can be called once.
    #[napi(catch_unwind)]
    pub fn codes(&mut self, mut into: Int32ArraySlice<'_>) -> Result<()> {
        let Some(tape) = &mut self.tape else { return Ok(()) };
        let codes = take(&mut tape.codes);
        // SAFETY: nothing else refers to the array's memory during this call, which runs on the thread that owns the array.
        let room = unsafe { into.as_mut() }.get_mut(..codes.len());
        room.ok_or_else(|| Error::from_reason("there is no room for the codes of a batch"))?.copy_from_slice(&codes);
        Ok(())
    }

    /// The pool of the tape's strings without characters beyond U+00FF. Can be taken once.
    #[napi(catch_unwind)]
    pub fn narrow(&mut self) -> Option<OutputText> {
        self.tape.as_mut().map(|tape| take(&mut tape.narrow))
    }

    /// The pool of the tape's other strings. Can be taken once.
    #[napi(catch_unwind)]
    pub fn wide(&mut self) -> Option<OutputText> {
        self.tape.as_mut().map(|tape| take(&mut tape.wide))
    }

    /// A text that is in neither pool. Can be taken once.
    #[napi(catch_unwind)]
    pub fn text(&mut self, index: u32) -> Option<OutputText> {
        self.tape.as_mut()?.texts.get_mut(index as usize)?.take()
    }

    /// Asks the job to stop. It still sends its end, after it has cleaned up, or at once if it has not begun.
    #[napi(catch_unwind)]
    pub fn stop(&self) {
        self.queue.cancellation().cancel();
        self.queue.withdraw();
    }

    /// Stops the job and drops its batches; no more can be taken. The job no longer holds the process open, even if the system does not let
    /// its work end.
    #[napi(catch_unwind)]
    pub fn cancel(&self, env: Env) {
        self.queue.close();
        if let Some(on_ready) = self.on_ready.upgrade().filter(|on_ready| !on_ready.aborted()) {
            // SAFETY: the function has not been released, since it is held here, and not been finalized, which would have marked it as
            // aborted: that happens only on the environment's own thread, which this is.
            unsafe { napi::sys::napi_unref_threadsafe_function(env.raw(), on_ready.raw()) };
        }
        self.queue.withdraw();
    }
}
