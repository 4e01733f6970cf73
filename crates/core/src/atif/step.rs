//! The steps of a document.

use super::block::{Block, Call, Media};
use super::media::{MediaFiles, MediaType, data_url, mime_of};
use super::plan::{FileRange, Plan, PlannedResult, StepKind};
use super::value::{Members, ObjectWriter, elements, integer, number, write_raw};
use super::{ExportError, bytes_at};
use crate::json::{Nesting, Writer};
use crate::lines::LineSource;
use crate::session::format::{Body, Line, Mode};
use crate::session::media::Reference;

/// Writes steps one after the other.
pub(super) struct Steps<'p> {
    plan: &'p Plan,
    /// The next result.
    next: usize,
    pub(super) media: MediaFiles,
    pub(super) totals: Totals,
    pub(super) nesting: Nesting,
}

/// Sums of the steps' metrics.
#[derive(Default)]
pub(super) struct Totals {
    prompt: Option<u64>,
    completion: Option<u64>,
    cached: Option<u64>,
    cost: Option<f64>,
}

impl Totals {
    pub(super) fn write(&self, metrics: &mut ObjectWriter<'_>, steps: usize) {
        write_tokens(metrics, "total_prompt_tokens", self.prompt);
        write_tokens(metrics, "total_completion_tokens", self.completion);
        write_tokens(metrics, "total_cached_tokens", self.cached);
        if let Some(cost) = self.cost.filter(|cost| cost.is_finite()) {
            metrics.number("total_cost_usd", cost);
        }
        metrics.integer("total_steps", steps as u64);
    }

    fn add(&mut self, usage: &Usage) {
        add_tokens(&mut self.prompt, usage.prompt);
        add_tokens(&mut self.completion, usage.completion);
        add_tokens(&mut self.cached, usage.cached);
        if let Some(cost) = usage.cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }
}

fn add_tokens(total: &mut Option<u64>, tokens: Option<u64>) {
    if let Some(tokens) = tokens {
        *total = Some(total.unwrap_or_default().saturating_add(tokens));
    }
}

fn write_tokens(metrics: &mut ObjectWriter<'_>, key: &str, tokens: Option<u64>) {
    if let Some(tokens) = tokens {
        metrics.integer(key, tokens);
    }
}

/// The usage of a response, as far as ATIF has a place for it.
struct Usage {
    prompt: Option<u64>,
    completion: Option<u64>,
    cached: Option<u64>,
    cost: Option<f64>,
}

impl Usage {
    fn of(usage: &Members<'_>) -> Self {
        let tokens = |name| usage.get(name).and_then(integer);
        Usage {
            prompt: tokens("input"),
            completion: tokens("output"),
            cached: tokens("cached"),
            cost: usage.get("cost").and_then(number),
        }
    }

    fn write(&self, metrics: &mut ObjectWriter<'_>) {
        write_tokens(metrics, "prompt_tokens", self.prompt);
        write_tokens(metrics, "completion_tokens", self.completion);
        write_tokens(metrics, "cached_tokens", self.cached);
        if let Some(cost) = self.cost {
            metrics.number("cost_usd", cost);
        }
    }
}

/// An item and the time of its event.
pub(super) struct Item<'a> {
    ts: Option<&'a [u8]>,
    json: &'a [u8],
    pub(super) members: Members<'a>,
}

impl<'a> Item<'a> {
    /// The item in a line. The file may have been changed since it was planned.
    pub(super) fn of(line: &'a [u8], nesting: &mut Nesting) -> Result<Self, ExportError> {
        let changed = crate::lines::ReadError::Changed;
        let Line::Event(event) = Line::read(line, Mode::Lenient, nesting) else { return Err(changed.into()) };
        let (Body::Content(item) | Body::Compressed(item)) = event.body else { return Err(changed.into()) };
        let json = item.of(line);
        let members = Members::of(json, nesting).ok_or(changed)?;
        Ok(Item { ts: event.ts.map(|ts| ts.of(line)), json, members })
    }

    /// The time, if Python accepts it too.
    fn timestamp(&self) -> Option<String> {
        let ts = super::value::string(self.ts?)?;
        humantime::parse_rfc3339(&ts).is_ok().then_some(ts)
    }

    /// Writes what all items have: the members `metadata` and, if no step has it, `ts`.
    pub(super) fn write_own(&self, ours: &mut ObjectWriter<'_>, has_step: bool) {
        if let Some(ts) = self.ts.filter(|_| !has_step || self.timestamp().is_none()) {
            ours.raw("ts", ts);
        }
        if let Some(metadata) = self.members.get("metadata") {
            ours.raw("metadata", metadata);
        }
        let others = self.members.without(&["speaker", "blocks", "metadata"]);
        ours.object_if_any("rest", |rest| others.write(rest));
    }
}

