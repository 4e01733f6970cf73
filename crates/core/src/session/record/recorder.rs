//! Records a session: the caller's thread numbers events and builds their lines, and a background writer appends them
//! (`docs/session-format.md` section 3).

mod batch;
mod new_file;
mod stream;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::archive;
use super::in_force::{HistoryError, InForce, ItemHash, Tail};
use crate::clock::Clock;
use crate::disk::Durability;
use crate::disk::append::Target;
use crate::disk::lock::{FileLock, LockError};
use crate::json::{Payload, escape_line_separators};
use crate::lines::{LAST_WRITES, WriteError, WriteFailure, Writer};
use crate::session::format::{
    END, ENVELOPE_BYTES, PAYLOAD_KEY, Version, envelope, has_numbers_left, is_resumable_at, number_to_follow,
};
use crate::session::media::has_reference;
use crate::task::threading::{Mutex, MutexGuard};
pub use batch::Prepared;
use batch::{Batch, size_of};
use new_file::create_session_file;
pub(super) use new_file::{MAX_NAMES, file_name};
use stream::{Stream, Streaming};

/// Configuration of a recorder.
#[derive(Clone, Debug)]
pub struct RecorderConfig {
    /// The directory in which the file is created.
    pub chats_dir: PathBuf,
    /// The form of the file's name.
    pub file_name: FileNameForm,
    /// The first UTF-16 units of the session's id, with which the file's name ends.
    pub id_prefix: Vec<u16>,
    /// The permissions of the file, less the umask.
    pub mode: u32,
    /// What a flush guarantees.
    pub durability: Durability,
    /// The owner to write to the lock file; `None` records without a lock.
    pub exclusive_owner: Option<String>,
}

/// The precision of the time of creation in a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileNameForm {
    /// `session-2026-02-11T16-00-…`
    Minutes,
    /// `session-2026-02-11T16-00-07-…`
    Seconds,
}

/// The recorder of one session.
pub struct Recorder {
    config: RecorderConfig,
    writer: Writer,
    state: Mutex<State>,
    /// The line that is written in parts. Locked before the state, where both are.
    stream: parking_lot::Mutex<Stream>,
}

#[derive(Default)]
struct State {
    /// The number of the last record that is not buffered.
    seq: f64,
    /// Records that precede the file's creation.
    buffered: Vec<Buffered>,
    target: Option<Arc<Target>>,
    path: Option<PathBuf>,
    /// The history in force, once someone has asked for it.
    in_force: Option<Arc<Mutex<InForce>>>,
    /// The number and the line of the writer after which this file's records were queued.
    queued_after: (f64, u64),
    disposed: bool,
    clock: Clock,
    /// The version of the last record.
    version: Version,
    /// The records that were recorded last, if they can be taken back.
    batch: Option<Batch>,
    /// A record is being written in parts: those after it are buffered.
    streaming: Option<Streaming>,
}

impl State {
    /// The number of the last record, buffered ones included.
    fn last_number(&self) -> f64 {
        self.seq + self.buffered.len() as f64
    }

    /// The size of what is buffered, as it will be in the file.
    fn buffered_size(&self) -> u64 {
        size_of(&self.buffered, self.seq)
    }
}

/// A record whose number may still change, if the recorder resumes another session or a record before it is not completed.
#[derive(Clone)]
struct Buffered {
    kind: Kind,
    version: Version,
    /// The part of the line after its number.
    rest: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Line,
    SessionStart,
    /// The beginning of a record that is to be written in parts.
    Stream,
}

/// An item of the history in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownItem {
    /// Its hash.
    pub hash: ItemHash,
    /// The number of the record whose content it is, if this recorder has recorded that.
    pub seq: Option<f64>,
}

/// Number of bytes from the end of the item of a `content` that was recorded as `{ content: item }` to the end of its line.
const END_OF_CONTENT: u64 = "}}\n".len() as u64;

/// An event that was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    /// The number of the record.
    pub seq: f64,
    /// Its schema version.
    pub version: u8,
}

/// What became of a record that is to be watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Watched {
    /// It has this number.
    Recorded(f64),
    /// The recorder is inactive.
    Inactive,
    /// The queue is full.
    NoRoom,
}

/// An event to record.
pub struct Record<'a, P> {
    /// The type, as JSON text.
    pub type_json: &'a [u8],
    /// The time of the event, in milliseconds since 1970.
    pub milliseconds: f64,
    /// The payload; `None` omits the key.
    pub payload: Option<P>,
}

