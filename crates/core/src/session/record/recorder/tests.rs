use super::*;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const NOON: f64 = 1_770_811_200_000.0;

fn recorder(chats_dir: PathBuf) -> (Recorder, mpsc::Receiver<WriteFailure>) {
    let (sender, receiver) = mpsc::channel();
    let config = RecorderConfig {
        mode: 0o600,
        chats_dir,
        file_name: FileNameForm::Minutes,
        id_prefix: "abc/efgh".encode_utf16().collect(),
        durability: Durability::Os,
        exclusive_owner: None,
    };
    let recorder = Recorder::new(config, b"{}", NOON, move |failure| sender.send(failure.clone()).unwrap());
    (recorder, receiver)
}

/// The number of the record, if it was accepted.
fn numbered(recorder: &Recorder, event_type: &str, payload: &str) -> Option<f64> {
    let type_json = format!("\"{event_type}\"");
    let record = Record { type_json: type_json.as_bytes(), milliseconds: NOON, payload: Some(payload.as_bytes()) };
    let Ok(recorded) = recorder.record(record);
    recorded.map(|recorded| recorded.seq)
}

fn record(recorder: &Recorder, event_type: &str, payload: &str) -> bool {
    numbered(recorder, event_type, payload).is_some()
}

fn drain(recorder: &Recorder) {
    assert!(recorder.writer().shared().drain(Instant::now() + Duration::from_secs(20)));
}

#[test]
fn recorder_creates_no_file_before_the_first_content() {
    let directory = tempfile::tempdir().unwrap();
    let chats = directory.path().join("a/b");
    let (recorder, _failures) = recorder(chats.clone());
    assert!(record(&recorder, "provider_switch", "{\"x\":\"\u{2028}\"}"));
    assert_eq!(recorder.pending().0, 2);
    assert!(!chats.exists());
    assert_eq!(recorder.path(), None);
    assert!(record(&recorder, "content", "1"));
    let path = recorder.path().unwrap();
    assert_eq!(path, chats.join("session-2026-02-11T12-00-abc_efgh.jsonl"));
    drain(&recorder);
    let ts = "2026-02-11T12:00:00.000Z";
    let expected = format!(
        "{{\"v\":1,\"seq\":1,\"ts\":\"{ts}\",\"type\":\"session_start\",\"payload\":{{}}}}\n\
         {{\"v\":1,\"seq\":2,\"ts\":\"{ts}\",\"type\":\"provider_switch\",\"payload\":{{\"x\":\"\\u2028\"}}}}\n\
         {{\"v\":1,\"seq\":3,\"ts\":\"{ts}\",\"type\":\"content\",\"payload\":1}}\n"
    );
    assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
}

