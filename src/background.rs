//! Threads for work that must not run on the caller's thread: file I/O and scanning.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

use crate::threading;

const THREAD_NAME: &str = "session-tape";

/// Threads are created on demand and end when they have been idle for a while. A job that hangs on a dead
/// network file system blocks only its own thread.
fn pool() -> Option<&'static Runtime> {
    static POOL: OnceLock<Option<Runtime>> = OnceLock::new();
    // Never shut down: it belongs to the process, not to one of the JavaScript environments in it.
    POOL.get_or_init(|| Builder::new_current_thread().thread_name(THREAD_NAME).build().ok()).as_ref()
}

/// A boxed job: the code that starts jobs is compiled once, not for each closure.
type Job = Box<dyn FnOnce() + Send>;

/// Runs `job` on a background thread. If there is no thread pool, runs it on the calling thread before
/// returning.
pub fn spawn(job: impl FnOnce() + Send + 'static) {
    match pool() {
        Some(pool) => submit(pool, Box::new(job)),
        None => job(),
    }
}

fn submit(pool: &Runtime, job: Job) {
    drop(pool.spawn_blocking(job));
}

/// Runs `job` on a background thread if the system has one, and drops it otherwise. For work that does not
/// depend on the helper.
pub fn spawn_helper(job: impl FnOnce() + Send + 'static) {
    if cfg!(all(test, feature = "interleavings")) {
        // loom only knows its own threads.
        spawn_thread(job);
    } else if let Some(pool) = pool() {
        // `submit` panics if the system refuses the very first thread.
        let job = Box::new(job);
        let _ = catch_unwind(AssertUnwindSafe(|| submit(pool, job)));
    }
}

/// Runs `job` on a thread of its own. Returns false, and drops the job, if the system refuses the thread.
pub fn spawn_thread(job: impl FnOnce() + Send + 'static) -> bool {
    let job: Job = Box::new(job);
    threading::spawn(THREAD_NAME, job).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    #[test]
    fn jobs_run_elsewhere_also_when_one_panicked() {
        super::spawn(|| panic!("a job that panics takes nothing else down"));
        let (sender, receiver) = mpsc::channel();
        super::spawn(move || sender.send(std::thread::current().id()).unwrap());
        assert_ne!(receiver.recv().unwrap(), std::thread::current().id());
    }
}
