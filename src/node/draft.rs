//! A part that is being written: which values it has, and what they are.

use super::json::{JsonText, number_json};
use super::message_json::message_json;
use super::parts::Part;
use crate::jsonl::scan::Span;
use crate::jsonl::source::{ReadError, Source};
use crate::jsonl::tape::{Tape, TapeBuilder};
use crate::session::fold::SessionEventRef;
use crate::session::history::ItemRef;
use crate::session::message::Message;
use crate::session::replay::{CurrentMetadata, Outcome};

/// About how much of the file is built in one turn of the event loop.
const PART_BYTES: usize = 256 << 10;

/// Items that lie closer to each other are read from the file together.
const READ_TOGETHER: u64 = 16 << 10;

/// What a value is, in the order in which a part has them.
#[derive(Clone, Copy, Debug)]
pub enum Belonging {
    /// An item of history.
    Item,
    /// A session event.
    Event,
    /// What the replay came to, then a warning each.
    Result,
}

/// A part that is being written. Whatever can be long goes with its values, which have no common limit.
pub struct Draft {
    json: JsonText,
    values: Option<TapeBuilder>,
    /// How many values belong where, and how many bytes of JSON they were.
    counts: [usize; 3],
    bytes: usize,
}

impl Draft {
    /// A part of what goes on behind `items` items of history.
    pub fn new(items: usize) -> Self {
        let mut json = JsonText::default();
        json.syntax("{\"keep\":");
        json.number(items as f64);
        Draft { json, values: None, counts: [0; 3], bytes: 0 }
    }

    /// Appends a value. False if the part is full.
    pub fn append(&mut self, belonging: Belonging, json: &[u8]) -> bool {
        let is_empty = self.counts == [0; 3];
        if !is_empty && self.bytes + json.len() > PART_BYTES {
            return false;
        }
        let values = self.values.get_or_insert_with(|| TapeBuilder::with_capacity(json.len()));
        // Items are shown and let go of together; who keeps the metadata or a warning should not keep a page of items.
        let pushed = if matches!(belonging, Belonging::Item) { values.push(json) } else { values.push_apart(json) };
        if !pushed {
            return false;
        }
        self.bytes += json.len();
        self.counts[belonging as usize] += 1;
        true
    }

    /// Appends items, as many as fit. Returns how many.
    pub fn append_items(&mut self, items: &[ItemRef], source: &Source) -> Result<usize, ReadError> {
        let mut scratch = Vec::new();
        let (mut rest, mut appended) = (&items[..part_length(items)], 0);
        if !rest.is_empty() && self.values.is_none() {
            self.values = Some(TapeBuilder::with_capacity(rest.iter().map(|item| item.length as usize).sum()));
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
        source: &Source,
        audit_trail: bool,
    ) -> Result<usize, ReadError> {
        for (index, event) in events.iter().enumerate() {
            if !self.append(Belonging::Event, &session_event_json(event, source, audit_trail)?) {
                return Ok(index);
            }
        }
        Ok(events.len())
    }

    /// Tells how far the replay is.
    pub fn tell_progress(&mut self, bytes: u64, total: u64) {
        self.json.syntax(",\"bytes\":");
        self.json.number(bytes as f64);
        self.json.syntax(",\"total\":");
        self.json.number(total.max(bytes) as f64);
    }

    /// Tells what else a replay came to that left `items` items of history.
    pub fn tell_outcome(&mut self, outcome: &Outcome<'_>, items: usize) {
        self.json.syntax(if outcome.metadata.is_ok() { ",\"lastSeq\":" } else { ",\"failed\":true,\"lastSeq\":" });
        self.json.number(outcome.last_seq);
        self.json.syntax(",\"eventCount\":");
        self.json.number(outcome.event_count as f64);
        self.json.syntax(",\"historyLength\":");
        self.json.number(items as f64);
    }

    /// The part.
    pub fn finish(mut self) -> Part {
        let values = self.values.take().map(TapeBuilder::finish);
        if let Some(values) = &values {
            self.tell_values(values);
        }
        self.json.syntax("}");
        Part { text: self.json.finish(), values }
    }

    /// The part, which is the last.
    pub fn finish_last(mut self) -> Part {
        self.json.syntax(",\"last\":true");
        self.finish()
    }

    fn tell_values(&mut self, values: &Tape) {
        for (key, count) in [",\"items\":", ",\"events\":", ",\"results\":"].into_iter().zip(self.counts) {
            self.json.syntax(key);
            self.json.number(count as f64);
        }
        self.json.syntax(if values.wide.is_empty() { ",\"names\":" } else { ",\"wide\":true,\"names\":" });
        self.json.array(values.names(), |json, name| {
            json.syntax("\"");
            json.raw(name);
            json.syntax("\"");
        });
    }
}

/// A part that says that there is no result, and why.
pub fn failure(message: &Message<'_>) -> Part {
    let mut draft = Draft::new(0);
    draft.append(Belonging::Result, &message_json(message));
    draft.json.syntax(",\"failed\":true");
    draft.finish_last()
}

/// How many of the items make a part: as many as fit, at least one.
pub fn part_length(items: &[ItemRef]) -> usize {
    let mut bytes = 0;
    let full = items.iter().position(|item| {
        bytes += item.length as usize;
        bytes > PART_BYTES
    });
    full.map_or(items.len(), |at| at.max(1))
}

/// How many of the items lie so close together that one read is cheaper than several.
fn read_together(items: &[ItemRef]) -> usize {
    let gap = |pair: &[ItemRef]| pair[1].offset - (pair[0].offset + u64::from(pair[0].length));
    items.windows(2).position(|pair| gap(pair) > READ_TOGETHER).map_or(items.len(), |at| at + 1)
}

fn session_event_json(event: &SessionEventRef, source: &Source, audit_trail: bool) -> Result<Vec<u8>, ReadError> {
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

/// The metadata of a session as JSON.
pub fn metadata_json(metadata: &CurrentMetadata<'_>) -> Vec<u8> {
    [
        &b"{\"sessionId\":"[..],
        metadata.session_id,
        b",\"projectHash\":",
        metadata.project_hash,
        b",\"provider\":",
        metadata.provider,
        b",\"model\":",
        metadata.model,
        b",\"workspaceDirs\":",
        metadata.workspace_dirs,
        b",\"startTime\":",
        metadata.start_time,
        b"}",
    ]
    .concat()
}
