use super::*;
use crate::session::format::Cut;
use crate::session::format::event::{CheckpointChange, CheckpointFields, Fault, Severity, StartFields};

fn line(text: &str) -> Line {
    Line::read(text.as_bytes(), Mode::Lenient, &mut Nesting::default())
}

fn strict(text: &str) -> Line {
    Line::read(text.as_bytes(), Mode::Strict, &mut Nesting::default())
}

fn event(text: &str) -> Event {
    match line(text) {
        Line::Event(event) => event,
        other => panic!("{text} is {other:?}"),
    }
}

fn body(event_type: &str, payload: &str) -> Body {
    event(&format!(r#"{{"type":"{event_type}","payload":{payload}}}"#)).body
}

#[test]
fn lines_are_classified() {
    assert_eq!(line(" \t\r"), Line::Blank);
    assert_eq!(line("\u{feff}"), Line::Blank);
    assert_eq!(line(" null "), Line::Null);
    assert_eq!(line("nul"), Line::Unparseable);
    assert_eq!(line("{\"v\":1"), Line::Unparseable);
    assert_eq!(line("{} x"), Line::Unparseable);
    for other in ["true", "1", "\"x\"", "[]", "[{\"type\":\"content\"}]", "{}"] {
        assert_eq!(event(other).body, Body::Unknown(None), "{other}");
    }
}

#[test]
fn last_of_duplicate_keys_counts_however_spelled() {
    let text = r#"{"seq":1,"type":"content","type":"rew\u0069nd","payload":{"itemsRemoved":7},"payload":{"items\u0052emoved":2},"\u0073eq":3}"#;
    let event = event(text);
    assert_eq!((event.seq, event.body), (Some(3.0), Body::Rewind(2, Cut::None)));
    // A later payload replaces all of the earlier one.
    assert_eq!(
        super::tests::event(r#"{"type":"rewind","payload":{"itemsRemoved":7},"payload":5}"#).body,
        Body::Malformed(EventType::Rewind, Fault::Event)
    );
}

#[test]
fn seq_that_is_not_a_number_counts_as_absent() {
    assert_eq!(event(r#"{"seq":"1"}"#).seq, None);
    assert_eq!(event(r#"{"seq":1e999}"#).seq, Some(f64::INFINITY));
    assert!(event(r#"{"seq":-0}"#).seq.is_some_and(|seq| seq == 0.0 && seq.is_sign_negative()));
}

#[test]
fn items_need_a_speaker() {
    assert!(matches!(body("content", r#"{"content":{"speaker":"ai"}}"#), Body::Content(_)));
    for bad in [
        "{}",
        "null",
        "[]",
        "3",
        r#"{"content":null}"#,
        r#"{"content":"x"}"#,
        r#"{"content":{}}"#,
        r#"{"content":["speaker"]}"#,
        r#"{"content":{"speaker":""}}"#,
        r#"{"content":{"speaker":7}}"#,
        r#"{"content":{"speaker":"ai","speaker":null}}"#,
        r#"{"content":{"speaker":"ai"},"content":{}}"#,
    ] {
        assert_eq!(body("content", bad), Body::Malformed(EventType::Content, Fault::Event), "{bad}");
    }
}

#[test]
fn rewind_needs_a_count() {
    for (removed, expected) in [("0", 0), ("-0", 0), ("1.5", 2), ("1e2", 100), ("1e999", u64::MAX), ("0.001", 1)] {
        assert_eq!(
            body("rewind", &format!(r#"{{"itemsRemoved":{removed}}}"#)),
            Body::Rewind(expected, Cut::None),
            "{removed}"
        );
    }
    for bad in ["-1", "-0.5", "\"1\"", "null", "[1]"] {
        assert_eq!(
            body("rewind", &format!(r#"{{"itemsRemoved":{bad}}}"#)),
            Body::Malformed(EventType::Rewind, Fault::Event),
            "{bad}"
        );
    }
}

#[test]
fn payloads_of_each_type_are_validated() {
    assert!(matches!(body("compressed", r#"{"summary":{"speaker":"ai"},"itemsCompressed":3}"#), Body::Compressed(_)));
    assert!(matches!(body("provider_switch", r#"{"provider":"p","model":""}"#), Body::ProviderSwitch(_, None)));
    assert!(matches!(body("provider_switch", r#"{"provider":"p","model":"m"}"#), Body::ProviderSwitch(_, Some(_))));
    assert!(matches!(
        body("session_event", r#"{"severity":"w\u0061rning","message":""}"#),
        Body::SessionEvent(Severity::Warning, _)
    ));
    assert!(matches!(body("directories_changed", r#"{"directories":[]}"#), Body::DirectoriesChanged(_)));
    assert!(matches!(
        body("session_start", r#"{"sessionId":"a","projectHash":"b","workspaceDirs":[1]}"#),
        Body::SessionStart(Some(StartFields { workspace_dirs: None, .. }))
    ));
    for (event_type, bad) in [
        ("compressed", r#"{"summary":{"speaker":"ai"}}"#),
        ("compressed", r#"{"itemsCompressed":1}"#),
        ("provider_switch", r#"{"provider":""}"#),
        ("provider_switch", "{}"),
        ("session_event", r#"{"severity":"fatal","message":"x"}"#),
        ("session_event", r#"{"severity":"info"}"#),
        ("directories_changed", r#"{"directories":["a",1]}"#),
        ("directories_changed", r#"{"directories":{}}"#),
    ] {
        assert!(matches!(body(event_type, bad), Body::Malformed(_, Fault::Event)), "{event_type} {bad}");
    }
    assert_eq!(body("session_start", r#"{"sessionId":"","projectHash":"b"}"#), Body::SessionStart(None));
}

#[test]
fn a_header_is_the_payload_of_a_session_start() {
    let payload = |text: &str| Line::start_payload(text.as_bytes()).map(|(span, _)| span.of(text.as_bytes()).to_vec());
    assert_eq!(payload(r#"{"type":"session_start","payload":{"x":1}}"#).as_deref(), Some(&br#"{"x":1}"#[..]));
    for none in [
        r#"{"type":"session_start"}"#,
        r#"{"type":"session_start","payload":[]}"#,
        r#"{"type":"content","payload":{}}"#,
        "x",
        "",
        "null",
    ] {
        assert_eq!(payload(none), None, "{none}");
    }
}

#[test]
fn a_header_is_whole_if_a_strict_replay_takes_it() {
    let fields = |lacking: &str| -> String {
        let all = [("sessionId", "a"), ("projectHash", "b"), ("provider", ""), ("model", ""), ("startTime", "t")];
        let given =
            all.iter().filter(|(name, _)| *name != lacking).map(|(name, value)| format!(r#""{name}":"{value}""#));
        given.collect::<Vec<_>>().join(",")
    };
    let start = |payload: &str| format!(r#"{{"v":1,"seq":1,"type":"session_start","payload":{{{payload}}}}}"#);
    let is_whole = |payload: &str| Line::start_payload(start(payload).as_bytes()).unwrap().1;
    assert!(is_whole(&fields("")));
    for (name, may_be_empty) in
        [("sessionId", false), ("projectHash", false), ("startTime", false), ("provider", true), ("model", true)]
    {
        let others = fields(name);
        let mut wrong = vec![others.clone()];
        wrong.extend(["null", "1", "[]"].map(|value| format!(r#"{others},"{name}":{value}"#)));
        let empty = format!(r#"{others},"{name}":"""#);
        assert_eq!(is_whole(&empty), may_be_empty, "{empty}");
        for payload in wrong {
            assert!(!is_whole(&payload), "{payload}");
            let Line::Event(event) = strict(&start(&payload)) else { panic!("{payload}") };
            assert_eq!(event.body, Body::SessionStart(None), "{payload}");
        }
    }
}

/// The body of an event with `seq` 5, which must be the same in strict mode.
fn numbered(event_type: &str, payload: &str) -> Body {
    let text = format!(r#"{{"v":1,"seq":5,"type":"{event_type}","payload":{payload}}}"#);
    assert_eq!(line(&text), strict(&text));
    event(&text).body
}

#[test]
fn first_violated_requirement_is_reported() {
    use EventType::*;
    let malformed = |event_type: EventType, payload: &str, fault| {
        assert_eq!(
            numbered(event_type.as_str(), payload),
            Body::Malformed(event_type, fault),
            "{event_type:?} {payload}"
        );
    };
    for event_type in
        [SessionMetadata, CheckpointCreated, CheckpointRenamed, CheckpointDeleted, SessionForked, SessionNamed]
    {
        for payload in ["null", "1", "\"x\"", "[]", "[{\"title\":1}]", "true"] {
            malformed(event_type, payload, Fault::Event);
        }
    }
    for title in ["1", "false", "[]", "{}", r#""a","title":0"#] {
        malformed(SessionMetadata, &format!(r#"{{"title":{title}}}"#), Fault::Title);
    }
    for id in ["", r#""checkpointId":null,"#, r#""checkpointId":"","#, r#""checkpointId":["a"],"#] {
        for event_type in [CheckpointCreated, CheckpointRenamed, CheckpointDeleted, SessionForked] {
            malformed(event_type, &format!(r#"{{{id}"x":1}}"#), Fault::CheckpointId);
        }
    }
    for name in ["", r#","name":null"#, r#","name":"""#, r#","name":" \n\ufeff""#, ",\"name\":\"\u{2003}\""] {
        for event_type in [CheckpointCreated, CheckpointRenamed] {
            malformed(event_type, &format!(r#"{{"checkpointId":"c"{name}}}"#), Fault::Name);
        }
    }
    let fork = r#""checkpointId":"c","parentSessionId":"p","parentSequence":3,"checkpointName":"n""#;
    for (from, to) in [
        (r#""parentSessionId":"p""#, r#""parentSessionId":1"#),
        (r#""checkpointName":"n""#, r#""checkpointName":null"#),
        ("3", "-1"),
        ("3", "1.5"),
        ("3", "9007199254740992"),
        ("3", r#""3""#),
        (r#","parentSequence":3"#, ""),
    ] {
        malformed(SessionForked, &format!("{{{}}}", fork.replace(from, to)), Fault::Event);
    }
    for name in [r#"{"name":1}"#, "{}", r#"{"name":{}}"#] {
        malformed(SessionNamed, name, Fault::Event);
    }
}

#[test]
fn payloads_of_the_six_later_types_are_validated() {
    assert_eq!(numbered("session_metadata", "{}"), Body::SessionMetadata(None));
    assert_eq!(numbered("session_metadata", r#"{"__proto__":{"title":1}}"#), Body::SessionMetadata(None));
    for title in ["null", r#""""#, r#""t""#] {
        let body = numbered("session_metadata", &format!(r#"{{"title":1,"t\u0069tle":{title}}}"#));
        assert!(matches!(body, Body::SessionMetadata(Some(span)) if span.len() == title.len()), "{body:?}");
    }
    let checkpoint = |event_type| match numbered(event_type, r#"{"name":"n","checkpointId":"c"}"#) {
        Body::Checkpoint(CheckpointFields { change, .. }) => change,
        other => panic!("{other:?}"),
    };
    assert!(matches!(checkpoint("checkpoint_created"), CheckpointChange::Created(_)));
    assert!(matches!(checkpoint("checkpoint_renamed"), CheckpointChange::Renamed(_)));
    assert_eq!(checkpoint("checkpoint_deleted"), CheckpointChange::Deleted);
    let fork = r#"{"checkpointId":"c","parentSessionId":"","parentSequence":1e3,"checkpointName":"","more":[]}"#;
    assert!(matches!(numbered("session_forked", fork), Body::SessionForked(span) if span.len() == fork.len()));
    for name in ["null", r#""""#] {
        assert!(matches!(numbered("session_named", &format!(r#"{{"name":{name}}}"#)), Body::SessionNamed(_)));
    }
}

const VALID_SEQS: [&str; 6] = ["0", "-0", "1.0", "1e3", "9007199254740991", "10E-1"];
const INVALID_SEQS: [&str; 9] = ["-1", "1.5", "9007199254740992", "1e999", "-1e999", "\"1\"", "null", "[1]", "1e-3"];

#[test]
fn a_checkpoint_has_a_valid_position() {
    let body =
        |seq: &str| event(&format!(r#"{{{seq}"type":"checkpoint_deleted","payload":{{"checkpointId":"c"}}}}"#)).body;
    for seq in VALID_SEQS {
        assert!(matches!(body(&format!("\"seq\":{seq},")), Body::Checkpoint(_)), "{seq}");
    }
    for seq in INVALID_SEQS.map(|seq| format!("\"seq\":{seq},")).into_iter().chain([String::new()]) {
        assert_eq!(body(&seq), Body::Malformed(EventType::CheckpointDeleted, Fault::Event), "{seq}");
    }
    // The `seq` is checked before the id.
    let without_both = event(r#"{"seq":1.5,"type":"checkpoint_created","payload":{}}"#).body;
    assert_eq!(without_both, Body::Malformed(EventType::CheckpointCreated, Fault::Event));
}

#[test]
fn strict_lines_have_a_valid_seq() {
    for seq in VALID_SEQS {
        assert!(matches!(strict(&format!(r#"{{"v":1,"seq":{seq}}}"#)), Line::Event(_)), "{seq}");
    }
    let odd = INVALID_SEQS.map(|seq| format!(r#"{{"v":1,"seq":{seq},"type":"content"}}"#));
    let others = [r#"{"v":1}"#, r#"{"v":1,"seq":1,"seq":-1}"#].map(str::to_owned);
    for text in odd.iter().chain(&others) {
        assert_eq!(strict(text), Line::WithoutSeq, "{text}");
    }
    assert_eq!(strict(" null"), Line::Null);
    assert_eq!(strict("\t"), Line::Blank);
    assert_eq!(strict("{\"seq\":-1"), Line::Unparseable);
}

#[test]
fn strict_lines_have_a_known_version() {
    for version in ["1", "2", "1.0", "2e0", "0.1e1", "3,\"v\":1", "3,\"\\u0076\":2"] {
        let text = format!(r#"{{"seq":1,"v":{version}}}"#);
        assert!(matches!(strict(&text), Line::Event(_)), "{text}");
    }
    for version in ["0", "3", "-1", "1.5", "\"1\"", "null", "[1]", "true", "{}", "1,\"v\":3"] {
        let text = format!(r#"{{"v":{version},"seq":-1}}"#);
        assert!(matches!(strict(&text), Line::Unsupported { version: Some(_), seq: None }), "{text}");
        assert!(matches!(line(&text), Line::Event(_)), "{text}");
    }
    for text in ["{}", "1", "[]", "true", "\"x\"", r#"{"seq":1}"#, r#"[{"v":1}]"#] {
        assert_eq!(strict(text), Line::Unsupported { version: None, seq: strict(text).seq() }, "{text}");
    }
}

#[test]
fn strict_mode_requires_complete_items() {
    let read = |item: &str| strict(&format!(r#"{{"v":2,"seq":1,"type":"content","payload":{{"content":{item}}}}}"#));
    let is_item = |item: &str| matches!(read(item), Line::Event(Event { body: Body::Content(_), .. }));
    for item in [
        r#"{"speaker":"human","blocks":[]}"#,
        r#"{"blocks":[1,{}],"speaker":"a\u0069"}"#,
        r#"{"speaker":1,"blocks":0,"blocks":[],"speaker":"tool"}"#,
    ] {
        assert!(is_item(item), "{item}");
    }
    for item in [
        r#"{"speaker":"human"}"#,
        r#"{"speaker":"user","blocks":[]}"#,
        r#"{"speaker":"Human","blocks":[]}"#,
        r#"{"speaker":"human","blocks":{}}"#,
        r#"{"speaker":"human","blocks":[],"blocks":null}"#,
        r#"{"speaker":"ai ","blocks":[]}"#,
    ] {
        assert!(!is_item(item), "{item}");
        assert!(matches!(
            event(&format!(r#"{{"type":"content","payload":{{"content":{item}}}}}"#)).body,
            Body::Content(_)
        ));
    }
}

#[test]
fn strict_session_start_needs_five_strings_of_which_two_may_be_empty() {
    let fields = [("sessionId", "s"), ("projectHash", "h"), ("provider", "p"), ("model", "m"), ("startTime", "t")];
    let start = |left_out: &str, bad: &str| {
        let members: Vec<_> = fields
            .iter()
            .filter(|(key, _)| *key != left_out || !bad.is_empty())
            .map(|(key, value)| {
                format!("\"{key}\":{}", if *key == left_out { bad.to_owned() } else { format!("\"{value}\"") })
            })
            .collect();
        format!(r#"{{"v":1,"seq":1,"type":"session_start","payload":{{{}}}}}"#, members.join(","))
    };
    let is_whole = |line: Line| matches!(line, Line::Event(Event { body: Body::SessionStart(Some(_)), .. }));
    assert!(is_whole(strict(&start("none", ""))));
    for (key, _) in fields {
        for bad in ["", "\"\"", "1", "null", "[\"x\"]"] {
            let text = start(key, bad);
            let may_be_empty = bad == "\"\"" && ["provider", "model"].contains(&key);
            assert_eq!(is_whole(strict(&text)), may_be_empty, "{text}");
            let must_be_in_all = ["sessionId", "projectHash"].contains(&key);
            assert_eq!(is_whole(line(&text)), !must_be_in_all, "{text}");
        }
    }
}
