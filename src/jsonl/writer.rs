//! The background writer: lines are queued on the caller's thread and appended on another.
//!
//! What is queued goes out in batches: while one is being written the next gathers. A batch is as large as what
//! waits, and lies in segments, each of which goes out in one write.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::append::{Appender, Torn};
use super::lock::FileLock;
use crate::background;
use crate::os_error::OsError;

/// A segment that has so many bytes is full. Small enough for a write to be quick, large enough for its cost not to count.
const SEGMENT_BYTES: usize = 256 << 10;

/// After a batch the writer looks for more itself for a while, so that a caller that records one event after the
/// other need not wake a thread for each.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
const LOOKS: u32 = 8;

/// What "flushed" promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The bytes are with the operating system: they survive the process.
    #[default]
    Os,
    /// The bytes are on stable storage: they survive the machine.
    Fsync,
}

/// A file that is appended to.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// Directories whose entries must be synced with the first sync of the file: it is new in them.
    directories: Mutex<Vec<PathBuf>>,
    /// Held as long as anything may be appended.
    lock: Mutex<Option<FileLock>>,
}

impl Target {
    /// The file at `path`, which exists.
    pub fn existing(path: PathBuf) -> Self {
        Target { path, directories: Mutex::default(), lock: Mutex::default() }
    }

    /// The file at `path`, which was just created, and with it entries in `directories`.
    pub fn created(path: PathBuf, directories: Vec<PathBuf>) -> Self {
        Target { directories: Mutex::new(directories), ..Self::existing(path) }
    }

    /// The file, locked as long as anything may be appended.
    #[must_use]
    pub fn locked(self, lock: FileLock) -> Self {
        Target { lock: Mutex::new(Some(lock)), ..self }
    }

    /// Lets go of the lock.
    pub fn unlock(&self) {
        lock(&self.lock).take();
    }

    /// Hands on the lock, if it is the one at `path`.
    pub fn take_lock(&self, path: &Path) -> Option<FileLock> {
        lock(&self.lock).take_if(|lock| lock.path() == path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn sync(&self, appender: &Appender) -> Result<(), OsError> {
        appender.sync()?;
        failpoint!("writer::before_directory_sync");
        let directories = std::mem::take(&mut *lock(&self.directories));
        directories.iter().try_for_each(|directory| sync_directory(directory))
    }
}

#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> Result<(), OsError> {
    let handle = std::fs::File::open(directory).map_err(|error| OsError::new(&error, "open", Some(directory)))?;
    handle.sync_all().map_err(|error| OsError::new(&error, "fsync", None))
}

/// Windows syncs directory entries with the file.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> Result<(), OsError> {
    Ok(())
}

/// Why a writer stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system refused.
    #[error("{0}")]
    System(#[from] OsError),
    /// Another recorder has the file for itself.
    #[error("the session is being recorded by {}", if owner.is_empty() { "another recorder" } else { owner })]
    Locked {
        /// What the other said of itself; empty if that is not known.
        owner: String,
    },
}

impl WriteError {
    /// The code by which programs tell errors apart.
    pub fn code(&self) -> &'static str {
        match self {
            WriteError::System(error) => error.code,
            WriteError::Locked { .. } => "ESESSIONLOCKED",
        }
    }
}

/// A writer's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// Why.
    pub error: WriteError,
    /// The file that was to be written, if there was one already.
    pub path: Option<PathBuf>,
    /// How many queued lines are not in the file.
    pub dropped: u64,
    /// How many are, as durably as was promised.
    pub kept: u64,
}

impl WriteFailure {
    /// Whether this is a kind of failure that users are to go on without a recording for: a full or forbidden
    /// disk, a file that is gone (`docs/session-format.md` section 3, rule 6) or another's. Flushes report all others.
    pub fn is_environmental(&self) -> bool {
        const GONE_ON_WITHOUT: [&str; 8] =
            ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "ENOENT", "ENOTDIR", "ESESSIONLOCKED"];
        GONE_ON_WITHOUT.contains(&self.error.code())
    }
}

type FlushDone = Box<dyn FnOnce(Result<(), WriteFailure>) + Send>;
type FailureHook = Box<dyn Fn(&WriteFailure) + Send + Sync>;

/// Appends lines in the background. Dropping it loses nothing: what is queued is still written. A clone is the same writer.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

