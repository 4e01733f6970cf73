use super::*;
use crate::hash::sha256_hex;
use crate::run::format::EventLine;
use crate::run::record::recorded::{Recorded, lines};
use crate::run::record::resume::resume;
use crate::run::sample::{Sample, SampleEvent, any_options};
use proptest::prelude::*;

const TS: &str = "2026-02-11T16:00:00.000Z";

/// The salt of an event of a recorded sample.
fn salt(time: u64) -> Salt {
    *sha256_hex([&time.to_le_bytes()]).first_chunk().unwrap()
}

/// Records an event as in its log, with an explicit parent.
fn record(recording: &mut RunRecording, recorded: &Recorded, time: usize) -> Result<Vec<u8>, RunError> {
    let record = &recorded.records[time];
    let parent = record.parent.map(event_id);
    let node = record.node.as_deref().map(Text::from_plain);
    let input = EventInput { kind: record.kind, node, parent: parent.as_deref() };
    let mut line = Vec::new();
    let payload = record.payload.to_string();
    let taken = recording.record(&input, &payload, TS, &salt(time as u64), &mut line)?;
    assert_eq!(taken, time as u64);
    Ok(line)
}

/// The state and the hashes of a recording.
fn snapshot(recording: &RunRecording) -> (State, HexHash, HexHash) {
    (recording.state().clone(), recording.state_hash(), *recording.last_hash())
}

fn begun() -> (RunRecording, u64) {
    let sample = Sample::new(Default::default());
    let mut recording = RunRecording::new(sample.dag.clone());
    for event in &sample.events[..2] {
        record_sampled(&mut recording, event).unwrap();
    }
    (recording, 2)
}

fn record_sampled(recording: &mut RunRecording, event: &SampleEvent) -> Result<Vec<u8>, RunError> {
    let node = event.node.as_deref().map(Text::from_plain);
    let mut line = Vec::new();
    let input = EventInput { kind: event.kind, node, parent: None };
    recording.record(&input, &event.payload, TS, &salt(event.time), &mut line).map(|_| line)
}

