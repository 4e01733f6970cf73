//! Claude Code: JSONL, a tree in file order. A response is several records, which grow and have results between them.

use std::collections::HashMap;

use super::Stop;
use super::blocks::{self, Block, Call, Part, Thinking, ToolResult, Usage, result_of};
use super::builder::{Builder, Item, Meta, RecordNumber, Severity, Shape, Start, known};
use super::format::{Format, Lane, Look, Opening, Record};
use super::history::{Node, ROOT};
use super::receipt::Reason;
use super::records::{Head, Layout};
use super::time::time_of;
use super::value::{Json, Object};
use crate::lines::LineSource;

/// The provider of all its models, as JSON text.
const PROVIDER: &[u8] = b"\"anthropic\"";

/// The id of the sub-agent whose records have none.
const INLINE: &str = "inline";

/// The most bytes of a text whose kind is looked for.
const KIND_BYTES: usize = 4096;

/// The fields of records that events carry, or that only order them.
const CARRIED: &[&str] = &[
    "type",
    "uuid",
    "parentUuid",
    "sessionId",
    "timestamp",
    "cwd",
    "message",
    "isSidechain",
    "agentId",
    "isMeta",
    "isCompactSummary",
    "isApiErrorMessage",
    "attachment",
];

/// The fields of messages that events carry.
const CARRIED_OF_MESSAGE: &[&str] = &["id", "model", "role", "type", "content", "stop_reason", "usage"];

/// A boundary of a compaction whose summary has not come yet.
struct Boundary {
    number: RecordNumber,
    raw: Vec<u8>,
    /// The items that stay in context.
    preserved: Vec<Node>,
}

/// A title that belongs to a file in which its last record is.
struct Title {
    number: RecordNumber,
    leaf: Vec<u8>,
    title: Vec<u8>,
}

/// Reads a session of Claude Code.
pub(super) struct Claude {
    lane: Lane,
    /// The conversation of the file itself.
    main: Lane,
    boundary: Option<Boundary>,
    titles: Vec<Title>,
    /// The id of the record at which the user wants to continue, as JSON text.
    pinned: Option<Vec<u8>>,
    /// The names of tools that the provider ran, by the ids of their calls.
    server_tools: HashMap<u64, Vec<u8>>,
}

impl Format for Claude {
    const NAME: &'static str = "claude";
    const SHAPE: Shape = Shape { parallel_results: true };

    fn claims(head: &Head<'_>) -> bool {
        head.first_lines().iter().any(|fields| {
            let message = fields.get("message").filter(|message| message.is_object());
            message_type(fields).is_some() && message.is_some_and(|message| message.get("parts").is_none())
        })
    }

    fn layout(_: &Head<'_>) -> Layout {
        Layout::Lines
    }

    fn open(opening: &Opening<'_>) -> Result<(Self, Start), Stop> {
        let lines = &opening.head.lines;
        let first = lines.iter().find(|fields| message_type(fields).is_some());
        let main = first.map_or(Lane::Main, side_of);
        let lane = if opening.lane == Lane::Main { main.clone() } else { opening.lane.clone() };
        let mut start = Start { provider: Some(PROVIDER.to_vec()), ..Start::default() };
        let session_id = lines.iter().find_map(|fields| fields.filled("sessionId")).and_then(Json::text);
        start.session_id = match &lane {
            Lane::Agent(id) if id != INLINE => format!("agent-{id}"),
            _ => session_id.unwrap_or_default().into_owned(),
        };
        for fields in lines.iter().filter(|fields| lane_of(fields, &main) == lane) {
            start.cwd = start.cwd.or_else(|| known(fields.get("cwd")));
            start.version = start.version.or_else(|| known(fields.get("version")));
            start.start_time = start.start_time.or_else(|| fields.get("timestamp").and_then(time_of));
            start.model = start.model.or_else(|| {
                let message = fields.get("message").filter(|_| fields.is("type", "assistant"))?;
                known(message.get("model").filter(|model| !model.is("<synthetic>")))
            });
            if start.cwd.is_some() && start.start_time.is_some() && start.model.is_some() {
                break;
            }
        }
        let (boundary, titles, pinned, server_tools) = (None, Vec::new(), None, HashMap::new());
        Ok((Claude { lane, main, boundary, titles, pinned, server_tools }, start))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        let fields = &record.fields;
        if lane_of(fields, &self.main) != self.lane {
            out.drop(if side_of(fields) == Lane::Main { Reason::OtherLane } else { Reason::SubAgent });
            return Ok(());
        }
        let uuid = fields.filled("uuid");
        if uuid.is_some_and(|uuid| out.own_tip(uuid).is_some()) {
            out.drop(Reason::DuplicateUuid);
            return Ok(());
        }
        out.at(fields.get("timestamp"));
        let kind = fields.text("type").unwrap_or_default();
        let tip = match &*kind {
            "assistant" => self.assistant(record, out),
            "user" => self.user(record, out),
            "attachment" => attachment(record, out),
            _ => {
                self.other(&kind, record, out);
                None
            }
        };
        if let Some(uuid) = uuid {
            out.set_tip_of_record(uuid, tip, fields.filled("parentUuid"));
        }
        Ok(())
    }

