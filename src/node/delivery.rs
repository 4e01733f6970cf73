//! Delivering a replay: what survives goes to V8 in parts, while the scan goes on.
//!
//! A part costs V8 several times what scanning it cost, so nothing is delivered that a `compressed` event may still throw away
//! soon: items leave when the scan is [`RUN_AHEAD`] bytes further, or has come to the end. What is taken back later all the same
//! is cut off by the next part's `keep`.

use std::ops::Range;
use std::sync::Arc;

use super::draft::{Belonging, Draft, failure, metadata_json, part_length};
use super::message_json::message_json;
use super::parts::Part;
use crate::session::history::ItemRef;
use crate::session::message::Message;
use crate::session::replay::{Outcome, Replay, ReplayError};

/// How far the scan must be ahead of an item that is delivered before the end: several times the size of what
/// agents let gather between two compressions.
const RUN_AHEAD: u64 = 4 << 20;

/// Takes the parts.
pub trait Consumer {
    /// Whether another part would be taken without waiting.
    fn has_room(&self) -> bool;
    /// Takes a part, as soon as there is room. False if nobody is there any more.
    fn take(&self, part: impl Into<Part>) -> bool;
    /// Whether nobody wants any more.
    fn is_cancelled(&self) -> bool;
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryOptions {
    /// Which items are delivered.
    pub items: Items,
    /// Session events get their time and number.
    pub audit_trail: bool,
    /// Parts tell how far the scan is, also when they have nothing else.
    pub progress: bool,
}

/// Which items are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// All, with the result.
    All,
    /// None: they are asked for later.
    OnDemand,
}

/// Replays to the end and delivers the result. The replay is given to `keep` before its last part is delivered.
pub fn deliver(
    replay: Result<Replay, ReplayError>,
    options: DeliveryOptions,
    consumer: &impl Consumer,
    keep: impl FnOnce(Arc<Replay>),
) {
    let mut delivery = Delivery::new(options, consumer);
    // Either way there is nobody left to tell if this fails.
    let _ = match replay {
        Ok(replay) => delivery.run(replay, keep),
        Err(error) => delivery.send_failure(&error.message()),
    };
}

/// Delivers the items of a replay that is done.
pub fn deliver_items(replay: &Replay, range: Range<usize>, consumer: &impl Consumer) {
    let options = DeliveryOptions { items: Items::All, audit_trail: false, progress: false };
    let mut delivery = Delivery::new(options, consumer);
    let _ = delivery.send_range(replay, range);
}

/// Nobody takes the parts any more.
struct Gone;

struct Delivery<'a, C> {
    options: DeliveryOptions,
    consumer: &'a C,
    /// Items and session events that were delivered and are still wanted.
    items: usize,
    events: usize,
    /// How far the scan was when progress was last told.
    reported: u64,
}

impl<'a, C: Consumer> Delivery<'a, C> {
    fn new(options: DeliveryOptions, consumer: &'a C) -> Self {
        Delivery { options, consumer, items: 0, events: 0, reported: 0 }
    }

