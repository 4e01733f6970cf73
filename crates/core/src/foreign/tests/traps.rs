//! What each format has in it that a plain reader gets wrong, and hostile input.

use super::*;

/// Converts a session, and checks its receipt and its native form.
fn converted(text: &str, conversation: Option<&str>) -> (Conversion, Vec<Entry>, Vec<Value>) {
    let options = ConvertOptions { conversation: conversation.map(str::to_owned), ..with_receipt() };
    let made = convert_bytes(text.as_bytes(), &options).expect("the format is recognised");
    check_receipt(text.as_bytes(), &made.0, &made.1, &made.2);
    check_native(&made.0, &made.2);
    made
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// The texts of the final history, with the speakers.
fn spoken(events: &[Value]) -> Vec<String> {
    history_of(events)
        .iter()
        .map(|item| {
            let blocks = item["blocks"].as_array().unwrap().iter();
            let texts: Vec<_> = blocks
                .map(|block| match block["type"].as_str().unwrap_or_default() {
                    "text" => block["text"].as_str().unwrap().to_owned(),
                    "thinking" => format!("({})", block["thought"].as_str().unwrap()),
                    "tool_call" => format!("{}?", block["id"].as_str().unwrap()),
                    "tool_response" => format!(
                        "{}={}{}",
                        block["callId"].as_str().unwrap(),
                        block["result"],
                        if block["error"].is_null() { "" } else { "!" }
                    ),
                    kind => kind.to_owned(),
                })
                .collect();
            format!("{}: {}", item["speaker"].as_str().unwrap(), texts.join(" "))
        })
        .collect()
}

fn fates(entries: &[Entry]) -> Vec<&'static str> {
    entries
        .iter()
        .map(|entry| match entry.fate {
            Fate::Mapped => "mapped",
            Fate::Kept => "kept",
            Fate::Dropped(reason) => reason.as_str(),
        })
        .collect()
}

mod gemini {
    use super::*;

    fn header() -> Value {
        json!({"sessionId": "g", "projectHash": "h", "startTime": "2026-01-01T00:00:00.000Z"})
    }

    fn user(id: &str, text: &str) -> Value {
        json!({"id": id, "type": "user", "timestamp": "2026-01-01T00:00:01.000Z", "content": text})
    }

    fn model(id: &str, text: &str) -> Value {
        json!({"id": id, "type": "gemini", "content": text, "model": "gemini-3"})
    }

    fn called(id: &str, result: Option<&str>) -> Value {
        let response = result
            .map(|result| json!([{"functionResponse": {"id": "k", "name": "ls", "response": {"output": result}}}]));
        json!({"id": id, "type": "gemini", "content": "", "toolCalls": [{"id": "k", "name": "ls", "args": {}, "status": "success", "result": response}]})
    }

    fn response(id: &str, result: &str) -> Value {
        json!({"id": id, "type": "user", "content": [{"functionResponse": {"id": "k", "name": "ls", "response": {"output": result}}}]})
    }

    #[test]
    fn a_message_that_comes_again_replaces_its_first_version() {
        let text = lines(&[
            header(),
            user("a", "one"),
            user("b", "two"),
            user("c", "three"),
            user("a", "ONE"),
            user("c", "three"),
        ]);
        let (_, entries, events) = converted(&text, None);
        assert_eq!(spoken(&events), ["human: ONE", "human: two", "human: three"]);
        assert_eq!(fates(&entries), ["mapped", "mapped", "mapped", "mapped", "mapped", "repeat"]);
        assert_eq!(count(&events, "rewind"), 1);
    }

    #[test]
    fn the_last_message_grows_in_place_and_all_its_records_are_mapped() {
        let text = lines(&[header(), model("a", "o"), model("a", "on"), model("a", "one"), user("b", "x")]);
        let (_, entries, events) = converted(&text, None);
        assert_eq!((spoken(&events), count(&events, "rewind")), (vec!["ai: one".into(), "human: x".into()], 0));
        assert!(entries[1].seqs == entries[3].seqs && fates(&entries)[1..4] == ["mapped"; 3]);
    }

    /// The origin of an item that is written again is that of its first event, wherever the receipt counts it.
    #[test]
    fn a_message_that_grew_is_written_again_behind_one_that_changes() {
        let text = lines(&[header(), user("a", "one"), model("b", "t"), model("b", "two"), user("a", "ONE")]);
        let (conversion, entries, events) = converted(&text, None);
        assert_eq!(spoken(&events), ["human: ONE", "ai: two"]);
        assert_eq!(entries[3].seqs, [3, 6]);
        let mut again = [Origin::default()];
        conversion.origins.unwrap().read(6, &mut again).unwrap();
        assert_eq!((again[0].line, again[0].is_copy), (3, true));
    }

