//! The bundle operations of one JavaScript environment: jobs that write, and archives that are unpacked for a reader. When the
//! environment ends, the jobs are stopped and get time to clean up, and unpacked files are removed.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Function, Result};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use napi_derive::napi;
use parking_lot::{Condvar, Mutex};

use super::job::{JobGuard, JobRegistry};
use super::session_lock;
use session_tape_core::bundle::{OpenedBundle, is_archive, is_bundle};
use session_tape_core::task::Cancellation;

/// How long the end of an environment waits for jobs to clean up.
const LAST_CLEANUP: Duration = Duration::from_secs(2);

/// How often a thread that waits for the JavaScript thread checks whether the environment has ended.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// The bundle operations of one JavaScript environment: that of the main thread or of a worker.
#[napi]
pub struct NativeBundles {
    bundles: Arc<Bundles>,
}

#[napi]
impl NativeBundles {
    /// `on_unpack` is called when something is to be unpacked before JavaScript has called [`listens`](Self::listens).
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, on_unpack: Function<'_, (), ()>) -> Result<Self> {
        // Weak: the job that reads the archive holds the process open instead.
        let ask = on_unpack.build_threadsafe_function::<()>().callee_handled::<false>().weak::<true>().build()?;
        let bundles = Arc::new(Bundles { ask: Some(ask), ..Bundles::default() });
        // Runs when the process or the worker ends by itself or is terminated, but not after `process.exit` or a signal.
        env.add_env_cleanup_hook(bundles.clone(), |bundles| bundles.end())?;
        Ok(NativeBundles { bundles })
    }

    /// Notes that JavaScript listens for the end of the process and will then call `end`.
    #[napi(catch_unwind)]
    pub fn listens(&self) {
        *self.bundles.hears_of_end.lock() = true;
        self.bundles.heard.notify_all();
    }

    /// Releases a lock of the system when the environment ends and its jobs have cleaned up, if it is still held then.
    #[napi(catch_unwind)]
    pub fn release_at_end(&self, lock: u32) {
        let mut locks = self.bundles.locks.lock();
        locks.retain(|lock| session_lock::is_held(*lock));
        locks.push(lock);
    }

    /// Stops the jobs and removes unpacked files, at the end of the environment.
    #[napi(catch_unwind)]
    pub fn end(&self) {
        self.bundles.end();
    }
}

impl NativeBundles {
    /// The bundle operations, for background threads.
    pub fn shared(&self) -> Arc<Bundles> {
        self.bundles.clone()
    }
}

/// Asks JavaScript to listen for the end of the process.
type Ask = ThreadsafeFunction<(), (), (), Status, false, true, 0>;

/// The bundle operations of one environment, for background threads.
#[derive(Default)]
pub struct Bundles {
    jobs: JobRegistry,
    unpacked: Mutex<Vec<Weak<Unpacked>>>,
    /// The system's locks that jobs work under, by number.
    locks: Mutex<Vec<u32>>,
    ask: Option<Ask>,
    /// Whether JavaScript listens for the end of the process, so that unpacked files are removed then.
    hears_of_end: Mutex<bool>,
    heard: Condvar,
}

impl Bundles {
    /// Registers a job that writes, which `cancellation` stops. The job drops the guard when it has cleaned up.
    pub fn begin_writing(&self, cancellation: &Cancellation) -> JobGuard {
        self.jobs.register(cancellation)
    }

    /// Registers a job that reads what is at these paths, which `cancellation` stops. If one of them is a bundle, the end of the
    /// environment waits until the guard is dropped. If one of them is an archive, which has to be unpacked, waits until JavaScript
    /// listens for the end of the process: so it must not be called on the JavaScript thread.
    pub fn begin_reading<P: AsRef<Path>>(&self, paths: &[P], cancellation: &Cancellation) -> Option<JobGuard> {
        if !paths.iter().any(|path| is_bundle(path.as_ref())) {
            return None;
        }
        let guard = self.jobs.register(cancellation);
        if paths.iter().any(|path| is_archive(path.as_ref())) {
            self.wait_for_listener(cancellation);
        }
        Some(guard)
    }

    fn wait_for_listener(&self, cancellation: &Cancellation) {
        let Some(ask) = &self.ask else { return };
        let mut hears = self.hears_of_end.lock();
        if !*hears {
            ask.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
        // An environment that has ended runs no callbacks.
        while !*hears && !cancellation.is_cancelled() && !ask.aborted() {
            self.heard.wait_for(&mut hears, CHECK_EVERY);
        }
    }

    /// Keeps a bundle open, unpacked if it is an archive, until the returned value is dropped or the environment ends.
    pub fn keep(&self, opened: OpenedBundle) -> Arc<Unpacked> {
        let kept = Arc::new(Unpacked(Mutex::new(Some(opened))));
        let mut unpacked = self.unpacked.lock();
        unpacked.retain(|kept| kept.strong_count() > 0);
        unpacked.push(Arc::downgrade(&kept));
        kept
    }

    fn end(&self) {
        if self.jobs.end(Instant::now() + LAST_CLEANUP) {
            std::mem::take(&mut *self.locks.lock()).into_iter().for_each(session_lock::release);
        }
        // Includes what the jobs have unpacked in the meantime.
        let unpacked = std::mem::take(&mut *self.unpacked.lock());
        unpacked.iter().filter_map(Weak::upgrade).for_each(|kept| kept.remove());
    }
}

/// A bundle or a plain recording that is being read. Dropping it removes what was unpacked.
pub struct Unpacked(Mutex<Option<OpenedBundle>>);

impl Unpacked {
    /// Calls `read` with the bundle. Returns `None` if it was removed, because its environment ends.
    pub fn read<T>(&self, read: impl FnOnce(&OpenedBundle) -> T) -> Option<T> {
        self.0.lock().as_ref().map(read)
    }

    /// Whether there are unpacked files, which removing takes time.
    pub fn has_files(&self) -> bool {
        self.0.lock().as_ref().is_some_and(OpenedBundle::is_unpacked)
    }

    /// Removes what was unpacked, or waits until the end of the environment has done so.
    pub fn remove(&self) {
        self.0.lock().take();
    }
}

#[cfg(test)]
mod tests {

    use session_tape_core::task::{Cancellation, Task};
    use session_tape_core::{ExportOptions, export_bundle};

    use super::*;

    #[test]
    fn end_of_the_environment_removes_unpacked_files_in_use() {
        let root = tempfile::tempdir().unwrap();
        let (session, archive) = (root.path().join("a.jsonl"), root.path().join("a.tar.zst"));
        std::fs::write(
            &session,
            "{\"v\":1,\"seq\":1,\"type\":\"session_start\",\"payload\":{\"sessionId\":\"s\",\"projectHash\":\"h\"}}\n",
        )
        .unwrap();
        let (cancelled, mut quietly) = (Cancellation::default(), |_| ());
        let mut task = Task { cancellation: &cancelled, progress: &mut quietly };
        export_bundle(&session, &archive, &ExportOptions::default(), &mut task).unwrap();
        let opened = OpenedBundle::open(&archive, &Default::default(), &mut task).unwrap();
        let log = opened.log();
        let bundles = Bundles::default();
        let kept = bundles.keep(opened);
        assert!(log.exists());
        bundles.end();
        assert!(!log.exists());
        drop(kept);
    }
}
