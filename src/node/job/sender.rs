//! The side of a job on the background thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};

use super::end::JobEnd;
use super::queue::{Batch, BatchQueue, Sent};
use crate::background;
use crate::cancellation::Cancellation;

/// Wakes JavaScript. Holds the process open until it is dropped.
pub type OnReady = ThreadsafeFunction<(), (), (), Status, false, false, 0>;

/// Sends the batches of a job.
pub struct Sender {
    queue: Arc<BatchQueue>,
    on_ready: Arc<OnReady>,
}

/// The error of sending to a closed queue, which drops batches.
#[derive(Debug)]
pub struct Closed;

impl Sender {
    pub(super) fn new(queue: Arc<BatchQueue>, on_ready: Arc<OnReady>) -> Self {
        Sender { queue, on_ready }
    }

    /// Runs `work` on a background thread and sends the end that it returns, or an end for its panic. Stopping the job makes the
    /// reads of the work fail. Everything that the work owns is dropped before the end is sent.
    pub fn run_in_background(self, work: impl FnOnce(&Self) -> JobEnd + Send + 'static) {
        background::spawn(move || {
            let end = catch_unwind(AssertUnwindSafe(|| self.cancellation().during(|| work(&self))));
            let end = end.unwrap_or_else(|panic| JobEnd::panicked(&*panic));
            for batch in end.into_batches() {
                // If the queue is closed, nothing waits for the end.
                if self.send(batch).is_err() {
                    return;
                }
            }
        });
    }

    /// Queues a batch as soon as there is room for it.
    pub fn send(&self, batch: impl Into<Batch>) -> Result<(), Closed> {
        match self.queue.send(batch.into(), || self.on_ready.aborted()) {
            Sent::Queued => Ok(()),
            Sent::Wake if self.on_ready.call((), ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok => Ok(()),
            Sent::Wake | Sent::Closed => Err(Closed),
        }
    }

    /// The queue of batches.
    pub(super) fn queue(&self) -> &BatchQueue {
        &self.queue
    }

    /// Whether a batch can be sent without waiting.
    pub fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// The cancellation of the work.
    pub fn cancellation(&self) -> &Cancellation {
        self.queue.cancellation()
    }

    /// Whether the work should stop: the job was stopped or cancelled, or its environment has ended.
    pub fn is_cancelled(&self) -> bool {
        if self.on_ready.aborted() {
            self.cancellation().cancel();
        }
        self.cancellation().is_cancelled()
    }
}