    #[test]
    fn a_rewind_to_an_unknown_message_removes_everything() {
        let text = lines(&[header(), user("a", "one"), json!({"$rewindTo": "zzz"}), user("b", "two")]);
        assert_eq!(spoken(&converted(&text, None).2), ["human: two"]);
    }

    #[test]
    fn a_list_of_messages_adds_only_those_that_are_new() {
        let (a, b) = (user("a", "one"), model("b", "two"));
        let text = lines(&[
            header(),
            a.clone(),
            json!({"$set": {"messages": [a, b], "lastUpdated": "x"}}),
            json!({"$set": {"messages": [a]}}),
        ]);
        let (_, entries, events) = converted(&text, None);
        assert_eq!(
            (spoken(&events), count(&events, "content"), count(&events, "rewind")),
            (vec!["human: one".to_owned()], 2, 1)
        );
        assert_eq!(fates(&entries), ["mapped"; 4]);
    }

    #[test]
    fn a_result_that_is_recorded_twice_counts_once_in_any_order() {
        for records in [
            [called("m", Some("x")), response("r", "x"), user("z", "bye")],
            [called("m", None), response("r", "x"), called("m", Some("x"))],
        ] {
            let text = lines(&[&[header()], &records[..]].concat());
            let results = spoken(&converted(&text, None).2).into_iter().filter(|item| item.starts_with("tool")).count();
            assert_eq!(results, 1, "{text}");
        }
    }

    #[test]
    fn messages_that_change_again_and_again_end_with_a_warning_in_linear_time() {
        let mut records = vec![header()];
        records.extend((0..1500).map(|id| user(&format!("m{id}"), "x")));
        records.extend((0..1500).map(|version| user("m0", &format!("version {version}"))));
        let (conversion, _, events) = converted(&lines(&records), None);
        assert!(events.len() < 5 * records.len() + 3000);
        assert!(conversion.summary.warnings[0].contains("their first versions count from line"));
    }

    #[test]
    fn the_fields_of_a_document_may_follow_its_messages() {
        let text = r#"{"messages":[{"id":"a","type":"user","content":"hi"}],"summary":"T","sessionId":"late","projectHash":"ph"}"#;
        let (conversion, entries, events) = converted(text, None);
        assert_eq!((&conversion.session_id[..], &events[0]["payload"]["projectHash"]), ("late", &json!("ph")));
        assert_eq!((events[1]["type"].as_str(), fates(&entries)), (Some("session_metadata"), vec!["mapped", "mapped"]));
    }
}

mod pi {
    use super::*;

    fn entry(id: &str, parent: Option<&str>, text: &str) -> Value {
        json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": text}})
    }

    fn header() -> Value {
        json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"})
    }

    #[test]
    fn no_parent_is_the_root_and_an_unknown_parent_changes_nothing() {
        let text = lines(&[header(), entry("a", None, "one"), entry("b", Some("gone"), "two")]);
        assert_eq!(spoken(&converted(&text, None).2), ["human: one", "human: two"]);
        let text = lines(&[header(), entry("a", None, "one"), entry("b", None, "two")]);
        assert_eq!(spoken(&converted(&text, None).2), ["human: two"]);
    }

    #[test]
    fn ids_that_repeat_and_entries_that_are_their_own_parents_do_no_harm() {
        let text = lines(&[
            header(),
            entry("a", Some("a"), "one"),
            entry("a", Some("a"), "two"),
            entry("b", Some("a"), "three"),
        ]);
        assert_eq!(spoken(&converted(&text, None).2), ["human: one", "human: two", "human: three"]);
    }

    #[test]
    fn the_first_kept_index_of_version_1_counts_the_header() {
        let message = |text: &str| json!({"type": "message", "message": {"role": "user", "content": text}});
        let compacted = |index: u64| {
            let header = json!({"type": "session", "id": "s"});
            let compaction = json!({"type": "compaction", "summary": "S", "firstKeptEntryIndex": index});
            spoken(&converted(&lines(&[header, message("one"), message("two"), compaction]), None).2)
        };
        assert_eq!(compacted(2), ["human: S", "human: two"]);
        assert_eq!(compacted(1), ["human: S", "human: one", "human: two"]);
        assert_eq!(compacted(0), ["human: S"]);
        assert_eq!(compacted(99), ["human: S"]);
    }

