//! `archiveSession` and `restoreSession`, and the removal of sessions by `keepSessions`.

use std::path::Path;
use std::time::Duration;

use napi::bindgen_prelude::{AsyncTask, Function, Result};
use napi_derive::napi;

use super::bundles::NativeBundles;
use super::error_json::ErrorJson;
use super::job::{Every, JobEnd, NativeJob, PoolJob, Progress, ProgressReporter, new_job};
use session_tape_core::Task;
use session_tape_core::session::{ArchiveError, Archived, archive, remove, restore};
use session_tape_core::task;

/// `onProgress` is called at most ten times a second.
const PROGRESS: Every = Every::Interval(Duration::from_millis(100));

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
    let (sender, job) = new_job(on_ready)?;
    let guard = bundles.shared().begin_writing(sender.cancellation());
    sender.run_in_background(move |sender| {
        let _guard = guard;
        let mut reporter = ProgressReporter::new(sender, progress.then_some(PROGRESS));
        let mut report = |task::Progress { bytes, total, .. }| reporter.report(Progress { bytes, total, files: None });
        let mut task = Task { cancellation: sender.cancellation(), progress: &mut report };
        let work = if restores { restore } else { archive };
        let end = end_of(work(Path::new(&path), &owner, &mut task));
        reporter.finish(end)
    });
    Ok(job)
}

fn end_of(result: std::result::Result<Archived, ArchiveError>) -> JobEnd {
    match result {
        Ok(Archived { path, bytes, archived_bytes }) => JobEnd::done(|json| {
            json.open();
            json.member("filePath", &path.to_string_lossy());
            json.key("bytes");
            json.number(bytes as f64);
            json.key("archivedBytes");
            match archived_bytes {
                Some(bytes) => json.number(bytes as f64),
                None => json.raw(b"null"),
            }
            json.close();
        }),
        Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
    }
}

/// Removes a session, its archive and its snapshots. The result is `null`.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn remove_session(path: String, owner: String) -> AsyncTask<PoolJob> {
    PoolJob::start(move || match remove(Path::new(&path), &owner) {
        Ok(()) => JobEnd::done(|json| json.raw(b"null")),
        Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
    })
}