impl<P: Payload> Record<'_, P> {
    /// Whether an event of this type creates the file. Other events are buffered until then, so that a session without content leaves
    /// no file, unless someone waits for them.
    fn creates_file(&self) -> bool {
        matches!(
            self.type_json,
            b"\"content\"" | b"\"session_metadata\"" | b"\"session_named\"" | b"\"semantic_media_purge\""
        )
    }

    /// Approximate size of its line in bytes.
    fn size(&self) -> usize {
        ENVELOPE_BYTES + self.type_json.len() + self.payload.as_ref().map_or(0, P::size)
    }
}

impl Recorder {
    /// Creates a recorder, and records `session_start` with this payload. Touches no file yet. `on_failure` is called at most once,
    /// on any thread.
    pub fn new(
        config: RecorderConfig,
        start_payload: &[u8],
        milliseconds: f64,
        on_failure: impl Fn(&WriteFailure) + Send + Sync + 'static,
    ) -> Self {
        let writer = Writer::new(config.durability, Box::new(on_failure));
        let recorder = Recorder { config, writer, state: Mutex::default(), stream: parking_lot::Mutex::default() };
        let start = Record { type_json: b"\"session_start\"", milliseconds, payload: Some(start_payload) };
        let Ok(_) = recorder.buffer(&mut recorder.lock(), start, Kind::SessionStart);
        recorder
    }

    /// Records an event. Returns `None` if the recorder is inactive. If the file cannot be created, the
    /// recorder becomes inactive, which is reported through `on_failure`. An error means that the payload could not be read.
    pub fn record<P: Payload>(&self, record: Record<'_, P>) -> Result<Option<Recorded>, P::Error> {
        let creates_file = record.creates_file();
        self.record_with(record, creates_file)
    }

    fn record_with<P: Payload>(&self, record: Record<'_, P>, creates_file: bool) -> Result<Option<Recorded>, P::Error> {
        let mut state = self.lock();
        if state.disposed {
            return Ok(None);
        }
        if self.writer.has_failed() {
            self.writer.refuse(1);
            return Ok(None);
        }
        self.end_batch(&mut state);
        let is_taken = match &state.target {
            _ if state.streaming.is_some() => self.buffer_behind_stream(&mut state, record, creates_file)?,
            Some(_) => self.push(&mut state, record)?,
            None if creates_file => self.create_file(&mut state, record.milliseconds, Some(record))?,
            None => self.buffer(&mut state, record, Kind::Line).map(|()| true)?,
        };
        Ok(is_taken.then(|| Recorded { seq: state.last_number(), version: state.version as u8 }))
    }

    /// Like [`record`](Self::record), for a record whose acknowledgement the caller is going to [watch](Writer::watch) in this turn: until then the
    /// writer lets it wait for others. Creates the file, whatever its type. Refused if it would make the queue of a writer that is behind larger than
    /// `max_bytes`.
    pub fn record_watched<P: Payload>(&self, record: Record<'_, P>, max_bytes: f64) -> Result<Watched, P::Error> {
        let mut state = self.lock();
        self.end_batch(&mut state);
        let waiting = if state.streaming.is_some() { state.buffered_size() } else { 0 };
        drop(state);
        let queued_bytes = self.writer.unwritten().1 + waiting;
        if queued_bytes > 0 && (queued_bytes + record.size() as u64) as f64 > max_bytes {
            return Ok(Watched::NoRoom);
        }
        self.writer.hold();
        let recorded = self.record_with(record, true)?;
        Ok(recorded.map_or(Watched::Inactive, |Recorded { seq, .. }| Watched::Recorded(seq)))
    }

    /// Creates the file if there is none, with what is buffered. Does nothing if the recorder is inactive. If the file cannot be created, the
    /// recorder becomes inactive, as in [`record`](Self::record).
    pub fn ensure_file(&self, milliseconds: f64) {
        let mut state = self.lock();
        self.end_batch(&mut state);
        if state.target.is_some() || state.disposed || self.writer.has_failed() {
            return;
        }
        let Ok(_) = self.create_file::<&[u8]>(&mut state, milliseconds, None);
    }

    /// Whether a record of this file, or one that waits for its creation, has this number.
    pub fn has_recorded(&self, seq: f64) -> bool {
        let state = self.lock();
        let first = if state.path.is_some() { state.queued_after.0 } else { 0.0 };
        seq.fract() == 0.0 && seq > first && seq <= state.last_number()
    }

    /// The offset in the file at which a record's line ended when it was written; `None` before it is acknowledged.
    pub fn line_end(&self, seq: f64) -> Option<u64> {
        let (first, line) = self.lock().queued_after;
        let after = seq - first - 1.0;
        (after.fract() == 0.0 && after >= 0.0).then(|| self.writer.line_end(line + after as u64)).flatten()
    }

