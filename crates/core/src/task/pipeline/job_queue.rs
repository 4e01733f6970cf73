//! The jobs that no thread has begun.

use std::collections::VecDeque;

use crate::task::threading::{Condvar, Mutex};

/// A queue that several threads take jobs from. Unlike the receiver of a channel, which a waiting thread keeps locked, it never keeps the owner of
/// the pipeline from jobs because a helper is waiting.
pub(super) struct JobQueue<T> {
    state: Mutex<State<T>>,
    added: Condvar,
}

struct State<T> {
    jobs: VecDeque<T>,
    is_closed: bool,
    /// Nothing will be added for a while.
    is_paused: bool,
}

impl<T> JobQueue<T> {
    /// An empty queue, with room for this many jobs before it grows.
    pub(crate) fn new(room: usize) -> Self {
        let state = State { jobs: VecDeque::with_capacity(room), is_closed: false, is_paused: false };
        JobQueue { state: Mutex::new(state), added: Condvar::new() }
    }

    /// Adds a job, and wakes a thread that waits for one.
    pub(crate) fn push(&self, job: T) {
        let mut state = self.state.lock();
        state.jobs.push_back(job);
        state.is_paused = false;
        drop(state);
        self.added.notify_one();
    }

    /// Takes the first job, if there is one.
    pub(crate) fn take(&self) -> Option<T> {
        self.state.lock().jobs.pop_front()
    }

    /// Waits for a job, and takes it. `None` once the queue is closed, or paused.
    pub(crate) fn wait(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed || state.is_paused {
                return None;
            }
            self.added.wait(&mut state);
        }
    }

    /// Lets every thread that finds no job end, until one is added.
    pub(crate) fn pause(&self) {
        self.state.lock().is_paused = true;
        self.added.notify_all();
    }

    /// Drops all jobs, and lets every thread that waits for one end.
    pub(crate) fn close(&self) {
        *self.state.lock() = State { jobs: VecDeque::new(), is_closed: true, is_paused: false };
        self.added.notify_all();
    }
}
