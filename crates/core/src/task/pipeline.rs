//! Distributes jobs among threads: jobs wait in a queue until a helper or the owner takes them, and results come back through a channel.
//!
//! The thread that owns the pipeline works too: while it waits for a result, it does jobs that no helper has begun. So all jobs are done
//! even if the system refuses further threads, and a single job needs no other thread: a helper is started only when a job is pushed
//! while another one is in progress.
//!
//! If a job panics, the thread that takes the results panics with the same payload. Dropping the pipeline drops the jobs that are not
//! begun. Helpers end after their current job; the drop does not wait for them, since that job may be reading from a file system that
//! hangs. If all results were taken, so that there is no such job, it drops the workers: what they hold, such as an open file, is not held until the
//! system lets their threads end.
//!
mod in_order;
mod job_queue;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

pub use self::in_order::InOrder;
use self::job_queue::JobQueue;
use crate::task::Cancellation;
use crate::task::background;
pub use crate::task::threading::spare_cores;
use crate::task::threading::{Mutex, Receiver, SyncSender, sync_channel};

/// Does jobs of one kind, one at a time, on one thread or another.
pub trait Worker: Send + 'static {
    /// The input of a job.
    type Job: Send + 'static;
    /// The result of a job.
    type Output: Send + 'static;

    /// Does a job.
    fn work(&mut self, job: Self::Job) -> Self::Output;
}

/// A worker, until the pipeline has ended. Locked only during a job.
type Place<W> = Arc<Mutex<Option<W>>>;

/// Passes jobs to helpers, and results back to the thread that owns the pipeline.
pub struct Pipeline<W: Worker> {
    worker: Place<W>,
    /// The workers of all helpers. That of a serial pipeline is also `worker`.
    helpers: Vec<Place<W>>,
    /// Those of helpers that are not started yet, or have ended.
    idle: Arc<Mutex<Vec<Place<W>>>>,
    is_serial: bool,
    /// The worker of a serial pipeline has moved to its own thread for good.
    has_moved: bool,
    room: usize,
    /// Number of jobs pushed so far, and number of those whose results are not taken yet.
    handed_over: u64,
    under_way: usize,
    jobs: Arc<JobQueue<Task>>,
    done: SyncSender<Done>,
    /// Never locked: the mutex only makes the receiver `Sync`.
    results: Mutex<Receiver<Done>>,
}

/// A job or an output with its type erased, so that queue and channel are compiled once and not for each worker.
type Erased = Box<dyn Any + Send>;

/// A job and its number.
struct Task(u64, Erased);

/// The number of a job and its output, or the payload of its panic.
type Done = (u64, thread::Result<Erased>);

impl Task {
    fn run<W: Worker>(self, worker: &mut W, done: &SyncSender<Done>) {
        let work = || -> thread::Result<Erased> { Ok(Box::new(worker.work(*self.1.downcast()?))) };
        let result = catch_unwind(AssertUnwindSafe(work)).flatten();
        // Fails if the pipeline was dropped. Never blocks: there is room for the result of each job in progress.
        let _ = done.send((self.0, result));
    }
}

impl<W: Worker> Pipeline<W> {
    /// A pipeline for jobs that can be done in any order: by `worker` on the owner's thread, and by each of `helpers` on a thread of its
    /// own. It [is full](Self::is_full) with `room` jobs.
    pub fn parallel(worker: W, helpers: Vec<W>, room: usize) -> Self {
        let place = |worker| Arc::new(Mutex::new(Some(worker)));
        Self::new(place(worker), helpers.into_iter().map(place).collect(), false, room)
    }

    /// A pipeline whose `worker` does the jobs in order. It moves to its own thread when a job is pushed while another one is in
    /// progress.
    pub fn serial(worker: W, room: usize) -> Self {
        let worker = Arc::new(Mutex::new(Some(worker)));
        Self::new(worker.clone(), vec![worker], true, room)
    }

    fn new(worker: Place<W>, helpers: Vec<Place<W>>, is_serial: bool, room: usize) -> Self {
        let (done, results) = sync_channel(room);
        Pipeline {
            worker,
            idle: Arc::new(Mutex::new(helpers.clone())),
            helpers,
            is_serial,
            has_moved: false,
            room,
            handed_over: 0,
            under_way: 0,
            jobs: Arc::new(JobQueue::new(room)),
            done,
            results: Mutex::new(results),
        }
    }

