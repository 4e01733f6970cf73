//! Builds batches: selects the values of each batch and puts them on its tape.

use super::job::{Batch, JobEnd, OutputTape, Progress};
use super::json::{JsonText, number_json};
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
        let mut json = Vec::new();
        for (index, event) in events.iter().enumerate() {
            json.clear();
            append_session_event(&mut json, event, source, audit_trail)?;
            if !self.append(Belonging::Event, &json) {
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
        Batch { text: json.finish(), tape: Some(output_of(tape)) }
    }

    /// Appends the progress of the replay.
    pub fn report_progress(&mut self, progress: Progress) {
        progress.append_to(&mut self.json);
    }

    /// Finishes the batch. More batches follow.
    pub fn finish(&mut self) -> Batch {
        let (mut json, tape) = self.take_parts();
        json.close();
        Batch { text: json.finish(), tape }
    }

    /// Finishes the last batch of a job that reads items.
    pub fn finish_items(mut self) -> JobEnd {
        let (json, tape) = self.take_parts();
        JobEnd::done_behind(json, tape, |json| json.syntax("{}"))
    }

    /// Finishes the last batch of a job whose replay has this outcome, with the hashes of the items if they are wanted and can be read.
    pub fn finish_outcome(mut self, outcome: &Outcome<'_>, replay: &Replay, hashes: bool) -> JobEnd {
        if outcome.metadata.is_err() {
            return self.finish_failed();
        }
        let (json, tape) = self.take_parts();
        JobEnd::done_behind(json, tape, |json| {
            json.open();
            json.key("lastSeq");
            json.number(outcome.last_seq);
            json.member("eventCount", &outcome.event_count);
            json.member("historyLength", &replay.items().len());
            json.member("sequenceCorrupt", &outcome.is_out_of_sequence);
            json.member("isNamed", &outcome.session_name.is_some());
            json.member("isFork", &outcome.ancestry.is_some());
            json.member("isPurged", &outcome.purge_frontier.is_some());
            json.member("isStrict", &outcome.unknown_events.is_some());
            let mut invalidated = replay.invalidated().peekable();
            if invalidated.peek().is_some() {
                json.key("invalidated");
                json.array(invalidated, |json, index| json.value(&index));
            }
            if let Some(Ok(hashes)) = hashes.then(|| ItemHash::of_history(replay)) {
                json.member("hashes", &ItemHash::to_text(hashes));
            }
            json.close();
        })
    }

    fn finish_failed(mut self) -> JobEnd {
        let (json, tape) = self.take_parts();
        JobEnd::done_behind(json, tape, |json| json.syntax("{\"failed\":true}"))
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
    json.key("names");
    json.array(tape.names(), append_string);
    // For each shape, the number of the shape that it extends, and its last key.
    json.key("shapes");
    json.array(tape.shapes.iter(), |json, (extended, key)| {
        json.value(&extended);
        json.syntax(",");
        append_string(json, key);
    });
}

/// Appends a string, given the inside of its JSON text.
#[inline]
fn append_string(json: &mut JsonText, inside: &[u8]) {
    json.syntax("\"");
    json.raw(inside);
    json.syntax("\"");
}

/// A tape for JavaScript.
pub fn output_of(tape: FinishedTape) -> OutputTape {
    let texts = tape.texts.into_iter().map(|text| {
        Some(match text {
            OwnText::Narrow(text) => text.into(),
            OwnText::Wide(text) => text.into(),
            OwnText::Json(json) => {
                let mut text = JsonText::with_capacity(json.len());
                text.raw(&json);
                text.finish()
            }
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

fn append_session_event(
    json: &mut Vec<u8>,
    event: &SessionEventRef,
    source: &LineSource,
    audit_trail: bool,
) -> Result<(), ReadError> {
    json.extend_from_slice(b"{\"severity\":\"");
    json.extend_from_slice(event.severity.as_str().as_bytes());
    json.push(b'"');
    let mut append = |key: &str, span: Span| {
        json.extend_from_slice(key.as_bytes());
        let at = event.line_offset + u64::from(span.start);
        source.append_bytes_at(at, span.len(), json)
    };
    append(",\"message\":", event.message)?;
    if let (true, Some(ts)) = (audit_trail, event.ts) {
        append(",\"timestamp\":", ts)?;
    }
    if let (true, Some(seq)) = (audit_trail, event.seq) {
        json.extend_from_slice(b",\"seq\":");
        json.extend_from_slice(number_json(seq).as_bytes());
    }
    json.push(b'}');
    Ok(())
}

/// A checkpoint as JSON.
pub fn checkpoint_json(checkpoint: &Checkpoint<'_>) -> Vec<u8> {
    let (sequence, deleted) = (number_json(checkpoint.sequence), checkpoint.deleted.to_string());
    let members = [
        (&b"checkpointId"[..], checkpoint.id),
        (b"name", checkpoint.name),
        (b"sequence", sequence.as_bytes()),
        (b"deleted", deleted.as_bytes()),
        (b"createdAt", checkpoint.created_at),
    ];
    object_json(members)
}

/// The metadata of a session as JSON.
pub fn metadata_json(metadata: &CurrentMetadata<'_>) -> Vec<u8> {
    let members = [
        (&b"sessionId"[..], metadata.session_id),
        (b"projectHash", metadata.project_hash),
        (b"provider", metadata.provider),
        (b"model", metadata.model),
        (b"workspaceDirs", metadata.workspace_dirs),
        (b"startTime", metadata.start_time),
    ];
    let optional = [
        (&b"cwd"[..], metadata.cwd),
        (b"title", metadata.title),
        (b"kind", metadata.kind),
        (b"parentSessionId", metadata.parent_session_id),
    ];
    let optional = optional.into_iter().filter_map(|(key, value)| value.map(|value| (key, value)));
    object_json(members.into_iter().chain(optional))
}

/// The types of unknown events, each in an array with its number; the type is missing for events without one.
pub fn unknown_events_json(unknown: &[(Option<&[u8]>, u64)]) -> Vec<u8> {
    let mut json = b"[".to_vec();
    for (name, count) in unknown {
        json.extend_from_slice(if json.len() == 1 { b"[" } else { b",[" });
        json.extend_from_slice(count.to_string().as_bytes());
        if let Some(name) = name {
            json.push(b',');
            append_shown(&mut json, name);
        }
        json.push(b']');
    }
    json.push(b']');
    json
}

/// A JSON object with these keys and JSON texts.
pub fn object_json<'v>(members: impl IntoIterator<Item = (&'v [u8], &'v [u8])>) -> Vec<u8> {
    let mut json = Vec::new();
    for (key, value) in members {
        json.extend_from_slice(if json.is_empty() { b"{\"" } else { b",\"" });
        json.extend_from_slice(key);
        json.extend_from_slice(b"\":");
        json.extend_from_slice(value);
    }
    json.push(b'}');
    json
}
