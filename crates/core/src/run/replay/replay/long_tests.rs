//! Logs long enough that other threads decode their events ahead of the fold.

use std::borrow::Cow;
use std::fs;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::run::format::ErrorCode;
use crate::run::graph::Scheduler;
use crate::run::read::EventReader;
use crate::run::record::{Record, Recorded, lines};
use crate::run::sample::SampleOptions;
use crate::task::Cancellation;

/// More bytes than are read without another thread.
const LONG_BYTES: usize = 5 << 20;

fn long() -> Recorded {
    let options = SampleOptions {
        seed: 5,
        nodes: 400,
        workers: 5,
        max_events: 6000,
        scheduler: Scheduler::External,
        ..SampleOptions::default()
    };
    let mut recorded = Recorded::new(options);
    for record in &mut recorded.records {
        record.payload["padding"] = json!("x".repeat(1000));
    }
    recorded.write_log(&recorded.records);
    assert!(recorded.log().len() > LONG_BYTES, "{} bytes", recorded.log().len());
    recorded
}

fn run(recorded: &Recorded, options: &ReplayOptions) -> Result<Replayed, Box<Failed>> {
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    recorded.directory.replay(options, &mut task)
}

fn with(verify: Verify) -> ReplayOptions {
    ReplayOptions { verify, ..ReplayOptions::default() }
}

const MODES: [Verify; 3] = [Verify::None, Verify::Chain, Verify::Full];

#[test]
fn error_in_a_decoded_chunk_has_the_state_before_it() {
    let recorded = long();
    let started = Record { kind: recorded.records[1].kind, ..recorded.records[1].clone() };
    for place in [700, 2333, 3990] {
        let before = recorded.state_at(place as u64 - 1);
        let without_fields = Record { payload: json!({}), ..recorded.records[place].clone() };
        for (wrong, code) in
            [(without_fields, ErrorCode::MissingField), (started.clone(), ErrorCode::IllegalTransition)]
        {
            let mut records = recorded.records.clone();
            records[place] = wrong;
            recorded.write_log(&records);
            for verify in MODES {
                let failed = run(&recorded, &with(verify)).unwrap_err();
                assert_eq!((failed.error.code, failed.error.time), (code, Some(place as u64)), "{}", failed.error);
                assert_eq!(failed.state.as_ref(), Some(&before));
            }
        }
    }
}

#[test]
fn damage_after_the_last_wanted_event_is_ignored() {
    let recorded = long();
    for place in [700, 2333, 3990] {
        let mut lines = lines(&recorded.records);
        lines[place + 1] = b"no event\n".to_vec();
        fs::write(recorded.directory.log(), lines.concat()).unwrap();
        for verify in MODES {
            let options = ReplayOptions { until: Some(place as u64), ..with(verify) };
            let replayed = run(&recorded, &options).unwrap();
            assert_eq!(replayed.state, recorded.state_at(place as u64));
            assert_eq!(replayed.state_hash, recorded.records[place].state_hash);
            assert_eq!(run(&recorded, &with(verify)).unwrap_err().error.time, Some(place as u64 + 1));
        }
    }
}

#[test]
fn lost_event_is_reported_before_errors_of_the_next() {
    let recorded = long();
    let mut lines = lines(&recorded.records);
    lines[3001] = Damage::Kind.of(&lines[3001]);
    lines.remove(3000);
    fs::write(recorded.directory.log(), lines.concat()).unwrap();
    for verify in MODES {
        let failed = run(&recorded, &with(verify)).unwrap_err();
        assert_eq!((failed.error.code, failed.error.time), (ErrorCode::TimeGap, Some(3001)));
        assert_eq!(failed.state.as_ref(), Some(&recorded.state_at(2999)));
    }
}

/// Damage to one line of a log.
#[derive(Clone, Copy, Debug)]
enum Damage {
    None,
    Kind,
    Json,
    Fields,
    Salt,
    Node,
    Utf8,
    Hole,
    Twice,
    Envelope,
}

