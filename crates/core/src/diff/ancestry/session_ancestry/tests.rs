use crate::diff::tests::{session_file, trace};
use serde_json::{Value, json};

const START: &str = r#"{"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#;

fn item(speaker: &str, blocks: &[Value]) -> String {
    json!({ "type": "content", "payload": { "content": { "speaker": speaker, "blocks": blocks } } }).to_string()
}

fn human() -> String {
    item("human", &[json!({ "type": "text", "text": "t" })])
}

fn ai(ids: &[&str]) -> String {
    let call = |id: &&str| json!({ "type": "tool_call", "id": id, "name": format!("tool-{id}"), "parameters": {} });
    item("ai", &ids.iter().map(call).collect::<Vec<_>>())
}

fn tool(id: &str) -> String {
    item("tool", &[json!({ "type": "tool_response", "callId": id, "toolName": format!("tool-{id}"), "result": 1 })])
}

fn of(name: &str, payload: Value) -> String {
    json!({ "type": name, "payload": payload }).to_string()
}

fn places(lines: &[String], place: usize) -> Vec<u64> {
    let file = session_file(&[&[START.to_owned()], lines].concat().join("\n"));
    let chain = trace(file.path(), &format!("rec_{place}")).unwrap();
    assert!(!chain.truncated);
    chain.edges.iter().map(|edge| edge.number).collect()
}

#[test]
fn response_descends_from_its_call_and_answer_from_the_message() {
    let lines = [human(), ai(&["a", "b"]), tool("b"), tool("a"), ai(&[]), human(), ai(&["a"]), ai(&[]), tool("a")];
    assert_eq!(places(&lines, 0), Vec::<u64>::new());
    assert_eq!(places(&lines, 1), [0]);
    assert_eq!(places(&lines, 2), [1, 0]);
    assert_eq!(places(&lines, 4), [2, 1, 0]);
    assert_eq!(places(&lines, 5), [4, 3, 2, 1, 0]);
    assert_eq!(places(&lines, 6), [5, 4, 3, 2, 1, 0]);
    assert_eq!(places(&lines, 8), [6, 5, 4, 3, 2, 1, 0], "an AI's second item comes of what its first came of");
    assert_eq!(places(&lines, 9)[..2], [7, 6], "the second call with this id is meant");
}

#[test]
fn removed_items_are_not_ancestors() {
    let rewind = of("rewind", json!({ "itemsRemoved": 2 }));
    let lines = [
        human(),
        ai(&["a"]),
        tool("a"),
        rewind,
        ai(&[]),
        of("session_event", json!({ "severity": "info", "message": "" })),
    ];
    assert_eq!(places(&lines, 4), [3, 2, 1, 0]);
    assert_eq!(places(&lines, 5), [1, 0]);
    assert_eq!(places(&lines, 6), [5, 1, 0]);
    let summary = of("compressed", json!({ "summary": { "speaker": "ai" }, "itemsCompressed": 2 }));
    let lines = [human(), ai(&[]), summary, ai(&[]), tool("lost"), of("rewind", json!({ "itemsRemoved": -1 }))];
    assert_eq!(places(&lines, 4), [3, 2, 1, 0]);
    assert_eq!(places(&lines, 5), [4, 3, 2, 1, 0]);
    assert_eq!(places(&lines, 6), [5, 4, 3, 2, 1, 0]);
}

#[test]
fn ancestry_edges_name_their_relation() {
    let file = session_file(&[START.to_owned(), human(), ai(&["a", "b"]), tool("a"), of("new", json!({}))].join("\n"));
    let chain = trace(file.path(), "rec_4").unwrap();
    let shown: Vec<_> =
        chain.edges.iter().map(|edge| (edge.kind.as_str(), edge.label.as_deref(), edge.event_id.as_str())).collect();
    let expected = [
        ("content", Some("tool: tool-a"), "rec_3"),
        ("content", Some("ai: tool-a, tool-b"), "rec_2"),
        ("content", Some("human"), "rec_1"),
        ("session_start", None, "rec_0"),
    ];
    assert_eq!(shown, expected);
    for id in ["rec_5", "evt_1", "rec_01", "1"] {
        assert_eq!(trace(file.path(), id).unwrap_err().code(), "NoSuchEvent");
    }
}

#[test]
fn ancestry_takes_linear_time() {
    let lines: Vec<String> = (0..20_000).flat_map(|_| [ai(&[]), of("rewind", json!({ "itemsRemoved": 1 }))]).collect();
    let tools = vec![item("tool", &[]); 1000];
    let found = places(&[tools, lines].concat(), 40_999);
    assert_eq!(found[..2], [1000, 999]);
}

/// An item with a marker.
fn keyed(speaker: &str, key: u64) -> Value {
    let text = json!({ "type": "text", "text": "t" });
    json!({ "speaker": speaker, "blocks": [text], "metadata": { "chronology": { "seq": key } } })
}

fn recorded(speaker: &str, key: u64) -> String {
    of("content", json!({ "content": keyed(speaker, key) }))
}

#[test]
fn items_that_edits_removed_are_not_ancestors_and_replaced_ones_keep_theirs() {
    let edit = of(
        "density_mutation",
        json!({ "removedSeqs": [2, 9], "replacements": [{ "replacedSeq": 1, "replacement": keyed("human", 1) }] }),
    );
    let lines = [recorded("human", 1), recorded("human", 2), edit, recorded("ai", 4)];
    assert_eq!(places(&lines, 4), [1, 0]);
}

#[test]
fn an_inserted_item_descends_from_the_one_before_it() {
    let insert = of("synthetic_insert", json!({ "content": keyed("ai", 7), "chronologySeq": 7, "afterSeq": 1 }));
    let lines = [recorded("human", 1), recorded("human", 2), insert, recorded("human", 3)];
    assert_eq!(places(&lines, 3), [1, 0]);
    assert_eq!(places(&lines, 4), [2, 1, 0], "what follows descends from the last item");
    let behind_nothing =
        of("synthetic_insert", json!({ "content": keyed("ai", 7), "chronologySeq": 7, "afterSeq": 8 }));
    assert_eq!(places(&[recorded("human", 1), behind_nothing, recorded("ai", 3)], 3), [1, 0]);
}

#[test]
fn a_rewind_to_a_key_removes_what_it_names_whatever_its_count() {
    let bind = of(
        "chronology_bind",
        json!({ "rowIndex": 1, "chronology": { "seq": 5, "userTurn": 1, "step": 1, "recordedAt": 1 } }),
    );
    let rewind = of("rewind", json!({ "itemsRemoved": 0, "cutSeq": 5 }));
    let lines = [recorded("human", 1), recorded("human", 2), recorded("human", 3), bind, rewind, recorded("ai", 4)];
    assert_eq!(places(&lines, 6), [1, 0]);
}

#[test]
fn a_purge_of_media_keeps_what_led_to_items() {
    let purge = |items: &[Value]| {
        of("semantic_media_purge", json!({ "history": items, "frontier": { "contentIndex": 0, "blockIndex": 0 } }))
    };
    let items = [keyed("human", 1), keyed("human", 2)];
    let begin = [recorded("human", 1), recorded("human", 2)];
    let with = |purge: String| [&begin[..], &[purge, recorded("ai", 4)]].concat();
    assert_eq!(places(&with(purge(&items)), 4), [2, 1, 0]);
    assert_eq!(places(&with(purge(&items[1..])), 4), [3, 2, 1, 0], "another history begins with the purge");
}
