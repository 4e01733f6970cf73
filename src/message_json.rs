//! Messages as JSON. JavaScript formats the values that a message quotes.

use super::json::string_end;
use session_tape_core::session::format::{Message, MessagePart};

/// A message as JSON: a string, or, if it quotes a file, an array of parts to be joined. JavaScript shows strings among the parts as
/// they are, and other values as JSON. Quoted values may have hundreds of megabytes, so they are copied only once.
pub fn message_json(message: &Message<'_>) -> Vec<u8> {
    let mut json = Vec::with_capacity(message.0.iter().map(|part| part_length(part) + 3).sum::<usize>() + 2);
    if let [MessagePart::Text(text)] = &message.0[..] {
        append_string(&mut json, text);
        return json;
    }
    let mut separator = b'[';
    for part in &message.0 {
        json.push(separator);
        append_part(&mut json, part);
        separator = b',';
    }
    json.push(b']');
    json
}

/// Approximate size of a part's JSON text in bytes.
fn part_length(part: &MessagePart<'_>) -> usize {
    match part {
        MessagePart::Text(text) => text.len(),
        MessagePart::Json(value) => value.len(),
        MessagePart::OwnJson(value) => value.len(),
        MessagePart::Utf16(units) => 6 * units.len(),
    }
}

fn append_part(json: &mut Vec<u8>, part: &MessagePart<'_>) {
    match part {
        MessagePart::Text(text) => append_string(json, text),
        MessagePart::Json(value) => append_shown(json, value),
        MessagePart::OwnJson(value) => append_shown(json, value),
        MessagePart::Utf16(units) => append_utf16(json, units),
    }
}

fn append_string(json: &mut Vec<u8>, text: &str) {
    let start = json.len();
    // Serialising a string can't fail.
    if serde_json::to_writer(&mut *json, text).is_err() {
        json.truncate(start);
        json.extend_from_slice(b"\"\"");
    }
}

fn append_utf16(json: &mut Vec<u8>, units: &[u16]) {
    json.push(b'"');
    for unit in units {
        json.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
    }
    json.push(b'"');
}

/// Appends a value that JavaScript will show: as that value, or as a string with its text if it is nested too deeply for
/// `JSON.stringify`.
pub fn append_shown(json: &mut Vec<u8>, value: &[u8]) {
    if depth(value) <= DEEPEST_SHOWN {
        json.extend_from_slice(value);
    } else {
        append_string(json, &String::from_utf8_lossy(&compact(value)));
    }
}

/// `JSON.stringify` is recursive, and has only what its caller has left of the stack.
const DEEPEST_SHOWN: usize = 500;

/// The depth of nesting of a valid JSON text.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for token in tokens(json) {
        match token {
            b"[" | b"{" => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b"]" | b"}" => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// A valid JSON text without the white space between its tokens.
fn compact(json: &[u8]) -> Vec<u8> {
    tokens(json).filter(|token| !token[0].is_ascii_whitespace()).flatten().copied().collect()
}

/// The strings of a valid JSON text, and each byte outside strings.
fn tokens(json: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let byte = json.get(start)?;
        at += if *byte == b'"' { 1 + string_end(&json[start + 1..]) } else { 1 };
        json.get(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_without_quotes_is_a_string() {
        assert_eq!(message_json(&Message::text("say \"é\"")), "\"say \\\"é\\\"\"".as_bytes());
        let quoting = Message(vec![
            MessagePart::Text("got ".into()),
            MessagePart::Json(b"{ }"),
            MessagePart::Utf16(&[0xd800, 0x61]),
        ]);
        assert_eq!(message_json(&quoting), br#"["got ",{ },"\ud800\u0061"]"#);
    }

    #[test]
    fn deeply_nested_value_is_shown_as_text() {
        let json = br#" { "a b\" " : [ 1 , "]" ] } "#;
        assert_eq!((compact(json), depth(json)), (br#"{"a b\" ":[1,"]"]}"#.to_vec(), 2));
        let shown = |value: &[u8]| message_json(&Message(vec![MessagePart::Json(value)]));
        assert_eq!(shown(b"[ 1 ]"), b"[[ 1 ]]");
        let deep = [b"[ ".repeat(600), b"]".repeat(600)].concat();
        assert_eq!(shown(&deep), format!("[\"{}{}\"]", "[".repeat(600), "]".repeat(600)).into_bytes());
    }
}
