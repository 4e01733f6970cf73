//! Codex: JSONL of `{timestamp, type, payload}`. Response items are the conversation; events repeat it for the user interface, and are read only in
//! a file without response items.

use super::Stop;
use super::blocks::{self, Block, Call, Part, Thinking, ToolResult, Usage, joined, result_of};
use super::builder::{Builder, Item, Meta, Severity, Shape, Start, known};
use super::format::{Format, Lane, Look, Opening, Record};
use super::receipt::Reason;
use super::records::{Content, Head, Layout, Records};
use super::time::time_of;
use super::value::{Json, Object, json_text, write_member};
use crate::lines::LineSource;

/// The beginnings of texts that the harness puts into every conversation.
const CONTEXT: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "<skills_instructions>",
    "<context_window>",
    "<recommended_plugins>",
    "<collaboration_mode>",
    "<personality_spec>",
];

/// The beginnings of the types of events that repeat response items.
const ECHOES: &[&str] = &["agent_reasoning", "exec_command_", "patch_apply_", "mcp_tool_call_", "web_search_"];

/// The types of completed items that repeat response items, in lower case.
const ECHOED_ITEMS: &[&str] = &[
    "usermessage",
    "agentmessage",
    "reasoning",
    "commandexecution",
    "filechange",
    "mcptoolcall",
    "websearch",
    "contextcompaction",
];

/// The fields of response items that events carry.
const CARRIED: &[&str] = &[
    "type",
    "role",
    "content",
    "summary",
    "encrypted_content",
    "name",
    "arguments",
    "input",
    "action",
    "call_id",
    "output",
    "tools",
    "revised_prompt",
    "result",
];

/// The number of lines of an output among which its exit code is looked for.
const EXIT_CODE_LINES: usize = 6;

/// Reads a session of Codex.
pub(super) struct Codex {
    has_meta: bool,
    /// The model of the `session_start`, until a record has stated it.
    first_model: Option<Vec<u8>>,
    /// The key of the response to which the next items belong; `None` before the first one and behind the end of one.
    group: Option<Vec<u8>>,
    groups: u64,
    /// The total of the last count of tokens, as JSON text.
    total: Option<Vec<u8>>,
    /// Whether the file has no response items.
    reads_events: bool,
}

impl Format for Codex {
    const NAME: &'static str = "codex";
    const SHAPE: Shape = Shape { parallel_results: false };

    fn claims(head: &Head<'_>) -> bool {
        const TYPES: [&str; 5] = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
        head.first_lines().iter().any(|fields| {
            let has_payload = fields.get("payload").is_some_and(Json::is_object);
            has_payload && TYPES.into_iter().any(|known| fields.is("type", known))
        })
    }

    fn layout(_: &Head<'_>) -> Layout {
        Layout::Lines
    }

    fn open(opening: &Opening<'_>) -> Result<(Self, Start), Stop> {
        let lines = &opening.head.lines;
        let of_type = |kind: &'static str| lines.iter().filter(move |fields| fields.is("type", kind));
        let meta = of_type("session_meta").next().and_then(|fields| fields.get("payload"));
        let meta = meta.map(Json::object).unwrap_or_default();
        let contexts = of_type("turn_context").filter_map(|fields| fields.get("payload"));
        let model = contexts.filter_map(|context| known(context.get("model"))).next();
        let first_time = || lines.iter().find_map(|fields| fields.get("timestamp").and_then(time_of));
        let start = Start {
            session_id: meta.text("id").unwrap_or_default().into_owned(),
            cwd: known(meta.get("cwd")),
            provider: known(meta.get("model_provider")),
            model: model.clone(),
            version: known(meta.get("cli_version")),
            start_time: meta.get("timestamp").and_then(time_of).or_else(first_time),
            ..Start::default()
        };
        let reads_events = of_type("response_item").next().is_none() && !has_response_item(opening.source)?;
        let codex = Codex { has_meta: false, first_model: model, group: None, groups: 0, total: None, reads_events };
        Ok((codex, start))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        let fields = &record.fields;
        out.at(fields.get("timestamp"));
        let kind = fields.text("type").unwrap_or_default();
        let payload = fields.get("payload").filter(|payload| payload.is_object()).map(Json::object);
        let Some(payload) = payload else {
            out.keep(&kind, record.json, Severity::Info);
            return Ok(());
        };
        match &*kind {
            "session_meta" if !self.has_meta => {
                self.has_meta = true;
                out.sets_start();
                if let Some(parent) = payload.filled("forked_from_id") {
                    out.forked(parent);
                }
            }
            "response_item" => self.response_item(&payload, record, out),
            "turn_context" => self.turn_context(&payload, out),
            "compacted" => self.compacted(&payload, record, out),
            "event_msg" => self.event(&payload, record, out),
            _ => out.keep(&kind, record.json, Severity::Info),
        }
        Ok(())
    }