/// What a caller and its background job share. Lives until both are done.
pub struct Shared {
    state: Mutex<State>,
    /// Told when there is a reason for the job to look up, and when it went idle.
    changed: Condvar,
    durability: Durability,
    on_failure: FailureHook,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Segment>,
    /// A buffer to use again.
    spare: Vec<u8>,
    /// Lines and bytes that wait or are being written.
    pending_lines: u64,
    pending_bytes: u64,
    /// Lines queued since the beginning, or refused because the writer had failed; lines written; lines synced.
    queued: u64,
    written: u64,
    synced: u64,
    flushes: Vec<(u64, FlushDone)>,
    /// Who waits for the file to be let go of.
    closes: Vec<Box<dyn FnOnce() + Send>>,
    /// A job runs or will run.
    working: bool,
    /// It has a batch, and the file with it.
    writing: bool,
    /// Someone waits: no pauses.
    urgent: bool,
    failed: bool,
    /// Nothing more will be queued.
    closed: bool,
    /// The file that was written last: what is to be synced.
    last_target: Option<Arc<Target>>,
}

struct Segment {
    target: Arc<Target>,
    lines: u64,
    bytes: Vec<u8>,
}

/// A lock that another thread panicked under is taken all the same: what it guards is counters and whole
/// segments, never half done when something can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writer {
    /// A writer that has nothing to do yet. `on_failure` is called once, on whatever thread fails.
    pub fn new(durability: Durability, on_failure: FailureHook) -> Self {
        let shared = Shared { state: Mutex::default(), changed: Condvar::new(), durability, on_failure };
        Writer { shared: Arc::new(shared) }
    }

    /// Queues `lines` lines for `target`, about `size` bytes in all, which `write` appends to the buffer that it is given,
    /// `\n` included. When `write` refuses, nothing is queued. False if the writer has failed: the lines are lost.
    pub fn push<E>(
        &self,
        target: &Arc<Target>,
        lines: u64,
        size: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut state = lock(&self.shared.state);
        if state.failed {
            state.queued += lines;
            return Ok(false);
        }
        let added = state.segment_for(target, size).add(lines, write)?;
        state.pending_lines += lines;
        state.pending_bytes += added as u64;
        state.queued += lines;
        if !state.working {
            state.working = true;
            drop(state);
            let shared = self.shared.clone();
            background::spawn(move || shared.work());
        }
        Ok(true)
    }

    /// Calls `done` when all that was queued before is in the file, or, if the writer is idle or has failed,
    /// here and now.
    pub fn flush(&self, done: FlushDone) {
        let mut state = lock(&self.shared.state);
        if state.is_flushed(self.shared.durability) {
            drop(state);
            return done(Ok(()));
        }
        let ticket = state.queued;
        state.flushes.push((ticket, done));
        self.shared.hurry(state);
    }

    /// Nothing more will be queued. Calls `done` when all is written and flushed, and the file is let go of: here and now, if
    /// that is so.
    pub fn close(&self, done: Box<dyn FnOnce() + Send>) {
        let mut state = lock(&self.shared.state);
        state.closed = true;
        state.closes.push(done);
        let closes = state.let_go_if_done(self.shared.durability);
        if closes.is_empty() {
            self.shared.hurry(state)
        } else {
            drop(state)
        }
        closes.into_iter().for_each(|done| done());
    }

    /// How many lines were queued or refused since the beginning, if a flush would have something to wait for or a failure to
    /// tell of.
    pub fn unflushed(&self) -> Option<u64> {
        let state = lock(&self.shared.state);
        (state.failed || !state.is_flushed(self.shared.durability)).then_some(state.queued)
    }

    /// Counts `lines` as lost that were not even offered, for the writer has failed.
    pub fn refuse(&self, lines: u64) {
        lock(&self.shared.state).queued += lines;
    }

    /// Lines that are not in the file now. Once the writer has failed they never will be.
    pub fn missing(&self) -> u64 {
        let state = lock(&self.shared.state);
        state.queued.saturating_sub(state.written)
    }

    /// Lines and bytes that are not in the file yet.
    pub fn pending(&self) -> (u64, u64) {
        let state = lock(&self.shared.state);
        (state.pending_lines, state.pending_bytes)
    }

    /// Whether it has failed: nothing is queued any more.
    pub fn has_failed(&self) -> bool {
        lock(&self.shared.state).failed
    }

    /// Ends the writer, as a failed write does. `unqueued` lines are lost besides those that wait.
    pub fn fail(&self, error: WriteError, path: Option<PathBuf>, unqueued: u64) {
        self.shared.fail(error, path, unqueued);
    }

    /// A handle that outlives this writer as long as there is something to write.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Shared {
    /// Waits until everything is written, or until `deadline`. True if everything is.
    pub fn drain(self: &Arc<Self>, deadline: Instant) -> bool {
        self.wait_until(deadline, |state| state.pending_lines == 0).is_some()
    }

    /// The same when nothing more will come, for whoever could queue anything is gone: lets go of the file as well. The job may look
    /// for more for some milliseconds yet, and must not keep others out with it.
    pub fn end(self: &Arc<Self>, deadline: Instant) {
        let is_done = |state: &State| state.pending_lines == 0 && !state.writing;
        if let Some(mut state) = self.wait_until(deadline, is_done)
            && let Some(target) = state.last_target.take()
        {
            drop(state);
            target.unlock();
        }
    }

    fn wait_until(self: &Arc<Self>, deadline: Instant, is_done: fn(&State) -> bool) -> Option<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        while !is_done(&state) {
            let now = Instant::now();
            if now >= deadline {
                return None;
            }
            self.hurry(state);
            state = lock(&self.state);
            if is_done(&state) {
                break;
            }
            // Looks up now and then, lest a signal that was missed costs the whole time.
            let pause = (deadline - now).min(Duration::from_millis(20));
            state = self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(state)
    }

    /// Makes sure that a job is at work, without a pause.
    fn hurry(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        state.urgent = true;
        let start = !std::mem::replace(&mut state.working, true);
        drop(state);
        self.changed.notify_all();
        if start {
            let shared = self.clone();
            background::spawn(move || shared.work());
        }
    }

    /// The job. A panic in it would leave those who wait for it waiting, so it counts as a failure to write.
    fn work(self: Arc<Self>) {
        if catch_unwind(AssertUnwindSafe(|| self.write_while_there_is_something())).is_err() {
            self.fail(PANICKED.into(), None, 0);
            let mut state = lock(&self.state);
            (state.working, state.writing) = (false, false);
            let closes = state.let_go_if_done(self.durability);
            drop(state);
            closes.into_iter().for_each(|done| done());
        }
        self.changed.notify_all();
    }

    /// Batch after batch, until there has been nothing to do for a while.
    fn write_while_there_is_something(&self) {
        let mut looks = 0;
        let mut state = lock(&self.state);
        while !state.failed {
            if !state.queue.is_empty() || state.wants_sync(self.durability) {
                looks = 0;
                let batch = std::mem::take(&mut state.queue);
                state.writing = true;
                drop(state);
                if let Err((error, target)) = self.write_batch(batch) {
                    self.fail(error.into(), Some(target.path.clone()), 0);
                }
                self.changed.notify_all();
                state = lock(&self.state);
                state.writing = false;
            } else if looks < LOOKS && !state.urgent {
                looks += 1;
                state = self.changed.wait_timeout(state, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0;
            } else {
                break;
            }
        }
        // Under the same lock as the last look: what is queued from here on finds no job and starts one.
        (state.working, state.urgent) = (false, false);
        let closes = state.let_go_if_done(self.durability);
        drop(state);
        closes.into_iter().for_each(|done| done());
    }

    fn write_batch(&self, batch: VecDeque<Segment>) -> Result<(), (OsError, Arc<Target>)> {
        let mut open: Option<(Arc<Target>, Appender)> = None;
        for segment in batch {
            if open.as_ref().is_none_or(|(target, _)| !Arc::ptr_eq(target, &segment.target)) {
                self.sync_if_promised(open.take())?;
                open = Some(self.open(&segment.target)?);
            }
            if let Some((target, appender)) = &mut open {
                let appended = appender.append(&segment.bytes);
                self.count_written(segment, appended).map_err(|error| (error, target.clone()))?;
            }
        }
        self.settle_flushes(open)
    }

    fn open(&self, target: &Arc<Target>) -> Result<(Arc<Target>, Appender), (OsError, Arc<Target>)> {
        lock(&self.state).last_target = Some(target.clone());
        match Appender::open(&target.path) {
            Ok(appender) => Ok((target.clone(), appender)),
            Err(error) => Err((error, target.clone())),
        }
    }

    fn count_written(&self, segment: Segment, appended: Result<(), Torn>) -> Result<(), OsError> {
        let mut state = lock(&self.state);
        let lines = appended.as_ref().map_or_else(|torn| torn.lines, |()| segment.lines);
        // Nothing is pending any more if the writer was ended meanwhile from without.
        state.pending_lines = state.pending_lines.saturating_sub(lines);
        state.pending_bytes = state.pending_bytes.saturating_sub(segment.bytes.len() as u64);
        state.written += lines;
        if segment.bytes.capacity() <= 2 * SEGMENT_BYTES {
            state.spare = segment.bytes;
            state.spare.clear();
        }
        appended.map_err(|torn| torn.error)
    }

    /// With [`Durability::Fsync`], a file that the writer turns away from is synced first.
    fn sync_if_promised(&self, open: Option<(Arc<Target>, Appender)>) -> Result<(), (OsError, Arc<Target>)> {
        match open {
            Some((target, appender)) if self.durability == Durability::Fsync => {
                target.sync(&appender).map_err(|error| (error, target))
            }
            _ => Ok(()),
        }
    }

    /// Answers the flushes whose lines are written. Those that came while a sync was under way share the next.
    fn settle_flushes(&self, open: Option<(Arc<Target>, Appender)>) -> Result<(), (OsError, Arc<Target>)> {
        let (written, last_target, waits) = {
            let state = lock(&self.state);
            (state.written, state.last_target.clone(), state.is_waited_for())
        };
        if !waits {
            return Ok(());
        }
        if self.durability == Durability::Fsync {
            let open = match (open, last_target) {
                (None, Some(target)) => Some(self.open(&target)?),
                (open, _) => open,
            };
            self.sync_if_promised(open)?;
        }
        let mut state = lock(&self.state);
        state.synced = written;
        let (ready, waiting) =
            std::mem::take(&mut state.flushes).into_iter().partition(|(ticket, _)| *ticket <= written);
        state.flushes = waiting;
        state.urgent = state.is_waited_for();
        drop(state);
        failpoint!("writer::before_answer");
        answer(ready, || Ok(()));
        failpoint!("writer::after_answer");
        Ok(())
    }

    fn fail(&self, error: WriteError, path: Option<PathBuf>, unqueued: u64) {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.failed, true) {
            return;
        }
        let kept = if self.durability == Durability::Fsync { state.synced } else { state.written };
        let failure = WriteFailure { error, path, dropped: state.pending_lines + unqueued, kept };
        state.queued += unqueued;
        state.queue = VecDeque::new();
        state.spare = Vec::new();
        (state.pending_lines, state.pending_bytes) = (0, 0);
        let (reached, lost): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.flushes).into_iter().partition(|(ticket, _)| *ticket <= kept);
        if let Some(target) = state.last_target.take() {
            target.unlock();
        }
        drop(state);
        (self.on_failure)(&failure);
        answer(reached, || Ok(()));
        answer(lost, || if failure.is_environmental() { Ok(()) } else { Err(failure.clone()) });
        self.changed.notify_all();
    }
}

