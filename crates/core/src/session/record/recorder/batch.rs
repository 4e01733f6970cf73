//! Items that are recorded together, or not at all, and can be taken back until something else is recorded.

use std::sync::Arc;

use super::{Buffered, Kind, Record, Recorded, Recorder, State, append_rest};
use crate::disk::append::Target;
use crate::json::Payload;
use crate::lines::TakeBackError;
use crate::session::format::envelope;

/// Records that are serialised, and have no numbers yet.
pub struct Prepared(Vec<Buffered>);

/// Records that can be taken back.
pub(super) struct Batch {
    /// The number of the last of them.
    last: f64,
    records: usize,
    /// The lines that were queued for them, if any were: those that had waited for the file too.
    queued: Option<(Arc<Target>, u64, u64)>,
    /// What had waited for the file, if they have created it.
    waited: Option<Vec<Buffered>>,
}

impl Recorder {
    /// Serialises `content` records.
    pub fn prepare<P: Payload>(
        &self,
        payloads: impl IntoIterator<Item = P>,
        milliseconds: f64,
    ) -> Result<Prepared, P::Error> {
        let state = &mut *self.lock();
        let buffered = |payload: P| {
            let record = Record { type_json: b"\"content\"", milliseconds, payload: Some(payload) };
            let mut rest = Vec::with_capacity(record.size());
            let version = append_rest(&mut rest, record, &mut state.clock)?;
            Ok(Buffered { kind: Kind::Line, version, rest })
        };
        payloads.into_iter().map(buffered).collect::<Result<_, _>>().map(Prepared)
    }

    /// The number of bytes that are [pending](Self::pending), and that of these records if they are recorded next.
    pub fn weigh(&self, prepared: &Prepared) -> (u64, u64) {
        let (_, pending) = self.pending();
        (pending, size_of(&prepared.0, self.last_number()))
    }

    /// Records what was prepared, and creates the file. Returns the last record; `None` if the recorder is inactive. With `is_open`, the records can
    /// be [taken back](Self::roll_back) until another one is recorded or the batch is [ended](Self::finalize): until then the writer leaves them alone,
    /// unless it is to flush.
    pub fn record_prepared(&self, prepared: Prepared, milliseconds: f64, is_open: bool) -> Option<Recorded> {
        let state = &mut *self.lock();
        if state.disposed || self.writer.has_failed() {
            self.writer.refuse(prepared.0.len() as u64);
            return None;
        }
        self.end_batch(state);
        if is_open {
            self.writer.hold();
        }
        let Prepared(records) = prepared;
        state.version = records.last().map_or(state.version, |last| last.version);
        let (before, count) = (state.seq, records.len());
        let mut batch = Batch { last: state.last_number() + count as f64, records: count, queued: None, waited: None };
        match state.target.clone() {
            _ if state.streaming.is_some() => {
                self.want_file(state);
                state.buffered.extend(records);
            }
            Some(target) => {
                let size = size_of(&records, before);
                let Ok(true) = self.push_together::<&[u8]>(state, &target, &records, None) else { return None };
                batch.queued = Some((target, count as u64, size));
            }
            None => {
                batch.waited = is_open.then(|| state.buffered.clone());
                state.buffered.extend(records);
                let (lines, size) = (state.buffered.len() as u64, state.buffered_size());
                let Ok(true) = self.create_file::<&[u8]>(state, milliseconds, None) else { return None };
                batch.queued = state.target.clone().map(|target| (target, lines, size));
            }
        }
        let recorded = Recorded { seq: batch.last, version: state.version as u8 };
        state.batch = is_open.then_some(batch);
        Some(recorded)
    }

    /// Records of the batch that ends with this number can no longer be taken back.
    pub fn finalize(&self, last: f64) {
        let mut state = self.lock();
        if is_open(&state, last) {
            self.end_batch(&mut state);
        }
    }

    /// Takes the records of the batch back that ends with this number: numbers, queue and file are as before. Returns false if they can't be taken back
    /// any more.
    pub fn roll_back(&self, last: f64) -> Result<bool, TakeBackError> {
        let state = &mut *self.lock();
        if !is_open(state, last) {
            return Ok(false);
        }
        let Some(batch) = state.batch.take() else { return Ok(false) };
        let Some((target, lines, bytes)) = batch.queued.clone() else {
            let left = state.buffered.len().saturating_sub(batch.records);
            state.buffered.truncate(left);
            self.writer.release();
            return Ok(true);
        };
        let was_tapped = match self.writer.take_back(&target, lines, bytes) {
            Ok(was_tapped) => was_tapped,
            Err(error) => {
                state.batch = Some(batch);
                return Err(error);
            }
        };
        self.writer.release();
        if was_tapped {
            self.forget_history(state);
        }
        state.seq -= lines as f64;
        if let Some(waited) = batch.waited {
            self.discard_file(state, waited);
        }
        Ok(true)
    }

    /// The file that was just created is not, and these records wait for it again.
    pub(super) fn discard_file(&self, state: &mut State, waiting: Vec<Buffered>) {
        if let Some(target) = state.target.take() {
            self.writer.discard(&target);
        }
        (state.path, state.buffered) = (None, waiting);
        self.forget_history(state);
    }

    /// The history in force is read again before the next comparison.
    pub(super) fn forget_history(&self, state: &mut State) {
        if state.in_force.take().is_some() {
            self.writer.tap_with(None);
        }
    }

    /// What follows ends the batch.
    #[inline]
    pub(super) fn end_batch(&self, state: &mut State) {
        if state.batch.take().is_some() {
            self.writer.release();
        }
    }
}

fn is_open(state: &State, last: f64) -> bool {
    state.batch.as_ref().is_some_and(|batch| batch.last == last)
}

/// The size of records that follow the number `after`, as they will be in the file.
pub(super) fn size_of(records: &[Buffered], after: f64) -> u64 {
    let mut head = Vec::new();
    let numbered = records.iter().zip(1u32..).map(|(record, number)| {
        head.clear();
        envelope::begin(&mut head, record.version, after + f64::from(number));
        head.len() + record.rest.len()
    });
    numbered.sum::<usize>() as u64
}
