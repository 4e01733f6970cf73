//! A queue of batches for JavaScript: long enough that JavaScript need not wait for the next one, but short, so that it needs little
//! memory.
//!
//! It is not a [`Pipeline`](session_tape_core::pipeline): the receiver is the event loop, which must neither block nor work but be woken, and a
//! blocked sender must notice when the environment of that loop has ended.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::text::OutputText;
use session_tape_core::task::Cancellation;
use session_tape_core::task::background;
use session_tape_core::task::background::Ticket;
use session_tape_core::task::threading::{Condvar, Mutex};

/// Maximum number of queued batches. The next one is begun when there is room for it.
const WAITING: usize = 4;

/// How often a sender that waits for room checks whether the environment has ended.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// A unit that JavaScript takes.
pub struct Batch {
    /// JSON text.
    pub text: OutputText,
    /// The values of the batch.
    pub tape: Option<OutputTape>,
}

/// A [tape](session_tape_core::jsonl::tape) whose texts are ready for JavaScript. Its names are in the text of the batch.
pub struct OutputTape {
    /// The instructions for building the values.
    pub codes: Vec<i32>,
    /// The pool of strings without characters beyond U+00FF.
    pub narrow: OutputText,
    /// The pool of the other strings.
    pub wide: OutputText,
    /// The texts that are in neither pool. Each can be taken once.
    pub texts: Vec<Option<OutputText>>,
}

impl From<OutputText> for Batch {
    fn from(text: OutputText) -> Self {
        Batch { text, tape: None }
    }
}

/// A queue between the thread that builds batches and the one that takes them.
pub struct BatchQueue {
    state: Mutex<State>,
    taken: Condvar,
    cancellation: Cancellation,
    /// Names the work while it waits for its turn.
    ticket: OnceLock<Ticket>,
}

struct State {
    waiting: VecDeque<Batch>,
    /// Whether the receiver has been woken and has not found the queue empty since.
    is_receiver_awake: bool,
    is_closed: bool,
    /// When a batch was last taken.
    last_taken: Instant,
}

/// The outcome of sending a batch.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// The batch was queued.
    Queued,
    /// The batch was queued, and the sender has to wake the receiver.
    Wake,
    /// The batch was dropped because the queue is closed.
    Closed,
}

impl Default for BatchQueue {
    fn default() -> Self {
        let waiting = VecDeque::new();
        let state = State { waiting, is_receiver_awake: false, is_closed: false, last_taken: Instant::now() };
        BatchQueue {
            state: Mutex::new(state),
            taken: Condvar::new(),
            cancellation: Cancellation::default(),
            ticket: OnceLock::new(),
        }
    }
}

impl BatchQueue {
    /// Takes the next batch. If it returns `None`, the receiver has to be woken for the next batch, as for the very first one.
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

    /// Queues a batch as soon as there is room. While waiting, calls `has_ended` at intervals to check whether the environment of the
    /// receiver has ended.
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

    /// Waits until the receiver has taken all batches and then asked for another one, and so has dealt with them; or until `is_over`, which is called
    /// at intervals.
    pub fn wait_until_taken(&self, is_over: impl Fn() -> bool) {
        let mut state = self.state.lock();
        while !state.is_closed && (state.is_receiver_awake || !state.waiting.is_empty()) && !is_over() {
            self.taken.wait_for(&mut state, CHECK_EVERY);
        }
    }

    /// Whether a batch can be queued without waiting.
    pub fn has_room(&self) -> bool {
        self.state.lock().waiting.len() < WAITING
    }

    /// Time since the receiver took the last batch, or since the queue was created. `None` if batches are queued.
    pub fn idle_for(&self) -> Option<Duration> {
        let state = self.state.lock();
        state.waiting.is_empty().then(|| state.last_taken.elapsed())
    }

    /// Drops the queued batches and all that are sent from now on, and cancels the work that sends them.
    pub fn close(&self) {
        let mut state = self.state.lock();
        self.cancellation.cancel();
        state.is_closed = true;
        state.waiting.clear();
        drop(state);
        self.taken.notify_one();
    }

    /// Notes the ticket of the work that sends the batches.
    pub fn set_ticket(&self, ticket: Ticket) {
        // Each queue has one sender.
        let _ = self.ticket.set(ticket);
    }

    /// Takes the work back if it has not begun. It then sends its end on this thread, unless the queue is closed.
    pub fn withdraw(&self) {
        if let Some(ticket) = self.ticket.get() {
            background::withdraw(*ticket);
        }
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
