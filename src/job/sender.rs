//! The side of a job on the background thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};

use super::end::JobEnd;
use super::queue::{Batch, BatchQueue, Sent};
use crate::error_json::ErrorJson;
use session_tape_core::disk::OsError;
use session_tape_core::task::Cancellation;
use session_tape_core::task::background;
use session_tape_core::task::background::NotDone;

/// Wakes JavaScript. Holds the process open until it is dropped.
pub type OnReady = ThreadsafeFunction<(), (), (), Status, false, false, 0>;

/// Sends the batches of a job.
pub struct Sender {
    queue: Arc<BatchQueue>,
    on_ready: Arc<OnReady>,
}

/// The end of a job that has not begun.
fn end_of(not_done: &NotDone) -> JobEnd {
    match not_done {
        NotDone::Withdrawn => JobEnd::cancelled(),
        NotDone::Refused(error) => JobEnd::failed(&ErrorJson::from(&OsError::no_thread(error))),
    }
}

/// The error of sending to a closed queue, which drops batches.
#[derive(Debug)]
pub struct Closed;

impl Sender {
    pub(super) fn new(queue: Arc<BatchQueue>, on_ready: Arc<OnReady>) -> Self {
        Sender { queue, on_ready }
    }

    /// Runs `work` on a background thread when it is its turn, and sends the end that it returns, or an end for its panic. Stopping the job makes the
    /// reads of the work fail. Everything that the work owns is dropped before the end is sent.
    pub fn run_in_background(self, work: impl FnOnce(&Self) -> JobEnd + Send + 'static) {
        self.run(Box::new(work));
    }

    /// [`run_in_background`](Self::run_in_background), compiled once and not for each kind of work.
    fn run(self, work: Box<dyn FnOnce(&Self) -> JobEnd + Send>) {
        let queue = self.queue.clone();
        let ticket = background::spawn(queue.cancellation(), move |begin| {
            let end = match begin {
                Ok(()) => catch_unwind(AssertUnwindSafe(|| self.cancellation().during(|| work(&self)))),
                Err(not_done) => {
                    drop(work);
                    Ok(end_of(&not_done))
                }
            };
            let end = end.unwrap_or_else(|panic| JobEnd::panicked(&*panic));
            for batch in end.into_batches() {
                // If the queue is closed, nothing waits for the end.
                if self.send(batch).is_err() {
                    return;
                }
            }
        });
        queue.set_ticket(ticket);
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