    fn end(&mut self, _: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        self.give_up_boundary(out);
        if let Some(tip) = self.pinned.take().and_then(|leaf| out.tip(Json(&leaf))) {
            out.move_to(tip);
        }
        out.close();
        for title in std::mem::take(&mut self.titles) {
            let before = out.resume(title.number);
            match out.own_tip(Json(&title.leaf)) {
                Some(_) => out.title(Json(&title.title)),
                None => out.drop(Reason::ForeignTitle),
            }
            out.release(before);
        }
        Ok(())
    }

    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        let fields = &record.fields;
        let lane = lane_of(fields, &self.main);
        let lane = if lane == self.main { Lane::Main } else { lane };
        let is_own_title = fields.is("type", "ai-title") || fields.is("type", "custom-title");
        let title = fields.get("customTitle").or_else(|| fields.get("aiTitle")).filter(|_| is_own_title);
        Look { lane: Some(lane), title, time: fields.get("timestamp") }
    }
}

/// The type of a record of the conversation.
fn message_type(fields: &Object<'_>) -> Option<()> {
    (fields.is("type", "user") || fields.is("type", "assistant")).then_some(())
}

/// The sub-agent that a record belongs to.
fn side_of(fields: &Object<'_>) -> Lane {
    if !fields.is_true("isSidechain") {
        return Lane::Main;
    }
    let id = fields.text("agentId").filter(|id| !id.is_empty());
    Lane::Agent(id.map_or_else(|| INLINE.to_owned(), |id| id.into_owned()))
}

/// The conversation that a record belongs to. One that names none belongs to that of the file.
fn lane_of(fields: &Object<'_>, main: &Lane) -> Lane {
    match side_of(fields) {
        Lane::Main if message_type(fields).is_none() || *main == Lane::Main => main.clone(),
        lane => lane,
    }
}

impl Claude {
    fn assistant(&mut self, record: &Record<'_>, out: &mut Builder) -> Option<Node> {
        let fields = &record.fields;
        let Some(message) = fields.get("message").filter(|message| message.is_object()) else {
            out.keep("assistant", record.json, Severity::Info);
            return None;
        };
        let message = message.object();
        let content = content_of(message.get("content"), record.place.line, &mut self.server_tools);
        if fields.is_true("isApiErrorMessage") {
            out.note(Severity::Error, &text_of(&content.blocks));
            return None;
        }
        if message.is("model", "<synthetic>") {
            out.keep("assistant <synthetic>", record.json, Severity::Info);
            return None;
        }
        let (usage, stop_reason) = (usage_of(message.get("usage")), known(message.get("stop_reason")));
        let key = message.filled("id").map(Json::bytes);
        omit(record, &message, out);
        if key.is_some_and(|key| out.is_open(key)) {
            out.grow(content.blocks, true);
            out.amend(|meta| {
                let held = meta.usage.map_or(-1.0, |usage| usage.output);
                if let Some(usage) = usage.filter(|usage| usage.output > held) {
                    meta.usage = Some(usage);
                }
                meta.stop_reason = stop_reason.or(meta.stop_reason.take());
            });
            return Some(out.end());
        }
        follow_parent(fields, out);
        let meta = Meta {
            id: known(fields.get("uuid")),
            message_id: key.map(<[u8]>::to_vec),
            model: known(message.get("model")),
            provider: Some(PROVIDER.to_vec()),
            usage,
            stop_reason,
            ..Meta::default()
        };
        Some(out.respond(key, Item::ai(content.blocks, meta)))
    }

