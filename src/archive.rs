//! `archiveSession` and `restoreSession`, and the removal of sessions by `keepSessions`.

use std::path::Path;

use napi::bindgen_prelude::{AsyncTask, Function, Result};
use napi_derive::napi;

use super::bundles::NativeBundles;
use super::error_json::ErrorJson;
use super::job::{JobEnd, NativeJob, PoolJob};
use super::writing_job::{Reports, start_writing};
use session_tape_core::session::record::{ArchiveError, Archived, archive, remove, restore};

/// Archives the session at `path`, or restores it. `owner` describes this process in the file's lock. The result has `filePath`, `bytes` and
/// `archivedBytes`, which is `null` if there was no archive. The end of the environment waits until the work has cleaned up.
#[napi(catch_unwind)]
pub fn start_archive(
    bundles: &NativeBundles,
    path: String,
    owner: String,
    restores: bool,
    progress: bool,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start_writing(bundles, on_ready, Reports::bytes(progress), move |task| {
        let work = if restores { restore } else { archive };
        end_of(work(Path::new(&path), &owner, task))
    })
}

fn end_of(result: std::result::Result<Archived, ArchiveError>) -> JobEnd {
    match result {
        Ok(Archived { path, bytes, archived_bytes }) => JobEnd::done_with(|json| {
            json.member("filePath", &path.to_string_lossy());
            json.member("bytes", &bytes);
            json.member("archivedBytes", &archived_bytes);
        }),
        Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
    }
}

/// Removes a session and its archive. The result is `null`.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn remove_session(path: String, owner: String) -> AsyncTask<PoolJob> {
    PoolJob::start(move || match remove(Path::new(&path), &owner) {
        Ok(()) => JobEnd::done(|json| json.raw(b"null")),
        Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
    })
}
