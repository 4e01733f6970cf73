//! The background side of a recorder: writing, flushing, failures and the end of the environment. Sessions and runs share it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use napi::bindgen_prelude::{Function, Object, Result};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, JsDeferred, Status};
use napi_derive::napi;
use parking_lot::Mutex;
use serde::Serialize;

use super::error_json::ErrorJson;
use super::json::{JsonText, finished};
use super::text::OutputText as JsonString;
use session_tape_core::lines::{AcknowledgeHook, LAST_WRITES, Shared, WriteFailure, Writer};

/// Calls JavaScript with the id of a recorder. Does not hold the process open.
type OnRecorder = ThreadsafeFunction<u32, (), u32, Status, false, true, 0>;

/// The recorders of one JavaScript environment: that of the main thread or of a worker.
#[napi]
pub struct RecorderGroup {
    on_failure: Arc<OnRecorder>,
    on_acknowledged: Arc<OnRecorder>,
    on_append: Arc<OnRecorder>,
    writers: Arc<Writers>,
}

/// The writers that may still have something to write. Those stay alive, whether or not their recorders do.
#[derive(Default)]
struct Writers {
    writers: Mutex<Vec<Weak<Shared>>>,
    /// The environment is ending.
    leaving: AtomicBool,
}

/// The writers of all environments of this process.
static ALL: Mutex<Vec<Weak<Writers>>> = Mutex::new(Vec::new());

impl Writers {
    fn new() -> Arc<Self> {
        let writers = Arc::<Self>::default();
        let mut all = ALL.lock();
        all.retain(|writers| writers.strong_count() > 0);
        all.push(Arc::downgrade(&writers));
        writers
    }

    fn add(&self, writer: &Arc<Shared>) {
        if self.leaving.load(Ordering::Relaxed) {
            writer.leave();
        }
        let mut writers = self.writers.lock();
        // Dropped writers are removed only when the list would have to grow, so that it costs little for each of many recorders.
        if writers.len() == writers.capacity() {
            writers.retain(|writer| writer.strong_count() > 0);
        }
        writers.push(Arc::downgrade(writer));
    }

    fn drain(&self) {
        self.begin_to_end();
        let deadline = Instant::now() + LAST_WRITES;
        for writer in self.living() {
            writer.drain(deadline);
        }
    }

    /// Like [`drain`](Self::drain), at the beginning of the end: more may be queued, and is written at once.
    fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        self.drain();
        self.living().iter().for_each(Shared::leave);
    }

    /// Nothing more will be queued, so the files are also closed and unlocked, before `terminate()` of a worker resolves.
    fn end(&self) {
        self.begin_to_end();
        let deadline = Instant::now() + LAST_WRITES;
        for writer in self.living() {
            writer.end(deadline);
        }
    }

    fn begin_to_end(&self) {
        self.living().iter().for_each(|writer| writer.begin_to_end());
    }

    fn living(&self) -> Vec<Arc<Shared>> {
        self.writers.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

#[napi]
impl RecorderGroup {
    /// `on_failure` is called with the id of a recorder that failed, `on_acknowledged` with that of one whose acknowledgement was asked for, `on_append`
    /// with that of one for which JavaScript is to append something.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        on_failure: Function<'_, u32, ()>,
        on_acknowledged: Function<'_, u32, ()>,
        on_append: Function<'_, u32, ()>,
    ) -> Result<Self> {
        let callable = |function: Function<'_, u32, ()>| -> Result<Arc<OnRecorder>> {
            let builder = function.build_threadsafe_function::<u32>().callee_handled::<false>().weak::<true>();
            Ok(Arc::new(builder.build()?))
        };
        let (on_failure, on_acknowledged) = (callable(on_failure)?, callable(on_acknowledged)?);
        let on_append = callable(on_append)?;
        let writers = Writers::new();
        // Runs when the process or the worker ends by itself or is terminated. `process.exit` does not run it: then JavaScript
        // has called `leave`.
        env.add_env_cleanup_hook(writers.clone(), |writers| writers.end())?;
        Ok(RecorderGroup { on_failure, on_acknowledged, on_append, writers })
    }

    /// Waits until everything is written, but no longer than two seconds. From then on, recording waits in the same way.
    #[napi(catch_unwind)]
    pub fn leave(&self) {
        self.writers.leave();
    }
}

