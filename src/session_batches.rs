//! The batches of a replay: items of the history go to V8 while the scan goes on.
//!
//! Building a batch takes V8 several times as long as scanning it, so items that a `compressed` event may soon remove are not sent: an
//! item is sent when the scan is a [number of bytes](RUN_AHEAD) ahead of it, or at the end. If an item is removed later anyway, `keep` in
//! the next batch cuts it off.

use std::ops::Range;
use std::sync::Arc;

use super::batch_builder::{
    BatchBuilder, Belonging, append_checkpoint, append_metadata, append_unknown_events, batch_length, failure,
};
use super::job::{Batch, Closed, JobEnd, Progress, ProgressReporter, Sender};
use super::json::JsonText;
use super::message_json::message_json;
use super::reading::every;
use super::tape::{ItemTape, ItemTapes, Replay};
use session_tape_core::session::fold::ItemRef;
use session_tape_core::session::read::{Outcome, ReplayError};

/// Number of bytes by which the scan must be ahead of an item for it to be sent before the end, while no item has been removed. It is
/// small, so that JavaScript begins early: in most sessions nothing is ever removed.
const RUN_AHEAD: u64 = 1 << 20;

/// The same after items were removed: several times the size to which agents let a history grow between two compressions.
const RUN_AHEAD_AFTER_REMOVAL: u64 = 4 << 20;

/// Maximum size, in bytes, of laid-out items that wait for JavaScript, if it is slower than the scan.
const MAX_WAITING: usize = 16 << 20;

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct SessionOptions {
    /// Which items are sent.
    pub items: Items,
    /// Whether session events have their time and number.
    pub audit_trail: bool,
    /// Whether batches report how far the scan is, even if they contain nothing else.
    pub progress: bool,
    /// Whether the result has the hashes of the items.
    pub hashes: bool,
}

/// Which items are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// All, together with the result.
    All,
    /// No items: they are read on demand later.
    OnDemand,
}

/// Replays to the end and sends the result. Passes the replay to `keep` when it has finished. Returns the end of the job, which contains
/// the result.
pub fn send_replay(
    replay: Result<Replay, ReplayError>,
    options: SessionOptions,
    sender: &Sender,
    keep: impl FnOnce(Arc<Replay>),
) -> Result<JobEnd, Closed> {
    match replay {
        Ok(replay) => SessionBatches::new(options, sender).run(replay, keep),
        Err(error) => Ok(failure(&error.message())),
    }
}

/// Sends items of a finished replay. Returns the end of the job, which contains the last of them.
pub fn send_items(replay: &Replay, range: Range<usize>, sender: &Sender) -> Result<JobEnd, Closed> {
    let items = replay.items().get(range).unwrap_or_default();
    let (mut sent, mut batch) = (0, BatchBuilder::default());
    loop {
        batch.begin(sent);
        match batch.append_items(&items[sent..], replay.markers(), replay.source()) {
            Ok(count) => sent += count,
            Err(error) => return Ok(failure(&ReplayError::from(error).message())),
        }
        if sent == items.len() {
            return Ok(batch.finish_items());
        }
        sender.send(batch.finish())?;
    }
}

/// A whole finished replay as the end of a job that sends nothing else. Returns `None` if it does not fit in a batch, or if an item can't
/// be read.
pub fn whole_replay(replay: &Replay, audit_trail: bool, hashes: bool) -> Option<JobEnd> {
    let (items, events) = (replay.items(), replay.session_events());
    let mut batch = BatchBuilder::default();
    batch.begin(0);
    let is_whole = batch.append_items(items, replay.markers(), replay.source()).ok()? == items.len()
        && batch.append_events(events, replay.source(), audit_trail).ok()? == events.len();
    let outcome = replay.outcome(None);
    let has_all = is_whole && outcome_values(&outcome).all(|(belonging, json)| batch.append(belonging, &json));
    has_all.then(|| batch.finish_outcome(&outcome, replay, hashes))
}

struct SessionBatches<'s> {
    options: SessionOptions,
    sender: &'s Sender,
    reporter: ProgressReporter<'s>,
    /// Numbers of items and session events that were sent and not removed since.
    items: usize,
    events: usize,
    run_ahead: u64,
    batch: BatchBuilder,
}