    /// The number of the last record that is acknowledged, if one is that was queued for this file.
    pub fn acknowledged(&self) -> Option<f64> {
        let (first, line) = self.lock().queued_after;
        let acknowledged = self.writer.acknowledged();
        (acknowledged > line).then(|| first + (acknowledged - line) as f64)
    }

    /// What to record so that a replay of the file gives the history of these items. The first call reads the file, and waits until what is queued
    /// is written; from then on the writing thread keeps the history in force.
    pub fn tail_to(&self, wanted: &[ItemHash]) -> Result<Tail, HistoryError> {
        let state = &mut *self.lock();
        let in_force = match &state.in_force {
            Some(in_force) => in_force.clone(),
            None => {
                let (history, _) = self.read_file(state)?;
                self.keep_in_force(state, history)
            }
        };
        self.writer.tap_queue();
        if state.target.is_some() {
            return Ok(in_force.lock().tail_to(wanted));
        }
        // What is buffered is queued, and then passed, when the file is created.
        let mut history = in_force.lock().fork();
        for (buffered, number) in state.buffered.iter().zip(1u32..) {
            let mut line = Vec::with_capacity(ENVELOPE_BYTES + buffered.rest.len());
            envelope::begin(&mut line, buffered.version, state.seq + f64::from(number));
            line.extend_from_slice(&buffered.rest);
            history.add_lines(&line);
        }
        Ok(history.tail_to(wanted))
    }

    /// Reads the history in force from the file, as the first [`tail_to`](Self::tail_to) would. Returns its items; `None` if the history is known
    /// already, or there is no file.
    pub fn read_history(&self) -> Result<Option<Vec<KnownItem>>, HistoryError> {
        let state = &mut *self.lock();
        if state.in_force.is_some() || state.target.is_none() {
            return Ok(None);
        }
        let (history, ends) = self.read_file(state)?;
        let numbered = |(hash, end): (ItemHash, &Option<u64>)| {
            let line = end.and_then(|end| self.writer.line_ending_at(state.queued_after.1, end + END_OF_CONTENT));
            let seq = line.map(|line| state.queued_after.0 + (line - state.queued_after.1 + 1) as f64);
            KnownItem { hash, seq }
        };
        let items = history.items().zip(&ends).map(numbered).collect();
        self.keep_in_force(state, history);
        Ok(Some(items))
    }

    /// Sets the history in force, which the caller knows: nothing was recorded yet since the file was resumed.
    pub fn set_history(&self, items: Vec<ItemHash>) {
        self.keep_in_force(&mut self.lock(), InForce::of_items(items));
    }

    /// The history in force, and where its items end in the file.
    fn read_file(&self, state: &State) -> Result<(InForce, Vec<Option<u64>>), HistoryError> {
        let Some(target) = &state.target else { return Ok(Default::default()) };
        if !self.writer.shared().drain(Instant::now() + LAST_WRITES) {
            return Err(HistoryError::NotWritten);
        }
        InForce::of_file(target.path()).map_err(HistoryError::Replay)
    }

    fn keep_in_force(&self, state: &mut State, history: InForce) -> Arc<Mutex<InForce>> {
        let in_force = Arc::new(Mutex::new(history));
        let tapped = in_force.clone();
        self.writer.tap_with(Some(Arc::new(move |lines| tapped.lock().add_lines(lines))));
        state.in_force = Some(in_force.clone());
        in_force
    }

    fn buffer<P: Payload>(&self, state: &mut State, record: Record<'_, P>, kind: Kind) -> Result<(), P::Error> {
        let mut rest = Vec::with_capacity(record.size());
        state.version = append_rest(&mut rest, record, &mut state.clock)?;
        state.buffered.push(Buffered { kind, version: state.version, rest });
        Ok(())
    }

    fn push<P: Payload>(&self, state: &mut State, record: Record<'_, P>) -> Result<bool, P::Error> {
        if !has_numbers_left(state.seq, 1.0) {
            return Ok(self.fail_exhausted(state, 1));
        }
        let State { seq, target, clock, version, .. } = state;
        let Some(target) = target else { return Ok(false) };
        let next = *seq + 1.0;
        let pushed = self.writer.push(target, 1, record.size(), |line| {
            *version = append_line(line, next, record, clock)?;
            Ok(())
        })?;
        *seq = next;
        Ok(pushed)
    }

