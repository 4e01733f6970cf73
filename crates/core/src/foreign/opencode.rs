//! OpenCode: what `opencode export` prints, or its storage's files one after another, in any order. Messages and parts are put in order at the end.

use std::collections::HashMap;

use super::Stop;
use super::blocks::{self, Block, Call, Thinking, ToolResult, Usage};
use super::builder::{Builder, Item, Meta, RecordNumber, Severity, Shape, Start, known};
use super::document::beginning_elements;
use super::format::{Format, Lane, Look, Opening, Record};
use super::history::Node;
use super::receipt::Reason;
use super::records::{Content, HEAD_BYTES, Head, Layout, RecordPlace, Records};
use super::time::time_of;
use super::value::{Json, Object, json_text};
use crate::lines::LineSource;

/// The fields of messages that events carry, or that only order them.
const CARRIED: &[&str] = &[
    "id",
    "sessionID",
    "role",
    "time",
    "modelID",
    "providerID",
    "tokens",
    "cost",
    "error",
    "summary",
    "finish",
    "parentID",
];

/// A message, which is read again at the end.
struct Message {
    time: f64,
    id: Box<str>,
    place: RecordPlace,
    number: RecordNumber,
}

/// A part with a record of its own, which is read again at the end.
struct Part {
    message: u64,
    id: Box<str>,
    place: RecordPlace,
    number: RecordNumber,
}

/// Where a message is taken back, with all that follow it.
struct Revert {
    message: u64,
    number: RecordNumber,
    /// The last item before it, once it was placed.
    before: Option<Node>,
}

/// Reads a session of OpenCode.
pub(super) struct OpenCode {
    lane: Lane,
    is_document: bool,
    has_session: bool,
    messages: Vec<Message>,
    parts: Vec<Part>,
    revert: Option<Revert>,
}

/// What a value of the storage is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Session,
    Message,
    Part,
    Other,
}

impl Format for OpenCode {
    const NAME: &'static str = "opencode";
    const SHAPE: Shape = Shape { parallel_results: false };
    const HAS_SESSIONS: bool = true;

    fn claims(head: &Head<'_>) -> bool {
        let is_stored = |fields: &Object<'_>| {
            let session = fields.get("sessionID").and_then(|id| id.beginning(8)).unwrap_or_default();
            session.starts_with("ses_") && matches!(kind_of(fields), Kind::Message | Kind::Part)
        };
        is_document(head) || head.first_lines().iter().chain(head.first_values()).any(is_stored)
    }

    fn layout(head: &Head<'_>) -> Layout {
        if is_document(head) { Layout::Document("messages") } else { Layout::Values }
    }

    fn open(opening: &Opening<'_>) -> Result<(Self, Start), Stop> {
        let lane = opening.lane.clone();
        let mut first = FirstModel::default();
        let mut start = Start::default();
        if let Some(document) = opening.document {
            if let Some(info) = document.get("info") {
                set_session(&mut start, &info.object());
            }
            beginning_elements(opening.source, "messages", |message| {
                first.look(&message.get("info").map(Json::object).unwrap_or_default());
                true
            })?;
        } else if let Lane::Session(id) = &lane {
            start.session_id.clone_from(id);
            look_through_values(opening.source, id, &mut start, &mut first)?;
        }
        start.start_time = start.start_time.or_else(|| first.time.map(|time| crate::clock::timestamp(time).into()));
        (start.provider, start.model) = (first.provider, first.model);
        let (messages, parts) = (Vec::new(), Vec::new());
        let is_document = opening.document.is_some();
        Ok((OpenCode { lane, is_document, has_session: false, messages, parts, revert: None }, start))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        let fields = &record.fields;
        if record.is_head {
            self.session(fields.get("info").map(Json::object).unwrap_or_default(), record, out);
        } else if self.is_document {
            match fields.get("info").filter(|info| info.is_object()) {
                Some(info) => self.remember(&info.object(), record, out),
                None => out.keep("message", record.json, Severity::Info),
            }
        } else {
            self.value(record, out);
        }
        Ok(())
    }

    fn end(&mut self, source: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        let mut messages = std::mem::take(&mut self.messages);
        messages.sort_by(|a, b| a.time.total_cmp(&b.time).then_with(|| a.id.cmp(&b.id)));
        let mut parts = std::mem::take(&mut self.parts);
        parts.sort_by(|a, b| a.message.cmp(&b.message).then_with(|| a.id.cmp(&b.id)));
        for message in &messages {
            let key = key_of(&message.id);
            let first = parts.partition_point(|part| part.message < key);
            let count = parts[first..].partition_point(|part| part.message == key);
            self.emit(message, &parts[first..first + count], source, out)?;
        }
        self.leave_lost_parts(&messages, &parts, source, out)?;
        self.take_back(out);
        out.close();
        Ok(())
    }

    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        let fields = &record.fields;
        let created = |fields: &Object<'a>| fields.get("time").and_then(|time| time.get("created"));
        if self.is_document {
            let info = fields.get("info").map(Json::object).unwrap_or_default();
            let title = if record.is_head { info.get("title") } else { None };
            return Look { lane: Some(Lane::Main), title, time: created(&info) };
        }
        let kind = kind_of(fields);
        let id = if kind == Kind::Session { fields.filled("id") } else { fields.filled("sessionID") };
        let id = id.filter(|_| kind != Kind::Other && record.json.is_object()).and_then(Json::text);
        let title = if kind == Kind::Session { fields.get("title") } else { None };
        Look { lane: id.map(|id| Lane::Session(id.into_owned())), title, time: created(fields) }
    }
}

