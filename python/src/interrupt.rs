//! Work that Ctrl-C ends.
//!
//! Python runs the handlers of signals on its main thread, when that asks for them. So long work is done on another thread, and the one that
//! called looks for signals meanwhile.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use session_tape::Cancellation;

use crate::convert::CANCELLED;

/// So often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Reports how many recordings and bytes are done. An error if the work is to end.
pub type Report<'r> = &'r mut dyn FnMut(u64, u64) -> Result<(), String>;

/// Does `work`. What a signal's handler or `on_progress` raises cancels it; it is raised when the work has ended.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    cancelled: &Arc<AtomicBool>,
    on_progress: Option<&Py<PyAny>>,
    work: impl FnOnce(Report<'_>) -> T + Send,
) -> PyResult<T> {
    let (reports, reported) = channel();
    let (answers, answered) = channel();
    let is_wanted = on_progress.is_some();
    let working = move || {
        // Dropped when the work ends, which ends the wait for reports.
        let reports = reports;
        let mut report = |files, bytes| {
            let is_heard = !is_wanted || reports.send((files, bytes)).is_ok() && answered.recv().is_ok();
            if is_heard && !cancelled.load(Ordering::Relaxed) { Ok(()) } else { Err(CANCELLED.to_owned()) }
        };
        Cancellation::from(cancelled.clone()).during(|| work(&mut report))
    };
    py.detach(move || {
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("session-tape".to_owned()).spawn_scoped(scope, working)?;
            let watched = watch(&reported, &answers, cancelled, on_progress);
            drop(answers);
            let done = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            watched.map(|()| done)
        })
    })
}

/// Looks for signals and passes reports on until there are no more. The first error cancels.
fn watch(
    reported: &Receiver<(u64, u64)>,
    answers: &Sender<()>,
    cancelled: &AtomicBool,
    on_progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let mut result = Ok(());
    loop {
        let report = match reported.recv_timeout(LOOK) {
            Ok(report) => Some(report),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return result,
        };
        if result.is_ok() {
            result = Python::attach(|py| {
                py.check_signals()?;
                let called = report.zip(on_progress).map(|(done, call)| call.call1(py, done));
                called.map_or(Ok(()), |called| called.map(drop))
            });
            if result.is_err() {
                cancelled.store(true, Ordering::Relaxed);
            }
        }
        if report.is_some() {
            // The work waits for it, unless it has ended.
            let _ = answers.send(());
        }
    }
}
