use super::*;
use crate::run::format::{ErrorCode, log_of};
use std::io::Write;

fn file_of(log: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(log).unwrap();
    file
}

fn times(log: &[u8], range: Range) -> (Vec<u64>, Option<RunError>) {
    let file = file_of(log);
    let mut trace = Trace::open(file.path(), range, Redactions::default()).unwrap();
    let mut times = Vec::new();
    while let Some(event) = trace.next() {
        match event {
            Ok(event) => times.push(event.time),
            Err(error) => {
                assert!(trace.next().is_none());
                return (times, Some(error));
            }
        }
    }
    (times, None)
}

#[test]
fn a_range_holds_the_events_from_its_first_to_its_last() {
    let log = log_of(2000, 100);
    for (from, to) in
        [(0, u64::MAX), (0, 0), (1, 5), (1500, 1700), (1999, 1999), (1999, u64::MAX), (2000, 9999), (7, 6)]
    {
        let expected: Vec<u64> = (from..=to.min(1999)).collect();
        assert_eq!(times(&log, Range { from, to, ..Range::default() }), (expected, None), "{from} to {to}");
    }
    assert_eq!(times(b"", Range::default()), (vec![], None));
}

#[test]
fn trace_yields_only_the_requested_kinds() {
    let log = log_of(30, 10);
    let range = Range { from: 4, to: 20, kinds: Some(vec![Kind::Error, Kind::Heartbeat]), first: Some(0) };
    assert_eq!(times(&log, range).0, [6, 9, 12, 15, 18]);
}

#[test]
fn an_event_without_salt_is_one_that_is_listed_as_redacted() {
    let log = String::from_utf8(log_of(5, 10)).unwrap();
    let salt = log.split(",\"salt\":").nth(4).unwrap().split_once(',').unwrap().0;
    let file = file_of(log.replace(&format!(",\"salt\":{salt}"), "").as_bytes());
    let first_error = |redactions| {
        let mut trace = Trace::open(file.path(), Range::default(), redactions).unwrap();
        std::iter::from_fn(|| trace.next().map(|event| event.err())).flatten().next()
    };
    let error = first_error(Redactions::default()).unwrap();
    assert_eq!((error.code, error.time), (ErrorCode::MissingField, Some(3)));
    assert_eq!(first_error(Redactions { events: [3].into(), ..Redactions::default() }), None);
}

#[test]
fn filtered_events_are_validated_too() {
    let log = String::from_utf8(log_of(5, 10)).unwrap();
    for (from, to, code) in [
        ("\"kind\":\"BlobStored\"", "\"kind\":\"BlobLost\"", ErrorCode::UnknownKind),
        ("\"size\":1", "\"sice\":1", ErrorCode::MissingField),
        ("\"size\":1", "\"size\":01", ErrorCode::NotAJsonLine),
        ("\"n\":1}", "\"n\":1},\"x\":{}", ErrorCode::NotCanonical),
    ] {
        let range = Range { kinds: Some(vec![Kind::Heartbeat]), ..Range::default() };
        let (seen, error) = times(log.replacen(from, to, 1).as_bytes(), range);
        assert_eq!((seen, error.map(|error| (error.code, error.time))), (vec![], Some((code, Some(1)))), "{to}");
    }
}

#[test]
fn torn_tail_is_not_an_event() {
    let log = log_of(5, 10);
    let last = memchr::memchr_iter(b'\n', &log).nth(3).unwrap() + 1;
    for cut in 1..log.len() - last {
        assert_eq!(times(&log[..log.len() - cut], Range::default()), (vec![0, 1, 2, 3], None));
    }
}

#[test]
fn partial_log_may_begin_at_any_event() {
    let log = log_of(10, 10);
    let start = memchr::memchr_iter(b'\n', &log).nth(3).unwrap() + 1;
    let later = &log[start..];
    assert_eq!(times(later, Range { first: None, ..Range::default() }).0, [4, 5, 6, 7, 8, 9]);
    assert_eq!(times(later, Range { first: Some(4), from: 8, ..Range::default() }).0, [8, 9]);
    let (seen, error) = times(later, Range::default());
    assert_eq!((seen, error.map(|error| error.code)), (vec![], Some(ErrorCode::TimeGap)));
}

#[test]
fn a_damaged_line_ends_the_trace_with_an_error_wherever_it_is() {
    let log = log_of(3000, 100);
    let at = memchr::memchr_iter(b'\n', &log).nth(1999).unwrap() + 1;
    for (bytes, code) in [
        (&b"\n"[..], ErrorCode::NotAJsonLine),
        (b"garbage\n", ErrorCode::NotAJsonLine),
        (b"\xff\n", ErrorCode::NotAJsonLine),
        (&log[..at][memchr::memrchr(b'\n', &log[..at - 1]).unwrap() + 1..], ErrorCode::TimeGap),
    ] {
        let damaged = [&log[..at], bytes, &log[at..]].concat();
        let (seen, error) = times(&damaged, Range::default());
        assert_eq!((seen.len(), error.unwrap().code), (2000, code));
        let (seen, error) = times(&damaged, Range { from: 1990, ..Range::default() });
        assert_eq!((seen.len(), error.unwrap().code), (10, code));
        let (seen, error) = times(&damaged, Range { to: 1999, ..Range::default() });
        assert_eq!((seen.len(), error), (2000, None), "nothing behind the range is looked at");
    }
}
