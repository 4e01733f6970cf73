use super::*;
use crate::run::testing::{Recorded, SampleOptions};

fn read(log: &[u8]) -> (CheckedLog, Option<BundleCode>) {
    let mut checked = CheckedLog::default();
    let result = checked.read(&mut &log[..], &Limits::default());
    (checked, result.err().map(|error| error.code))
}

#[test]
fn intact_log_reports_its_first_and_last_event() {
    let recorded = Recorded::new(SampleOptions::default());
    let log = recorded.log();
    let (checked, code) = read(&log);
    assert_eq!(code, None);
    let extent = &checked.extent;
    assert_eq!((extent.count, extent.first_time), (recorded.records.len() as u64, Some(0)));
    assert_eq!(extent.last_time, Some(recorded.last()));
    assert!(checked.created.is_some() && checked.unsalted.is_empty() && checked.invalid_blob.is_none());
    assert_eq!(checked.started_at.as_deref(), Some("2026-02-11T16:00:00.000Z"));
    let (torn, code) = read(&log[..log.len() - 1]);
    assert_eq!((code, torn.extent.count, torn.torn_bytes > 0), (None, extent.count - 1, true));
}

#[test]
fn any_changed_byte_of_a_line_is_found() {
    let recorded = Recorded::new(SampleOptions { max_events: 4, ..SampleOptions::default() });
    let log = recorded.log();
    for at in 0..log.len() {
        let mut damaged = log.clone();
        damaged[at] ^= 1;
        let (checked, code) = read(&damaged);
        // Without the last `\n` the last line is torn.
        let torn = at == log.len() - 1 && checked.torn_bytes > 0;
        // A change of the digit in `"v":1` gives another version.
        let other = code == Some(BundleCode::UnsupportedVersion) && damaged[..at].ends_with(b"{\"v\":");
        assert!(code == Some(BundleCode::LogInvalid) || torn || other, "byte {at}: {code:?}");
    }
}

#[test]
fn detects_lost_moved_and_oversized_lines() {
    let recorded = Recorded::new(SampleOptions::default());
    let log = recorded.log();
    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(read(&lines[1..].concat()).1, None, "it could follow a snapshot");
    assert!(read(&lines[1..].concat()).0.first_line.is_some());
    assert_eq!(read(&[&lines[..3], &lines[4..]].concat().concat()).1, Some(BundleCode::LogInvalid));
    assert_eq!(read(&[lines[0], lines[2], lines[1]].concat()).1, Some(BundleCode::LogInvalid));
    assert_eq!(read(&[lines[0], b"\xff\n"].concat()).1, Some(BundleCode::LogInvalid));
    let limits = Limits { line_bytes: 100, ..Limits::default() };
    let error = CheckedLog::default().read(&mut &log[..], &limits).unwrap_err();
    assert_eq!(error.code, BundleCode::LineTooLong);
}

#[test]
fn first_line_of_a_session_is_read_as_by_replay() {
    let told = |line: &[u8]| {
        let mut checked = CheckedSession::for_export();
        checked.read(&mut &line[..], &Limits::default()).unwrap();
        (checked.session_id.map(|id| id.as_json().to_owned()), checked.started_at)
    };
    let some = |id: &str, time: Option<&str>| (Some(id.to_owned()), time.map(str::to_owned));
    let start = |id: &str, ts: &str| {
        format!("{{{ts}\"type\":\"session_start\",\"payload\":{{\"sessionId\":\"{id}\",\"projectHash\":\"h\"}}}}\n")
    };
    for (ts, time) in [
        ("\"ts\":7,", None),
        ("\"ts\":null,", None),
        ("", None),
        ("\"ts\":\"\\u0041\",", Some("A")),
        ("\"ts\":1,\"ts\":\"B\",", Some("B")),
    ] {
        assert_eq!(told(start("s", ts).as_bytes()), some("s", time), "{ts}");
    }
    assert_eq!(told(start("\\ud800", "").as_bytes()), some("\\ud800", None));
    assert_eq!(told(start("a\",\"sessionId\":\"b", "").as_bytes()), some("b", None), "of a key twice the last counts");
    assert_eq!(told(start("s", "").replace("type", "ty\\u0070e").as_bytes()), some("s", None));
    assert_eq!(told(&start("\u{ff}", "").replace("\u{ff}", "?").into_bytes()).0.as_deref(), Some("?"));
    let broken: Vec<u8> = start("?", "").bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
    assert_eq!(told(&broken), some("\u{fffd}", None));
    let deep = format!("\"x\":{}{},", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(told(start("s", &deep).as_bytes()), some("s", None));
    let long = "y".repeat(3 << 20);
    assert_eq!(told(start(&long, "").as_bytes()).0.map(|id| id.len()), Some(3 << 20));
    assert_eq!(told(b"{\"type\":\"session_start\",\"payload\":{\"sessionId\":\"\"}}\n"), (None, None));
    assert_eq!(told(b"{\"type\":\"content\",\"payload\":{\"sessionId\":\"s\"}}\n"), (None, None));
}

#[test]
fn accepts_every_line_length_that_replay_accepts() {
    let read = |input: &mut dyn Read, limits: Limits| {
        CheckedSession::default().read(input, &limits).map_err(|error| error.code)
    };
    let over = |limit: u64| std::io::repeat(b' ').take(limit + 1);
    let limits = Limits::default();
    assert_eq!(read(&mut over(limits.line_bytes), limits), Ok(()));
    assert_eq!(read(&mut over(limits.session_line_bytes()), limits), Err(BundleCode::LineTooLong));
    let zeros = || std::io::repeat(0).take(limits.session_line_bytes() + 1);
    assert_eq!(read(&mut zeros(), limits), Ok(()), "what a crash left, and a replay passes over");
    let lower = Limits { line_bytes: limits.line_bytes - 1, ..limits };
    assert_eq!(read(&mut over(lower.line_bytes), lower), Err(BundleCode::LineTooLong));
    assert_eq!(read(&mut zeros(), lower), Err(BundleCode::LineTooLong));
}

#[test]
fn session_check_reports_lines_and_times() {
    let mut checked = CheckedSession::default();
    let text = "\u{feff}{\"v\":1,\"seq\":1,\"ts\":\"T1\",\"type\":\"session_start\",\"payload\":{\"sessionId\":\"s\"}}\nx\n\n{\"ts\":\"T2\"}\n{\"ts\":\"T3";
    checked.read(&mut text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(checked.lines, 5);
    assert_eq!(checked.session_id.as_ref().map(|id| id.as_json()), Some("s"));
    assert_eq!((checked.started_at.as_deref(), checked.completed_at.as_deref()), (Some("T1"), Some("T2")));
    let limits = Limits { line_bytes: 20, ..Limits::default() };
    let error = CheckedSession::default().read(&mut text.as_bytes(), &limits).unwrap_err();
    assert_eq!(error.code, BundleCode::LineTooLong);
}
