//! Builds batches: selects the values of each batch and puts them on its tape.

use super::job::{Batch, JobEnd, OutputTape, Progress};
use super::json::{JsonText, finished};
use super::message_json::{append_shown, message_json};
use super::tape::{FinishedTape, ItemTape, OwnText, Replay, TAPE_BYTES, TapeBuilder};
use session_tape_core::json::Span;
use session_tape_core::lines::{LineSource, ReadError};
use session_tape_core::session::fold::{Checkpoint, ItemRef, NewMarker, SessionEventRef};
use session_tape_core::session::format::Message;
use session_tape_core::session::read::{CurrentMetadata, Outcome};
use session_tape_core::session::record::ItemHash;

/// Approximate number of bytes of the file whose values are built in one turn of the event loop.
const BATCH_BYTES: usize = TAPE_BYTES;

/// Maximum gap, in bytes, between items that are read from the file together.
const READ_TOGETHER: u64 = 16 << 10;

/// The categories of values, in their order in a batch.
#[derive(Clone, Copy, Debug)]
pub enum Belonging {
    /// An item of the history.
    Item,
    /// A session event.
    Event,
    /// A checkpoint.
    Checkpoint,
    /// The error if there is no result, otherwise the metadata, the session's name and its ancestry if it has them; then the
    /// warnings.
    Result,
}

/// Builds one batch after the other. A single value can have any length: it is put on the tape, whose total size is not limited.
#[derive(Default)]
pub struct BatchBuilder {
    json: JsonText,
    tape: TapeBuilder,
    /// The number of values of each category, and the size of their JSON texts in bytes.
    counts: [usize; 4],
    bytes: usize,
}

impl BatchBuilder {
    /// Begins a batch that follows the first `items` items of the history.
    pub fn begin(&mut self, items: usize) {
        self.tape.clear();
        (self.counts, self.bytes) = ([0; 4], 0);
        self.json = JsonText::default();
        self.json.open();
        self.json.member("keep", &items);
    }

    /// Appends a value. Returns `false` if the batch is full.
    #[inline]
    pub fn append(&mut self, belonging: Belonging, json: &[u8]) -> bool {
        let is_empty = self.counts == [0; 4];
        if !is_empty && (self.bytes + json.len() > BATCH_BYTES || self.tape.has_full_pools()) {
            return false;
        }
        // Items are shown and dropped together. But metadata and warnings that a caller keeps must not keep a whole page of items
        // in memory.
        let pushed =
            if matches!(belonging, Belonging::Item) { self.tape.push(json) } else { self.tape.push_apart(json) };
        if !pushed {
            return false;
        }
        self.bytes += json.len();
        self.counts[belonging as usize] += 1;
        true
    }

    /// Appends as many items as fit. Returns their number.
    pub fn append_items(
        &mut self,
        items: &[ItemRef],
        markers: &[NewMarker],
        source: &LineSource,
    ) -> Result<usize, ReadError> {
        let (mut scratch, mut json) = (Vec::new(), Vec::new());
        let (mut rest, mut appended) = (&items[..batch_length(items)], 0);
        if self.is_empty() {
            self.tape.reserve(rest.iter().map(|item| item.length as usize).sum());
        }
        while !rest.is_empty() {
            let together = read_together(rest);
            let (now, later) = rest.split_at(together);
            let start = now[0].offset;
            let end = now[together - 1].offset + u64::from(now[together - 1].length);
            let bytes = source.bytes_at(start, (end - start) as usize, &mut scratch)?;
            for item in now {
                let at = (item.offset - start) as usize;
                let mut text = &bytes[at..at + item.length as usize];
                if item.marker.is_some() {
                    json.clear();
                    item.append_to(&mut json, markers, source)?;
                    text = &json;
                }
                if !self.append(Belonging::Item, text) {
                    return Ok(appended);
                }
                appended += 1;
            }
            rest = later;
        }
        Ok(appended)
    }