    fn run(&mut self, mut replay: Replay, keep: impl FnOnce(Arc<Replay>)) -> Result<(), Gone> {
        let scanned = loop {
            if self.consumer.is_cancelled() {
                return Err(Gone);
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
        if self.consumer.is_cancelled() {
            // That may be why the scan has failed. No handle will be left to close the file.
            return Err(Gone);
        }
        if scanned.is_ok() {
            replay.keep_snapshot();
        }
        replay.settle();
        let replay = Arc::new(replay);
        keep(replay.clone());
        self.finish(&replay, scanned.err())
    }

    /// Delivers what can be delivered while the scan goes on, as far as there is room for it.
    fn send_early(&mut self, replay: &mut Replay) -> Result<Result<(), ReplayError>, Gone> {
        while self.consumer.has_room() {
            match self.early_part(replay) {
                Ok(None) => break,
                Ok(Some(part)) => self.send(part)?,
                Err(error) => return Ok(Err(error)),
            }
            // From now on V8 is at work too, and it is what everyone waits for.
            replay.spare(1);
        }
        Ok(Ok(()))
    }

    /// A full part of items that are unlikely to be taken back, if there is one; or just news of the scan.
    fn early_part(&mut self, replay: &Replay) -> Result<Option<Part>, ReplayError> {
        let settled = replay.scanned().saturating_sub(RUN_AHEAD);
        let ready = self.undelivered(replay);
        let ready = &ready[..ready.partition_point(|item| item.offset < settled)];
        let mut draft = self.begin();
        if part_length(ready) < ready.len() {
            self.items += draft.append_items(ready, replay.source())?;
        } else if !self.options.progress || replay.scanned() - self.reported < 1 << 20 {
            return Ok(None);
        }
        Ok(Some(self.close(draft, replay)))
    }

    /// Delivers what is left, and the result.
    fn finish(&mut self, replay: &Replay, mut error: Option<ReplayError>) -> Result<(), Gone> {
        let mut draft = self.begin();
        while error.is_none() {
            match self.append_next(&mut draft, replay) {
                Ok(()) if self.is_done(replay) => break,
                Ok(()) => {
                    let part = self.close(draft, replay);
                    self.send(part)?;
                    draft = self.begin();
                }
                Err(failed) => {
                    error = Some(failed);
                    draft = self.begin();
                }
            }
        }
        self.send_outcome(draft, replay, &replay.outcome(error))
    }

    /// Appends what comes next: items first, session events behind the last of them.
    fn append_next(&mut self, draft: &mut Draft, replay: &Replay) -> Result<(), ReplayError> {
        self.items += draft.append_items(self.undelivered(replay), replay.source())?;
        if self.undelivered(replay).is_empty() {
            let events = &replay.session_events()[self.events..];
            self.events += draft.append_events(events, replay.source(), self.options.audit_trail)?;
        }
        Ok(())
    }

    fn is_done(&self, replay: &Replay) -> bool {
        self.undelivered(replay).is_empty() && self.events == replay.session_events().len()
    }

    fn undelivered<'r>(&self, replay: &'r Replay) -> &'r [ItemRef] {
        match self.options.items {
            Items::All => replay.items().get(self.items..).unwrap_or_default(),
            Items::OnDemand => &[],
        }
    }

    /// Delivers the items of a range, and that they were all.
    fn send_range(&mut self, replay: &Replay, range: Range<usize>) -> Result<(), Gone> {
        let items = replay.items().get(range).unwrap_or_default();
        let mut sent = 0;
        loop {
            let mut draft = Draft::new(sent);
            match draft.append_items(&items[sent..], replay.source()) {
                Ok(count) => sent += count,
                Err(error) => return self.send_failure(&ReplayError::from(error).message()),
            }
            if sent == items.len() {
                return self.send(draft.finish_last());
            }
            self.send(draft.finish())?;
        }
    }

    fn begin(&self) -> Draft {
        Draft::new(self.items)
    }

    fn close(&mut self, mut draft: Draft, replay: &Replay) -> Part {
        self.reported = replay.scanned();
        draft.tell_progress(self.reported, replay.source().size());
        draft.finish()
    }

    /// Delivers the result: the metadata or why there is none, and the warnings. They quote the file, so they may be any length.
    fn send_outcome(&mut self, mut draft: Draft, replay: &Replay, outcome: &Outcome<'_>) -> Result<(), Gone> {
        let result = match &outcome.metadata {
            Ok(metadata) => metadata_json(metadata),
            Err(error) => message_json(&error.message()),
        };
        for json in std::iter::once(result).chain(outcome.warnings.iter().map(message_json)) {
            if !draft.append(Belonging::Result, &json) {
                let full = std::mem::replace(&mut draft, self.begin());
                self.send(full.finish())?;
                draft.append(Belonging::Result, &json);
            }
        }
        let size = replay.source().size();
        draft.tell_progress(size, size);
        draft.tell_outcome(outcome, replay.items().len());
        self.send(draft.finish_last())
    }

    fn send_failure(&mut self, message: &Message<'_>) -> Result<(), Gone> {
        self.send(failure(message))
    }

    fn send(&mut self, part: impl Into<Part>) -> Result<(), Gone> {
        if self.consumer.take(part) { Ok(()) } else { Err(Gone) }
    }
}
