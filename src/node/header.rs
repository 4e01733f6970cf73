//! Headers and summaries of session files: off the JavaScript thread, or on it where that takes no waiting.

use std::panic::catch_unwind;
use std::path::Path;

use napi::bindgen_prelude::{AsyncTask, Result};
use napi::{Env, Task};
use napi_derive::napi;

use super::json::JsonText;
use super::panic::panicked;
use super::text::Text;
use crate::bundle::path::SESSION_LOG;
use crate::jsonl::MAX_LINE_BYTES;
use crate::session::header::{HeaderError, Summary, read_header_at_once, read_header_summary, read_summary};

/// A text takes so many bytes of headers, or one header.
const TEXT_BYTES: usize = 32 << 20;

type Found = std::result::Result<Summary, HeaderError>;

/// Reads many files on Node's own thread pool.
pub struct ReadFiles {
    paths: Vec<String>,
    read: fn(&Path) -> Found,
    append: fn(&mut JsonText, &Found),
}

impl ReadFiles {
    /// What is in the first of the files, as many as a text takes.
    fn text(&self) -> Text {
        let (mut bytes, mut found) = (0, Vec::with_capacity(self.paths.len()));
        for path in &self.paths {
            let one = (self.read)(Path::new(path));
            bytes += one.as_ref().map_or(0, |summary| summary.payload.len());
            if bytes > TEXT_BYTES && !found.is_empty() {
                break;
            }
            found.push(one);
        }
        let json = self.json(&found);
        // Escapes can make a long line longer than a string can be.
        let json = if json.bytes() > MAX_LINE_BYTES { self.json(&[Err(HeaderError::TooLong)]) } else { json };
        json.finish()
    }

    fn json(&self, found: &[Found]) -> JsonText {
        let mut json = JsonText::default();
        json.array(found, self.append);
        json
    }
}

impl Task for ReadFiles {
    type Output = Text;
    type JsValue = Text;

    fn compute(&mut self) -> Result<Text> {
        // A panic on this thread would take the process down.
        Ok(catch_unwind(|| self.text()).unwrap_or_else(|panic| panicked(&*panic)))
    }

    fn resolve(&mut self, _: Env, text: Text) -> Result<Text> {
        Ok(text)
    }
}

/// The JSON text of an array with the header of each path, `null` where there is none. Of large headers only the first: one at least.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn read_headers(paths: Vec<String>) -> AsyncTask<ReadFiles> {
    AsyncTask::new(ReadFiles { paths, read: read_header_of, append: append_header })
}

/// The header of a file, or of the session in a bundle's directory.
fn read_header_of(path: &Path) -> Found {
    match read_header_summary(path) {
        Err(HeaderError::Directory) => read_header_summary(&path.join(SESSION_LOG)),
        read => read,
    }
}

/// The JSON text of the header of a path, `null` if there is none; here and now, or nothing if that could take waiting.
#[napi(catch_unwind, ts_return_type = "string | null")]
pub fn read_header_now(path: String) -> Option<Text> {
    let header = read_header_at_once(Path::new(&path))?;
    let mut json = JsonText::default();
    json.raw(header.as_deref().unwrap_or(b"null"));
    Some(json.finish())
}

fn append_header(json: &mut JsonText, found: &Found) {
    json.raw(found.as_ref().map_or(b"null", |summary| &summary.payload));
}

/// The JSON text of an array with an element for each path: an array of the header, the file's size, and its time of modification in
/// milliseconds and in nanoseconds of the second; or a string with the reason why there is none. Of large headers only the first: one
/// at least.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn read_summaries(paths: Vec<String>) -> AsyncTask<ReadFiles> {
    AsyncTask::new(ReadFiles { paths, read: read_summary, append: append_summary })
}

fn append_summary(json: &mut JsonText, found: &Found) {
    match found {
        Ok(summary) => {
            json.syntax("[");
            json.raw(&summary.payload);
            for number in [summary.size as f64, summary.modified, f64::from(summary.nanoseconds)] {
                json.syntax(",");
                json.number(number);
            }
            json.syntax("]");
        }
        Err(error) => json.string(&error.to_string()),
    }
}
