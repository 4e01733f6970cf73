//! `SessionRecordingService`: the part of a session recorder that runs on the JavaScript thread.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use napi::Env;
use napi::bindgen_prelude::{Error, Float64Array, Function, FunctionCallContext, Object, Result, Utf16String};
use napi_derive::napi;
use parking_lot::Mutex;

use super::seam::{NativeAppend, SeamSlot, Seamed};
use super::text::{JsText, OutputText};
use super::writing::{NativeWriting, RecorderGroup, deferred};
use session_tape_core::disk::Durability;
use session_tape_core::json::Payload;
use session_tape_core::lines::WriteError;
use session_tape_core::session::format::EventType;
use session_tape_core::session::record::{
    FileNameForm, HistoryError, ItemHash, Prepared, Record, Recorded, Recorder, RecorderConfig, Watched,
};
use session_tape_core::task::background::spawn_thread;

/// The configuration of a recorder, validated by JavaScript.
#[napi(object, object_to_js = false)]
pub struct NativeRecorderConfig {
    pub id: u32,
    pub chats_dir: String,
    /// Whether the name of the file contains seconds.
    pub name_has_seconds: bool,
    pub id_prefix: Utf16String,
    /// The permissions of a new file, less the umask.
    pub mode: u32,
    pub fsync: bool,
    /// Whether JavaScript appends.
    pub has_seam: bool,
    /// The owner, as JSON text, for the lock file. `None` if the session is recorded without a lock.
    pub exclusive_owner: Option<String>,
    /// JSON text.
    pub start_payload: String,
    pub now: f64,
}

/// What to record so that a replay gives another history: a rewind, then replacements, then the items from an index on.
#[napi(object, object_from_js = false)]
pub struct NativeTail {
    /// Number of items to rewind.
    pub removed: u32,
    /// The key of the first of them, if the rewind can name it.
    pub cut: Option<f64>,
    /// The indices of the items that are replaced, and their keys.
    pub replaced: Vec<u32>,
    pub keys: Vec<f64>,
    /// Index of the first item to append.
    pub appended_from: u32,
}

/// The history of a recorder's file.
#[napi(object, object_from_js = false)]
pub struct NativeHistory {
    /// The joined hashes of its items.
    pub hashes: String,
    /// For each item the number of the record whose content it is; NaN if this recorder has not recorded it as that.
    pub seqs: Float64Array,
}

/// The hash of an item that is given as JSON text: 32 ASCII characters.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn hash_item(item: JsText) -> Result<OutputText> {
    let mut text = Vec::with_capacity(item.size());
    item.append_to(&mut text)?;
    Ok(OutputText::Latin1(ItemHash::to_text([ItemHash::of(&text)]).into_bytes()))
}

/// The recorders of all environments of this process. Dropped ones are removed when the list would have to grow.
static ALL: Mutex<Vec<Weak<Recorder>>> = Mutex::new(Vec::new());

/// The files that recorders of this process, in whatever thread, may still write to.
#[napi(catch_unwind)]
pub fn recorded_files() -> Vec<String> {
    let all: Vec<_> = ALL.lock().iter().filter_map(Weak::upgrade).collect();
    let open = all.iter().filter(|recorder| recorder.is_active() || recorder.pending().0 > 0);
    open.filter_map(|recorder| Some(recorder.path()?.to_string_lossy().into_owned())).collect()
}

fn add_to_all(recorder: &Arc<Recorder>) {
    let mut all = ALL.lock();
    if all.len() == all.capacity() {
        all.retain(|recorder| recorder.strong_count() > 0);
    }
    all.push(Arc::downgrade(recorder));
}

/// The recorder of one session.
#[napi]
pub struct NativeRecorder {
    recorder: Arc<Recorder>,
    writing: Option<NativeWriting>,
    seamed: Seamed,
}

/// Items that are serialised, to be recorded together.
#[napi]
pub struct NativeBatch {
    prepared: Option<Prepared>,
}