fn is_document(head: &Head<'_>) -> bool {
    head.document.as_ref().is_some_and(|document| {
        let has_info = document.get("info").is_some_and(Json::is_object);
        has_info && document.get("messages").is_some_and(Json::is_array)
    })
}

fn kind_of(fields: &Object<'_>) -> Kind {
    let is_text = |key: &str| fields.filled(key).is_some();
    let is_session = || fields.get("id").and_then(|id| id.beginning(8)).is_some_and(|id| id.starts_with("ses_"));
    if is_text("messageID") && is_text("sessionID") {
        Kind::Part
    } else if is_text("role") && is_text("sessionID") {
        Kind::Message
    } else if is_session() && fields.get("secret").is_none() {
        Kind::Session
    } else {
        Kind::Other
    }
}

/// The key by which parts find their message.
fn key_of(id: &str) -> u64 {
    Json(&json_text(id)).key()
}

fn created(fields: &Object<'_>) -> Option<f64> {
    fields.get("time")?.get("created")?.number().filter(|time| time.is_finite())
}

fn set_session(start: &mut Start, info: &Object<'_>) {
    start.session_id = info.text("id").unwrap_or_default().into_owned();
    start.cwd = known(info.get("directory"));
    start.version = known(info.get("version"));
    start.start_time = info.get("time").and_then(|time| time.get("created")).and_then(time_of);
}

/// The model of the first response.
#[derive(Default)]
struct FirstModel {
    time: Option<f64>,
    model_time: Option<f64>,
    provider: Option<Vec<u8>>,
    model: Option<Vec<u8>>,
}

impl FirstModel {
    fn look(&mut self, info: &Object<'_>) {
        let time = created(info).unwrap_or(0.0);
        if self.time.is_none_or(|first| time < first) && created(info).is_some() {
            self.time = Some(time);
        }
        let Some(model) = known(info.get("modelID")) else { return };
        if self.model_time.is_none_or(|first| time < first) {
            self.model_time = Some(time);
            (self.provider, self.model) = (known(info.get("providerID")), Some(model));
        }
    }
}

