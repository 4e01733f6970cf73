//! The jobs that are being done or wait for their turn.
//!
//! As many jobs are done at once as there are cores: more would need more memory and be done no sooner. There are exceptions, so that nobody waits
//! long for others:
//!
//! - A job that does not get on, because a pipe, a file system or the event loop keeps it waiting, does not count. If it does get on later, there are
//!   more jobs for a while.
//! - A job that has waited for [`PATIENCE`] begins, but only so many that there are [`AT_MOST`] times as many jobs as cores: a short one need not wait for
//!   the end of long ones.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::cancellation::Cancellation;

/// How long a job waits before it begins although all cores are busy, and the time between two jobs that do so.
const PATIENCE: Duration = Duration::from_millis(100);

/// How many times as many jobs as cores are done at once at most.
const AT_MOST: usize = 4;

/// How long a job that gets on may need from one read to the next.
const STALL: Duration = Duration::from_secs(1);

/// Why a job is not done.
#[derive(Debug)]
pub enum NotDone {
    /// The job was taken back before it began.
    Withdrawn,
    /// The system refuses threads, and none is left from before.
    Refused(io::Error),
}

/// A boxed job: the code that starts jobs is compiled once, not for each closure.
pub(super) type Job = Box<dyn FnOnce(Result<(), NotDone>) + Send>;

/// Names a job in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

/// The jobs that are being done or wait for their turn.
pub(super) struct JobQueue {
    cores: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pushed: u64,
    waiting: VecDeque<Waiting>,
    running: Vec<Running>,
    /// A thread waits until the next job may begin, or was asked for and has not come yet.
    has_watcher: bool,
    last_begun: Option<Instant>,
}

struct Waiting {
    ticket: Ticket,
    since: Instant,
    cancellation: Cancellation,
    job: Job,
}

/// A job that is being done.
struct Running {
    ticket: Ticket,
    cancellation: Cancellation,
    /// Its number of steps when it was last looked at, and the time at which that number had changed.
    steps: u64,
    moved: Instant,
}

impl JobQueue {
    /// An empty queue for a machine with this many cores.
    pub(crate) fn new(cores: usize) -> Self {
        JobQueue { cores, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Number of jobs that are being done.
    pub(crate) fn running(&self) -> usize {
        self.state.lock().running.len()
    }

    /// Queues a job. Also returns whether a thread has to be started for it, which calls [`work`](Self::work).
    pub(crate) fn push(&self, cancellation: Cancellation, job: Job) -> (Ticket, bool) {
        let mut state = self.state.lock();
        let ticket = Ticket(state.pushed);
        state.pushed += 1;
        let since = Instant::now();
        state.waiting.push_back(Waiting { ticket, since, cancellation, job });
        let needs_thread = !std::mem::replace(&mut state.has_watcher, true);
        drop(state);
        self.changed.notify_one();
        (ticket, needs_thread)
    }

    /// Takes back a job that has not begun.
    pub(crate) fn remove(&self, ticket: Ticket) -> Option<Job> {
        let mut state = self.state.lock();
        let at = state.waiting.iter().position(|waiting| waiting.ticket == ticket)?;
        state.waiting.remove(at).map(|waiting| waiting.job)
    }

    /// Called if a thread that was asked for is refused. Takes back the jobs that no thread will do.
    pub(crate) fn take_refused(&self) -> Vec<Job> {
        let mut state = self.state.lock();
        state.has_watcher = false;
        if state.running.is_empty() { state.waiting.drain(..).map(|waiting| waiting.job).collect() } else { Vec::new() }
    }

    /// Does jobs until none are left, or until another thread watches those that are. Calls `start_thread` if another thread should be started.
    pub(crate) fn work(&self, start_thread: impl Fn()) {
        let mut state = self.state.lock();
        state.has_watcher = false;
        loop {
            let now = Instant::now();
            match state.next_begin(self.cores, now) {
                None => return,
                Some(begin) if begin <= now => {
                    let Some(Waiting { ticket, cancellation, job, .. }) = state.take_next() else { return };
                    let steps = cancellation.steps();
                    state.running.push(Running { ticket, cancellation, steps, moved: now });
                    state.last_begun = Some(now);
                    let needs_thread = !state.waiting.is_empty() && !std::mem::replace(&mut state.has_watcher, true);
                    drop(state);
                    if needs_thread {
                        start_thread();
                    }
                    // The job reports its panics itself.
                    let _ = catch_unwind(AssertUnwindSafe(|| job(Ok(()))));
                    state = self.state.lock();
                    state.running.retain(|running| running.ticket != ticket);
                    self.changed.notify_one();
                }
                Some(_) if state.has_watcher => return,
                Some(begin) => {
                    state.has_watcher = true;
                    self.changed.wait_until(&mut state, begin.min(now + STALL));
                    state.has_watcher = false;
                }
            }
        }
    }
}

impl State {
    /// Takes the first job, or one that was cancelled.
    fn take_next(&mut self) -> Option<Waiting> {
        self.waiting.remove(self.cancelled().unwrap_or(0))
    }

    /// The index of a job that was cancelled. It will end at once.
    fn cancelled(&self) -> Option<usize> {
        self.waiting.iter().position(|waiting| waiting.cancellation.is_cancelled())
    }

    /// When the next job may begin; `None` if none waits.
    fn next_begin(&mut self, cores: usize, now: Instant) -> Option<Instant> {
        let first = self.waiting.front()?.since;
        let working = self.working(now);
        if working < cores || self.cancelled().is_some() {
            return Some(now);
        }
        if working >= cores * AT_MOST {
            return Some(now + STALL);
        }
        Some(self.last_begun.map_or(first, |last| last.max(first)) + PATIENCE)
    }

    /// Number of jobs that get on.
    fn working(&mut self, now: Instant) -> usize {
        for running in &mut self.running {
            let steps = running.cancellation.steps();
            if steps != running.steps {
                (running.steps, running.moved) = (steps, now);
            }
        }
        self.running.iter().filter(|running| now - running.moved < STALL).count()
    }
}

#[cfg(test)]
mod tests;
