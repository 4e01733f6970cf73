//! Gemini CLI: one JSON document, or JSONL of messages and changes. A message may come several times; the last version counts.

use std::collections::HashMap;

use super::Stop;
use super::blocks::{self, Block, BlockKind, Thinking, ToolResult, Usage};
use super::builder::{Builder, Item, Meta, RecordNumber, Severity, Shape, Start, known};
use super::document::beginning_elements;
use super::format::{Format, Lane, Look, Opening, Record};
use super::history::{Node, Unplaced};
use super::parts::{call_of, media_of, output_of, parts_of};
use super::receipt::Reason;
use super::records::{Head, Layout};
use super::time::time_of;
use super::value::{Json, Object, json_text};
use crate::lines::{Digest, LineSource};

/// The provider of all its models, as JSON text.
const PROVIDER: &[u8] = b"\"gemini\"";

/// The types of messages.
const TYPES: [&str; 5] = ["user", "gemini", "info", "error", "warning"];

/// The most bytes of a text whose kind is looked for.
const KIND_BYTES: usize = 4096;

/// The fields of messages that events carry.
const CARRIED: &[&str] = &["id", "timestamp", "type", "content", "thoughts", "toolCalls", "tokens", "model"];

/// The fields of calls that events carry.
const CARRIED_OF_CALL: &[&str] = &["id", "name", "args", "result", "status", "timestamp"];

/// A message in the history.
struct Message {
    /// The key of its id; `None` without one.
    key: Option<u64>,
    digest: u64,
    /// The last items before it, and of it.
    before: Node,
    end: Node,
    /// The keys of its results, if it has nothing else.
    results: Box<[u64]>,
}

/// The last message, which may come again.
struct Held {
    key: u64,
    raw: Vec<u8>,
    line: u64,
    number: RecordNumber,
    /// The records with earlier versions.
    joined: Vec<RecordNumber>,
}

/// Reads a session of Gemini CLI.
pub(super) struct Gemini {
    session_id: String,
    has_header: bool,
    held: Option<Held>,
    messages: Vec<Message>,
    /// The indices of messages, by the keys of their ids.
    indices: HashMap<u64, usize>,
    records: u64,
    /// Number of items that were repeated behind a message that came again.
    repeated: u64,
    ignores_replacements: bool,
}

/// What becomes of messages that no item carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// A record of its own.
    Record,
    /// A list of messages in a record, whose fate is that of the whole.
    List,
}

impl Format for Gemini {
    const NAME: &'static str = "gemini";
    const SHAPE: Shape = Shape { parallel_results: false };

    fn claims(head: &Head<'_>) -> bool {
        is_document(head)
            || head.first_lines().iter().any(|fields| {
                let is_change = fields.get("$set").is_some() || fields.get("$rewindTo").is_some();
                fields.get("type").is_none() && (is_change || is_header(fields))
            })
    }

    fn layout(head: &Head<'_>) -> Layout {
        if is_document(head) { Layout::Document("messages") } else { Layout::Lines }
    }