const PANICKED: OsError =
    OsError { code: "UNKNOWN", message: "the background writer panicked", syscall: "write", path: None, errno: 0 };

fn answer(flushes: Vec<(u64, FlushDone)>, result: impl Fn() -> Result<(), WriteFailure>) {
    for (_, done) in flushes {
        done(result());
    }
}

impl State {
    fn is_flushed(&self, durability: Durability) -> bool {
        let reached = if durability == Durability::Fsync { self.synced } else { self.written };
        self.failed || reached >= self.queued
    }

    /// Lets go of the file, if nothing more can come. Returns those who are to be told.
    fn let_go_if_done(&mut self, durability: Durability) -> Vec<Box<dyn FnOnce() + Send>> {
        if !self.closed || self.writing || !self.is_flushed(durability) {
            return Vec::new();
        }
        self.last_target = None;
        std::mem::take(&mut self.closes)
    }

    fn is_waited_for(&self) -> bool {
        !self.flushes.is_empty() || !self.closes.is_empty()
    }

    fn wants_sync(&self, durability: Durability) -> bool {
        durability == Durability::Fsync && self.synced < self.written && self.is_waited_for()
    }

    /// The segment that a line of `size` bytes belongs into.
    fn segment_for(&mut self, target: &Arc<Target>, size: usize) -> &mut Segment {
        let fits = |last: &Segment| Arc::ptr_eq(&last.target, target) && last.bytes.len() + size <= SEGMENT_BYTES;
        if !self.queue.back().is_some_and(fits) {
            let mut bytes = std::mem::take(&mut self.spare);
            bytes.reserve(size);
            self.queue.push_back(Segment { target: target.clone(), lines: 0, bytes });
        }
        let last = self.queue.len() - 1;
        &mut self.queue[last]
    }
}