    /// Appends as many session events as fit. Returns their number.
    pub fn append_events(
        &mut self,
        events: &[SessionEventRef],
        source: &LineSource,
        audit_trail: bool,
    ) -> Result<usize, ReadError> {
        for (index, event) in events.iter().enumerate() {
            if !self.append(Belonging::Event, &session_event_json(event, source, audit_trail)?) {
                return Ok(index);
            }
        }
        Ok(events.len())
    }

    /// Whether the batch has no values.
    pub fn is_empty(&self) -> bool {
        self.tape.count() == 0
    }

    /// Finishes a batch without values by adding items that are already laid out. More batches follow.
    pub fn finish_laid_out(&mut self, ItemTape { items, tape, .. }: ItemTape) -> Batch {
        let mut json = std::mem::take(&mut self.json);
        describe(&mut json, &tape, [items.len(), 0, 0, 0]);
        json.close();
        Batch { text: finished(json), tape: Some(output_of(tape)) }
    }

    /// Appends the progress of the replay.
    pub fn report_progress(&mut self, progress: Progress) {
        progress.append_to(&mut self.json);
    }

    /// Finishes the batch. More batches follow.
    pub fn finish(&mut self) -> Batch {
        let (mut json, tape) = self.take_parts();
        json.close();
        Batch { text: finished(json), tape }
    }

    /// Finishes the last batch of a job that reads items.
    pub fn finish_items(mut self) -> JobEnd {
        let (json, tape) = self.take_parts();
        JobEnd::done_behind(json, tape, |json| json.raw(b"{}"))
    }

    /// Finishes the last batch of a job whose replay has this outcome, with the hashes of the items if they are wanted and can be read.
    pub fn finish_outcome(mut self, outcome: &Outcome<'_>, replay: &Replay, hashes: bool) -> JobEnd {
        if outcome.metadata.is_err() {
            return self.finish_failed();
        }
        let (json, tape) = self.take_parts();
        let members = |json: &mut JsonText| {
            json.key("lastSeq").number(outcome.last_seq);
            json.member("eventCount", &outcome.event_count);
            json.member("historyLength", &replay.items().len());
            json.member("sequenceCorrupt", &outcome.is_out_of_sequence);
            json.member("isNamed", &outcome.session_name.is_some());
            json.member("isFork", &outcome.ancestry.is_some());
            json.member("isPurged", &outcome.purge_frontier.is_some());
            json.member("isStrict", &outcome.unknown_events.is_some());
            let invalidated: Vec<_> = replay.invalidated().collect();
            if !invalidated.is_empty() {
                json.member("invalidated", &invalidated);
            }
            if let Some(Ok(hashes)) = hashes.then(|| ItemHash::of_history(replay)) {
                json.member("hashes", &ItemHash::to_text(hashes));
            }
        };
        JobEnd::done_behind(json, tape, |json| json.object(members))
    }

