//! Jobs that write. They are stopped, not cancelled, so that they leave nothing behind when their promises reject.

use std::time::Duration;

use napi::bindgen_prelude::{Function, Result};

use super::bundles::NativeBundles;
use super::job::{Every, JobEnd, NativeJob, Progress, ProgressReporter, new_job};
use session_tape_core::task::{self, Task};

/// `onProgress` is called at most ten times a second.
const PROGRESS: Every = Every::Interval(Duration::from_millis(100));

/// What a job reports of its progress.
#[derive(Clone, Copy)]
pub struct Reports {
    is_wanted: bool,
    counts_files: bool,
}

impl Reports {
    pub fn bytes(is_wanted: bool) -> Self {
        Reports { is_wanted, counts_files: false }
    }

    pub fn bytes_and_files(is_wanted: bool) -> Self {
        Reports { is_wanted, counts_files: true }
    }
}

/// Starts a job whose `work` writes. The end of the environment waits until the work has cleaned up.
pub fn start_writing(
    bundles: &NativeBundles,
    on_ready: Function<'_, (), ()>,
    reports: Reports,
    work: impl FnOnce(&mut Task<'_>) -> JobEnd + Send + 'static,
) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    // Registered before the work begins, so that an environment that ends before that waits too.
    let guard = bundles.shared().begin_writing(sender.cancellation());
    sender.run_in_background(move |sender| {
        let _guard = guard;
        let mut reporter = ProgressReporter::new(sender, reports.is_wanted.then_some(PROGRESS));
        let mut report = |task::Progress { bytes, total, files, is_last }| match is_last {
            true => reporter.conclude(),
            false => reporter.report(Progress { bytes, total, files: reports.counts_files.then_some(files) }),
        };
        let end = work(&mut Task { cancellation: sender.cancellation(), progress: &mut report });
        reporter.finish(end)
    });
    Ok(job)
}