    /// Creates the file, and writes the buffered records and then `record`. This is the only I/O that recording does on the caller's
    /// thread.
    fn create_file<P: Payload>(
        &self,
        state: &mut State,
        milliseconds: f64,
        record: Option<Record<'_, P>>,
    ) -> Result<bool, P::Error> {
        match create_session_file(&self.config, state.clock.print(milliseconds)) {
            Ok(target) => self.start_writing(state, target, record),
            Err((error, path)) => Ok(self.fail(state, error.into(), path, u64::from(record.is_some()))),
        }
    }

    /// Starts to write to `target`: first the buffered records, then `record`.
    fn start_writing<P: Payload>(
        &self,
        state: &mut State,
        target: Target,
        record: Option<Record<'_, P>>,
    ) -> Result<bool, P::Error> {
        let path = target.path().to_path_buf();
        let target = match self.locked(state, target) {
            Ok(target) => Arc::new(target),
            Err(error) => return Ok(self.fail(state, error, path, u64::from(record.is_some()))),
        };
        (state.target, state.path) = (Some(target.clone()), Some(path));
        state.queued_after = (state.seq, self.writer.queued());
        let buffered = std::mem::take(&mut state.buffered);
        self.push_together(state, &target, &buffered, record)
    }

    /// Queues all records at once, so that all of them count as dropped if the file has disappeared.
    fn push_together<P: Payload>(
        &self,
        state: &mut State,
        target: &Arc<Target>,
        buffered: &[Buffered],
        record: Option<Record<'_, P>>,
    ) -> Result<bool, P::Error> {
        let lines = buffered.len() as u64 + u64::from(record.is_some());
        if lines == 0 {
            self.writer.announce(target);
            return Ok(true);
        }
        if !has_numbers_left(state.seq, lines as f64) {
            return Ok(self.fail_exhausted(state, lines));
        }
        let own_size = record.as_ref().map_or(0, Record::size);
        let size = buffered.iter().map(|buffered| ENVELOPE_BYTES + buffered.rest.len()).sum::<usize>() + own_size;
        let State { seq, clock, version, .. } = state;
        let mut next = *seq;
        let pushed = self.writer.push(target, lines, size, |text| {
            for buffered in buffered {
                next += 1.0;
                envelope::begin(text, buffered.version, next);
                text.extend_from_slice(&buffered.rest);
            }
            let Some(record) = record else { return Ok(()) };
            next += 1.0;
            *version = append_line(text, next, record, clock)?;
            Ok(())
        });
        match pushed {
            Ok(pushed) => {
                state.seq = next;
                Ok(pushed)
            }
            // The payload of the record can't be read. The records buffered before it are still written.
            Err(refused) => {
                let Ok(_) = self.push_together::<&[u8]>(state, target, buffered, None);
                Err(refused)
            }
        }
    }

    fn locked(&self, state: &State, target: Target) -> Result<Target, WriteError> {
        let Some(owner) = &self.config.exclusive_owner else { return Ok(target) };
        let path = FileLock::path_for(target.path());
        // A recorder that resumes the file that it already records to must not be locked out by its own lock.
        if let Some(lock) = state.target.as_ref().and_then(|own| own.take_lock(&path)) {
            return Ok(target.locked(lock));
        }
        match FileLock::acquire(target.path(), owner) {
            Ok(lock) => Ok(target.locked(lock)),
            Err(LockError::Held { owner }) => Err(WriteError::Locked { owner }),
            // The caller wants the file for itself: without locks it is not recorded to.
            Err(LockError::System(error) | LockError::Unsupported(error)) => Err(error.into()),
        }
    }

    /// Ends recording because there is no file to write to. The buffered records and `unbuffered` others are lost; records queued for
    /// an earlier file are still written. Returns false.
    fn fail(&self, state: &mut State, error: WriteError, path: PathBuf, unbuffered: u64) -> bool {
        let buffered = std::mem::take(&mut state.buffered).len() as u64;
        (state.target, state.batch) = (None, None);
        self.writer.fail(error, Some(path), buffered + unbuffered);
        false
    }

    /// Ends recording because another record would get a number that strict replays skip.
    fn fail_exhausted(&self, state: &mut State, unbuffered: u64) -> bool {
        let path = state.path.clone().unwrap_or_default();
        self.fail(state, WriteError::SequenceExhausted, path, unbuffered)
    }

    /// Ends recording at once: what is queued is lost too.
    pub fn abandon(&self, error: WriteError) {
        let mut state = self.lock();
        let buffered = std::mem::take(&mut state.buffered).len() as u64;
        state.target = None;
        let path = state.path.clone().unwrap_or_else(|| self.config.chats_dir.clone());
        self.writer.abandon(error, Some(path), buffered);
    }

