use std::collections::BTreeSet;

use super::*;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A payload of each kind, with its optional fields.
fn examples() -> Vec<(Kind, Value)> {
    let snapshot = json!({"snapshot": "snap_3", "stateHash": "h", "at": 3});
    vec![
        (
            Kind::RunCreated,
            json!({"runId": "r", "workflow": {"name": "w", "version": "1"}, "dagHash": "h",
                   "scheduler": "round-robin", "capabilities": ["net"]}),
        ),
        (
            Kind::RunStarted,
            json!({"workers": [{"id": "w1", "capabilities": ["net"]}, {"id": "w2", "capabilities": []}]}),
        ),
        (Kind::RunCompleted, json!({"outputs": {"a": "h"}})),
        (Kind::RunFailed, json!({"code": "E", "message": "m", "node": "a"})),
        (Kind::NodeScheduled, json!({"task": "a#1", "priority": 1.5, "dependsOn": [1, 7, 2]})),
        (Kind::NodeStarted, json!({"task": "a#1", "worker": "w", "inputHash": "h"})),
        (Kind::NodeCompleted, json!({"task": "a#1", "outputHash": "h"})),
        (Kind::NodeFailed, json!({"task": "a#1", "code": "E", "message": "m", "willRetry": true})),
        (Kind::NodeSkipped, json!({"reason": "r", "because": 4})),
        (Kind::ToolInvoked, json!({"tool": "t", "call": "c", "requestHash": "h", "version": "2"})),
        (
            Kind::ToolCompleted,
            json!({"tool": "t", "call": "c", "rawHash": "h", "outputHash": "h", "normalizer": "json"}),
        ),
        (Kind::ToolFailed, json!({"tool": "t", "call": "c", "code": "E", "message": "m"})),
        (Kind::ToolTimedOut, json!({"tool": "t", "call": "c", "limitMs": 30.5})),
        (Kind::CapabilityCheck, json!({"capability": "net", "subject": "w", "allowed": true})),
        (Kind::PolicyDecision, json!({"decision": "d", "rule": "r", "allowed": false})),
        (Kind::TaskAssigned, json!({"task": "a#1", "worker": "w", "reason": "r", "from": "v"})),
        (Kind::TaskAccepted, json!({"task": "a#1", "worker": "w"})),
        (Kind::TaskRejected, json!({"task": "a#1", "worker": "w", "reason": "r"})),
        (Kind::SnapshotCreated, snapshot.clone()),
        (Kind::SnapshotRestored, snapshot),
        (Kind::BlobStored, json!({"blob": "h", "size": 12, "mediaType": "text/plain"})),
        (Kind::Heartbeat, json!({"worker": "w", "status": "idle", "capabilities": ["net", "gpu", "net"]})),
        (Kind::Error, json!({"code": "E", "message": "m", "recoverable": true})),
    ]
}

fn parse(kind: Kind, json: &str) -> Result<Payload<'_>, RunError> {
    Payload::parse(kind, json, &mut Nesting::default())
}

fn code(kind: Kind, payload: &Value) -> Option<ErrorCode> {
    parse(kind, &payload.to_string()).err().map(|error| error.code)
}

fn changed(payload: &Value, change: impl FnOnce(&mut Map<String, Value>)) -> Value {
    let mut changed = payload.clone();
    change(changed.as_object_mut().unwrap());
    changed
}

#[test]
fn every_kind_has_its_payload() {
    let examples = examples();
    assert_eq!(examples.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), Kind::ALL);
    for (kind, payload) in examples {
        assert_eq!(parse(kind, &payload.to_string()).unwrap().kind(), kind);
        let in_table: BTreeSet<_> = kind.fields().iter().map(|field| field.name).collect();
        assert_eq!(
            payload.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>(),
            in_table,
            "{kind}"
        );
    }
}

#[test]
fn fields_are_required_or_optional_as_the_table_says() {
    for (kind, payload) in examples() {
        for PayloadField { name, is_optional, .. } in kind.fields() {
            let without = code(kind, &changed(&payload, |fields| drop(fields.remove(*name))));
            let null = code(kind, &changed(&payload, |fields| drop(fields.insert((*name).to_owned(), Value::Null))));
            match is_optional {
                true => assert_eq!((without, null), (None, None), "{kind} {name}"),
                false => {
                    assert_eq!(without, Some(ErrorCode::MissingField), "{kind} {name}");
                    assert_eq!(null, Some(ErrorCode::InvalidField), "{kind} {name}");
                }
            }
        }
    }
}