impl Segment {
    fn add<E>(&mut self, lines: u64, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<usize, E> {
        let before = self.bytes.len();
        if let Err(refused) = write(&mut self.bytes) {
            self.bytes.truncate(before);
            return Err(refused);
        }
        self.lines += lines;
        Ok(self.bytes.len() - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::mpsc;

    struct Fixture {
        _directory: tempfile::TempDir,
        path: PathBuf,
        target: Arc<Target>,
        writer: Writer,
        failures: mpsc::Receiver<WriteFailure>,
    }

    fn fixture(durability: Durability) -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        std::fs::write(&path, "").unwrap();
        let (sender, failures) = mpsc::channel();
        let writer = Writer::new(durability, Box::new(move |failure| sender.send(failure.clone()).unwrap()));
        Fixture { _directory: directory, target: Target::existing(path.clone()).into(), path, writer, failures }
    }

    impl Fixture {
        fn push(&self, line: &str) -> bool {
            let write = |buffer: &mut Vec<u8>| {
                buffer.extend_from_slice(line.as_bytes());
                buffer.push(b'\n');
                Ok::<(), Infallible>(())
            };
            self.writer.push(&self.target, 1, line.len() + 1, write).unwrap()
        }

        fn flush(&self) -> Result<(), WriteFailure> {
            let (sender, receiver) = mpsc::channel();
            self.writer.flush(Box::new(move |result| sender.send(result).unwrap()));
            receiver.recv().unwrap()
        }

        fn content(&self) -> String {
            std::fs::read_to_string(&self.path).unwrap()
        }
    }

    #[test]
    fn lines_arrive_in_order_at_any_durability() {
        for durability in [Durability::Os, Durability::Fsync] {
            let fixture = fixture(durability);
            let lines: Vec<String> = (0..20_000).map(|n| format!("line {n} {}", "x".repeat(n % 90))).collect();
            for line in &lines {
                assert!(fixture.push(line));
            }
            fixture.flush().unwrap();
            assert_eq!(fixture.writer.pending(), (0, 0));
            assert_eq!(fixture.content(), lines.join("\n") + "\n");
        }
    }

    #[test]
    fn what_is_queued_is_written_without_a_flush_and_after_the_writer_is_gone() {
        let Fixture { _directory, path, target, writer, .. } = fixture(Durability::Os);
        let write = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(b"last\n");
            Ok::<(), Infallible>(())
        };
        writer.push(&target, 1, 5, write).unwrap();
        let shared = writer.shared().clone();
        drop(writer);
        assert!(shared.drain(Instant::now() + Duration::from_secs(20)));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "last\n");
    }