    fn user(&mut self, record: &Record<'_>, out: &mut Builder) -> Option<Node> {
        let fields = &record.fields;
        let Some(message) = fields.get("message").filter(|message| message.is_object()) else {
            out.keep("user", record.json, Severity::Info);
            return None;
        };
        let message = message.object();
        let content = content_of(message.get("content"), record.place.line, &mut self.server_tools);
        omit(record, &message, out);
        if fields.is_true("isCompactSummary") {
            return Some(self.compaction(fields, content.blocks, out));
        }
        let (has_results, has_blocks) = (!content.results.is_empty(), !content.blocks.is_empty());
        let mut tip = None;
        if has_results {
            let meta = Meta { id: known(fields.get("uuid")), ..Meta::default() };
            tip = out.results(content.results, meta, "user tool_result", record.json);
        } else if has_blocks {
            follow_parent(fields, out);
        }
        if has_blocks {
            let kind = kind_of(&content.blocks, fields.is_true("isMeta"));
            let meta = Meta { id: known(fields.get("uuid")), kind, ..Meta::default() };
            tip = Some(out.human(Item::human(content.blocks, meta)));
            // Also if results beside the text have no place.
            out.map();
        }
        if !has_results && !has_blocks {
            out.drop(Reason::Empty);
        }
        tip
    }

    fn compaction(&mut self, fields: &Object<'_>, blocks: Vec<Block>, out: &mut Builder) -> Node {
        follow_parent(fields, out);
        let boundary = self.boundary.take();
        let mut kept: Vec<Node> = Vec::new();
        let preserved = boundary.iter().flat_map(|boundary| &boundary.preserved).copied();
        let mut seen = std::collections::HashSet::new();
        kept.extend(
            preserved.filter(|node| *node != ROOT && out.history().live_up_to(*node).is_some() && seen.insert(*node)),
        );
        let meta = Meta { id: known(fields.get("uuid")), kind: Some("summary"), ..Meta::default() };
        out.compress(&Item::human(blocks, meta), &kept, true, boundary.map(|boundary| boundary.number));
        out.end()
    }

    fn other(&mut self, kind: &str, record: &Record<'_>, out: &mut Builder) {
        let fields = &record.fields;
        match kind {
            "system" if fields.is("subtype", "compact_boundary") => self.begin_compaction(record, out),
            "system" => {
                let severity = match fields.is("subtype", "api_error") {
                    true => Severity::Warning,
                    false => Severity::of(&fields.text("level").unwrap_or_default()),
                };
                let subtype = fields.text("subtype").unwrap_or_default();
                out.keep(&format!("system {subtype}"), record.json, severity);
            }
            "ai-title" if fields.get("aiTitle").is_some_and(Json::is_string) => {
                fields.get("aiTitle").into_iter().for_each(|title| out.title(title));
            }
            "custom-title" if fields.get("customTitle").is_some_and(Json::is_string) => {
                fields.get("customTitle").into_iter().for_each(|name| out.named(name));
            }
            "summary" if fields.get("summary").is_some_and(Json::is_string) => {
                let title = fields.get("summary").map(|title| title.bytes().to_vec()).unwrap_or_default();
                let number = out.defer();
                let leaf = known(fields.get("leafUuid")).unwrap_or_default();
                self.titles.push(Title { number, leaf, title });
            }
            "progress" => out.drop(Reason::Progress),
            "queue-operation" => out.drop(Reason::Queue),
            "file-history-snapshot" | "attribution-snapshot" => out.drop(Reason::Bulk),
            "last-prompt" => {
                self.pin(fields);
                out.drop(Reason::Echo);
            }
            _ => {
                let subtype = fields.text("subtype").unwrap_or_default();
                out.keep(&format!("{kind} {subtype}"), record.json, Severity::Info);
            }
        }
    }

    /// Pins the record at which the user wants to continue, or takes that back.
    fn pin(&mut self, fields: &Object<'_>) {
        let leaf = known(fields.get("leafUuid"));
        if fields.is_true("explicit") {
            self.pinned = leaf;
        } else if leaf != self.pinned {
            self.pinned = None;
        }
    }

