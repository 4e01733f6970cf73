//! ATIF, the interchange format of agents' trajectories: one JSON document. What [`export_atif`](super::export_atif) has put into `extra` of an own
//! document is read back.

use super::Stop;
use super::blocks::{self, Block, Call, Part, Thinking, ToolResult, Usage, result_of};
use super::builder::{Builder, Item, Meta, Severity, Shape, Start, known};
use super::document::beginning_elements;
use super::format::{Embedded, Format, Lane, Look, Opening, Record};
use super::history::Speaker;
use super::receipt::Reason;
use super::records::{Head, Layout};
use super::time::time_of;
use super::value::{Json, Object, json_text, write_member};
use crate::lines::LineSource;

/// The fields of steps that events carry.
const CARRIED: &[&str] = &[
    "step_id",
    "timestamp",
    "source",
    "model_name",
    "message",
    "reasoning_content",
    "tool_calls",
    "observation",
    "metrics",
    "is_copied_context",
    "extra",
];

/// The most documents that are looked for in a document.
const MAX_EMBEDDED: usize = 10_000;

/// Reads a trajectory.
pub(super) struct Atif {
    lane: Lane,
}

/// What becomes of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// It is a record of its own.
    Record,
    /// It is in a document within the document, whose fate is that of the whole.
    Embedded,
}

impl Format for Atif {
    const NAME: &'static str = "atif";
    const SHAPE: Shape = Shape { parallel_results: false };

    fn claims(head: &Head<'_>) -> bool {
        let version = head.document.as_ref().and_then(|document| document.get("schema_version")?.beginning(32));
        version.is_some_and(|version| version.starts_with("ATIF-v"))
    }

    fn layout(_: &Head<'_>) -> Layout {
        Layout::Document("steps")
    }

    fn open(opening: &Opening<'_>) -> Result<(Self, Start), Stop> {
        let document = opening.document.unwrap_or(Json(b"{}"));
        let mut start;
        match &opening.lane {
            Lane::Agent(id) => {
                let embedded =
                    embedded_in(document).into_iter().find(|one| one.text("trajectory_id").as_deref() == Some(id));
                let embedded = embedded.unwrap_or_default();
                start = start_of(&embedded);
                start.session_id.clone_from(id);
                for step in embedded.get("steps").map(Json::elements).unwrap_or_default() {
                    look(&mut start, step);
                }
            }
            Lane::Main | Lane::Session(_) => {
                start = start_of(&document.object());
                beginning_elements(opening.source, "steps", |step| {
                    look(&mut start, step);
                    start.model.is_none() || start.start_time.is_none()
                })?;
            }
        }
        Ok((Atif { lane: opening.lane.clone() }, start))
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        let Lane::Agent(id) = &self.lane else {
            match record.is_head {
                true => head(record, out),
                false => step(record.json, record.place.line, From::Record, out),
            }
            return Ok(());
        };
        if !record.is_head {
            out.drop(Reason::OtherConversation);
            return Ok(());
        }
        out.sets_start();
        let embedded =
            embedded_in(record.json).into_iter().find(|one| one.text("trajectory_id").as_deref() == Some(id));
        let steps = embedded.and_then(|one| one.get("steps")).map(Json::elements).unwrap_or_default();
        for each in steps.into_iter().filter(|step| step.is_object()) {
            step(each, record.place.line, From::Embedded, out);
        }
        Ok(())
    }

    fn end(&mut self, _: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        out.close();
        Ok(())
    }

    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        let title = if record.is_head { ours(&record.fields).get("title") } else { None };
        Look { lane: Some(Lane::Main), title, time: record.fields.get("timestamp") }
    }

    fn embedded(&mut self, record: &Record<'_>) -> Vec<Embedded> {
        if !record.is_head {
            return Vec::new();
        }
        let embedded = embedded_in(record.json).into_iter();
        let listed = embedded.filter_map(|one| {
            let steps = one.get("steps").map(Json::elements).unwrap_or_default();
            let start_time = steps.first().and_then(|step| step.get("timestamp")).and_then(time_of);
            let agent_id = one.filled("trajectory_id")?.text()?.into_owned();
            Some(Embedded { agent_id, start_time, records: steps.len() as u64 })
        });
        listed.collect()
    }
}

