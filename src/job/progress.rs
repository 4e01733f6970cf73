//! Progress of a job.

use std::time::Duration;

use crate::json::JsonText;

/// The progress of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of bytes done.
    pub bytes: u64,
    /// Total number of bytes. 0 if it is not known yet.
    pub total: u64,
    /// Number of files done, for jobs that count them.
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
    /// Each time this many more bytes are done, if the queue of batches has room.
    Bytes(u64),
    /// This long after JavaScript took the last batch, if no batch is queued.
    Interval(Duration),
}