    fn end(&mut self, _: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        out.close();
        Ok(())
    }

    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        let payload = record.fields.get("payload").map(Json::object).unwrap_or_default();
        let title = payload.get("thread_name").filter(|_| payload.is("type", "thread_name_updated"));
        Look { lane: Some(Lane::Main), title, time: record.fields.get("timestamp") }
    }
}

/// Whether a response item is somewhere in the file. Asked only if none is at its beginning.
fn has_response_item(source: &LineSource) -> Result<bool, Stop> {
    let mut records = Records::new(source, Layout::Lines, false);
    while let Some(found) = records.next()? {
        if let Content::Value(_, fields) = found.content
            && fields.is("type", "response_item")
        {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Codex {
    fn response_item(&mut self, payload: &Object<'_>, record: &Record<'_>, out: &mut Builder) {
        let line = record.place.line;
        let kind = kind_of(payload);
        out.omit("response_item", payload, CARRIED);
        match &*kind {
            "message" if payload.is("role", "assistant") => self.say(message_blocks(payload), out),
            "message" if payload.is("role", "user") && !is_context(payload) => {
                self.group = None;
                let blocks = message_blocks(payload);
                if blocks.is_empty() {
                    return out.drop(Reason::Empty);
                }
                out.human(Item::human(blocks, Meta::default()));
            }
            "reasoning" => self.say(vec![reasoning(payload)], out),
            "function_call" => self.call(payload, payload.get("name"), payload.get("arguments"), line, out),
            "custom_tool_call" => self.call(payload, payload.get("name"), payload.get("input"), line, out),
            "local_shell_call" => self.call(payload, Some(Json(b"\"local_shell\"")), payload.get("action"), line, out),
            "tool_search_call" => {
                self.call(payload, Some(Json(b"\"tool_search\"")), payload.get("arguments"), line, out);
            }
            "web_search_call" => {
                let id = server_id(payload, "web_search", line);
                self.say(vec![server_call(&id, b"\"web_search\"", payload.get("action"))], out);
            }
            "image_generation_call" => {
                let id = server_id(payload, "image_generation", line);
                let mut parameters = vec![b'{'];
                if let Some(prompt) = payload.get("revised_prompt") {
                    write_member(&mut parameters, "revised_prompt", prompt.bytes());
                }
                parameters.push(b'}');
                let mut blocks = vec![server_call(&id, b"\"image_generation\"", Some(Json(&parameters)))];
                let image = payload.filled("result");
                blocks.extend(image.map(|image| blocks::media("image/png", image.bytes(), "base64")));
                self.say(blocks, out);
            }
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" | "local_shell_call_output" => {
                self.output(payload, &format!("response_item {kind}"), record, out);
            }
            "compaction" | "context_compaction" => {
                self.group = None;
                let meta = Meta { kind: Some("summary"), ..meta_of(out) };
                out.respond(None, Item::ai(vec![encrypted(payload)], meta));
            }
            "ghost_snapshot" => out.drop(Reason::Bulk),
            _ => out.keep(&format!("response_item {kind}"), record.json, Severity::Info),
        }
    }

    /// Adds blocks to the response that is being given, or begins the next one.
    fn say(&mut self, blocks: Vec<Block>, out: &mut Builder) {
        if blocks.is_empty() {
            return out.drop(Reason::Empty);
        }
        if self.group.as_deref().is_some_and(|key| out.is_open(key)) {
            return out.grow(blocks, false);
        }
        self.groups += 1;
        let key = self.groups.to_le_bytes().to_vec();
        out.respond(Some(&key), Item::ai(blocks, meta_of(out)));
        self.group = Some(key);
    }

    fn call(
        &mut self,
        payload: &Object<'_>,
        name: Option<Json<'_>>,
        parameters: Option<Json<'_>>,
        line: u64,
        out: &mut Builder,
    ) {
        let id = payload.filled("call_id").or_else(|| payload.filled("id"));
        let name = name.filter(|name| name.is_string()).map_or(&b"\"\""[..], Json::bytes);
        self.say(vec![blocks::call(&Call { id, place: (line, 0), name, parameters, server: false })], out);
    }

    fn output(&mut self, payload: &Object<'_>, what: &str, record: &Record<'_>, out: &mut Builder) {
        self.group = None;
        let Some(id) = payload.filled("call_id") else {
            return out.keep(what, record.json, Severity::Warning);
        };
        let output = payload.get("output").or_else(|| payload.get("tools"));
        let members = output.map(Json::object).unwrap_or_default();
        let content = members.get("content").or(output);
        let (result, media) = result_of(content, part_of);
        let mut result = ToolResult { media, ..ToolResult::new(id, result) };
        result.error = match exit_code(Json(&result.result)) {
            _ if members.get("success").is_some_and(|success| success.bytes() == b"false") => {
                Some(blocks::error_of(&result.result))
            }
            Some(code) => Some(json_text(&format!("exit code {code}"))),
            None => None,
        };
        out.results(vec![result], Meta::default(), what, record.json);
    }

    fn turn_context(&mut self, payload: &Object<'_>, out: &mut Builder) {
        self.group = None;
        let model = payload.filled("model").map(Json::bytes);
        let sets_start = model.is_some() && self.first_model.as_deref() == model;
        if sets_start {
            self.first_model = None;
            out.sets_start();
        } else if !out.switch(None, model) {
            out.drop(Reason::Unchanged);
        }
    }

    fn compacted(&mut self, payload: &Object<'_>, record: &Record<'_>, out: &mut Builder) {
        self.group = None;
        let message = payload.filled("message");
        let text = message.and_then(Json::text);
        let history = payload.get("replacement_history").map(Json::elements).unwrap_or_default();
        let has_message = |item: &Object<'_>| {
            let parts = texts_of(item.get("content"));
            text.as_deref()
                .is_some_and(|text| parts.iter().any(|part| part.text().is_some_and(|part| part.contains(text))))
        };
        let items: Vec<_> = history.iter().map(|item| item.object()).collect();
        let summary = items.iter().position(has_message);
        let mut blocks = match summary {
            Some(index) => message_blocks(&items[index]),
            None => message.and_then(blocks::text).into_iter().collect(),
        };
        let is_compaction =
            |item: &Object<'_>| matches!(&*kind_of(item), "compaction" | "context_compaction" | "compaction_summary");
        blocks.extend(items.iter().filter(|item| is_compaction(item)).map(encrypted));
        let is_kept = |index: usize, item: &Object<'_>| {
            let is_context = match &*kind_of(item) {
                "message" => !item.is("role", "assistant") && (!item.is("role", "user") || is_context(item)),
                "ghost_snapshot" => true,
                _ => is_compaction(item),
            };
            Some(index) != summary && !is_context
        };
        let kept: Vec<_> = items.iter().enumerate().filter(|(index, item)| is_kept(*index, item)).collect();
        let meta = Meta { kind: Some("summary"), ..Meta::default() };
        out.compress_to(&Item::human(blocks, meta), kept.len(), None);
        for (_, item) in kept {
            self.response_item(item, record, out);
        }
        self.group = None;
        // The record is carried by the summary, whatever became of single items.
        out.map();
    }

    fn event(&mut self, payload: &Object<'_>, record: &Record<'_>, out: &mut Builder) {
        let kind = payload.text("type").unwrap_or_default();
        match &*kind {
            "user_message" | "agent_message" | "agent_reasoning" if self.reads_events => {
                self.event_item(&kind, payload, out);
            }
            "token_count" => self.token_count(payload, out),
            "thread_rolled_back" => {
                self.group = None;
                let turns = payload.get("num_turns").and_then(Json::amount).unwrap_or_default();
                let keep = out.history().before_human(turns.max(0.0) as usize);
                out.rewind_to(keep);
            }
            "turn_aborted" => {
                let reason = payload.text("reason").unwrap_or_default();
                out.note(Severity::Warning, &with_reason("turn aborted", &reason));
            }
            "error" | "stream_error" | "warning" => {
                let severity = if kind == "warning" { Severity::Warning } else { Severity::Error };
                let message = payload.text("message").unwrap_or_default();
                out.note(severity, if message.is_empty() { &kind } else { &message });
            }
            "thread_name_updated" => {
                let name = payload.get("thread_name").or_else(|| payload.get("name"));
                match name.filter(|name| name.is_string() || name.is_null()) {
                    Some(name) => out.named(name),
                    None => out.keep(&format!("event_msg {kind}"), record.json, Severity::Info),
                }
            }
            "task_started" | "task_complete" | "turn_started" | "turn_complete" => {
                self.group = None;
                out.drop(Reason::Marker);
            }
            _ if is_echo(&kind, payload) => out.drop(Reason::Echo),
            _ => out.keep(&format!("event_msg {kind}"), record.json, Severity::Info),
        }
    }

    /// Reads an event as the item that it repeats in other files.
    fn event_item(&mut self, kind: &str, payload: &Object<'_>, out: &mut Builder) {
        match kind {
            "user_message" => {
                self.group = None;
                let mut blocks: Vec<_> = payload.get("message").and_then(blocks::text).into_iter().collect();
                let images = payload.get("images").map(Json::elements).unwrap_or_default();
                blocks.extend(images.into_iter().filter_map(|image| blocks::media_at(image, "image/*")));
                if blocks.is_empty() {
                    return out.drop(Reason::Empty);
                }
                out.human(Item::human(blocks, Meta::default()));
            }
            "agent_message" => self.say(payload.get("message").and_then(blocks::text).into_iter().collect(), out),
            _ => {
                let thought = payload.filled("text").map(Json::bytes);
                let block = thought.map(|_| blocks::thinking(Thinking { thought, ..Thinking::default() }));
                self.say(block.into_iter().collect(), out);
            }
        }
    }

    fn token_count(&mut self, payload: &Object<'_>, out: &mut Builder) {
        let info = payload.get("info").map(Json::object).unwrap_or_default();
        let Some(usage) = info.get("last_token_usage").and_then(usage_of) else { return out.drop(Reason::NoUsage) };
        let total = info.get("total_token_usage").map(|total| total.bytes().to_vec());
        if total.is_some() && total == self.total {
            return out.drop(Reason::Repeat);
        }
        self.total = total;
        if !out.late_usage(usage) {
            out.drop(Reason::NoMessage);
        }
    }
}