    fn open(opening: &Opening<'_>) -> Result<(Self, Start), Stop> {
        let mut start = Start { provider: Some(PROVIDER.to_vec()), ..Start::default() };
        let head = opening.document.map(Json::object);
        let is_document = head.is_some();
        let header = head.or_else(|| opening.head.lines.iter().find(|fields| is_header(fields)).cloned());
        let header = header.unwrap_or_default();
        start.session_id = header.text("sessionId").unwrap_or_default().into_owned();
        start.project_hash = known(header.get("projectHash"));
        start.start_time = header.get("startTime").and_then(time_of);
        start.workspace_dirs =
            header.get("directories").filter(|list| are_texts(*list)).map(|list| list.bytes().to_vec());
        let mut look = |fields: &Object<'_>| {
            start.model = start.model.take().or_else(|| known(fields.get("model")));
            start.start_time = start.start_time.take().or_else(|| fields.get("timestamp").and_then(time_of));
            start.model.is_none() || start.start_time.is_none()
        };
        if is_document {
            beginning_elements(opening.source, "messages", |value| look(&value.object()))?;
        } else {
            let _ = opening.head.lines.iter().all(&mut look);
        }
        let gemini = Gemini {
            session_id: start.session_id.clone(),
            has_header: false,
            held: None,
            messages: Vec::new(),
            indices: HashMap::new(),
            records: 0,
            repeated: 0,
            ignores_replacements: false,
        };
        Ok((gemini, start))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        self.records += 1;
        let fields = &record.fields;
        if !record.is_head && fields.get("type").is_some_and(Json::is_string) {
            self.message(record, out);
            return Ok(());
        }
        self.flush(out);
        if let Some(set) = fields.get("$set").filter(|set| set.is_object()) {
            self.set(set.object(), record, out);
        } else if let Some(id) = fields.get("$rewindTo") {
            self.rewind(id, out);
        } else if record.is_head || is_header(fields) {
            self.header(record, out);
        } else {
            out.keep("", record.json, Severity::Info);
        }
        Ok(())
    }

    fn end(&mut self, _: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        self.flush(out);
        out.close();
        Ok(())
    }

    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        let fields = &record.fields;
        let title = fields.get("$set").and_then(|set| set.get("summary")).or_else(|| fields.get("summary"));
        let time = fields.get("timestamp").or_else(|| fields.get("startTime"));
        Look { lane: Some(Lane::Main), title, time }
    }
}

fn is_header(fields: &Object<'_>) -> bool {
    let is_text = |key: &str| fields.get(key).is_some_and(Json::is_string);
    fields.get("type").is_none() && is_text("sessionId") && is_text("projectHash")
}

fn is_document(head: &Head<'_>) -> bool {
    let Some(document) = &head.document else { return false };
    let Some(messages) = document.get("messages").filter(|messages| messages.is_array()) else { return false };
    let elements = messages.elements();
    let is_known = |message: &Json<'_>| TYPES.iter().any(|name| message.get("type").is_some_and(|kind| kind.is(name)));
    document.get("sessionId").is_some_and(Json::is_string) && (elements.is_empty() || elements.iter().any(is_known))
}

fn are_texts(list: Json<'_>) -> bool {
    list.is_array() && list.elements().into_iter().all(Json::is_string)
}

impl Gemini {
    fn header(&mut self, record: &Record<'_>, out: &mut Builder) {
        let fields = &record.fields;
        let is_same = fields.text("sessionId").unwrap_or_default() == self.session_id;
        if std::mem::replace(&mut self.has_header, true) {
            match is_same {
                true => out.drop(Reason::Unchanged),
                false => out.keep("header", record.json, Severity::Info),
            }
            return;
        }
        out.at(fields.get("startTime"));
        out.sets_start();
        if let Some(summary) = fields.filled("summary") {
            out.title(summary);
        }
    }

    fn message(&mut self, record: &Record<'_>, out: &mut Builder) {
        let (json, line) = (record.json, record.place.line);
        let key = record.fields.filled("id").map(Json::key);
        let Some(key) = key else {
            self.flush(out);
            return self.append(json, line, From::Record, out);
        };
        if let Some(held) = self.held.as_mut().filter(|held| held.key == key) {
            if held.raw == json.bytes() {
                return out.drop(Reason::Repeat);
            }
            held.joined.push(std::mem::replace(&mut held.number, out.defer()));
            held.raw = json.bytes().to_vec();
            held.line = line;
            return;
        }
        self.flush(out);
        match self.indices.get(&key).copied() {
            Some(index) if self.messages[index].digest == digest_of(json) => out.drop(Reason::Repeat),
            Some(index) => self.replace(index, record, out),
            None => {
                let (raw, number) = (json.bytes().to_vec(), out.defer());
                self.held = Some(Held { key, raw, line, number, joined: Vec::new() });
            }
        }
    }

