//! The writing thread. Each writer has its own, which no other work can occupy: in a pool whose threads are all blocked, the last records
//! would still be waiting when the process ends.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::sink::{Seam, Sink};
use super::{Failing, FlushDone, LAST_WRITES, SEGMENT_BYTES, Segment, Shared, State, Thread};
use super::{WriteError, WriteFailure};
use crate::disk::append::{SyncError, Target, Torn, Unsynced};
use crate::disk::{Durability, OsError};
use crate::task::threading;
use crate::task::threading::MutexGuard;

/// After a batch the thread polls for more lines for a while, so that a caller that records one event after another need not wake it for
/// each.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(1);
pub(super) const MAX_POLLS: u32 = 8;

/// How long the thread waits for more lines before it ends. Waking it costs a caller a tenth of what starting a new one costs.
const KEEP_THREAD: Duration = Duration::from_secs(1);

/// Why a batch was not written or not synced, and the file.
pub(super) type BatchError = (WriteError, PathBuf);

impl Shared {
    /// Waits until everything is written, at most until `deadline`. Returns whether everything is.
    pub fn drain(self: &Arc<Self>, deadline: Instant) -> bool {
        self.wait_until(deadline, State::is_written).is_some()
    }

    /// Calls what is to be done [before the end](super::Writer::before_the_end), on this thread. Not with a seam, for which it might wait.
    pub fn begin_to_end(&self) {
        let has_seam = self.state.lock().seam.is_some();
        if let Some(act) = self.before_the_end.get()
            && !has_seam
        {
            act();
        }
    }

    /// From now on each push waits until its lines are written: callers queue their last lines while the process ends.
    pub fn leave(self: &Arc<Self>) {
        self.state.lock().leaving = true;
        self.drain_before_the_end();
    }

    /// Waits for what was queued, as long as the end of a process may wait. If the disk does not answer within that time, the process does
    /// not wait for it again.
    #[cold]
    pub(super) fn drain_before_the_end(self: &Arc<Self>) {
        if !self.drain(Instant::now() + LAST_WRITES) {
            self.state.lock().leaving = false;
        }
    }

    /// Like [`drain`](Self::drain), for when no caller is left that could queue lines: also unlocks the file and ends the thread, which
    /// would otherwise poll for some milliseconds and keep the file locked for other recorders.
    pub fn end(self: &Arc<Self>, deadline: Instant) {
        let mut state = self.state.lock();
        (state.closed, state.ended) = (true, true);
        drop(state);
        let is_done = |state: &State| state.is_written() && !state.writing && !state.has_locks();
        drop(self.wait_until(deadline, is_done));
        self.work.notify_all();
    }