    /// The writer once went to sleep on a line that was queued during its last pause: it paused after its last look, not before.
    #[test]
    fn a_line_that_comes_in_the_last_pause_is_not_slept_on() {
        let fixture = fixture(Durability::Os);
        for round in 0..400 {
            fixture.push("a");
            fixture.flush().unwrap();
            // Lands somewhere in the pauses of a writer that is about to go idle.
            std::thread::sleep(LOOK_AGAIN * (LOOKS - 1) + Duration::from_micros(round * 5));
            fixture.push("b");
            let deadline = Instant::now() + Duration::from_secs(20);
            while fixture.writer.pending().0 > 0 {
                assert!(Instant::now() < deadline, "round {round}");
                std::thread::yield_now();
            }
        }
    }

    /// The job that looks for more once held the file of a worker that was gone.
    #[test]
    fn an_ended_writer_has_let_go_of_its_file_at_once() {
        let fixture = fixture(Durability::Os);
        for round in 0..50 {
            let lock = FileLock::acquire(&fixture.path, "x").unwrap();
            let target = Arc::new(Target::existing(fixture.path.clone()).locked(lock));
            let writer = Writer::new(Durability::Os, Box::new(|_| {}));
            for _ in 0..round % 5 {
                let write = |buffer: &mut Vec<u8>| {
                    buffer.extend_from_slice(b"x\n");
                    Ok::<(), Infallible>(())
                };
                writer.push(&target, 1, 2, write).unwrap();
            }
            drop(target);
            writer.shared().end(Instant::now() + Duration::from_secs(20));
            assert!(!FileLock::path_for(&fixture.path).exists(), "round {round}");
        }
        assert_eq!(fixture.content().len(), 2 * 100);
    }