fn meta_of(out: &Builder) -> Meta {
    let named = |name: &[u8]| (name != b"\"unknown\"").then(|| name.to_vec());
    Meta { model: named(out.model()), provider: named(out.provider()), ..Meta::default() }
}

fn with_reason(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}

/// The type of a response item. One without a type that has a role and a content is a message.
fn kind_of<'a>(payload: &Object<'a>) -> std::borrow::Cow<'a, str> {
    match payload.text("type") {
        Some(kind) => kind,
        None if payload.get("role").is_some() && payload.get("content").is_some() => "message".into(),
        None => "".into(),
    }
}

/// Whether a message is context that every session gets again.
fn is_context(payload: &Object<'_>) -> bool {
    let first = texts_of(payload.get("content")).into_iter().next();
    let beginning = first.and_then(|text| text.beginning(256)).unwrap_or_default();
    CONTEXT.iter().any(|context| beginning.trim_start().starts_with(context))
}

/// The texts of a content, which is a text or a list of parts.
fn texts_of(content: Option<Json<'_>>) -> Vec<Json<'_>> {
    let Some(content) = content else { return Vec::new() };
    if content.is_string() {
        return vec![content];
    }
    let text = |part: Json<'_>| matches!(part_of(part), Some(Part::Text(_)));
    content.elements().into_iter().filter(|part| text(*part)).filter_map(|part| part.get("text")).collect()
}

fn message_blocks(payload: &Object<'_>) -> Vec<Block> {
    let Some(content) = payload.get("content") else { return Vec::new() };
    if content.is_string() {
        return blocks::text(content).into_iter().collect();
    }
    let block = |part: Json<'_>| match part_of(part) {
        Some(Part::Text(text)) => blocks::text(text),
        Some(Part::Media(media)) => Some(media),
        None => Some(blocks::other(part)),
    };
    content.elements().into_iter().filter_map(block).collect()
}

