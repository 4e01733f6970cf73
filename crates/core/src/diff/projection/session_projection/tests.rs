use super::*;
use crate::diff::projection::equal::{Pair, same_place};
use crate::diff::stream::{Row, record_row};
use crate::json::Nesting;
use crate::json::ROOT;

fn trees(lines: &[&str]) -> Vec<Tree<'static>> {
    let mut calls = Calls::default();
    let project = |(place, line): (u64, &&str)| {
        let row = record_row(line.as_bytes(), &mut Nesting::default()).unwrap();
        let row = Row { number: place, ..row };
        super::project_record(&Event::record(&row, line.as_bytes()), &mut calls, &[]).unwrap()
    };
    (0..).zip(lines).map(project).collect()
}

fn equal(left: &[&str], right: &[&str]) -> Vec<bool> {
    let pair = |(left, right): (&Tree<'static>, &Tree<'static>)| {
        Pair { left, right, same_reference: &same_place }.are_equal(ROOT, ROOT)
    };
    trees(left).iter().zip(&trees(right)).map(pair).collect()
}

#[test]
fn values_specific_to_one_execution_are_ignored() {
    let line = |n: u32| {
        format!(
            r#"{{"v":1,"seq":{n},"ts":"{n}","type":"content","payload":{{"content":{{"speaker":"ai","blocks":[{{"type":"text","text":"t"}}],"metadata":{{"model":"m","usage":{{"in":{n}}},"deep":[{{"createdAt":{n},"request_id":"{n}","requestID":{n},"totalTokens":{n},"responseTimeMs":{n}}}]}}}}}}}}"#
        )
    };
    assert_eq!(equal(&[&line(1)], &[&line(2)]), [true]);
    let start = |id: &str| {
        format!(
            r#"{{"type":"session_start","payload":{{"sessionId":"{id}","startTime":"{id}","projectHash":"h","model":"m"}}}}"#
        )
    };
    assert_eq!(equal(&[&start("a")], &[&start("b")]), [true]);
    assert_eq!(equal(&[&start("a")], &[&start("a").replace("\"m\"", "\"n\"")]), [false]);
}

