//! pi and its descendants openclaw and omp: JSONL, since version 2 a tree. Every entry with an id continues at its parent, also one without an item.

use std::collections::HashSet;

use super::Stop;
use super::blocks::{self, Block, Call, Part, Thinking, ToolResult, Usage, result_of};
use super::builder::{Builder, Item, Meta, Severity, Shape, Start, known};
use super::format::{Format, Lane, Look, Opening, Record};
use super::history::{Node, ROOT};
use super::receipt::Reason;
use super::records::{Head, Layout};
use super::time::time_of;
use super::value::{Json, Object, write_member, write_text_member};
use crate::lines::LineSource;

/// The fields of entries that events carry, or that only order them.
const CARRIED: &[&str] = &["type", "id", "parentId", "timestamp", "message", "content", "summary", "firstKeptEntryId"];

/// The fields of messages that events carry.
const CARRIED_OF_MESSAGE: &[&str] = &[
    "role",
    "content",
    "provider",
    "model",
    "usage",
    "stopReason",
    "errorMessage",
    "toolCallId",
    "toolName",
    "isError",
    "command",
    "output",
    "summary",
];

/// The last item at an entry, and whether it is the entry's own.
#[derive(Clone, Copy)]
struct EntryTip {
    tip: Node,
    is_own: bool,
}

/// Reads a session of pi.
pub(super) struct Pi {
    has_header: bool,
    /// Whether the next entry that names a model is where the `session_start` has it from.
    names_first_model: bool,
    /// The entries with an item, by the key of their id.
    with_items: HashSet<u64>,
    /// Every entry, the header included; only in version 1, whose compactions name them by their number.
    numbered: Option<Vec<EntryTip>>,
}

impl Format for Pi {
    const NAME: &'static str = "pi";
    const SHAPE: Shape = Shape { parallel_results: false };

    fn claims(head: &Head<'_>) -> bool {
        head.first_lines().iter().any(is_header)
    }

    fn layout(_: &Head<'_>) -> Layout {
        Layout::Lines
    }

    fn open(opening: &Opening<'_>) -> Result<(Self, Start), Stop> {
        let lines = &opening.head.lines;
        let header = lines.iter().find(|fields| is_header(fields)).cloned().unwrap_or_default();
        let mut start = Start {
            session_id: header.text("id").unwrap_or_default().into_owned(),
            cwd: known(header.get("cwd")),
            start_time: header.get("timestamp").and_then(time_of),
            provider: known(header.get("provider")),
            model: known(header.get("modelId")),
            ..Start::default()
        };
        for fields in lines {
            if start.provider.is_some() && start.model.is_some() && start.start_time.is_some() {
                break;
            }
            start.start_time = start.start_time.or_else(|| fields.get("timestamp").and_then(time_of));
            let (provider, model) = models_of(fields);
            start.provider = start.provider.or_else(|| known(provider));
            start.model = start.model.or_else(|| known(model));
        }
        let numbered = header.get("version").is_none().then(Vec::new);
        let names_first_model = header.filled("modelId").is_none();
        Ok((Pi { has_header: false, names_first_model, with_items: HashSet::new(), numbered }, start))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        let fields = &record.fields;
        out.at(fields.get("timestamp"));
        let id = fields.filled("id").filter(|_| !is_header(fields));
        if id.is_some() {
            follow_parent(fields, out);
        }
        let kind = fields.text("type").unwrap_or_default();
        let names_first_model = self.names_first_model;
        self.names_first_model &= models_of(fields).1.and_then(Json::filled).is_none();
        let is_own = match &*kind {
            "message" => self.message(record, out),
            "compaction" => self.compaction(record, out),
            "branch_summary" => summary(fields, fields, out),
            "custom_message" => {
                let blocks = content_of(fields.get("content"), record.place.line);
                human(blocks, fields, Some("injected"), out)
            }
            _ => {
                self.other(&kind, names_first_model, record, out);
                false
            }
        };
        if is_own {
            out.omit("entry", fields, CARRIED);
        }
        if let Some(id) = id {
            out.set_tip(id, out.end());
            if is_own {
                self.with_items.insert(id.key());
            } else {
                self.with_items.remove(&id.key());
            }
        }
        if let Some(numbered) = &mut self.numbered {
            numbered.push(EntryTip { tip: out.end(), is_own });
        }
        Ok(())
    }

    fn end(&mut self, _: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        out.close();
        Ok(())
    }

    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        let fields = &record.fields;
        let title = match fields.is("type", "session_info") {
            true => fields.get("name"),
            false => fields.get("title").filter(|_| fields.is("type", "title")),
        };
        Look { lane: Some(Lane::Main), title, time: fields.get("timestamp") }
    }
}

fn is_header(fields: &Object<'_>) -> bool {
    fields.is("type", "session") && fields.get("id").is_some_and(Json::is_string)
}

