use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::task::Cancellation;

/// A directory with a session of these events.
struct Session {
    root: tempfile::TempDir,
}

impl Session {
    fn of(events: &[Value]) -> Self {
        let start = json!({"type": "session_start", "payload": {
            "sessionId": "s", "projectHash": "h", "workspaceDirs": ["/w"], "provider": "p", "model": "m-1",
            "startTime": "2026-01-01T00:00:00.000Z"}});
        let lines: Vec<String> = [start]
            .iter()
            .chain(events)
            .enumerate()
            .map(|(at, event)| {
                let mut line = json!({"v": 1, "seq": at + 1, "ts": "2026-01-01T00:00:00.000Z"});
                line.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
                format!("{line}\n")
            })
            .collect();
        Session::of_text(&lines.concat())
    }

    fn of_text(text: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("session.jsonl"), text).unwrap();
        Session { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn export(&self) -> Result<Exported, ExportError> {
        let cancellation = Cancellation::default();
        let task = Task { cancellation: &cancellation, progress: &mut |_| () };
        export(
            &self.path("session.jsonl"),
            None,
            &self.path("out.json"),
            MediaStore::of_session(None, &self.path("session.jsonl")),
            &task,
        )
    }

    fn document(&self) -> Value {
        self.export().unwrap();
        serde_json::from_slice(&fs::read(self.path("out.json")).unwrap()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.root.path()).unwrap();
        let mut names: Vec<String> = names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn item(speaker: &str, blocks: Value) -> Value {
    json!({"type": "content", "payload": {"content": {"speaker": speaker, "blocks": blocks}}})
}

fn item_with(speaker: &str, blocks: Value, metadata: Value) -> Value {
    json!({"type": "content", "payload": {"content": {"speaker": speaker, "blocks": blocks, "metadata": metadata}}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_call", "id": id, "name": "ls", "parameters": {"path": "."}})
}

fn response(id: &str, result: Value) -> Value {
    json!({"type": "tool_response", "callId": id, "toolName": "ls", "result": result})
}

fn results(step: &Value) -> &Value {
    &step["observation"]["results"]
}

#[test]
fn a_conversation_becomes_steps_with_metrics_and_their_sums() {
    let usage = json!({"input": 100, "cached": 40, "output": 7, "reasoning": 3, "cost": 0.25});
    let session = Session::of(&[
        item("human", json!([text("Hello")])),
        item_with(
            "ai",
            json!([{"type": "thinking", "thought": "Hm."}, text("Hi"), call("c1")]),
            json!({"model": "m-2", "usage": usage}),
        ),
        item("tool", json!([response("c1", json!("a\nb"))])),
        item_with("ai", json!([text("Two.")]), json!({"usage": {"input": 200, "output": 1}})),
    ]);
    let document = session.document();
    assert_eq!(document["schema_version"], "ATIF-v1.8");
    assert_eq!(document["session_id"], "s");
    assert_eq!(document["agent"], json!({"name": "session-tape", "version": "unknown", "model_name": "m-1"}));
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3);
    assert_eq!((&steps[0]["source"], &steps[0]["message"]), (&json!("user"), &json!("Hello")));
    assert_eq!(steps[1]["reasoning_content"], "Hm.");
    assert_eq!(
        steps[1]["tool_calls"],
        json!([{"tool_call_id": "c1", "function_name": "ls", "arguments": {"path": "."}}])
    );
    assert_eq!(results(&steps[1])[0]["content"], "a\nb");
    assert_eq!(results(&steps[1])[0]["source_call_id"], "c1");
    assert_eq!(
        steps[1]["metrics"],
        json!({"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 40, "cost_usd": 0.25})
    );
    assert_eq!(steps[1]["extra"]["session_tape"]["metadata"]["usage"], usage);
    let totals = json!({"total_prompt_tokens": 300, "total_completion_tokens": 8, "total_cached_tokens": 40, "total_cost_usd": 0.25, "total_steps": 3});
    assert_eq!(document["final_metrics"], totals);
    assert_eq!(document.get("notes"), None);
}

#[test]
fn a_result_goes_to_the_first_step_with_its_call_that_has_none() {
    let session = Session::of(&[
        item("ai", json!([call("c"), call("d")])),
        item("ai", json!([call("c")])),
        item("human", json!([text("wait")])),
        item(
            "tool",
            json!([response("c", json!("first")), response("c", json!("second")), response("d", json!("late"))]),
        ),
    ]);
    let steps = session.document()["steps"].clone();
    let contents = |step: usize| {
        results(&steps[step]).as_array().unwrap().iter().map(|result| result["content"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((contents(0), contents(1)), (vec![json!("first"), json!("late")], vec![json!("second")]));
    assert_eq!(steps.as_array().unwrap().len(), 3);
}

#[test]
fn a_result_without_a_call_is_a_step_without_a_model_call() {
    let session = Session::of(&[item("tool", json!([response("gone", json!({"a": 1}))]))]);
    let step = &session.document()["steps"][0];
    assert_eq!((&step["source"], &step["message"], &step["llm_call_count"]), (&json!("agent"), &json!(""), &json!(0)));
    let result = &results(step)[0];
    assert_eq!(result.get("source_call_id"), None);
    assert_eq!(result["content"], r#"{"a":1}"#);
    assert_eq!(result["extra"]["session_tape"]["callId"], "gone");
    assert_eq!(result["extra"]["session_tape"]["json"], true);
}

#[test]
fn a_failure_is_marked_in_the_extra_of_its_result() {
    let mut failed = response("c", json!("no such file"));
    failed["error"] = json!("exit code 2");
    let session = Session::of(&[item("ai", json!([call("c")])), item("tool", json!([failed]))]);
    let extra = results(&session.document()["steps"][0])[0]["extra"].clone();
    assert_eq!((&extra["is_error"], &extra["error"]), (&json!(true), &json!("exit code 2")));
}

#[test]
fn media_become_files_beside_the_document() {
    let media = |mime: &str, data: &str| json!({"type": "media", "mimeType": mime, "data": data, "encoding": "base64"});
    let session = Session::of(&[
        item("human", json!([text("Look"), media("image/png", "AAAA"), media("application/pdf", "AAEC")])),
        item("ai", json!([call("c")])),
        item("tool", json!([response("c", json!("shot")), media("image/jpeg", "/+8=")])),
        item(
            "human",
            json!([{"type": "media", "mimeType": "image/gif", "data": "https://example.org/a.gif", "encoding": "url"}]),
        ),
    ]);
    assert_eq!(session.export().unwrap(), Exported { steps: 3, media: 3, damage: None });
    let document: Value = serde_json::from_slice(&fs::read(session.path("out.json")).unwrap()).unwrap();
    let image = |mime: &str, path: &str| json!({"type": "image", "source": {"media_type": mime, "path": path}});
    assert_eq!(document["steps"][0]["message"], json!([text("Look"), image("image/png", "out.json.media/1.png")]));
    let layout = &document["steps"][0]["extra"]["session_tape"]["layout"];
    assert_eq!(layout[2]["block"]["data"], "out.json.media/2.pdf");
    assert_eq!(
        results(&document["steps"][1])[0]["content"],
        json!([text("shot"), image("image/jpeg", "out.json.media/3.jpg")])
    );
    assert_eq!(document["steps"][2]["message"], json!([image("image/gif", "https://example.org/a.gif")]));
    assert_eq!(fs::read(session.path("out.json.media/1.png")).unwrap(), [0, 0, 0]);
    assert_eq!(fs::read(session.path("out.json.media/3.jpg")).unwrap(), [0xff, 0xef]);
}

#[test]
fn items_that_left_the_history_are_counted_in_the_notes() {
    let session = Session::of(&[
        item("human", json!([text("one")])),
        item("human", json!([text("two")])),
        json!({"type": "rewind", "payload": {"itemsRemoved": 1}}),
        item("human", json!([text("three")])),
    ]);
    let document = session.document();
    assert_eq!(document["steps"].as_array().unwrap().len(), 2);
    assert!(document["notes"].as_str().unwrap().contains("1 item"));
}

#[test]
fn arguments_that_are_no_object_are_wrapped_and_marked() {
    let call = json!({"type": "tool_call", "id": "c", "name": "sh", "parameters": "ls -l", "server": true});
    let step = Session::of(&[item("ai", json!([call]))]).document()["steps"][0].clone();
    assert_eq!(step["tool_calls"][0]["arguments"], json!({"input": "ls -l"}));
    assert_eq!(step["tool_calls"][0]["extra"], json!({"server": true, "session_tape": {"wrapped": true}}));
}

#[test]
fn blocks_that_a_step_can_not_order_have_a_layout() {
    let thinking = |thought: &str| json!({"type": "thinking", "thought": thought, "signature": "sig"});
    let odd = json!({"type": "hologram", "data": 1});
    let session =
        Session::of(&[item("ai", json!([thinking("a"), text("x"), call("c"), thinking("b"), text("yy"), odd]))]);
    let step = session.document()["steps"][0].clone();
    assert_eq!((&step["message"], &step["reasoning_content"]), (&json!("x\n\nyy"), &json!("a\n\nb")));
    let layout = &step["extra"]["session_tape"]["layout"];
    let kinds: Vec<&str> = layout.as_array().unwrap().iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_call", "thinking", "text", "block"]);
    assert_eq!(layout[0], json!({"type": "thinking", "length": 1, "rest": {"signature": "sig"}}));
    assert_eq!(layout[5]["block"], odd);
}

#[test]
fn copied_context_is_marked_and_counts_no_tokens() {
    let usage = json!({"kind": "copied", "usage": {"input": 5, "output": 5}});
    let document = Session::of(&[item_with("ai", json!([text("old")]), usage)]).document();
    assert_eq!(document["steps"][0]["is_copied_context"], true);
    assert_eq!(document["steps"][0].get("metrics"), None);
    assert_eq!(document["final_metrics"], json!({"total_steps": 1}));
}

#[test]
fn an_empty_history_and_another_file_are_refused_and_leave_nothing() {
    let empty = Session::of(&[]);
    assert_eq!(empty.export().unwrap_err().code(), "EFOREIGNEMPTY");
    assert_eq!(empty.names(), ["session.jsonl"]);
    let other = Session::of_text("{\"type\":\"content\"}\n");
    assert_eq!(other.export().unwrap_err().code(), "EFOREIGNFORMAT");
    assert_eq!(other.names(), ["session.jsonl"]);
}

#[test]
fn nothing_is_replaced_neither_the_document_nor_its_media() {
    let media = json!({"type": "media", "mimeType": "image/png", "data": "AAAA", "encoding": "base64"});
    let session = Session::of(&[item("human", json!([media]))]);
    fs::create_dir(session.path("out.json.media")).unwrap();
    assert_eq!(session.export().unwrap_err().code(), "EEXIST");
    fs::remove_dir(session.path("out.json.media")).unwrap();
    fs::write(session.path("out.json"), "mine").unwrap();
    assert_eq!(session.export().unwrap_err().code(), "EEXIST");
    assert_eq!(fs::read(session.path("out.json")).unwrap(), b"mine");
    assert_eq!(session.names(), ["out.json", "session.jsonl"]);
}

#[test]
fn cancelled_work_leaves_nothing() {
    let session = Session::of(&[item("human", json!([text("one")]))]);
    let cancellation = Cancellation::default();
    cancellation.cancel();
    let task = Task { cancellation: &cancellation, progress: &mut |_| () };
    let exported =
        export(&session.path("session.jsonl"), None, &session.path("out.json"), MediaStore::default(), &task);
    assert_eq!(exported.unwrap_err().code(), "Cancelled");
    assert_eq!(session.names(), ["session.jsonl"]);
}

#[test]
fn lone_surrogates_and_bytes_that_are_no_utf8_become_replacement_characters() {
    let start = r#"{"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#;
    let mut bytes = format!("{start}\n").into_bytes();
    bytes.extend_from_slice(
        br#"{"type":"content","payload":{"content":{"speaker":"human","blocks":[{"type":"text","text":"a\ud83db"#,
    );
    bytes.extend_from_slice(b"\xff\"}]}}}\n");
    let session = Session::of_text("");
    fs::write(session.path("session.jsonl"), bytes).unwrap();
    assert_eq!(session.document()["steps"][0]["message"], "a\u{fffd}b\u{fffd}");
}

mod round_trip {
    use super::*;
    use proptest::prelude::*;

    use crate::foreign::{ConvertOptions, Converted, convert};

    fn fixtures() -> Vec<PathBuf> {
        let agents = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents");
        let expected: Value = serde_json::from_slice(&fs::read(agents.join("expected.json")).unwrap()).unwrap();
        expected.as_object().unwrap().keys().map(|name| agents.join(name)).collect()
    }

    /// The events that a foreign session becomes.
    fn events_of(path: &std::path::Path) -> Vec<Value> {
        let source = LineSource::in_memory(fs::read(path).unwrap());
        let Converted::Foreign(conversion) = convert(source, &ConvertOptions::default(), &mut |_, _| ()).unwrap()
        else {
            panic!("{} is not recognised", path.display())
        };
        let mut bytes = Vec::new();
        conversion.native.append_bytes_at(0, conversion.native.size() as usize, &mut bytes).unwrap();
        bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![Just(String::new()), Just("\n\n".into()), Just("a\n\nb".into()), "[a-z😀\n\"\\\\]{0,8}"]
    }

    fn any_block() -> impl Strategy<Value = Value> {
        let result = prop_oneof![
            any_text().prop_map(Value::from),
            Just(json!({"a": [1]})),
            Just(json!([])),
            Just(json!(7)),
            Just(json!(false))
        ];
        let call = (
            prop::sample::select(vec!["a", "b", "c"]),
            any_text(),
            prop_oneof![Just(json!({})), Just(json!({"input": 1})), Just(json!([1])), Just(json!("x y"))],
            any::<bool>(),
        );
        prop_oneof![
            3 => any_text().prop_map(|text| json!({"type": "text", "text": text})),
            1 => any_text().prop_map(|text| json!({"type": "text", "text": text, "synthetic": true})),
            2 => (any_text(), any::<bool>()).prop_map(|(thought, is_signed)| match is_signed {
                true => json!({"type": "thinking", "thought": thought, "signature": "sig", "encrypted": "enc"}),
                false => json!({"type": "thinking", "thought": thought}),
            }),
            3 => call.prop_map(|(id, name, parameters, server)| match server {
                true => json!({"type": "tool_call", "id": id, "name": name, "parameters": parameters, "server": true}),
                false => json!({"type": "tool_call", "id": id, "name": name, "parameters": parameters}),
            }),
            3 => (prop::sample::select(vec!["a", "b", "c", "d"]), any_text(), result, any_text(), 0..3).prop_map(|(id, name, result, error, kind)| {
                let mut block = json!({"type": "tool_response", "callId": id, "toolName": name, "result": result});
                if kind == 1 { block["error"] = json!(error); }
                if kind == 2 { block["more"] = json!([error]); }
                block
            }),
            1 => prop::sample::select(vec!["image/png", "audio/mp3", "x/y"]).prop_map(|mime| json!({"type": "media", "mimeType": mime, "data": "https://x/y", "encoding": "url"})),
            1 => Just(json!({"type": "hologram", "text": 7})),
        ]
    }

    fn any_item() -> impl Strategy<Value = Value> {
        let blocks = prop::collection::vec(any_block(), 1..6);
        let metadata = prop_oneof![
            Just(None),
            Just(Some(
                json!({"id": "x", "model": "m", "usage": {"input": 3, "output": 1, "cacheWrite": 2}, "own": [1]})
            )),
            Just(Some(json!({"kind": "summary"})))
        ];
        (prop::sample::select(vec!["human", "ai", "tool"]), blocks, metadata).prop_map(|(speaker, blocks, metadata)| {
            match metadata {
                Some(metadata) => json!({"speaker": speaker, "blocks": blocks, "metadata": metadata}),
                None => json!({"speaker": speaker, "blocks": blocks}),
            }
        })
    }

    /// The results of a history in any order, and the other blocks in order.
    fn parts_of(history: &[Value]) -> (Vec<String>, Vec<Value>) {
        let is_result = |block: &&Value| block["type"] == "tool_response";
        let blocks = || history.iter().flat_map(|item| item["blocks"].as_array().unwrap());
        let mut results: Vec<String> = blocks().filter(is_result).map(Value::to_string).collect();
        results.sort();
        let others = history.iter().filter(|item| item["speaker"] != "tool").map(|item| {
            let blocks: Vec<_> = item["blocks"].as_array().unwrap().iter().filter(|block| !is_result(block)).collect();
            json!([item["speaker"], blocks, item["metadata"]])
        });
        (results, others.filter(|item| item[1] != json!([])).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 128 }))]
        #[test]
        fn any_history_is_read_back_as_it_was_exported(items in prop::collection::vec(any_item(), 1..8)) {
            let events: Vec<Value> = items.iter().map(|item| json!({"type": "content", "payload": {"content": item}})).collect();
            let session = Session::of(&events);
            session.export().unwrap();
            let back = history_of(&events_of(&session.path("out.json")));
            prop_assert_eq!(parts_of(&items), parts_of(&back));
        }
    }

    #[test]
    fn results_beside_several_calls_with_one_id_keep_the_names_of_their_tools() {
        let call = |name: &str| json!({"type": "tool_call", "id": "a", "name": name, "parameters": {}});
        let result = |name: &str| json!({"type": "tool_response", "callId": "a", "toolName": name, "result": "x"});
        for blocks in [
            json!([call("one"), call("two"), result("one"), result("two")]),
            json!([call("one"), result("two"), call("two"), result("one"), result("")]),
        ] {
            let event = item("ai", blocks);
            let session = Session::of(std::slice::from_ref(&event));
            session.export().unwrap();
            let history = history_of(&events_of(&session.path("out.json")));
            assert_eq!(history, [event["payload"]["content"].clone()]);
        }
    }

    fn history_of(events: &[Value]) -> Vec<Value> {
        let mut history = Vec::new();
        for event in events {
            match event["type"].as_str().unwrap() {
                "content" => history.push(event["payload"]["content"].clone()),
                "compressed" => history = vec![event["payload"]["summary"].clone()],
                "rewind" => {
                    let removed = event["payload"]["itemsRemoved"].as_u64().unwrap() as usize;
                    history.truncate(history.len() - removed);
                }
                _ => {}
            }
        }
        history
    }

    /// An item without the data of media, which an export puts into files.
    fn comparable(item: &Value) -> Value {
        let mut item = item.clone();
        for block in item["blocks"].as_array_mut().unwrap() {
            if block["type"] == "media" {
                block["data"] = json!("…");
                block["encoding"] = json!("url");
            }
        }
        item
    }

    #[test]
    fn a_response_without_content_is_one_behind_an_export() {
        let usage = json!({"model": "m-1", "provider": "p", "usage": {"input": 5, "output": 7}});
        let empty = item_with("ai", json!([]), usage);
        let session = Session::of(&[item("human", json!([text("hi")])), empty.clone()]);
        session.document();
        assert_eq!(history_of(&events_of(&session.path("out.json"))).last(), Some(&empty["payload"]["content"]));
    }

    #[test]
    fn a_response_without_content_that_took_tokens_is_an_item() {
        let step = |metrics: Value| json!({"step_id": 1, "source": "agent", "message": "", "metrics": metrics});
        let steps = [step(json!({"prompt_tokens": 5, "completion_tokens": 7})), step(json!({}))];
        let document = json!({"schema_version": "ATIF-v1.8", "session_id": "s", "agent": {"name": "a", "version": "1"}, "steps": steps});
        let session = Session::of_text(&document.to_string());
        let history = history_of(&events_of(&session.path("session.jsonl")));
        assert_eq!(history.iter().map(|item| &item["metadata"]["usage"]["output"]).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn the_history_of_every_fixture_is_the_same_behind_an_export() {
        let mut differing = Vec::new();
        for path in fixtures() {
            let before = history_of(&events_of(&path));
            let root = tempfile::tempdir().unwrap();
            let (cancellation, exported) = (Cancellation::default(), root.path().join("out.json"));
            let task = Task { cancellation: &cancellation, progress: &mut |_| () };
            match export(&path, None, &exported, MediaStore::default(), &task) {
                Err(error) => {
                    assert!(before.is_empty() && error.code() == "EFOREIGNEMPTY", "{}: {error}", path.display())
                }
                Ok(_) => {
                    // Late results stand behind their calls.
                    let sorted = |history: &[Value]| {
                        let (mut tools, others): (Vec<_>, Vec<_>) =
                            history.iter().map(comparable).partition(|item| item["speaker"] == "tool");
                        tools.sort_by_key(Value::to_string);
                        (tools, others)
                    };
                    let after = history_of(&events_of(&exported));
                    if sorted(&before) != sorted(&after) {
                        let (before, after) = (sorted(&before), sorted(&after));
                        differing.push(format!(
                            "{}:\n{}\n{}\n",
                            path.display(),
                            json!([before.0, before.1]),
                            json!([after.0, after.1])
                        ));
                    }
                    let document: Value = serde_json::from_slice(&fs::read(&exported).unwrap()).unwrap();
                    let again = root.path().join("again.json");
                    export(&exported, None, &again, MediaStore::default(), &task).unwrap();
                    let mut second: Value = serde_json::from_slice(&fs::read(again).unwrap()).unwrap();
                    second["agent"]["name"] = document["agent"]["name"].clone();
                    let of = |document: &Value| {
                        let mut document = document.clone();
                        document.as_object_mut().unwrap().retain(|key, _| !matches!(&key[..], "extra" | "notes"));
                        document
                    };
                    if of(&document) != of(&second) {
                        differing.push(format!("{} twice:\n{document}\n{second}\n", path.display()));
                    }
                }
            }
        }
        assert!(differing.is_empty(), "{}", differing.join("\n"));
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            prop_oneof![Just("text"), Just("media"), Just("base64"), Just("c"), Just("AAAA"), Just("image/png")]
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(
                    (
                        prop::sample::select(vec![
                            "type",
                            "text",
                            "id",
                            "callId",
                            "result",
                            "data",
                            "mimeType",
                            "parameters",
                            "thought"
                        ]),
                        inner
                    ),
                    0..5
                )
                .prop_map(|members| Value::Object(
                    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                )),
            ]
        })
    }

    fn block() -> impl Strategy<Value = Value> {
        let kinds = prop::sample::select(vec!["text", "thinking", "tool_call", "tool_response", "media", "other"]);
        (kinds, value()).prop_map(|(kind, rest)| {
            let mut block = match rest {
                Value::Object(_) => rest,
                other => json!({"text": other, "callId": "c", "id": "c"}),
            };
            block["type"] = json!(kind);
            block
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_blocks_give_a_document_with_every_call_and_result(items in prop::collection::vec(
            (prop::sample::select(vec!["human", "ai", "tool", "system"]), prop_oneof![prop::collection::vec(block(), 0..5).prop_map(Value::from), value()]), 1..6)) {
            let events: Vec<Value> = items.iter().map(|(speaker, blocks)| item(speaker, blocks.clone())).collect();
            let document = Session::of(&events).document();
            let of_speaker = |wanted: &[&str], kind: &str| items.iter().filter(|(speaker, _)| wanted.contains(speaker))
                .flat_map(|(_, blocks)| blocks.as_array().into_iter().flatten()).filter(|block| block["type"] == kind).count();
            let steps = document["steps"].as_array().unwrap();
            for (at, step) in steps.iter().enumerate() {
                prop_assert_eq!(&step["step_id"], &json!(at + 1));
            }
            let count = |pointer: &str| steps.iter().filter_map(|step| step.pointer(pointer)?.as_array()).flatten().count();
            prop_assert_eq!(count("/tool_calls"), of_speaker(&["ai"], "tool_call"));
            let with_result = steps.iter().filter_map(|step| step.pointer("/observation/results")?.as_array()).flatten()
                .filter(|result| result.pointer("/extra/session_tape/none").is_none()).count();
            prop_assert_eq!(with_result, of_speaker(&["ai", "tool"], "tool_response"));
        }
    }
}
