//! The background writer: lines are queued on the caller's thread and appended on another thread.
//!
//! Lines are written in batches: while one batch is being written, the next one is collected. A batch is everything that is queued, in
//! segments that are written by one system call each.
//!
//! This is not a [`Pipeline`](crate::pipeline): the caller's thread must neither wait nor write, so the queue is unbounded but counts
//! its bytes for the caller, and the writing thread takes the whole queue at once.

mod acknowledgements;
mod sink;
mod taking_back;
mod tap;
mod thread;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::disk::{Durability, OsError};

use crate::disk::append::{Replaced, Target, Unsynced};
use crate::task::threading::{Condvar, Mutex, MutexGuard};
pub use acknowledgements::AcknowledgeHook;
use acknowledgements::Acknowledgements;
pub use sink::Seam;
pub(crate) use taking_back::OpenLine;
pub use taking_back::TakeBackError;
pub(crate) use tap::Tap;

/// Maximum size of a segment in bytes, unless one push is larger. Small enough for a quick write, large enough to make the cost of the
/// system call negligible.
const SEGMENT_BYTES: usize = 256 << 10;

/// How long the end of a process or worker waits for what was queued (`docs/session-format.md` section 3, rule 9).
pub const LAST_WRITES: Duration = Duration::from_secs(2);

/// Why a writer stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A system call failed.
    #[error("{0}")]
    System(#[from] OsError),
    /// Another recorder has locked the file.
    #[error("the session is being recorded by {}", if owner.is_empty() { "another recorder" } else { owner })]
    Locked {
        /// The owner in the lock file; empty if it is unknown.
        owner: String,
    },
    /// The lock of the session now belongs to another program, or is gone.
    #[error("the lock '{}' is no longer that of this recorder", lock.display())]
    LockLost {
        /// The lock file.
        lock: PathBuf,
    },
    /// No number is left for another record.
    #[error("the sequence numbers of the session are used up")]
    SequenceExhausted,
    /// The file is not the one that was recorded to, or has lost a part of it.
    #[error("'{}' {why}", path.display())]
    Replaced {
        /// How that is known.
        why: Replaced,
        /// The path of the file.
        path: PathBuf,
    },
    /// The session is archived, and could not be restored.
    #[error("{message}")]
    Archived {
        /// The code of the reason.
        code: &'static str,
        /// The reason.
        message: String,
    },
}

impl WriteError {
    /// The code by which programs tell errors apart.
    pub fn code(&self) -> &'static str {
        match self {
            WriteError::System(error) => error.code,
            WriteError::Locked { .. } => "ESESSIONLOCKED",
            WriteError::LockLost { .. } => "SessionLockLost",
            WriteError::SequenceExhausted => "SequenceExhausted",
            WriteError::Replaced { .. } => "FileReplaced",
            WriteError::Archived { code, .. } => code,
        }
    }
}

/// Why a writer stopped, and what is in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// The reason.
    pub error: WriteError,
    /// The file that could not be written, if there was one already.
    pub path: Option<PathBuf>,
    /// Number of queued lines that are not in the file.
    pub dropped: u64,
    /// Number of queued lines that are in the file, as durable as promised.
    pub kept: u64,
}

impl WriteFailure {
    /// Whether users should continue without a recording after this kind of failure: a full disk, missing permissions, a missing file
    /// (`docs/session-format.md` section 3, rule 6), or a session that another recorder has locked. Flushes report only other failures.
    pub fn is_environmental(&self) -> bool {
        const ENVIRONMENTAL: [&str; 9] =
            ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "ENOENT", "ENOTDIR", "ESESSIONLOCKED", "SessionLockLost"];
        ENVIRONMENTAL.contains(&self.error.code())
    }
}

type FlushDone = Box<dyn FnOnce(Result<(), WriteFailure>) + Send>;
type CloseDone = Box<dyn FnOnce() + Send>;
type FailureHook = Box<dyn Fn(&WriteFailure) + Send + Sync>;

/// Appends lines in the background. Dropping it loses nothing: queued lines are still written. Clones share the writer.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