/// The provider and the model that an entry names.
fn models_of<'a>(fields: &Object<'a>) -> (Option<Json<'a>>, Option<Json<'a>>) {
    if fields.is("type", "model_change") {
        return (fields.get("provider"), fields.get("modelId"));
    }
    let message = fields.get("message").filter(|_| fields.is("type", "message"));
    let message = message.map(Json::object).filter(|message| message.is("role", "assistant")).unwrap_or_default();
    (message.get("provider"), message.get("model"))
}

/// Moves the history to the parent of an entry: to the beginning if that is `null`. Copies do not stand for their originals, so that a branch from
/// before a compaction has the full history again.
fn follow_parent(fields: &Object<'_>, out: &mut Builder) {
    match fields.get("parentId") {
        Some(parent) if parent.is_null() => out.move_to(ROOT),
        Some(parent) if parent.is_string() => {
            if let Some(tip) = out.own_tip(parent) {
                out.move_to(tip);
            }
        }
        _ => {}
    }
}

impl Pi {
    /// Returns whether the entry placed an item, as the other functions do.
    fn message(&mut self, record: &Record<'_>, out: &mut Builder) -> bool {
        let fields = &record.fields;
        let message = fields.get("message").map(Json::object).unwrap_or_default();
        let role = message.text("role").unwrap_or_default();
        let content = content_of(message.get("content"), record.place.line);
        out.omit("message.message", &message, CARRIED_OF_MESSAGE);
        match &*role {
            "user" => human(content, fields, None, out),
            "assistant" => assistant(content, fields, &message, out),
            "toolResult" => tool_result(fields, &message, record, out),
            "bashExecution" if !message.is_true("excludeFromContext") => {
                human(execution(&message), fields, Some("command"), out)
            }
            "custom" | "hookMessage" => human(content, fields, Some("injected"), out),
            "branchSummary" | "compactionSummary" => summary(&message, fields, out),
            _ => {
                out.keep(&format!("message {role}"), record.json, Severity::Info);
                false
            }
        }
    }

    fn compaction(&mut self, record: &Record<'_>, out: &mut Builder) -> bool {
        let fields = &record.fields;
        let Some(text) = fields.get("summary").filter(|summary| summary.is_string()) else {
            out.keep("compaction", record.json, Severity::Info);
            return false;
        };
        let first = self.first_kept(fields, out);
        let position = first.and_then(|place| {
            let length = out.history().live_up_to(place.tip)?;
            Some(if place.is_own { length.saturating_sub(1) } else { length })
        });
        let kept = position.map(|position| out.history().live_from(position).to_vec()).unwrap_or_default();
        let meta = Meta { id: known(fields.get("id")), kind: Some("summary"), ..Meta::default() };
        out.compress(&Item::human(blocks::text(text).into_iter().collect(), meta), &kept, false, None);
        true
    }

    /// The entry from which on items stay behind a compaction.
    fn first_kept(&self, fields: &Object<'_>, out: &Builder) -> Option<EntryTip> {
        if let Some(id) = fields.filled("firstKeptEntryId") {
            let is_own = self.with_items.contains(&id.key());
            return out.own_tip(id).map(|tip| EntryTip { tip, is_own });
        }
        let index = fields.get("firstKeptEntryIndex")?.number().filter(|index| *index >= 1.0)?;
        self.numbered.as_ref()?.get(index as usize).copied()
    }

    fn other(&mut self, kind: &str, names_first_model: bool, record: &Record<'_>, out: &mut Builder) {
        let fields = &record.fields;
        match kind {
            "session" if is_header(fields) && !std::mem::replace(&mut self.has_header, true) => {
                out.sets_start();
                if let Some(parent) = fields.filled("parentSession") {
                    out.forked(parent);
                }
            }
            "model_change" => {
                let (provider, model) = (known(fields.get("provider")), known(fields.get("modelId")));
                match out.switch(provider.as_deref(), model.as_deref()) {
                    false if names_first_model && model.is_some() => out.sets_start(),
                    false => out.drop_unless_mapped(Reason::Unchanged),
                    true => (),
                }
            }
            "session_info" if fields.get("name").is_some_and(Json::is_string) => {
                fields.get("name").into_iter().for_each(|name| out.named(name));
            }
            "title" if fields.get("title").is_some_and(Json::is_string) => {
                fields.get("title").into_iter().for_each(|title| out.title(title));
            }
            _ => {
                let subtype = fields.text("customType").unwrap_or_default();
                out.keep(&format!("{kind} {subtype}"), record.json, Severity::Info);
            }
        }
    }
}

fn human(blocks: Vec<Block>, fields: &Object<'_>, kind: Option<&'static str>, out: &mut Builder) -> bool {
    if blocks.is_empty() {
        out.drop_unless_mapped(Reason::Empty);
        return false;
    }
    let meta = Meta { id: known(fields.get("id")), kind, ..Meta::default() };
    out.human(Item::human(blocks, meta));
    true
}

