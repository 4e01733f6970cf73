//! Helpers for the tests of this module, and tests of the comparison as a whole.

use std::io::Write;
use std::path::Path;

use super::align::{Compared, DivergenceKind, Edit, Op};
use super::ancestry::{Cause, Chain, trace_ancestors};
use super::compare::{Diff, DiffOptions, diff};
use super::document;
use super::error::{DiffError, Side};
use super::projection::{Field, Pointer};
use super::stream::Source;
use crate::json::JsonText;
use crate::task::{Cancellation, Task};

fn print(diff: Option<&Diff>) -> String {
    let mut json = JsonText::default();
    document::print(&mut json, diff);
    String::from_utf8(json.into_bytes()).unwrap()
}

/// A task without progress or cancellation.
pub fn silent() -> Task<'static> {
    Task { cancellation: Box::leak(Box::default()), progress: Box::leak(Box::new(|_| {})) }
}

/// A temporary file with this text.
pub fn session_file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// The ancestors of an event.
pub fn trace(path: &Path, id: &str) -> Result<Chain, DiffError> {
    trace_ancestors(&Source::find(path).unwrap(), id, &mut silent())
}

/// Compares two recordings, and checks that a second comparison gives the same bytes.
pub fn diff_of(left: &Path, right: &Path, options: &DiffOptions) -> Result<Option<Diff>, DiffError> {
    let (left, right) = (Source::find(left).unwrap(), Source::find(right).unwrap());
    let found = diff(&left, &right, options, &mut silent())?;
    let again = diff(&left, &right, options, &mut silent())?;
    assert_eq!(print(found.as_ref()), print(again.as_ref()));
    let _: serde_json::Value = serde_json::from_str(&print(found.as_ref())).unwrap();
    Ok(found)
}

fn full() -> DiffOptions {
    DiffOptions { full: true, ..DiffOptions::default() }
}

mod runs {
    use super::*;
    use crate::hash::{HEX_BYTES, sha256_hex};
    use crate::json::Text;
    use crate::run::testing::{Chance, Envelope, GENESIS, Sample, any_options, append_line};
    use crate::run::{Kind, RunDirectory};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// An event to record.
    #[derive(Clone, Debug)]
    struct Recorded {
        kind: Kind,
        node: Option<String>,
        parent: Option<u64>,
        payload: Value,
    }

    fn events(sample: &Sample) -> Vec<Recorded> {
        let event = |event: &crate::run::testing::SampleEvent| Recorded {
            kind: event.kind,
            node: event.node.clone(),
            parent: event.parent,
            payload: serde_json::from_str(&event.payload).unwrap(),
        };
        sample.events.iter().map(event).collect()
    }

    fn is_left_out(kind: Kind) -> bool {
        matches!(kind, Kind::SnapshotCreated | Kind::SnapshotRestored | Kind::BlobStored | Kind::Heartbeat)
    }

    /// The same execution recorded again: with other ids, and with other snapshots, blobs and heartbeats in between.
    fn once_more(events: &[Recorded], seed: u64) -> Vec<Recorded> {
        let mut chance = Chance(seed);
        let mut again: Vec<Recorded> = Vec::new();
        let mut times: Vec<u64> = Vec::new();
        for event in events {
            while !again.is_empty() && chance.percent(20) {
                again.push(in_between(again.len() as u64, &mut chance));
            }
            let moved = |time: u64| times[time as usize];
            let mut event = event.clone();
            // If the parent is the event right before, it may become one of the events added in between.
            let is_next =
                event.parent == Some(times.len() as u64).and_then(|time| time.checked_sub(1)) && chance.percent(50);
            event.parent = event.parent.map(|time| if is_next { again.len() as u64 - 1 } else { moved(time) });
            for list in [event.payload.get_mut("dependsOn").and_then(Value::as_array_mut)].into_iter().flatten() {
                list.iter_mut().for_each(|time| *time = json!(moved(time.as_u64().unwrap())));
            }
            if let Some(because) = event.payload.get_mut("because").filter(|because| because.is_u64()) {
                *because = json!(moved(because.as_u64().unwrap()));
            }
            if let Some(run_id) = event.payload.get_mut("runId") {
                *run_id = json!(format!("again-{seed}"));
            }
            if let Some(call) = event.payload.get_mut("call") {
                *call = json!(format!("{seed} \"{}\"", call.as_str().unwrap()));
            }
            if is_left_out(event.kind) && chance.percent(50) {
                times.push(again.len() as u64 - 1);
                continue;
            }
            times.push(again.len() as u64);
            again.push(event);
        }
        again
    }

