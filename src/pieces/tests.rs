use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Puts pieces together as `Pieces` of the JavaScript library does.
fn whole(pieces: &[Vec<u8>]) -> Value {
    let mut pieces = pieces.iter().map(|piece| serde_json::from_slice::<Value>(piece).unwrap());
    let mut whole = pieces.next().unwrap()["partial"].take();
    for mut piece in pieces {
        if piece == json!({ "whole": true }) {
            return whole;
        }
        let into = piece["into"].as_array().unwrap().iter().fold(&mut whole, |at, step| match step {
            Value::String(key) => &mut at[key],
            index => &mut at[index.as_u64().unwrap() as usize],
        });
        match into {
            Value::Array(list) => list.append(piece["elements"].as_array_mut().unwrap()),
            Value::Object(members) => members.append(piece["members"].as_object_mut().unwrap()),
            other => panic!("{other} has no elements"),
        }
    }
    panic!("the last piece is missing")
}

/// The text as it is with its keys in order, which comparing values ignores.
fn assert_whole(text: &str, most: usize) -> Vec<Vec<u8>> {
    let pieces = split(text.as_bytes(), most).unwrap();
    assert_eq!(serde_json::to_string(&whole(&pieces)).unwrap(), text);
    pieces
}

#[test]
fn a_small_text_is_not_split() {
    assert_eq!(split_if_large(br#"{"done":[1,2,3]}"#), None);
    let list = |count| format!(r#"{{"done":[{}1]}}"#, "1,".repeat(count)).into_bytes();
    assert!(split_if_large(&list(SMALL_BYTES / 2)).is_some() && split_if_large(&list(SMALL_BYTES / 2 - 10)).is_none());
}

#[test]
fn a_text_that_is_not_json_is_not_split() {
    assert_eq!(split(br#"{"done":[1,2,3"#, 4), None);
}

#[test]
fn elements_of_large_containers_are_in_parts_of_limited_size() {
    let nodes: Map<String, Value> = (0..1000).map(|n| (format!("n{n:04}"), json!({ "attempt": n }))).collect();
    let edges: Vec<Value> = (0..1000).map(|n| json!([n, n + 1])).collect();
    let state =
        json!({ "coordinator": { "dag": { "edges": edges, "nodes": [] }, "nodeStates": nodes }, "workers": {} });
    let text = json!({ "done": { "ok": true, "state": state, "warnings": [] } }).to_string();
    let pieces = assert_whole(&text, 1000);
    assert!(pieces.len() > 20 && pieces.iter().all(|piece| piece.len() < 1200));
    assert_eq!(
        String::from_utf8_lossy(&pieces[0]),
        r#"{"partial":{"done":{"ok":true,"state":{"coordinator":{"dag":{"edges":[],"nodes":[]},"nodeStates":{}},"workers":{}},"warnings":[]}}}"#
    );
}

#[test]
fn a_container_of_large_ones_keeps_its_order() {
    let large = |of: &str| json!(vec![of; 100]);
    for text in [
        json!([large("a"), 1, 2, large("b"), large("c"), 3]).to_string(),
        json!({ "a": 1, "b": large("b"), "c": "c".repeat(500), "d": large("d"), "e": 5 }).to_string(),
        json!([["x".repeat(500), "y".repeat(500)], large("z")]).to_string(),
    ] {
        assert_whole(&text, 100);
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        "[a-z\\\\\"é—{},:\\[\\]]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(10, 200, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec(("[a-z\\\\\"é—]{0,4}", inner), 0..12)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn pieces_reassemble_to_the_text(value in any_value(), most in 1..200_usize) {
        let text = value.to_string();
        if let Some(pieces) = split(text.as_bytes(), most) {
            prop_assert_eq!(whole(&pieces).to_string(), text);
        }
    }
}