    fn begin_compaction(&mut self, record: &Record<'_>, out: &mut Builder) {
        self.pinned = None;
        self.give_up_boundary(out);
        let metadata = record.fields.get("compactMetadata").map(Json::object).unwrap_or_default();
        let mut preserved = Vec::new();
        if let Some(messages) = metadata.get("preservedMessages").filter(|messages| messages.is_object()) {
            let ids = messages.get("uuids").map(Json::elements).unwrap_or_default();
            preserved.extend(ids.into_iter().filter_map(|id| out.tip(id)));
        } else if let Some(segment) = metadata.get("preservedSegment") {
            let tip = |key: &str| segment.get(key).and_then(|id| out.tip(id));
            if let (Some(head), Some(tail)) = (tip("headUuid"), tip("tailUuid")) {
                preserved = out.history().segment(head, tail, out.len()).unwrap_or_default();
            }
        }
        self.boundary = Some(Boundary { number: out.defer(), raw: record.json.bytes().to_vec(), preserved });
    }

    /// Keeps a boundary that no summary follows.
    fn give_up_boundary(&mut self, out: &mut Builder) {
        let Some(boundary) = self.boundary.take() else { return };
        let before = out.resume(boundary.number);
        out.keep("system compact_boundary", Json(&boundary.raw), Severity::Info);
        out.release(before);
    }
}

/// Moves the history to the parent of a record.
fn follow_parent(fields: &Object<'_>, out: &mut Builder) {
    if let Some(tip) = fields.filled("parentUuid").and_then(|parent| out.tip(parent)) {
        out.move_to(tip);
    }
}

fn omit(record: &Record<'_>, message: &Object<'_>, out: &mut Builder) {
    let (kind, of_message) = match record.fields.is("type", "assistant") {
        true => ("assistant", "assistant.message"),
        false => ("user", "user.message"),
    };
    out.omit(kind, &record.fields, CARRIED);
    out.omit(of_message, message, CARRIED_OF_MESSAGE);
}

fn attachment(record: &Record<'_>, out: &mut Builder) -> Option<Node> {
    let fields = &record.fields;
    let attachment = fields.get("attachment").map(Json::object).unwrap_or_default();
    let subtype = attachment.text("type").unwrap_or_default();
    let blocks = match &*subtype {
        "queued_command" => content_of(attachment.get("prompt"), record.place.line, &mut HashMap::new()).blocks,
        _ => Vec::new(),
    };
    if blocks.is_empty() {
        out.keep(&format!("attachment {subtype}"), record.json, Severity::Info);
        return None;
    }
    let kind = kind_of(&blocks, fields.is_true("isMeta"));
    let meta = Meta { id: known(fields.get("uuid")), queued: true, kind, ..Meta::default() };
    out.omit("attachment", fields, CARRIED);
    if !out.has_open_response() {
        follow_parent(fields, out);
    }
    Some(out.queue(Item::human(blocks, meta)))
}

/// The blocks of a content, and its results apart.
#[derive(Default)]
pub(super) struct ParsedContent {
    pub blocks: Vec<Block>,
    pub results: Vec<ToolResult>,
}

/// Reads a content: a text, or a list of blocks. `server_tools` has the names of tools that the provider ran.
pub(super) fn content_of(
    content: Option<Json<'_>>,
    line: u64,
    server_tools: &mut HashMap<u64, Vec<u8>>,
) -> ParsedContent {
    let mut parsed = ParsedContent::default();
    let Some(content) = content else { return parsed };
    parsed.blocks.extend(blocks::text(content));
    for (index, value) in content.elements().into_iter().enumerate() {
        if value.is_string() {
            parsed.blocks.extend(blocks::text(value));
        } else if value.is_object() {
            add_block(&mut parsed, value, (line, index), server_tools);
        }
    }
    parsed
}

