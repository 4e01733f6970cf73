//! `readSessionPreview` and `readSessionTitle`: jobs that read a part of a session file. A file that can't be read has neither a
//! preview nor a title.

use std::path::Path;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::job::{JobEnd, NativeJob, new_job};
use super::json::JsonText;
use session_tape_core::bundle::SESSION_LOG;
use session_tape_core::json::Text;
use session_tape_core::lines::ReadError;
use session_tape_core::session::read::{Preview, read_title};

/// Reads the beginning of a session. The result is an object with `hasContent` and `firstUserMessage`, which has at most `length` code
/// units.
#[napi(catch_unwind)]
pub fn start_session_preview(path: String, length: f64, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
    start(path, on_ready, move |path| Preview::read(path, length as usize), append_preview)
}

/// Searches for the last title of a session. The result is the title, which is a string or null, or `false` if there is none.
#[napi(catch_unwind)]
pub fn start_session_title(path: String, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
    start(path, on_ready, read_title, |json, title| json.raw(title.as_deref().unwrap_or(b"false")))
}

/// Starts a job that reads the file, or the session in the directory of a bundle.
fn start<T: Default + 'static>(
    path: String,
    on_ready: Function<'_, (), ()>,
    read: impl Fn(&Path) -> std::result::Result<T, ReadError> + Send + 'static,
    append: fn(&mut JsonText, T),
) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |_| {
        let path = Path::new(&path);
        let found = read(path).or_else(|_| read(&path.join(SESSION_LOG))).unwrap_or_default();
        JobEnd::done(|json| append(json, found))
    });
    Ok(job)
}

fn append_preview(json: &mut JsonText, preview: Preview) {
    json.object(|json| {
        json.member("hasContent", &preview.has_content);
        match preview.first_user_message {
            Some(message) => json.key("firstUserMessage").text(Text::from_units(&message).as_json().as_bytes()),
            None => json.key("firstUserMessage").raw(b"null"),
        }
    });
}
