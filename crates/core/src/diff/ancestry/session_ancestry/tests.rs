use super::*;
use crate::diff::tests::{session_file, trace};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

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
fn a_response_comes_of_its_call_and_an_answer_of_what_was_said() {
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
fn what_left_the_conversation_is_no_cause() {
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
fn edges_say_what_they_are() {
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
fn many_items_cost_no_more_than_their_number() {
    let lines: Vec<String> = (0..20_000).flat_map(|_| [ai(&[]), of("rewind", json!({ "itemsRemoved": 1 }))]).collect();
    let tools = vec![item("tool", &[]); 1000];
    let found = places(&[tools, lines].concat(), 40_999);
    assert_eq!(found[..2], [1000, 999]);
}

/// The places of a record's ancestors, found with `in_memory` elements of each list in memory, and the number of elements
/// retained at the end.
fn found_with(in_memory: usize, log: &std::path::Path, place: u64) -> (Vec<u64>, usize) {
    let mut causes = Causes {
        links: Spill::keeping(in_memory),
        parents: Spill::keeping(in_memory),
        history: Spill::keeping(in_memory),
        ..Causes::default()
    };
    let mut watch = Watch { cancelled: &AtomicBool::new(false), progress: &mut |_, _| () };
    let Ok(Some(chain)) = causes.find(&Source::session(log), place, &mut watch) else { panic!("no chain") };
    let retained = causes.links.retained() + causes.parents.retained() + causes.history.retained();
    (chain.edges.iter().map(|edge| edge.number).collect(), retained)
}

proptest! {
    #[test]
    fn a_chain_is_the_same_however_little_is_in_memory(
        kinds in proptest::collection::vec((0u8..9, 0u8..4), 1..80),
        in_memory in 1usize..6,
    ) {
        let line = |&(kind, number): &(u8, u8)| match kind {
            0..=2 => human(),
            3 => ai(&[]),
            4 => ai(&[&number.to_string()]),
            5 | 6 => tool(&number.to_string()),
            7 => of("rewind", json!({ "itemsRemoved": u32::from(number).pow(3) })),
            _ if number == 0 => of("compressed", json!({ "summary": { "speaker": "ai" }, "itemsCompressed": 2 })),
            _ => of("new", json!({})),
        };
        let lines: Vec<String> = kinds.iter().map(line).collect();
        let file = session_file(&[START.to_owned(), lines.join("\n")].join("\n"));
        let last = kinds.len() as u64;
        prop_assert_eq!(found_with(in_memory, file.path(), last).0, found_with(usize::MAX, file.path(), last).0);
    }
}

#[test]
fn memory_does_not_grow_with_the_session() {
    let retained = |records: usize| {
        let exchange = [human(), ai(&["a"]), tool("a"), ai(&[])].join("\n");
        let file = session_file(&format!("{START}\n{}", format!("{exchange}\n").repeat(records / 4)));
        let (chain, retained) = found_with(100, file.path(), records as u64);
        assert!(chain.len() >= records / 2, "{}", chain.len());
        retained
    };
    let small = retained(4_000);
    assert_eq!(retained(40_000), small);
    assert!(small < 6_000, "{small}");
}