/// The most frequent types by index, so that JavaScript need not pass their names.
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
    /// A recorder that belongs to `group`. Does no I/O before the first event.
    #[napi(constructor, catch_unwind)]
    pub fn new(group: &RecorderGroup, config: NativeRecorderConfig) -> Self {
        let slot = group.failure_slot(config.id);
        let durability = if config.fsync { Durability::Fsync } else { Durability::Os };
        let recorder_config = RecorderConfig {
            chats_dir: PathBuf::from(config.chats_dir),
            file_name: if config.name_has_seconds { FileNameForm::Seconds } else { FileNameForm::Minutes },
            id_prefix: config.id_prefix.to_vec(),
            mode: config.mode,
            durability,
            exclusive_owner: config.exclusive_owner,
        };
        let tell = slot.clone();
        let on_failure = move |failure: &_| tell.put(failure);
        let recorder = Recorder::new(recorder_config, config.start_payload.as_bytes(), config.now, on_failure);
        recorder.writer().acknowledge_with(group.acknowledgement(config.id));
        let mut seamed = Seamed::default();
        if config.has_seam {
            let (slot, wake) = (Arc::<SeamSlot>::default(), group.append_wake(config.id));
            seamed.slot = Some(slot.clone());
            recorder.writer().append_through(Arc::new(move |path, bytes| slot.append(path, bytes, &wake)));
        }
        let writing = Some(group.add(recorder.writer(), slot));
        let recorder = Arc::new(recorder);
        add_to_all(&recorder);
        let ending = Arc::downgrade(&recorder);
        recorder.writer().before_the_end(move || {
            if let Some(recorder) = ending.upgrade() {
                recorder.abort_streams();
            }
        });
        NativeRecorder { recorder, writing, seamed }
    }

    /// The writing of the recorder. Can be taken once.
    #[napi(catch_unwind)]
    pub fn take_writing(&mut self) -> Option<NativeWriting> {
        self.writing.take()
    }

    /// Returns the function that records an event of a known type, given the type's index, the payload's JSON text and the time.
    /// That function returns the record's number, negative if its line has version 2, or NaN if the recorder is inactive. It is called for every
    /// event, and calling a method of a class instead would take one and a half times as long.
    #[napi(catch_unwind, ts_return_type = "(type: number, payload: string | undefined, now: number) => number")]
    pub fn recording<'env>(&self, env: &'env Env) -> Result<Function<'env, (), f64>> {
        let recorder = self.recorder.clone();
        env.create_function_from_closure("record", move |context| record_known(&recorder, &context))
    }

    /// Records an event of any type, which is passed as JSON text. Returns the same as the function of
    /// [`recording`](Self::recording).
    #[napi(catch_unwind)]
    pub fn record_other(&self, type_json: String, payload: Option<JsText>, now: f64) -> Result<f64> {
        let record = Record { type_json: type_json.as_bytes(), milliseconds: now, payload };
        Ok(told(self.recorder.record(record)?))
    }

    /// Gives the `session_start` that waits for the file another payload.
    #[napi(catch_unwind)]
    pub fn set_start(&self, payload: JsText, now: f64) -> Result<()> {
        self.recorder.set_start(now, payload)
    }

    /// Serialises `content` records, whose payloads are passed as JSON texts.
    #[napi(catch_unwind)]
    pub fn prepare(&self, payloads: Vec<JsText>, now: f64) -> Result<NativeBatch> {
        Ok(NativeBatch { prepared: Some(self.recorder.prepare(payloads, now)?) })
    }

    /// The number of bytes that are pending, and that of the records of a batch.
    #[napi(catch_unwind)]
    pub fn weigh(&self, batch: &NativeBatch) -> Vec<f64> {
        let weigh = |prepared| self.recorder.weigh(prepared);
        let (pending, added) = batch.prepared.as_ref().map(weigh).unwrap_or_default();
        vec![pending as f64, added as f64]
    }

    /// Records a batch, and creates the file. If `is_open`, it can be rolled back until something else is recorded. Returns the same as
    /// [`record_other`](Self::record_other), for the last of its records.
    #[napi(catch_unwind)]
    pub fn record_prepared(&self, batch: &mut NativeBatch, now: f64, is_open: bool) -> f64 {
        let recorded = batch.prepared.take().and_then(|prepared| self.recorder.record_prepared(prepared, now, is_open));
        told(recorded)
    }

    /// The batch that ends with the record `last` can no longer be rolled back.
    #[napi(catch_unwind)]
    pub fn finalize(&self, last: f64) {
        self.recorder.finalize(last);
    }

    /// Takes the batch back that ends with the record `last`. Returns null if that is done, or why it can't be.
    #[napi(catch_unwind)]
    pub fn roll_back(&self, last: f64) -> Option<String> {
        match self.recorder.roll_back(last) {
            Ok(true) => None,
            Ok(false) => Some("another record was recorded after it".to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Begins a record whose payload follows in parts, as soon as those before it have ended. Returns its number; null if the recorder is inactive.
    #[napi(catch_unwind)]
    pub fn begin_stream(&self, type_json: String, now: f64) -> Option<f64> {
        self.recorder.begin_stream(type_json.as_bytes(), now)
    }

    /// Writes the next part of the payload. Resolves when that is done, or the recording has failed.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn write_part<'env>(&self, env: &'env Env, text: JsText, is_last: bool) -> Result<Object<'env>> {
        let (deferred, promise) = deferred(env)?;
        let part = self.recorder.part(text, is_last)?;
        let recorder = self.recorder.clone();
        let done = Arc::new(Mutex::new(Some((part, deferred))));
        let work = move || {
            if let Some((part, deferred)) = done.lock().take() {
                recorder.write_part(part, is_last);
                deferred.resolve(Box::new(|_| Ok(())));
            }
        };
        let here = work.clone();
        if !spawn_thread(work) {
            here();
        }
        Ok(promise)
    }

    /// The last part is written. Returns false if the recording has ended before.
    #[napi(catch_unwind)]
    pub fn end_stream(&self) -> bool {
        self.recorder.end_stream()
    }

    /// Removes what was written of the record.
    #[napi(catch_unwind)]
    pub fn abort_stream(&self) {
        self.recorder.abort_stream();
    }

    /// What JavaScript is to append next.
    #[napi(catch_unwind)]
    pub fn take_append(&mut self) -> Option<NativeAppend> {
        let (append, answer) = self.seamed.slot.as_ref()?.take()?;
        self.seamed.answer = Some(Box::new(answer));
        Some(append)
    }

    /// That is done, or has failed with the error of this number, 0 if it has none.
    #[napi(catch_unwind)]
    pub fn answer_append(&mut self, errno: Option<i32>) {
        if let Some(answer) = self.seamed.answer.take() {
            answer(errno);
        }
    }

    /// The number of the last record.
    #[napi(catch_unwind)]
    pub fn last_number(&self) -> f64 {
        self.recorder.last_number()
    }

    /// The number that the records of the file follow: the last one that was in it before.
    #[napi(catch_unwind)]
    pub fn followed_number(&self) -> f64 {
        self.recorder.followed_number()
    }

    /// Resumes the session in the file at `path`. Returns the number that its further records follow; null if that fails.
    #[napi(catch_unwind)]
    pub fn resume(&self, path: String, last_seq: f64) -> Option<f64> {
        self.recorder.resume(PathBuf::from(path), last_seq).then(|| self.recorder.followed_number())
    }

    /// Ends recording at once, because this lock of the session is no longer the recorder's.
    #[napi(catch_unwind)]
    pub fn lose_lock(&self, lock: String) {
        self.recorder.abandon(WriteError::LockLost { lock: PathBuf::from(lock) });
    }

    /// Accepts no more events. Resolves when everything is written and the file is closed and unlocked.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn dispose<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = deferred(env)?;
        self.recorder.dispose(move || deferred.resolve(Box::new(|_| Ok(()))));
        Ok(promise)
    }

    /// Whether events are accepted.
    #[napi(catch_unwind)]
    pub fn is_active(&self) -> bool {
        self.recorder.is_active()
    }

    /// The path of the session's file, once it exists.
    #[napi(catch_unwind)]
    pub fn path(&self) -> Option<String> {
        self.recorder.path().map(|path| path.to_string_lossy().into_owned())
    }

    /// Number of records that are not in the file, including those that were refused because writing had failed.
    #[napi(catch_unwind)]
    pub fn missing(&self) -> f64 {
        self.recorder.missing() as f64
    }

    /// Records an event whose acknowledgement will be watched, and creates the file: the caller must call [`watch`](Self::watch) in this turn. Returns the
    /// record's number, NaN if the recorder is inactive, or null if the queue has no room for it.
    #[napi(catch_unwind)]
    pub fn record_watched(
        &self,
        type_json: String,
        payload: Option<JsText>,
        now: f64,
        max_bytes: f64,
    ) -> Result<Option<f64>> {
        let record = Record { type_json: type_json.as_bytes(), milliseconds: now, payload };
        Ok(match self.recorder.record_watched(record, max_bytes)? {
            Watched::Recorded(number) => Some(number),
            Watched::Inactive => Some(f64::NAN),
            Watched::NoRoom => None,
        })
    }

    /// Creates the file if there is none, with what waits for it.
    #[napi(catch_unwind)]
    pub fn ensure_file(&self, now: f64) {
        self.recorder.ensure_file(now);
    }

    /// Asks for one acknowledgement of what is recorded. Returns true if everything that is queued is acknowledged already; then the next batch
    /// is acknowledged.
    #[napi(catch_unwind)]
    pub fn watch(&self) -> bool {
        self.recorder.writer().watch()
    }

    /// Asks for an acknowledgement of each batch from now on.
    #[napi(catch_unwind)]
    pub fn observe(&self) {
        self.recorder.writer().observe();
    }

    /// Whether a record of the file, or one that waits for its creation, has this number.
    #[napi(catch_unwind)]
    pub fn has_recorded(&self, seq: f64) -> bool {
        self.recorder.has_recorded(seq)
    }

    /// The offset at which a record's line ended when it was written; NaN before it is acknowledged.
    #[napi(catch_unwind)]
    pub fn line_end(&self, seq: f64) -> f64 {
        self.recorder.line_end(seq).map_or(f64::NAN, |end| end as f64)
    }

    /// The number of the last record of the file that is acknowledged; NaN if none is.
    #[napi(catch_unwind)]
    pub fn acknowledged(&self) -> f64 {
        self.recorder.acknowledged().unwrap_or(f64::NAN)
    }

    /// What to record so that a replay of the file gives the items with these hashes. Throws if the file can't be replayed.
    #[napi(catch_unwind)]
    pub fn tail_to(&self, hashes: String) -> Result<NativeTail> {
        let tail = self.recorder.tail_to(&ItemHash::of_text(&hashes)).map_err(|error| history_error(&error))?;
        let (replaced, keys) = tail.replaced.iter().map(|(index, key)| (*index as u32, *key as f64)).unzip();
        Ok(NativeTail {
            removed: tail.removed as u32,
            cut: tail.cut.map(|key| key as f64),
            replaced,
            keys,
            appended_from: tail.appended_from as u32,
        })
    }

    /// Sets the history that a replay of the file gives, by the hashes of its items.
    #[napi(catch_unwind)]
    pub fn set_history(&self, hashes: String) {
        self.recorder.set_history(ItemHash::of_text(&hashes));
    }

    /// Reads the history of the file. Returns null if it is known already, or if there is no file. Throws if the file can't be replayed.
    #[napi(catch_unwind)]
    pub fn read_history(&self) -> Result<Option<NativeHistory>> {
        let items = self.recorder.read_history().map_err(|error| history_error(&error))?;
        Ok(items.map(|items| NativeHistory {
            hashes: ItemHash::to_text(items.iter().map(|item| item.hash)),
            seqs: items.iter().map(|item| item.seq.unwrap_or(f64::NAN)).collect::<Vec<_>>().into(),
        }))
    }

    /// The event loop turns: what is written by now is no longer pending. Returns whether anything is still to be written.
    #[napi(catch_unwind)]
    pub fn end_turn(&self) -> bool {
        self.recorder.writer().end_turn()
    }

    /// Number of records that were not in the file when the event loop last turned.
    #[napi(catch_unwind)]
    pub fn pending_records(&self) -> f64 {
        self.recorder.pending().0 as f64
    }

    /// Number of bytes that were not in the file when the event loop last turned.
    #[napi(catch_unwind)]
    pub fn pending_bytes(&self) -> f64 {
        self.recorder.pending().1 as f64
    }
}

fn history_error(error: &HistoryError) -> Error {
    match error {
        HistoryError::Replay(error) => Error::from_reason(error.message().to_string()),
        HistoryError::NotWritten => Error::from_reason("what was recorded is not written yet"),
    }
}

fn record_known(recorder: &Recorder, call: &FunctionCallContext<'_>) -> Result<f64> {
    let known_type: u32 = call.get(0)?;
    let Some(event_type) = KNOWN_TYPES.get(known_type as usize) else { return Ok(f64::NAN) };
    let recorded = recorder.record(Record {
        type_json: event_type.as_json().as_bytes(),
        milliseconds: call.get(2)?,
        payload: call.get::<Option<JsText>>(1)?,
    })?;
    Ok(told(recorded))
}

/// What JavaScript gets of a record, in one number: building an object would take longer than recording.
fn told(recorded: Option<Recorded>) -> f64 {
    match recorded {
        Some(Recorded { seq, version: 1 }) => seq,
        Some(Recorded { seq, .. }) => -seq,
        None => f64::NAN,
    }
}
