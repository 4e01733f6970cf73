//! The blocks of items, printed as they stand in native lines.

use super::value::{Json, json_text, write_key, write_member, write_text_member};
use crate::json::{Text, decode};

/// What a block is, as far as a converter has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Text.
    Text,
    /// Reasoning.
    Thinking,
    /// A call of a tool.
    Call,
    /// A call that the provider ran itself. It is never unanswered.
    ServerCall,
    /// Anything else: media, results of the provider's own tools, code, blocks of unknown types.
    Other,
}

/// A block of an item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// [`Json::key`] of the id of a call; 0 for other blocks.
    pub key: u64,
    /// The name of the tool of a call, as JSON text; empty for other blocks.
    pub name: Vec<u8>,
    /// Its JSON text.
    pub json: Vec<u8>,
}

fn block(kind: BlockKind, json: Vec<u8>) -> Block {
    Block { kind, key: 0, name: Vec::new(), json }
}

/// A text. `None` for one that is empty, or not a string.
pub(super) fn text(text: Json<'_>) -> Option<Block> {
    text.filled().map(|text| raw_text(text.bytes()))
}

/// A text that is given as JSON text and not empty.
pub(super) fn raw_text(json: &[u8]) -> Block {
    let mut out = br#"{"type":"text""#.to_vec();
    write_member(&mut out, "text", json);
    out.push(b'}');
    block(BlockKind::Text, out)
}

/// Reasoning.
#[derive(Clone, Copy, Default)]
pub(super) struct Thinking<'a> {
    /// What was thought, as JSON text. Without one, the text is empty: it was redacted or omitted.
    pub thought: Option<&'a [u8]>,
    /// What it is about.
    pub subject: Option<Json<'a>>,
    /// The signature of the provider.
    pub signature: Option<Json<'a>>,
    /// The reasoning in a form that only the provider can read.
    pub encrypted: Option<Json<'a>>,
}

/// A block of reasoning.
pub(super) fn thinking(thinking: Thinking<'_>) -> Block {
    let mut out = br#"{"type":"thinking""#.to_vec();
    write_member(&mut out, "thought", thinking.thought.unwrap_or(b"\"\""));
    let optional =
        [("subject", thinking.subject), ("signature", thinking.signature), ("encrypted", thinking.encrypted)];
    for (key, value) in optional {
        if let Some(value) = value.and_then(Json::filled) {
            write_member(&mut out, key, value.bytes());
        }
    }
    out.push(b'}');
    block(BlockKind::Thinking, out)
}

/// A call of a tool.
pub(super) struct Call<'a> {
    /// Its id. Without one it gets `call-<line>-<block>`.
    pub id: Option<Json<'a>>,
    /// The physical line of its record, and its number among the record's blocks.
    pub place: (u64, usize),
    /// The name of the tool, as JSON text.
    pub name: &'a [u8],
    /// The arguments. A JSON text in a string is parsed; if that fails the string stays.
    pub parameters: Option<Json<'a>>,
    /// Whether the provider runs the tool.
    pub server: bool,
}

/// A block with a call.
pub(super) fn call(call: &Call<'_>) -> Block {
    let made = json_text(&format!("call-{}-{}", call.place.0, call.place.1));
    let id = call.id.and_then(Json::filled).map_or(&made[..], Json::bytes);
    let mut out = br#"{"type":"tool_call""#.to_vec();
    write_member(&mut out, "id", id);
    write_member(&mut out, "name", call.name);
    write_parameters(&mut out, call.parameters);
    if call.server {
        write_member(&mut out, "server", b"true");
    }
    out.push(b'}');
    let kind = if call.server { BlockKind::ServerCall } else { BlockKind::Call };
    Block { kind, key: Json(id).key(), name: call.name.to_vec(), json: out }
}

fn write_parameters(out: &mut Vec<u8>, parameters: Option<Json<'_>>) {
    let Some(parameters) = parameters else { return write_member(out, "parameters", b"{}") };
    let text = parameters.text_as_json();
    match text.as_deref().and_then(Json::parse) {
        Some(parsed) => write_member(out, "parameters", parsed.bytes()),
        None => write_member(out, "parameters", parameters.bytes()),
    }
}

/// An image, audio or a document.
pub(super) fn media(mime_type: &str, data: &[u8], encoding: &str) -> Block {
    let mut out = br#"{"type":"media""#.to_vec();
    write_text_member(&mut out, "mimeType", mime_type);
    write_member(&mut out, "data", data);
    write_text_member(&mut out, "encoding", encoding);
    out.push(b'}');
    block(BlockKind::Other, out)
}

/// Media at a URL. A `data:` URL is split; the type of any other is what is known of it.
pub(super) fn media_at(url: Json<'_>, mime_type: &str) -> Option<Block> {
    let inside = url.filled()?.inside()?;
    let head = url.beginning(256)?;
    let split = head.strip_prefix("data:").and_then(|rest| rest.split_once(','));
    if let Some((described, _)) = split
        && let Some(declared) = described.strip_suffix(";base64")
        && let Some(comma) = memchr::memchr(b',', inside)
    {
        let mime_type = declared.split(';').next().filter(|declared| !declared.is_empty()).unwrap_or(mime_type);
        return Some(media(mime_type, &quoted(&inside[comma + 1..]), "base64"));
    }
    Some(media(mime_type, url.bytes(), "url"))
}