/// The state that the callers and the writing thread share.
pub struct Shared {
    /// Consistent wherever code may panic, since it is still used after a panic.
    state: Mutex<State>,
    /// Signalled when the thread has something to do.
    work: Condvar,
    /// Signalled when a batch was written, and when the thread has nothing more to do.
    progress: Condvar,
    durability: Durability,
    on_failure: FailureHook,
    before_the_end: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// The state of the writer's thread.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Thread {
    /// There is no thread.
    #[default]
    None,
    /// It waits for a signal, and ends if none arrives for a while.
    Parked,
    /// It writes, or checks for more to write.
    Working,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Segment>,
    /// A buffer to be reused.
    spare: Vec<u8>,
    /// Number of lines and bytes that are queued or being written.
    pending_lines: u64,
    pending_bytes: u64,
    /// Number of lines and bytes that were written since the caller's event loop last turned.
    written_in_turn: (u64, u64),
    /// The offsets of the lines, if the caller wants acknowledgements.
    acknowledgements: Option<Acknowledgements>,
    /// What appends in the place of the system.
    seam: Option<Seam>,
    /// Who reads along.
    tap: Option<Tap>,
    /// The thread passes a batch to the tap.
    is_tapping: bool,
    /// The thread leaves the queue alone until someone hurries it.
    is_held: bool,
    /// Since the beginning: number of lines queued, or refused because the writer had failed; number of lines written; number of lines
    /// synced.
    queued: u64,
    written: u64,
    synced: u64,
    /// Requested flushes, each with the value that `queued` had then: it is answered once that many lines are flushed.
    flushes: Vec<(u64, FlushDone)>,
    closes: Vec<CloseDone>,
    thread: Thread,
    /// The thread is writing a batch and has the file open.
    writing: bool,
    /// A caller is waiting, so the thread does not pause.
    urgent: bool,
    failed: bool,
    /// The writer has failed, and the failure hook has not returned yet.
    reporting: bool,
    /// A failure that ends the writer as soon as everything queued before it is written.
    failing: Option<Failing>,
    /// Nothing more will be queued.
    closed: bool,
    /// The files that are locked while more may be written to them: the one that was announced last, and those before it until they are
    /// written. The last reference to a locked file is dropped by the writing thread, since releasing a lock takes time.
    targets: Vec<Arc<Target>>,
    /// The process or the worker is ending: no thread may get another chance to write, so a caller waits for its lines.
    leaving: bool,
    /// No caller is left: the files are released as soon as everything is written.
    ended: bool,
    /// With [`Durability::Fsync`], the files that were appended to since they were last synced.
    unsynced: Unsynced,
}

struct Segment {
    target: Arc<Target>,
    lines: u64,
    bytes: Vec<u8>,
    /// Number of bytes that were passed to the tap.
    tapped: usize,
}

/// A failure that a caller reports.
#[derive(Clone)]
struct Failing {
    error: WriteError,
    path: Option<PathBuf>,
}

impl Writer {
    /// A writer that has nothing to do yet. `on_failure` is called at most once, on the thread on which the failure occurs.
    pub fn new(durability: Durability, on_failure: FailureHook) -> Self {
        let (work, progress) = (Condvar::new(), Condvar::new());
        let state = Mutex::default();
        let before_the_end = OnceLock::new();
        Writer { shared: Arc::new(Shared { state, work, progress, durability, on_failure, before_the_end }) }
    }

    /// Calls `act` when the process or the worker begins to end, before what is queued is written. Without effect if the writer has such an act.
    pub fn before_the_end(&self, act: impl Fn() + Send + Sync + 'static) {
        let _ = self.shared.before_the_end.set(Box::new(act));
    }

    /// From now on batches go through `seam`, one at a time, and its errors are those of the disk. The end of the process does not wait for it: it may
    /// need the thread that waits.
    pub fn append_through(&self, seam: Seam) {
        self.shared.state.lock().seam = Some(seam);
    }

    /// Announces a file to which lines will be queued, so that the thread releases its lock. Examines the file if nothing is known
    /// about it.
    pub fn announce(&self, target: &Arc<Target>) {
        let mut state = self.shared.state.lock();
        if state.takes_no_more() {
            return;
        }
        if target.is_unknown() {
            state.segment_for(target, 0);
            self.shared.start(state);
        } else {
            state.hold(target);
        }
    }