    fn in_between(time: u64, chance: &mut Chance) -> Recorded {
        let hash = "0".repeat(64);
        let (kind, payload) = match chance.below(3) {
            0 => (
                Kind::SnapshotCreated,
                json!({ "snapshot": format!("snap_{time}"), "stateHash": hash, "at": time - 1 }),
            ),
            1 => (Kind::BlobStored, json!({ "blob": hash, "size": 1 })),
            _ => (Kind::Heartbeat, json!({ "worker": "w", "status": "idle" })),
        };
        Recorded { kind, node: None, parent: Some(time - 1), payload }
    }

    /// A run of these events. `seed` determines its salts and times.
    struct Run(tempfile::TempDir);

    impl Run {
        fn new(sample: &Sample, events: &[Recorded], seed: u64) -> Self {
            let root = tempfile::tempdir().unwrap();
            let directory = RunDirectory::new(root.path());
            std::fs::write(directory.dag(), sample.dag.text()).unwrap();
            std::fs::write(directory.log(), log(events, seed)).unwrap();
            Run(root)
        }

        fn path(&self) -> &Path {
            self.0.path()
        }
    }

    fn log(events: &[Recorded], seed: u64) -> Vec<u8> {
        let (mut log, mut previous) = (Vec::new(), GENESIS);
        for (time, event) in (0..).zip(events) {
            let node = event.node.as_deref().map(Text::from_plain);
            let ts = format!("2026-02-11T16:00:{:02}.000Z", (time + seed) % 60);
            let (kind, node) = (event.kind.as_str(), node.as_ref().map(Text::as_json));
            let envelope = Envelope { time, ts: &ts, kind, node, parent: event.parent };
            let salt = *sha256_hex([&(time + seed).to_le_bytes()]).first_chunk().unwrap();
            let payload = event.payload.to_string();
            previous = append_line(&mut log, &previous, &envelope, &[b'0'; HEX_BYTES], &salt, payload.as_bytes());
        }
        log
    }