    #[test]
    fn a_response_without_content_is_a_note_and_still_names_its_model() {
        let aborted = json!({"type": "message", "message": {"role": "assistant", "content": [], "provider": "p", "model": "other", "stopReason": "aborted", "errorMessage": "stopped"}});
        let header = json!({"type": "session", "id": "s", "provider": "p", "modelId": "m"});
        let (_, entries, events) = converted(&lines(&[header, aborted]), None);
        let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["session_start", "provider_switch", "session_event"]);
        assert_eq!((&events[2]["payload"]["severity"], fates(&entries)), (&json!("warning"), vec!["mapped", "mapped"]));
    }

    #[test]
    fn two_writers_that_alternate_end_in_file_order() {
        let mut records = vec![header(), entry("root", None, "root")];
        let mut last = ["root".to_owned(), "root".to_owned()];
        for number in 0..1500 {
            let id = format!("e{number}");
            records.push(entry(&id, Some(&std::mem::replace(&mut last[number % 2], id.clone())), "x"));
        }
        let (conversion, _, events) = converted(&lines(&records), None);
        assert!(events.len() < 7 * records.len() + 3000, "{}", events.len());
        assert!(conversion.summary.warnings[0].starts_with("interleaved branches"));
    }
}

mod opencode {
    use super::*;

    fn session(id: &str) -> Value {
        json!({"id": id, "projectID": "p", "directory": "/w", "title": format!("Title of {id}"), "time": {"created": 1_767_225_600_000_u64}})
    }

    fn message(session: &str, id: &str, role: &str, created: u64) -> Value {
        json!({"id": id, "sessionID": session, "role": role, "modelID": "m", "providerID": "p", "time": {"created": created}})
    }

    fn part(session: &str, message: &str, id: &str, more: Value) -> Value {
        let mut part = json!({"id": id, "sessionID": session, "messageID": message});
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part
    }

    fn text(session: &str, message: &str, id: &str, text: &str) -> Value {
        part(session, message, id, json!({"type": "text", "text": text}))
    }

    fn tool(message: &str, id: &str, name: &str, state: Value) -> Value {
        part("ses_a", message, id, json!({"type": "tool", "callID": format!("c-{id}"), "tool": name, "state": state}))
    }

    /// Values one after another, printed over several lines.
    fn storage(values: &[Value]) -> String {
        values.iter().map(|value| serde_json::to_string_pretty(value).unwrap()).collect()
    }

    #[test]
    fn values_in_any_order_are_put_in_the_order_of_messages_and_parts() {
        let text = storage(&[
            text("ses_a", "msg_2", "prt_2", "two"),
            message("ses_a", "msg_2", "assistant", 2),
            text("ses_a", "msg_1", "prt_0", "hi"),
            text("ses_a", "msg_2", "prt_1", "one"),
            session("ses_a"),
            json!([{"todo": 1}]),
            json!({"id": "x", "secret": "s3cret", "url": "https://opncd.ai/s/x"}),
            message("ses_a", "msg_1", "user", 1),
            part("ses_a", "msg_2", "prt_3", json!({"type": "step-finish"})),
            part("ses_a", "msg_9", "prt_4", json!({"type": "text", "text": "lost"})),
        ]);
        let (conversion, entries, events) = converted(&text, None);
        assert_eq!(spoken(&events), ["human: hi", "ai: one two"]);
        let expected = ["mapped", "mapped", "mapped", "mapped", "mapped", "bulk", "secret", "mapped", "marker", "kept"];
        assert_eq!(fates(&entries), expected);
        assert!(!String::from_utf8(bytes_of(&conversion.native)).unwrap().contains("s3cret"));
        assert_eq!(conversion.session_id, "ses_a");
    }

    #[test]
    fn one_of_several_sessions_has_to_be_chosen() {
        let text = storage(&[
            session("ses_a"),
            message("ses_a", "m1", "user", 1),
            text("ses_a", "m1", "p1", "in a"),
            session("ses_b"),
            message("ses_b", "m2", "user", 1),
            text("ses_b", "m2", "p2", "in b"),
        ]);
        let several = convert(LineSource::in_memory(text.clone().into_bytes()), &with_receipt(), &mut |_, _| ()).err();
        assert_eq!(several, Some(Stop::Several(vec!["ses_a".into(), "ses_b".into()])));
        let (_, entries, events) = converted(&text, Some("ses_b"));
        assert_eq!(
            (spoken(&events), &fates(&entries)[..3]),
            (vec!["human: in b".to_owned()], &["other-conversation"; 3][..])
        );
        let listed = list_conversations(LineSource::in_memory(text.into_bytes())).unwrap().unwrap().1;
        let listed: Vec<_> =
            listed.iter().map(|one| (&one.session_id[..], one.title.as_deref(), one.records)).collect();
        assert_eq!(listed, [("ses_a", Some("Title of ses_a"), 3), ("ses_b", Some("Title of ses_b"), 3)]);
    }

