//! Acknowledgements: which lines are in the file, as durable as promised, and where they end.

use std::sync::Arc;

use super::{Shared, State, Writer};
use crate::disk::Durability;

/// Called on the writing thread after a batch. Must not wait for the writer.
pub type AcknowledgeHook = Arc<dyn Fn() + Send + Sync>;

/// The acknowledgements of a writer whose caller wants them.
pub(super) struct Acknowledgements {
    hook: AcknowledgeHook,
    /// For each line that was written, the offset in its file at which it ends.
    ends: Vec<u64>,
    /// The caller waits until so many lines are acknowledged: not for a batch that ends while it begins to wait.
    pub(super) watched: Option<u64>,
    /// The caller wants to know of every batch.
    is_observed: bool,
}

impl Acknowledgements {
    /// Forgets the lines after the first `lines`.
    pub(super) fn forget_after(&mut self, lines: u64) {
        self.ends.truncate(lines as usize);
    }

    /// Notes where the first `count` of these lines end, the last of them at `end`.
    pub(super) fn note(&mut self, lines: &[u8], count: u64, end: u64) {
        let first = self.ends.len();
        self.ends.extend(memchr::memchr_iter(b'\n', lines).take(count as usize).map(|at| at as u64 + 1));
        let noted = &mut self.ends[first..];
        let from = end.saturating_sub(noted.last().copied().unwrap_or(0));
        noted.iter_mut().for_each(|relative| *relative += from);
    }
}

impl Writer {
    /// From now on `hook` is called after batches that are [watched](Self::watch) or [observed](Self::observe), and
    /// [`line_end`](Self::line_end) is known. Must be called before the first line is queued.
    pub fn acknowledge_with(&self, hook: AcknowledgeHook) {
        let none = Acknowledgements { hook, ends: Vec::new(), watched: None, is_observed: false };
        self.shared.state.lock().acknowledgements = Some(none);
    }

    /// Lets queued lines wait until they are watched or flushed, so that all lines of one turn of the caller are one batch.
    pub fn hold(&self) {
        self.shared.state.lock().is_held = true;
    }

    /// Writes what is queued, syncs it if that is promised, and then calls the hook, once. Returns true if nothing is queued and everything
    /// is acknowledged; the next batch calls the hook then.
    pub fn watch(&self) -> bool {
        let mut state = self.shared.state.lock();
        let is_flushed = state.is_flushed(self.shared.durability);
        let has_failed = state.failed;
        let lines = state.queued + u64::from(is_flushed);
        if let Some(acknowledgements) = &mut state.acknowledgements {
            acknowledgements.watched = Some(lines);
        }
        if is_flushed || has_failed {
            state.is_held = false;
        } else {
            self.shared.hurry(state);
        }
        is_flushed
    }

    /// From now on every batch is synced, if that is promised, and calls the hook.
    pub fn observe(&self) {
        if let Some(acknowledgements) = &mut self.shared.state.lock().acknowledgements {
            acknowledgements.is_observed = true;
        }
    }

    /// Number of lines that were queued since the beginning.
    pub fn queued(&self) -> u64 {
        self.shared.state.lock().queued
    }

    /// Number of lines that are acknowledged: they are in the file, and with [`Durability::Fsync`] on stable storage.
    pub fn acknowledged(&self) -> u64 {
        self.shared.state.lock().reached(self.shared.durability)
    }

    /// The offset in its file at which a line ended when it was written; `None` before it is acknowledged. `line` counts the lines that were
    /// queued, from 0.
    pub fn line_end(&self, line: u64) -> Option<u64> {
        let state = self.shared.state.lock();
        let ends = &state.acknowledgements.as_ref()?.ends;
        let is_acknowledged = line < state.reached(self.shared.durability);
        is_acknowledged.then(|| ends.get(line as usize).copied()).flatten()
    }

    /// The line that ended at this offset when it was written, among those of a file of which `first` was the first one.
    pub fn line_ending_at(&self, first: u64, end: u64) -> Option<u64> {
        let state = self.shared.state.lock();
        let ends = state.acknowledgements.as_ref()?.ends.get(first as usize..)?;
        ends.binary_search(&end).ok().map(|at| first + at as u64)
    }
}

impl State {
    /// Number of lines that are as durable as promised.
    pub(super) fn reached(&self, durability: Durability) -> u64 {
        if durability == Durability::Fsync { self.synced } else { self.written }
    }

    /// Whether someone wants to know of the next batch.
    pub(super) fn is_watched(&self) -> bool {
        self.acknowledgements.as_ref().is_some_and(|one| one.watched.is_some() || one.is_observed)
    }
}

impl Shared {
    /// Calls the hook after a batch, if someone wants to know.
    pub(super) fn acknowledge(&self) {
        let mut state = self.state.lock();
        let reached = state.reached(self.durability);
        let Some(acknowledgements) = &mut state.acknowledgements else { return };
        let is_reached = acknowledgements.watched.take_if(|lines| *lines <= reached).is_some();
        if !is_reached && !acknowledgements.is_observed {
            return;
        }
        let hook = acknowledgements.hook.clone();
        drop(state);
        hook();
    }
}