/// Finds the session in a storage, and its first model as far as the beginning tells it.
fn look_through_values(source: &LineSource, id: &str, start: &mut Start, first: &mut FirstModel) -> Result<(), Stop> {
    let (mut records, mut has_session) = (Records::new(source, Layout::Values, false), false);
    while let Some(found) = records.next()? {
        let is_beginning = found.place.offset < HEAD_BYTES as u64;
        if has_session && !is_beginning {
            break;
        }
        let Content::Value(_, fields) = found.content else { continue };
        match kind_of(&fields) {
            Kind::Session if fields.text("id").as_deref() == Some(id) && !has_session => {
                set_session(start, &fields);
                has_session = true;
            }
            Kind::Message if is_beginning && fields.text("sessionID").as_deref() == Some(id) => first.look(&fields),
            _ => {}
        }
    }
    Ok(())
}

impl OpenCode {
    /// A value of the storage.
    fn value(&mut self, record: &Record<'_>, out: &mut Builder) {
        let fields = &record.fields;
        if record.json.is_array() {
            return out.drop(Reason::Bulk);
        }
        let kind = kind_of(fields);
        let id = if kind == Kind::Session { fields.filled("id") } else { fields.filled("sessionID") };
        let session = id.and_then(Json::text).map(|id| Lane::Session(id.into_owned()));
        match kind {
            Kind::Other => other(record, out),
            _ if session.as_ref() != Some(&self.lane) => out.drop(Reason::OtherConversation),
            Kind::Session => self.session(fields.clone(), record, out),
            Kind::Message => self.remember(fields, record, out),
            Kind::Part => {
                let message = fields.get("messageID").map_or(0, Json::key);
                let id = fields.text("id").unwrap_or_default().into();
                self.parts.push(Part { message, id, place: record.place, number: out.defer() });
            }
        }
    }

    fn session(&mut self, info: Object<'_>, record: &Record<'_>, out: &mut Builder) {
        if std::mem::replace(&mut self.has_session, true) {
            return out.keep("session", record.json, Severity::Info);
        }
        out.at(info.get("time").and_then(|time| time.get("created")));
        out.sets_start();
        if let Some(title) = info.filled("title") {
            out.title(title);
        }
        out.omit("session", &info, &["id", "directory", "title", "time", "revert"]);
        if let Some(message) = info.get("revert").and_then(|revert| revert.object().filled("messageID")) {
            self.revert = Some(Revert { message: message.key(), number: out.defer(), before: None });
        }
    }

    fn remember(&mut self, info: &Object<'_>, record: &Record<'_>, out: &mut Builder) {
        let time = created(info).or(self.messages.last().map(|message| message.time)).unwrap_or(0.0);
        let id = info.text("id").unwrap_or_default().into();
        self.messages.push(Message { time, id, place: record.place, number: out.defer() });
    }