    fn compared(events: &[Recorded]) -> Vec<u64> {
        (0..).zip(events).filter(|(_, event)| !is_left_out(event.kind)).map(|(time, _)| time).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn executions_recorded_twice_are_equal(options in any_options(), seed in 0u64..1000) {
            let sample = Sample::new(options);
            let events = events(&sample);
            let (left, right) = (Run::new(&sample, &events, 1), Run::new(&sample, &once_more(&events, seed), seed));
            let found = diff_of(left.path(), right.path(), &full()).unwrap();
            prop_assert!(found.is_none(), "{}", print(found.as_ref()));
            let heartbeats = DiffOptions { compared: Compared { heartbeats: true, ..Compared::default() }, full: false };
            prop_assert!(diff_of(left.path(), left.path(), &heartbeats).unwrap().is_none());
        }

        #[test]
        fn changed_output_is_the_divergence(options in any_options(), seed in 0u64..1000, at in any::<prop::sample::Index>()) {
            let sample = Sample::new(options);
            let events = events(&sample);
            let outputs: Vec<usize> = (0..events.len()).filter(|&at| events[at].payload.get("outputHash").is_some()).collect();
            prop_assume!(!outputs.is_empty());
            let mut changed = events.clone();
            let at = outputs[at.index(outputs.len())];
            changed[at].payload["outputHash"] = json!("other");
            let again = once_more(&changed, seed);
            let (left, right) = (Run::new(&sample, &events, 1), Run::new(&sample, &again, seed));
            let found = diff_of(left.path(), right.path(), &full()).unwrap().unwrap();
            let place = compared(&events).iter().position(|&time| time == at as u64).unwrap();
            let time = compared(&again)[place];
            prop_assert_eq!((found.divergence_event, found.kind), (at as u64, DivergenceKind::EventMismatch));
            prop_assert_eq!(&found.right.as_ref().unwrap().event_id, &format!("evt_{time}"));
            let paths: Vec<_> = found.fields.iter().map(|field| field.path.as_str()).collect();
            prop_assert_eq!(&paths, &["/payload/outputHash"]);
            let is_tools = events[at].kind == Kind::ToolCompleted;
            prop_assert_eq!(found.likely_cause, if is_tools { Cause::ExternalDataChanged } else { Cause::Unknown });
            // The chain on the right may differ: an added event that is not compared there has a parent of its own.
            let place_of = |events: &[Recorded], time: u64| compared(events).iter().position(|&compared| compared == time);
            let rights: Vec<_> = found.chains[1].edges.iter().filter_map(|edge| place_of(&again, edge.number)).collect();
            let is_common = |time: u64| place_of(&events, time).is_some_and(|place| rights.contains(&place));
            let ancestor = found.chains[0].edges.iter().find(|edge| is_common(edge.number));
            prop_assert_eq!(&found.common_ancestor, &ancestor.map(|edge| edge.event_id.clone()));
            let edits = found.edits.unwrap();
            let expected = Edit { op: Op::Change, left: Some(at as u64), right: Some(time), fields: Some(found.fields) };
            prop_assert_eq!(edits.edits, Some(vec![expected]));
            let length: u64 = edits.equal.iter().map(|equal| equal.length).sum();
            prop_assert_eq!(length as usize, compared(&events).len() - place - 1);
            let ignore = vec![Pointer::parse("/payload/outputHash").unwrap()];
            let ignoring = DiffOptions { compared: Compared { ignore, ..Compared::default() }, full: true };
            prop_assert!(diff_of(left.path(), right.path(), &ignoring).unwrap().is_none());
        }

        #[test]
        fn inserted_or_removed_event_is_one_edit(options in any_options(), at in any::<prop::sample::Index>(), seed in 0u64..1000) {
            let sample = Sample::new(options);
            let events = events(&sample);
            prop_assume!(events.len() > 2);
            // An event that causes no other and differs from all of them. It must not precede an event that is left out: references to
            // that one would count as references to it.
            let at = 1 + at.index(events.len() - 1);
            prop_assume!(!is_left_out(events[at].kind));
            let extra = json!({ "code": "X", "message": "", "recoverable": true });
            let extra = Recorded { kind: Kind::Error, node: None, parent: Some(0), payload: extra };
            let behind = |time: u64| if time >= at as u64 { time + 1 } else { time };
            let rest = {
                let mut moved = events.clone();
                moved.insert(at, extra);
                for event in &mut moved[at + 1..] {
                    event.parent = event.parent.map(behind);
                    for list in [event.payload.get_mut("dependsOn").and_then(Value::as_array_mut)].into_iter().flatten() {
                        list.iter_mut().for_each(|time| *time = json!(behind(time.as_u64().unwrap())));
                    }
                    if let Some(because) = event.payload.get_mut("because").filter(|because| because.is_u64()) {
                        *because = json!(behind(because.as_u64().unwrap()));
                    }
                }
                moved
            };
            let (left, right) = (Run::new(&sample, &events, 1), Run::new(&sample, &rest, seed));
            let found = diff_of(left.path(), right.path(), &full()).unwrap().unwrap();
            let edits = found.edits.unwrap().edits.unwrap();
            prop_assert_eq!(edits, vec![Edit { op: Op::Insert, left: None, right: Some(at as u64), fields: None }]);
            let found = diff_of(right.path(), left.path(), &full()).unwrap().unwrap();
            prop_assert_eq!(found.edits.unwrap().edits.unwrap(), vec![Edit { op: Op::Delete, left: Some(at as u64), right: None, fields: None }]);
        }

        #[test]
        fn shorter_log_diverges_at_its_end(options in any_options(), seed in 0u64..1000, at in any::<prop::sample::Index>()) {
            let sample = Sample::new(options);
            let events = events(&sample);
            let places = compared(&events);
            prop_assume!(places.len() > 1);
            let cut = 1 + at.index(places.len() - 1);
            let shorter = once_more(&events[..places[cut] as usize], seed);
            let (left, right) = (Run::new(&sample, &events, 1), Run::new(&sample, &shorter, seed));
            let found = diff_of(left.path(), right.path(), &full()).unwrap().unwrap();
            prop_assert_eq!((found.kind, found.divergence_event), (DivergenceKind::RightEnded, places[cut]));
            prop_assert_eq!((found.likely_cause, found.right), (Cause::LogTruncated, None));
            prop_assert_eq!(found.edits.unwrap().edits.unwrap().len(), places.len() - cut);
            let found = diff_of(right.path(), left.path(), &DiffOptions::default()).unwrap().unwrap();
            prop_assert_eq!((found.kind, found.divergence_event), (DivergenceKind::LeftEnded, places[cut]));
            prop_assert!(found.left.is_none() && found.chain().edges == found.chains[1].edges);
        }

        #[test]
        fn a_partial_log_is_compared_from_where_it_begins(options in any_options(), at in any::<prop::sample::Index>(), seed in 0u64..1000) {
            let sample = Sample::new(options);
            let events = events(&sample);
            let at = at.index(events.len());
            let (left, right) = (Run::new(&sample, &events, 1), Run::new(&sample, &events, seed));
            let log = log(&events, seed);
            let cut = memchr::memchr_iter(b'\n', &log).nth(at).map_or(0, |newline| newline + 1);
            std::fs::write(RunDirectory::new(right.path()).log(), &log[cut..]).unwrap();
            for first in [Some(at as u64 + 1), None].into_iter().take(if cut == log.len() { 1 } else { 2 }) {
                let (left, right) = (Source::run(left.path()), Source { first, ..Source::run(right.path()) });
                for (left, right) in [(&left, &right), (&right, &left)] {
                    let found = diff(left, right, &full(), &mut silent()).unwrap();
                    prop_assert!(found.is_none(), "{}", print(found.as_ref()));
                }
            }
        }
    }