/// Waits until all recorders of this process have written everything, but no longer than two seconds.
#[napi(catch_unwind)]
pub fn drain_all_recorders() {
    let all: Vec<_> = ALL.lock().iter().filter_map(Weak::upgrade).collect();
    all.iter().for_each(|writers| writers.begin_to_end());
    let deadline = Instant::now() + LAST_WRITES;
    for writer in all.iter().flat_map(|writers| writers.living()) {
        writer.drain(deadline);
    }
}

/// Receives the failure of a writer.
#[derive(Clone)]
pub struct FailureSlot {
    failure: Arc<OnceLock<WriteFailure>>,
    on_failure: Arc<OnRecorder>,
    id: u32,
}

impl FailureSlot {
    /// Stores the failure and notifies JavaScript.
    pub fn put(&self, failure: &WriteFailure) {
        let _ = self.failure.set(failure.clone());
        let _ = self.on_failure.call(self.id, ThreadsafeFunctionCallMode::NonBlocking);
    }
}

impl RecorderGroup {
    /// The slot for the failure of the recorder with this id.
    pub fn failure_slot(&self, id: u32) -> FailureSlot {
        FailureSlot { failure: Arc::default(), on_failure: self.on_failure.clone(), id }
    }

    /// The hook for the acknowledgements of the recorder with this id.
    pub fn acknowledgement(&self, id: u32) -> AcknowledgeHook {
        let on_acknowledged = self.on_acknowledged.clone();
        Arc::new(move || {
            let _ = on_acknowledged.call(id, ThreadsafeFunctionCallMode::NonBlocking);
        })
    }

    /// Wakes JavaScript to append something for the recorder with this id.
    pub fn append_wake(&self, id: u32) -> impl Fn() + Send + Sync + use<> {
        let on_append = self.on_append.clone();
        move || {
            let _ = on_append.call(id, ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// Adds a writer, whose failure goes to `slot`, to this group.
    pub fn add(&self, writer: &Writer, slot: FailureSlot) -> NativeWriting {
        self.writers.add(writer.shared());
        NativeWriting { writer: writer.clone(), failure: slot.failure, told: false }
    }
}

/// The writing of one recorder.
#[napi]
pub struct NativeWriting {
    writer: Writer,
    failure: Arc<OnceLock<WriteFailure>>,
    told: bool,
}

#[napi]
impl NativeWriting {
    /// Number of lines that were queued or refused so far. Returns null if a flush has neither anything to wait for nor a failure
    /// to report.
    #[napi(catch_unwind)]
    pub fn unflushed(&self) -> Option<f64> {
        self.writer.unflushed().map(|queued| queued as f64)
    }

    /// Resolves when everything that was queued is in the file, or never will be: see [`failure`](Self::failure).
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn flush<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = deferred(env)?;
        self.writer.flush(Box::new(move |_| deferred.resolve(Box::new(|_| Ok(())))));
        Ok(promise)
    }

    /// The failure that ended the writing, as JSON text.
    #[napi(catch_unwind)]
    pub fn failure(&self) -> Option<JsonString> {
        self.failure.get().map(failure_json)
    }

    /// The same, but only for the first call.
    #[napi(catch_unwind)]
    pub fn take_failure(&mut self) -> Option<JsonString> {
        let failure = self.failure().filter(|_| !self.told);
        self.told |= failure.is_some();
        failure
    }
}

type Resolver = Box<dyn FnOnce(Env) -> Result<()> + Send>;

/// A promise without a value, which any thread can resolve.
pub fn deferred(env: &Env) -> Result<(JsDeferred<(), Resolver>, Object<'_>)> {
    env.create_deferred()
}

/// A failure for JavaScript: the error, and which flushes it affects.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailureJson<'f> {
    #[serde(flatten)]
    error: ErrorJson<'f>,
    kept: u64,
    is_environmental: bool,
}

fn failure_json(failure: &WriteFailure) -> JsonString {
    let (error, kept) = (failure.into(), failure.kept);
    finished(JsonText::of_value(&FailureJson { error, kept, is_environmental: failure.is_environmental() }))
}