    /// Whether a result must be taken before another job is pushed.
    pub fn is_full(&self) -> bool {
        self.under_way >= self.room
    }

    /// Number of pushed jobs whose results are not taken yet.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Queues a job. Never blocks.
    ///
    /// # Panics
    ///
    /// If the pipeline [is full](Self::is_full).
    pub fn push(&mut self, job: W::Job) {
        assert!(!self.is_full(), "a job was handed over to a full pipeline");
        if self.under_way > 0 {
            self.start_helper();
        }
        self.jobs.push(Task(self.handed_over, Box::new(job)));
        self.handed_over += 1;
        self.under_way += 1;
    }

    /// Waits for a result. Returns it with the number of its job, counted from 0 in the order of [`push`](Self::push). The result is
    /// that of the job that is done first, or in a serial pipeline that of the next job. Returns `None` if no job is in progress.
    ///
    /// # Panics
    ///
    /// If a job panicked.
    pub fn next_output(&mut self) -> Option<(u64, W::Output)> {
        loop {
            if let Some(output) = self.ready_output() {
                return Some(output);
            }
            if self.under_way == 0 {
                return None;
            }
            if !self.help() {
                let done = self.results.get_mut().recv().ok()?;
                return Some(self.output_of(done));
            }
        }
    }

    /// Like [`next_output`](Self::next_output), but also returns `None` if no job is done yet.
    pub fn ready_output(&mut self) -> Option<(u64, W::Output)> {
        let done = self.results.get_mut().try_recv().ok()?;
        Some(self.output_of(done))
    }

    fn output_of(&mut self, (number, result): Done) -> (u64, W::Output) {
        self.under_way -= 1;
        let output = result.and_then(Erased::downcast).unwrap_or_else(|panic| resume_unwind(panic));
        (number, *output)
    }

    /// Does a job that no helper has begun. Returns false if it finds none.
    pub fn help(&self) -> bool {
        if self.has_moved {
            return false;
        }
        let Some(task) = self.jobs.take() else { return false };
        if let Some(worker) = &mut *self.worker.lock() {
            task.run(worker, &self.done);
        }
        true
    }

    fn start_helper(&mut self) {
        if !self.is_serial && !background::has_room_for_helper() {
            return;
        }
        let Some(worker) = self.idle.lock().pop() else { return };
        let (jobs, done, idle) = (self.jobs.clone(), self.done.clone(), self.idle.clone());
        let cancellation = Cancellation::current();
        let help = move || {
            cancellation.during(|| {
                while let Some(task) = jobs.wait() {
                    if let Some(worker) = &mut *worker.lock() {
                        task.run(worker, &done);
                    }
                }
            });
            idle.lock().push(worker);
        };
        if self.is_serial {
            self.has_moved = background::spawn_thread(help);
        } else {
            background::spawn_helper(help);
        }
    }

    /// Says that no job will be pushed for a while: helpers that have none end, so that a pipeline whose owner does something else keeps no thread.
    /// The next jobs start them again.
    pub fn pause(&self) {
        self.jobs.pause();
    }

    /// Ends a pipeline whose results are all taken, and returns its worker.
    pub fn into_worker(self) -> Option<W> {
        self.worker.lock().take()
    }
}

impl<W: Worker> Drop for Pipeline<W> {
    fn drop(&mut self) {
        self.jobs.close();
        if self.under_way == 0 {
            // No job runs, so no lock is waited for, except in the moment between the result of the last one and its end.
            self.helpers.iter().for_each(|helper| drop(helper.lock().take()));
        }
    }
}

/// Groups files into jobs, so that threads need not wake each other for every small one: at most `most` in a job, which together have at most `bytes`
/// bytes unless it is a single one.
pub(crate) fn grouped<T>(
    files: impl IntoIterator<Item = T>,
    size: fn(&T) -> u64,
    bytes: u64,
    most: usize,
) -> Vec<Vec<T>> {
    let (mut jobs, mut in_last): (Vec<Vec<T>>, _) = (Vec::new(), bytes);
    for file in files {
        in_last = in_last.saturating_add(size(&file));
        match jobs.last_mut().filter(|job| in_last <= bytes && job.len() < most) {
            Some(job) => job.push(file),
            None => {
                in_last = size(&file);
                jobs.push(vec![file]);
            }
        }
    }
    jobs
}

#[cfg(test)]
mod tests;

#[cfg(test)]
#[cfg(feature = "interleavings")]
mod interleavings;