impl<'s> SessionBatches<'s> {
    fn new(options: SessionOptions, sender: &'s Sender) -> Self {
        let reporter = ProgressReporter::new(sender, every(options.progress));
        SessionBatches {
            options,
            sender,
            reporter,
            items: 0,
            events: 0,
            run_ahead: RUN_AHEAD,
            batch: BatchBuilder::default(),
        }
    }

    fn run(mut self, mut replay: Replay, keep: impl FnOnce(Arc<Replay>)) -> Result<JobEnd, Closed> {
        let scanned = loop {
            if self.sender.is_cancelled() {
                return Err(Closed);
            }
            let length = replay.items().len();
            match replay.scan_on() {
                Ok(Some(kept)) => {
                    if kept < length {
                        self.run_ahead = RUN_AHEAD_AFTER_REMOVAL;
                    }
                    self.items = self.items.min(kept);
                    if let Err(error) = self.send_early(&mut replay)? {
                        break Err(error);
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if self.sender.is_cancelled() {
            // The scan may have failed because of that. There will be no handle with which to close the file.
            return Err(Closed);
        }
        let tapes = std::mem::take(replay.laid_out());
        replay.settle();
        let replay = Arc::new(replay);
        keep(replay.clone());
        self.finish(&replay, tapes, scanned.err())
    }

    /// Sends batches during the scan, while there is room in the queue or too many laid-out items wait.
    fn send_early(&mut self, replay: &mut Replay) -> Result<Result<(), ReplayError>, Closed> {
        while self.sender.has_room() || replay.laid_out().bytes() > MAX_WAITING {
            match self.early_batch(replay) {
                Ok(None) => break,
                Ok(Some(batch)) => self.sender.send(batch)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }

    /// A full batch of items that are unlikely to be removed, if there is one, or just the progress if it is due.
    fn early_batch(&mut self, replay: &mut Replay) -> Result<Option<Batch>, ReplayError> {
        let settled = replay.scanned().saturating_sub(self.run_ahead);
        let ready = unsent(replay, self.options.items, self.items);
        // Any item of an edited history may change again.
        let is_edited = replay.is_edited();
        let ready = if is_edited { 0 } else { ready.partition_point(|item| item.offset < settled) };
        let laid_out = replay.laid_out().next_items(self.items);
        let gap = laid_out.as_ref().map_or(ready, |items| ready.min(items.start - self.items));
        self.batch.begin(self.items);
        if let Some(items) = laid_out.filter(|items| gap == 0 && items.len() <= ready)
            && let Some(tape) = replay.laid_out().take_next()
        {
            self.items = items.end;
            self.report_progress(replay);
            return Ok(Some(self.batch.finish_laid_out(tape)));
        }
        let missing = &replay.items()[self.items..self.items + gap];
        if batch_length(missing) < gap || (gap > 0 && gap < ready) {
            self.items += self.batch.append_items(missing, replay.markers(), replay.source())?;
        } else if !self.reporter.is_due(replay.scanned()) {
            return Ok(None);
        }
        self.report_progress(replay);
        Ok(Some(self.batch.finish()))
    }

    /// Sends the rest. Returns the end of the job, which contains the result.
    fn finish(
        mut self,
        replay: &Replay,
        mut tapes: ItemTapes,
        mut error: Option<ReplayError>,
    ) -> Result<JobEnd, Closed> {
        self.batch.begin(self.items);
        while error.is_none() {
            let laid_out = tapes.next_items(self.items);
            let is_next = laid_out.as_ref().is_some_and(|items| items.start == self.items);
            if let Some(tape) = is_next.then(|| tapes.take_next()).flatten() {
                self.send_laid_out(tape, replay)?;
                continue;
            }
            match self.append_next(replay, laid_out.map(|items| items.start)) {
                Ok(()) if self.is_done(replay) => break,
                Ok(()) => self.send_batch(replay)?,
                Err(failed) => {
                    error = Some(failed);
                    self.batch.begin(self.items);
                }
            }
        }
        self.send_outcome(replay, &replay.outcome(error))
    }

    /// Sends the current batch, and the laid-out items after it.
    fn send_laid_out(&mut self, tape: ItemTape, replay: &Replay) -> Result<(), Closed> {
        if !self.batch.is_empty() {
            self.send_batch(replay)?;
        }
        self.items = tape.items.end;
        self.report_progress(replay);
        self.sender.send(self.batch.finish_laid_out(tape))?;
        self.batch.begin(self.items);
        Ok(())
    }

    fn send_batch(&mut self, replay: &Replay) -> Result<(), Closed> {
        self.report_progress(replay);
        self.sender.send(self.batch.finish())?;
        self.batch.begin(self.items);
        Ok(())
    }

    /// Appends the next values: items up to index `end`, from which on they are laid out; after the last item, session events.
    fn append_next(&mut self, replay: &Replay, end: Option<usize>) -> Result<(), ReplayError> {
        let unsent = unsent(replay, self.options.items, self.items);
        let missing = end.map_or(unsent, |end| &unsent[..end - self.items]);
        self.items += self.batch.append_items(missing, replay.markers(), replay.source())?;
        if self.unsent(replay).is_empty() {
            let events = &replay.session_events()[self.events..];
            self.events += self.batch.append_events(events, replay.source(), self.options.audit_trail)?;
        }
        Ok(())
    }

    fn is_done(&self, replay: &Replay) -> bool {
        self.unsent(replay).is_empty() && self.events == replay.session_events().len()
    }

    fn unsent<'r>(&self, replay: &'r Replay) -> &'r [ItemRef] {
        unsent(replay, self.options.items, self.items)
    }

    fn report_progress(&mut self, replay: &Replay) {
        let progress = Progress { bytes: replay.scanned(), total: replay.source().size(), files: None };
        if let Some(progress) = self.reporter.advance(progress) {
            self.batch.report_progress(progress);
        }
    }

    /// Sends the result: the checkpoints, the metadata or the error, and the warnings. They quote the file, so they can have any length.
    fn send_outcome(mut self, replay: &Replay, outcome: &Outcome<'_>) -> Result<JobEnd, Closed> {
        for (belonging, json) in outcome_values(outcome) {
            if !self.batch.append(belonging, &json) {
                self.sender.send(self.batch.finish())?;
                self.batch.begin(self.items);
                self.batch.append(belonging, &json);
            }
        }
        let total = replay.source().size();
        self.reporter.advance(Progress { bytes: total, total, files: None });
        Ok(self.reporter.finish(self.batch.finish_outcome(outcome, replay, self.options.hashes)))
    }
}

fn unsent(replay: &Replay, wanted: Items, sent: usize) -> &[ItemRef] {
    match wanted {
        Items::All => replay.items().get(sent..).unwrap_or_default(),
        Items::OnDemand => &[],
    }
}

/// The checkpoints; the metadata, followed by the session's name, its ancestry, the frontier of its last purge and its unknown events, if it has
/// them, or else the error; and the warnings.
fn outcome_values(outcome: &Outcome<'_>) -> impl Iterator<Item = (Belonging, Vec<u8>)> {
    let text = |append: &dyn Fn(&mut JsonText)| {
        let mut json = JsonText::default();
        append(&mut json);
        json.into_bytes()
    };
    let mut results = Vec::new();
    match &outcome.metadata {
        Ok(metadata) => {
            results.push(text(&|json| append_metadata(json, metadata)));
            let more = [outcome.session_name, outcome.ancestry, outcome.purge_frontier];
            results.extend(more.into_iter().flatten().map(<[u8]>::to_vec));
            let unknown = outcome.unknown_events.as_deref();
            results.extend(unknown.map(|unknown| text(&|json| append_unknown_events(json, unknown))));
        }
        Err(error) => results.push(message_json(&error.message())),
    }
    let checkpoint = move |one| (Belonging::Checkpoint, text(&|json| append_checkpoint(json, one)));
    let results = results.into_iter().chain(outcome.warnings.iter().map(message_json));
    outcome.checkpoints.iter().map(checkpoint).chain(results.map(|json| (Belonging::Result, json)))
}