/// A part of a message or a result.
pub(super) enum Part {
    Text(String),
    Media(MediaType, String),
}

/// Writes parts: as one string if all are texts.
pub(super) fn write_parts(out: &mut Vec<u8>, parts: &[Part]) {
    if parts.iter().all(|part| matches!(part, Part::Text(_))) {
        return Writer::new(out).string(&joined(parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Media(..) => "",
        })));
    }
    out.push(b'[');
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        let mut object = ObjectWriter::open(out);
        match part {
            Part::Text(text) => {
                object.text("type", "text");
                object.text("text", text);
            }
            Part::Media(media, path) => {
                object.text("type", media.part);
                object.object("source", |source| {
                    source.text("media_type", media.name);
                    source.text("path", path);
                });
            }
        }
        object.close();
    }
    out.push(b']');
}

/// Texts that are not empty, joined by a blank line.
fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The content of an item, sorted by its place in a step.
#[derive(Default)]
struct Content {
    parts: Vec<Part>,
    thoughts: Vec<String>,
    /// The calls as JSON, their ids and names.
    calls: Vec<Vec<u8>>,
    called: Vec<(String, Option<String>)>,
    layout: Layout,
}

/// The blocks of an item in order, for what the order in a step does not tell.
#[derive(Default)]
struct Layout {
    entries: Vec<Vec<u8>>,
    /// Whether reading the step without a layout would not give the same blocks.
    is_needed: bool,
    /// The place of the last block in a step: thinking, message, calls.
    rank: u8,
    /// Numbers of thoughts and texts.
    thoughts: usize,
    texts: usize,
}

impl Layout {
    /// Adds a block, of which `members` are left over.
    fn add(&mut self, rank: u8, kind: &str, members: impl FnOnce(&mut ObjectWriter<'_>)) {
        let mut entry = Vec::new();
        let mut object = ObjectWriter::open(&mut entry);
        object.text("type", kind);
        members(&mut object);
        object.close();
        self.entries.push(entry);
        self.is_needed |= rank < self.rank;
        self.rank = rank;
    }

    /// Adds a text, which may be joined with others.
    fn add_text(&mut self, rank: u8, kind: &str, text: &str, rest: &Members<'_>) {
        self.is_needed |= text.is_empty() || !rest.is_empty();
        self.add(rank, kind, |entry| {
            entry.integer("length", text.encode_utf16().count() as u64);
            entry.object_if_any("rest", |members| rest.write(members));
        });
    }

    /// Adds a block that no place of a step can take.
    fn add_whole(&mut self, block: &[u8]) {
        self.is_needed = true;
        self.add(self.rank, "block", |entry| entry.raw("block", block));
    }
}

impl<'p> Steps<'p> {
    pub(super) fn new(plan: &'p Plan, media: MediaFiles) -> Self {
        Steps { plan, next: 0, media, totals: Totals::default(), nesting: Nesting::default() }
    }

    /// Writes the step of this number, from 0.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, number: usize, source: &LineSource) -> Result<(), ExportError> {
        let planned = self.plan.steps[number];
        let line = bytes_at(source, planned.line)?;
        let item = Item::of(&line, &mut self.nesting)?;
        let content = match planned.kind {
            StepKind::User | StepKind::Agent => self.content(&item, planned.kind, number, &line)?,
            StepKind::Results | StepKind::Unknown => Content::default(),
        };
        let results = self.results(number, source, &content.called)?;
        self.write_step(out, number, planned.kind, &item, &content, &results);
        Ok(())
    }

