//! Batches that wait for JavaScript to take them: a few, so that it never waits for one, and no more, so that they need little memory.
//!
//! Not a [`Pipeline`](crate::pipeline): the receiver is the event loop, which must neither wait nor work but be woken, and a sender that
//! waits must notice when the environment of that loop has ended.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::cancellation::Cancellation;
use crate::node::text::OutputText;
use crate::threading::{Condvar, Mutex};

/// How many batches wait at most. The next one is begun when there is room for it.
const WAITING: usize = 4;

/// How often a sender that waits for room checks whether its environment has ended.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// What JavaScript takes at a time.
pub struct Batch {
    /// JSON text.
    pub text: OutputText,
    /// The values that belong to it.
    pub tape: Option<OutputTape>,
}

/// A [tape](crate::jsonl::tape), its texts as JavaScript takes them. The names are in the text of the batch.
pub struct OutputTape {
    /// What to build.
    pub codes: Vec<i32>,
    /// The pool of strings that have no character beyond U+00FF.
    pub narrow: OutputText,
    /// The pool of other strings.
    pub wide: OutputText,
    /// The texts that are in no pool, each taken once.
    pub texts: Vec<Option<OutputText>>,
}

impl From<OutputText> for Batch {
    fn from(text: OutputText) -> Self {
        Batch { text, tape: None }
    }
}

/// Batches between the thread that makes them and the one that takes them.
pub struct BatchQueue {
    state: Mutex<State>,
    taken: Condvar,
    cancellation: Cancellation,
}

struct State {
    waiting: VecDeque<Batch>,
    /// The receiver has been woken, and has not found the queue empty since.
    is_receiver_awake: bool,
    is_closed: bool,
    /// When a batch was last taken.
    last_taken: Instant,
}

/// What became of a batch that was sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is in the queue.
    Queued,
    /// It is in the queue, and the sender has to wake the receiver.
    Wake,
    /// It was dropped: the queue is closed.
    Closed,
}

impl Default for BatchQueue {
    fn default() -> Self {
        let waiting = VecDeque::new();
        let state = State { waiting, is_receiver_awake: false, is_closed: false, last_taken: Instant::now() };
        BatchQueue { state: Mutex::new(state), taken: Condvar::new(), cancellation: Cancellation::default() }
    }
}

impl BatchQueue {
    /// Takes the next batch. If there is none, the receiver has to be woken for the next; so it has for the very first.
    pub fn take(&self) -> Option<Batch> {
        let mut state = self.state.lock();
        let batch = state.waiting.pop_front();
        state.is_receiver_awake = batch.is_some();
        if batch.is_some() {
            state.last_taken = Instant::now();
        }
        drop(state);
        self.taken.notify_one();
        batch
    }

    /// Adds a batch as soon as there is room. `has_ended` is asked now and then whether the environment of the receiver has ended.
    pub fn send(&self, batch: Batch, has_ended: impl Fn() -> bool) -> Sent {
        let mut state = self.state.lock();
        while !state.is_closed && state.waiting.len() >= WAITING {
            self.taken.wait_for(&mut state, CHECK_EVERY);
            if has_ended() {
                return Sent::Closed;
            }
        }
        if state.is_closed {
            return Sent::Closed;
        }
        state.waiting.push_back(batch);
        if std::mem::replace(&mut state.is_receiver_awake, true) { Sent::Queued } else { Sent::Wake }
    }

    /// Whether a batch could be added at once.
    pub fn has_room(&self) -> bool {
        self.state.lock().waiting.len() < WAITING
    }

    /// How long ago the receiver took the last batch, or the queue was made. None if batches wait.
    pub fn idle_for(&self) -> Option<Duration> {
        let state = self.state.lock();
        state.waiting.is_empty().then(|| state.last_taken.elapsed())
    }

    /// Drops the batches that wait and all that are sent from now on, and cancels the work that sends them.
    pub fn close(&self) {
        let mut state = self.state.lock();
        self.cancellation.cancel();
        state.is_closed = true;
        state.waiting.clear();
        drop(state);
        self.taken.notify_one();
    }

    /// The cancellation of the work that sends the batches.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
#[cfg(feature = "interleavings")]
mod interleavings;
