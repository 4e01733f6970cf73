use super::*;
use std::io::Write;

const START: &str = r#"{"v":1,"seq":1,"ts":"t","type":"session_start","payload":{"sessionId":"s","projectHash":"h","provider":"p","model":"m"}}"#;

struct Seen {
    items: Vec<String>,
    result: Result<String, String>,
    warnings: Vec<String>,
    last_seq: f64,
    event_count: u64,
}

fn replay_with(text: &str, options: FoldOptions) -> Seen {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let mut replay = Replay::open(file.path(), options).unwrap();
    while replay.scan_on().unwrap().is_some() {}
    let mut scratch = Vec::new();
    let items = replay.items().to_vec();
    let items = items
        .iter()
        .map(|item| replay.source().bytes_at(item.offset, item.length as usize, &mut scratch).unwrap().to_vec())
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .collect();
    replay.settle();
    let outcome = replay.outcome(None);
    Seen {
        items,
        result: outcome
            .metadata
            .map(|metadata| String::from_utf8(metadata.provider.to_vec()).unwrap())
            .map_err(|error| error.message().to_string()),
        warnings: outcome.warnings.iter().map(Message::to_string).collect(),
        last_seq: outcome.last_seq,
        event_count: outcome.event_count,
    }
}

fn replay(text: &str) -> Seen {
    replay_with(text, FoldOptions::default())
}