    /// Places the items of a message. `stored` are its parts that have records of their own.
    fn emit(&mut self, message: &Message, stored: &[Part], source: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        let bytes = bytes_at(source, message.place)?;
        let json = Json(&bytes);
        let mut texts = Vec::with_capacity(stored.len());
        for part in stored {
            texts.push(bytes_at(source, part.place)?);
        }
        let info =
            if self.is_document { json.get("info").map(Json::object).unwrap_or_default() } else { json.object() };
        let parts: Vec<Json<'_>> = match self.is_document {
            true => in_order(json.get("parts").map(Json::elements).unwrap_or_default()),
            false => texts.iter().map(|text| Json(text)).collect(),
        };
        let before = out.resume(message.number);
        out.at(info.get("time").and_then(|time| time.get("created")));
        let end = out.end();
        if let Some(revert) = self.revert.as_mut().filter(|revert| revert.message == key_of(&message.id)) {
            revert.before.get_or_insert(end);
        }
        let read = read_parts(&parts, message.place.line, info.is("role", "assistant"));
        let numbers = |wanted: fn(&Fate) -> bool| -> Vec<RecordNumber> {
            stored.iter().zip(&read.fates).filter(|(_, fate)| wanted(fate)).map(|(part, _)| part.number).collect()
        };
        out.join(numbers(|fate| matches!(fate, Fate::Item | Fate::Result)));
        let results = place_message(&info, read.blocks, read.has_only_synthetic, out);
        out.join(numbers(|fate| *fate == Fate::Result));
        if results && !read.results.is_empty() {
            let meta = Meta { id: known(info.get("id")), ..Meta::default() };
            out.results(read.results, meta, "assistant tool", json);
        }
        out.join(Vec::new());
        self.finish_message(&info, json, &parts, &read.fates, out);
        out.release(before);
        for ((part, json), fate) in stored.iter().zip(&parts).zip(&read.fates) {
            let before = out.resume(part.number);
            finish_part(*json, *fate, out);
            out.release(before);
        }
        Ok(())
    }

    /// States what of a message is in no item.
    fn finish_message(&self, info: &Object<'_>, json: Json<'_>, parts: &[Json<'_>], fates: &[Fate], out: &mut Builder) {
        if let Some(error) = info.get("error").filter(|error| error.is_object()) {
            let is_aborted = error.object().is("name", "MessageAbortedError");
            out.note(if is_aborted { Severity::Warning } else { Severity::Error }, &message_of(error));
        }
        if self.is_document {
            for (part, fate) in parts.iter().zip(fates) {
                match fate {
                    Fate::Retry => out.note(Severity::Warning, &retry_of(*part)),
                    Fate::Kept => out.omit_one("parts", part.object().text("type").unwrap_or_default().as_bytes()),
                    Fate::Item | Fate::Result | Fate::Marker | Fate::Ignored => {}
                }
            }
            if !out.is_mapped() && fates.contains(&Fate::Kept) {
                return out.keep("message", json, Severity::Info);
            }
        }
        out.omit("message", info, CARRIED);
        out.drop_unless_mapped(if fates.contains(&Fate::Marker) { Reason::Marker } else { Reason::Empty });
    }

    /// Keeps parts whose message is not in the file.
    fn leave_lost_parts(
        &self,
        messages: &[Message],
        parts: &[Part],
        source: &LineSource,
        out: &mut Builder,
    ) -> Result<(), Stop> {
        let known: HashMap<u64, ()> = messages.iter().map(|message| (key_of(&message.id), ())).collect();
        for part in parts.iter().filter(|part| !known.contains_key(&part.message)) {
            let bytes = bytes_at(source, part.place)?;
            let before = out.resume(part.number);
            out.keep("part (no-such-message)", Json(&bytes), Severity::Warning);
            out.release(before);
        }
        Ok(())
    }

    /// Takes back the message at which the session was reverted, and those behind it.
    fn take_back(&mut self, out: &mut Builder) {
        let Some(Revert { number, before, .. }) = self.revert.take() else { return };
        let current = out.resume(number);
        if let Some(length) = before.and_then(|node| out.history().live_up_to(node)) {
            out.rewind_to(length);
        }
        out.release(current);
    }
}

fn bytes_at(source: &LineSource, place: RecordPlace) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    let length = usize::try_from(place.length).map_err(|_| Stop::changed())?;
    source.append_bytes_at(place.offset, length, &mut bytes)?;
    Ok(bytes)
}

fn other(record: &Record<'_>, out: &mut Builder) {
    let fields = &record.fields;
    if fields.get("secret").is_some() && fields.get("url").is_some() {
        out.drop(Reason::Secret);
    } else if fields.get("worktree").is_some() {
        out.drop(Reason::Bulk);
    } else {
        out.keep(&fields.text("type").unwrap_or_default(), record.json, Severity::Info);
    }
}

