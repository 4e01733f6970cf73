//! Threads for work that must not run on the caller's thread: file I/O and scanning.
//!
//! A job is put into a bounded [queue](jobs::JobQueue), whose threads and those of helpers come from a pool of Tokio, which keeps threads that have
//! nothing to do for a while. Tokio's way to start a thread queues the work first and panics if the system refuses the very first thread. So what it is
//! given is never a job, but only the request to look for one: a refusal can then be reported, and no job is left half queued.

mod jobs;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use self::jobs::JobQueue;
pub use self::jobs::{NotDone, Ticket};
use crate::task::Cancellation;
use crate::task::threading;
use crate::task::threading::spare_cores;

const THREAD_NAME: &str = "session-tape";

/// How long a thread is kept that has nothing to do.
const KEEP_THREAD: Duration = Duration::from_secs(10);

/// Never shut down: it belongs to the process, not to one of the JavaScript environments in it.
struct Pool {
    runtime: Option<Runtime>,
    jobs: JobQueue,
    /// Number of helpers.
    helpers: AtomicUsize,
    /// When a thread was last known to exist.
    seen: Mutex<Option<Instant>>,
}

fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut builder = Builder::new_current_thread();
        builder.thread_name(THREAD_NAME).thread_stack_size(threading::STACK_BYTES).thread_keep_alive(KEEP_THREAD);
        let (runtime, jobs) = (builder.build().ok(), JobQueue::new(spare_cores() + 1));
        Pool { runtime, jobs, helpers: AtomicUsize::new(0), seen: Mutex::new(None) }
    })
}

/// Runs `job` on a background thread: at once, or when it is its turn. `cancellation` is that of the job. If the job will never be done, it is called
/// with the reason: on this thread before this returns if the system refuses the thread, and on the thread that takes it back with the ticket.
pub fn spawn(cancellation: &Cancellation, job: impl FnOnce(Result<(), NotDone>) + Send + 'static) -> Ticket {
    let (ticket, needs_thread) = pool().jobs.push(cancellation.clone(), Box::new(job));
    if needs_thread {
        look_for_jobs();
    }
    ticket
}

/// Takes a job back that has not begun.
pub fn withdraw(ticket: Ticket) {
    if let Some(job) = pool().jobs.remove(ticket) {
        job(Err(NotDone::Withdrawn));
    }
}

/// Starts a thread that does jobs. If the system refuses it, the threads that exist do them; if there are none, the jobs are refused.
fn look_for_jobs() {
    let Err(error) = run_in_pool(|| pool().jobs.work(look_for_jobs)) else { return };
    for job in pool().jobs.take_refused() {
        job(Err(NotDone::Refused(
            error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error),
        )));
    }
}

/// Runs `work` on a thread of the pool. After an error it may still run, at any later time.
fn run_in_pool(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let Pool { runtime, seen, .. } = pool();
    let runtime = runtime.as_ref().ok_or(io::ErrorKind::Unsupported)?;
    let mut seen = seen.lock();
    if seen.is_none_or(|seen| seen.elapsed() >= KEEP_THREAD / 2) {
        // There may be no thread. Tokio would panic if it is refused, which the host would see.
        threading::spawn(THREAD_NAME, || ())?;
    }
    *seen = Some(Instant::now());
    drop(seen);
    let work = move || {
        work();
        *pool().seen.lock() = Some(Instant::now());
    };
    let work: Box<dyn FnOnce() + Send> = Box::new(work);
    let started = catch_unwind(AssertUnwindSafe(|| drop(runtime.spawn_blocking(work))));
    started.map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))
}

/// Whether another helper is of use: while several jobs are being done, there are no more helpers than cores.
pub fn has_room_for_helper() -> bool {
    pool().helpers.load(Ordering::Relaxed) < spare_cores() || pool().jobs.running() <= 1
}

/// Runs `job` on a background thread if the system has one, and drops it otherwise. For work that does not depend on the helper.
pub fn spawn_helper(job: impl FnOnce() + Send + 'static) {
    if cfg!(feature = "interleavings") {
        // loom only knows its own threads.
        spawn_thread(job);
        return;
    }
    let counted = Counted::new(&pool().helpers);
    // If it is refused, the owner of the job does its work.
    let _ = run_in_pool(move || {
        let _counted = counted;
        job();
    });
}

/// Counts a helper until it is dropped.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(helpers: &'static AtomicUsize) -> Self {
        helpers.fetch_add(1, Ordering::Relaxed);
        Counted(helpers)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `job` on a thread of its own. Returns false, and drops the job, if the system refuses the thread.
pub fn spawn_thread(job: impl FnOnce() + Send + 'static) -> bool {
    let job: Box<dyn FnOnce() + Send> = Box::new(job);
    threading::spawn(THREAD_NAME, job).is_ok()
}

/// The number of threads, up to `wanted`, that the system grants at this moment.
pub fn granted_threads(wanted: usize) -> usize {
    let barrier = std::sync::Mutex::new(());
    let Ok(held) = barrier.lock() else { return 0 };
    thread::scope(|scope| {
        // Each thread waits until all are counted.
        let wait = || drop(barrier.lock());
        let granted = (0..wanted).take_while(|_| threading::scoped_builder().spawn_scoped(scope, wait).is_ok()).count();
        drop(held);
        granted
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn jobs_run_on_other_threads_even_after_a_panic() {
        let cancellation = Cancellation::default();
        spawn(&cancellation, |_| panic!("a job that panics takes nothing else down"));
        let (sender, receiver) = mpsc::channel();
        spawn(&cancellation, move |_| sender.send(thread::current().id()).unwrap());
        assert_ne!(receiver.recv().unwrap(), thread::current().id());
    }
}