/// Whether a type of the table accepts a value. The fields of inner objects are tested separately.
fn takes(of: FieldType, value: &Value) -> bool {
    let is_id = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let all = |check: &dyn Fn(&Value) -> bool| value.as_array().is_some_and(|elements| elements.iter().all(check));
    match of {
        FieldType::Id | FieldType::Call => is_id(value),
        FieldType::Text => value.is_string(),
        FieldType::Flag => value.is_boolean(),
        FieldType::Time => value.is_u64(),
        FieldType::Times => all(&Value::is_u64),
        FieldType::Amount => value.as_f64().is_some_and(|number| number >= 0.0),
        FieldType::Number => value.is_number(),
        FieldType::Ids => all(&is_id),
        FieldType::IdsByNode => value.as_object().is_some_and(|members| members.values().all(is_id)),
        FieldType::Scheduler => value == "external",
        FieldType::Object(_) => false,
        FieldType::Objects(_) => value == &json!([]),
    }
}

#[test]
fn fields_have_the_types_of_the_table() {
    let values = [
        json!(true),
        json!(-1),
        json!(0),
        json!(3),
        json!(1.5),
        json!("text"),
        json!("external"),
        json!(""),
        json!([]),
        json!([1]),
        json!([1.5]),
        json!(["a"]),
        json!([""]),
        json!({}),
        json!({"x": 1}),
        json!({"x": "h"}),
        json!({"x": ""}),
    ];
    for (kind, payload) in examples() {
        for PayloadField { name, of, .. } in kind.fields() {
            for value in &values {
                let found =
                    code(kind, &changed(&payload, |fields| drop(fields.insert((*name).to_owned(), value.clone()))));
                let expected = match (of, value.is_object()) {
                    _ if takes(*of, value) => None,
                    (FieldType::Object(_), true) => Some(ErrorCode::MissingField),
                    _ => Some(ErrorCode::InvalidField),
                };
                assert_eq!(found, expected, "{kind} {name} {value}");
            }
        }
    }
}

#[test]
fn nested_fields_match_the_documented_table() {
    let names = |of: FieldType| match of {
        FieldType::Object(inner) | FieldType::Objects(inner) => inner.iter().map(|field| field.name).collect(),
        _ => Vec::new(),
    };
    for (kind, payload) in examples() {
        for field in kind.fields() {
            for inner in names(field.of) {
                let (without, null) =
                    (remove_inner(&payload, field.name, inner), null_inner(&payload, field.name, inner));
                assert_eq!(code(kind, &without), Some(ErrorCode::MissingField), "{kind} {} {inner}", field.name);
                assert_eq!(code(kind, &null), Some(ErrorCode::InvalidField), "{kind} {} {inner}", field.name);
            }
        }
    }
}

/// The object in a field, or the first one of an array of objects.
fn inner_object<'v>(payload: &'v mut Value, field: &str) -> &'v mut Map<String, Value> {
    let value = &mut payload[field];
    match value.is_array() {
        true => value[0].as_object_mut().unwrap(),
        false => value.as_object_mut().unwrap(),
    }
}

fn remove_inner(payload: &Value, field: &str, inner: &str) -> Value {
    let mut payload = payload.clone();
    inner_object(&mut payload, field).remove(inner).unwrap();
    payload
}

fn null_inner(payload: &Value, field: &str, inner: &str) -> Value {
    let mut payload = payload.clone();
    *inner_object(&mut payload, field).get_mut(inner).unwrap() = Value::Null;
    payload
}

