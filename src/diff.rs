//! `diff` and `traceAncestors`: jobs that read.

use std::path::Path;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::bundles::NativeBundles;
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::{JobEnd, NativeJob, Progress, ProgressReporter};
use super::json::JsonText;
use super::reading::start_reading;
use session_tape_core::bundle::ImportError;
use session_tape_core::diff::{Compared, DiffError, DiffOptions, Pointer, Side, diff, print, trace_ancestors};
use session_tape_core::foreign::Stop;
use session_tape_core::lines::ReadError;
use session_tape_core::recording::{Recording, RecordingError};
use session_tape_core::session::record::ImportFault;
use session_tape_core::task::{self, Task};

/// The options of a diff.
#[napi(object, object_to_js = false)]
pub struct NativeDiffOptions {
    pub full: bool,
    pub heartbeats: bool,
    pub ignore: Vec<String>,
    pub progress: bool,
}

/// The fault of a JSON pointer. Returns null if it is valid.
#[napi(catch_unwind)]
pub fn json_pointer_fault(pointer: String) -> Option<String> {
    match Pointer::parse(&pointer) {
        Err(DiffError::InvalidPointer { why, .. }) => Some(why.to_owned()),
        _ => None,
    }
}

/// Compares two recordings. The result is the diff, or null if there is none.
#[napi(catch_unwind)]
pub fn start_diff(
    bundles: &NativeBundles,
    left: String,
    right: String,
    options: NativeDiffOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    let NativeDiffOptions { full, heartbeats, ignore, progress } = options;
    // `json_pointer_fault` has already accepted them.
    let ignore = ignore.iter().filter_map(|pointer| Pointer::parse(pointer).ok()).collect();
    let options = DiffOptions { compared: Compared { heartbeats, ignore }, full };
    start_reading(bundles, on_ready, vec![left, right], progress, move |paths, reporter| {
        let mut open = |at: usize, side| open(&paths[at], Some(side), reporter);
        let opened = open(0, Side::Left).and_then(|left| Ok((left, open(1, Side::Right)?)));
        if let Ok((left, right)) = &opened {
            // The end reports both recordings as read, even if they diverge at once.
            reporter.report(Progress { total: left.size() + right.size(), ..Progress::default() });
        }
        let found = opened
            .and_then(|(left, right)| watched(reporter, |task| diff(left.source(), right.source(), &options, task)));
        end(found, |json, found| print(json, found.as_ref()))
    })
}

/// Finds the ancestors of an event. The result is an object with `chain` and `truncated`.
#[napi(catch_unwind)]
pub fn start_trace(
    bundles: &NativeBundles,
    path: String,
    event_id: String,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start_reading(bundles, on_ready, vec![path], false, move |paths, reporter| {
        let found = open(&paths[0], None, reporter)
            .and_then(|opened| watched(reporter, |task| trace_ancestors(opened.source(), &event_id, task)));
        end(found, |json, chain| json.value(&chain))
    })
}

/// Runs `work` with progress and cancellation.
fn watched<T>(
    reporter: &mut ProgressReporter<'_>,
    work: impl FnOnce(&mut Task<'_>) -> std::result::Result<T, DiffError>,
) -> std::result::Result<T, Fault> {
    let cancellation = reporter.cancellation();
    let progress = &mut |task::Progress { bytes, total, .. }| reporter.report(Progress { bytes, total, files: None });
    work(&mut Task { cancellation, progress }).map_err(Fault::Recording)
}

/// Opens a recording. If it is a bundle, it stays unpacked until the result is dropped.
fn open(path: &str, side: Option<Side>, reporter: &mut ProgressReporter<'_>) -> std::result::Result<Recording, Fault> {
    let path = Path::new(path);
    let cancellation = reporter.cancellation();
    // Progress is that of the comparison only. While verifying, it is reported only to check for cancellation.
    let progress = &mut |_| reporter.report(Progress::default());
    Recording::open_as_task(path, &mut Task { cancellation, progress }).map_err(|error| match error {
        RecordingError::System(error) | RecordingError::Foreign(Stop::Read(ReadError::System(error))) => {
            Fault::Recording(DiffError::of_system(error, path.to_owned(), side))
        }
        RecordingError::Foreign(stop) => Fault::Foreign(ImportFault::of_stop(stop, path), side),
        RecordingError::Bundle(refusal) => Fault::Bundle(refusal, side),
    })
}

/// An error of a job.
enum Fault {
    Recording(DiffError),
    Bundle(ImportError, Option<Side>),
    /// A foreign session can't be converted.
    Foreign(ImportFault, Option<Side>),
}

/// The end of a job whose result `append` appends.
fn end<T>(found: std::result::Result<T, Fault>, append: impl FnOnce(&mut JsonText, T)) -> JobEnd {
    match found {
        Ok(found) => JobEnd::done(|json| append(json, found)),
        Err(Fault::Recording(error)) => JobEnd::failed(&ErrorJson::from(&error)),
        Err(Fault::Foreign(fault, side)) => {
            JobEnd::failed(&ErrorJson::new(fault.code(), fault.to_string()).of_side(side))
        }
        Err(Fault::Bundle(refusal, side)) => JobEnd::failed(&ErrorJson::refusal(&refusal, CANT_BE_READ).of_side(side)),
    }
}
