//! A batch that is being built: which values it has, and what they are.

use super::job::{Batch, JobEnd, Progress};
use super::json::{JsonText, number_json};
use super::message_json::message_json;
use crate::jsonl::scan::Span;
use crate::jsonl::source::{LineSource, ReadError};
use crate::jsonl::tape::{Tape, TapeBuilder};
use crate::session::checkpoint::Checkpoint;
use crate::session::fold::SessionEventRef;
use crate::session::history::ItemRef;
use crate::session::message::Message;
use crate::session::replay::{CurrentMetadata, Outcome};

/// About how much of the file is built in one turn of the event loop.
const BATCH_BYTES: usize = 256 << 10;

/// Items that lie closer to each other are read from the file together.
const READ_TOGETHER: u64 = 16 << 10;

/// What a value is, in the order in which a batch has them.
#[derive(Clone, Copy, Debug)]
pub enum Belonging {
    /// An item of history.
    Item,
    /// A session event.
    Event,
    /// A checkpoint.
    Checkpoint,
    /// Why there is no result, or the metadata, the session's name and its ancestry if it has any; then a warning each.
    Result,
}

/// A batch that is being built. Values of any length are put on its tape, which has no limit for all of them together.
pub struct BatchBuilder {
    json: JsonText,
    tape: Option<TapeBuilder>,
    /// How many values belong where, and how many bytes of JSON they were.
    counts: [usize; 4],
    bytes: usize,
}

impl BatchBuilder {
    /// A batch of what comes behind `items` items of history.
    pub fn new(items: usize) -> Self {
        let mut json = JsonText::default();
        json.open();
        json.member("keep", &items);
        BatchBuilder { json, tape: None, counts: [0; 4], bytes: 0 }
    }

    /// Appends a value. Returns false if the batch is full.
    pub fn append(&mut self, belonging: Belonging, json: &[u8]) -> bool {
        let is_empty = self.counts == [0; 4];
        if !is_empty && self.bytes + json.len() > BATCH_BYTES {
            return false;
        }
        let tape = self.tape.get_or_insert_with(|| TapeBuilder::with_capacity(json.len()));
        // Items are shown and dropped together. Metadata and warnings that a caller keeps must not keep a page of items in memory.
        let pushed = if matches!(belonging, Belonging::Item) { tape.push(json) } else { tape.push_apart(json) };
        if !pushed {
            return false;
        }
        self.bytes += json.len();
        self.counts[belonging as usize] += 1;
        true
    }

    /// Appends items, as many as fit. Returns how many.
    pub fn append_items(&mut self, items: &[ItemRef], source: &LineSource) -> Result<usize, ReadError> {
        let mut scratch = Vec::new();
        let (mut rest, mut appended) = (&items[..batch_length(items)], 0);
        if !rest.is_empty() && self.tape.is_none() {
            self.tape = Some(TapeBuilder::with_capacity(rest.iter().map(|item| item.length as usize).sum()));
        }
        while !rest.is_empty() {
            let together = read_together(rest);
            let (now, later) = rest.split_at(together);
            let start = now[0].offset;
            let end = now[together - 1].offset + u64::from(now[together - 1].length);
            let bytes = source.bytes_at(start, (end - start) as usize, &mut scratch)?;
            for item in now {
                let at = (item.offset - start) as usize;
                if !self.append(Belonging::Item, &bytes[at..at + item.length as usize]) {
                    return Ok(appended);
                }
                appended += 1;
            }
            rest = later;
        }
        Ok(appended)
    }

    /// Appends session events, as many as fit. Returns how many.
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

    /// Appends the progress of the replay.
    pub fn tell_progress(&mut self, progress: Progress) {
        progress.append_to(&mut self.json);
    }

    /// The batch, more of which follow.
    pub fn finish(self) -> Batch {
        let (mut json, tape) = self.into_parts();
        json.close();
        Batch { text: json.finish(), tape }
    }

    /// The end of a job that reads items.
    pub fn finish_items(self) -> JobEnd {
        let (json, tape) = self.into_parts();
        JobEnd::done_behind(json, tape, |json| json.syntax("{}"))
    }

    /// The end of a job whose replay has this outcome and `items` items of history.
    pub fn finish_outcome(self, outcome: &Outcome<'_>, items: usize) -> JobEnd {
        if outcome.metadata.is_err() {
            return self.finish_failed();
        }
        let (json, tape) = self.into_parts();
        JobEnd::done_behind(json, tape, |json| {
            json.open();
            json.key("lastSeq");
            json.number(outcome.last_seq);
            json.member("eventCount", &outcome.event_count);
            json.member("historyLength", &items);
            json.member("sequenceCorrupt", &outcome.is_out_of_sequence);
            json.member("isNamed", &outcome.session_name.is_some());
            json.member("isFork", &outcome.ancestry.is_some());
            json.close();
        })
    }

    fn finish_failed(self) -> JobEnd {
        let (json, tape) = self.into_parts();
        JobEnd::done_behind(json, tape, |json| json.syntax("{\"failed\":true}"))
    }

    /// The open object of the batch, and its tape.
    fn into_parts(mut self) -> (JsonText, Option<Tape>) {
        let tape = self.tape.take().map(TapeBuilder::finish);
        if let Some(tape) = &tape {
            self.describe(tape);
        }
        (self.json, tape)
    }

    fn describe(&mut self, tape: &Tape) {
        for (key, count) in ["items", "events", "checkpoints", "results"].into_iter().zip(self.counts) {
            self.json.member(key, &count);
        }
        if !tape.wide.is_empty() {
            self.json.member("wide", &true);
        }
        self.json.key("names");
        self.json.array(tape.names(), |json, name| {
            json.syntax("\"");
            json.raw(name);
            json.syntax("\"");
        });
    }
}

/// The end of a job that has no result, for the reason in `message`.
pub fn failure(message: &Message<'_>) -> JobEnd {
    let mut batch = BatchBuilder::new(0);
    batch.append(Belonging::Result, &message_json(message));
    batch.finish_failed()
}

/// How many of the items make a batch: as many as fit, at least one.
pub fn batch_length(items: &[ItemRef]) -> usize {
    let mut bytes = 0;
    let full = items.iter().position(|item| {
        bytes += item.length as usize;
        bytes > BATCH_BYTES
    });
    full.map_or(items.len(), |at| at.max(1))
}

/// How many of the items lie so close together that one read is cheaper than several.
fn read_together(items: &[ItemRef]) -> usize {
    let gap = |pair: &[ItemRef]| pair[1].offset - (pair[0].offset + u64::from(pair[0].length));
    items.windows(2).position(|pair| gap(pair) > READ_TOGETHER).map_or(items.len(), |at| at + 1)
}

fn session_event_json(event: &SessionEventRef, source: &LineSource, audit_trail: bool) -> Result<Vec<u8>, ReadError> {
    let mut scratch = Vec::new();
    let mut json = format!("{{\"severity\":\"{}\"", event.severity.as_str()).into_bytes();
    let mut append = |key: &str, span: Span| {
        json.extend_from_slice(key.as_bytes());
        let at = event.line_offset + u64::from(span.start);
        json.extend_from_slice(source.bytes_at(at, span.len(), &mut scratch)?);
        Ok(())
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
    Ok(json)
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
    let optional = [(&b"cwd"[..], metadata.cwd), (b"title", metadata.title)];
    let optional = optional.into_iter().filter_map(|(key, value)| value.map(|value| (key, value)));
    object_json(members.into_iter().chain(optional))
}

/// An object of these keys and JSON texts.
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