#[test]
fn nested_fields_are_validated() {
    let workers = |list: Value| code(Kind::RunStarted, &json!({ "workers": list }));
    assert_eq!(workers(json!([])), None);
    assert_eq!(workers(json!([{"id": "w"}])), Some(ErrorCode::MissingField));
    assert_eq!(workers(json!([{"id": "", "capabilities": []}])), Some(ErrorCode::InvalidField));
    assert_eq!(workers(json!([{"id": "w", "capabilities": [""]}])), Some(ErrorCode::InvalidField));
    assert_eq!(workers(json!([1])), Some(ErrorCode::InvalidField));
    let outputs = |outputs: Value| code(Kind::RunCompleted, &json!({ "outputs": outputs }));
    assert_eq!(outputs(json!({})), None);
    assert_eq!(outputs(json!({"a": 1})), Some(ErrorCode::InvalidField));
    assert_eq!(outputs(json!({"a": ""})), Some(ErrorCode::InvalidField));
    let times = |times: Value| code(Kind::NodeScheduled, &json!({ "task": "a#1", "dependsOn": times }));
    assert_eq!(times(json!([])), None);
    assert_eq!(times(json!([0, 1.0])), None);
    assert_eq!(times(json!([1.5])), Some(ErrorCode::InvalidField));
    assert_eq!(times(json!(["1"])), Some(ErrorCode::InvalidField));
    let (_, created) = examples().swap_remove(0);
    let scheduler = |name: &str| changed(&created, |fields| drop(fields.insert("scheduler".into(), json!(name))));
    assert_eq!(code(Kind::RunCreated, &scheduler("external")), None);
    assert_eq!(code(Kind::RunCreated, &scheduler("random")), Some(ErrorCode::InvalidField));
}

#[test]
fn payload_values_are_read_unchanged() {
    let scheduled = parse(Kind::NodeScheduled, r#"{"task":"a#1","priority":1.5,"dependsOn":[1,7,2]}"#).unwrap();
    let expected = Payload::NodeScheduled { task: Text::from_plain("a#1"), priority: Some(1.5), earliest: 8 };
    assert_eq!(scheduled, expected);
    let twice = r#"{"status":1,"worker":"w","extra":[[{"worker":"no"}]],"status":"idle","capabilities":["b","a","b"]}"#;
    let expected = Payload::Heartbeat {
        worker: Text::from_plain("w"),
        status: Text::from_plain("idle"),
        capabilities: Some(vec![Text::from_plain("a"), Text::from_plain("b")]),
    };
    assert_eq!(parse(Kind::Heartbeat, twice).unwrap(), expected);
}

#[test]
fn errors_say_which_field_what_was_expected_and_what_was_found() {
    let error = parse(Kind::TaskAccepted, r#"{"task":17,"worker":"w"}"#).unwrap_err();
    assert_eq!(error.message, "The payload of TaskAccepted is not valid: 'task' must be a non-empty string.");
    assert_eq!(error.expected.as_deref(), Some("task: a non-empty string"));
    assert_eq!(error.found.as_deref(), Some("17"));
    let error = parse(Kind::RunStarted, r#"{"workers":[{"id":"w"}]}"#).unwrap_err();
    assert_eq!(error.message, "The payload of RunStarted is not valid: 'workers[0].capabilities' is missing.");
    let error = parse(Kind::Error, "[]").unwrap_err();
    assert_eq!(error.code, ErrorCode::NotAJsonLine);
}

#[test]
fn nesting_does_not_use_stack() {
    let deep = format!(r#"{{"task":"a#1","worker":"w","extra":{}{}}}"#, "[".repeat(1 << 20), "]".repeat(1 << 20));
    assert!(parse(Kind::TaskAccepted, &deep).is_ok());
    let deep = format!(r#"{{"workers":{}{}}}"#, "[".repeat(1 << 20), "]".repeat(1 << 20));
    assert_eq!(parse(Kind::RunStarted, &deep).unwrap_err().code, ErrorCode::InvalidField);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics_and_only_json_is_accepted(
        which in 0usize..23,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), "[\\[\\]{}\",:\\\\a0é]"), 0..3),
    ) {
        let (kind, payload) = examples().swap_remove(which);
        let mut text: Vec<char> = payload.to_string().chars().collect();
        for (at, other) in damage {
            let at = at.index(text.len());
            text.splice(at..=at, other.chars());
        }
        let text: String = text.into_iter().collect();
        if parse(kind, &text).is_ok() {
            prop_assert!(serde_json::from_str::<Value>(&text).unwrap().is_object());
        }
    }
}

#[test]
fn names_are_parsed_and_printed() {
    for kind in Kind::ALL {
        assert_eq!(Kind::parse(kind.as_str()), Some(kind));
    }
    assert_eq!(Kind::ALL.iter().collect::<std::collections::HashSet<_>>().len(), 23);
}

#[test]
fn a_name_is_matched_whole_and_by_case() {
    for other in ["", "runCreated", "RunCreated ", "RunCreate", "Runcreated", "NodeFinished", "RunCre\\u0061ted"] {
        assert_eq!(Kind::parse(other), None, "{other:?}");
    }
}
