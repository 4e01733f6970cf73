//! The batches of a replay: the items that history still has go to V8 while the scan goes on.
//!
//! A batch costs V8 several times as much as scanning it, so nothing is sent that a `compressed` event may soon remove: items are sent
//! when the scan is [`RUN_AHEAD`] bytes further, or at the end. If one is removed later all the same, the next batch's `keep`
//! cuts it off.

use std::ops::Range;
use std::sync::Arc;

use super::batch_builder::{BatchBuilder, Belonging, batch_length, checkpoint_json, failure, metadata_json};
use super::job::{Batch, Closed, JobEnd, Progress, ProgressReporter, Sender};
use super::message_json::message_json;
use super::reading::every;
use crate::session::history::ItemRef;
use crate::session::replay::{Outcome, Replay, ReplayError};

/// How far the scan must be ahead of an item that is sent before the end: several times the size of what agents let gather between
/// two compressions.
const RUN_AHEAD: u64 = 4 << 20;

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct SessionOptions {
    /// Which items are sent.
    pub items: Items,
    /// Session events get their time and number.
    pub audit_trail: bool,
    /// Batches tell how far the scan is, also when they have nothing else.
    pub progress: bool,
}

/// Which items are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// All, with the result.
    All,
    /// None: they are asked for later.
    OnDemand,
}

/// Replays to the end and sends the result. The replay is given to `keep` when it is done. Returns the end of the job, which has
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

/// Sends the items of a replay that is done. Returns the end of the job, which has the last of them.
pub fn send_items(replay: &Replay, range: Range<usize>, sender: &Sender) -> Result<JobEnd, Closed> {
    let items = replay.items().get(range).unwrap_or_default();
    let mut sent = 0;
    loop {
        let mut batch = BatchBuilder::new(sent);
        match batch.append_items(&items[sent..], replay.source()) {
            Ok(count) => sent += count,
            Err(error) => return Ok(failure(&ReplayError::from(error).message())),
        }
        if sent == items.len() {
            return Ok(batch.finish_items());
        }
        sender.send(batch.finish())?;
    }
}

/// The end of a job that sends nothing else: the whole of a replay that is done. `None` if that is too much for a batch, or an item can't
/// be read.
pub fn whole_replay(replay: &Replay, audit_trail: bool) -> Option<JobEnd> {
    let (items, events) = (replay.items(), replay.session_events());
    let mut batch = BatchBuilder::new(0);
    let is_whole = batch.append_items(items, replay.source()).ok()? == items.len()
        && batch.append_events(events, replay.source(), audit_trail).ok()? == events.len();
    let outcome = replay.outcome(None);
    let has_all = is_whole && outcome_values(&outcome).all(|(belonging, json)| batch.append(belonging, &json));
    has_all.then(|| batch.finish_outcome(&outcome, items.len()))
}

struct SessionBatches<'s> {
    options: SessionOptions,
    sender: &'s Sender,
    reporter: ProgressReporter<'s>,
    /// Items and session events that were sent and are still wanted.
    items: usize,
    events: usize,
}

impl<'s> SessionBatches<'s> {
    fn new(options: SessionOptions, sender: &'s Sender) -> Self {
        let reporter = ProgressReporter::new(sender, every(options.progress));
        SessionBatches { options, sender, reporter, items: 0, events: 0 }
    }

