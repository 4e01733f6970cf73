use super::*;

fn line(text: &str) -> Line {
    read_line(text.as_bytes(), &mut Nesting::default())
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
fn lines_are_told_apart() {
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
fn the_last_of_two_equal_keys_counts_however_they_are_written() {
    let text = r#"{"seq":1,"type":"content","type":"rew\u0069nd","payload":{"itemsRemoved":7},"payload":{"items\u0052emoved":2},"\u0073eq":3}"#;
    let event = event(text);
    assert_eq!((event.seq, event.body), (Some(3.0), Body::Rewind(2)));
    // A later payload takes everything of the earlier one away.
    assert_eq!(
        super::tests::event(r#"{"type":"rewind","payload":{"itemsRemoved":7},"payload":5}"#).body,
        Body::Malformed(EventType::Rewind)
    );
}

#[test]
fn a_seq_that_is_no_number_is_as_if_absent() {
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
        assert_eq!(body("content", bad), Body::Malformed(EventType::Content), "{bad}");
    }
}

#[test]
fn a_rewind_takes_a_count() {
    for (removed, expected) in [("0", 0), ("-0", 0), ("1.5", 2), ("1e2", 100), ("1e999", u64::MAX), ("0.001", 1)] {
        assert_eq!(body("rewind", &format!(r#"{{"itemsRemoved":{removed}}}"#)), Body::Rewind(expected), "{removed}");
    }
    for bad in ["-1", "-0.5", "\"1\"", "null", "[1]"] {
        assert_eq!(
            body("rewind", &format!(r#"{{"itemsRemoved":{bad}}}"#)),
            Body::Malformed(EventType::Rewind),
            "{bad}"
        );
    }
}

#[test]
fn each_known_type_has_its_conditions() {
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
        assert!(matches!(body(event_type, bad), Body::Malformed(_)), "{event_type} {bad}");
    }
    assert_eq!(body("session_start", r#"{"sessionId":"","projectHash":"b"}"#), Body::SessionStart(None));
}

#[test]
fn a_header_is_the_payload_of_a_session_start() {
    let payload = |text: &str| read_start_payload(text.as_bytes()).map(|span| span.of(text.as_bytes()).to_vec());
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
