//! `SessionRecordingService`: a recorder, and what of it must happen on the JavaScript thread.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Function, Object, Result, Utf16String};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, JsDeferred, Status};
use napi_derive::napi;

use super::text::JsText;
use crate::jsonl::writer::{Durability, Shared, WriteError, WriteFailure};
use crate::session::event::EventType;
use crate::session::recorder::{Record, Recorder, RecorderConfig};

/// How long the end of an environment waits for its recorders (`session.md` section 3, rule 9).
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Does not hold the process open.
type OnFailure = ThreadsafeFunction<u32, (), u32, Status, false, true, 0>;

/// The recorders of one JavaScript environment, the main thread's or a worker's.
#[napi]
pub struct RecorderGroup {
    on_failure: Arc<OnFailure>,
    writers: Arc<Writers>,
}

/// The writers that may have something to write. Those that have live on, whether or not their recorder does.
#[derive(Default)]
struct Writers(Mutex<Vec<Weak<Shared>>>);

impl Writers {
    fn add(&self, writer: &Arc<Shared>) {
        let mut writers = self.lock();
        // Looks for the dead only when the list would grow, so that many recorders in turn cost little each.
        if writers.len() == writers.capacity() {
            writers.retain(|writer| writer.strong_count() > 0);
        }
        writers.push(Arc::downgrade(writer));
    }

    fn drain(&self) {
        let deadline = Instant::now() + LAST_WRITES;
        let writers: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        for writer in writers {
            writer.drain(deadline);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Shared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[napi]
impl RecorderGroup {
    /// `on_failure` is told the id of a recorder that failed.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, on_failure: Function<'_, u32, ()>) -> Result<Self> {
        let on_failure =
            on_failure.build_threadsafe_function::<u32>().callee_handled::<false>().weak::<true>().build()?;
        let writers = Arc::new(Writers::default());
        // Runs when the process or the worker ends, however that comes about, short of a signal.
        env.add_env_cleanup_hook(writers.clone(), |writers| writers.drain())?;
        Ok(RecorderGroup { on_failure: Arc::new(on_failure), writers })
    }

    /// Waits until everything is written, for two seconds at most.
    #[napi(catch_unwind)]
    pub fn drain(&self) {
        self.writers.drain();
    }
}

/// What a recorder is made for; checked on the JavaScript side.
#[napi(object, object_to_js = false)]
pub struct NativeRecorderConfig {
    pub id: u32,
    pub chats_dir: String,
    pub short_id: Utf16String,
    pub fsync: bool,
    /// To have the file for itself: who others are told has it, as JSON text.
    pub exclusive_owner: Option<String>,
    /// JSON text.
    pub start_payload: String,
    pub now: f64,
}

/// The recorder of one session.
#[napi]
pub struct NativeRecorder {
    recorder: Recorder,
    failure: Arc<OnceLock<WriteFailure>>,
    told: bool,
}

/// The types that are recorded most, by number: their names need not cross over.
const KNOWN_TYPES: [EventType; 6] = [
    EventType::Content,
    EventType::Compressed,
    EventType::Rewind,
    EventType::ProviderSwitch,
    EventType::SessionEvent,
    EventType::DirectoriesChanged,
];

#[napi]
impl NativeRecorder {
    /// A recorder of `group` that has touched nothing yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(group: &RecorderGroup, config: NativeRecorderConfig) -> Self {
        let failure = Arc::new(OnceLock::new());
        let (slot, on_failure, id) = (failure.clone(), group.on_failure.clone(), config.id);
        let durability = if config.fsync { Durability::Fsync } else { Durability::Os };
        let recorder_config = RecorderConfig {
            chats_dir: PathBuf::from(config.chats_dir),
            short_id: config.short_id.to_vec(),
            durability,
            exclusive_owner: config.exclusive_owner,
        };
        let tell = move |failure: &WriteFailure| {
            let _ = slot.set(failure.clone());
            let _ = on_failure.call(id, ThreadsafeFunctionCallMode::NonBlocking);
        };
        let recorder = Recorder::new(recorder_config, config.start_payload.as_bytes(), config.now, tell);
        group.writers.add(recorder.writer().shared());
        NativeRecorder { recorder, failure, told: false }
    }

    /// Records an event of a known type, given by its number. False if the recorder is inactive.
    #[napi(catch_unwind)]
    pub fn record(&self, known_type: u32, payload: Option<JsText>, now: f64) -> Result<bool> {
        let Some(event_type) = KNOWN_TYPES.get(known_type as usize) else { return Ok(false) };
        let is_content = *event_type == EventType::Content;
        let type_json = event_type.as_json().as_bytes();
        self.recorder.record(Record { type_json, milliseconds: now, is_content, payload })
    }

    /// Records an event of any type, given as JSON text.
    #[napi(catch_unwind)]
    pub fn record_other(&self, type_json: String, payload: Option<JsText>, now: f64) -> Result<bool> {
        let type_json = type_json.as_bytes();
        self.recorder.record(Record { type_json, milliseconds: now, is_content: false, payload })
    }

    /// How many records were queued so far, if there is anything for a flush to wait for.
    #[napi(catch_unwind)]
    pub fn unflushed(&self) -> Option<f64> {
        self.recorder.writer().unflushed().map(|queued| queued as f64)
    }

    /// Resolves when all that was recorded is in the file, or when it never will be: see [`failure`](Self::failure).
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn flush<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = deferred(env)?;
        self.recorder.writer().flush(Box::new(move |_| deferred.resolve(Box::new(|_| Ok(())))));
        Ok(promise)
    }