fn add_block(
    parsed: &mut ParsedContent,
    value: Json<'_>,
    place: (u64, usize),
    server_tools: &mut HashMap<u64, Vec<u8>>,
) {
    let fields = value.object();
    let kind = fields.text("type").unwrap_or_default();
    match &*kind {
        "text" if fields.get("text").is_some_and(Json::is_string) => {
            parsed.blocks.extend(fields.get("text").and_then(blocks::text));
        }
        "thinking" => parsed.blocks.push(blocks::thinking(Thinking {
            thought: fields.get("thinking").filter(|thought| thought.is_string()).map(Json::bytes),
            signature: fields.get("signature"),
            ..Thinking::default()
        })),
        "redacted_thinking" => {
            parsed.blocks.push(blocks::thinking(Thinking { encrypted: fields.get("data"), ..Thinking::default() }))
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let server = kind != "tool_use";
            let name = fields.get("name").filter(|name| name.is_string()).map_or(&b"\"\""[..], Json::bytes);
            let (id, parameters) = (fields.get("id"), fields.get("input"));
            if let Some(id) = id.filter(|_| server) {
                server_tools.insert(id.key(), name.to_vec());
            }
            parsed.blocks.push(blocks::call(&Call { id, place, name, parameters, server }));
        }
        "tool_result" if fields.filled("tool_use_id").is_some() => {
            if let Some(id) = fields.filled("tool_use_id") {
                parsed.results.push(tool_result(id, &fields));
            }
        }
        _ if kind.ends_with("_tool_result") && fields.filled("tool_use_id").is_some() => {
            if let Some(id) = fields.filled("tool_use_id") {
                let result = ToolResult { server: true, ..tool_result(id, &fields) };
                let name = server_tools.get(&result.key).cloned();
                parsed.blocks.push(result.block(name.as_deref()));
                parsed.blocks.extend(result.media);
            }
        }
        "image" | "document" => parsed.blocks.push(media_of(&fields).unwrap_or_else(|| blocks::other(value))),
        _ => parsed.blocks.push(blocks::other(value)),
    }
}

fn tool_result(id: Json<'_>, fields: &Object<'_>) -> ToolResult {
    let (result, media) = result_of(fields.get("content"), part_of);
    let result = ToolResult::new(id, result).failed(fields.is_true("is_error"));
    ToolResult { media, ..result }
}

fn part_of(value: Json<'_>) -> Option<Part<'_>> {
    let fields = value.object();
    if fields.is("type", "text") {
        return fields.get("text").filter(|text| text.is_string()).map(Part::Text);
    }
    let is_media = fields.is("type", "image") || fields.is("type", "document");
    media_of(&fields).filter(|_| is_media).map(Part::Media)
}

fn media_of(fields: &Object<'_>) -> Option<Block> {
    let source = fields.get("source")?.object();
    if source.is("type", "base64") {
        let mime_type = source.text("media_type")?;
        return source.filled("data").map(|data| blocks::media(&mime_type, data.bytes(), "base64"));
    }
    let mime_type = if fields.is("type", "document") { "application/pdf" } else { "image/*" };
    source.get("url").filter(|_| source.is("type", "url")).and_then(|url| blocks::media_at(url, mime_type))
}

fn usage_of(usage: Option<Json<'_>>) -> Option<Usage> {
    let usage = usage.filter(|usage| usage.is_object())?.object();
    let amount = |key: &str| usage.get(key).and_then(Json::amount);
    let (cached, cache_write) = (amount("cache_read_input_tokens"), amount("cache_creation_input_tokens"));
    let (input, output) = (amount("input_tokens"), amount("output_tokens"));
    Usage::of_parts(input, cached, cache_write, output)
}

/// The text of text blocks, joined by line feeds.
fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| Json(&block.json).get("text")?.text().map(|text| text.into_owned()));
    texts.collect::<Vec<_>>().join("\n")
}

/// The kind of a text that no person typed as it stands.
fn kind_of(blocks: &[Block], is_meta: bool) -> Option<&'static str> {
    let first = Json(&blocks.first()?.json).get("text");
    let beginning = first.and_then(|text| text.beginning(KIND_BYTES)).unwrap_or_default();
    let beginning = beginning.trim_start();
    if beginning.starts_with("[Request interrupted by user") {
        return Some("interrupt");
    }
    if ["<command-", "<local-command-", "<bash-"].iter().any(|tag| beginning.starts_with(tag)) {
        return Some("command");
    }
    let is_only = |tag: &str| {
        let end = format!("</{tag}>");
        let text = first.filter(|_| blocks.len() == 1 && beginning.starts_with(&format!("<{tag}>")));
        text.and_then(Json::text).is_some_and(|text| text.trim_end().ends_with(&end) && text.matches(&end).count() == 1)
    };
    let is_injected = is_meta
        || beginning.starts_with("<task-notification>")
        || ["system-reminder", "ide_opened_file", "ide_selection"].into_iter().any(is_only);
    is_injected.then_some("injected")
}
