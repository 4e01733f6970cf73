//! Records a run (`RunRecorder` in `types/run.d.ts`): events are checked and formatted as lines on the caller's thread, and appended by the
//! background writer that sessions use too.

mod config;
mod opening;
mod record_error;
mod torn_tail;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::run::format::EventLine;
use parking_lot::{Mutex, MutexGuard};

pub use config::RunRecorderConfig;
pub use record_error::RecordError;

use super::recording::{EventInput, RunRecording, too_large};
use crate::clock::Clock;
use crate::disk::append::Target;
use crate::disk::{Durability, OsError};
use crate::hash::{HexHash, sha256_hex};
use crate::json::{Payload, escape_line_separators};
use crate::lines::{WriteFailure, Writer};
use crate::run::format::{ErrorCode, RunError, Salts};
use crate::run::state::{Content, MAX_SNAPSHOT_BYTES, Snapshot, State};
use crate::run::store::{BlobStore, RunDirectory};
use crate::signature::SigningKey;
use crate::task::Cancellation;
use crate::task::background;
use crate::task::background::NotDone;

/// Maximum capacity in bytes of a buffer that is kept. A buffer that grew larger for one event is freed.
const KEPT_BYTES: usize = 256 << 10;

/// Maximum size in bytes of a snapshot's document without the state.
const DOCUMENT_BYTES: u64 = EventLine::MAX_BYTES as u64;

/// The recorder of one run.
pub struct RunRecorder {
    directory: RunDirectory,
    durability: Durability,
    writer: Writer,
    failure: Arc<OnceLock<WriteFailure>>,
    torn_bytes: u64,
    unlocked: Option<OsError>,
    inner: Mutex<Inner>,
}

struct Inner {
    recording: RunRecording,
    /// `None` once the recorder is disposed.
    target: Option<Arc<Target>>,
    salts: Salts,
    clock: Clock,
    payload: Vec<u8>,
    line: Vec<u8>,
    /// With [`Durability::Fsync`], the blobs that this recorder has put on stable storage.
    stored: HashSet<HexHash>,
}

/// A snapshot that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSnapshot {
    /// Its id.
    pub id: String,
    /// The logical time of the event after which it was taken.
    pub logical_time: u64,
    /// The hash of the state in it.
    pub state_hash: HexHash,
    /// The hash of its content.
    pub content_hash: HexHash,
}

impl RunRecorder {
    /// Prepares the directory and opens a recorder, with I/O on the caller's thread. If the run is new, records RunCreated. `on_failure` is
    /// called at most once, on any thread.
    pub fn open(
        config: &RunRecorderConfig<'_>,
        milliseconds: f64,
        on_failure: impl Fn(&WriteFailure) + Send + Sync + 'static,
    ) -> Result<Self, RecordError> {
        let opened = opening::open(config, milliseconds)?;
        let failure = Arc::new(OnceLock::new());
        let slot = failure.clone();
        let writer = Writer::new(
            config.durability,
            Box::new(move |failure| {
                let _ = slot.set(failure.clone());
                on_failure(failure);
            }),
        );
        let target = Arc::new(opened.target);
        if !opened.first_line.is_empty() {
            push(&writer, &target, &opened.first_line);
        }
        writer.announce(&target);
        let inner = Inner {
            recording: opened.recording,
            target: Some(target),
            salts: opened.salts,
            clock: Clock::default(),
            payload: Vec::new(),
            line: Vec::new(),
            stored: HashSet::new(),
        };
        Ok(RunRecorder {
            directory: RunDirectory::new(&config.directory),
            durability: config.durability,
            writer,
            failure,
            torn_bytes: opened.torn_bytes,
            unlocked: opened.unlocked,
            inner: Mutex::new(inner),
        })
    }