    fn of(kind: Kind, node: Option<&str>, parent: u64, payload: Value) -> Recorded {
        Recorded { kind, node: node.map(str::to_owned), parent: Some(parent), payload }
    }

    /// A run up to and including the response of a tool.
    fn answered(run_id: &str, output: &str) -> Vec<Recorded> {
        let workers = json!([{ "id": "w1", "capabilities": [] }]);
        let created = json!({ "runId": run_id, "workflow": { "name": "n", "version": "1" }, "dagHash": "d", "scheduler": "external", "capabilities": ["b", "a"] });
        let mut events = vec![Recorded { parent: None, ..of(Kind::RunCreated, None, 0, created) }];
        events.push(of(Kind::RunStarted, None, 0, json!({ "workers": workers })));
        events.push(of(Kind::NodeScheduled, Some("a"), 1, json!({ "task": "a#1", "dependsOn": [] })));
        events.push(of(Kind::TaskAssigned, Some("a"), 2, json!({ "task": "a#1", "worker": "w1" })));
        events.push(of(Kind::NodeStarted, Some("a"), 3, json!({ "task": "a#1", "worker": "w1", "inputHash": "i" })));
        events.push(of(Kind::ToolInvoked, Some("a"), 4, json!({ "tool": "t", "call": run_id, "requestHash": "q" })));
        let answer =
            json!({ "tool": "t", "call": run_id, "rawHash": output, "outputHash": output, "normalizer": "none" });
        events.push(of(Kind::ToolCompleted, Some("a"), 5, answer));
        events
    }

    fn found(left: &[Recorded], right: &[Recorded]) -> Option<Diff> {
        let sample = Sample::new(crate::run::testing::SampleOptions { max_events: 1, ..Default::default() });
        let (left, right) = (Run::new(&sample, left, 1), Run::new(&sample, right, 2));
        diff_of(left.path(), right.path(), &full()).unwrap()
    }

    /// The result when the event at `at` of the right side is changed.
    fn cause_of(at: usize, change: impl Fn(&mut Recorded)) -> (Cause, DivergenceKind, Vec<String>) {
        let left = answered("one", "x");
        let mut right = answered("two", "x");
        change(&mut right[at]);
        let found = found(&left, &right).unwrap();
        assert_eq!(found.divergence_event, at as u64);
        (found.likely_cause, found.kind, found.fields.into_iter().map(|field| field.path).collect())
    }