/// A block of a type that is passed through.
pub(super) fn other(value: Json<'_>) -> Block {
    let mut out = Vec::with_capacity(value.bytes().len());
    value.write(&mut out);
    block(BlockKind::Other, out)
}

/// A block that a converter has printed itself.
pub(super) fn printed(json: Vec<u8>) -> Block {
    block(BlockKind::Other, json)
}

/// The inside of a string as a string.
pub(super) fn quoted(inside: &[u8]) -> Vec<u8> {
    [b"\"", inside, b"\""].concat()
}

/// Strings, joined with an escaped separator such as `\n`.
pub(super) fn joined<'a>(texts: impl IntoIterator<Item = Json<'a>>, separator: &str) -> Vec<u8> {
    let mut out = vec![b'"'];
    for (index, inside) in texts.into_iter().filter_map(Json::inside).enumerate() {
        if index > 0 {
            out.extend_from_slice(separator.as_bytes());
        }
        out.extend_from_slice(inside);
    }
    out.push(b'"');
    out
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(super) struct ToolResult {
    /// The id of the call, as JSON text.
    pub call_id: Vec<u8>,
    /// [`Json::key`] of the id.
    pub key: u64,
    /// The name of the tool, as JSON text, if the source states it. Otherwise it is that of the call.
    pub name: Option<Vec<u8>>,
    /// The result, as JSON text.
    pub result: Vec<u8>,
    /// The error, as JSON text.
    pub error: Option<Vec<u8>>,
    /// Whether the provider ran the tool.
    pub server: bool,
    /// Further members of the block: their keys and JSON texts.
    pub further: Vec<(&'static str, Vec<u8>)>,
    /// An object with members that the block has too.
    pub rest: Option<Vec<u8>>,
    /// The blocks before it.
    pub before: Vec<Block>,
    /// The media of the result, which follow it.
    pub media: Vec<Block>,
}

impl ToolResult {
    /// The result of the call with this id, which is a string.
    pub(super) fn new(call_id: Json<'_>, result: Vec<u8>) -> Self {
        ToolResult {
            call_id: call_id.bytes().to_vec(),
            key: call_id.key(),
            name: None,
            result,
            error: None,
            server: false,
            further: Vec::new(),
            rest: None,
            before: Vec::new(),
            media: Vec::new(),
        }
    }

    /// The same result as that of a failed call.
    #[must_use]
    pub(super) fn failed(self, is_failed: bool) -> Self {
        let error = is_failed.then(|| error_of(&self.result));
        ToolResult { error, ..self }
    }

    /// The block. `called` is the name of the tool that was called.
    pub(super) fn block(&self, called: Option<&[u8]>) -> Block {
        let mut out = br#"{"type":"tool_response""#.to_vec();
        write_member(&mut out, "callId", &self.call_id);
        write_member(&mut out, "toolName", self.name.as_deref().or(called).unwrap_or(b"\"\""));
        write_member(&mut out, "result", &self.result);
        if let Some(error) = &self.error {
            write_member(&mut out, "error", error);
        }
        if self.server {
            write_member(&mut out, "server", b"true");
        }
        for (key, value) in &self.further {
            write_member(&mut out, key, value);
        }
        for (key, value) in self.rest.as_deref().map(|rest| Json(rest).object()).unwrap_or_default().members() {
            write_member(&mut out, &String::from_utf8_lossy(key), value.bytes());
        }
        out.push(b'}');
        block(BlockKind::Other, out)
    }
}

/// The longest error, in UTF-16 units.
const ERROR_UNITS: usize = 200;

/// The error of a failed call with this result: its first line.
pub(super) fn error_of(result: &[u8]) -> Vec<u8> {
    let is_end = |unit: &u16| matches!(*unit, 0x0a | 0x0d);
    let inside = Json(result).inside().unwrap_or_default();
    let mut line: Vec<_> = decode(inside).take_while(|unit| !is_end(unit)).take(ERROR_UNITS + 1).collect();
    if line.len() > ERROR_UNITS {
        let splits_pair = is_high(line[ERROR_UNITS - 1]) && is_low(line[ERROR_UNITS]);
        line.truncate(if splits_pair { ERROR_UNITS - 1 } else { ERROR_UNITS });
    }
    if line.is_empty() { json_text("error") } else { quoted(Text::from_units(&line).as_json().as_bytes()) }
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

/// The first line of a text.
pub(super) fn first_line(text: &str) -> &str {
    text.split(['\n', '\r']).next().unwrap_or_default()
}

/// At most `units` UTF-16 units of a text.
pub(super) fn cut(text: &str, units: usize) -> String {
    let mut left = units;
    let fits = |c: &char| {
        let fits = c.len_utf16() <= left;
        left = if fits { left - c.len_utf16() } else { 0 };
        fits
    };
    text.chars().take_while(fits).collect()
}

/// What a part of a content is, if it is a text or an image.
pub(super) enum Part<'a> {
    /// A text.
    Text(Json<'a>),
    /// An image, audio or a document.
    Media(Block),
}

/// The result that a content states, as JSON text, and its media: a list of texts and media is the texts, joined by line feeds. Anything else stays
/// as it is.
pub(super) fn result_of<'a>(
    content: Option<Json<'a>>,
    part_of: impl Fn(Json<'a>) -> Option<Part<'a>>,
) -> (Vec<u8>, Vec<Block>) {
    let Some(content) = content.filter(|content| !content.is_null()) else { return (b"\"\"".to_vec(), Vec::new()) };
    let parts: Option<Vec<_>> =
        if content.is_array() { content.elements().into_iter().map(part_of).collect() } else { None };
    let Some(parts) = parts else {
        let mut result = Vec::with_capacity(content.bytes().len());
        content.write(&mut result);
        return (result, Vec::new());
    };
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(text) => texts.push(text),
            Part::Media(block) => media.push(block),
        }
    }
    (joined(texts, "\\n"), media)
}

/// The tokens that a model response took. Numbers are tokens, except for the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// The whole prompt, the cached part included.
    pub input: f64,
    /// The part of the prompt that was read from a cache.
    pub cached: Option<f64>,
    /// The part of the prompt that was written to a cache.
    pub cache_write: Option<f64>,
    /// What the model wrote, its reasoning included.
    pub output: f64,
    /// The part of the output that is reasoning.
    pub reasoning: Option<f64>,
    /// The cost in USD, if the source states it.
    pub cost: Option<f64>,
}