/// The summary of a branch or of a compaction, in an entry or in a message.
fn summary(of: &Object<'_>, fields: &Object<'_>, out: &mut Builder) -> bool {
    let blocks = of.get("summary").and_then(blocks::text).into_iter().collect();
    human(blocks, fields, Some("summary"), out)
}

fn assistant(content: Vec<Block>, fields: &Object<'_>, message: &Object<'_>, out: &mut Builder) -> bool {
    let (provider, model) = (known(message.get("provider")), known(message.get("model")));
    let has_content = !content.is_empty();
    let stop_reason = known(message.get("stopReason"));
    if has_content {
        let usage = usage_of(message.get("usage"));
        let meta = Meta { id: known(fields.get("id")), model, provider, usage, stop_reason, ..Meta::default() };
        out.respond(None, Item::ai(content, meta));
    } else {
        out.close();
        out.switch(provider.as_deref(), model.as_deref());
    }
    let severity = match message.text("stopReason").as_deref() {
        Some("error") => Some(Severity::Error),
        Some("aborted") => Some(Severity::Warning),
        _ => None,
    };
    if let Some(severity) = severity {
        let reason = message.filled("errorMessage").or(message.get("stopReason")).and_then(Json::text);
        out.note(severity, &reason.unwrap_or_default());
    } else if !has_content {
        out.drop_unless_mapped(Reason::Empty);
    }
    has_content
}

fn tool_result(fields: &Object<'_>, message: &Object<'_>, record: &Record<'_>, out: &mut Builder) -> bool {
    const WHAT: &str = "message toolResult";
    let Some(call_id) = message.filled("toolCallId") else {
        out.keep(WHAT, record.json, Severity::Warning);
        return false;
    };
    let (result, media) = result_of(message.get("content"), part_of);
    let result = ToolResult {
        name: known(message.get("toolName")),
        media,
        ..ToolResult::new(call_id, result).failed(message.is_true("isError"))
    };
    let meta = Meta { id: known(fields.get("id")), ..Meta::default() };
    out.results(vec![result], meta, WHAT, record.json).is_some()
}

/// A command that the user ran: a block with it, and its output.
fn execution(message: &Object<'_>) -> Vec<Block> {
    let mut code = br#"{"type":"code""#.to_vec();
    let command = message.get("command").filter(|command| command.is_string());
    write_member(&mut code, "code", command.map_or(&b"\"\""[..], Json::bytes));
    write_text_member(&mut code, "language", "bash");
    code.push(b'}');
    [blocks::printed(code)].into_iter().chain(message.get("output").and_then(blocks::text)).collect()
}

fn content_of(content: Option<Json<'_>>, line: u64) -> Vec<Block> {
    let Some(content) = content else { return Vec::new() };
    let mut found: Vec<Block> = blocks::text(content).into_iter().collect();
    for (index, value) in content.elements().into_iter().enumerate() {
        if value.is_string() {
            found.extend(blocks::text(value));
        } else if value.is_object() {
            found.extend(block_of(value, (line, index)));
        }
    }
    found
}

fn block_of(value: Json<'_>, place: (u64, usize)) -> Option<Block> {
    let fields = value.object();
    let kind = fields.text("type").unwrap_or_default();
    match &*kind {
        "text" if fields.get("text").is_some_and(Json::is_string) => fields.get("text").and_then(blocks::text),
        "thinking" => Some(blocks::thinking(Thinking {
            thought: fields.get("thinking").filter(|thought| thought.is_string()).map(Json::bytes),
            signature: fields.get("thinkingSignature"),
            ..Thinking::default()
        })),
        "toolCall" => {
            let name = fields.get("name").filter(|name| name.is_string()).map_or(&b"\"\""[..], Json::bytes);
            let (id, parameters) = (fields.get("id"), fields.get("arguments"));
            Some(blocks::call(&Call { id, place, name, parameters, server: false }))
        }
        _ => Some(media_of(&fields).unwrap_or_else(|| blocks::other(value))),
    }
}

fn media_of(fields: &Object<'_>) -> Option<Block> {
    let mime_type = fields.text("mimeType").filter(|_| fields.is("type", "image"))?;
    let data = fields.filled("data")?;
    Some(blocks::media(&mime_type, data.bytes(), "base64"))
}

fn part_of(value: Json<'_>) -> Option<Part<'_>> {
    let fields = value.object();
    if fields.is("type", "text") {
        return fields.get("text").filter(|text| text.is_string()).map(Part::Text);
    }
    media_of(&fields).map(Part::Media)
}

fn usage_of(usage: Option<Json<'_>>) -> Option<Usage> {
    let usage = usage.filter(|usage| usage.is_object())?.object();
    let amount = |key: &str| usage.get(key).and_then(Json::amount);
    let (cached, cache_write) = (amount("cacheRead"), amount("cacheWrite"));
    let (input, output) = (amount("input"), amount("output"));
    let parts = Usage::of_parts(input, cached, cache_write, output)?;
    let cost = usage.get("cost").and_then(|cost| cost.get("total").unwrap_or(cost).amount());
    Some(Usage { cost, ..parts })
}