    fn write_step(
        &mut self,
        out: &mut Vec<u8>,
        number: usize,
        kind: StepKind,
        item: &Item<'_>,
        content: &Content,
        results: &[Vec<u8>],
    ) {
        let metadata = item.members.get("metadata").and_then(|json| Members::of(json, &mut self.nesting));
        let metadata = metadata.unwrap_or_default();
        let is_copy = kind != StepKind::Results && metadata.text("kind").as_deref() == Some("copied");
        let mut step = ObjectWriter::open(out);
        step.integer("step_id", number as u64 + 1);
        step.optional_text("timestamp", item.timestamp().as_deref());
        step.text(
            "source",
            match kind {
                StepKind::User => "user",
                StepKind::Agent | StepKind::Results => "agent",
                StepKind::Unknown => "system",
            },
        );
        if kind == StepKind::Agent {
            step.optional_text("model_name", metadata.text("model").filter(|model| !model.is_empty()).as_deref());
        }
        write_parts(step.key("message"), &content.parts);
        let thoughts = joined(content.thoughts.iter().map(String::as_str));
        if !thoughts.is_empty() {
            step.text("reasoning_content", &thoughts);
        }
        if !content.calls.is_empty() {
            step.array("tool_calls", &content.calls);
        }
        if !results.is_empty() {
            step.object("observation", |observation| observation.array("results", results));
        }
        if kind == StepKind::Agent && !is_copy {
            self.write_metrics(&mut step, &metadata);
        }
        if is_copy {
            step.is_true("is_copied_context");
        }
        if kind == StepKind::Results {
            step.integer("llm_call_count", 0);
        }
        step.object_if_any("extra", |extra| {
            extra.object_if_any("session_tape", |ours| write_ours(ours, kind, item, &content.layout));
        });
        step.close();
    }

    fn write_metrics(&mut self, step: &mut ObjectWriter<'_>, metadata: &Members<'_>) {
        let usage = metadata.get("usage").and_then(|json| Members::of(json, &mut self.nesting));
        let Some(usage) = usage.map(|usage| Usage::of(&usage)) else { return };
        self.totals.add(&usage);
        step.object_if_any("metrics", |metrics| usage.write(metrics));
    }

    /// The results of a step, as JSON.
    fn results(
        &mut self,
        step: usize,
        source: &LineSource,
        called: &[(String, Option<String>)],
    ) -> Result<Vec<Vec<u8>>, ExportError> {
        let mut written = Vec::new();
        let mut last: Option<FileRange> = None;
        while let Some(result) = self.plan.results.get(self.next).filter(|result| result.step == step) {
            self.next += 1;
            let PlannedResult { line, .. } = *result;
            // Within a step, another item begins.
            let begins = last != Some(line);
            last = Some(line);
            written.push(self.result(result, begins, source, called)?);
        }
        Ok(written)
    }

    /// Sorts the blocks of an item, which is in `line`.
    fn content(&mut self, item: &Item<'_>, kind: StepKind, step: usize, line: &[u8]) -> Result<Content, ExportError> {
        let mut content = Content::default();
        let blocks = item.members.get("blocks").and_then(|blocks| elements(blocks, &mut self.nesting));
        for json in blocks.unwrap_or_default() {
            let is_agent = kind == StepKind::Agent;
            match Block::of(json, &mut self.nesting) {
                Block::Text { text, rest } => content.text(text, &rest),
                Block::Thinking { thought, rest } if is_agent => content.thinking(thought, &rest),
                Block::Call(call) if is_agent => content.call(&call, step),
                // The result of a call of another step is there.
                Block::Result(_) if is_agent && !self.is_inline(step, line, json) => {}
                Block::Result(_) if is_agent => {
                    content.layout.is_needed = true;
                    content.layout.add(content.layout.rank, "tool_response", |_| ());
                }
                Block::Media(media) => match self.stored(&media)? {
                    Stored::Part(kind, path) => content.media(kind, path, &media),
                    Stored::Whole(block) => content.layout.add_whole(&block),
                    Stored::Not => content.layout.add_whole(json),
                },
                Block::Reference(reference) => match self.referred(&reference)? {
                    Some((kind, path)) => content.reference(kind, path, json),
                    None => content.layout.add_whole(json),
                },
                _ => content.layout.add_whole(json),
            }
        }
        content.layout.is_needed |= content.layout.thoughts > 1;
        let has_media = content.parts.iter().any(|part| matches!(part, Part::Media(..)));
        content.layout.is_needed |= content.layout.texts > 1 && !has_media;
        Ok(content)
    }

    /// Whether the result in a block of `line` is one of the results of its own step.
    fn is_inline(&self, step: usize, line: &[u8], block: &[u8]) -> bool {
        let place = (block.as_ptr() as usize - line.as_ptr() as usize) as u64 + self.plan.steps[step].line.offset;
        let results = self.plan.results[self.next..].iter().take_while(|result| result.step == step);
        results.into_iter().any(|result| result.is_inline && result.blocks.offset == place)
    }

    /// Writes the object that a reference selects to a file. `None` if there is none, or ATIF has no part for its type.
    pub(super) fn referred(&mut self, reference: &Reference<'_>) -> Result<Option<(MediaType, String)>, ExportError> {
        let path = self.media.add_object(&reference.selected)?;
        Ok(MediaType::of(&mime_of(&reference.selected)).zip(path))
    }