    fn run(mut self, mut replay: Replay, keep: impl FnOnce(Arc<Replay>)) -> Result<JobEnd, Closed> {
        let scanned = loop {
            if self.sender.is_cancelled() {
                return Err(Closed);
            }
            match replay.scan_on() {
                Ok(Some(kept)) => {
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
            // That may be why the scan has failed. No handle will be left to close the file.
            return Err(Closed);
        }
        if scanned.is_ok() {
            replay.keep_snapshot();
        }
        replay.settle();
        let replay = Arc::new(replay);
        keep(replay.clone());
        self.finish(&replay, scanned.err())
    }

    /// Sends what can be sent while the scan goes on, as far as there is room for it.
    fn send_early(&mut self, replay: &mut Replay) -> Result<Result<(), ReplayError>, Closed> {
        while self.sender.has_room() {
            match self.early_batch(replay) {
                Ok(None) => break,
                Ok(Some(batch)) => self.sender.send(batch)?,
                Err(error) => return Ok(Err(error)),
            }
            // From now on V8 needs a core too, and is the slower part.
            replay.spare(1);
        }
        Ok(Ok(()))
    }

    /// A full batch of items that are unlikely to be removed, if there is one; or just progress.
    fn early_batch(&mut self, replay: &Replay) -> Result<Option<Batch>, ReplayError> {
        let settled = replay.scanned().saturating_sub(RUN_AHEAD);
        let ready = self.unsent(replay);
        let ready = &ready[..ready.partition_point(|item| item.offset < settled)];
        let mut batch = self.begin();
        if batch_length(ready) < ready.len() {
            self.items += batch.append_items(ready, replay.source())?;
        } else if !self.reporter.is_due(replay.scanned()) {
            return Ok(None);
        }
        Ok(Some(self.close(batch, replay)))
    }

    /// Sends what is left. Returns the end of the job, which has the result.
    fn finish(mut self, replay: &Replay, mut error: Option<ReplayError>) -> Result<JobEnd, Closed> {
        let mut batch = self.begin();
        while error.is_none() {
            match self.append_next(&mut batch, replay) {
                Ok(()) if self.is_done(replay) => break,
                Ok(()) => {
                    let full = self.close(batch, replay);
                    self.sender.send(full)?;
                    batch = self.begin();
                }
                Err(failed) => {
                    error = Some(failed);
                    batch = self.begin();
                }
            }
        }
        self.send_outcome(batch, replay, &replay.outcome(error))
    }

    /// Appends what comes next: items first, session events behind the last of them.
    fn append_next(&mut self, batch: &mut BatchBuilder, replay: &Replay) -> Result<(), ReplayError> {
        self.items += batch.append_items(self.unsent(replay), replay.source())?;
        if self.unsent(replay).is_empty() {
            let events = &replay.session_events()[self.events..];
            self.events += batch.append_events(events, replay.source(), self.options.audit_trail)?;
        }
        Ok(())
    }

    fn is_done(&self, replay: &Replay) -> bool {
        self.unsent(replay).is_empty() && self.events == replay.session_events().len()
    }

    fn unsent<'r>(&self, replay: &'r Replay) -> &'r [ItemRef] {
        match self.options.items {
            Items::All => replay.items().get(self.items..).unwrap_or_default(),
            Items::OnDemand => &[],
        }
    }

    fn begin(&self) -> BatchBuilder {
        BatchBuilder::new(self.items)
    }

    fn close(&mut self, mut batch: BatchBuilder, replay: &Replay) -> Batch {
        let progress = Progress { bytes: replay.scanned(), total: replay.source().size(), files: None };
        if let Some(progress) = self.reporter.advance(progress) {
            batch.tell_progress(progress);
        }
        batch.finish()
    }

    /// Sends the result: the checkpoints, the metadata or why there is none, and the warnings. They quote the file, so they may be any
    /// length.
    fn send_outcome(
        mut self,
        mut batch: BatchBuilder,
        replay: &Replay,
        outcome: &Outcome<'_>,
    ) -> Result<JobEnd, Closed> {
        for (belonging, json) in outcome_values(outcome) {
            if !batch.append(belonging, &json) {
                let full = std::mem::replace(&mut batch, self.begin());
                self.sender.send(full.finish())?;
                batch.append(belonging, &json);
            }
        }
        let total = replay.source().size();
        self.reporter.advance(Progress { bytes: total, total, files: None });
        Ok(self.reporter.finish(batch.finish_outcome(outcome, replay.items().len())))
    }
}

/// The checkpoints, the results and the warnings.
fn outcome_values(outcome: &Outcome<'_>) -> impl Iterator<Item = (Belonging, Vec<u8>)> {
    let checkpoints = outcome.checkpoints.iter().map(|one| (Belonging::Checkpoint, checkpoint_json(one)));
    let results = results_json(outcome).chain(outcome.warnings.iter().map(message_json));
    checkpoints.chain(results.map(|json| (Belonging::Result, json)))
}

/// Why there is no result, or the metadata, and the session's name and ancestry if it has any.
fn results_json(outcome: &Outcome<'_>) -> impl Iterator<Item = Vec<u8>> {
    let (metadata, more) = match &outcome.metadata {
        Ok(metadata) => (metadata_json(metadata), [outcome.session_name, outcome.ancestry]),
        Err(error) => (message_json(&error.message()), [None, None]),
    };
    std::iter::once(metadata).chain(more.into_iter().flatten().map(<[u8]>::to_vec))
}