    #[test]
    fn likely_causes_are_named() {
        let mismatch = |at: usize, path: &'static str, value: Value| {
            let (cause, kind, paths) = cause_of(at, |event| event.payload[path] = value.clone());
            assert_eq!(kind, DivergenceKind::EventMismatch);
            assert!(paths.iter().all(|found| found.starts_with(&format!("/payload/{path}"))), "{paths:?}");
            cause
        };
        assert_eq!(mismatch(6, "outputHash", json!("y")), Cause::ExternalDataChanged);
        assert_eq!(mismatch(6, "rawHash", json!("y")), Cause::ExternalDataChanged);
        assert_eq!(mismatch(6, "normalizer", json!("json")), Cause::Unknown);
        assert_eq!(mismatch(5, "requestHash", json!("y")), Cause::InputChanged);
        assert_eq!(mismatch(5, "tool", json!("y")), Cause::Unknown);
        assert_eq!(mismatch(5, "version", json!("y")), Cause::WorkflowChanged);
        assert_eq!(mismatch(4, "inputHash", json!("y")), Cause::InputChanged);
        assert_eq!(mismatch(4, "worker", json!("y")), Cause::ScheduleChanged);
        assert_eq!(mismatch(3, "worker", json!("y")), Cause::ScheduleChanged);
        assert_eq!(mismatch(1, "workers", json!([])), Cause::ScheduleChanged);
        assert_eq!(mismatch(0, "scheduler", json!("round-robin")), Cause::ScheduleChanged);
        assert_eq!(mismatch(0, "capabilities", json!(["c"])), Cause::PolicyChanged);
        for (path, value) in [("dagHash", json!("y")), ("workflow", json!({ "name": "n", "version": "2" }))] {
            let (cause, kind, _) = cause_of(0, |event| event.payload[path] = value.clone());
            assert_eq!((cause, kind), (Cause::WorkflowChanged, DivergenceKind::HeaderMismatch));
        }
        let failed = |event: &mut Recorded| {
            event.kind = Kind::ToolFailed;
            event.payload = json!({ "tool": "t", "call": "two", "code": "E", "message": "" });
        };
        assert_eq!(cause_of(6, failed).0, Cause::ExternalDataChanged);
        let allowed = |event: &mut Recorded| {
            event.kind = Kind::PolicyDecision;
            event.payload = json!({ "decision": "d", "rule": "r", "allowed": false });
        };
        assert_eq!(cause_of(5, allowed).0, Cause::PolicyChanged);
        let noted = |event: &mut Recorded| {
            event.kind = Kind::Error;
            event.payload = json!({ "code": "d", "message": "r", "recoverable": false });
        };
        assert_eq!(cause_of(5, noted).0, Cause::Unknown);
    }

    #[test]
    fn equivalent_spellings_are_equal() {
        let left = answered("one", "x");
        let mut right = answered("two", "x");
        right[0].payload["capabilities"] = json!(["a", "b", "a"]);
        right[2].payload["priority"] = Value::Null;
        right[5].payload["version"] = Value::Null;
        assert!(found(&left, &right).is_none());
        // A call is identified by its place, not by its id.
        let two_calls = |order: [usize; 2]| {
            let mut events = answered("one", "x");
            events.truncate(6);
            events.push(Recorded {
                payload: json!({ "tool": "t", "call": "second", "requestHash": "q" }),
                ..events[5].clone()
            });
            let call = |index: usize| if index == 0 { "one" } else { "second" };
            for index in order {
                let answer = json!({ "tool": "t", "call": call(index), "rawHash": "r", "outputHash": "o", "normalizer": "none" });
                events.push(of(Kind::ToolCompleted, Some("a"), 5, answer));
            }
            events
        };
        let found = found(&two_calls([0, 1]), &two_calls([1, 0])).unwrap();
        assert_eq!((found.divergence_event, found.fields[0].path.as_str()), (7, "/payload/call"));
        assert_eq!(found.edits.unwrap().edits.unwrap().len(), 2);
    }

    #[test]
    fn reordered_events_are_a_scheduling_difference() {
        let left = answered("one", "x");
        let note = |code: &str| of(Kind::Error, None, 1, json!({ "code": code, "message": "", "recoverable": true }));
        let [mut one, mut other] = [left.clone(), left];
        one.extend([note("A"), note("B")]);
        other.extend([note("B"), note("A")]);
        let found = found(&one, &other).unwrap();
        assert_eq!((found.likely_cause, found.divergence_event), (Cause::ScheduleChanged, 7));
        assert_eq!(found.edits.unwrap().edits.unwrap().len(), 2);
    }

    #[test]
    fn changed_parent_is_a_difference_even_after_an_insertion() {
        let note = |code: &str, parent| {
            of(Kind::Error, None, parent, json!({ "code": code, "message": "", "recoverable": true }))
        };
        let [mut one, mut other] = [answered("one", "x"), answered("two", "x")];
        one.extend([note("A", 1), note("B", 1), note("C", 7), note("D", 8)]);
        other.extend([note("X", 1), note("A", 1), note("B", 1), note("C", 9), note("D", 9)]);
        let edits = found(&one, &other).unwrap().edits.unwrap();
        let parent = Field { path: "/parent".into(), left: Some("7".into()), right: Some("9".into()), note: None };
        let expected = [
            Edit { op: Op::Insert, left: None, right: Some(7), fields: None },
            Edit { op: Op::Change, left: Some(9), right: Some(10), fields: Some(vec![parent]) },
        ];
        assert_eq!(edits.edits.unwrap(), expected);
        let equal: Vec<_> = edits.equal.iter().map(|equal| (equal.left, equal.right, equal.length)).collect();
        assert_eq!(equal, [(7, 8, 2), (10, 11, 1)]);
    }

    #[test]
    fn damage_is_reported_with_its_event_unless_the_logs_diverge_before() {
        let sample = Sample::new(crate::run::testing::SampleOptions { max_events: 1, ..Default::default() });
        let (left, right) = (Run::new(&sample, &answered("one", "x"), 1), Run::new(&sample, &answered("two", "x"), 1));
        let path = RunDirectory::new(right.path()).log();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, whole.replacen("\"time\":4,", "\"time\":5,", 1)).unwrap();
        let error = diff_of(left.path(), right.path(), &full()).unwrap_err();
        assert_eq!(
            (error.code(), error.side(), error.run_error().unwrap().time),
            ("TimeGap", Some(Side::Right), Some(5))
        );
        assert_eq!(
            trace(right.path(), "evt_4").map(|chain| chain.edges.len()).map_err(|error| error.code()),
            Err("TimeGap")
        );
        std::fs::write(&path, whole.replacen("\"time\":4,", "\"time\":5,", 1).replacen("\"w1\"", "\"w2\"", 1)).unwrap();
        let options = DiffOptions::default();
        assert_eq!(diff_of(left.path(), right.path(), &options).unwrap().unwrap().divergence_event, 1);
        std::fs::write(&path, format!("{whole}{{\"v\":1,")).unwrap();
        assert!(diff_of(left.path(), right.path(), &full()).unwrap().is_none(), "a torn end is no part of a run");
        std::fs::write(&path, "").unwrap();
        assert_eq!(diff_of(left.path(), right.path(), &full()).unwrap_err().code(), "EmptyLog");
        std::fs::remove_file(&path).unwrap();
        let error = diff_of(left.path(), right.path(), &full()).unwrap_err();
        assert_eq!((error.code(), error.system().is_some()), ("ENOENT", true));
    }

    #[test]
    fn refuses_to_compare_a_run_with_a_session() {
        let sample = Sample::new(crate::run::testing::SampleOptions { max_events: 1, ..Default::default() });
        let run = Run::new(&sample, &answered("one", "x"), 1);
        let session = session_file(r#"{"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#);
        for (left, right) in [(run.path(), session.path()), (session.path(), run.path())] {
            assert_eq!(diff_of(left, right, &full()).unwrap_err().code(), "NotComparable");
        }
        let log = RunDirectory::new(run.path()).log();
        assert!(diff_of(run.path(), &log, &full()).unwrap().is_none());
    }

    #[test]
    fn redacted_values_are_marked() {
        let sample = Sample::new(crate::run::testing::SampleOptions { max_events: 1, ..Default::default() });
        let with = |message: &str| {
            let mut events = answered("one", "x");
            events.push(of(Kind::Error, None, 1, json!({ "code": "E", "message": message, "recoverable": true })));
            events
        };
        let left = Run::new(&sample, &with("the key is AKIA1."), 1);
        let right = Run::new(&sample, &with("the key is [redacted:aws]."), 1);
        let path = RunDirectory::new(right.path()).log();
        let log = std::fs::read_to_string(&path).unwrap();
        let salt = log.rfind(",\"salt\":\"").unwrap();
        std::fs::write(&path, format!("{}{}", &log[..salt], &log[salt + 42..])).unwrap();
        assert_eq!(diff_of(left.path(), right.path(), &full()).unwrap_err().code(), "MissingField");
        let redactions = crate::run::Redactions { events: [7].into(), ..Default::default() };
        let right = Source { redactions, is_redacted: true, ..Source::run(right.path()) };
        let found = diff(&Source::run(left.path()), &right, &full(), &mut silent()).unwrap().unwrap();
        assert_eq!(found.fields[0].note, Some(crate::diff::projection::Note::Redacted));
        assert_eq!(found.likely_cause, Cause::Unknown);
    }

    #[test]
    fn a_comparison_can_be_cancelled() {
        let sample = Sample::new(crate::run::testing::SampleOptions { max_events: 1, ..Default::default() });
        let run = Run::new(&sample, &answered("one", "x"), 1);
        let cancelled = Cancellation::default();
        cancelled.cancel();
        let mut seen = Vec::new();
        let mut task = Task { cancellation: &cancelled, progress: &mut |progress| seen.push(progress) };
        let source = Source::run(run.path());
        assert_eq!(diff(&source, &source, &full(), &mut task).unwrap_err(), DiffError::Cancelled);
        assert_eq!(seen, []);
    }
}