fn part_of(part: Json<'_>) -> Option<Part<'_>> {
    let fields = part.object();
    if ["input_text", "output_text", "text"].into_iter().any(|kind| fields.is("type", kind)) {
        return fields.get("text").filter(|text| text.is_string()).map(Part::Text);
    }
    if fields.is("type", "input_image") {
        let image = fields.get("image_url")?;
        let url = if image.is_object() { image.get("url")? } else { image };
        return blocks::media_at(url, "image/*").map(Part::Media);
    }
    None
}

fn reasoning(payload: &Object<'_>) -> Block {
    let texts = ["summary", "content"].into_iter().filter_map(|key| payload.get(key));
    let texts: Vec<_> = texts.flat_map(Json::elements).filter_map(|part| part.get("text")?.filled()).collect();
    let thought = joined(texts, "\\n\\n");
    let encrypted = payload.get("encrypted_content");
    blocks::thinking(Thinking { thought: Some(&thought), encrypted, ..Thinking::default() })
}

fn encrypted(payload: &Object<'_>) -> Block {
    blocks::thinking(Thinking { encrypted: payload.get("encrypted_content"), ..Thinking::default() })
}

fn server_id(payload: &Object<'_>, what: &str, line: u64) -> Vec<u8> {
    known(payload.get("id")).unwrap_or_else(|| json_text(&format!("{what}-{line}")))
}

fn server_call(id: &[u8], name: &[u8], parameters: Option<Json<'_>>) -> Block {
    blocks::call(&Call { id: Some(Json(id)), place: (0, 0), name, parameters, server: true })
}

/// The exit code that an output states, if it is not 0.
fn exit_code(result: Json<'_>) -> Option<i64> {
    let code = |line: &str| {
        let code =
            line.trim().strip_prefix("Process exited with code ").or_else(|| line.trim().strip_prefix("Exit code: "));
        code?.trim().parse::<i64>().ok()
    };
    let stated = result.first_lines(EXIT_CODE_LINES)?.lines().take(EXIT_CODE_LINES).find_map(code);
    let in_json = || {
        let text = result.text_of_object()?;
        let value = Json::parse(text.as_bytes()).filter(|value| value.is_object())?;
        value.get("metadata")?.get("exit_code")?.number().map(|code| code as i64)
    };
    stated.or_else(in_json).filter(|code| *code != 0)
}

fn usage_of(usage: Json<'_>) -> Option<Usage> {
    let usage = Some(usage).filter(|usage| usage.is_object())?.object();
    let amount = |key: &str| usage.get(key).and_then(Json::amount);
    Some(Usage {
        input: amount("input_tokens")?,
        cached: amount("cached_input_tokens"),
        cache_write: None,
        output: amount("output_tokens").unwrap_or_default(),
        reasoning: amount("reasoning_output_tokens"),
        cost: None,
    })
}

fn is_echo(kind: &str, payload: &Object<'_>) -> bool {
    match kind {
        "user_message" | "agent_message" | "image_generation_end" | "context_compacted" | "view_image_tool_call" => {
            true
        }
        "item_completed" => {
            let item = payload.get("item").map(Json::object).unwrap_or_default();
            let name = item.text("type").unwrap_or_default().to_lowercase().replace('_', "");
            ECHOED_ITEMS.contains(&name.as_str())
        }
        _ => ECHOES.iter().any(|echo| kind.starts_with(echo)),
    }
}