    #[test]
    fn results_and_failures_are_those_of_the_tools_states() {
        let text = storage(&[
            session("ses_a"),
            message("ses_a", "m1", "assistant", 1),
            tool("m1", "p1", "read", json!({"status": "completed", "input": {}, "output": "ok"})),
            tool(
                "m1",
                "p2",
                "bash",
                json!({"status": "completed", "input": {}, "output": "bad", "metadata": {"exit": 3}}),
            ),
            tool("m1", "p3", "invalid", json!({"status": "completed", "input": {}, "output": "what"})),
            tool("m1", "p4", "read", json!({"status": "error", "input": {}, "error": "denied"})),
            tool("m1", "p5", "read", json!({"status": "running", "input": {}})),
        ]);
        let (_, _, events) = converted(&text, None);
        assert_eq!(spoken(&events)[1], r#"tool: c-p1="ok" c-p2="bad"! c-p3="what"! c-p4="denied"!"#);
        assert_eq!(history_of(&events)[1]["blocks"][1]["error"], "exit code 3");
    }

    #[test]
    fn a_summary_replaces_the_history_and_a_revert_takes_messages_back() {
        let mut summary = message("ses_a", "m2", "assistant", 2);
        summary["summary"] = json!(true);
        let mut reverted = session("ses_a");
        reverted["revert"] = json!({"messageID": "m4"});
        let text = storage(&[
            reverted,
            message("ses_a", "m1", "user", 1),
            text("ses_a", "m1", "p1", "old"),
            summary,
            text("ses_a", "m2", "p2", "SUM"),
            message("ses_a", "m3", "user", 3),
            text("ses_a", "m3", "p3", "kept"),
            message("ses_a", "m4", "user", 4),
            text("ses_a", "m4", "p4", "gone"),
        ]);
        let (_, _, events) = converted(&text, None);
        assert_eq!(spoken(&events), ["ai: SUM", "human: kept"]);
    }
}

mod atif {
    use super::*;

