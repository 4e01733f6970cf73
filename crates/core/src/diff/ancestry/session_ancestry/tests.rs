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
