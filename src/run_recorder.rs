//! `RunRecorder`: the part of a run's recorder that runs on the JavaScript thread.

use std::path::PathBuf;

use napi::bindgen_prelude::{Either, Object, Result, Uint8Array, Utf16String};
use napi::{Env, JsDeferred};
use napi_derive::napi;

use super::error_json::ErrorJson;
use super::json::{JsonText, finished};
use super::text::{JsText, OutputText as JsonString};
use super::writing::{NativeWriting, RecorderGroup, deferred};
use session_tape_core::disk::Durability;
use session_tape_core::hash::as_text;
use session_tape_core::json::{Field, Nesting, Text};
use session_tape_core::run::record::{EventInput, RecordError, RunRecorder, RunRecorderConfig, WrittenSnapshot};
use session_tape_core::run::{Kind, Scheduler};
use session_tape_core::signature::SigningKey;

/// The kinds of events. Their indices are the numbers that `append` takes.
#[napi(catch_unwind)]
pub fn run_event_kinds() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.as_str()).collect()
}

/// The configuration of a recorder, validated by JavaScript.
#[napi(object, object_to_js = false)]
pub struct NativeRunRecorderConfig {
    pub id: u32,
    pub directory: String,
    pub run_id: Utf16String,
    /// JSON text.
    pub workflow: String,
    pub scheduler: String,
    /// A JSON array of strings.
    pub capabilities: Option<String>,
    pub resume: bool,
    /// The permissions of a new log, less the umask.
    pub mode: u32,
    pub fsync: bool,
    /// The owner, as JSON text, for the lock file.
    pub owner: String,
    pub now: f64,
}

/// Opens the run that is described by `config`. Returns its recorder, or an error as JSON text.
#[napi(catch_unwind)]
pub fn open_run_recorder(
    group: &RecorderGroup,
    config: NativeRunRecorderConfig,
) -> Either<NativeRunRecorder, JsonString> {
    let slot = group.failure_slot(config.id);
    let tell = slot.clone();
    match open(&config, move |failure| tell.put(failure)) {
        Ok(recorder) => {
            let writing = Some(group.add(recorder.writer(), slot));
            Either::A(NativeRunRecorder { recorder, writing, refusal: None })
        }
        Err(error) => Either::B(error_json(&error)),
    }
}

fn open(
    config: &NativeRunRecorderConfig,
    on_failure: impl Fn(&session_tape_core::lines::WriteFailure) + Send + Sync + 'static,
) -> std::result::Result<RunRecorder, RecordError> {
    let capabilities = config.capabilities.as_deref().map(|json| {
        // JavaScript has checked that they are strings that are not empty.
        Field::of("capabilities", json).ids(&mut Nesting::default()).unwrap_or_default()
    });
    let core = RunRecorderConfig {
        directory: PathBuf::from(&config.directory),
        run_id: Text::from_units(&config.run_id),
        workflow: &config.workflow,
        scheduler: Scheduler::parse(&config.scheduler).unwrap_or(Scheduler::External),
        capabilities,
        resume: config.resume,
        mode: config.mode,
        durability: if config.fsync { Durability::Fsync } else { Durability::Os },
        owner: config.owner.clone(),
    };
    RunRecorder::open(&core, config.now, on_failure)
}

/// The recorder of one run.
#[napi]
pub struct NativeRunRecorder {
    recorder: RunRecorder,
    writing: Option<NativeWriting>,
    refusal: Option<RecordError>,
}

#[napi]
impl NativeRunRecorder {
    /// The writing of the recorder. Can be taken once.
    #[napi(catch_unwind)]
    pub fn take_writing(&mut self) -> Option<NativeWriting> {
        self.writing.take()
    }

    /// Records an event, whose kind is passed by its number. Returns its logical time, or null if it was refused: see
    /// [`take_refusal`](Self::take_refusal).
    #[napi(catch_unwind)]
    pub fn append(
        &mut self,
        kind: u32,
        node: Option<Utf16String>,
        parent: Option<String>,
        payload: JsText,
        now: f64,
    ) -> Result<Option<f64>> {
        let Some(&kind) = Kind::ALL.get(kind as usize) else { return Ok(None) };
        let node = node.map(|node| Text::from_units(&node));
        let input = EventInput { kind, node, parent: parent.as_deref() };
        match self.recorder.append(&input, payload, now)? {
            Ok(time) => Ok(Some(time as f64)),
            Err(refusal) => {
                self.refusal = Some(refusal);
                Ok(None)
            }
        }
    }