/// The documents within a document, and within those.
fn embedded_in(document: Json<'_>) -> Vec<Object<'_>> {
    let (mut found, mut waiting) = (Vec::new(), vec![document.object()]);
    while let Some(one) = waiting.pop() {
        let embedded = one.get("subagent_trajectories").map(Json::elements).unwrap_or_default();
        for inner in embedded.into_iter().filter(|inner| inner.is_object()) {
            if found.len() >= MAX_EMBEDDED {
                return found;
            }
            found.push(inner.object());
            waiting.push(inner.object());
        }
    }
    found
}

/// What an own document has stored in an object.
fn ours<'a>(fields: &Object<'a>) -> Object<'a> {
    fields.get("extra").and_then(|extra| extra.get("session_tape")).map(Json::object).unwrap_or_default()
}

fn start_of(document: &Object<'_>) -> Start {
    let stored = ours(document).get("start").map(Json::object).unwrap_or_default();
    let name = |key: &str| known(stored.get(key)).filter(|name| name != b"\"unknown\"");
    let model = document.get("agent").and_then(|agent| known(agent.get("model_name")));
    let id = document.filled("session_id").or(document.filled("trajectory_id"));
    Start {
        session_id: id.and_then(Json::text).unwrap_or_default().into_owned(),
        project_hash: known(stored.get("projectHash")),
        cwd: known(stored.get("cwd")),
        workspace_dirs: stored.get("workspaceDirs").filter(|list| are_texts(*list)).map(|list| list.bytes().to_vec()),
        provider: name("provider").or_else(|| model.as_deref().and_then(provider_of)),
        model: name("model").or(model),
        start_time: stored.get("startTime").and_then(time_of),
        version: document.get("agent").and_then(|agent| known(agent.get("version"))),
    }
}

fn are_texts(list: Json<'_>) -> bool {
    list.is_array() && list.elements().into_iter().all(Json::is_string)
}

fn look(start: &mut Start, step: Json<'_>) {
    let fields = step.object();
    start.start_time = start.start_time.take().or_else(|| fields.get("timestamp").and_then(time_of));
    if start.model.is_none() {
        start.model = known(fields.get("model_name"));
        start.provider = start.provider.take().or_else(|| start.model.as_deref().and_then(provider_of));
    }
}

/// The provider that the name of a model begins with.
fn provider_of(model: &[u8]) -> Option<Vec<u8>> {
    let text = Json(model).text()?;
    let (provider, _) = text.split_once('/')?;
    (!provider.is_empty()).then(|| json_text(provider))
}

fn head(record: &Record<'_>, out: &mut Builder) {
    out.sets_start();
    if let Some(title) = ours(&record.fields).filled("title") {
        out.title(title);
    }
    out.omit(
        "trajectory",
        &record.fields,
        &[
            "schema_version",
            "session_id",
            "trajectory_id",
            "agent",
            "steps",
            "extra",
            "final_metrics",
            "subagent_trajectories",
        ],
    );
}

fn step(json: Json<'_>, line: u64, from: From, out: &mut Builder) {
    let fields = json.object();
    out.at(fields.get("timestamp"));
    let source = fields.text("source").unwrap_or_default();
    let is_agent = source == "agent";
    if !is_agent && source != "user" {
        if from == From::Record {
            out.keep(&format!("step {source}"), json, Severity::Info);
        }
        return;
    }
    let stored = ours(&fields);
    let results = fields.get("observation").and_then(|observation| observation.get("results"));
    let results: Vec<_> =
        results.map(Json::elements).unwrap_or_default().into_iter().filter(|one| one.is_object()).collect();
    let blocks = blocks_of(&fields, &stored, &results, line);
    let called: Vec<(u64, Vec<u8>)> = calls_of(&fields, line).into_iter().map(|call| (call.key, call.name)).collect();
    let meta = meta_of(&fields, &stored, is_agent);
    // A response without content is one all the same if it took tokens, or was exported as an item.
    let is_exported = meta.restored.is_some() && fields.get("llm_call_count").is_none();
    let has_item = !blocks.is_empty() || (is_agent && (meta.usage.is_some() || is_exported));
    if has_item && is_agent {
        out.respond(None, Item::ai(blocks, meta));
    } else if has_item {
        out.human(Item::human(blocks, meta));
    }
    observation(&results, &called, json, out);
    out.omit("step", &fields, CARRIED);
    if from == From::Record {
        out.drop_unless_mapped(Reason::Empty);
    }
}