#[test]
fn comparison_ignores_checkpoint_and_source_ids_but_not_names() {
    for event_type in ["checkpoint_created", "checkpoint_renamed", "checkpoint_deleted"] {
        let line = |id: &str, name: &str| {
            format!(r#"{{"type":"{event_type}","payload":{{"checkpointId":"{id}","name":"{name}"}}}}"#)
        };
        assert_eq!(equal(&[&line("a", "n")], &[&line("b", "n")]), [true], "{event_type}");
        assert_eq!(equal(&[&line("a", "n")], &[&line("a", "m")]), [false], "{event_type}");
    }
    let fork = r#"{"type":"session_forked","payload":{"parentSessionId":"p","parentSequence":1,"checkpointId":"c","checkpointName":"n"}}"#;
    let differs = |from: &str, to: &str| equal(&[fork], &[&fork.replace(from, to)]) == [false];
    assert!(!differs("\"p\"", "\"q\"") && !differs("\"c\"", "\"d\""));
    assert!(differs(":1", ":2") && differs("\"n\"", "\"m\""));
    for (line, other) in [
        (r#"{"type":"session_metadata","payload":{"title":"t"}}"#, "null"),
        (r#"{"type":"session_named","payload":{"name":"t"}}"#, "\"u\""),
        (r#"{"type":"session_start","payload":{"sessionId":"s","cwd":"t"}}"#, "\"u\""),
        (r#"{"type":"content","payload":{"checkpointId":"t"}}"#, "\"u\""),
    ] {
        assert_eq!(equal(&[line], &[&line.replace("\"t\"", other)]), [false], "{line}");
    }
}

#[test]
fn keys_are_classified_by_their_words() {
    let mut words = Words::default();
    for key in [
        "usage",
        "usageMetadata",
        "totalTokens",
        "token_count",
        "cost-usd",
        "durationMs",
        "timestamp",
        "ts",
        "startTime",
        "created_at",
        "id",
        "requestId",
        "response_id",
        "HTTPRequestID",
        "uuid",
        "traceIds",
        "time_ms",
    ] {
        assert!(tells_of_one_execution(key, &mut words), "{key}");
    }
    for key in [
        "model",
        "modelId",
        "provider_id",
        "maxTokens",
        "max_output_tokens",
        "tokenBudget",
        "timeout",
        "at",
        "flat",
        "idle",
        "format",
        "finishReason",
        "temperature",
        "update",
        "candidate",
        "",
    ] {
        assert!(!tells_of_one_execution(key, &mut words), "{key}");
    }
}

#[test]
fn tool_calls_are_compared_by_position() {
    let call = |ids: &[&str]| {
        let blocks: Vec<_> = ids
            .iter()
            .map(|id| format!(r#"{{"type":"tool_call","id":"{id}","name":"t","parameters":{{}}}}"#))
            .collect();
        format!(r#"{{"type":"content","payload":{{"content":{{"speaker":"ai","blocks":[{}]}}}}}}"#, blocks.join(","))
    };
    let answer = |id: &str| {
        format!(
            r#"{{"type":"content","payload":{{"content":{{"speaker":"tool","blocks":[{{"type":"tool_response","callId":"{id}","toolName":"t","result":1}}]}}}}}}"#
        )
    };
    let left = [call(&["a", "b"]), answer("a"), answer("b")];
    let of = |lines: &[String; 3]| equal(&left.each_ref().map(String::as_str), &lines.each_ref().map(String::as_str));
    assert_eq!(of(&[call(&["x", "y"]), answer("x"), answer("y")]), [true, true, true]);
    assert_eq!(of(&[call(&["x", "y"]), answer("y"), answer("x")]), [true, false, false]);
    assert_eq!(of(&[call(&["b", "a"]), answer("b"), answer("a")]), [true, true, true]);
    assert_eq!(of(&[call(&["x", "y"]), answer("x"), answer("x")]), [true, true, false]);
    assert_eq!(equal(&[&answer("a")], &[&answer("b")]), [true], "neither answers anything");
    // Among several calls with the same id, the nearest one is answered.
    let calls = [call(&["a"]), call(&["a"]), answer("a"), answer("a")];
    let others = [call(&["x"]), call(&["y"]), answer("y"), answer("x")];
    assert_eq!(equal(&calls.each_ref().map(String::as_str), &others.each_ref().map(String::as_str)), [true; 4]);
}

#[test]
fn items_of_edits_are_compared_as_other_items() {
    let item = |id: &str, text: &str, at: u32| {
        format!(
            r#"{{"speaker":"ai","blocks":[{{"type":"tool_call","id":"{id}","name":"ls"}},{{"type":"tool_response","callId":"{id}"}},{{"type":"text","text":"{text}"}}],"metadata":{{"chronology":{{"seq":4,"recordedAt":{at}}}}}}}"#
        )
    };
    let events = |id: &str, text: &str, key: u32, at: u32| {
        let item = item(id, text, at);
        [
            (
                "density_mutation",
                format!(r#"{{"removedSeqs":[{key}],"replacements":[{{"replacedSeq":4,"replacement":{item}}}]}}"#),
            ),
            ("synthetic_insert", format!(r#"{{"content":{item},"chronologySeq":9,"afterSeq":{key}}}"#)),
            (
                "chronology_bind",
                format!(r#"{{"rowIndex":1,"chronology":{{"seq":{key},"recordedAt":{at}}},"content":{item}}}"#),
            ),
            (
                "semantic_media_purge",
                format!(r#"{{"history":[{item}],"frontier":{{"contentIndex":0,"blockIndex":{key}}}}}"#),
            ),
        ]
        .map(|(kind, payload)| format!(r#"{{"type":"{kind}","payload":{payload}}}"#))
    };
    let one = events("a", "t", 2, 1);
    for (other, is_same) in
        [(events("b", "t", 2, 5), true), (events("a", "u", 2, 1), false), (events("a", "t", 3, 1), false)]
    {
        for (left, right) in one.iter().zip(&other) {
            assert_eq!(equal(&[left], &[right]), [is_same], "{left} {right}");
        }
    }
}

#[test]
fn an_item_in_the_place_of_another_calls_nothing_again() {
    let call = r#"{"speaker":"ai","blocks":[{"type":"tool_call","id":"a","name":"ls"}]}"#;
    let edit = format!(r#"{{"type":"semantic_media_purge","payload":{{"history":[{call}]}}}}"#);
    let inserted = format!(r#"{{"type":"synthetic_insert","payload":{{"content":{call}}}}}"#);
    let mut calls = Calls::default();
    for (line, is_open) in [(edit, false), (inserted, true)] {
        let row = record_row(line.as_bytes(), &mut Nesting::default()).unwrap();
        super::project_record(&Event::record(&row, line.as_bytes()), &mut calls, &[]).unwrap();
        assert_eq!(calls.are_open(), is_open, "{line}");
    }
}