    /// Queues `lines` lines for `target`, about `size` bytes in all. `write` appends them to the buffer that it is given, `\n` included.
    /// If `write` returns an error, nothing is queued. Returns false if the writer has failed: the lines are lost.
    pub fn push<E>(
        &self,
        target: &Arc<Target>,
        lines: u64,
        size: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut state = self.shared.state.lock();
        if state.takes_no_more() {
            state.queued += lines;
            return Ok(false);
        }
        let added = state.segment_for(target, size).add(lines, write)?;
        state.pending_lines += lines;
        state.pending_bytes += added as u64;
        state.queued += lines;
        let is_leaving = state.leaving;
        if !state.is_held {
            self.shared.start(state);
        } else {
            drop(state);
        }
        if is_leaving {
            self.shared.drain_before_the_end();
        }
        Ok(true)
    }

    /// Calls `done` when everything queued so far is in the file and, with [`Durability::Fsync`], on stable storage. Calls it before
    /// returning if that is the case already, or if the writer has failed and `on_failure` has returned.
    pub fn flush(&self, done: FlushDone) {
        let mut state = self.shared.state.lock();
        if !state.reporting && state.is_flushed(self.shared.durability) {
            drop(state);
            return done(Ok(()));
        }
        let ticket = state.queued;
        state.flushes.push((ticket, done));
        if !state.reporting {
            self.shared.hurry(state);
        }
    }

    /// Closes the writer: nothing more will be queued. Calls `done` when everything is written and flushed and the file is closed and
    /// unlocked, before returning if that is the case already.
    pub fn close(&self, done: CloseDone) {
        let mut state = self.shared.state.lock();
        state.closed = true;
        state.closes.push(done);
        if !state.is_closed(self.shared.durability) || state.has_locks() {
            return self.shared.hurry(state);
        }
        let closes = std::mem::take(&mut state.closes);
        drop(state);
        // Wakes a parked thread, which ends.
        self.shared.work.notify_all();
        closes.into_iter().for_each(|done| done());
    }

    /// Number of lines that were queued or refused since the beginning; `None` if a flush would have nothing to wait for and no failure
    /// to report.
    pub fn unflushed(&self) -> Option<u64> {
        let state = self.shared.state.lock();
        (state.failed || !state.is_flushed(self.shared.durability)).then_some(state.queued)
    }

    /// Counts `lines` lines as lost that the caller has not queued because the writer has failed.
    pub fn refuse(&self, lines: u64) {
        self.shared.state.lock().queued += lines;
    }

    /// Number of lines that are not in the file. After a failure they never will be.
    pub fn missing(&self) -> u64 {
        let state = self.shared.state.lock();
        state.queued.saturating_sub(state.written)
    }

    /// Number of lines and bytes that are not in the file yet.
    pub fn unwritten(&self) -> (u64, u64) {
        let state = self.shared.state.lock();
        (state.pending_lines, state.pending_bytes)
    }

    /// The caller's event loop turns: what is written by now is no longer [pending](Self::pending). Returns whether anything is.
    pub fn end_turn(&self) -> bool {
        let mut state = self.shared.state.lock();
        state.written_in_turn = (0, 0);
        state.pending_lines > 0
    }

    /// Number of lines and bytes that were not in the file when the caller's event loop last turned.
    pub fn pending(&self) -> (u64, u64) {
        let state = self.shared.state.lock();
        let (lines, bytes) = state.written_in_turn;
        (state.pending_lines + lines, state.pending_bytes + bytes)
    }