    fn wait_until(self: &Arc<Self>, deadline: Instant, is_done: fn(&State) -> bool) -> Option<MutexGuard<'_, State>> {
        let mut state = self.state.lock();
        while !is_done(&state) {
            let now = Instant::now();
            if now >= deadline || state.seam.is_some() {
                return None;
            }
            self.hurry(state);
            state = self.state.lock();
            if is_done(&state) {
                break;
            }
            // A missed signal must not cost the whole time until the deadline.
            let pause = (deadline - now).min(Duration::from_millis(20));
            self.progress.wait_for(&mut state, pause);
        }
        Some(state)
    }

    /// Makes sure that the thread is working.
    pub(super) fn start(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let before = std::mem::replace(&mut state.thread, Thread::Working);
        drop(state);
        match before {
            Thread::Working => {}
            Thread::Parked => {
                self.work.notify_one();
            }
            Thread::None => self.spawn(),
        }
    }

    /// Makes sure that the thread is working and does not pause.
    pub(super) fn hurry(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        (state.urgent, state.is_held) = (true, false);
        if state.thread == Thread::Working {
            // The thread may be pausing.
            self.work.notify_all();
        }
        self.start(state);
    }

    /// Starts the thread. If the system refuses it, the calling thread writes.
    fn spawn(self: &Arc<Self>) {
        let shared = self.clone();
        if threading::spawn("session-writer", move || shared.run()).is_err() {
            self.state.lock().urgent = true;
            self.work(Thread::None);
        }
    }

    /// The main loop of the thread.
    fn run(&self) {
        loop {
            self.work(Thread::Parked);
            if !self.wait_for_work() {
                return;
            }
        }
    }

    /// Waits for work. Returns false if none came for a while, or none will.
    fn wait_for_work(&self) -> bool {
        let until = Instant::now() + KEEP_THREAD;
        let (mut state, mut is_over) = (self.state.lock(), false);
        while state.thread == Thread::Parked {
            if is_over || state.closed || state.failed {
                state.thread = Thread::None;
                return false;
            }
            is_over = self.work.wait_until(&mut state, until).timed_out();
        }
        true
    }

    /// Writes what is queued, and then sets the state of the thread to `afterwards`. A panic counts as a failure to write, since callers
    /// that wait for the writer would otherwise wait forever.
    fn work(&self, afterwards: Thread) {
        if catch_unwind(AssertUnwindSafe(|| self.write_while_there_is_something(afterwards))).is_err() {
            self.fail(PANICKED.into(), None);
            let mut state = self.state.lock();
            (state.thread, state.writing) = (afterwards, false);
            self.close_if_done(state);
        }
        self.progress.notify_all();
    }

    /// Writes batch after batch, until there has been nothing to do for a while.
    fn write_while_there_is_something(&self, afterwards: Thread) {
        let mut polls = 0;
        let mut state = self.state.lock();
        loop {
            if state.failed {
                // What follows are only the locks of a writer that failed on a caller's thread.
            } else if (!state.queue.is_empty() && !state.is_held) || state.wants_sync(self.durability) {
                polls = 0;
                let mut batch = std::mem::take(&mut state.queue);
                state.writing = true;
                let tap = state.tap.clone();
                state.is_tapping = tap.is_some();
                drop(state);
                if let Some(tap) = tap {
                    self.tap_batch(&tap, &mut batch);
                }
                if let Err((error, path)) = self.write_batch(batch) {
                    self.fail(error, Some(path));
                }
                self.progress.notify_all();
                state = self.state.lock();
                state.writing = false;
                continue;
            } else if let Some(failing) = state.failing.clone() {
                // `failing` stays set until the writer has failed, so that meanwhile no lines are accepted and callers wait.
                state.writing = true;
                drop(state);
                self.fail_behind_what_was_queued(failing);
                state = self.state.lock();
                state.writing = false;
                continue;
            }
            let released = state.take_released(self.durability);
            if !released.is_empty() {
                // Those who wait for the end of the writer wait for this too.
                state.writing = true;
                drop(state);
                release(&released);
                drop(released);
                state = self.state.lock();
                state.writing = false;
            } else if !state.failed && polls < MAX_POLLS && !state.urgent {
                polls += 1;
                self.work.wait_for(&mut state, POLL_INTERVAL);
            } else {
                break;
            }
        }
        // Set under the same lock as the last check, so that a line queued from here on finds that no thread is working.
        (state.thread, state.urgent) = (afterwards, false);
        self.close_if_done(state);
    }

    /// Answers those who wait for the end of the writer if nothing is left to do.
    fn close_if_done(&self, mut state: MutexGuard<'_, State>) {
        let is_done = state.is_closed(self.durability) && state.targets.is_empty();
        let closes = if is_done { std::mem::take(&mut state.closes) } else { Vec::new() };
        drop(state);
        closes.into_iter().for_each(|done| done());
    }

    fn write_batch(&self, batch: VecDeque<Segment>) -> Result<(), BatchError> {
        let appended = self.append_batch(batch);
        if appended.is_err() {
            // Lines that are in the files become as durable as promised, even if the others could not be written.
            self.sync_if_promised().map_err(sync_failed)?;
        }
        appended?;
        let mut state = self.state.lock();
        let is_due = state.is_waited_for() || state.is_watched() || state.unsynced.is_full();
        if is_due && self.durability == Durability::Fsync {
            drop(state);
            state = self.sync().map_err(sync_failed)?;
        }
        // Also who asked during the sync: what it made durable is never synced again, and perhaps nothing follows.
        let (is_waited_for, is_watched) = (state.is_waited_for(), state.is_watched());
        drop(state);
        if is_watched {
            self.acknowledge();
        }
        if is_waited_for {
            self.answer_flushes();
        }
        Ok(())
    }

    fn append_batch(&self, batch: VecDeque<Segment>) -> Result<(), BatchError> {
        let seam = self.state.lock().seam.clone();
        let mut open: Option<Sink> = None;
        let mut append = |segment: Segment| {
            if open.as_ref().is_none_or(|sink| !Arc::ptr_eq(sink.target(), &segment.target)) {
                self.finish(open.take());
                open = self.open(&segment, seam.as_ref())?;
            }
            let Some(sink) = &mut open else { return Ok(()) };
            let path = segment.target.path().to_path_buf();
            let appended = sink.append(&segment.bytes);
            self.count_written(segment, appended).map_err(|error| (error.into(), path))
        };
        let appended = batch.into_iter().try_for_each(&mut append);
        self.finish(open);
        appended
    }

    /// Opens the file of a segment; `None` if the segment only announces it.
    fn open(&self, segment: &Segment, seam: Option<&Seam>) -> Result<Option<Sink>, BatchError> {
        let target = &segment.target;
        if segment.lines == 0 {
            // The next batch reports the error, if there is a next one.
            let _ = target.examine();
            return Ok(None);
        }
        Sink::open(target, seam).map(Some)
    }

    /// Ends appending to a file. With [`Durability::Fsync`], notes it as still to be synced.
    fn finish(&self, open: Option<Sink>) {
        if let Some((target, file)) = open.and_then(Sink::finish)
            && self.durability == Durability::Fsync
        {
            self.state.lock().unsynced.add(&target, file);
        }
    }

    fn count_written(&self, segment: Segment, appended: Result<u64, Torn>) -> Result<(), OsError> {
        let mut state = self.state.lock();
        let (lines, end) = appended.as_ref().map_or_else(|torn| (torn.lines, torn.end), |end| (segment.lines, *end));
        if let Some(acknowledgements) = &mut state.acknowledgements {
            acknowledgements.note(&segment.bytes, lines, end);
        }
        // A failure may have reset the counts to 0.
        state.pending_lines = state.pending_lines.saturating_sub(lines);
        state.pending_bytes = state.pending_bytes.saturating_sub(segment.bytes.len() as u64);
        state.written += lines;
        state.written_in_turn.0 += lines;
        state.written_in_turn.1 += segment.bytes.len() as u64;
        if segment.bytes.capacity() <= 2 * SEGMENT_BYTES {
            state.spare = segment.bytes;
            state.spare.clear();
        }
        appended.map(|_| ()).map_err(|torn| torn.error)
    }

    /// With [`Durability::Fsync`], syncs every file that was appended to since its last sync.
    fn sync_if_promised(&self) -> Result<(), SyncError> {
        if self.durability == Durability::Fsync {
            drop(self.sync()?);
        }
        Ok(())
    }

    /// Syncs every file that was appended to since its last sync. Returns the state that counts it, still locked.
    fn sync(&self) -> Result<MutexGuard<'_, State>, SyncError> {
        let mut state = self.state.lock();
        let (written, unsynced) = (state.written, std::mem::take(&mut state.unsynced));
        drop(state);
        unsynced.sync()?;
        let mut state = self.state.lock();
        state.synced = written;
        Ok(state)
    }

    /// Answers the flushes whose lines are flushed. Those requested during a sync share the next one.
    fn answer_flushes(&self) {
        let mut state = self.state.lock();
        let reached = state.reached(self.durability);
        let ready = state.take_flushes_until(reached);
        state.urgent = state.is_waited_for();
        drop(state);
        failpoint!("writer::before_answer");
        answer(ready, || Ok(()));
        failpoint!("writer::after_answer");
    }

    /// Stops the writer because of a failure that a caller has reported, after everything queued before it is written.
    fn fail_behind_what_was_queued(&self, Failing { error, path }: Failing) {
        match self.sync_if_promised() {
            Ok(()) => self.fail(error, path),
            Err((error, path)) => self.fail(error.into(), Some(path)),
        }
    }

    /// Stops the writer. Lines that are still queued are lost.
    fn fail(&self, error: WriteError, path: Option<PathBuf>) {
        let mut state = self.state.lock();
        let report = state.fail(self.durability, error, path);
        let released = state.take_released(self.durability);
        drop(state);
        release(&released);
        self.report(report);
    }

    /// Reports a failure, and answers the flushes that were waiting.
    pub(super) fn report(&self, report: Option<FailureReport>) {
        let Some(FailureReport { failure, reached, lost, queue }) = report else { return };
        drop(queue);
        (self.on_failure)(&failure);
        let mut state = self.state.lock();
        state.reporting = false;
        let asked_meanwhile = std::mem::take(&mut state.flushes);
        drop(state);
        answer(reached, || Ok(()));
        answer(lost, || if failure.is_environmental() { Ok(()) } else { Err(failure.clone()) });
        // Like flushes requested from now on: the caller learns of the failure from the hook.
        answer(asked_meanwhile, || Ok(()));
        self.progress.notify_all();
    }
}