    /// Places the held message.
    fn flush(&mut self, out: &mut Builder) {
        let Some(Held { raw, line, number, joined, .. }) = self.held.take() else { return };
        let before = out.resume(number);
        out.join(joined.clone());
        self.append(Json(&raw), line, From::Record, out);
        out.release(before);
        for number in joined {
            let before = out.resume(number);
            out.drop_unless_mapped(Reason::Repeat);
            out.release(before);
        }
    }

    fn append(&mut self, json: Json<'_>, line: u64, from: From, out: &mut Builder) {
        let message = placed(json, line, from, out);
        if let Some(key) = message.key {
            self.indices.insert(key, self.messages.len());
        }
        self.messages.push(message);
    }

    /// Puts a message in the place of an earlier version, and the items behind that again.
    fn replace(&mut self, index: usize, record: &Record<'_>, out: &mut Builder) {
        let position = |node: Node, out: &Builder| out.history().live_up_to(node).unwrap_or(out.len());
        let (start, end) = (self.messages[index].before, self.messages[index].end);
        let behind = out.history().live_from(position(end, out)).to_vec();
        let first = position(end, out);
        if self.repeated + behind.len() as u64 > 4 * self.records + 1000 {
            if !std::mem::replace(&mut self.ignores_replacements, true) {
                out.warn(format!(
                    "messages that change again: their first versions count from line {}",
                    record.place.line
                ));
            }
            return out.keep("message again", record.json, Severity::Warning);
        }
        let places: Vec<_> = self.messages[index + 1..]
            .iter()
            .map(|later| (position(later.before, out), position(later.end, out)))
            .collect();
        out.rewind_to(position(start, out));
        self.messages[index] = placed(record.json, record.place.line, From::Record, out);
        for (later, (from, to)) in self.messages[index + 1..].iter_mut().zip(places) {
            later.before = out.end();
            let items = behind.get(from.saturating_sub(first)..to.saturating_sub(first)).unwrap_or_default();
            if !is_echo(&later.results, out) {
                items.iter().for_each(|node| out.repeat(*node));
                self.repeated += items.len() as u64;
            }
            later.end = out.end();
        }
    }

    /// Leaves the first `count` messages.
    fn truncate(&mut self, count: usize, out: &mut Builder) {
        let Some(first) = self.messages.get(count) else { return };
        let keep = out.history().live_up_to(first.before).unwrap_or(out.len());
        out.rewind_to(keep);
        for message in self.messages.drain(count..) {
            if let Some(key) = message.key {
                self.indices.remove(&key);
            }
        }
    }

    fn rewind(&mut self, id: Json<'_>, out: &mut Builder) {
        let index = self.indices.get(&id.key()).copied().unwrap_or(0);
        self.truncate(index, out);
    }

    fn set(&mut self, set: Object<'_>, record: &Record<'_>, out: &mut Builder) {
        let mut is_mapped = false;
        if let Some(list) = set.get("messages").filter(|list| list.is_array()) {
            self.set_messages(&list.elements(), record.place.line, out);
            is_mapped = true;
        }
        if let Some(summary) = set.get("summary").filter(|summary| summary.is_string()) {
            out.title(summary);
            is_mapped = true;
        }
        if let Some(directories) = set.get("directories").filter(|list| are_texts(*list)) {
            out.directories(directories);
            is_mapped = true;
        }
        if is_mapped {
            return out.omit("$set", &set, &["messages", "summary", "directories", "lastUpdated", "sessionId"]);
        }
        let is_time = |key: &[u8]| matches!(key, b"lastUpdated" | b"sessionId");
        match set.keys().all(is_time) {
            true => out.drop(Reason::TimestampOnly),
            false => out.keep("$set", record.json, Severity::Info),
        }
    }