    /// Whether the writer has failed, or was stopped: no more lines are queued.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.shared.state.lock().takes_no_more()
    }

    /// Stops the writer because of a failure on the caller's side. Lines queued before are still written, and synced if that is
    /// promised; `unqueued` further lines are lost. Does no I/O on the caller's thread.
    pub fn fail(&self, error: WriteError, path: Option<PathBuf>, unqueued: u64) {
        let mut state = self.shared.state.lock();
        if state.takes_no_more() {
            return;
        }
        state.queued += unqueued;
        if state.is_idle() {
            let report = state.fail(self.shared.durability, error, path);
            self.release_elsewhere(state);
            return self.shared.report(report);
        }
        state.failing = Some(Failing { error, path });
        self.shared.hurry(state);
    }

    /// Stops the writer at once, because the file is no longer this writer's: lines that are still queued are lost, and so are `unqueued`
    /// further ones.
    pub fn abandon(&self, error: WriteError, path: Option<PathBuf>, unqueued: u64) {
        let mut state = self.shared.state.lock();
        if state.failed {
            return;
        }
        state.queued += unqueued;
        let report = state.fail(self.shared.durability, error, path);
        self.release_elsewhere(state);
        self.shared.report(report);
    }

    /// Lets the writer's thread release the locks, if there are any.
    fn release_elsewhere(&self, state: MutexGuard<'_, State>) {
        if state.has_locks() {
            self.shared.hurry(state);
        }
    }

    /// The shared state: a handle with which the writer can be drained and ended even after it was dropped.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl State {
    fn takes_no_more(&self) -> bool {
        self.failed || self.failing.is_some()
    }

    /// Whether nothing is being written, and nothing is left to be written or synced.
    fn is_idle(&self) -> bool {
        self.pending_lines == 0 && !self.writing && self.unsynced.is_empty()
    }

    /// Whether all lines are in the file, or the failure that keeps them out of it is reported.
    fn is_written(&self) -> bool {
        self.pending_lines == 0 && self.failing.is_none() && !self.reporting
    }

    fn is_flushed(&self, durability: Durability) -> bool {
        self.failed || (self.failing.is_none() && self.reached(durability) >= self.queued)
    }

    /// Whether nothing more will be written, and nothing is left to be written or synced.
    fn is_closed(&self, durability: Durability) -> bool {
        self.closed && !self.writing && self.queue.is_empty() && self.is_flushed(durability)
    }

    fn has_locks(&self) -> bool {
        self.targets.iter().any(|target| target.is_locked())
    }

    /// Keeps a file locked until the thread releases it.
    #[inline]
    fn hold(&mut self, target: &Arc<Target>) {
        if !self.targets.last().is_some_and(|last| Arc::ptr_eq(last, target)) {
            self.targets.push(target.clone());
        }
    }

    /// Removes and returns the files that are no longer needed.
    fn take_released(&mut self, durability: Durability) -> Vec<Arc<Target>> {
        if self.failed || self.is_closed(durability) || (self.ended && self.is_written()) {
            return std::mem::take(&mut self.targets);
        }
        let is_done = self.queue.is_empty() && self.targets.len() > 1;
        let last = self.targets.len().saturating_sub(1);
        self.targets.drain(..if is_done { last } else { 0 }).collect()
    }

    fn is_waited_for(&self) -> bool {
        !self.flushes.is_empty() || !self.closes.is_empty()
    }

    fn wants_sync(&self, durability: Durability) -> bool {
        durability == Durability::Fsync && self.synced < self.written && (self.is_waited_for() || self.is_watched())
    }

    /// The segment to which `size` bytes for `target` are appended: the last one if they fit, otherwise a new one.
    fn segment_for(&mut self, target: &Arc<Target>, size: usize) -> &mut Segment {
        let fits = |last: &Segment| Arc::ptr_eq(&last.target, target) && last.bytes.len() + size <= SEGMENT_BYTES;
        if !self.queue.back().is_some_and(fits) {
            self.hold(target);
            let mut bytes = std::mem::take(&mut self.spare);
            bytes.reserve(size);
            self.queue.push_back(Segment { target: target.clone(), lines: 0, bytes, tapped: 0 });
        }
        let last = self.queue.len() - 1;
        &mut self.queue[last]
    }
}

impl Drop for Shared {
    /// Without a thread, for the writer of a recorder that was collected as garbage: its locks are released on a thread of their own.
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if state.has_locks() {
            let targets = std::mem::take(&mut state.targets);
            let _ = crate::task::background::spawn_thread(move || drop(targets));
        }
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
mod tests;

#[cfg(test)]
#[cfg(feature = "interleavings")]
mod interleavings;