    #[test]
    fn an_idle_writer_is_flushed_at_once() {
        let fixture = fixture(Durability::Fsync);
        fixture.flush().unwrap();
        fixture.push("a");
        fixture.flush().unwrap();
        fixture.flush().unwrap();
        assert_eq!(fixture.content(), "a\n");
    }

    #[test]
    fn a_line_that_refuses_to_be_written_leaves_nothing() {
        let fixture = fixture(Durability::Os);
        let refuse = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(b"half a li");
            Err("refused")
        };
        assert_eq!(fixture.writer.push(&fixture.target, 1, 10, refuse), Err("refused"));
        fixture.push("whole");
        fixture.flush().unwrap();
        assert_eq!(fixture.content(), "whole\n");
    }

    #[test]
    fn a_file_that_is_gone_ends_the_writer_once() {
        let fixture = fixture(Durability::Os);
        fixture.push("a");
        fixture.flush().unwrap();
        std::fs::remove_file(&fixture.path).unwrap();
        fixture.push("b");
        fixture.push("c");
        assert_eq!(fixture.flush(), Ok(()));
        let failure = fixture.failures.recv().unwrap();
        assert_eq!(failure.error.code(), "ENOENT");
        assert!((1..=2).contains(&failure.dropped), "{}", failure.dropped);
        assert!(!fixture.push("d"));
        assert!(fixture.failures.try_recv().is_err());
        assert!(!fixture.path.exists());
        assert_eq!(fixture.writer.pending(), (0, 0));
    }

    #[test]
    fn a_file_that_became_a_directory_rejects_the_flush() {
        let fixture = fixture(Durability::Os);
        std::fs::remove_file(&fixture.path).unwrap();
        std::fs::create_dir(&fixture.path).unwrap();
        fixture.push("a");
        let flushed = fixture.flush();
        let failure = fixture.failures.recv().unwrap();
        assert_eq!(failure.error.code(), "EISDIR");
        // The write may have failed before the flush was asked for. An ended writer has nothing to flush, but says what is lost.
        assert!(flushed.is_ok() || flushed == Err(failure));
        assert_eq!((fixture.writer.unflushed(), fixture.writer.missing()), (Some(1), 1));
        assert!(!fixture.push("b"));
        fixture.writer.refuse(3);
        assert_eq!((fixture.writer.unflushed(), fixture.writer.missing()), (Some(5), 5));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_drops_what_it_did_not_take() {
        let fixture = fixture(Durability::Os);
        let full = Arc::new(Target::existing("/dev/full".into()));
        let write = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(b"x\n");
            Ok::<(), Infallible>(())
        };
        fixture.writer.push(&full, 1, 2, write).unwrap();
        fixture.flush().unwrap();
        let failure = fixture.failures.recv().unwrap();
        assert_eq!((failure.error.code(), failure.dropped), ("ENOSPC", 1));
    }

    #[test]
    fn lines_go_to_the_file_that_they_were_queued_for() {
        let fixture = fixture(Durability::Fsync);
        let other_path = fixture.path.with_extension("other");
        std::fs::write(&other_path, "").unwrap();
        fixture.push("a");
        let other = Arc::new(Target::existing(other_path.clone()));
        for (target, line) in [(&other, "b\n"), (&fixture.target, "c\n"), (&other, "d\n")] {
            let write = |buffer: &mut Vec<u8>| {
                buffer.extend_from_slice(line.as_bytes());
                Ok::<(), Infallible>(())
            };
            fixture.writer.push(target, 1, 2, write).unwrap();
        }
        fixture.flush().unwrap();
        assert_eq!(fixture.content(), "a\nc\n");
        assert_eq!(std::fs::read_to_string(other_path).unwrap(), "b\nd\n");
    }
}
