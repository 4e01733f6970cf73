//! How a job ends.

use std::any::Any;

use super::progress::Progress;
use super::queue::{Batch, OutputTape};
use crate::node::error_json::ErrorJson;
use crate::node::json::JsonText;
use crate::node::text::OutputText;

/// The last batch of a job: a JSON object with `done`, `error`, `cancelled` or `panicked`.
pub struct JobEnd {
    /// Open: members can be appended.
    json: JsonText,
    tape: Option<OutputTape>,
    is_done: bool,
}

impl JobEnd {
    /// The job is done. `result` appends the JSON value of its result.
    pub fn done(result: impl FnOnce(&mut JsonText)) -> Self {
        let mut json = JsonText::default();
        json.open();
        Self::done_behind(json, None, result)
    }

    /// The same in a batch with other content: `json` is the open object of that batch.
    pub fn done_behind(mut json: JsonText, tape: Option<OutputTape>, result: impl FnOnce(&mut JsonText)) -> Self {
        json.key("done");
        result(&mut json);
        JobEnd { json, tape, is_done: true }
    }

    /// The job has failed, or has stopped because it was cancelled: that is a code too.
    pub fn failed(error: &ErrorJson<'_>) -> Self {
        Self::without_result(|json| json.member(if error.code == "Cancelled" { "cancelled" } else { "error" }, error))
    }

    /// The work has panicked. The end has the message of the panic.
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        Self::without_result(|json| json.member("panicked", panic_message(panic)))
    }

    /// The work has stopped because the queue is closed. This batch is dropped too.
    pub fn closed() -> Self {
        Self::without_result(|_| ())
    }

    fn without_result(members: impl FnOnce(&mut JsonText)) -> Self {
        let mut json = JsonText::default();
        json.open();
        members(&mut json);
        JobEnd { json, tape: None, is_done: false }
    }

    /// The same, with the progress that `onProgress` is called with at the end, if the job is done.
    pub(super) fn with_progress(mut self, progress: Progress) -> Self {
        if self.is_done {
            progress.append_to(&mut self.json);
        }
        self
    }

    /// The length of the text so far.
    pub fn bytes(&self) -> usize {
        self.json.bytes()
    }

    /// The batch.
    pub fn into_batch(mut self) -> Batch {
        self.json.close();
        Batch { text: self.json.finish(), tape: self.tape }
    }

    /// The text of the batch, for jobs that have no tape.
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
    use crate::bundle::error::{BundleCode, BundleError};

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
    fn only_a_job_that_is_done_tells_the_whole_at_its_end() {
        let progress = Progress { bytes: 7, total: 7, files: None };
        let done = JobEnd::done(|json| json.value(&[1])).with_progress(progress);
        assert_eq!(text(done), r#"{"done":[1],"bytes":7,"total":7}"#);
        let error = BundleError::new(BundleCode::WrongHash, "changed");
        let failed = JobEnd::failed(&ErrorJson::from(&error)).with_progress(progress);
        assert_eq!(text(failed), r#"{"error":{"code":"WrongHash","message":"changed"}}"#);
    }

    #[test]
    fn work_that_was_cancelled_has_not_failed() {
        let end = text(JobEnd::failed(&ErrorJson::from(&BundleError::cancelled())));
        assert_eq!(end, r#"{"cancelled":{"code":"Cancelled","message":"The caller asked to stop"}}"#);
    }
}