fn content(seq: u32) -> String {
    format!(r#"{{"v":1,"seq":{seq},"ts":"t","type":"content","payload":{{"content":{{"speaker":"ai","n":{seq}}}}}}}"#)
}

#[test]
fn items_are_returned_byte_for_byte() {
    let seen = replay(&format!("{START}\n{}\n{}\n", content(2), content(3)));
    assert_eq!(seen.items, [r#"{"speaker":"ai","n":2}"#, r#"{"speaker":"ai","n":3}"#]);
    assert_eq!(seen.result.as_deref(), Ok("\"p\""));
    assert_eq!((seen.last_seq, seen.event_count, seen.warnings.len()), (3.0, 3, 0));
}

#[test]
fn history_of_a_large_file_is_read_back_from_it() {
    let count = 40_000;
    let body: String = (2..count + 2).map(|seq| content(seq) + "\n").collect();
    assert!(body.len() > 3 << 20);
    let seen = replay(&format!("{START}\n{body}"));
    assert_eq!(seen.items.len(), count as usize);
    assert_eq!(seen.items[count as usize - 1], format!(r#"{{"speaker":"ai","n":{}}}"#, count + 1));
}

#[test]
fn torn_last_line_is_forgiven() {
    let torn = replay(&format!("{START}\n{}\n{{\"v\":1,\"seq\":3,\"ty", content(2)));
    assert_eq!((torn.warnings.len(), torn.event_count), (0, 2));
    let inside = replay(&format!("{START}\n{{\"v\":1,\"seq\":3,\"ty\n{}", content(2)));
    assert_eq!(inside.warnings, ["Line 2: failed to parse JSON", "WARNING: >33.3% of lines are unparseable (1/3)"]);
    let blank_behind = replay(&format!("{START}\n{{\"v\":1,\"seq\":3,\"ty\n\n"));
    assert_eq!(blank_behind.warnings[0], "Line 2: failed to parse JSON");
}

#[test]
fn sessions_without_a_start_fail_and_say_why() {
    assert_eq!(replay("").result.unwrap_err(), "Empty file");
    assert_eq!(replay("\u{feff}").result.unwrap_err(), "Empty file");
    assert_eq!(replay("\n").result.unwrap_err(), "Missing or corrupt session_start event");
    let late = replay(&format!("\n{START}\n"));
    assert_eq!(late.result.unwrap_err(), "Missing or corrupt session_start event");
    assert_eq!(late.warnings, ["session_start at line 2 (expected line 1)"]);
    let invalid = r#"{"type":"session_start","payload":{"sessionId":"s"}}"#;
    assert_eq!(replay(invalid).result.unwrap_err(), "Invalid session_start: missing required fields");
}

#[test]
fn another_projects_session_is_refused() {
    let options =
        |hash: &str| FoldOptions { project_hash: Some(hash.encode_utf16().collect()), ..FoldOptions::default() };
    assert!(replay_with(START, options("h")).result.is_ok());
    let seen = replay_with(&format!("{START}\nx\ny\n"), options("other"));
    assert_eq!(seen.result.unwrap_err(), "Project hash mismatch: expected other got h");
    assert!(seen.warnings.is_empty());
}

#[test]
fn seq_is_checked_against_zero_at_the_beginning() {
    let seen = replay(&format!("{}\n{}", START.replace("\"seq\":1,", ""), content(0)));
    assert_eq!(seen.warnings, ["Line 2: non-monotonic seq 0 (expected > 0)"]);
    let first = replay(&START.replace("\"seq\":1,", "\"seq\":-4,"));
    assert!(first.warnings.is_empty());
    assert_eq!(first.last_seq, -4.0);
}

/// What a replay without layout finds in a file: its items, read from their places, and its outcome.
fn found_in(path: &Path, options: &FoldOptions) -> (Vec<Vec<u8>>, String) {
    let replay = Replay::open(path, options.clone()).unwrap().complete().unwrap();
    let item =
        |item: &ItemRef| replay.source().bytes_at(item.offset, item.length as usize, &mut Vec::new()).unwrap().to_vec();
    (replay.items().iter().map(item).collect(), format!("{:?}", replay.outcome(None)))
}

#[test]
fn a_long_line_has_the_effect_of_a_short_one_and_its_item_is_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let start = r#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#;
    let with_text = |text: &str| {
        let item = format!(r#"{{"speaker":"human","blocks":[{{"type":"text","text":"{text}"}}]}}"#);
        let lines = [
            start.to_owned(),
            format!(r#"{{"v":1,"seq":2,"type":"content","payload":{{"content":{item}}}}}"#),
            format!(
                r#"{{"v":1,"seq":3,"type":"session_event","x":[[[["{text}"]]]],"payload":{{"severity":"info","message":"m"}}}}"#
            ),
            format!(r#"{{"v":1,"seq":4,"type":"{{}}","payload":{{"content":{item}}}}}"#),
            format!(r#"{{"v":1,"seq":5,"type":"session_metadata","payload":{{"title":"t","x":{{"y":"{text}"}}}}}}"#),
            format!(r#"{{"v":1,"seq":6,"type":"compressed","payload":{{"itemsCompressed":1,"summary":{item}}}"#),
        ];
        (lines.join("\n"), item)
    };
    let mut outcomes = Vec::new();
    for (name, text) in [("short", "é".to_owned()), ("long", "é\\n".repeat(2 << 20))] {
        let (content, item) = with_text(&text);
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        let (items, outcome) = found_in(&path, &FoldOptions::default());
        assert!(items == [item.as_bytes()], "{name}");
        outcomes.push(outcome);
    }
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
}

#[test]
fn long_edits_of_long_items_have_the_effect_of_short_ones() {
    let directory = tempfile::tempdir().unwrap();
    let lines_with = |text: &str| {
        let item = |key: u32| {
            format!(
                r#"{{"blocks":[{{"type":"text","text":"{text}"}}],"speaker":"ai","metadata":{{"chronology":{{"seq":{key},"x":"{text}"}}}}}}"#
            )
        };
        let (five, six, seven, eight) = (item(5), item(6), item(7), item(8));
        let payloads = [
            ("content", format!(r#"{{"content":{five}}}"#)),
            ("content", format!(r#"{{"content":{six}}}"#)),
            ("synthetic_insert", format!(r#"{{"content":{seven},"chronologySeq":7,"afterSeq":5}}"#)),
            (
                "density_mutation",
                format!(r#"{{"removedSeqs":[5],"replacements":[{{"replacedSeq":6,"replacement":{eight}}}]}}"#),
            ),
            (
                "chronology_bind",
                format!(
                    r#"{{"content":{eight},"rowIndex":0,"chronology":{{"seq":9,"userTurn":1,"step":1,"recordedAt":1,"x":"{text}"}}}}"#
                ),
            ),
            ("rewind", format!(r#"{{"itemsRemoved":0,"cutSeq":7,"x":"{text}"}}"#)),
            ("synthetic_insert", format!(r#"{{"content":{five},"chronologySeq":5,"afterSeq":9}}"#)),
        ];
        let lines = payloads.iter().enumerate().map(|(at, (name, payload))| {
            format!("{{\"v\":1,\"seq\":{},\"ts\":\"t\",\"type\":\"{name}\",\"payload\":{payload}}}\n", at + 2)
        });
        format!("{START}\n{}", lines.collect::<String>())
    };
    let mut found = Vec::new();
    for text in ["é".to_owned(), "é\\n".repeat(600 << 10)] {
        let path = directory.path().join(format!("{}.jsonl", text.len()));
        std::fs::write(&path, lines_with(&text)).unwrap();
        let replay = Replay::open(&path, FoldOptions::default()).unwrap().complete().unwrap();
        let items = replay.items().iter().map(|item| {
            let mut json = Vec::new();
            item.append_to(&mut json, replay.markers(), replay.source()).unwrap();
            String::from_utf8(json).unwrap().replace(&text, "T")
        });
        found.push((items.collect::<Vec<_>>(), format!("{:?}", replay.outcome(None))));
    }
    assert_eq!(found[0].0.len(), 3, "{:?}", found[0]);
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
}