#[test]
fn two_sessions_never_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..3)
        .map(|_| {
            let (recorder, _failures) = recorder(directory.path().to_path_buf());
            record(&recorder, "content", "1");
            recorder.path().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let stamp = "session-2026-02-11T12-00";
    assert_eq!(names, ["", "-2", "-3"].map(|number| format!("{stamp}{number}-abc_efgh.jsonl")));
}

#[test]
fn a_name_with_seconds_has_them_from_the_time_of_the_first_content() {
    let id: Vec<u16> = "abcdefghijkl".encode_utf16().collect();
    let name = |number| file_name(FileNameForm::Seconds, &crate::clock::timestamp(NOON + 59_999.0), &id, number);
    assert_eq!(
        [1, 2].map(name),
        ["", "-2"].map(|number| format!("session-2026-02-11T12-00-59{number}-abcdefghijkl.jsonl"))
    );
}

#[test]
fn content_titles_and_names_create_the_file() {
    for event_type in ["content", "session_metadata", "session_named"] {
        let directory = tempfile::tempdir().unwrap();
        let (recorder, _failures) = recorder(directory.path().to_path_buf());
        assert_eq!(numbered(&recorder, "session_forked", "{}"), Some(2.0));
        assert_eq!(recorder.path(), None);
        assert_eq!(numbered(&recorder, event_type, "{}"), Some(3.0), "{event_type}");
        assert!(recorder.path().unwrap().exists(), "{event_type}");
        assert_eq!(numbered(&recorder, "later", "{}"), Some(4.0), "{event_type}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_ends_the_recording() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "").unwrap();
    let (recorder, failures) = recorder(directory.path().join("file/chats"));
    record(&recorder, "info", "1");
    assert!(!record(&recorder, "content", "1"));
    let failure = failures.recv().unwrap();
    assert_eq!((failure.error.code(), failure.dropped), ("ENOTDIR", 3));
    assert!(!recorder.is_active());
    assert_eq!(recorder.missing(), 3);
    assert!(!record(&recorder, "content", "1"));
    assert_eq!(recorder.missing(), 4);
    assert_eq!(recorder.pending(), (0, 0));
}

#[test]
fn exclusive_recorder_excludes_others() {
    let directory = tempfile::tempdir().unwrap();
    let exclusive = |owner: &str| {
        let (sender, failures) = mpsc::channel();
        let config = RecorderConfig {
            mode: 0o600,
            chats_dir: directory.path().to_path_buf(),
            file_name: FileNameForm::Seconds,
            id_prefix: "id".encode_utf16().collect(),
            durability: Durability::Fsync,
            exclusive_owner: Some(owner.to_owned()),
        };
        let tell = move |failure: &WriteFailure| sender.send(failure.clone()).unwrap();
        (Recorder::new(config, b"{}", NOON, tell), failures)
    };
    let (first, _none) = exclusive("first");
    record(&first, "content", "1");
    let path = first.path().unwrap();
    let (second, failures) = exclusive("second");
    assert!(!second.resume(path.clone(), 2.0));
    let failure = failures.recv().unwrap();
    assert_eq!(failure.error, WriteError::Locked { owner: "first".to_owned() });
    assert_eq!((failure.error.code(), second.is_active()), ("ESESSIONLOCKED", false));
    assert!(!record(&second, "content", "2"));

    let (sender, disposed) = mpsc::channel();
    first.dispose(move || sender.send(()).unwrap());
    disposed.recv().unwrap();
    let (third, _none) = exclusive("third");
    assert!(third.resume(path.clone(), 2.0));
    assert!(record(&third, "content", "3"));
    drain(&third);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    drop((first, second, third));
}

/// Regression: the lock outlived `dispose` while the writer was still writing a batch.
#[test]
fn disposed_recorder_has_closed_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    std::fs::write(&path, "").unwrap();
    for round in 0..200 {
        let config = RecorderConfig {
            mode: 0o600,
            chats_dir: directory.path().to_path_buf(),
            file_name: FileNameForm::Minutes,
            id_prefix: Vec::new(),
            durability: if round % 10 == 0 { Durability::Fsync } else { Durability::Os },
            exclusive_owner: Some(round.to_string()),
        };
        let recorder = Recorder::new(config, b"{}", NOON, |_| {});
        assert!(recorder.resume(path.clone(), 1.0), "round {round}");
        assert!(recorder.resume(path.clone(), 1.0), "a recorder is not kept out by itself");
        (0..round % 7).for_each(|_| assert!(record(&recorder, "content", "1")));
        let (sender, disposed) = mpsc::channel();
        recorder.dispose(move || sender.send(()).unwrap());
        disposed.recv().unwrap();
        assert!(!FileLock::path_for(&path).exists(), "round {round}");
    }
}

#[test]
fn resumed_session_continues_its_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.jsonl");
    std::fs::write(&path, "{\"v\":1,\"seq\":41}\n{\"v\":1,\"se").unwrap();
    let (recorder, _failures) = recorder(directory.path().join("never made"));
    assert_eq!(numbered(&recorder, "early", "1"), Some(2.0));
    recorder.resume(path.clone(), 41.0);
    assert_eq!(numbered(&recorder, "late", "2"), Some(43.0));
    recorder.dispose(|| {});
    assert!(!record(&recorder, "content", "3"));
    drain(&recorder);
    let content = std::fs::read_to_string(path).unwrap();
    let lines: Vec<_> = content.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[1], "{\"v\":1,\"se");
    assert!(lines[2].starts_with("{\"v\":1,\"seq\":42,") && lines[2].contains("\"early\""));
    assert!(lines[3].starts_with("{\"v\":1,\"seq\":43,") && lines[3].contains("\"late\""));
    assert!(!directory.path().join("never made").exists());
}