mod sessions {
    use super::*;
    use crate::diff::projection::Note;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn start(id: &str) -> Value {
        let payload = json!({ "sessionId": id, "projectHash": "h", "provider": "p", "model": "m", "startTime": id, "workspaceDirs": [] });
        json!({ "v": 1, "seq": 1, "ts": id, "type": "session_start", "payload": payload })
    }

    fn item(speaker: &str, blocks: Value) -> Value {
        json!({ "type": "content", "payload": { "content": { "speaker": speaker, "blocks": blocks, "metadata": { "model": "m" } } } })
    }

    fn text(speaker: &str, text: &str) -> Value {
        item(speaker, json!([{ "type": "text", "text": text }]))
    }

    fn call(id: &str, command: &str) -> Value {
        item("ai", json!([{ "type": "tool_call", "id": id, "name": "run", "parameters": { "command": command } }]))
    }

    fn answer(id: &str, output: &str) -> Value {
        item(
            "tool",
            json!([{ "type": "tool_response", "callId": id, "toolName": "run", "result": { "output": output } }]),
        )
    }

    fn file(records: &[Value]) -> tempfile::NamedTempFile {
        session_file(&records.iter().map(|record| format!("{record}\n")).collect::<String>())
    }

    fn found(left: &[Value], right: &[Value]) -> Option<Diff> {
        let (left, right) = (file(left), file(right));
        diff_of(left.path(), right.path(), &full()).unwrap()
    }

