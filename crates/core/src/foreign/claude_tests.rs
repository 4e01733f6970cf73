//! What Claude Code's trees lead to, beyond the fixtures.

use std::io::Write as _;

use serde_json::{Value, json};

use super::receipt::{Fate, Reason};
use super::tests::{check_native, check_receipt, convert_bytes, convert_source, history_of, with_receipt};
use super::{Conversion, Detected, Entry, ForeignFormat, convert_to_file, detect_at};
use crate::lines::LineSource;

fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect()
}

fn user(id: &str, parent: Option<&str>, content: Value) -> Value {
    json!({ "type": "user", "uuid": id, "parentUuid": parent, "sessionId": "s", "message": { "role": "user", "content": content } })
}

fn assistant(id: &str, parent: &str, message: &str, blocks: Value) -> Value {
    json!({ "type": "assistant", "uuid": id, "parentUuid": parent, "sessionId": "s",
        "message": { "id": message, "model": "m", "content": blocks, "usage": { "input_tokens": "3", "output_tokens": 1 } } })
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn converted(records: &[Value]) -> (Conversion, Vec<Entry>, Vec<Value>) {
    let bytes = lines(records);
    let (conversion, entries, events) = convert_bytes(&bytes, &with_receipt()).unwrap();
    check_receipt(&bytes, &conversion, &entries, &events);
    check_native(&conversion, &events);
    (conversion, entries, events)
}

/// The texts of the final history.
fn texts(events: &[Value]) -> Vec<String> {
    let history = history_of(events);
    let blocks = history.iter().flat_map(|item| item["blocks"].as_array().unwrap().clone());
    blocks.filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
}

#[test]
fn two_writers_who_alternate_are_read_in_file_order_from_some_line_on() {
    let mut records = vec![user("u", None, json!("begin"))];
    let mut last = ["u".to_owned(), "u".to_owned()];
    for number in 0..1500 {
        let writer = number % 2;
        let id = format!("{writer}-{number}");
        records.push(user(&id, Some(&last[writer]), json!(id)));
        last[writer] = id;
    }
    let (conversion, entries, events) = converted(&records);
    let warned: Vec<_> = conversion.summary.warnings.iter().filter(|text| text.starts_with("interleaved")).collect();
    assert_eq!(warned.len(), 1, "{:?}", conversion.summary.warnings);
    // What was repeated is bounded by the number of records.
    assert!(events.len() < entries.len() * 8 + 2000, "{}", events.len());
    assert_eq!(texts(&events).last().map(String::as_str), Some("1-1499"));
}

#[test]
fn a_missing_parent_does_not_cut_the_history() {
    let records = [
        user("a", None, json!("one")),
        assistant("b", "a", "m1", text("two")),
        user("c", Some("nowhere"), json!("three")),
        user("d", Some("c"), json!("four")),
    ];
    assert_eq!(texts(&converted(&records).2), ["one", "two", "three", "four"]);
}

#[test]
fn a_result_without_a_live_call_is_kept_with_the_reason() {
    let result = |id: &str| json!([{ "type": "tool_result", "tool_use_id": id, "content": "ok" }]);
    let call = json!([{ "type": "tool_use", "id": "c", "name": "ls", "input": {} }]);
    let records = [
        user("a", None, json!("go")),
        assistant("b", "a", "m1", call),
        user("r1", Some("b"), result("c")),
        user("r2", Some("b"), result("c")),
        user("r3", Some("b"), result("other")),
        user("e", Some("a"), json!("another way")),
        user("r4", Some("e"), result("c")),
    ];
    let (conversion, entries, events) = converted(&records);
    let messages: Vec<_> = events.iter().filter_map(|event| event["payload"]["message"].as_str()).collect();
    assert_eq!(
        messages,
        [
            "claude: user tool_result (duplicate-result)",
            "claude: user tool_result (orphan-result)",
            "claude: user tool_result (call-not-live)"
        ]
    );
    assert_eq!((conversion.summary.kept, entries[3].fate), (3, Fate::Kept));
    assert_eq!(texts(&events), ["go", "another way"]);
}

#[test]
fn a_branch_that_is_taken_up_again_has_its_results_again() {
    let result = |id: &str| json!([{ "type": "tool_result", "tool_use_id": id, "content": "ok" }]);
    let call = |id: &str| json!([{ "type": "tool_use", "id": id, "name": "ls", "input": {} }]);
    let records = [
        user("a", None, json!("go")),
        assistant("b", "a", "m1", call("c1")),
        assistant("c", "b", "m1", call("c2")),
        user("r1", Some("b"), result("c1")),
        user("r2", Some("c"), result("c2")),
        assistant("d", "r2", "m2", text("left")),
        user("e", Some("a"), json!("right")),
        user("f", Some("d"), json!("left again")),
    ];
    let (_, entries, events) = converted(&records);
    let speakers: Vec<_> =
        history_of(&events).iter().map(|item| item["speaker"].as_str().unwrap().to_owned()).collect();
    assert_eq!(speakers, ["human", "ai", "tool", "tool", "ai", "human"]);
    assert_eq!(entries.iter().map(|entry| entry.seqs.len()).collect::<Vec<_>>(), [1, 2, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn a_segment_that_a_compaction_preserves_follows_the_summary() {
    let boundary = json!({ "type": "system", "subtype": "compact_boundary", "uuid": "x", "parentUuid": null,
        "compactMetadata": { "preservedSegment": { "headUuid": "c", "tailUuid": "d" } } });
    let mut summary = user("y", Some("x"), json!("summary"));
    summary["isCompactSummary"] = json!(true);
    let records = [
        user("a", None, json!("one")),
        assistant("b", "a", "m1", text("two")),
        user("c", Some("b"), json!("three")),
        assistant("d", "c", "m2", text("four")),
        boundary.clone(),
        summary,
        user("e", Some("d"), json!("five")),
        // A boundary that no summary follows.
        json!({ "type": "system", "subtype": "compact_boundary", "uuid": "z", "parentUuid": null }),
    ];
    let (_, entries, events) = converted(&records);
    assert_eq!(texts(&events), ["summary", "three", "four", "five"]);
    let compressed = events.iter().find(|event| event["type"] == "compressed").unwrap();
    assert_eq!(compressed["payload"]["itemsCompressed"], 2);
    assert_eq!((entries[4].fate, entries[7].fate), (Fate::Mapped, Fate::Kept));
}

#[test]
fn a_response_that_is_too_long_to_hold_goes_on_in_a_new_item_without_usage() {
    let long = "x".repeat(700 << 10);
    let records = [
        user("a", None, json!("go")),
        assistant("b", "a", "m1", text(&long)),
        assistant("c", "b", "m1", json!([{ "type": "text", "text": format!("y{long}") }])),
        assistant("d", "c", "m1", text("end")),
    ];
    let (_, entries, events) = converted(&records);
    let history = history_of(&events);
    let usages: Vec<_> = history.iter().map(|item| item["metadata"]["usage"].is_null()).collect();
    assert_eq!(usages, [true, false, true]);
    assert_eq!(history[2]["metadata"]["messageId"], "m1");
    assert_eq!(entries.iter().map(|entry| entry.fate).collect::<Vec<_>>(), [Fate::Mapped; 4]);
}

#[test]
fn a_record_that_is_too_large_is_dropped_with_its_hash() {
    let mut bytes = lines(&[user("a", None, json!("one"))]);
    bytes.extend(lines(&[user("b", Some("a"), json!("z".repeat(5 << 20)))]));
    bytes.extend(lines(&[user("c", Some("a"), json!("two"))]));
    let (conversion, entries, events) = convert_bytes(&bytes, &with_receipt()).unwrap();
    check_receipt(&bytes, &conversion, &entries, &events);
    assert_eq!(entries[1].fate, Fate::Dropped(Reason::TooLarge));
    assert_eq!(texts(&events), ["one", "two"]);
}

#[test]
fn what_would_be_kept_but_is_long_is_dropped() {
    let records = [user("a", None, json!("one")), json!({ "type": "new-thing", "data": "x".repeat(17 << 10) })];
    assert_eq!(converted(&records).1[1].fate, Fate::Dropped(Reason::TooLargeToKeep));
}

#[test]
fn a_compressed_session_is_read_as_what_it_contains() {
    let bytes = lines(&[user("a", None, json!("one"))]);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    assert_eq!(detect_at(file.path()), Ok(Detected::Foreign(ForeignFormat::Claude)));
    let (conversion, entries, events) =
        convert_source(LineSource::open(file.path()).unwrap(), &with_receipt()).unwrap();
    check_receipt(&bytes, &conversion, &entries, &events);
    assert_eq!(texts(&events), ["one"]);
}

#[test]
fn the_format_of_a_compressed_session_is_known_from_its_beginning() {
    let mut bytes = lines(&[user("a", None, json!("one"))]);
    // More than may be looked at, of which the last part is damaged.
    bytes.extend(b"\n".repeat(8 << 20));
    let mut compressed = zstd::encode_all(&bytes[..], 1).unwrap();
    compressed.truncate(compressed.len() - 8);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&compressed).unwrap();
    assert_eq!(detect_at(file.path()), Ok(Detected::Foreign(ForeignFormat::Claude)));
}

#[test]
fn a_compressed_session_is_converted_by_the_path_of_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = lines(&[user("a", None, json!("one"))]);
    std::fs::write(directory.path().join("one.jsonl.zst"), zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    let converted = convert_to_file(&directory.path().join("one.jsonl")).unwrap().unwrap();
    assert!(std::fs::read_to_string(converted.log()).unwrap().contains("\"one\""));
}

#[test]
fn every_line_ending_and_a_byte_order_mark_belong_to_the_gaps() {
    let record = user("a", None, json!("one")).to_string();
    let bytes =
        [b"\xef\xbb\xbf", record.as_bytes(), b"\r\n\r\n  \n", record.replace("\"a\"", "\"b\"").as_bytes()].concat();
    let (conversion, entries, events) = convert_bytes(&bytes, &with_receipt()).unwrap();
    check_receipt(&bytes, &conversion, &entries, &events);
    assert_eq!(
        entries.iter().map(|entry| (entry.line, entry.length)).collect::<Vec<_>>(),
        [(1, record.len() as u64), (4, record.len() as u64)]
    );
}

#[test]
fn an_empty_title_is_still_a_title() {
    let records = [user("u", None, json!("hi")), json!({ "type": "summary", "summary": "", "leafUuid": "u" })];
    let (_, _, events) = converted(&records);
    assert_eq!(events.last().map(|event| &event["payload"]), Some(&json!({ "title": "" })));
}