    fn finish_failed(mut self) -> JobEnd {
        let (json, tape) = self.take_parts();
        JobEnd::done_behind(json, tape, |json| json.raw(br#"{"failed":true}"#))
    }

    /// The open JSON object of the batch, and its tape.
    fn take_parts(&mut self) -> (JsonText, Option<OutputTape>) {
        let mut json = std::mem::take(&mut self.json);
        if self.tape.count() == 0 {
            return (json, None);
        }
        let tape = self.tape.finish();
        describe(&mut json, &tape, self.counts);
        (json, Some(output_of(tape)))
    }
}

/// Appends what is to be known of a tape, with the numbers of its values by category.
pub fn describe(json: &mut JsonText, tape: &FinishedTape, counts: [usize; 4]) {
    for (key, count) in ["items", "events", "checkpoints", "results"].into_iter().zip(counts) {
        json.member(key, &count);
    }
    if !tape.wide.units().is_empty() {
        json.member("wide", &true);
    }
    json.key("names").array(|json| tape.names().for_each(|name| json.text(name)));
    // For each shape, the number of the shape that it extends, and its last key.
    json.key("shapes").array(|json| {
        for (extended, key) in tape.shapes.iter() {
            json.value(&extended);
            json.text(key);
        }
    });
}

/// A tape for JavaScript.
pub fn output_of(tape: FinishedTape) -> OutputTape {
    let texts = tape.texts.into_iter().map(|text| {
        Some(match text {
            OwnText::Narrow(text) => text.into(),
            OwnText::Wide(text) => text.into(),
            OwnText::Json(json) => finished(json),
        })
    });
    OutputTape { texts: texts.collect(), codes: tape.codes, narrow: tape.narrow.into(), wide: tape.wide.into() }
}

/// The end of a job that has no result, for the reason in `message`.
pub fn failure(message: &Message<'_>) -> JobEnd {
    let mut batch = BatchBuilder::default();
    batch.begin(0);
    batch.append(Belonging::Result, &message_json(message));
    batch.finish_failed()
}

/// The number of items that make a batch: as many as fit, at least one.
pub fn batch_length(items: &[ItemRef]) -> usize {
    let mut bytes = 0;
    let full = items.iter().position(|item| {
        bytes += item.length as usize;
        bytes > BATCH_BYTES
    });
    full.map_or(items.len(), |at| at.max(1))
}

/// The number of items that lie so close together that one read is cheaper than several.
fn read_together(items: &[ItemRef]) -> usize {
    // Items of an edited history need not be in the order of the file.
    let gap = |pair: &[ItemRef]| pair[1].offset.checked_sub(pair[0].offset + u64::from(pair[0].length));
    let is_apart = |pair: &[ItemRef]| gap(pair).is_none_or(|gap| gap > READ_TOGETHER);
    items.windows(2).position(is_apart).map_or(items.len(), |at| at + 1)
}

fn session_event_json(event: &SessionEventRef, source: &LineSource, audit_trail: bool) -> Result<Vec<u8>, ReadError> {
    let mut json = JsonText::default();
    json.open();
    json.member("severity", event.severity.as_str());
    let mut append = |key, span: Span| {
        let at = event.line_offset + u64::from(span.start);
        source.append_bytes_at(at, span.len(), json.key(key).buffer())
    };
    append("message", event.message)?;
    if let (true, Some(ts)) = (audit_trail, event.ts) {
        append("timestamp", ts)?;
    }
    if let (true, Some(seq)) = (audit_trail, event.seq) {
        json.key("seq").number(seq);
    }
    json.close();
    Ok(json.into_bytes())
}

/// Appends a checkpoint.
pub fn append_checkpoint(json: &mut JsonText, checkpoint: &Checkpoint<'_>) {
    json.object(|json| {
        json.key("checkpointId").raw(checkpoint.id);
        json.key("name").raw(checkpoint.name);
        json.key("sequence").number(checkpoint.sequence);
        json.member("deleted", &checkpoint.deleted);
        json.key("createdAt").raw(checkpoint.created_at);
    });
}

/// Appends the metadata of a session.
pub fn append_metadata(json: &mut JsonText, metadata: &CurrentMetadata<'_>) {
    let members = [
        ("sessionId", Some(metadata.session_id)),
        ("projectHash", Some(metadata.project_hash)),
        ("provider", Some(metadata.provider)),
        ("model", Some(metadata.model)),
        ("workspaceDirs", Some(metadata.workspace_dirs)),
        ("startTime", Some(metadata.start_time)),
        ("cwd", metadata.cwd),
        ("title", metadata.title),
        ("kind", metadata.kind),
        ("parentSessionId", metadata.parent_session_id),
    ];
    json.object(|json| append_present(json, &members));
}

/// Appends those members that have a value.
pub fn append_present(json: &mut JsonText, members: &[(&str, Option<&[u8]>)]) {
    for (key, value) in members {
        if let Some(value) = value {
            json.key(key).raw(value);
        }
    }
}

/// Appends the types of unknown events, each in an array with its number; the type is missing for events without one.
pub fn append_unknown_events(json: &mut JsonText, unknown: &[(Option<&[u8]>, u64)]) {
    json.array(|json| {
        for (name, count) in unknown {
            json.array(|json| {
                json.value(count);
                name.iter().for_each(|name| append_shown(json, name));
            });
        }
    });
}