impl Usage {
    /// Of a source that counts the parts of the prompt apart: `input` is without what was read from or written to a cache. `None` if it states nothing.
    pub(super) fn of_parts(
        input: Option<f64>,
        cached: Option<f64>,
        cache_write: Option<f64>,
        output: Option<f64>,
    ) -> Option<Self> {
        input.or(output).or(cached).or(cache_write)?;
        let prompt = input.unwrap_or_default() + cached.unwrap_or_default() + cache_write.unwrap_or_default();
        Some(Usage { input: prompt, cached, cache_write, output: output.unwrap_or_default(), ..Usage::default() })
    }
}

impl Usage {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        let members = [
            ("input", Some(self.input)),
            ("cached", self.cached),
            ("cacheWrite", self.cache_write),
            ("output", Some(self.output)),
            ("reasoning", self.reasoning),
            ("cost", self.cost),
        ];
        for (key, value) in members {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                write_key(out, key);
                out.extend_from_slice(super::value::js_number(value).as_bytes());
            }
        }
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(block: &Block) -> &str {
        std::str::from_utf8(&block.json).unwrap()
    }

    #[test]
    fn a_data_url_is_split_and_any_other_stays() {
        let at = |url: &str| text_of(&media_at(Json(url.as_bytes()), "image/*").unwrap()).to_owned();
        let split = r#"{"type":"media","mimeType":"image/png","data":"AA==","encoding":"base64"}"#;
        assert_eq!(at("\"data:image/png;base64,AA==\""), split);
        let stays = r#"{"type":"media","mimeType":"image/*","data":"https://x/y.png","encoding":"url"}"#;
        assert_eq!(at("\"https://x/y.png\""), stays);
    }

    #[test]
    fn arguments_that_are_a_json_text_are_parsed_and_others_stay() {
        let made = |parameters: &str| {
            let json = Json(parameters.as_bytes());
            let made = call(&Call { id: None, place: (3, 1), name: b"\"x\"", parameters: Some(json), server: false });
            text_of(&made).to_owned()
        };
        let head = r#"{"type":"tool_call","id":"call-3-1","name":"x","parameters":"#;
        assert_eq!(made(r#""{\"a\":1}""#), format!("{head}{{\"a\":1}}}}"));
        assert_eq!(made(r#""not json""#), format!("{head}\"not json\"}}"));
        // A lone surrogate is a character like others, and none that a backslash can escape.
        assert_eq!(made(r#""[\"\ud800\"]""#), format!(r#"{head}["\ud800"]}}"#));
        assert_eq!(made(r#""[\"\\\ud800\"]""#), format!(r#"{head}"[\"\\\ud800\"]"}}"#));
    }

    #[test]
    fn the_error_of_a_failed_call_is_the_first_line_of_its_result() {
        assert_eq!(error_of(br#""no such file\nmore""#), b"\"no such file\"");
        assert_eq!(error_of(b"\"\""), b"\"error\"");
        assert_eq!(
            error_of(format!("\"{}\"", "😀".repeat(300)).as_bytes()),
            format!("\"{}\"", "😀".repeat(100)).as_bytes()
        );
        assert_eq!(error_of(format!("\"x{}\"", "😀".repeat(300)).as_bytes()).len(), 2 + 1 + 99 * 4);
        assert_eq!(error_of(br#""\ud800\rmore""#), br#""\ud800""#);
    }
}