    /// Records an event and returns its logical time. A refused event changes nothing. After a write failure events are still checked and
    /// still change the state, but nothing more is written.
    ///
    /// The outer error is returned if the payload could not be read.
    pub fn append<P: Payload>(
        &self,
        input: &EventInput<'_>,
        payload: P,
        milliseconds: f64,
    ) -> Result<Result<u64, RecordError>, P::Error> {
        let mut inner = self.lock();
        if payload.size() > EventLine::MAX_BYTES {
            return Ok(Err(too_large(inner.recording.state().next_time(), payload.size()).into()));
        }
        inner.payload.clear();
        payload.append_to(&mut inner.payload)?;
        escape_line_separators(&mut inner.payload, 0);
        Ok(self.record(&mut inner, input, milliseconds))
    }

    fn record(&self, inner: &mut Inner, input: &EventInput<'_>, milliseconds: f64) -> Result<u64, RecordError> {
        let Inner { recording, target, salts, clock, payload, line, stored: _ } = inner;
        let target = target.as_ref().ok_or(RecordError::Disposed)?;
        let text = std::str::from_utf8(payload).map_err(|_| not_utf8(recording.state().next_time()))?;
        let time = recording.record(input, text, clock.print(milliseconds), &salts.draw()?, line)?;
        push(&self.writer, target, line);
        for buffer in [payload, line] {
            if buffer.capacity() > KEPT_BYTES {
                *buffer = Vec::new();
            }
        }
        Ok(time)
    }

    /// Stores a blob synchronously and returns its hash. Does not record an event about it.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<HexHash, RecordError> {
        let hash = sha256_hex([bytes]);
        let known = if self.lock().stored.contains(&hash) { Durability::Fsync } else { Durability::Os };
        let stored = BlobStore::new(self.directory.blobs()).store(&hash, bytes, self.durability, known);
        stored.inspect_err(|error| stop_after_failed_sync(&self.writer, error))?;
        if self.durability == Durability::Fsync {
            self.lock().stored.insert(hash);
        }
        Ok(hash)
    }

    /// Takes a snapshot of the current state. It is written in the background, once the log is flushed up to this point; then `done` is
    /// called, on any thread. Recording a SnapshotCreated is up to the caller.
    pub fn snapshot(
        &self,
        key: Option<SigningKey>,
        done: impl FnOnce(Result<WrittenSnapshot, RecordError>) + Send + 'static,
    ) {
        let draft = self.draft();
        let (writer, failure) = (self.writer.clone(), self.failure.clone());
        let (directory, durability) = (self.directory.snapshots(), self.durability);
        let write = move || {
            // A failed writer flushes nothing. Its failure is set already, or will be shortly.
            match writer.has_failed().then(|| failure.wait().clone()) {
                Some(failure) => Err(RecordError::Write(failure)),
                None => draft.write(&directory, key.as_ref(), durability).inspect_err(|error| {
                    if let RecordError::System(error) = error {
                        stop_after_failed_sync(&writer, error);
                    }
                }),
            }
        };
        let write = move |begin: Result<(), NotDone>| match begin {
            Ok(()) => done(guarded(write)),
            Err(NotDone::Refused(error)) => done(Err(OsError::no_thread(&error).into())),
            // Nobody has the ticket.
            Err(NotDone::Withdrawn) => {}
        };
        self.writer.flush(Box::new(move |_| {
            background::spawn(&Cancellation::default(), write);
        }));
    }

    fn draft(&self) -> SnapshotRequest {
        let inner = self.lock();
        let recording = &inner.recording;
        let (event_hash, state_hash) = (*recording.last_hash(), recording.state_hash());
        SnapshotRequest { state: recording.state().clone(), event_hash, state_hash }
    }

    /// The state as the API shows it, as JSON.
    pub fn run_state(&self) -> Vec<u8> {
        let inner = self.lock();
        let mut json = Vec::new();
        inner.recording.state().write_run_state(&mut json, &inner.recording.state_hash());
        json
    }

    /// Stops recording. Events recorded so far are still written; `done` is called once they are, and the log is closed and unlocked.
    pub fn dispose(&self, done: impl FnOnce() + Send + 'static) {
        self.lock().target = None;
        self.writer.close(Box::new(done));
    }

    /// Whether events are recorded and written.
    pub fn is_active(&self) -> bool {
        self.lock().target.is_some() && !self.writer.has_failed()
    }

    /// Number of recorded events that are not in the log, including those recorded after the writer had failed.
    pub fn missing(&self) -> u64 {
        self.writer.missing()
    }

    /// Number of torn bytes that were cut off the log when it was resumed.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// The error of the lock, if the file system has none and the run is recorded without a lock.
    pub fn unlocked(&self) -> Option<&OsError> {
        self.unlocked.as_ref()
    }

    /// The path of the log.
    pub fn log(&self) -> PathBuf {
        self.directory.log()
    }

    /// The logical time that the next event will have.
    pub fn next_time(&self) -> u64 {
        self.lock().recording.state().next_time()
    }

    /// The writer, to flush and drain.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

