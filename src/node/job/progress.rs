//! Progress of a job.

use std::time::Duration;

use crate::node::json::JsonText;

/// How far a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes done.
    pub bytes: u64,
    /// Bytes to do. 0 where that is not known yet.
    pub total: u64,
    /// Files done, for jobs that count them.
    pub files: Option<u64>,
}

impl Progress {
    /// Appends the members `bytes`, `total` and `files` of a batch.
    pub fn append_to(self, json: &mut JsonText) {
        json.member("bytes", &self.bytes);
        json.member("total", &self.total);
        if let Some(files) = self.files {
            json.member("files", &files);
        }
    }
}

/// How often progress is reported.
#[derive(Clone, Copy, Debug)]
pub enum Every {
    /// Each time that so many more bytes are done, unless batches wait.
    Bytes(u64),
    /// This long after JavaScript took the batch before.
    Interval(Duration),
}