    fn document(steps: Value) -> Value {
        json!({"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"name": "a", "version": "1", "model_name": "acme/big"}, "steps": steps})
    }

    #[test]
    fn invalid_documents_are_read() {
        let steps = json!([
            {"step_id": 7, "source": "agent", "message": "hi", "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": "raw"}],
             "observation": {"results": [{"source_call_id": "nobody", "content": "x"}, {"source_call_id": "c", "content": null}, {"content": "free"}]}},
            {"step_id": 7, "source": "user", "message": {"no": "text"}},
            {"source": "system", "message": "context"},
            "no object",
        ]);
        let (conversion, entries, events) = converted(&document(steps).to_string(), None);
        assert_eq!(spoken(&events), ["ai: hi c?", r#"tool: c="""#]);
        assert_eq!(fates(&entries), ["mapped", "mapped", "empty", "kept", "not-an-object"]);
        assert_eq!(
            (&events[0]["payload"]["provider"], conversion.summary.source_version.as_deref()),
            (&json!("acme"), Some("1"))
        );
    }

    #[test]
    fn a_document_within_a_document_is_a_conversation() {
        let mut outer = document(json!([{"source": "user", "message": "outer"}]));
        let mut inner =
            document(json!([{"source": "user", "message": "inner"}, {"source": "agent", "message": "yes"}]));
        inner["trajectory_id"] = json!("sub");
        outer["subagent_trajectories"] = json!([inner]);
        let (_, entries, events) = converted(&outer.to_string(), Some("sub"));
        assert_eq!(spoken(&events), ["human: inner", "ai: yes"]);
        assert_eq!(fates(&entries), ["mapped", "other-conversation"]);
        let none = convert(
            LineSource::in_memory(outer.to_string().into_bytes()),
            &ConvertOptions { conversation: Some("x".into()), ..with_receipt() },
            &mut |_, _| (),
        );
        assert_eq!(none.err(), Some(Stop::NoConversation("x".into())));
    }

    #[test]
    fn a_layout_that_does_not_fit_its_step_is_ignored() {
        for layout in [
            json!([{"type": "text", "length": 99}]),
            json!([{"type": "tool_call"}]),
            json!([{"type": "text", "length": 1}, {"type": "text", "length": 1}]),
            json!([{}]),
            json!([7]),
        ] {
            let step = json!({"source": "agent", "message": "whole", "reasoning_content": "why", "extra": {"session_tape": {"layout": layout}}});
            let (_, _, events) = converted(&document(json!([step])).to_string(), None);
            assert_eq!(spoken(&events), ["ai: (why) whole"], "{layout}");
        }
    }
}

mod qwen {
    use super::*;

    #[test]
    fn notes_for_the_interface_are_dropped_and_sub_agents_are_not_mixed_in() {
        let record = |uuid: &str, more: Value| {
            let mut record = json!({"uuid": uuid, "parentUuid": null, "sessionId": "s"});
            record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            record
        };
        let parts = |text: &str| json!({"role": "user", "parts": [{"text": text}]});
        let text = lines(&[
            record("a", json!({"type": "user", "message": parts("hi")})),
            record("b", json!({"type": "user", "isSidechain": true, "message": parts("aside")})),
            record("c", json!({"type": "system", "subtype": "ui_telemetry", "systemPayload": {}})),
            record("d", json!({"type": "system", "subtype": "file_snapshot", "systemPayload": {}})),
            record("e", json!({"type": "user", "subtype": "notification", "message": parts("ping")})),
            record("f", json!({"type": "system", "subtype": "custom_title", "systemPayload": {"customTitle": "T"}})),
            record("a", json!({"type": "user", "message": parts("again")})),
        ]);
        let (_, entries, events) = converted(&text, None);
        assert_eq!(spoken(&events), ["human: hi", "human: ping"]);
        assert_eq!(fates(&entries), ["mapped", "sub-agent", "telemetry", "bulk", "mapped", "mapped", "duplicate-uuid"]);
    }
}

/// The fixtures of the formats, lines and documents.
fn fixtures() -> Vec<Vec<u8>> {
    let expected = std::fs::read(agents().join("expected.json")).unwrap();
    let expected: BTreeMap<String, Value> = serde_json::from_slice(&expected).unwrap();
    let small =
        expected.keys().map(|name| std::fs::read(agents().join(name)).unwrap()).filter(|bytes| bytes.len() < 20_000);
    small.collect()
}

/// Puts `value` in the place of the n-th value of `json`, counted in depth. Returns how many values there are up to it.
fn replace(json: &mut Value, n: &mut usize, value: &Value) -> bool {
    if *n == 0 {
        *json = value.clone();
        return true;
    }
    *n -= 1;
    match json {
        Value::Array(elements) => elements.iter_mut().any(|element| replace(element, n, value)),
        Value::Object(members) => members.values_mut().any(|member| replace(member, n, value)),
        _ => false,
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(-1.5)),
        Just(json!(1e300)),
        Just(json!("")),
        Just(json!("x\u{0}y")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[{}]])),
        Just(json!({"type": "text"})),
        Just(json!(["a", 1])),
        Just(json!({"text": 7})),
        Just(json!("g1")),
        Just(json!("e1")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 96 }))]

    #[test]
    fn a_value_of_the_wrong_type_anywhere_is_no_harm(which: prop::sample::Index, record: prop::sample::Index, at in 1_usize..80, value in any_json()) {
        let all = fixtures();
        let bytes: &Vec<u8> = which.get(&all);
        let text = String::from_utf8_lossy(bytes).into_owned();
        let changed = match serde_json::from_str::<Value>(&text) {
            Ok(mut document) => {
                let mut n = at;
                replace(&mut document, &mut n, &value);
                document.to_string()
            }
            Err(_) => {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                let line = record.index(lines.len());
                if let Ok(mut json) = serde_json::from_str::<Value>(&lines[line]) {
                    let mut n = at % 30;
                    replace(&mut json, &mut n, &value);
                    lines[line] = json.to_string();
                }
                lines.join("\n")
            }
        };
        if let Some((conversion, entries, events)) = convert_bytes(changed.as_bytes(), &with_receipt()) {
            check_receipt(changed.as_bytes(), &conversion, &entries, &events);
            check_native(&conversion, &events);
        }
    }

    #[test]
    fn any_file_with_a_changed_byte_is_converted_with_a_whole_receipt_or_not_at_all(which: prop::sample::Index, at: prop::sample::Index, byte: u8) {
        let all = fixtures();
        let mut bytes: Vec<u8> = which.get(&all).clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Some((conversion, entries, events)) = convert_bytes(&bytes, &with_receipt()) {
            check_receipt(&bytes, &conversion, &entries, &events);
            check_native(&conversion, &events);
        }
    }
}
