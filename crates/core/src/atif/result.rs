//! The results of calls.

use super::block::{Block, ToolResult};
use super::plan::{PlannedResult, is_result};
use super::step::{Item, Part, Steps, Stored, write_parts};
use super::value::{Members, ObjectWriter, elements, string, write_raw};
use super::{ExportError, bytes_at};
use crate::lines::LineSource;

/// The blocks of a result, sorted by their places in ATIF.
#[derive(Default)]
struct Content<'a> {
    result: Option<ToolResult<'a>>,
    /// Media that follow the result at once.
    parts: Vec<Part>,
    /// For each of them, the block that it is, if that is a reference; else `null`.
    references: Vec<Vec<u8>>,
    /// The blocks that there is no place for, as JSON.
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
}

impl Steps<'_> {
    /// Writes a result. `begins`: the one before it in the step is of another item.
    pub(super) fn result(
        &mut self,
        planned: &PlannedResult,
        begins: bool,
        source: &LineSource,
        called: &[(String, Option<String>)],
    ) -> Result<Vec<u8>, ExportError> {
        let mut blocks = vec![b'['];
        source.append_bytes_at(planned.blocks.offset, planned.blocks.length, &mut blocks)?;
        blocks.push(b']');
        let content = self.content_of(&blocks)?;
        let line = if planned.is_first { bytes_at(source, planned.line)? } else { Vec::new() };
        let item = if planned.is_first { Some(Item::of(&line, &mut self.nesting)?) } else { None };
        let mut written = Vec::new();
        write_result(&mut written, &content, planned, called, |ours| {
            if planned.is_inline {
                ours.is_true("inline");
            } else if begins {
                ours.object("item", |object| {
                    if let Some(item) = &item {
                        item.write_own(object, false);
                    }
                });
            }
        });
        Ok(written)
    }

    fn content_of<'a>(&mut self, blocks: &'a [u8]) -> Result<Content<'a>, ExportError> {
        let mut content = Content::default();
        for json in elements(blocks, &mut self.nesting).unwrap_or_default() {
            let block = Block::of(json, &mut self.nesting);
            if content.result.is_none() && is_result(&block) {
                if let Block::Result(result) = block {
                    content.result = Some(result);
                }
                continue;
            }
            let stored = match &block {
                Block::Media(media) => self.stored(media)?,
                Block::Reference(reference) => {
                    self.referred(reference)?.map_or(Stored::Not, |(kind, path)| Stored::Part(kind, path))
                }
                _ => Stored::Not,
            };
            let has_result = content.result.is_some();
            let (others, at_once) = if has_result { (&mut content.after, true) } else { (&mut content.before, false) };
            match (stored, &block) {
                (Stored::Part(kind, path), Block::Media(media))
                    if at_once && others.is_empty() && media.mime == kind.name && media.rest.is_empty() =>
                {
                    content.parts.push(Part::Media(kind, path));
                    content.references.push(b"null".to_vec());
                }
                (Stored::Part(kind, path), Block::Reference(_)) if at_once && others.is_empty() => {
                    content.parts.push(Part::Media(kind, path));
                    content.references.push(as_text(json));
                }
                (Stored::Part(_, path), Block::Media(media)) => {
                    others.push(media_block(&media.mime, &path, &media.rest))
                }
                (Stored::Whole(block), _) => others.push(block),
                _ => others.push(json.to_vec()),
            }
        }
        Ok(content)
    }
}

fn media_block(mime: &str, path: &str, rest: &Members<'_>) -> Vec<u8> {
    let mut block = Vec::new();
    let mut object = ObjectWriter::open(&mut block);
    object.text("type", "media");
    object.text("mimeType", mime);
    object.text("data", path);
    object.text("encoding", "url");
    rest.write(&mut object);
    object.close();
    block
}

fn write_result(
    out: &mut Vec<u8>,
    content: &Content<'_>,
    planned: &PlannedResult,
    called: &[(String, Option<String>)],
    of_item: impl FnOnce(&mut ObjectWriter<'_>),
) {
    let none = ToolResult::default();
    let result = content.result.as_ref().unwrap_or(&none);
    let call = called.iter().find(|(id, _)| planned.has_call && Some(id) == result.call_id.as_ref());
    let text = result.result.and_then(string);
    let is_json = text.is_none() && result.result.is_some();
    let mut object = ObjectWriter::open(out);
    object.optional_text("source_call_id", call.map(|(id, _)| id.as_str()));
    write_content(&mut object, result.result, text, &content.parts);
    let references = result.subagents.filter(|json| are_references(json));
    if let Some(references) = references {
        object.raw("subagent_trajectory_ref", references);
    }
    object.object_if_any("extra", |extra| {
        if let Some(error) = result.error {
            extra.is_true("is_error");
            extra.raw("error", error);
        }
        extra.object_if_any("session_tape", |ours| {
            of_item(ours);
            if content.result.is_none() {
                ours.is_true("none");
            }
            if is_json {
                ours.is_true("json");
            }
            let name = result.tool_name.as_deref();
            if call.is_none() {
                ours.optional_text("callId", result.call_id.as_deref());
            }
            if call.is_none_or(|(_, called)| called.as_deref() != name) {
                ours.optional_text("toolName", name);
            }
            if let Some(subagents) = result.subagents.filter(|_| references.is_none()) {
                ours.raw("subagents", subagents);
            }
            ours.object_if_any("rest", |rest| result.rest.write(rest));
            if content.references.iter().any(|block| block != b"null") {
                ours.array("references", &content.references);
            }
            for (key, blocks) in [("before", &content.before), ("after", &content.after)] {
                if !blocks.is_empty() {
                    ours.array(key, &blocks.iter().map(|block| as_text(block)).collect::<Vec<_>>());
                }
            }
        });
    });
    object.close();
}

fn as_text(json: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    write_raw(&mut text, json);
    text
}

/// Writes `content`: the result if it is a text, else its JSON text, and the media behind it.
fn write_content(object: &mut ObjectWriter<'_>, result: Option<&[u8]>, text: Option<String>, media: &[Part]) {
    let text = text.or_else(|| result.map(|json| String::from_utf8_lossy(json).into_owned()));
    if media.is_empty() {
        return object.optional_text("content", text.as_deref());
    }
    let mut parts: Vec<Part> = text.filter(|text| !text.is_empty()).map(Part::Text).into_iter().collect();
    parts.extend(media.iter().map(|part| match part {
        Part::Text(text) => Part::Text(text.clone()),
        Part::Media(kind, path) => Part::Media(*kind, path.clone()),
    }));
    write_parts(object.key("content"), &parts);
}

/// Whether ATIF accepts a value as the references to the trajectories of sub-agents.
fn are_references(json: &[u8]) -> bool {
    const TEXTS: [&str; 3] = ["trajectory_id", "trajectory_path", "session_id"];
    let mut nesting = crate::json::Nesting::default();
    let Some(references) = elements(json, &mut nesting) else { return false };
    references.into_iter().all(|reference| {
        let Some(members) = Members::of(reference, &mut nesting) else { return false };
        let is_known = TEXTS.iter().all(|name| members.get(name).is_none_or(|value| string(value).is_some()));
        let has_extra = members.get("extra").is_none_or(|extra| extra.starts_with(b"{"));
        let is_resolvable = members.get("trajectory_id").or(members.get("trajectory_path")).is_some();
        let others = members.without(&["trajectory_id", "trajectory_path", "session_id", "extra"]);
        is_known && has_extra && is_resolvable && others.is_empty()
    })
}
