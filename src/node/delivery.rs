//! Delivering a replay: what survives goes to V8 in parts, while the scan goes on.
//!
//! A part costs V8 several times what scanning it cost, so nothing is delivered that a `compressed` event may still throw away
//! soon: items leave when the scan is [`RUN_AHEAD`] bytes further, or has come to the end. What is taken back later all the same
//! is cut off by the next part's `keep`.

use std::ops::Range;
use std::sync::Arc;

use super::json::JsonText;
use super::text::Text;
use crate::jsonl::source::{ReadError, Source};
use crate::session::fold::SessionEventRef;
use crate::session::history::ItemRef;
use crate::session::replay::{Outcome, Replay, ReplayError};

/// How far the scan must be ahead of an item that is delivered before the end: several times the size of what
/// agents let gather between two compressions.
const RUN_AHEAD: u64 = 4 << 20;

/// About how much text V8 parses in one turn of the event loop.
const PART_BYTES: usize = 256 << 10;

/// Items that lie closer to each other are read from the file together.
const READ_TOGETHER: u64 = 16 << 10;

/// Takes the parts.
pub trait Consumer {
    /// Whether another part would be taken without waiting.
    fn has_room(&self) -> bool;
    /// Takes a part, as soon as there is room. False if nobody is there any more.
    fn take(&self, part: Text) -> bool;
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
        Err(error) => delivery.send(failure(&error)),
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
    fn early_part(&mut self, replay: &Replay) -> Result<Option<Text>, ReplayError> {
        let settled = replay.scanned().saturating_sub(RUN_AHEAD);
        let ready = self.undelivered(replay);
        let ready = &ready[..ready.partition_point(|item| item.offset < settled)];
        let count = part_length(ready);
        if count < ready.len() {
            return self.part(replay, count, 0).map(|part| Some(self.close(part, replay)));
        }
        let news = self.options.progress && replay.scanned() - self.reported >= 1 << 20;
        Ok(news.then(|| {
            let part = self.begin();
            self.close(part, replay)
        }))
    }

    /// Delivers what is left, and the result.
    fn finish(&mut self, replay: &Replay, mut error: Option<ReplayError>) -> Result<(), Gone> {
        while error.is_none() {
            let items = self.undelivered(replay);
            let (count, all) = (part_length(items), items.len());
            let all_events = replay.session_events().len() - self.events;
            let events = if count == all { all_events.min(EVENTS_IN_A_PART) } else { 0 };
            match self.part(replay, count, events) {
                Ok(part) if count == all && events == all_events => {
                    return self.send_last(part, replay, replay.outcome(None));
                }
                Ok(part) => {
                    let part = self.close(part, replay);
                    self.send(part)?;
                }
                Err(failed) => error = Some(failed),
            }
        }
        self.send_last(self.begin(), replay, replay.outcome(error))
    }

    fn undelivered<'r>(&self, replay: &'r Replay) -> &'r [ItemRef] {
        match self.options.items {
            Items::All => replay.items().get(self.items..).unwrap_or_default(),
            Items::OnDemand => &[],
        }
    }

    /// Delivers a range of items, the last part saying that it is the last.
    fn send_range(&mut self, replay: &Replay, range: Range<usize>) -> Result<(), Gone> {
        let items = replay.items().get(range.clone()).unwrap_or_default();
        self.items = range.start;
        let mut sent = 0;
        loop {
            let count = part_length(&items[sent..]);
            let mut part = match self.part(replay, count, 0) {
                Ok(part) => part,
                Err(error) => return self.send(failure(&error)),
            };
            sent += count;
            if sent == items.len() {
                part.syntax(",\"warnings\":[]");
            }
            let part = self.close(part, replay);
            self.send(part)?;
            if sent == items.len() {
                return Ok(());
            }
        }
    }

    fn begin(&self) -> JsonText {
        let mut part = JsonText::with_capacity(PART_BYTES + (PART_BYTES >> 3));
        part.syntax("{\"keep\":");
        part.number(self.items as f64);
        part
    }

    /// The next `count` items and `events` session events, not closed yet.
    fn part(&mut self, replay: &Replay, count: usize, events: usize) -> Result<JsonText, ReplayError> {
        let mut part = self.begin();
        let items = &replay.items()[self.items..self.items + count];
        if count > 0 {
            part.syntax(",\"count\":");
            part.number(count as f64);
            part.syntax(",\"history\":[");
            append_items(&mut part, items, replay.source())?;
            part.syntax("]");
        }
        if events > 0 {
            part.syntax(",\"sessionEvents\":[");
            let wanted = &replay.session_events()[self.events..self.events + events];
            append_session_events(&mut part, wanted, replay.source(), self.options.audit_trail)?;
            part.syntax("]");
        }
        self.items += count;
        self.events += events;
        Ok(part)
    }

    fn close(&mut self, mut part: JsonText, replay: &Replay) -> Text {
        self.reported = replay.scanned();
        append_progress(&mut part, self.reported, replay.source().size());
        part.syntax("}");
        part.finish()
    }

    fn send_last(&mut self, mut part: JsonText, replay: &Replay, outcome: Outcome<'_>) -> Result<(), Gone> {
        let size = replay.source().size();
        append_progress(&mut part, size, size);
        append_outcome(&mut part, &outcome);
        part.syntax(",\"historyLength\":");
        part.number(replay.items().len() as f64);
        part.syntax("}");
        self.send(part.finish())
    }

    fn send(&mut self, part: Text) -> Result<(), Gone> {
        if self.consumer.take(part) { Ok(()) } else { Err(Gone) }
    }
}

