//! `readSessionHeader`, off the JavaScript thread.

use std::path::Path;

use napi::bindgen_prelude::{AsyncTask, Result};
use napi::{Env, Task};
use napi_derive::napi;

use super::json::JsonText;
use super::text::Text;
use crate::session::header::read_header;

/// Reads headers on Node's own thread pool.
pub struct ReadHeaders {
    paths: Vec<String>,
}

impl Task for ReadHeaders {
    type Output = Text;
    type JsValue = Text;

    fn compute(&mut self) -> Result<Text> {
        let mut json = JsonText::default();
        json.array(&self.paths, |json, path| {
            // A panic would take the process down here; what can't be read has no header.
            let header = std::panic::catch_unwind(|| read_header(Path::new(path))).ok().flatten();
            json.raw(header.as_deref().unwrap_or(b"null"));
        });
        Ok(json.finish())
    }

    fn resolve(&mut self, _: Env, headers: Text) -> Result<Text> {
        Ok(headers)
    }
}

/// The JSON text of an array with the header of each path, `null` where there is none.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn read_headers(paths: Vec<String>) -> AsyncTask<ReadHeaders> {
    AsyncTask::new(ReadHeaders { paths })
}
