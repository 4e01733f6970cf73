//! Jobs that read recordings. A bundle is verified and opened first.

use std::path::Path;

use napi::bindgen_prelude::{Function, Result};

use super::bundles::NativeBundles;
use super::job::{Every, JobEnd, NativeJob, Progress, ProgressReporter, new_job};
use session_tape_core::bundle::{ImportError, OpenedBundle, VerifyOptions};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::{self, Cancellation, Task};

/// Number of bytes read between two reports of progress.
const PROGRESS_BYTES: u64 = 1 << 20;

/// How often a job that reads reports its progress, if that is wanted.
pub fn every(is_wanted: bool) -> Option<Every> {
    is_wanted.then_some(Every::Bytes(PROGRESS_BYTES))
}

/// Starts a job whose `work` reads what is at `paths`. Everything that the work unpacks is removed before the end is sent.
pub fn start_reading(
    bundles: &NativeBundles,
    on_ready: Function<'_, (), ()>,
    paths: Vec<String>,
    progress: bool,
    work: impl FnOnce(&[String], &mut ProgressReporter<'_>) -> JobEnd + Send + 'static,
) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    let bundles = bundles.shared();
    sender.run_in_background(move |sender| {
        let _guard = bundles.begin_reading(&paths, sender.cancellation());
        let mut reporter = ProgressReporter::new(sender, every(progress));
        let end = work(&paths, &mut reporter);
        reporter.finish(end)
    });
    Ok(job)
}

/// Verifies and opens the bundle at `path`. If it is signed and there are `trusted` keys, one of them must have signed it.
pub fn open_bundle(
    path: &str,
    trusted: TrustedKeys,
    cancellation: &Cancellation,
    progress: &mut dyn FnMut(task::Progress),
) -> std::result::Result<OpenedBundle, ImportError> {
    let options = VerifyOptions { trusted, ..VerifyOptions::default() };
    OpenedBundle::open(Path::new(path), &options, &mut Task { cancellation, progress })
}

/// Progress in two phases: verifying a bundle counts as one half of its bytes, reading it as the other half. A plain recording has the
/// second phase only.
#[derive(Default)]
pub struct TwoPhaseProgress {
    verified: Option<u64>,
}

impl TwoPhaseProgress {
    /// The overall progress, given that of verifying.
    pub fn verifying(&mut self, progress: task::Progress) -> Progress {
        self.verified = Some(progress.total);
        Progress { bytes: progress.bytes / 2, total: progress.total, files: None }
    }

    /// The overall progress, given that of reading.
    pub fn reading(&self, task::Progress { bytes, total, .. }: task::Progress) -> Progress {
        let Some(whole) = self.verified else { return Progress { bytes, total, files: None } };
        let half = whole / 2;
        let share = u128::from(whole - half) * u128::from(bytes.min(total)) / u128::from(total.max(1));
        Progress { bytes: half + share as u64, total: whole, files: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_of_two_phases_only_grows() {
        let of = |Progress { bytes, total, .. }| (bytes, total);
        let mut progress = TwoPhaseProgress::default();
        assert_eq!(of(progress.reading(task::Progress { bytes: 3, total: 7, ..Default::default() })), (3, 7));
        let verifying =
            [0, 50, 101].map(|bytes| progress.verifying(task::Progress { bytes, total: 101, ..Default::default() }));
        assert_eq!(verifying.map(of), [(0, 101), (25, 101), (50, 101)]);
        let reading = [0, 500, 1000]
            .map(|bytes| of(progress.reading(task::Progress { bytes, total: 1000, ..Default::default() })));
        assert_eq!(reading, [(50, 101), (75, 101), (101, 101)]);
    }
}