/// Fails the writer if a sync has failed. The failed sync may have lost data of other files and directories, and another attempt would
/// succeed without proving anything, so no later flush may succeed.
fn stop_after_failed_sync(writer: &Writer, error: &OsError) {
    if error.syscall == "fsync" {
        writer.fail(error.clone().into(), error.path.clone(), 0);
    }
}

/// Queues a line. A writer that has failed counts it as missing.
fn push(writer: &Writer, target: &Arc<Target>, line: &[u8]) {
    let write = |buffer: &mut Vec<u8>| {
        buffer.extend_from_slice(line);
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(_) = writer.push(target, 1, line.len(), write);
}

#[cold]
fn not_utf8(time: u64) -> RunError {
    RunError::new(ErrorCode::NotAJsonLine, "The payload is not valid UTF-8.").at(time)
}

/// The data for a snapshot, passed to another thread.
struct SnapshotRequest {
    state: State,
    event_hash: HexHash,
    state_hash: HexHash,
}

impl SnapshotRequest {
    fn write(
        self,
        directory: &Path,
        key: Option<&SigningKey>,
        durability: Durability,
    ) -> Result<WrittenSnapshot, RecordError> {
        failpoint!("run_recorder::before_snapshot");
        let snapshot = Snapshot::new(self.content()?, key);
        snapshot.write(directory, durability)?;
        let Snapshot { content: Content { logical_time, state_hash, .. }, content_hash, .. } = snapshot;
        let id = Snapshot::id_at(logical_time);
        Ok(WrittenSnapshot { id, logical_time, state_hash, content_hash })
    }

    fn content(self) -> Result<Content, RunError> {
        let SnapshotRequest { state, event_hash, state_hash } = self;
        let (Some(run), Some(logical_time), Some(text)) = (state.run(), state.logical_time(), state.to_canonical())
        else {
            return Err(RunError::new(
                ErrorCode::EmptyLog,
                "Before RunCreated there is nothing to take a snapshot of.",
            ));
        };
        if text.len() as u64 + DOCUMENT_BYTES > MAX_SNAPSHOT_BYTES {
            let message = format!("The snapshot would be larger than {MAX_SNAPSHOT_BYTES} bytes.");
            return Err(RunError::new(ErrorCode::TooLarge, message).at(logical_time));
        }
        let run_id = run.id.as_json().to_owned();
        Ok(Content { run_id, logical_time, event_hash, state_hash, state: text.into_bytes() })
    }
}

/// The result of `write`. Converts a panic to an error, so that the promise settles.
fn guarded<T>(write: impl FnOnce() -> Result<T, RecordError>) -> Result<T, RecordError> {
    let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(write));
    written.unwrap_or_else(|_| Err(RunError::new(ErrorCode::SystemError, "Writing the snapshot failed.").into()))
}

#[cfg(test)]
mod tests;
