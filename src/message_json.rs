//! Messages as JSON. JavaScript formats the values that a message quotes.

use super::json::{JsonText, string_end};
use session_tape_core::json::Text;
use session_tape_core::session::format::{Message, MessagePart};

/// Appends a message: a string, or, if it quotes a file, an array of parts to be joined. JavaScript shows strings among the parts as
/// they are, and other values as JSON. Quoted values may have hundreds of megabytes, so they are copied only once.
pub fn append_message(json: &mut JsonText, message: &Message<'_>) {
    if let [MessagePart::Text(text)] = &message.0[..] {
        return json.value(text);
    }
    json.array(|json| {
        for part in &message.0 {
            match part {
                MessagePart::Text(text) => json.value(text),
                MessagePart::Json(value) => append_shown(json, value),
                MessagePart::OwnJson(value) => append_shown(json, value),
                MessagePart::Utf16(units) => json.text(Text::from_units(units).as_json().as_bytes()),
            }
        }
    });
}

/// The JSON text of a message.
pub fn message_json(message: &Message<'_>) -> Vec<u8> {
    let mut json = JsonText::default();
    append_message(&mut json, message);
    json.into_bytes()
}

/// Appends a value that JavaScript will show: as that value, or as a string with its text if it is nested too deeply for
/// `JSON.stringify`.
pub fn append_shown(json: &mut JsonText, value: &[u8]) {
    if depth(value) <= DEEPEST_SHOWN {
        json.raw(value);
    } else {
        json.value(&String::from_utf8_lossy(&compact(value)));
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
        assert_eq!(message_json(&quoting), br#"["got ",{ },"\ud800a"]"#);
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