    /// The error for the last event or blob that was refused, as JSON text. Can be taken once.
    #[napi(catch_unwind)]
    pub fn take_refusal(&mut self) -> Option<JsonString> {
        self.refusal.take().map(|refusal| error_json(&refusal))
    }

    /// The error for an event of an unknown kind, as JSON text.
    #[napi(catch_unwind)]
    pub fn unknown_kind(&self, kind: String) -> JsonString {
        error_json(&Kind::unknown(&kind).at(self.recorder.next_time()).into())
    }

    /// Stores a blob. Returns its hash, or null if that failed: see [`take_refusal`](Self::take_refusal).
    #[napi(catch_unwind)]
    pub fn put_blob(&mut self, data: Either<Uint8Array, String>) -> Option<String> {
        let stored = match &data {
            Either::A(bytes) => self.recorder.put_blob(bytes),
            Either::B(text) => self.recorder.put_blob(text.as_bytes()),
        };
        match stored {
            Ok(hash) => Some(as_text(&hash).to_owned()),
            Err(refusal) => {
                self.refusal = Some(refusal);
                None
            }
        }
    }

    /// Takes a snapshot, signed with a PEM key if one is given. Resolves to a description of the snapshot, or an error, as JSON
    /// text.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn snapshot<'env>(&self, env: &'env Env, sign_with: Option<String>) -> Result<Object<'env>> {
        let (deferred, promise): (JsDeferred<JsonString, Resolver>, _) = env.create_deferred()?;
        let answer = move |written| deferred.resolve(Box::new(move |_| Ok(snapshot_json(&written))) as Resolver);
        match sign_with.as_deref().map(SigningKey::from_pem).transpose() {
            Ok(key) => self.recorder.snapshot(key, answer),
            Err(error) => answer(Err(error.into())),
        }
        Ok(promise)
    }

    /// The state, as JSON text.
    #[napi(catch_unwind)]
    pub fn state(&self) -> JsonString {
        finished(self.recorder.run_state())
    }

    /// Accepts no more events. Resolves when everything is written and the log is closed and unlocked.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn dispose<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = deferred(env)?;
        self.recorder.dispose(move || deferred.resolve(Box::new(|_| Ok(()))));
        Ok(promise)
    }

    /// Whether events are accepted and written.
    #[napi(catch_unwind)]
    pub fn is_active(&self) -> bool {
        self.recorder.is_active()
    }

    /// Number of events that were accepted but are not in the log, including those accepted after the writer had failed.
    #[napi(catch_unwind)]
    pub fn missing(&self) -> f64 {
        self.recorder.missing() as f64
    }

    /// The path of the log.
    #[napi(catch_unwind)]
    pub fn path(&self) -> String {
        self.recorder.log().to_string_lossy().into_owned()
    }

    /// The error of the lock, as JSON text, if the file system has none and the run is recorded without a lock.
    #[napi(catch_unwind)]
    pub fn unlocked(&self) -> Option<JsonString> {
        self.recorder.unlocked().map(|error| error_json(&error.clone().into()))
    }

    /// Size, in bytes, of the torn line that was cut off when the log was resumed.
    #[napi(catch_unwind)]
    pub fn torn_bytes(&self) -> f64 {
        self.recorder.torn_bytes() as f64
    }
}

type Resolver = Box<dyn FnOnce(Env) -> Result<JsonString> + Send>;

fn snapshot_json(written: &std::result::Result<WrittenSnapshot, RecordError>) -> JsonString {
    finished(JsonText::of_object(|json| match written {
        Ok(WrittenSnapshot { id, logical_time, state_hash, content_hash }) => {
            json.member("snapshotId", id);
            json.member("logicalTime", logical_time);
            json.member("stateHash", as_text(state_hash));
            json.member("contentHash", as_text(content_hash));
        }
        Err(error) => json.member("error", &ErrorJson::from(error)),
    }))
}

fn error_json(error: &RecordError) -> JsonString {
    finished(JsonText::of_value(&ErrorJson::from(error)))
}
