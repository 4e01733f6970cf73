//! Identifies files and their versions, to find out whether they have changed.

use std::path::Path;
use std::time::UNIX_EPOCH;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::job::{JobEnd, PoolJob};
use session_tape_core::archived::resolve;
use session_tape_core::disk::{Metadata, files};

/// The result is an array with an element for each path: an array of two strings, the identity of the file (empty if the system
/// provides none) and its version, from its size and its time of modification; or `null` if there is no such file. An archive stands for a session's
/// file that is not there.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn file_identities(paths: Vec<String>) -> AsyncTask<PoolJob> {
    PoolJob::start(move || {
        let found = paths.iter().map(|path| files::metadata(&resolve(Path::new(path))).ok());
        JobEnd::done(|json| json.array(|json| found.for_each(|metadata| json.value(&metadata.map(identity_of)))))
    })
}

fn identity_of(metadata: Metadata) -> [String; 2] {
    let file = metadata.inode.as_ref().map(|inode| format!("{}:{}", inode.device, inode.number));
    let modified = metadata.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    [file.unwrap_or_default(), format!("{}:{}", metadata.size, modified.as_nanos())]
}
