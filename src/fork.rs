//! `forkSession`: reads the source and writes the file of the new session.

use std::path::PathBuf;

use napi::bindgen_prelude::{Function, Result, Utf16String};
use napi_derive::napi;

use super::job::{JobEnd, NativeJob, new_job};
use super::message_json::append_message;
use session_tape_core::session::format::Message;
use session_tape_core::session::record::{FileNameForm, ForkError, ForkSource, ForkTarget, fork, fork_sequence};

/// The source and the new session of a fork, validated by JavaScript.
#[napi(object, object_to_js = false)]
pub struct NativeForkOptions {
    /// The session file to fork.
    pub source: String,
    pub project_hash: Utf16String,
    pub checkpoint_id: Utf16String,
    pub chats_dir: String,
    /// Whether the name of the new file contains seconds.
    pub name_has_seconds: bool,
    pub id_prefix: Utf16String,
    /// The permissions of the new file, less the umask.
    pub mode: u32,
    /// JSON text.
    pub start_payload: String,
    pub now: f64,
    /// JSON texts of the items that the new session begins with, if they are not those of the source.
    pub contents: Option<Vec<String>>,
}

/// Creates the file of a new session. The result has `filePath` and `lastSeq`, the number of its last record; or `failed`, the step that
/// failed, and a `message` if there is one.
#[napi(catch_unwind)]
pub fn fork_session(options: NativeForkOptions, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |_| {
        let source = source_of(&options);
        let target = ForkTarget {
            chats_dir: PathBuf::from(options.chats_dir),
            file_name: if options.name_has_seconds { FileNameForm::Seconds } else { FileNameForm::Minutes },
            id_prefix: options.id_prefix.to_vec(),
            mode: options.mode,
            start_payload: options.start_payload.into_bytes(),
            milliseconds: options.now,
            contents: options.contents,
        };
        match fork(&source, &target) {
            Ok(made) => JobEnd::done_with(|json| {
                json.member("filePath", &made.path.to_string_lossy());
                json.key("lastSeq").number(made.last_seq);
            }),
            Err(error) => failed(&error),
        }
    });
    Ok(job)
}

/// Finds the checkpoint of a fork. The result has its `sequence`, or is that of a [fork](fork_session) that failed.
#[napi(catch_unwind)]
pub fn find_fork(options: NativeForkOptions, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |_| match fork_sequence(&source_of(&options)) {
        Ok(sequence) => JobEnd::done_with(|json| json.key("sequence").number(sequence)),
        Err(error) => failed(&error),
    });
    Ok(job)
}

fn source_of(options: &NativeForkOptions) -> ForkSource {
    ForkSource {
        path: PathBuf::from(&options.source),
        project_hash: options.project_hash.to_vec(),
        checkpoint_id: options.checkpoint_id.to_vec(),
    }
}

fn failed(error: &ForkError) -> JobEnd {
    let (step, message) = match error {
        ForkError::Source(error) => ("replay", Some(error.message())),
        ForkError::SequenceCorrupt => ("sequence", None),
        ForkError::Gone => ("checkpoint", None),
        ForkError::Through(error) => ("through", Some(error.message())),
        ForkError::Empty => ("history", None),
        ForkError::System(error) => ("system", Some(Message::text(error.to_string()))),
    };
    JobEnd::done_with(|json| {
        json.member("failed", step);
        if let Some(message) = message {
            append_message(json.key("message"), &message);
        }
    })
}