    /// Continues the session in `path`, whose last record has the `seq` `last_seq`, with the next number that all readers accept. An archived session
    /// is restored first. The recorder's own `session_start` is dropped; other buffered events follow that record. Returns false if the session can't be resumed, also for want of numbers.
    pub fn resume(&self, path: PathBuf, last_seq: f64) -> bool {
        let mut state = self.lock();
        if state.disposed || self.writer.has_failed() {
            return false;
        }
        self.end_batch(&mut state);
        state.buffered.retain(|buffered| buffered.kind != Kind::SessionStart);
        if !is_resumable_at(last_seq) {
            state.path = Some(path);
            return self.fail_exhausted(&mut state, 0);
        }
        state.seq = number_to_follow(last_seq);
        let owner = self.config.exclusive_owner.as_deref().unwrap_or("a recorder");
        let path = match archive::to_append_to(path.clone(), owner) {
            Ok(path) => path,
            Err(error) => return self.fail(&mut state, error.into(), path, 0),
        };
        state.in_force = None;
        self.writer.tap_with(None);
        let Ok(resumed) = self.start_writing::<&[u8]>(&mut state, Target::new(path), None);
        resumed
    }

    /// The number of the last record, whether or not it is written.
    pub fn last_number(&self) -> f64 {
        self.lock().last_number()
    }

    /// Gives `session_start` another payload. Without effect once there is a file.
    pub fn set_start<P: Payload>(&self, milliseconds: f64, payload: P) -> Result<(), P::Error> {
        let mut state = self.lock();
        let record = Record { type_json: b"\"session_start\"", milliseconds, payload: Some(payload) };
        let mut rest = Vec::with_capacity(record.size());
        append_rest(&mut rest, record, &mut state.clock)?;
        if let Some(start) = state.buffered.iter_mut().find(|buffered| buffered.kind == Kind::SessionStart) {
            start.rest = rest;
        }
        Ok(())
    }

    /// The number that the records of the current file follow.
    pub fn followed_number(&self) -> f64 {
        self.lock().queued_after.0
    }

    /// Accepts no more events. Events that still wait for the file's creation are dropped, queued ones are written; `done` is called
    /// once they are, and the file is closed and unlocked.
    pub fn dispose(&self, done: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        state.disposed = true;
        state.buffered = Vec::new();
        (state.target, state.batch) = (None, None);
        drop(state);
        self.writer.close(Box::new(done));
    }

    /// Whether events are accepted.
    pub fn is_active(&self) -> bool {
        !self.lock().disposed && !self.writer.has_failed()
    }

    /// The session's file, once there is one.
    pub fn path(&self) -> Option<PathBuf> {
        self.lock().path.clone()
    }

    /// Number of records that are not in the file although they were queued, or that were refused because the writer had failed.
    pub fn missing(&self) -> u64 {
        self.writer.missing()
    }

    /// Number of records and bytes that were not in the file when the caller's event loop [last turned](Writer::end_turn), including records
    /// that wait for the file's creation.
    pub fn pending(&self) -> (u64, u64) {
        let state = self.lock();
        let (records, bytes) = self.writer.pending();
        let waiting = state.buffered.len() as u64 + u64::from(state.streaming.is_some());
        (records + waiting, bytes + state.buffered_size())
    }

    /// The writer, to flush and drain.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Appends a record's line. Returns its version.
pub(super) fn append_line<P: Payload>(
    line: &mut Vec<u8>,
    seq: f64,
    record: Record<'_, P>,
    clock: &mut Clock,
) -> Result<Version, P::Error> {
    let from = line.len();
    envelope::begin(line, Version::One, seq);
    let version = append_rest(line, record, clock)?;
    envelope::set_version(line, from, version);
    Ok(version)
}

/// Appends the part of a record's line after its number. Returns the version that the line must have.
fn append_rest<P: Payload>(line: &mut Vec<u8>, record: Record<'_, P>, clock: &mut Clock) -> Result<Version, P::Error> {
    let from = line.len();
    envelope::describe(line, clock.print(record.milliseconds), record.type_json);
    let mut version = Version::of(record.type_json);
    if let Some(payload) = record.payload {
        line.extend_from_slice(PAYLOAD_KEY);
        let payload_from = line.len();
        payload.append_to(line)?;
        if has_reference(&line[payload_from..]) {
            version = Version::Two;
        }
    }
    escape_line_separators(line, from);
    line.extend_from_slice(END);
    Ok(version)
}

#[cfg(test)]
mod tests;
