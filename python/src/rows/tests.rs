use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use twox_hash::XxHash3_128;

use super::file_hash::{FileHash, HashedFile};
use super::session_rows::SessionReader;
use super::session_summary::SessionFold;
use session_tape_core::diff::{SessionSteps, Step};
use session_tape_core::disk::BOM;
use session_tape_core::hash::sha256;
use session_tape_core::lines::LineSource;
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::read::{FinalHistory, LineStatus, Replay};
use session_tape_core::task::{Cancellation, Task};
use session_tape_core::{DiffOptions, DiffSource, diff};

const START: &str = r#"{"type":"session_start","payload":{"sessionId":"S","projectHash":"h","startTime":"T"}}"#;

/// A record, with `%` in place of each id and time, which differ from one execution to the next.
fn any_record() -> impl Strategy<Value = String> {
    let item = |speaker: &str, blocks: &str, more: &str| {
        format!(
            r#"{{"ts":"%","type":"content","payload":{{"content":{{"speaker":"{speaker}","blocks":[{blocks}]{more}}}}}}}"#
        )
    };
    let text = |words: &str| format!(r#"{{"type":"text","text":"{words}"}}"#);
    let call = |id: char| format!(r#"{{"type":"tool_call","id":"{id}%","name":"t"}}"#);
    let answer = |id: char| format!(r#"{{"type":"tool_response","callId":"{id}%","result":1}}"#);
    let id = || prop_oneof![Just('a'), Just('b')];
    prop_oneof![
        prop_oneof![Just("x"), Just("y"), Just(r"\u0078")].prop_map(move |words| item("ai", &text(words), "")),
        prop_oneof![Just("x"), Just("y")].prop_map(move |words| item(
            "human",
            &text(words),
            r#","metadata":{"id":"%","model":"m"}"#
        )),
        id().prop_map(move |id| item("ai", &call(id), "")),
        (id(), id()).prop_map(move |(one, other)| item("ai", &format!("{},{}", call(one), call(other)), "")),
        id().prop_map(move |id| item("tool", &answer(id), "")),
        prop_oneof![Just("null"), Just("5"), Just("[]")].prop_map(move |id| item(
            "tool",
            &format!(r#"{{"type":"tool_response","callId":{id},"result":1}}"#),
            ""
        )),
        (id(), id()).prop_map(move |(one, other)| item("tool", &format!("{},{}", answer(one), answer(other)), "")),
        Just(r#"{"type":"rewind","payload":{"itemsRemoved":1}}"#.to_owned()),
        Just(r#"{"type":"rewind","payload":{"itemsRemoved":3}}"#.to_owned()),
        Just(r#"{"type":"compressed","payload":{"summary":{"speaker":"ai"},"itemsCompressed":1}}"#.to_owned()),
        prop_oneof![
            Just(r#"{"type":"new","payload":{"a":1,"b":[-0]}}"#),
            Just(r#"{"payload":{"b":[0.0],"a":1e0},"t\u0079pe":"new"}"#),
            Just(r#"{"v":%,"payload":1,"type":2,"payload":{"a":1,"b":[0]},"type":"new","more":{"type":%}}"#),
            Just("5"),
            Just("null"),
            Just("no JSON"),
            Just("")
        ]
        .prop_map(str::to_owned),
    ]
}

/// The content of a session's file, with `mark` in place of its ids and times.
fn session(records: &[String], mark: &str) -> String {
    let lines = std::iter::once(START).chain(records.iter().map(String::as_str));
    lines.map(|line| line.replace('%', mark) + "\n").collect()
}

/// The steps of a session that is read in these parts.
fn steps(text: &str, parts: &[Range<u64>]) -> Vec<Step> {
    let source = LineSource::in_memory(text.as_bytes().to_vec());
    let (mut reader, mut steps, mut found) = (SessionReader::default(), SessionSteps::default(), Vec::new());
    for part in parts {
        let take = &mut |row: &mut crate::rows::session_rows::SessionRow<'_>| {
            found.extend(row.record.as_ref().map(|record| steps.next(record)))
        };
        reader.read(&source, part.clone(), None, take).unwrap();
    }
    found
}

fn whole(text: &str) -> Vec<Range<u64>> {
    cut(text, text.len())
}

fn cut(text: &str, length: usize) -> Vec<Range<u64>> {
    let end = text.len() as u64;
    (0..end).step_by(length).map(|at| at..(at + length as u64).min(end)).collect()
}

/// The place of the first record at which `diff` finds two sessions to differ, unless one has ended there.
fn first_difference(left: &str, right: &str) -> Option<u64> {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        DiffSource::session(&path)
    };
    let (left, right) = (file("left", left), file("right", right));
    let (never, mut quietly) = (Cancellation::default(), |_| ());
    let mut task = Task { cancellation: &never, progress: &mut quietly };
    let found = diff(&left, &right, &DiffOptions::default(), &mut task).unwrap()?;
    (found.left.is_some() && found.right.is_some()).then_some(found.divergence_event)
}

fn records(most: usize) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(any_record(), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn prefix_keys_diverge_where_diff_does(common in records(6), left in records(5), right in records(5)) {
        let left = session(&[common.clone(), left].concat(), "1");
        let right = session(&[common, right].concat(), "2");
        let (one, other) = (steps(&left, &whole(&left)), steps(&right, &whole(&right)));
        let parting = one.iter().zip(&other).find(|(one, other)| one.prefix != other.prefix).map(|(one, _)| one.place);
        prop_assert_eq!(parting, first_difference(&left, &right));
        // After it they never agree again.
        let apart = one.iter().zip(&other).skip_while(|(one, other)| one.prefix == other.prefix);
        prop_assert!(apart.into_iter().all(|(one, other)| one.prefix != other.prefix));
    }

    #[test]
    fn a_session_has_the_same_steps_in_any_parts(records in records(12), length in 1usize..400) {
        let text = session(&records, "1");
        prop_assert_eq!(steps(&text, &cut(&text, length)), steps(&text, &whole(&text)));
    }

    #[test]
    fn the_final_history_is_known_before_the_parts_are_read(
        records in records(20),
        length in 1usize..600,
        most_lines in 1usize..6,
        with_sha256 in any::<bool>(),
    ) {
        let text = session(&records, "1");
        let source = Arc::new(LineSource::in_memory(text.clone().into_bytes()));
        let (parts, history) = FinalHistory::find(&source, cut(&text, length), most_lines).unwrap();
        let (mut reader, mut found, mut hash) = (SessionReader::default(), Vec::new(), FileHash::default());
        if with_sha256 {
            hash = hash.with_sha256();
        }
        for (at, part) in parts.iter().enumerate() {
            let read = reader.read(&source, part.clone(), Some(&mut hash), &mut |_| {}).unwrap();
            prop_assert!(read.lines <= most_lines as u64);
            hash.add(&source, read.end);
            found.extend(read.items().take(history.remaining(at) as usize));
        }
        let sha256 = with_sha256.then(|| sha256([text.as_bytes()]));
        let fingerprint = XxHash3_128::oneshot(text.as_bytes());
        let hashed = HashedFile { bytes: text.len() as u64, fingerprint, sha256 };
        prop_assert_eq!(hash.finish(&source), hashed);
        let whole = reader.read(&source, 0..text.len() as u64, None, &mut |_| {}).unwrap();
        prop_assert_eq!(found, whole.items().collect::<Vec<_>>());
    }

    #[test]
    fn lines_have_the_status_that_a_replay_counts(
        lines in proptest::collection::vec(prop_oneof![any_record(), "[\\[{\"}\\] a5]{0,6}"], 0..12),
        is_whole in any::<bool>(),
    ) {
        let mut text = session(&lines, "1");
        if !is_whole {
            text.push_str("{\"torn");
        }
        let source = LineSource::in_memory(text.clone().into_bytes());
        let mut statuses = Vec::new();
        let part = SessionReader::default()
            .read(&source, 0..text.len() as u64, None, &mut |row| statuses.push(row.status)).unwrap();
        let mut fold = SessionFold::default();
        let items = part.items().len() as u64;
        fold.add(part);
        // A last line that does not parse is torn, and counts nowhere.
        statuses.pop_if(|last| *last == Some(LineStatus::Unparseable));
        let count = |status| statuses.iter().filter(|found| **found == Some(status)).count() as u64;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let replay = Replay::open(file.path(), FoldOptions::default()).unwrap().complete().unwrap();
        let outcome = replay.outcome(None);
        let warnings = outcome.warnings.iter().map(ToString::to_string);
        let unparseable = warnings.filter(|warning| warning.ends_with("failed to parse JSON")).count() as u64;
        prop_assert_eq!(count(LineStatus::Unparseable), unparseable);
        let events = [LineStatus::Ok, LineStatus::Malformed, LineStatus::Unknown].map(count);
        prop_assert_eq!(events.iter().sum::<u64>(), outcome.event_count);
        let summary = fold.finish(items);
        prop_assert_eq!(summary.error, None);
        prop_assert_eq!(summary.history_length, replay.items().len() as u64);
        prop_assert_eq!(summary.sequence_corrupt, outcome.is_out_of_sequence);
    }
}

#[test]
fn a_line_that_was_skipped_is_without_bom_and_line_ending() {
    let junk = vec![b'x'; 300_000];
    for (bom, ending) in [(&b""[..], &b"\n"[..]), (BOM, b"\r\n"), (BOM, b""), (b"", b"\r\r\n")] {
        let text = [bom, &junk, ending].concat();
        let content = &text[bom.len()..text.len() - ending.len()];
        let content = if ending == b"\r\r\n" { [content, b"\r"].concat() } else { content.to_vec() };
        let source = LineSource::in_memory(text.clone());
        let mut found = Vec::new();
        let read = SessionReader::default().read(&source, 0..text.len() as u64, None, &mut |row| {
            found.push((row.offset, row.length, row.sha256));
        });
        assert_eq!(read.unwrap().lines, 1);
        assert_eq!(found, [(bom.len() as u64, content.len() as u64, sha256([&content[..]]))]);
    }
}

#[test]
fn a_line_that_was_skipped_has_its_hash() {
    let zeros = vec![0; 3 << 20];
    let text = [START.as_bytes(), b"\n", &zeros, b"\n5\n\0"].concat();
    let source = LineSource::in_memory(text.clone());
    let mut found = Vec::new();
    let read = SessionReader::default().read(&source, 0..text.len() as u64, None, &mut |row| {
        let line = &text[row.offset as usize..][..row.length as usize];
        assert_eq!(row.sha256, sha256([line]));
        found.push((row.status == Some(LineStatus::Unparseable), row.length));
    });
    assert_eq!(read.unwrap().lines, 4);
    assert_eq!(found[1..], [(true, 3 << 20), (false, 1), (true, 1)]);
}

#[test]
fn steps_with_different_integers_beyond_2_to_the_53_have_different_keys() {
    let key = |id: &str| {
        let item = format!(
            r#"{{"type":"content","payload":{{"content":{{"speaker":"ai","blocks":[{{"type":"tool_call","id":"c","name":"t","parameters":{{"id":{id}}}}}]}}}}}}"#
        );
        let text = [START.as_bytes(), b"\n", item.as_bytes(), b"\n"].concat();
        let source = LineSource::in_memory(text.clone());
        let (mut keys, mut steps) = (Vec::new(), SessionSteps::default());
        let read = SessionReader::default().read(&source, 0..text.len() as u64, None, &mut |row| {
            keys.extend(row.record.as_ref().map(|record| steps.next(record).key));
        });
        assert_eq!(read.unwrap().lines, 2);
        keys
    };
    assert_ne!(key("9007199254740993"), key("9007199254740992"));
    assert_eq!(key("9007199254740992"), key("9007199254740992.0"));
}
