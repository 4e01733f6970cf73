//! Long work that Ctrl-C interrupts.
//!
//! Python runs signal handlers on its main thread only, when that thread asks for it. Long work is therefore done on another thread, while the
//! calling thread checks for signals and reports progress.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use session_tape_core::{Cancellation, STACK_BYTES};

use crate::failure::Failure;

/// Interval at which signals are checked for.
pub const LOOK: Duration = Duration::from_millis(50);

/// Checks for signals during work on the calling thread that does not hold the GIL. Attaching to Python takes longer than most steps of such work, and
/// waits for other Python threads, so it is done once per interval only.
pub struct SignalCheck(Instant);

impl Default for SignalCheck {
    fn default() -> Self {
        SignalCheck(Instant::now())
    }
}

impl SignalCheck {
    /// Returns the exception of a signal handler that has raised.
    pub fn check(&mut self) -> PyResult<()> {
        if self.0.elapsed() < LOOK {
            return Ok(());
        }
        self.0 = Instant::now();
        Python::attach(|py| py.check_signals())
    }
}

/// The progress of work. The working threads increase it; it never decreases.
#[derive(Debug, Default)]
pub struct Progress {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Progress {
    /// Adds a number of recordings that are done.
    pub fn add_files(&self, files: u64) {
        self.files.fetch_add(files, Ordering::Relaxed);
    }

    /// Adds a number of bytes that were read.
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn now(&self) -> (u64, u64) {
        // Files first: the bytes of a recording are added before it is counted as done.
        let files = self.files.load(Ordering::Acquire);
        (files, self.bytes.load(Ordering::Acquire))
    }
}

/// Calls `on_progress` when the progress has changed.
pub struct Reporter {
    on_progress: Option<Py<PyAny>>,
    progress: Arc<Progress>,
    known: Option<(u64, u64)>,
}

impl Reporter {
    /// Creates a reporter of this progress.
    pub fn new(on_progress: Option<Py<PyAny>>, progress: &Arc<Progress>) -> Self {
        Reporter { on_progress, progress: progress.clone(), known: None }
    }

    /// Calls `on_progress` if the progress has changed since the last call.
    pub fn report(&mut self, py: Python<'_>) -> PyResult<()> {
        let now = self.progress.now();
        let Some(on_progress) = self.on_progress.as_ref().filter(|_| self.known != Some(now)) else { return Ok(()) };
        self.known = Some(now);
        on_progress.call1(py, now).map(drop)
    }
}

/// Runs `work` on another thread. An exception of a signal handler or of `on_progress` cancels it, and is returned after the work has ended.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    cancelled: &Cancellation,
    mut reporter: Option<&mut Reporter>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (working, worked) = channel();
    py.detach(move || {
        thread::scope(|scope| {
            let work = move || {
                // Dropped when the work ends, which ends `watch`.
                let _working: Sender<()> = working;
                cancelled.clone().during(work)
            };
            let thread = thread::Builder::new()
                .name("session-tape".to_owned())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, work);
            let thread = thread.map_err(Failure::from)?;
            let watched = watch(&worked, cancelled, reporter.as_deref_mut());
            let done = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            watched?;
            reporter.map_or(Ok(()), |reporter| Python::attach(|py| reporter.report(py)))?;
            Ok(done)
        })
    })
}

/// Checks for signals and reports progress until the work ends. The first error cancels the work, and is returned.
fn watch(worked: &Receiver<()>, cancelled: &Cancellation, mut reporter: Option<&mut Reporter>) -> PyResult<()> {
    let mut result = Ok(());
    while worked.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if result.is_ok() {
            result = Python::attach(|py| {
                py.check_signals()?;
                reporter.as_deref_mut().map_or(Ok(()), |reporter| reporter.report(py))
            });
            if result.is_err() {
                cancelled.cancel();
            }
        }
    }
    result
}