/// Parts by their ids, if all have one.
fn in_order(parts: Vec<Json<'_>>) -> Vec<Json<'_>> {
    let mut named: Vec<(String, Json<'_>)> = Vec::with_capacity(parts.len());
    for part in &parts {
        match part.object().text("id") {
            Some(id) if !id.is_empty() => named.push((id.into_owned(), *part)),
            _ => return parts,
        }
    }
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    named.into_iter().map(|(_, part)| part).collect()
}

/// What became of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is a block of the message's item.
    Item,
    /// Its call is a block of the item, and its result is in the item of results.
    Result,
    Marker,
    Ignored,
    Retry,
    Kept,
}

struct ReadParts {
    blocks: Vec<Block>,
    results: Vec<ToolResult>,
    fates: Vec<Fate>,
    /// Whether there are texts, and the program wrote all of them.
    has_only_synthetic: bool,
}

fn read_parts(parts: &[Json<'_>], line: u64, is_assistant: bool) -> ReadParts {
    let (mut texts, mut synthetic) = (0, 0);
    let mut read = ReadParts { blocks: Vec::new(), results: Vec::new(), fates: Vec::new(), has_only_synthetic: false };
    for (index, part) in parts.iter().enumerate() {
        let fields = part.object();
        let kind = fields.text("type").unwrap_or_default();
        let fate = match &*kind {
            _ if fields.is_true("ignored") => Fate::Ignored,
            "text" => {
                let Some(block) = fields.get("text").and_then(blocks::text) else {
                    read.fates.push(Fate::Ignored);
                    continue;
                };
                texts += 1;
                synthetic += usize::from(fields.is_true("synthetic"));
                read.blocks.push(if fields.is_true("synthetic") { flagged(block) } else { block });
                Fate::Item
            }
            "reasoning" => {
                read.blocks.push(reasoning(&fields));
                Fate::Item
            }
            "file" => {
                let mime = fields.text("mime").unwrap_or_else(|| "application/octet-stream".into());
                let media = fields.get("url").and_then(|url| blocks::media_at(url, &mime));
                read.blocks.push(media.unwrap_or_else(|| blocks::other(*part)));
                Fate::Item
            }
            "tool" if is_assistant => {
                let id = fields
                    .filled("callID")
                    .map_or_else(|| json_text(&format!("call-{line}-{index}")), |id| id.bytes().to_vec());
                let state = fields.get("state").map(Json::object).unwrap_or_default();
                let name = fields.get("tool").filter(|name| name.is_string()).map_or(&b"\"\""[..], Json::bytes);
                let parameters = state.get("input");
                let call = Call { id: Some(Json(&id)), place: (line, index), name, parameters, server: false };
                read.blocks.push(blocks::call(&call));
                let result = result_of(&state, Json(&id), Json(name));
                let has_result = result.is_some();
                read.results.extend(result);
                if has_result { Fate::Result } else { Fate::Item }
            }
            "agent" | "subtask" => {
                read.blocks.push(blocks::other(*part));
                Fate::Item
            }
            "step-start" | "step-finish" | "snapshot" | "patch" => Fate::Marker,
            "retry" => Fate::Retry,
            _ => Fate::Kept,
        };
        read.fates.push(fate);
    }
    read.has_only_synthetic = texts > 0 && texts == synthetic;
    read
}

/// The text with a mark that the program wrote it.
fn flagged(block: Block) -> Block {
    let mut json = block.json;
    json.pop();
    json.extend_from_slice(br#","synthetic":true}"#);
    Block { json, ..block }
}

fn reasoning(fields: &Object<'_>) -> Block {
    let of_provider = |provider: &str, key: &str| fields.get("metadata")?.get(provider)?.get(key);
    blocks::thinking(Thinking {
        thought: fields.get("text").filter(|text| text.is_string()).map(Json::bytes),
        signature: of_provider("anthropic", "signature"),
        encrypted: of_provider("openai", "reasoningEncryptedContent"),
        ..Thinking::default()
    })
}

/// The result in the state of a tool; `None` while it is running.
fn result_of(state: &Object<'_>, id: Json<'_>, name: Json<'_>) -> Option<ToolResult> {
    let (key, is_error) = match &*state.text("status")? {
        "completed" => ("output", name.is("invalid")),
        "error" => ("error", true),
        _ => return None,
    };
    let output = state.get(key).filter(|value| !value.is_null()).unwrap_or(Json(b"\"\""));
    let mut result = Vec::with_capacity(output.bytes().len());
    output.write(&mut result);
    let attachments = state.get("attachments").map(Json::elements).unwrap_or_default();
    let media = attachments.into_iter().filter_map(|file| {
        let fields = file.object();
        let mime = fields.text("mime").unwrap_or_else(|| "application/octet-stream".into());
        fields.get("url").and_then(|url| blocks::media_at(url, &mime))
    });
    let media = media.collect();
    let exit = state.get("metadata").and_then(|metadata| metadata.get("exit")?.number());
    let placed =
        ToolResult { name: Some(name.bytes().to_vec()), media, ..ToolResult::new(id, result).failed(is_error) };
    match exit.filter(|exit| *exit != 0.0 && name.is("bash") && !is_error) {
        Some(exit) => {
            let error = json_text(&format!("exit code {}", super::value::js_number(exit)));
            Some(ToolResult { error: Some(error), ..placed })
        }
        None => Some(placed),
    }
}

/// Places the item of a message. Returns whether results may follow it.
fn place_message(info: &Object<'_>, blocks: Vec<Block>, has_only_synthetic: bool, out: &mut Builder) -> bool {
    let id = known(info.get("id"));
    if info.is("role", "user") {
        if !blocks.is_empty() {
            let kind = has_only_synthetic.then_some("injected");
            out.human(Item::human(blocks, Meta { id, kind, ..Meta::default() }));
        }
        return false;
    }
    if !info.is("role", "assistant") || blocks.is_empty() {
        return false;
    }
    let (model, provider) = (known(info.get("modelID")), known(info.get("providerID")));
    let (usage, stop_reason) = (usage_of(info), known(info.get("finish")));
    let meta = Meta { id, model, provider, usage, stop_reason, ..Meta::default() };
    if info.is_true("summary") {
        out.close();
        out.switch(meta.provider.as_deref(), meta.model.as_deref());
        let blocks = blocks.into_iter().filter(|block| block.kind != blocks::BlockKind::Call).collect();
        out.compress(&Item::ai(blocks, Meta { kind: Some("summary"), ..meta }), &[], false, None);
        return false;
    }
    out.respond(None, Item::ai(blocks, meta));
    true
}

/// States the fate of a part that has a record of its own.
fn finish_part(part: Json<'_>, fate: Fate, out: &mut Builder) {
    match fate {
        Fate::Item | Fate::Result => out.drop_unless_mapped(Reason::NoEffect),
        Fate::Marker => out.drop(Reason::Marker),
        Fate::Ignored => {
            let is_empty = !part.object().is_true("ignored");
            out.drop(if is_empty { Reason::Empty } else { Reason::Ignored });
        }
        Fate::Retry => out.note(Severity::Warning, &retry_of(part)),
        Fate::Kept => {
            let kind = part.object().text("type").unwrap_or_default();
            out.keep(&format!("part {kind}"), part, Severity::Info);
        }
    }
}

/// The message of an error.
fn message_of(error: Json<'_>) -> String {
    let fields = error.object();
    let message = fields.get("data").and_then(|data| data.object().filled("message")).or(fields.filled("message"));
    message.or(fields.get("name")).and_then(Json::text).unwrap_or_default().into_owned()
}

fn retry_of(part: Json<'_>) -> String {
    part.get("error").map_or_else(|| "retry".to_owned(), |error| format!("retry: {}", message_of(error)))
}

fn usage_of(info: &Object<'_>) -> Option<Usage> {
    let tokens = info.get("tokens").filter(|tokens| tokens.is_object())?.object();
    let amount = |key: &str| tokens.get(key).and_then(Json::amount);
    let cache = |key: &str| tokens.get("cache").and_then(|cache| cache.get(key)).and_then(Json::amount);
    let (cached, cache_write, reasoning) = (cache("read"), cache("write"), amount("reasoning"));
    Some(Usage {
        input: amount("input").unwrap_or_default() + cached.unwrap_or_default() + cache_write.unwrap_or_default(),
        cached,
        cache_write,
        output: amount("output").unwrap_or_default() + reasoning.unwrap_or_default(),
        reasoning,
        cost: info.get("cost").and_then(Json::amount),
    })
}