/// Session events are short; their messages rarely are not.
const EVENTS_IN_A_PART: usize = 1000;

/// How many of the items make a part: as many as fit, at least one.
fn part_length(items: &[ItemRef]) -> usize {
    let mut bytes = 0;
    let full = items.iter().position(|item| {
        bytes += item.length as usize;
        bytes > PART_BYTES
    });
    full.map_or(items.len(), |at| at.max(1))
}

fn append_items(part: &mut JsonText, items: &[ItemRef], source: &Source) -> Result<(), ReadError> {
    let mut scratch = Vec::new();
    let mut rest = items;
    let mut first = true;
    while !rest.is_empty() {
        let together = read_together(rest);
        let (now, later) = rest.split_at(together);
        let start = now[0].offset;
        let end = now[together - 1].offset + u64::from(now[together - 1].length);
        let bytes = source.bytes_at(start, (end - start) as usize, &mut scratch)?;
        for item in now {
            if !std::mem::take(&mut first) {
                part.syntax(",");
            }
            let at = (item.offset - start) as usize;
            part.raw(&bytes[at..at + item.length as usize]);
        }
        rest = later;
    }
    Ok(())
}

/// How many of the items lie so close together that one read is cheaper than several.
fn read_together(items: &[ItemRef]) -> usize {
    let gap = |pair: &[ItemRef]| pair[1].offset - (pair[0].offset + u64::from(pair[0].length));
    items.windows(2).position(|pair| gap(pair) > READ_TOGETHER).map_or(items.len(), |at| at + 1)
}

fn append_session_events(
    part: &mut JsonText,
    events: &[SessionEventRef],
    source: &Source,
    audit_trail: bool,
) -> Result<(), ReadError> {
    let mut scratch = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let mut value = |span: crate::jsonl::scan::Span| {
            source.bytes_at(event.line_offset + u64::from(span.start), span.len(), &mut scratch).map(<[u8]>::to_vec)
        };
        part.syntax(if index == 0 { "{\"severity\":" } else { ",{\"severity\":" });
        part.string(event.severity.as_str());
        part.syntax(",\"message\":");
        part.raw(&value(event.message)?);
        if let (true, Some(ts)) = (audit_trail, event.ts) {
            part.syntax(",\"timestamp\":");
            part.raw(&value(ts)?);
        }
        if let (true, Some(seq)) = (audit_trail, event.seq) {
            part.syntax(",\"seq\":");
            part.number(seq);
        }
        part.syntax("}");
    }
    Ok(())
}

fn append_progress(part: &mut JsonText, bytes: u64, total: u64) {
    part.syntax(",\"bytes\":");
    part.number(bytes as f64);
    part.syntax(",\"total\":");
    part.number(total.max(bytes) as f64);
}

fn append_outcome(part: &mut JsonText, outcome: &Outcome<'_>) {
    match &outcome.metadata {
        Err(error) => {
            part.syntax(",\"error\":");
            part.message(&error.message());
        }
        Ok(metadata) => {
            let values = [
                (",\"metadata\":{\"sessionId\":", metadata.session_id),
                (",\"projectHash\":", metadata.project_hash),
                (",\"provider\":", metadata.provider),
                (",\"model\":", metadata.model),
                (",\"workspaceDirs\":", metadata.workspace_dirs),
                (",\"startTime\":", metadata.start_time),
            ];
            for (key, value) in values {
                part.syntax(key);
                part.raw(value);
            }
            part.syntax("},\"lastSeq\":");
            part.number(outcome.last_seq);
            part.syntax(",\"eventCount\":");
            part.number(outcome.event_count as f64);
        }
    }
    part.syntax(",\"warnings\":");
    part.array(&outcome.warnings, |part, warning| part.message(warning));
}

fn failure(error: &ReplayError) -> Text {
    let mut part = JsonText::default();
    part.syntax("{\"keep\":0,\"error\":");
    part.message(&error.message());
    part.syntax(",\"warnings\":[]}");
    part.finish()
}
