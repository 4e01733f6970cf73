//! Headers and summaries of session files: read on another thread, or on the JavaScript thread if that can't block.

use std::path::Path;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::job::{JobEnd, PoolJob};
use super::json::JsonText;
use session_tape_core::bundle::SESSION_LOG;
use session_tape_core::lines::MAX_LINE_BYTES;
use session_tape_core::session::read::{HeaderError, Summary};

/// Maximum total size, in bytes, of the headers in one result; the first header is included whatever its size.
const TEXT_BYTES: usize = 32 << 20;

/// Maximum size, in bytes, of a job's end that fits in a V8 string, without its closing brace.
const MAX_END: usize = MAX_LINE_BYTES - 1;

type Found = std::result::Result<Summary, HeaderError>;

/// Reads as many files as fit in one result. The result is an array with an element for each of them.
fn read_files(paths: Vec<String>, read: fn(&Path) -> Found, append: fn(&mut JsonText, &Found)) -> AsyncTask<PoolJob> {
    PoolJob::start(move || {
        let (mut bytes, mut found) = (0, Vec::with_capacity(paths.len()));
        for path in &paths {
            let one = read(Path::new(path));
            bytes += one.as_ref().map_or(0, |summary| summary.payload.len());
            if bytes > TEXT_BYTES && !found.is_empty() {
                break;
            }
            found.push(one);
        }
        let end_with = |found: &[Found]| {
            JobEnd::done(|json| json.array(|json| found.iter().for_each(|found| append(json, found))))
        };
        let end = end_with(&found);
        // Escapes can make the header longer than a string can be.
        if end.bytes() > MAX_END { end_with(&[Err(HeaderError::TooLong)]) } else { end }
    })
}

/// The result is an array with the header of each path, or `null` if it has none. If the headers are large, only the first ones are
/// included, at least one.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn read_headers(paths: Vec<String>) -> AsyncTask<PoolJob> {
    read_files(paths, read_header_of, append_header)
}

/// The header of a file, or of the session in the directory of a bundle.
fn read_header_of(path: &Path) -> Found {
    match Summary::of_any_header(path) {
        Err(HeaderError::Directory) => Summary::of_header(&path.join(SESSION_LOG)),
        read => read,
    }
}

fn append_header(json: &mut JsonText, found: &Found) {
    json.raw(found.as_ref().map_or(b"null", |summary| &summary.payload));
}

/// The result is an array with an element for each path: an array of the header, the session's size in bytes, its time of modification
/// in milliseconds, and the archive's size in bytes if it is archived; an array of the header alone if that lacks what strict replays require; or a
/// string with the reason why there is no header. If the headers are large, only the first ones are included, at
/// least one. The paths are separated by NULs, which no path contains: passing one long string is faster than passing thousands of short
/// ones.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn read_summaries(paths: String) -> AsyncTask<PoolJob> {
    read_files(paths.split('\0').map(str::to_owned).collect(), Summary::read, append_summary)
}

fn append_summary(json: &mut JsonText, found: &Found) {
    match found {
        Ok(summary) => {
            let archived = summary.archived.map(|bytes| bytes as f64);
            let numbers = [Some(summary.size as f64), Some(summary.modified), archived];
            json.array(|json| {
                json.raw(&summary.payload);
                numbers.into_iter().flatten().filter(|_| summary.is_whole).for_each(|number| json.number(number));
            });
        }
        Err(error) => json.value(&error.to_string()),
    }
}