    fn talk(id: &str, answered: &str) -> Vec<Value> {
        vec![start(id), text("human", "do"), call(id, "ls"), answer(id, answered), text("ai", "done")]
    }

    #[test]
    fn first_different_record_is_reported_with_its_cause() {
        assert!(found(&talk("one", "x"), &talk("two", "x")).is_none());
        let cause = |at: usize, record: Value| {
            let mut right = talk("two", "x");
            right[at] = record;
            let found = found(&talk("one", "x"), &right).unwrap();
            assert_eq!((found.divergence_event, found.kind), (at as u64, DivergenceKind::EventMismatch));
            assert_eq!(found.edits.unwrap().edits.unwrap()[0].left, Some(at as u64));
            found.likely_cause
        };
        assert_eq!(cause(3, answer("two", "y")), Cause::ExternalDataChanged);
        assert_eq!(cause(3, answer("unheard of", "x")), Cause::Unknown);
        assert_eq!(cause(3, text("human", "stop")), Cause::InputChanged);
        assert_eq!(cause(2, call("two", "pwd")), Cause::Unknown);
        assert_eq!(cause(1, text("human", "don't")), Cause::InputChanged);
        assert_eq!(
            cause(4, json!({ "type": "provider_switch", "payload": { "provider": "q", "model": "n" } })),
            Cause::InputChanged
        );
        let mut other = start("two");
        other["payload"]["model"] = json!("n");
        assert_eq!(cause(0, other), Cause::InputChanged);
    }