    /// Stores base64 data in a file.
    pub(super) fn stored(&mut self, media: &Media<'_>) -> Result<Stored, ExportError> {
        let (mime, path) = match data_url(&media.data) {
            Some((mime, data)) => (mime, self.media.add(mime, data)?),
            None if media.is_url => (media.mime.as_str(), Some(media.data.clone())),
            None => (media.mime.as_str(), self.media.add(&media.mime, &media.data)?),
        };
        let Some(path) = path else { return Ok(Stored::Not) };
        if let Some(kind) = MediaType::of(mime) {
            return Ok(Stored::Part(kind, path));
        }
        let mut block = Vec::new();
        let mut object = ObjectWriter::open(&mut block);
        object.text("type", "media");
        object.text("mimeType", &media.mime);
        object.text("data", &path);
        object.text("encoding", "url");
        media.rest.write(&mut object);
        object.close();
        Ok(Stored::Whole(block))
    }
}

/// Where a medium is now.
pub(super) enum Stored {
    /// In a file, or at a URL, which a part can name.
    Part(MediaType, String),
    /// The same, but ATIF has no part for it: the block with its path.
    Whole(Vec<u8>),
    /// Nowhere: its data are not base64.
    Not,
}

impl Content {
    fn text(&mut self, text: String, rest: &Members<'_>) {
        self.layout.add_text(1, "text", &text, rest);
        self.layout.texts += 1;
        if !text.is_empty() {
            self.parts.push(Part::Text(text));
        }
    }

    fn thinking(&mut self, thought: String, rest: &Members<'_>) {
        self.layout.add_text(0, "thinking", &thought, rest);
        self.layout.thoughts += 1;
        self.thoughts.push(thought);
    }

    fn reference(&mut self, kind: MediaType, path: String, block: &[u8]) {
        self.layout.is_needed = true;
        self.layout.add(1, "media", |entry| entry.raw("block", block));
        self.parts.push(Part::Media(kind, path));
    }

    fn media(&mut self, kind: MediaType, path: String, media: &Media<'_>) {
        let is_renamed = media.mime != kind.name;
        self.layout.is_needed |= is_renamed || !media.rest.is_empty();
        self.layout.add(1, "media", |entry| {
            if is_renamed {
                entry.text("mimeType", &media.mime);
            }
            entry.object_if_any("rest", |members| media.rest.write(members));
        });
        self.parts.push(Part::Media(kind, path));
    }

    fn call(&mut self, call: &Call<'_>, step: usize) {
        let id = call.id.clone().unwrap_or_else(|| format!("call-{}-{}", step + 1, self.layout.entries.len() + 1));
        let mut written = Vec::new();
        let mut object = ObjectWriter::open(&mut written);
        object.text("tool_call_id", &id);
        object.text("function_name", call.name.as_deref().unwrap_or_default());
        let is_object = call.parameters.is_some_and(|json| json.starts_with(b"{"));
        match call.parameters {
            Some(json) if is_object => object.raw("arguments", json),
            None => object.raw("arguments", b"{}"),
            Some(json) => object.object("arguments", |arguments| arguments.raw("input", json)),
        }
        object.object_if_any("extra", |extra| {
            if call.is_server {
                extra.is_true("server");
            }
            extra.object_if_any("session_tape", |ours| {
                if !is_object && call.parameters.is_some() {
                    ours.is_true("wrapped");
                }
                ours.object_if_any("rest", |rest| call.rest.write(rest));
            });
        });
        object.close();
        self.calls.push(written);
        self.called.push((id, call.name.clone()));
        self.layout.add(2, "tool_call", |_| ());
    }
}

/// Writes what a step has no place for.
fn write_ours(ours: &mut ObjectWriter<'_>, kind: StepKind, item: &Item<'_>, layout: &Layout) {
    match kind {
        StepKind::Unknown => ours.raw("item", item.json),
        // The item is written with its first result.
        StepKind::Results => (),
        StepKind::User | StepKind::Agent => {
            item.write_own(ours, true);
            if layout.is_needed {
                ours.array("layout", &layout.entries);
            }
            // Not an array of blocks: nothing of it is in the step.
            if let Some(blocks) = item.members.get("blocks").filter(|blocks| !blocks.starts_with(b"[")) {
                write_raw(ours.key("blocks"), blocks);
            }
        }
    }
}