const LAST_NUMBER: f64 = 9_007_199_254_740_991.0;

fn resumed_at(last_seq: f64) -> (tempfile::TempDir, PathBuf, Recorder, mpsc::Receiver<WriteFailure>, bool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session-x.jsonl");
    std::fs::write(&path, "{}\n").unwrap();
    let (recorder, failures) = recorder(directory.path().to_path_buf());
    let resumed = recorder.resume(path.clone(), last_seq);
    (directory, path, recorder, failures, resumed)
}

#[test]
fn a_session_without_numbers_for_more_records_is_not_resumed() {
    for left in [0.0, 1.0, 2.0, 3.0] {
        let (_directory, path, recorder, failures, resumed) = resumed_at(LAST_NUMBER - left);
        assert!(!resumed && !recorder.is_active());
        assert_eq!(failures.recv().unwrap().error, WriteError::SequenceExhausted);
        assert_eq!((recorder.path(), std::fs::read_to_string(&path).unwrap().as_str()), (Some(path), "{}\n"));
    }
}

#[test]
fn a_recorder_stops_at_the_last_number_that_replays_accept() {
    let (_directory, path, recorder, failures, resumed) = resumed_at(LAST_NUMBER - 4.0);
    assert!(resumed);
    for left in [3.0, 2.0, 1.0, 0.0] {
        assert_eq!(numbered(&recorder, "content", "1"), Some(LAST_NUMBER - left));
    }
    assert_eq!(numbered(&recorder, "content", "1"), None);
    let failure = failures.recv().unwrap();
    assert_eq!((failure.error.code(), failure.dropped, failure.kept), ("SequenceExhausted", 1, 4));
    assert!(!failure.is_environmental() && !recorder.is_active());
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.lines().last().unwrap().contains("\"seq\":9007199254740991,"), "{text}");
    assert_eq!(text.lines().count(), 5);
}

/// The lock of the session has gone: what was queued before that was noticed belongs to no file of this recorder.
#[test]
fn dropped_recorder_writes_nothing_more() {
    let directory = tempfile::tempdir().unwrap();
    let (recorder, failures) = recorder(directory.path().to_path_buf());
    record(&recorder, "content", "1");
    drain(&recorder);
    let path = recorder.path().unwrap();
    let before = std::fs::read_to_string(&path).unwrap();
    let lock = PathBuf::from("x.lock");
    recorder.abandon(WriteError::LockLost { lock });
    assert!(!record(&recorder, "content", "2"));
    let failure = failures.recv().unwrap();
    assert_eq!((failure.error.code(), failure.dropped), ("SessionLockLost", 0));
    assert_eq!((failure.is_environmental(), recorder.is_active(), recorder.missing()), (true, false, 1));
    recorder.abandon(WriteError::SequenceExhausted);
    drain(&recorder);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn records_after_a_number_that_no_recorder_writes_have_numbers_that_all_readers_accept() {
    for (last_seq, first) in [
        (7.5, 8.0),
        (4_503_599_627_370_495.5, 4_503_599_627_370_496.0),
        (0.1, 2.0),
        (-0.5, 2.0),
        (-3.0, 2.0),
        (-0.0, 1.0),
    ] {
        let (_directory, path, recorder, _failures, resumed) = resumed_at(last_seq);
        assert!(resumed);
        for number in [first, first + 1.0, first + 2.0] {
            assert_eq!(numbered(&recorder, "content", "1"), Some(number));
            assert!(recorder.has_recorded(number));
        }
        drain(&recorder);
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(&format!("\"seq\":{first},")), "{text}");
    }
}