fn error_event(recording: &mut RunRecording, message: &str, parent: Option<&str>) -> Result<Vec<u8>, RunError> {
    let payload = format!(r#"{{"code":"c","message":"{message}","recoverable":true}}"#);
    let mut line = Vec::new();
    let input = EventInput { kind: Kind::Error, node: None, parent };
    recording.record(&input, &payload, TS, &salt(0), &mut line).map(|_| line)
}

#[test]
fn line_of_the_maximum_length_is_accepted_and_no_longer_one() {
    let (mut recording, _) = begun();
    let shortest = error_event(&mut recording, "", None).unwrap().len() - 1;
    let room = MAX_LINE_BYTES - shortest;
    let before = snapshot(&recording);
    let error = error_event(&mut recording, &"x".repeat(room + 1), None).unwrap_err();
    assert_eq!((error.code, error.time), (ErrorCode::TooLarge, Some(3)));
    assert_eq!(snapshot(&recording), before);
    let line = error_event(&mut recording, &"x".repeat(room), None).unwrap();
    assert_eq!(line.len(), MAX_LINE_BYTES + 1);
    let line = std::str::from_utf8(&line[..MAX_LINE_BYTES]).unwrap();
    assert_eq!(EventLine::parse(line, &mut Nesting::default()).unwrap().time, 3);
}

#[test]
fn a_cause_that_is_no_earlier_event_is_refused() {
    let (mut recording, next) = begun();
    for parent in ["", "1", "evt_", "evt_01", "evt_-1", "evt_1 ", "EVT_1", "evt_2", "evt_3", "evt_99999999999999999999"]
    {
        let before = snapshot(&recording);
        let error = error_event(&mut recording, "", Some(parent)).unwrap_err();
        assert_eq!((error.code, error.time), (ErrorCode::ParentMissing, Some(next)), "{parent}");
        assert!(error.found.is_some() && error.expected.is_some());
        assert_eq!(snapshot(&recording), before);
    }
    let line = error_event(&mut recording, "", Some("evt_0")).unwrap();
    assert!(String::from_utf8(line).unwrap().contains(r#""parent":0,"#));
}

#[test]
fn node_defaults_to_that_of_the_task() {
    let (mut recording, _) = begun();
    let node = recording.state().dag().nodes().iter().find(|node| node.dependencies.is_empty()).unwrap().id.clone();
    let mut schedule = |task: &str| {
        let payload = format!(r#"{{"task":"{task}","dependsOn":[]}}"#);
        let input = EventInput { kind: Kind::NodeScheduled, node: None, parent: None };
        let mut line = Vec::new();
        recording.record(&input, &payload, TS, &salt(2), &mut line).map(|_| String::from_utf8(line).unwrap())
    };
    for (task, code) in [
        ("nobody#1".to_owned(), ErrorCode::IllegalTransition),
        (node.as_json().to_owned() + "#x", ErrorCode::IllegalTransition),
        ("no task".to_owned(), ErrorCode::MissingField),
    ] {
        assert_eq!(schedule(&task).unwrap_err().code, code, "{task}");
    }
    let line = schedule(&format!("{}#1", node.as_json())).unwrap();
    assert!(line.contains(&format!(r#""node":"{}","parent":1,"#, node.as_json())), "{line}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn recording_reproduces_an_existing_log(options in any_options()) {
        let recorded = Recorded::new(options);
        let mut recording = RunRecording::new(recorded.sample.dag.clone());
        for (time, expected) in lines(&recorded.records).iter().enumerate() {
            prop_assert_eq!(&record(&mut recording, &recorded, time).unwrap(), expected);
            prop_assert_eq!(recording.state_hash(), recorded.records[time].state_hash);
        }
    }

    #[test]
    fn log_truncated_anywhere_resumes_to_the_same_run(options in any_options(), at in any::<prop::sample::Index>()) {
        let recorded = Recorded::new(options);
        let log = recorded.log();
        let cut = at.index(log.len() + 1);
        std::fs::write(recorded.directory.log(), &log[..cut]).unwrap();
        let resumed = resume(&recorded.directory.log(), recorded.sample.dag.clone()).unwrap();
        let whole = resumed.whole_bytes as usize;
        prop_assert_eq!(whole + resumed.torn_bytes as usize, cut);
        let next = memchr::memchr_iter(b'\n', &log[..whole]).count();
        prop_assert_eq!(resumed.recording.is_some(), next > 0);
        let mut recording = resumed.recording.unwrap_or_else(|| RunRecording::new(recorded.sample.dag.clone()));
        let mut written = log[..whole].to_vec();
        for time in next..recorded.records.len() {
            written.extend(record(&mut recording, &recorded, time).unwrap());
        }
        prop_assert!(written == log);
        // Implied parents are the same as well.
        let mut uncut = RunRecording::new(recorded.sample.dag.clone());
        let all = (0..recorded.records.len()).map(|time| record(&mut uncut, &recorded, time)).last();
        prop_assert!(all.unwrap().is_ok());
        prop_assert_eq!(error_event(&mut recording, "", None), error_event(&mut uncut, "", None));
    }

    #[test]
    fn a_refused_event_changes_nothing(options in any_options(), at in any::<prop::sample::Index>(), other in any::<prop::sample::Index>(), what in 0..3) {
        let recorded = Recorded::new(options);
        let mut recording = RunRecording::new(recorded.sample.dag.clone());
        let at = at.index(recorded.records.len());
        for time in 0..at {
            record(&mut recording, &recorded, time).unwrap();
        }
        // An event of another time, complete or with something missing.
        let other = &recorded.records[other.index(recorded.records.len())];
        let node = other.node.as_deref().map(Text::from_plain).filter(|_| what != 1);
        let payload = if what == 2 { "{}".to_owned() } else { other.payload.to_string() };
        let input = EventInput { kind: other.kind, node, parent: None };
        let (before, mut line) = (snapshot(&recording), Vec::new());
        if recording.record(&input, &payload, TS, &salt(0), &mut line).is_err() {
            prop_assert_eq!(snapshot(&recording), before);
            let expected = lines(&recorded.records)[at].clone();
            prop_assert_eq!(record(&mut recording, &recorded, at).unwrap(), expected);
        }
    }
}