fn any_damage() -> impl Strategy<Value = Damage> {
    use Damage::{Envelope, Fields, Hole, Json, Kind, Node, None, Salt, Twice, Utf8};
    prop::sample::select(vec![None, Kind, Json, Fields, Salt, Node, Utf8, Hole, Twice, Envelope])
}

impl Damage {
    fn of(self, line: &[u8]) -> Vec<u8> {
        let text = std::str::from_utf8(line).unwrap();
        let between = |from: &str, to: &str, new: &str| {
            let start = text.find(from).unwrap() + from.len();
            let end = start + text[start..].find(to).unwrap();
            [&text[..start], new, &text[end..]].concat().into_bytes()
        };
        match self {
            Damage::None => line.to_vec(),
            Damage::Kind => between("\"kind\":\"", "\"", "TaskTaken"),
            Damage::Json => between("\"payload\":{", "\"", ","),
            Damage::Fields => between("\"payload\":{", "}\n", "}"),
            Damage::Salt => between("\"hash\":\"", "\"payload\"", &format!("{}\",", "0".repeat(64))),
            Damage::Node => between("\"node\":", ",\"parent\"", "\"elsewhere\""),
            Damage::Utf8 => [&line[..line.len() - 4], b"\xff", &line[line.len() - 4..]].concat(),
            Damage::Hole => Vec::new(),
            Damage::Twice => [line, line].concat(),
            Damage::Envelope => between("\"ts\"", "\"", " :"),
        }
    }
}

/// The state at the end of a log or before an error in it, with events decoded and applied one by one.
fn one_by_one(recorded: &Recorded, until: Option<u64>) -> (State, Option<RunError>) {
    let redactions = Redactions::default();
    let log = recorded.directory.log();
    let mut reader = EventReader::open(&log, Some(0), 0, Cow::Borrowed(&redactions)).unwrap();
    let mut state = State::new(recorded.sample.dag.clone());
    let wants = |state: &State| until.is_none_or(|until| state.next_time() <= until);
    while let Some(chunk) = reader.next_chunk(Vec::new()).unwrap() {
        let mut refused = None;
        let read = reader.decode(&chunk, |read| {
            if wants(&state) {
                refused = state.apply(&read.event).err();
            }
            if refused.is_some() || !wants(&state) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(error) = refused.or(read.err()) {
            return (state, Some(error));
        }
        if !wants(&state) {
            break;
        }
    }
    (state, None)
}

static LONG: LazyLock<Recorded> = LazyLock::new(long);

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn read_ahead_fold_equals_the_fold_event_by_event(
        damages in proptest::collection::vec((any_damage(), any::<prop::sample::Index>()), 1..3),
        until in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let recorded = &*LONG;
        let mut lines = lines(&recorded.records);
        for (damage, at) in damages {
            let at = 2 + at.index(lines.len() - 2);
            if !lines[at].is_empty() {
                lines[at] = lines[at].split_inclusive(|byte| *byte == b'\n').next().map(|line| damage.of(line)).unwrap_or_default();
            }
        }
        fs::write(recorded.directory.log(), lines.concat()).unwrap();
        let until = until.map(|until| until.index(recorded.records.len()) as u64);
        let (state, error) = one_by_one(recorded, until);
        match (run(recorded, &ReplayOptions { until, ..with(Verify::None) }), error) {
            (Ok(replayed), None) => {
                prop_assert_eq!(&replayed.state, &state);
                prop_assert_eq!(Some(replayed.state_hash), state.hash().map(|hash| crate::hash::to_hex(&hash)));
            }
            (Err(failed), Some(error)) => {
                prop_assert_eq!(failed.state, Some(state));
                prop_assert_eq!(failed.error, error.at_unless_known(0));
            }
            (replayed, error) => prop_assert!(false, "{:?} instead of {:?}", replayed.err(), error),
        }
    }
}
