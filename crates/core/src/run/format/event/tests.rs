use super::*;
use crate::run::format::chain::{GENESIS, append_line, payload_hash};
use proptest::prelude::*;

const SALT: [u8; SALT_DIGITS] = *b"00112233445566778899aabbccddeeff";

fn line_of(envelope: &Envelope<'_>, payload: &str) -> String {
    let mut out = Vec::new();
    append_line(&mut out, &GENESIS, envelope, &[b'f'; HEX_BYTES], &SALT, payload.as_bytes());
    assert_eq!(out.pop(), Some(b'\n'));
    String::from_utf8(out).unwrap()
}

fn sample() -> String {
    let ts = "2026-02-11T16:00:00.000Z";
    let envelope = Envelope { time: 12, ts, kind: "Error", node: Some("a\\n\u{e9}"), parent: Some(3) };
    line_of(&envelope, r#"{"code":"E","message":"}\"","x":[{}]}"#)
}

fn parse(line: &str) -> Result<EventLine<'_>, RunError> {
    EventLine::parse(line, &mut Nesting::default())
}

fn code(line: &str) -> ErrorCode {
    parse(line).unwrap_err().code
}

#[test]
fn line_is_split_into_its_fields() {
    let line = sample();
    let event = parse(&line).unwrap();
    assert_eq!((event.time, event.id().as_str(), event.ts), (12, "evt_12", "2026-02-11T16:00:00.000Z"));
    assert_eq!((event.kind, event.node, event.parent), ("Error", Some("a\\n\u{e9}"), Some(3)));
    assert_eq!(event.payload, r#"{"code":"E","message":"}\"","x":[{}]}"#);
    assert_eq!(event.salt, Some(&SALT));
    assert_eq!(event.state_hash, &[b'f'; HEX_BYTES]);
    assert_eq!(event.payload_hash, &payload_hash(&SALT, event.payload.as_bytes()));
    assert!(event.covered_bytes().ends_with(b"ffff\""));
    assert_eq!(EventLine::peek_time(&line.as_bytes()[..48]), Some(12));
}

#[test]
fn nulls_and_a_redacted_payload_are_read() {
    let envelope = Envelope { time: 0, ts: "", kind: "", node: None, parent: None };
    let line = line_of(&envelope, "{}");
    let event = parse(&line).unwrap();
    assert_eq!((event.node, event.parent, event.payload), (None, None, "{}"));
    let redacted = line.replace(r#","salt":"00112233445566778899aabbccddeeff""#, "");
    let event = parse(&redacted).unwrap();
    assert_eq!(event.salt, None);
    assert_eq!(LineOffsets::of(&event, 0).hashed_parts(redacted.as_bytes(), 0), Some(event.hashed_parts()));
}

#[test]
fn errors_say_what_is_wrong_with_a_line() {
    let line = sample();
    let with = |from: &str, to: &str| {
        let changed = line.replacen(from, to, 1);
        assert_ne!(changed, line, "{from}");
        changed
    };
    for (changed, expected) in [
        (String::new(), ErrorCode::NotAJsonLine),
        ("null".into(), ErrorCode::NotAJsonLine),
        ("[]".into(), ErrorCode::NotAJsonLine),
        (line[..line.len() - 1].into(), ErrorCode::NotAJsonLine),
        (format!("\u{feff}{line}"), ErrorCode::NotAJsonLine),
        (with(r#"[{}]"#, r#"[{]"#), ErrorCode::NotAJsonLine),
        (with(r#""x":"#, r#""x""#), ErrorCode::NotAJsonLine),
        (with("ts\":\"2026", "ts\":\"20\t26"), ErrorCode::NotAJsonLine),
        (with("\"v\":1", "\"v\":2"), ErrorCode::UnsupportedVersion),
        (with("\"v\":1", "\"v\":1.0"), ErrorCode::UnsupportedVersion),
        (with("\"v\":1,", ""), ErrorCode::MissingField),
        ("{}".into(), ErrorCode::MissingField),
        (with("\"time\":12,", ""), ErrorCode::MissingField),
        (with("parent", "Parent"), ErrorCode::MissingField),
        (with("\"payload\"", "\"pay\\u006coad\""), ErrorCode::MissingField),
        (with(":12,", ":012,"), ErrorCode::NotAJsonLine),
        (with(":12,", ":-12,"), ErrorCode::InvalidField),
        (with(":12,", ":12.0,"), ErrorCode::InvalidField),
        (with(":12,", ":9007199254740992,"), ErrorCode::InvalidField),
        (with(":12,", ":99999999999999999999,"), ErrorCode::InvalidField),
        (with(":12,", ":\"12\","), ErrorCode::InvalidField),
        (with("\"Error\"", "null"), ErrorCode::InvalidField),
        (with("\"parent\":3", "\"parent\":true"), ErrorCode::InvalidField),
        (with("ffff\"", "fffF\""), ErrorCode::InvalidField),
        (with("ffff\"", "fff\""), ErrorCode::InvalidField),
        (with("ffff\"", "fffff\""), ErrorCode::InvalidField),
        (with("salt\":\"00", "salt\":\"0g"), ErrorCode::InvalidField),
        (with("payload\":{", "payload\":[{").replace("[{}]}}", "[{}]}]}"), ErrorCode::InvalidField),
        (with("{\"v\"", "{ \"v\""), ErrorCode::NotCanonical),
        (format!("{line} "), ErrorCode::NotCanonical),
        (format!("{line}\r"), ErrorCode::NotCanonical),
        (with("\"v\":1,", "\"v\":1,\"v\":1,"), ErrorCode::NotCanonical),
        (with("[{}]}}", "[{}]},\"extra\":{}}"), ErrorCode::NotCanonical),
        (with("\"v\":1,\"time\":12,", "\"time\":12,\"v\":1,"), ErrorCode::NotCanonical),
    ] {
        assert_eq!(code(&changed), expected, "{changed}");
    }
    let error = parse(&with(r#"[{}]"#, r#"[{]"#)).unwrap_err();
    assert_eq!(error.event_id().as_deref(), Some("evt_12"));
}

#[test]
fn oversized_line_is_refused() {
    let envelope = Envelope { time: 0, ts: "", kind: "Error", node: None, parent: None };
    let empty = line_of(&envelope, r#"{"x":""}"#).len();
    let fitting = format!(r#"{{"x":"{}"}}"#, "y".repeat(EventLine::MAX_BYTES - empty));
    assert!(parse(&line_of(&envelope, &fitting)).is_ok());
    let line = line_of(&envelope, &fitting.replacen('y', "yy", 1));
    assert_eq!(parse(&line).unwrap_err().code, ErrorCode::TooLarge);
}

#[test]
fn nesting_does_not_use_stack() {
    let envelope = Envelope { time: 0, ts: "", kind: "Error", node: None, parent: None };
    let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert!(parse(&line_of(&envelope, &deep)).is_ok());
    let torn = format!(r#"{{"x":{}{}}}"#, "[".repeat(1_000_000), "]".repeat(999_999));
    assert_eq!(code(&line_of(&envelope, &torn)), ErrorCode::NotAJsonLine);
}

proptest! {
    #[test]
    fn printed_events_parse_back(
        time in 0u64..1 << 53, ts in "[0-9TZ:.-]{0,30}", kind in "[A-Za-z]{0,20}",
        node in proptest::option::of(any::<String>()), parent in proptest::option::of(0u64..1 << 53),
        payload in proptest::collection::btree_map(any::<String>(), any::<Option<i64>>(), 0..5),
    ) {
        let node = node.map(|node| serde_json::to_string(&node).unwrap());
        let node = node.as_deref().map(|node| &node[1..node.len() - 1]);
        let payload = serde_json::to_string(&payload).unwrap();
        let line = line_of(&Envelope { time, ts: &ts, kind: &kind, node, parent }, &payload);
        let event = parse(&line).unwrap();
        let lines = format!("before\n{line}\nbehind\n");
        prop_assert_eq!(LineOffsets::of(&event, 7).hashed_parts(lines.as_bytes(), time), Some(event.hashed_parts()));
        prop_assert_eq!((event.time, event.ts, event.kind), (time, &*ts, &*kind));
        prop_assert_eq!((event.node, event.parent, event.payload), (node, parent, &*payload));
        let mut printed = Vec::new();
        print_covered(&mut printed, &Envelope { time, ts: &ts, kind: &kind, node, parent }, event.payload_hash, event.state_hash);
        prop_assert_eq!(&printed[..], event.covered_bytes());
        print_rest(&mut printed, event.hash, event.salt, event.payload.as_bytes());
        prop_assert_eq!(printed, (line + "\n").into_bytes());
    }

    // The positional parser accepts a line only if it is JSON with the same meaning, and refuses a line as not JSON only if it is not a JSON object.
    #[test]
    fn damaged_line_is_refused_or_canonical(damage in proptest::collection::vec((any::<prop::sample::Index>(), "[\\x00-\\x7f]"), 1..3)) {
        let mut line = sample();
        for (at, text) in damage {
            let at = at.index(line.len());
            if line.is_char_boundary(at) && line.is_char_boundary(at + 1) {
                line.replace_range(at..at + 1, &text);
            }
        }
        match parse(&line) {
            Ok(event) => {
                let value: serde_json::Value = serde_json::from_str(&line).unwrap();
                prop_assert_eq!(value["time"].as_u64(), Some(event.time));
                prop_assert_eq!(value["hash"].as_str().unwrap().as_bytes(), event.hash);
                prop_assert!(value["payload"].is_object());
                prop_assert_eq!(value.as_object().unwrap().len(), 11);
            }
            Err(error) => if error.code == ErrorCode::NotAJsonLine {
                prop_assert!(!serde_json::from_str::<serde_json::Value>(&line).is_ok_and(|value| value.is_object()));
            }
        }
    }
}