    /// Goes on with the session in `path`. False if that can't be done.
    #[napi(catch_unwind)]
    pub fn resume(&self, path: String, last_seq: f64) -> bool {
        self.recorder.resume(PathBuf::from(path), last_seq)
    }

    /// Takes no more events. Resolves when all is written and the file is let go of.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn dispose<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = deferred(env)?;
        self.recorder.dispose(move || deferred.resolve(Box::new(|_| Ok(()))));
        Ok(promise)
    }

    /// Whether events are taken.
    #[napi(catch_unwind)]
    pub fn is_active(&self) -> bool {
        self.recorder.is_active()
    }

    /// The session's file, once there is one.
    #[napi(catch_unwind)]
    pub fn path(&self) -> Option<String> {
        self.recorder.path().map(|path| path.to_string_lossy().into_owned())
    }

    /// Records that are not in the file yet.
    #[napi(catch_unwind)]
    pub fn pending_records(&self) -> f64 {
        self.recorder.pending().0 as f64
    }

    /// Bytes that are not in the file yet.
    #[napi(catch_unwind)]
    pub fn pending_bytes(&self) -> f64 {
        self.recorder.pending().1 as f64
    }

    /// The failure that ended the recording, as JSON text.
    #[napi(catch_unwind)]
    pub fn failure(&self) -> Option<String> {
        self.failure.get().map(failure_json)
    }

    /// The same, to whoever asks first.
    #[napi(catch_unwind)]
    pub fn take_failure(&mut self) -> Option<String> {
        let failure = self.failure().filter(|_| !self.told);
        self.told |= failure.is_some();
        failure
    }
}

type Resolver = Box<dyn FnOnce(Env) -> Result<()> + Send>;

/// A promise of nothing, that any thread can resolve.
fn deferred(env: &Env) -> Result<(JsDeferred<(), Resolver>, Object<'_>)> {
    env.create_deferred()
}

fn failure_json(failure: &WriteFailure) -> String {
    let (system, owner) = match &failure.error {
        WriteError::System(error) => (Some(error), None),
        WriteError::Locked { owner } => (None, Some(owner)),
    };
    let path = failure.path.as_ref().or(system.and_then(|error| error.path.as_ref()));
    serde_json::json!({
        "code": failure.error.code(),
        "errno": system.map(|error| error.errno),
        "syscall": system.map(|error| error.syscall),
        "message": failure.error.to_string(),
        "path": path.map(|path| path.to_string_lossy()),
        "dropped": failure.dropped,
        "kept": failure.kept,
        "isEnvironmental": failure.is_environmental(),
        "owner": owner,
    })
    .to_string()
}