    /// Makes the history exactly these messages.
    fn set_messages(&mut self, list: &[Json<'_>], line: u64, out: &mut Builder) {
        let is_same = |(message, json): &(&Message, &Json<'_>)| {
            message.key == json.object().filled("id").map(Json::key) && message.digest == digest_of(**json)
        };
        let same = self.messages.iter().zip(list).take_while(is_same).count();
        self.truncate(same, out);
        for json in &list[same..] {
            self.append(*json, line, From::List, out);
        }
    }
}

fn digest_of(json: Json<'_>) -> u64 {
    Digest::of(json.bytes()) as u64
}

/// Whether all of these results are placed already.
fn is_echo(results: &[u64], out: &Builder) -> bool {
    !results.is_empty() && results.iter().all(|key| out.history().unanswered(*key, 0) == Err(Unplaced::Duplicate))
}

/// Places the items of a message.
fn placed(json: Json<'_>, line: u64, from: From, out: &mut Builder) -> Message {
    let fields = json.object();
    out.at(fields.get("timestamp"));
    let before = out.end();
    let kind = fields.text("type").unwrap_or_default();
    let mut results = Box::default();
    match &*kind {
        "user" => results = user(json, &fields, line, from, out),
        "gemini" => model(json, &fields, line, from, out),
        "info" | "warning" | "error" => out.note(Severity::of(&kind), &text_of(&fields, line)),
        _ if from == From::Record => out.keep(&kind, json, Severity::Info),
        _ => {}
    }
    let key = fields.filled("id").map(Json::key);
    Message { key, digest: digest_of(json), before, end: out.end(), results }
}

fn text_of(fields: &Object<'_>, line: u64) -> String {
    let blocks = parts_of(fields.get("content"), line, |_| false).blocks;
    let texts = blocks.iter().filter_map(|block| Json(&block.json).get("text")?.text().map(|text| text.into_owned()));
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the keys of the message's results, if it has nothing else.
fn user(json: Json<'_>, fields: &Object<'_>, line: u64, from: From, out: &mut Builder) -> Box<[u64]> {
    let parts = parts_of(fields.get("content"), line, |_| false);
    let (has_results, has_blocks) = (!parts.results.is_empty(), !parts.blocks.is_empty());
    let keys: Box<[u64]> = parts.results.iter().map(|result| result.key).collect();
    if from == From::Record {
        if !has_blocks && is_echo(&keys, out) {
            out.drop(Reason::Echo);
            return keys;
        }
        if !has_results && !has_blocks {
            out.drop(Reason::Empty);
            return Box::default();
        }
    }
    let meta = Meta { id: known(fields.get("id")), ..Meta::default() };
    if has_results && !(from == From::List && is_echo(&keys, out)) {
        out.results(parts.results, meta.clone(), "user functionResponse", json);
    }
    if !has_blocks {
        return keys;
    }
    let (is_context, kind) = kind_of(&parts.blocks);
    if is_context {
        if from == From::Record && !has_results {
            out.keep("user session_context", json, Severity::Info);
        }
        return Box::default();
    }
    out.omit("user", fields, CARRIED);
    out.human(Item::human(parts.blocks, Meta { kind, ..meta }));
    Box::default()
}

/// Whether a text is context that the harness creates, and the kind of one that no person typed as a prompt.
fn kind_of(blocks: &[Block]) -> (bool, Option<&'static str>) {
    let first = blocks.first().filter(|block| block.kind == BlockKind::Text);
    let text = first.and_then(|block| Json(&block.json).get("text"));
    let beginning = text.and_then(|text| text.beginning(KIND_BYTES)).unwrap_or_default();
    let beginning = beginning.trim_start();
    let is_line = blocks.len() == 1 && !beginning.trim_end().contains('\n') && beginning.len() < KIND_BYTES / 2;
    let is_command = is_line && (beginning.starts_with('/') || beginning.starts_with('?'));
    (beginning.starts_with("<session_context>"), is_command.then_some("command"))
}

fn model(json: Json<'_>, fields: &Object<'_>, line: u64, from: From, out: &mut Builder) {
    let mut blocks: Vec<Block> =
        fields.get("thoughts").map(Json::elements).unwrap_or_default().into_iter().filter_map(thought_of).collect();
    let calls = fields.get("toolCalls").map(Json::elements).unwrap_or_default();
    let calls: Vec<_> = calls.into_iter().filter(|call| call.is_object()).map(Json::object).collect();
    let ids: Vec<u64> = calls.iter().filter_map(|call| call.filled("id")).map(Json::key).collect();
    let parts = parts_of(fields.get("content"), line, |key| ids.contains(&key));
    let (count, mut results) = (parts.blocks.len(), parts.results);
    blocks.extend(parts.blocks);
    for (index, call) in calls.iter().enumerate() {
        let place = (line, count + index);
        blocks.push(call_of(call, call.get("args"), place));
        results.extend(result_of(call, place));
        out.omit("gemini.toolCalls", call, CARRIED_OF_CALL);
    }
    if blocks.is_empty() && results.is_empty() {
        if from == From::Record {
            out.drop(Reason::Empty);
        }
        return;
    }
    out.omit("gemini", fields, CARRIED);
    let meta = Meta { id: known(fields.get("id")), ..Meta::default() };
    let of_model = Meta {
        model: known(fields.get("model")),
        provider: Some(PROVIDER.to_vec()),
        usage: usage_of(fields.get("tokens")),
        ..meta.clone()
    };
    out.respond(None, Item::ai(blocks, of_model));
    if !results.is_empty() {
        out.results(results, meta, "gemini toolCalls", json);
    }
}

fn thought_of(thought: Json<'_>) -> Option<Block> {
    if thought.is_string() {
        return thought
            .filled()
            .map(|text| blocks::thinking(Thinking { thought: Some(text.bytes()), ..Thinking::default() }));
    }
    let fields = thought.is_object().then(|| thought.object())?;
    let text = fields.get("description").filter(|text| text.is_string()).map(Json::bytes);
    Some(blocks::thinking(Thinking { thought: text, subject: fields.filled("subject"), ..Thinking::default() }))
}

/// The result of a call. `None` if it has none: then it is unanswered, unless its status says that it failed.
fn result_of(call: &Object<'_>, place: (u64, usize)) -> Option<ToolResult> {
    let is_failed = call.is("status", "error") || call.is("status", "cancelled");
    let made = json_text(&format!("call-{}-{}", place.0, place.1));
    let id = call.filled("id").unwrap_or(Json(&made));
    let list = match call.get("result").filter(|result| !result.is_null()) {
        None if !is_failed => return None,
        None => Vec::new(),
        Some(result) if result.is_array() => result.elements(),
        Some(result) => vec![result],
    };
    let (mut result, mut has_error, mut media) = (None, false, Vec::new());
    for part in list {
        if part.is_string() {
            result.get_or_insert_with(|| part.bytes().to_vec());
            continue;
        }
        let fields = part.object();
        media.extend(media_of(&fields));
        let response = fields.get("functionResponse").filter(|response| response.is_object()).map(Json::object);
        if let Some(response) = response {
            let (output, is_error) = output_of(response.get("response"));
            has_error |= is_error;
            result.get_or_insert(output);
            let parts = response.get("parts").map(Json::elements).unwrap_or_default();
            media.extend(parts.into_iter().filter_map(|part| media_of(&part.object())));
        } else if let Some(text) = fields.get("text").filter(|text| text.is_string()) {
            result.get_or_insert_with(|| text.bytes().to_vec());
        }
    }
    let result = result.unwrap_or_else(|| b"\"\"".to_vec());
    let name = known(call.get("name"));
    Some(ToolResult { name, media, ..ToolResult::new(id, result).failed(is_failed || has_error) })
}

fn usage_of(tokens: Option<Json<'_>>) -> Option<Usage> {
    let tokens = tokens.filter(|tokens| tokens.is_object())?.object();
    let amount = |key: &str| tokens.get(key).and_then(Json::amount);
    let (input, output, reasoning) = (amount("input"), amount("output"), amount("thoughts"));
    input.or(output).or(reasoning)?;
    Some(Usage {
        input: input.unwrap_or_default(),
        cached: amount("cached"),
        cache_write: None,
        output: output.unwrap_or_default() + reasoning.unwrap_or_default(),
        reasoning,
        cost: None,
    })
}
