//! The parts of Gemini's messages, which Qwen Code has too.

use super::blocks::{self, Block, Call, Thinking, ToolResult};
use super::value::{Json, Object, write_member, write_text_member};

/// What the parts of a message are.
#[derive(Default)]
pub(super) struct Parts {
    /// The blocks in order.
    pub blocks: Vec<Block>,
    /// The results of calls.
    pub results: Vec<ToolResult>,
}

/// Reads a content: a text, a part, or a list of them. Calls for which `is_known` holds are left out. `line` is the physical line of the record.
pub(super) fn parts_of(content: Option<Json<'_>>, line: u64, is_known: impl Fn(u64) -> bool) -> Parts {
    let mut parts = Parts::default();
    let Some(content) = content else { return parts };
    let list = if content.is_array() { content.elements() } else { vec![content] };
    for (index, part) in list.into_iter().enumerate() {
        if part.is_string() {
            parts.blocks.extend(blocks::text(part));
        } else if part.is_object() {
            add_part(&mut parts, part, (line, index), &is_known);
        }
    }
    parts
}

fn add_part(parts: &mut Parts, part: Json<'_>, place: (u64, usize), is_known: &impl Fn(u64) -> bool) {
    let fields = part.object();
    let object = |key: &str| fields.get(key).filter(|value| value.is_object()).map(Json::object);
    if let Some(text) = fields.get("text").filter(|text| text.is_string()) {
        let is_thought = fields.is_true("thought");
        parts.blocks.extend(if is_thought { thought(text, &fields) } else { blocks::text(text) });
    } else if let Some(called) = object("functionCall") {
        let call = call_of(&called, called.get("args"), place);
        if !is_known(call.key) {
            parts.blocks.push(call);
        }
    } else if let Some(response) = object("functionResponse") {
        match result_of_response(&response) {
            Some(result) => parts.results.push(result),
            None => parts.blocks.push(blocks::other(part)),
        }
    } else if let Some(code) = object("executableCode") {
        parts.blocks.push(code_of(&code));
    } else {
        parts.blocks.push(media_of(&fields).unwrap_or_else(|| blocks::other(part)));
    }
}

fn thought(text: Json<'_>, fields: &Object<'_>) -> Option<Block> {
    let signature = fields.filled("thoughtSignature");
    let thought = Thinking { thought: Some(text.bytes()), signature, ..Thinking::default() };
    (text.filled().is_some() || signature.is_some()).then(|| blocks::thinking(thought))
}

/// A call that `fields` describe by `id` and `name`.
pub(super) fn call_of(fields: &Object<'_>, parameters: Option<Json<'_>>, place: (u64, usize)) -> Block {
    let name = fields.get("name").filter(|name| name.is_string()).map_or(&b"\"\""[..], Json::bytes);
    blocks::call(&Call { id: fields.get("id"), place, name, parameters, server: false })
}

/// Code that the model wrote, to be executed by the provider.
fn code_of(code: &Object<'_>) -> Block {
    let mut out = br#"{"type":"code""#.to_vec();
    let text = code.get("code").filter(|code| code.is_string());
    write_member(&mut out, "code", text.map_or(&b"\"\""[..], Json::bytes));
    let language = code.text("language").unwrap_or_default().to_lowercase();
    if !language.is_empty() {
        write_text_member(&mut out, "language", &language);
    }
    out.push(b'}');
    blocks::printed(out)
}

/// The media of a part.
pub(super) fn media_of(fields: &Object<'_>) -> Option<Block> {
    if let Some(data) = fields.get("inlineData").map(Json::object) {
        let bytes = data.filled("data")?;
        return Some(blocks::media(&data.text("mimeType")?, bytes.bytes(), "base64"));
    }
    let file = fields.get("fileData")?.object();
    let mime_type = file.text("mimeType").unwrap_or_else(|| "application/octet-stream".into());
    blocks::media_at(file.filled("fileUri")?, &mime_type)
}

/// The result in a function's response. `None` without an id.
pub(super) fn result_of_response(response: &Object<'_>) -> Option<ToolResult> {
    let id = response.filled("id")?;
    let (result, is_failed) = output_of(response.get("response"));
    let parts = response.get("parts").map(Json::elements).unwrap_or_default();
    let media = parts.into_iter().filter_map(|part| media_of(&part.object())).collect();
    let name = response.filled("name").map(|name| name.bytes().to_vec());
    Some(ToolResult { name, media, ..ToolResult::new(id, result).failed(is_failed) })
}

/// The result that a response states, as JSON text, and whether it is an error.
pub(super) fn output_of(response: Option<Json<'_>>) -> (Vec<u8>, bool) {
    let Some(response) = response.filter(|response| !response.is_null()) else { return (b"\"\"".to_vec(), false) };
    let given = |key: &str| response.get(key).filter(|value| !value.is_null());
    let (output, error) = (given("output"), given("error"));
    let mut result = Vec::new();
    output.or(error).unwrap_or(response).write(&mut result);
    (result, error.is_some())
}
