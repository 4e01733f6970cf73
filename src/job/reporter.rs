//! Reports the progress of a job to JavaScript, at intervals and at its end.

use super::end::JobEnd;
use super::progress::{Every, Progress};
use super::queue::Batch;
use super::sender::Sender;
use crate::json::{JsonText, finished};
use session_tape_core::task::Cancellation;

/// Sends the progress of a job to JavaScript, as often as [`Every`] specifies.
pub struct ProgressReporter<'s> {
    sender: &'s Sender,
    /// `None` if progress is never reported.
    every: Option<Every>,
    /// Number of bytes in the last report.
    told: u64,
    last: Progress,
    /// The total was reported before the end of the job.
    has_concluded: bool,
}

impl<'s> ProgressReporter<'s> {
    /// A reporter that has reported nothing yet.
    pub fn new(sender: &'s Sender, every: Option<Every>) -> Self {
        ProgressReporter { sender, every, told: 0, last: Progress::default(), has_concluded: false }
    }

    /// The cancellation of the work.
    pub fn cancellation(&self) -> &'s Cancellation {
        self.sender.cancellation()
    }

    /// Records the progress and sends it if it is due. Cancels the work if the environment has ended.
    pub fn report(&mut self, progress: Progress) {
        if !self.sender.is_cancelled() && self.is_due(progress.bytes) {
            let Some(progress) = self.advance(progress) else { return };
            // If the queue is closed, the work is already cancelled.
            let _ = self.sender.send(batch(progress));
        } else {
            self.note(progress);
        }
    }

    /// Whether it is time to report that `bytes` are done.
    pub fn is_due(&self, bytes: u64) -> bool {
        match self.every {
            None => false,
            Some(Every::Bytes(step)) => bytes >= self.told + step && self.sender.has_room(),
            Some(Every::Interval(interval)) => self.sender.queue().idle_for().is_some_and(|idle| idle >= interval),
        }
    }

    /// Records the progress. Returns it if a batch that is sent now should report it: not if it was reported before, and not the
    /// total, which the end reports.
    pub fn advance(&mut self, progress: Progress) -> Option<Progress> {
        self.note(progress);
        let is_news = self.every.is_some() && progress.bytes > self.told && progress.bytes < progress.total;
        is_news.then(|| {
            self.told = progress.bytes;
            progress
        })
    }

    fn note(&mut self, progress: Progress) {
        // Calls that only check for cancellation pass no bytes.
        self.last = Progress { total: progress.total.max(self.last.total), ..progress };
    }

    /// Reports the total before the end of a job that writes, and waits until JavaScript has dealt with it: `onProgress` may throw, or abort the work,
    /// only while there is nothing that stays.
    pub fn conclude(&mut self) {
        if self.every.is_none() || self.has_concluded {
            return;
        }
        self.has_concluded = true;
        if self.sender.send(batch(self.all())).is_ok() {
            self.sender.queue().wait_until_taken(|| self.sender.is_cancelled());
        }
    }

    /// Adds the total progress to the end of the job, unless it was reported before.
    pub fn finish(self, end: JobEnd) -> JobEnd {
        if self.every.is_none() || self.has_concluded { end } else { end.with_progress(self.all()) }
    }

    fn all(&self) -> Progress {
        let Progress { total, files, .. } = self.last;
        Progress { bytes: total, total, files }
    }
}

/// A batch with nothing but progress.
fn batch(progress: Progress) -> Batch {
    finished(JsonText::of_object(|json| progress.append_to(json))).into()
}
