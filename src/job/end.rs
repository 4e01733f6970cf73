//! The ends of jobs.

use std::any::Any;

use super::progress::Progress;
use super::queue::{Batch, OutputTape};
use crate::error_json::ErrorJson;
use crate::json::{JsonText, finished, finished_in_pieces};
use crate::text::OutputText;
use session_tape_core::bundle::BundleError;
use session_tape_core::task::Cancelled;

/// The last batch of a job: a JSON object with `done`, `error`, `cancelled` or `panicked`.
pub struct JobEnd {
    /// An open object, to which members can be appended.
    json: JsonText,
    tape: Option<OutputTape>,
    is_done: bool,
    /// Whether a large result is sent in pieces.
    is_splittable: bool,
}

impl JobEnd {
    /// The job has succeeded. `result` appends the JSON value of its result.
    pub fn done(result: impl FnOnce(&mut JsonText)) -> Self {
        let mut json = JsonText::default();
        json.open();
        Self::done_behind(json, None, result)
    }

    /// The same for a result that is an object. `members` appends its members.
    pub fn done_with(members: impl FnOnce(&mut JsonText)) -> Self {
        Self::done(|json| json.object(members))
    }

    /// The same, in a batch with other content: `json` is the open object of that batch.
    pub fn done_behind(mut json: JsonText, tape: Option<OutputTape>, result: impl FnOnce(&mut JsonText)) -> Self {
        json.key("done");
        result(&mut json);
        JobEnd { json, tape, is_done: true, is_splittable: false }
    }

    /// Allows that a large result is sent in [pieces], if none of its objects has a key twice.
    ///
    /// [pieces]: crate::pieces
    pub fn in_pieces(self) -> Self {
        JobEnd { is_splittable: true, ..self }
    }

    /// The job has failed, or has stopped because it was cancelled, which is one of the error codes.
    pub fn failed(error: &ErrorJson<'_>) -> Self {
        Self::without_result(|json| json.member(if error.code == "Cancelled" { "cancelled" } else { "error" }, error))
    }

    /// The job was cancelled before it began.
    pub fn cancelled() -> Self {
        Self::failed(&ErrorJson::from(&BundleError::from(Cancelled)))
    }

    /// The work has panicked. The end contains the message of the panic.
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        Self::without_result(|json| json.member("panicked", panic_message(panic)))
    }

    /// The work has stopped because the queue is closed. This batch will be dropped too.
    pub fn closed() -> Self {
        Self::without_result(|_| ())
    }

    fn without_result(members: impl FnOnce(&mut JsonText)) -> Self {
        let mut json = JsonText::default();
        json.open();
        members(&mut json);
        JobEnd { json, tape: None, is_done: false, is_splittable: false }
    }

    /// Adds the progress that `onProgress` is called with at the end, if the job has succeeded.
    pub(super) fn with_progress(mut self, progress: Progress) -> Self {
        if self.is_done {
            progress.append_to(&mut self.json);
        }
        self
    }

    /// Size of the text so far, in bytes.
    pub fn bytes(&self) -> usize {
        self.json.bytes()
    }

    /// Closes the object and returns it as a batch.
    pub fn into_batch(mut self) -> Batch {
        self.json.close();
        Batch { text: finished(self.json), tape: self.tape }
    }

    /// Closes the object and returns it as a batch, or in pieces.
    pub fn into_batches(mut self) -> Vec<Batch> {
        if self.is_splittable && self.tape.is_none() {
            self.json.close();
            return finished_in_pieces(self.json).into_iter().map(Batch::from).collect();
        }
        vec![self.into_batch()]
    }

    /// Closes the object and returns its text, for jobs without a tape.
    pub fn into_text(self) -> OutputText {
        self.into_batch().text
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (_, Some(message)) => message,
        _ => "a panic without a message",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use session_tape_core::bundle::BundleCode;

    fn text(end: JobEnd) -> String {
        match end.into_text() {
            OutputText::Latin1(bytes) => String::from_utf8(bytes).unwrap(),
            OutputText::Utf16(units) => String::from_utf16(&units).unwrap(),
            _ => unreachable!("the text of an end is not shared"),
        }
    }

    #[test]
    fn a_panic_passes_on_its_message() {
        let of = |work: fn()| text(JobEnd::panicked(&*std::panic::catch_unwind(work).unwrap_err()));
        assert_eq!(of(|| panic!("at once")), r#"{"panicked":"at once"}"#);
        assert_eq!(of(|| panic!("index {} of {}", 3, 2)), r#"{"panicked":"index 3 of 2"}"#);
        assert_eq!(of(|| std::panic::panic_any(7)), r#"{"panicked":"a panic without a message"}"#);
    }

    #[test]
    fn only_a_finished_job_reports_the_total() {
        let progress = Progress { bytes: 7, total: 7, files: None };
        let done = JobEnd::done(|json| json.value(&[1])).with_progress(progress);
        assert_eq!(text(done), r#"{"done":[1],"bytes":7,"total":7}"#);
        let error = BundleError::new(BundleCode::WrongHash, "changed");
        let failed = JobEnd::failed(&ErrorJson::from(&error)).with_progress(progress);
        assert_eq!(text(failed), r#"{"error":{"code":"WrongHash","message":"changed"}}"#);
    }

    #[test]
    fn cancelled_work_is_not_a_failure() {
        let end = text(JobEnd::failed(&ErrorJson::from(&BundleError::from(Cancelled))));
        assert_eq!(end, r#"{"cancelled":{"code":"Cancelled","message":"The caller asked to stop"}}"#);
    }
}
