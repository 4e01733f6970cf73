//! Messages as JSON. JavaScript formats the values that a message quotes.

use super::json::string_end;
use crate::session::message::{Message, MessagePart};

/// A message as JSON: a string, or an array of parts to be joined if it quotes a file. Strings among them are shown as they are, other
/// values as JSON.
pub fn message_json(message: &Message<'_>) -> Vec<u8> {
    if let [MessagePart::Text(text)] = &message.0[..] {
        return string_json(text);
    }
    let parts: Vec<_> = message.0.iter().map(part_json).collect();
    [b"[", &parts.join(&b","[..])[..], b"]"].concat()
}

fn part_json(part: &MessagePart<'_>) -> Vec<u8> {
    match part {
        MessagePart::Text(text) => string_json(text),
        MessagePart::Json(value) => shown_json(value),
        MessagePart::Utf16(units) => utf16_json(units),
    }
}

fn string_json(text: &str) -> Vec<u8> {
    // A string has a JSON text, always.
    serde_json::to_vec(text).unwrap_or_else(|_| b"\"\"".to_vec())
}

fn utf16_json(units: &[u16]) -> Vec<u8> {
    let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{escapes}\"").into_bytes()
}

/// A value that JavaScript is to show: as the string or value that it is, or, where it is nested deeper than `JSON.stringify` can
/// follow, as its text.
fn shown_json(json: &[u8]) -> Vec<u8> {
    let (compact, depth) = compact(json);
    if depth <= DEEPEST_SHOWN { json.to_vec() } else { string_json(&String::from_utf8_lossy(&compact)) }
}

/// `JSON.stringify` recurses, and has the stack that its caller left it.
const DEEPEST_SHOWN: usize = 500;

/// A valid JSON text without the white space between its tokens, and how deep it is nested.
fn compact(json: &[u8]) -> (Vec<u8>, usize) {
    let mut text = Vec::with_capacity(json.len());
    let (mut depth, mut deepest, mut at) = (0_usize, 0, 0);
    while let Some(&byte) = json.get(at) {
        let end = if byte == b'"' { at + 1 + string_end(&json[at + 1..]) } else { at + 1 };
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            text.extend_from_slice(&json[at..end]);
        }
        at = end;
    }
    (text, deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_quotes_nothing_is_a_string() {
        assert_eq!(message_json(&Message::text("say \"é\"")), "\"say \\\"é\\\"\"".as_bytes());
        let quoting = Message(vec![
            MessagePart::Text("got ".into()),
            MessagePart::Json(b"{ }"),
            MessagePart::Utf16(&[0xd800, 0x61]),
        ]);
        assert_eq!(message_json(&quoting), br#"["got ",{ },"\ud800\u0061"]"#);
    }

    #[test]
    fn what_is_nested_too_deep_is_shown_as_text() {
        assert_eq!(compact(br#" { "a b\" " : [ 1 , "]" ] } "#), (br#"{"a b\" ":[1,"]"]}"#.to_vec(), 2));
        assert_eq!(shown_json(b"[ 1 ]"), b"[ 1 ]");
        let deep = [b"[ ".repeat(600), b"]".repeat(600)].concat();
        assert_eq!(shown_json(&deep), format!("\"{}{}\"", "[".repeat(600), "]".repeat(600)).into_bytes());
    }
}
