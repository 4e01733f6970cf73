//! Headers and summaries of session files: off the JavaScript thread, or on it where that takes no waiting.

use std::panic::catch_unwind;
use std::path::Path;

use napi::bindgen_prelude::{AsyncTask, Result};
use napi::{Env, Task};
use napi_derive::napi;

use super::json::JsonText;
use super::text::Text;
use crate::bundle::path::SESSION_LOG;
use crate::session::header::{HeaderError, Summary, read_header, read_header_at_once, read_summary};

/// Reads many files on Node's own thread pool.
pub struct ReadFiles {
    paths: Vec<String>,
    append: fn(&mut JsonText, &Path),
}

impl Task for ReadFiles {
    type Output = Text;
    type JsValue = Text;

    fn compute(&mut self) -> Result<Text> {
        let (paths, append) = (&self.paths, self.append);
        // A panic on this thread would take the process down.
        let read = catch_unwind(|| {
            let mut json = JsonText::default();
            json.array(paths, |json, path| append(json, Path::new(path)));
            json.finish()
        });
        read.map_err(|_| {
            napi::Error::from_reason("session-tape failed while reading headers. This is a bug in session-tape")
        })
    }

    fn resolve(&mut self, _: Env, text: Text) -> Result<Text> {
        Ok(text)
    }
}

/// The JSON text of an array with the header of each path, `null` where there is none.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn read_headers(paths: Vec<String>) -> AsyncTask<ReadFiles> {
    AsyncTask::new(ReadFiles { paths, append: |json, path| append_header(json, read_header_of(path)) })
}

/// The header of a file, or of the session in a bundle's directory.
fn read_header_of(path: &Path) -> std::result::Result<Vec<u8>, HeaderError> {
    match read_header(path) {
        Err(HeaderError::NotAFile) => read_header(&path.join(SESSION_LOG)),
        read => read,
    }
}

/// The JSON text of the header of a path, `null` if there is none; here and now, or nothing if that could take waiting.
#[napi(catch_unwind, ts_return_type = "string | null")]
pub fn read_header_now(path: String) -> Option<Text> {
    let header = read_header_at_once(Path::new(&path))?;
    let mut json = JsonText::default();
    append_header(&mut json, header);
    Some(json.finish())
}

fn append_header(json: &mut JsonText, header: std::result::Result<Vec<u8>, HeaderError>) {
    json.raw(header.as_deref().unwrap_or(b"null"));
}

/// The JSON text of an array with the header, size and time of each path, or the reason why there is none.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn read_summaries(paths: Vec<String>) -> AsyncTask<ReadFiles> {
    AsyncTask::new(ReadFiles { paths, append: |json, path| append_summary(json, read_summary(path)) })
}

fn append_summary(json: &mut JsonText, summary: std::result::Result<Summary, HeaderError>) {
    match summary {
        Ok(summary) => {
            json.syntax("{\"fileSize\":");
            json.number(summary.size as f64);
            json.syntax(",\"lastModified\":");
            json.number(summary.modified);
            json.syntax(",\"payload\":");
            json.raw(&summary.payload);
        }
        Err(error) => {
            json.syntax("{\"reason\":");
            json.string(&error.to_string());
        }
    }
    json.syntax("}");
}