fn meta_of(fields: &Object<'_>, stored: &Object<'_>, is_agent: bool) -> Meta {
    let model = known(fields.get("model_name")).filter(|_| is_agent);
    let provider = model.as_deref().and_then(provider_of);
    if let Some(metadata) = stored.get("metadata").filter(|metadata| metadata.is_object()) {
        let fields = metadata.object();
        let of_agent = |key: &str| known(fields.get(key)).filter(|_| is_agent);
        let kind = fields.filled("kind").map(|_| "copied");
        return Meta {
            model: of_agent("model").or(model),
            provider: of_agent("provider").or(provider),
            kind,
            restored: Some(metadata.bytes().to_vec()),
            ..Meta::default()
        };
    }
    let is_copy = fields.is_true("is_copied_context");
    let usage = if is_copy { None } else { usage_of(fields.get("metrics")) };
    Meta { model, provider, usage, kind: is_copy.then_some("copied"), ..Meta::default() }
}

/// The blocks of a step: as its layout has them, or else reasoning, message, calls.
fn blocks_of(fields: &Object<'_>, stored: &Object<'_>, results: &[Json<'_>], line: u64) -> Vec<Block> {
    let calls: Vec<Block> = calls_of(fields, line);
    let parts = message_parts(fields.get("message"));
    if let Some(layout) = stored.get("layout").filter(|layout| layout.is_array()) {
        let source = Source {
            thoughts: Units::of(fields.get("reasoning_content")),
            texts: Units::of(fields.get("message")),
            parts: parts.iter(),
            calls: calls.iter(),
            results: results.iter().filter(|result| ours(&result.object()).is_true("inline")),
        };
        if let Some(blocks) = laid_out(&layout.elements(), source) {
            return blocks;
        }
    }
    let thought = fields.get("reasoning_content").and_then(Json::filled);
    let thinking =
        thought.map(|text| blocks::thinking(Thinking { thought: Some(text.bytes()), ..Thinking::default() }));
    thinking.into_iter().chain(parts).chain(calls).collect()
}

fn message_parts(message: Option<Json<'_>>) -> Vec<Block> {
    let Some(message) = message else { return Vec::new() };
    if message.is_string() {
        return blocks::text(message).into_iter().collect();
    }
    let part = |part: Json<'_>| match part_of(part) {
        Some(Part::Text(text)) => blocks::text(text),
        Some(Part::Media(block)) => Some(block),
        None => part.is_object().then(|| blocks::other(part)),
    };
    message.elements().into_iter().filter_map(part).collect()
}