    #[test]
    fn result_has_both_sides_and_their_ancestry() {
        let found = found(&talk("one", "x"), &talk("two", "y")).unwrap();
        let side = found.left.unwrap();
        assert_eq!((side.run_id.as_str(), side.event_id.as_str()), ("one", "rec_3"));
        let members: Vec<_> = side.members.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let hash = crate::hash::as_text(&crate::hash::sha256_hex([br#"{"output":"x"}"#])).to_owned();
        let expected = [
            "kind \"content\"",
            "speaker \"tool\"",
            "tool \"run\"",
            &format!("output_hash \"{hash}\""),
            "excerpt \"x\"",
        ];
        assert_eq!(members, expected);
        assert_eq!(found.fields[0].path, "/payload/content/blocks/0/result/output");
        assert_eq!(found.common_ancestor.as_deref(), Some("rec_2"));
        assert_eq!(found.chains[0].edges.iter().map(|edge| edge.number).collect::<Vec<_>>(), [2, 1, 0]);
        let mut right = talk("two", "x");
        right[2] = call("two", "pwd");
        let side = super::sessions::found(&talk("one", "x"), &right).unwrap().left.unwrap();
        assert!(side.members.contains(&("tool", "\"run\"".into())), "{:?}", side.members);
    }

    #[test]
    fn different_projects_differ_in_the_header() {
        let mut right = talk("two", "y");
        right[0]["payload"]["projectHash"] = json!("g");
        let found = found(&talk("one", "x"), &right).unwrap();
        assert_eq!((found.kind, found.likely_cause), (DivergenceKind::HeaderMismatch, Cause::WorkflowChanged));
    }

    #[test]
    fn shorter_session_diverges_at_its_end() {
        let left = talk("one", "x");
        let cause = |length: usize, torn: &str| {
            let right: String = talk("two", "x")[..length].iter().map(|record| format!("{record}\n")).collect();
            let (left, right) = (file(&left), session_file(&format!("{right}{torn}")));
            let found = diff_of(left.path(), right.path(), &full()).unwrap().unwrap();
            assert_eq!((found.kind, found.divergence_event), (DivergenceKind::RightEnded, length as u64));
            let found = diff_of(right.path(), left.path(), &full()).unwrap().unwrap();
            assert_eq!((found.kind, found.divergence_event), (DivergenceKind::LeftEnded, length as u64));
            found.likely_cause
        };
        assert_eq!(cause(1, ""), Cause::Unknown);
        assert_eq!(cause(1, "{\"v\":1,\"se"), Cause::LogTruncated);
        assert_eq!(cause(2, ""), Cause::LogTruncated, "nobody answered");
        assert_eq!(cause(3, ""), Cause::LogTruncated, "a call is open");
        assert_eq!(cause(4, ""), Cause::LogTruncated, "the AI had something to say");
        let mut more = left.clone();
        more.push(text("human", "thanks"));
        assert_eq!(found(&more, &left).unwrap().likely_cause, Cause::Unknown);
    }

    #[test]
    fn skipped_lines_are_not_numbered() {
        let lines =
            |garbage: &str| talk("s", "x").iter().map(|record| format!("{record}\n{garbage}")).collect::<String>();
        let (left, right) = (session_file(&lines("")), session_file(&lines("garbage\n\n null \n")));
        assert!(diff_of(left.path(), right.path(), &full()).unwrap().is_none());
        let right = session_file(&lines("5\n"));
        let found = diff_of(left.path(), right.path(), &full()).unwrap().unwrap();
        assert_eq!((found.divergence_event, found.edits.unwrap().edits.unwrap().len()), (1, 5));
        for (text, code) in
            [("", "EmptyFile"), ("\n", "MissingStart"), (r#"{"type":"session_start","payload":{}}"#, "InvalidStart")]
        {
            let error = diff_of(left.path(), session_file(text).path(), &full()).unwrap_err();
            assert_eq!((error.code(), error.side()), (code, Some(Side::Right)));
        }
    }

    #[test]
    fn differences_in_white_space_are_named_as_such() {
        let mut right = talk("two", "x");
        right[1] = text("human", "do ");
        let found = found(&talk("one", "x"), &right).unwrap();
        assert_eq!(found.fields[0].note, Some(Note::Whitespace));
    }

    /// The records of a conversation, including calls and answers: kind of record and number of the call.
    fn any_talk() -> impl Strategy<Value = Vec<(u8, u8)>> {
        proptest::collection::vec((0u8..5, 0u8..3), 0..20)
    }

    fn records(talk: &[(u8, u8)], id: impl Fn(u8) -> String, name: &str) -> Vec<Value> {
        let record = |(at, (kind, n)): (usize, &(u8, u8))| match kind {
            0 => call(&id(*n), "ls"),
            1 => answer(&id(*n), "x"),
            2 => text("human", &n.to_string()),
            3 => text("ai", &n.to_string()),
            _ => {
                json!({ "type": "session_event", "ts": format!("{name}{at}"), "payload": { "severity": "info", "message": "m" } })
            }
        };
        std::iter::once(start(name)).chain(talk.iter().enumerate().map(record)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn sessions_recorded_twice_are_equal(talk in any_talk()) {
            let (left, right) = (records(&talk, |n| format!("a{n}"), "a"), records(&talk, |n| format!("{}", 9 - n), "b"));
            let found = found(&left, &right);
            prop_assert!(found.is_none(), "{}", print(found.as_ref()));
        }

        #[test]
        fn changed_record_is_the_divergence(talk in any_talk(), at in any::<prop::sample::Index>()) {
            let left = records(&talk, |n| format!("a{n}"), "a");
            let mut right = records(&talk, |n| format!("b{n}"), "b");
            prop_assume!(right.len() > 1);
            let at = 1 + at.index(right.len() - 1);
            right[at] = text("human", "something else");
            let found = found(&left, &right).unwrap();
            prop_assert_eq!((found.divergence_event, found.kind), (at as u64, DivergenceKind::EventMismatch));
            prop_assert!(!found.fields.is_empty());
        }

        #[test]
        fn arbitrary_bytes_are_compared_or_refused(one in proptest::collection::vec(any::<u8>(), 0..200), other in proptest::collection::vec(any::<u8>(), 0..200)) {
            let lines = |bytes: &[u8]| [start("s").to_string().as_bytes(), b"\n", bytes].concat();
            let write = |bytes: &[u8]| {
                let mut file = tempfile::NamedTempFile::new().unwrap();
                file.write_all(&lines(bytes)).unwrap();
                file
            };
            let (left, right) = (write(&one), write(&other));
            prop_assert!(diff_of(left.path(), left.path(), &full()).unwrap().is_none());
            diff_of(left.path(), right.path(), &full()).unwrap();
        }
    }
}