/// What is left to do after a writer has failed, without its lock.
pub(super) struct FailureReport {
    failure: WriteFailure,
    /// The flushes of which everything is flushed, and the others.
    reached: Vec<(u64, FlushDone)>,
    lost: Vec<(u64, FlushDone)>,
    /// The lines that are lost, which are freed, and the files that are still to be synced, which are closed.
    queue: (VecDeque<Segment>, Unsynced),
}

impl State {
    /// Marks the writer as failed. Returns `None` if it is already.
    pub(super) fn fail(
        &mut self,
        durability: Durability,
        error: WriteError,
        path: Option<PathBuf>,
    ) -> Option<FailureReport> {
        if std::mem::replace(&mut self.failed, true) {
            return None;
        }
        let kept = self.reached(durability);
        let dropped = self.queued.saturating_sub(self.written);
        let failure = WriteFailure { error, path, dropped, kept };
        let queue = (std::mem::take(&mut self.queue), std::mem::take(&mut self.unsynced));
        (self.pending_lines, self.pending_bytes, self.failing, self.reporting) = (0, 0, None, true);
        (self.is_held, self.is_tapping) = (false, false);
        (self.spare, self.written_in_turn) = (Vec::new(), (0, 0));
        let reached = self.take_flushes_until(kept);
        let lost = std::mem::take(&mut self.flushes);
        Some(FailureReport { failure, reached, lost, queue })
    }

    /// Removes and returns the flushes for which `reached` lines are enough.
    fn take_flushes_until(&mut self, reached: u64) -> Vec<(u64, FlushDone)> {
        let (ready, waiting) =
            std::mem::take(&mut self.flushes).into_iter().partition(|(ticket, _)| *ticket <= reached);
        self.flushes = waiting;
        ready
    }
}

fn sync_failed((error, path): SyncError) -> BatchError {
    (error.into(), path)
}

const PANICKED: OsError =
    OsError { code: "UNKNOWN", message: "the background writer panicked", syscall: "write", path: None, errno: 0 };

fn answer(flushes: Vec<(u64, FlushDone)>, result: impl Fn() -> Result<(), WriteFailure>) {
    for (_, done) in flushes {
        done(result());
    }
}

fn release(targets: &[Arc<Target>]) {
    targets.iter().for_each(|target| target.unlock());
}