fn part_of(part: Json<'_>) -> Option<Part<'_>> {
    let fields = part.object();
    if fields.is("type", "text") {
        return fields.get("text").filter(|text| text.is_string()).map(Part::Text);
    }
    let source = fields.get("source").filter(|source| source.is_object())?.object();
    let mime = source.text("media_type")?;
    let path = source.filled("path")?;
    let is_media = fields.is("type", "image") || fields.is("type", "audio");
    is_media.then(|| Part::Media(blocks::media(&mime, path.bytes(), "url")))
}

fn calls_of(fields: &Object<'_>, line: u64) -> Vec<Block> {
    let calls = fields.get("tool_calls").map(Json::elements).unwrap_or_default();
    let calls = calls.into_iter().enumerate().filter(|(_, call)| call.is_object());
    calls.map(|(index, call)| call_of(&call.object(), (line, index))).collect()
}

fn call_of(fields: &Object<'_>, place: (u64, usize)) -> Block {
    let (extra, stored) = (fields.get("extra").map(Json::object).unwrap_or_default(), ours(fields));
    let arguments = fields.get("arguments");
    let parameters =
        if stored.is_true("wrapped") { arguments.and_then(|arguments| arguments.get("input")) } else { arguments };
    let name = fields.get("function_name").filter(|name| name.is_string()).map_or(&b"\"\""[..], Json::bytes);
    let call = Call { id: fields.get("tool_call_id"), place, name, parameters, server: extra.is_true("server") };
    with_rest(blocks::call(&call), stored.get("rest"))
}

/// The block with further members, as far as it does not have them.
fn with_rest(mut block: Block, rest: Option<Json<'_>>) -> Block {
    let Some(rest) = rest.filter(|rest| rest.is_object()) else { return block };
    let held = Json(&block.json).object();
    let new: Vec<_> = rest.object().members().filter(|(key, _)| held.keys().all(|known| known != *key)).collect();
    let mut json = block.json.clone();
    json.pop();
    for (key, value) in new {
        write_member(&mut json, &String::from_utf8_lossy(key), value.bytes());
    }
    json.push(b'}');
    block.json = json;
    block
}

/// A text from which joined pieces are taken, by their lengths in UTF-16 units.
struct Units {
    rest: Option<String>,
    is_first: bool,
}

impl Units {
    fn of(text: Option<Json<'_>>) -> Self {
        Units { rest: text.and_then(Json::text).map(String::from), is_first: true }
    }

    /// The next piece; behind the first one, a blank line precedes it.
    fn take(&mut self, units: usize) -> Option<String> {
        if units == 0 {
            return Some(String::new());
        }
        let rest = self.rest.as_deref()?;
        let rest = if std::mem::replace(&mut self.is_first, false) { rest } else { rest.strip_prefix("\n\n")? };
        let piece = blocks::cut(rest, units);
        let behind = rest.get(piece.len()..)?.to_owned();
        self.rest = Some(behind);
        (piece.encode_utf16().count() == units).then_some(piece)
    }
}

/// What a step has for the blocks of a layout.
struct Source<'s, 'a, R: Iterator<Item = &'s Json<'a>>>
where
    'a: 's,
{
    thoughts: Units,
    texts: Units,
    parts: std::slice::Iter<'s, Block>,
    calls: std::slice::Iter<'s, Block>,
    results: R,
}

/// The blocks of a layout. `None` if the step does not fit it, since it was changed.
fn laid_out<'s, 'a, R: Iterator<Item = &'s Json<'a>>>(
    layout: &[Json<'_>],
    mut source: Source<'s, 'a, R>,
) -> Option<Vec<Block>> {
    let mut found = Vec::with_capacity(layout.len());
    for entry in layout {
        let fields = entry.object();
        let length = fields.get("length").and_then(Json::number).unwrap_or_default() as usize;
        let block = match &*fields.text("type")? {
            "thinking" => {
                let thought = json_text(&source.thoughts.take(length)?);
                blocks::thinking(Thinking { thought: Some(&thought), ..Thinking::default() })
            }
            // In a list of parts, each text is one of its own.
            "text" if source.texts.rest.is_none() && length > 0 => source.parts.next()?.clone(),
            "text" => blocks::raw_text(&json_text(&source.texts.take(length)?)),
            "media" => match (source.parts.next()?, fields.get("block")) {
                (_, Some(reference)) => blocks::other(reference),
                (part, None) => with_mime_type(part.clone(), fields.get("mimeType")),
            },
            "tool_call" => source.calls.next()?.clone(),
            "tool_response" => {
                let result = source.results.next()?.object();
                let fields = ours(&result);
                let of_call = result.filled("source_call_id");
                let id = of_call.or(fields.filled("callId")).unwrap_or(Json(b"\"\""));
                // An export leaves out the name of the first call with the id.
                let is_call = |block: &&Block| of_call.is_some() && block.key == id.key() && !block.name.is_empty();
                let name = found.iter().find(is_call).map(|block| block.name.clone());
                found.push(tool_result(&result, id).block(name.as_deref()));
                continue;
            }
            "block" => blocks::other(fields.get("block")?),
            _ => return None,
        };
        found.push(with_rest(block, fields.get("rest")));
    }
    let is_whole = source.calls.next().is_none();
    is_whole.then_some(found)
}

fn with_mime_type(block: Block, mime_type: Option<Json<'_>>) -> Block {
    let Some(mime_type) = mime_type.and_then(Json::text) else { return block };
    let data = Json(&block.json).get("data").map(|data| data.bytes().to_vec()).unwrap_or_default();
    blocks::media(&mime_type, &data, "url")
}

fn usage_of(metrics: Option<Json<'_>>) -> Option<Usage> {
    let metrics = metrics.filter(|metrics| metrics.is_object())?.object();
    let amount = |key: &str| metrics.get(key).and_then(Json::amount);
    let (input, output, cost) = (amount("prompt_tokens"), amount("completion_tokens"), amount("cost_usd"));
    input.or(output).or(cost)?;
    Some(Usage {
        input: input.unwrap_or_default(),
        cached: amount("cached_tokens"),
        cache_write: None,
        output: output.unwrap_or_default(),
        reasoning: None,
        cost,
    })
}

/// Places the results of a step: one item, or as many as an own document says. `called` are the keys of the step's calls, and the names of their tools.
fn observation(results: &[Json<'_>], called: &[(u64, Vec<u8>)], json: Json<'_>, out: &mut Builder) {
    let mut group = Group { called, is_own: false, results: Vec::new(), metadata: None };
    for result in results {
        let fields = result.object();
        let stored = ours(&fields);
        if stored.is_true("inline") {
            continue;
        }
        if let Some(item) = stored.get("item").filter(|item| item.is_object()) {
            group.place(json, out);
            out.at(item.get("ts"));
            group.is_own = true;
            group.metadata =
                item.get("metadata").filter(|metadata| metadata.is_object()).map(|json| json.bytes().to_vec());
        }
        match fields.filled("source_call_id") {
            Some(id) => group.results.push(with_neighbours(tool_result(&fields, id), &stored)),
            None if stored.get("item").is_some() || stored.get("callId").is_some() => {
                group.place(json, out);
                group.loose(&fields, &stored, out);
            }
            None => {
                group.place(json, out);
                let content = result_of(fields.get("content"), part_of).0;
                let text = Json(&content).text().unwrap_or_else(|| String::from_utf8_lossy(&content));
                out.note(Severity::Info, &format!("observation: {text}"));
            }
        }
    }
    group.place(json, out);
}

/// Results that are in one item.
struct Group<'c> {
    called: &'c [(u64, Vec<u8>)],
    /// Whether an own document says so. Then they are not paired with calls again.
    is_own: bool,
    results: Vec<ToolResult>,
    metadata: Option<Vec<u8>>,
}

impl Group<'_> {
    fn meta(&mut self) -> Meta {
        let metadata = self.metadata.take();
        let kind = metadata.as_ref().and_then(|json| Json(json).get("kind")).map(|_| "copied");
        Meta { kind, restored: metadata, ..Meta::default() }
    }

    fn place(&mut self, json: Json<'_>, out: &mut Builder) {
        let results = std::mem::take(&mut self.results);
        if results.is_empty() {
            return;
        }
        let meta = self.meta();
        if !self.is_own {
            out.results(results, meta, "step observation", json);
            return;
        }
        let mut blocks = Vec::new();
        for result in results {
            let name = self.called.iter().find(|(key, _)| *key == result.key).map(|(_, name)| &name[..]);
            let block = result.block(name);
            blocks.extend(result.before);
            blocks.push(block);
            blocks.extend(result.media);
        }
        out.loose(Item { speaker: Speaker::Tool, blocks, meta });
    }

    /// Places a result of an own document whose call was not in the history.
    fn loose(&mut self, fields: &Object<'_>, stored: &Object<'_>, out: &mut Builder) {
        let id = stored.filled("callId").unwrap_or(Json(b"\"\""));
        let result = with_neighbours(tool_result(fields, id), stored);
        let mut blocks = result.before.clone();
        if !stored.is_true("none") {
            blocks.push(result.block(None));
        }
        blocks.extend(result.media);
        let meta = self.meta();
        out.loose(Item { speaker: Speaker::Tool, blocks, meta });
    }
}

/// The result that an object of an observation states, of the call with this id.
fn tool_result(fields: &Object<'_>, id: Json<'_>) -> ToolResult {
    let stored = ours(fields);
    let (result, mut media) = result_of(fields.get("content"), part_of);
    let references = stored.get("references").map(Json::elements).unwrap_or_default();
    for (part, reference) in media.iter_mut().zip(references).filter(|(_, reference)| !reference.is_null()) {
        *part = blocks::other(reference);
    }
    let parsed = Json(&result).text().filter(|_| stored.is_true("json"));
    let parsed = parsed.as_deref().and_then(|text| Json::parse(text.as_bytes())).map(|json| json.bytes().to_vec());
    let extra = fields.get("extra").map(Json::object).unwrap_or_default();
    let error = extra.get("error").filter(|error| !error.is_null()).map(|error| error.bytes().to_vec());
    let mut further = Vec::new();
    let subagents = fields.get("subagent_trajectory_ref").or(stored.get("subagents")).filter(|refs| !refs.is_null());
    further.extend(subagents.map(|refs| ("subagents", refs.bytes().to_vec())));
    let placed = ToolResult::new(id, parsed.unwrap_or(result)).failed(extra.is_true("is_error"));
    let error = error.filter(|_| placed.error.is_some()).or(placed.error.clone());
    let rest = stored.get("rest").map(|rest| rest.bytes().to_vec());
    let name = stored.get("toolName").filter(|name| name.is_string()).map(|name| name.bytes().to_vec());
    ToolResult { name, media, error, further, rest, ..placed }
}

/// A result with the blocks that were before and behind it in its item.
fn with_neighbours(result: ToolResult, stored: &Object<'_>) -> ToolResult {
    let blocks = |key: &str| stored.get(key).map(Json::elements).unwrap_or_default().into_iter().map(blocks::other);
    let before: Vec<Block> = blocks("before").collect();
    let mut media = result.media;
    media.extend(blocks("after"));
    ToolResult { before, media, ..result }
}
