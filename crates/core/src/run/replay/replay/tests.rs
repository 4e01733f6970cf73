use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::hash::{as_text, to_hex};
use crate::run::format::{ErrorCode, Kind};
use crate::run::graph::Scheduler;
use crate::run::record::{Record, Recorded};
use crate::run::sample::SampleOptions;
use crate::run::state::{Content, Snapshot};
use crate::run::verify::Aspect;
use crate::signature::SigningKey;
use crate::signature::tests::{OTHER_PUBLIC, key_pair};
use crate::task::{Cancellation, Progress};

const MODES: [Verify; 3] = [Verify::None, Verify::Chain, Verify::Full];

fn run(recorded: &Recorded, options: &ReplayOptions) -> Result<Replayed, Box<Failed>> {
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    recorded.directory.replay(options, &mut task)
}

fn with(verify: Verify) -> ReplayOptions {
    ReplayOptions { verify, ..ReplayOptions::default() }
}

fn from(start_from: StartFrom) -> ReplayOptions {
    ReplayOptions { start_from, verify: Verify::Full, ..ReplayOptions::default() }
}

fn sample(seed: u64, max_events: usize) -> Recorded {
    let schedulers = [Scheduler::RoundRobin, Scheduler::LeastLoaded, Scheduler::External];
    let scheduler = schedulers[seed as usize % 3];
    Recorded::new(SampleOptions { seed, max_events, scheduler, ..SampleOptions::default() })
}

fn text(state: &State) -> String {
    state.to_canonical().unwrap()
}

/// Asserts that `state` is the state after the event at `time`.
fn assert_state(recorded: &Recorded, state: &State, time: u64) {
    assert_eq!(text(state), text(&recorded.state_at(time)));
    assert_eq!(to_hex(&state.hash().unwrap()), recorded.records[time as usize].state_hash);
}

#[test]
fn intact_run_replays_at_every_verification_level() {
    for seed in 0..9 {
        let recorded = sample(seed, 300);
        for verify in MODES {
            let replayed = run(&recorded, &with(verify)).unwrap();
            assert_state(&recorded, &replayed.state, recorded.last());
            assert_eq!(replayed.state_hash, recorded.records.last().unwrap().state_hash);
            assert_eq!(replayed.event_count, recorded.records.len() as u64);
            assert_eq!(replayed.metrics.events, replayed.event_count);
            assert_eq!(replayed.metrics.bytes, recorded.log().len() as u64);
            assert_eq!((replayed.from_snapshot, replayed.warnings), (None, vec![]));
        }
    }
}

#[test]
fn a_log_of_many_chunks_replays() {
    let recorded =
        Recorded::new(SampleOptions { seed: 5, nodes: 400, workers: 5, max_events: 6000, ..SampleOptions::default() });
    assert!(recorded.log().len() > 6 * (256 << 10), "{} bytes", recorded.log().len());
    for verify in MODES {
        let replayed = run(&recorded, &with(verify)).unwrap();
        assert_eq!(replayed.state_hash, recorded.records.last().unwrap().state_hash);
    }
    // A failure that is found late, whether or not the fold is far ahead.
    let mut records = recorded.records.clone();
    for place in [3210, 1234] {
        records[place].state_hash = [b'0'; 64];
        recorded.write_log(&records);
        let failed = run(&recorded, &with(Verify::Full)).unwrap_err();
        assert_eq!((failed.error.code, failed.error.time), (ErrorCode::StateMismatch, Some(place as u64)));
        assert_state(&recorded, &failed.state.unwrap(), place as u64 - 1);
    }
}

#[test]
fn changed_line_is_reported_before_its_consequences() {
    let recorded = sample(1, 60);
    let log = String::from_utf8(recorded.log()).unwrap();
    fs::write(recorded.directory.log(), log.replacen("TaskAccepted", "TaskRejected", 1)).unwrap();
    let code = |verify| run(&recorded, &with(verify)).unwrap_err().error.code;
    assert_eq!(MODES.map(code), [ErrorCode::MissingField, ErrorCode::ChainBroken, ErrorCode::ChainBroken]);
}

#[test]
fn torn_tail_is_reported_and_is_not_an_event() {
    let recorded = sample(1, 40);
    let mut log = recorded.log();
    log.extend_from_slice(b"{\"v\":1,\"time\":4");
    fs::write(recorded.directory.log(), log).unwrap();
    for verify in MODES {
        let replayed = run(&recorded, &with(verify)).unwrap();
        assert_state(&recorded, &replayed.state, recorded.last());
        assert_eq!(replayed.warnings.len(), 1);
        assert!(replayed.warnings[0].contains("its 15 bytes"), "{:?}", replayed.warnings);
    }
}

/// A power cut leaves a hole, but so does a disk that has lost a sector: complete lines after the hole are reported, and don't count as verified.
#[test]
fn complete_lines_after_a_hole_are_reported_and_not_verified() {
    let recorded = sample(1, 40);
    let mut log = recorded.log();
    let whole = memchr::memchr_iter(b'\n', &log).nth(9).unwrap() + 1;
    let end = (whole / 512 + 2) * 512;
    log[whole..end].fill(0);
    fs::write(recorded.directory.log(), &log).unwrap();
    let lines = memchr::memchr_iter(b'\n', &log[whole..]).count();
    for verify in MODES {
        let replayed = run(&recorded, &with(verify)).unwrap();
        assert_state(&recorded, &replayed.state, 9);
        let [warning] = &replayed.warnings[..] else { panic!("{:?}", replayed.warnings) };
        let said = format!(
            "behind its byte {whole}, as a power cut leaves it: {} bytes with {lines} complete",
            log.len() - whole
        );
        assert!(warning.contains(&said), "{warning}");
    }
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    let trusted = TrustedKeys::default();
    let found = recorded.directory.verify(&trusted, &Redactions::default(), &mut task).unwrap();
    assert_eq!((found.check(Aspect::Chain).failed, found.check(Aspect::Chain).unverifiable), (0, lines as u64));
    assert!(!found.is_ok());
}

#[test]
fn log_without_events_is_not_a_run() {
    let recorded = sample(1, 40);
    for log in ["", "{\"v\":1"] {
        fs::write(recorded.directory.log(), log).unwrap();
        for verify in MODES {
            let failed = run(&recorded, &with(verify)).unwrap_err();
            assert_eq!(failed.error.code, ErrorCode::EmptyLog);
            assert!(failed.state.is_none());
        }
    }
    fs::remove_file(recorded.directory.log()).unwrap();
    let failed = run(&recorded, &with(Verify::Chain)).unwrap_err();
    assert_eq!(failed.error.code, ErrorCode::SystemError);
    assert!(failed.error.message.starts_with("ENOENT: no such file or directory, open '"), "{}", failed.error);
}

#[test]
fn graph_of_another_run_is_refused() {
    let (recorded, other) = (sample(1, 40), Recorded::new(SampleOptions { nodes: 9, ..SampleOptions::default() }));
    fs::copy(other.directory.dag(), recorded.directory.dag()).unwrap();
    let failed = run(&recorded, &with(Verify::None)).unwrap_err();
    assert_eq!((failed.error.code, failed.error.time), (ErrorCode::DagMismatch, Some(0)));
    assert!(failed.state.is_none());
}

#[test]
fn invalid_snapshots_are_reported_and_skipped() {
    let recorded = sample(3, 60);
    let other = Recorded::new(SampleOptions { seed: 3, max_events: 60, nodes: 7, ..SampleOptions::default() });
    recorded.write_snapshot(10, None);
    let good = recorded.snapshot_at(30);
    let path = recorded.write_snapshot(30, None);
    let forge = |change: &dyn Fn(&mut Content)| {
        let mut content = good.content.clone();
        change(&mut content);
        Snapshot::new(content, None).print()
    };
    let in_state = |from: &str, to: &str| {
        forge(&|content| {
            let text = String::from_utf8(content.state.clone()).unwrap();
            assert!(text.contains(from), "{from} in {text}");
            content.state = text.replacen(from, to, 1).into_bytes();
        })
    };
    let printed = good.print();
    let mut flipped = printed.clone();
    flipped[printed.len() / 2] ^= 1;
    let forged: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("cut", printed[..printed.len() - 1].to_vec()),
        ("flipped", flipped),
        ("zeros", vec![0; 5000]),
        ("of another run", other.snapshot_at(30).print()),
        ("of another time", recorded.snapshot_at(31).print()),
        ("another event", forge(&|content| content.event_hash = [b'0'; 64])),
        ("another hash", forge(&|content| content.state_hash = [b'0'; 64])),
        ("another run id", forge(&|content| content.run_id.push('x'))),
        ("another state", forge(&|content| content.state = recorded.snapshot_at(29).content.state)),
        ("no state", forge(&|content| content.state = b"{}".to_vec())),
        (
            "another counter",
            forge(&|content| {
                let mut state: serde_json::Value = serde_json::from_slice(&content.state).unwrap();
                state["counters"]["errors"] = json!(77);
                content.state = state.to_string().into_bytes();
            }),
        ),
        ("another scheduler", in_state("\"scheduler\":\"round-robin\"", "\"scheduler\":\"external\"")),
        (
            "more capabilities",
            in_state("\"capabilities\":[\"fs\",\"net\"]", "\"capabilities\":[\"fs\",\"gpu\",\"net\"]"),
        ),
    ];
    for (what, bytes) in forged {
        fs::write(&path, bytes).unwrap();
        for start_from in [StartFrom::LatestSnapshot, StartFrom::Snapshot("snap_30".into())] {
            let replayed = run(&recorded, &from(start_from)).unwrap();
            assert_eq!(replayed.from_snapshot.as_deref(), Some("snap_10"), "{what}: {:?}", replayed.warnings);
            assert_eq!(replayed.warnings.len(), 1, "{what}");
            assert!(replayed.warnings[0].starts_with("snap_30 was passed over: "), "{what}: {:?}", replayed.warnings);
            assert_state(&recorded, &replayed.state, recorded.last());
        }
    }
    fs::write(&path, &printed).unwrap();
    let replayed = run(&recorded, &from(StartFrom::LatestSnapshot)).unwrap();
    assert_eq!((replayed.from_snapshot.as_deref(), replayed.warnings), (Some("snap_30"), vec![]));
    assert_eq!(replayed.metrics.events, recorded.last() - 30);
}

#[test]
fn missing_snapshot_is_reported_and_an_older_one_used() {
    let recorded = sample(3, 60);
    recorded.write_snapshot(10, None);
    recorded.write_snapshot(40, None);
    for (id, until, begins, warnings) in [
        ("snap_10", None, Some("snap_10"), 0),
        ("snap_25", None, Some("snap_10"), 1),
        ("snap_5", None, None, 1),
        ("snap_999", None, Some("snap_40"), 1),
        ("snap_010", None, None, 1),
        ("../snap_10", None, None, 1),
        ("snap_40", Some(20), Some("snap_10"), 1),
        ("snap_10", Some(10), Some("snap_10"), 0),
    ] {
        let options = ReplayOptions { until, ..from(StartFrom::Snapshot(id.into())) };
        let replayed = run(&recorded, &options).unwrap();
        assert_eq!(replayed.from_snapshot.as_deref(), begins, "{id}: {:?}", replayed.warnings);
        assert_eq!(replayed.warnings.len(), warnings, "{id}: {:?}", replayed.warnings);
        assert_state(&recorded, &replayed.state, until.unwrap_or(recorded.last()));
    }
}

#[test]
fn snapshot_may_be_given_as_a_file_anywhere() {
    let recorded = sample(3, 60);
    recorded.write_snapshot(10, None);
    let own = recorded.write_snapshot(40, None);
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("snap_40.cath-snap");
    fs::copy(&own, &moved).unwrap();
    let renamed = elsewhere.path().join("snap_30.cath-snap");
    fs::copy(&own, &renamed).unwrap();
    let other = elsewhere.path().join("other");
    fs::copy(&own, &other).unwrap();
    for (path, until, begins, warnings) in [
        (&own, None, Some("snap_40"), 0),
        (&moved, None, Some("snap_40"), 0),
        (&"snap_40.cath-snap".into(), None, Some("snap_40"), 0),
        (&"snap_41.cath-snap".into(), None, Some("snap_40"), 1),
        (&moved, Some(39), Some("snap_10"), 1),
        (&renamed, None, Some("snap_10"), 1),
        (&elsewhere.path().join("snap_9.cath-snap"), None, None, 1),
        (&other, None, None, 1),
    ] {
        let options = ReplayOptions { until, ..from(StartFrom::SnapshotFile(path.clone())) };
        let replayed = run(&recorded, &options).unwrap();
        assert_eq!(replayed.from_snapshot.as_deref(), begins, "{path:?}: {:?}", replayed.warnings);
        assert_eq!(replayed.warnings.len(), warnings, "{path:?}: {:?}", replayed.warnings);
        assert_state(&recorded, &replayed.state, until.unwrap_or(recorded.last()));
    }
    let foreign = sample(4, 60);
    let foreign_file = foreign.write_snapshot(20, None);
    let replayed = run(&recorded, &from(StartFrom::SnapshotFile(foreign_file))).unwrap();
    assert_eq!((replayed.from_snapshot.as_deref(), replayed.warnings.len()), (Some("snap_10"), 1));
}

#[test]
fn snapshot_of_a_missing_event_is_skipped() {
    let recorded = sample(3, 60);
    recorded.write_snapshot(40, None);
    recorded.write_log(&recorded.records[..40]);
    let replayed = run(&recorded, &from(StartFrom::LatestSnapshot)).unwrap();
    assert_eq!((replayed.from_snapshot, replayed.warnings.len()), (None, 1));
    assert_state(&recorded, &replayed.state, 39);
}

#[test]
fn with_trusted_keys_only_their_snapshots_count() {
    let recorded = sample(3, 60);
    let (private, public) = key_pair();
    let key = SigningKey::from_pem(private).unwrap();
    recorded.write_snapshot(10, Some(&key));
    recorded.write_snapshot(40, None);
    for (keys, begins, warnings) in [
        (vec![], Some("snap_40"), 0),
        (vec![public], Some("snap_10"), 1),
        (vec![OTHER_PUBLIC, public], Some("snap_10"), 1),
        (vec![OTHER_PUBLIC], None, 2),
    ] {
        let trusted = TrustedKeys::from_pems(&keys).unwrap();
        let replayed = run(&recorded, &ReplayOptions { trusted, ..from(StartFrom::LatestSnapshot) }).unwrap();
        assert_eq!((replayed.from_snapshot.as_deref(), replayed.warnings.len()), (begins, warnings));
        assert_state(&recorded, &replayed.state, recorded.last());
    }
}

#[test]
fn a_wrong_claim_about_a_restored_state_is_found() {
    let mut recorded = sample(3, 30);
    let (last, state) = (recorded.records.last().unwrap().clone(), recorded.state_at(29));
    let hasher = StateHasher::of(&state);
    // A SnapshotRestored changes nothing but the time.
    let after = to_hex(&hasher.sum().state_hash(state.run().unwrap().status, 30));
    let claim = |hash: &str| Record {
        kind: Kind::SnapshotRestored,
        node: None,
        parent: Some(29),
        payload: json!({ "snapshot": "snap_29", "stateHash": hash, "at": 29 }),
        state_hash: after,
    };
    recorded.records.push(claim(as_text(&last.state_hash)));
    recorded.write_log(&recorded.records);
    assert_eq!(run(&recorded, &with(Verify::Full)).unwrap().state_hash, after);
    recorded.records[30] = claim(&"0".repeat(64));
    recorded.write_log(&recorded.records);
    let failed = run(&recorded, &with(Verify::Full)).unwrap_err();
    assert_eq!((failed.error.code, failed.error.time), (ErrorCode::StateMismatch, Some(30)));
    assert_eq!(failed.error.expected, Some(as_text(&last.state_hash).to_owned()));
}

#[test]
fn a_replay_can_be_stopped_and_says_how_far_it_is() {
    let recorded = Recorded::new(SampleOptions { seed: 5, nodes: 400, max_events: 3000, ..SampleOptions::default() });
    let total = recorded.log().len() as u64;
    for verify in MODES {
        let cancelled = Cancellation::default();
        let mut seen = Vec::new();
        let mut progress = |Progress { bytes, total: of, .. }| {
            assert_eq!(of, total);
            seen.push(bytes);
        };
        recorded
            .directory
            .replay(&with(verify), &mut Task { cancellation: &cancelled, progress: &mut progress })
            .unwrap();
        assert!(seen.is_sorted() && seen.len() > 3 && seen.last() == Some(&total), "{seen:?}");
        let mut progress = |_| cancelled.cancel();
        let mut task = Task { cancellation: &cancelled, progress: &mut progress };
        let failed = recorded.directory.replay(&with(verify), &mut task).unwrap_err();
        assert_eq!(failed.error.code, ErrorCode::Cancelled);
        let state = failed.state.unwrap();
        assert_state(&recorded, &state, state.logical_time().unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn replay_from_any_snapshot_to_any_event_is_replay_from_the_beginning(
        seed in 0u64..1000, snapshot in any::<prop::sample::Index>(), until in any::<prop::sample::Index>(),
    ) {
        let recorded = sample(seed, 120);
        let until = until.index(recorded.records.len()) as u64;
        let snapshot = snapshot.index(until as usize + 1) as u64;
        recorded.write_snapshot(snapshot, None);
        for verify in MODES {
            for start_from in [StartFrom::Log, StartFrom::LatestSnapshot] {
                let options = ReplayOptions { until: Some(until), verify, start_from, ..ReplayOptions::default() };
                let replayed = run(&recorded, &options).unwrap();
                prop_assert_eq!(&replayed.warnings, &Vec::<String>::new());
                assert_state(&recorded, &replayed.state, until);
                prop_assert_eq!(replayed.state_hash, recorded.records[until as usize].state_hash);
                prop_assert_eq!(replayed.event_count, until + 1);
            }
        }
    }

    // An error is found at its place, with the last good state, whatever the timing of the threads.
    #[test]
    fn any_change_of_bytes_is_found_with_the_last_good_state(
        seed in 0u64..50, at in any::<prop::sample::Index>(), cut in 0usize..20,
        insert in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let recorded = sample(seed, 60);
        let log = recorded.log();
        let at = at.index(log.len());
        let end = (at + cut).min(log.len());
        let damaged = [&log[..at], &insert, &log[end..]].concat();
        prop_assume!(damaged != log);
        assert_damage_is_found(&recorded, &log, &damaged);
    }
}

/// Asserts that replaying `damaged` ends at the first line that differs from those of `log`.
fn assert_damage_is_found(recorded: &Recorded, log: &[u8], damaged: &[u8]) {
    fs::write(recorded.directory.log(), damaged).unwrap();
    // Bytes that were put in may be those that stood there: what counts is the first that differs.
    let intact = log.iter().zip(damaged).take_while(|(a, b)| a == b).count();
    let place = memchr::memchr_iter(b'\n', &log[..intact]).count() as u64;
    let mut codes = Vec::new();
    for verify in [Verify::Chain, Verify::Full] {
        match run(recorded, &with(verify)) {
            // Only a head can reveal that lines, or the last newline, were cut from the end.
            Ok(replayed) => {
                assert!(damaged.len() == intact || !damaged.ends_with(b"\n"), "line {place} of {damaged:?}");
                let last = replayed.state.logical_time().unwrap();
                assert_state(recorded, &replayed.state, last);
            }
            Err(failed) => {
                codes.push((failed.error.code, failed.error.message.clone()));
                match (failed.state, place.checked_sub(1)) {
                    (Some(state), Some(last)) => assert_state(recorded, &state, last),
                    (state, None) => assert!(state.is_none()),
                    (None, Some(_)) => panic!("no state before {place}: {}", failed.error),
                }
            }
        }
    }
    codes.dedup();
    assert!(codes.len() <= 1, "{codes:?}");
}

#[test]
fn any_byte_put_in_at_the_end_of_a_line_or_in_place_of_it_is_found() {
    let recorded = sample(2, 12);
    let log = recorded.log();
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', &log).collect();
    for (end, byte) in ends.iter().flat_map(|end| (0..=u8::MAX).map(move |byte| (*end, byte))) {
        assert_damage_is_found(&recorded, &log, &[&log[..end], &[byte], &log[end..]].concat());
        if byte != b'\n' {
            assert_damage_is_found(&recorded, &log, &[&log[..end], &[byte], &log[end + 1..]].concat());
        }
    }
}

#[test]
fn invalid_utf8_after_the_last_wanted_event_is_ignored() {
    let recorded = sample(1, 60);
    for last in [0, 30, recorded.last() - 1] {
        let mut log = recorded.log();
        let end = memchr::memchr_iter(b'\n', &log).nth(last as usize).unwrap() + 1;
        log[end + 1] = 0xff;
        fs::write(recorded.directory.log(), &log).unwrap();
        for verify in MODES {
            let replayed = run(&recorded, &ReplayOptions { until: Some(last), ..with(verify) }).unwrap();
            assert_state(&recorded, &replayed.state, last);
        }
        log[end + 1] = b'"';
        fs::write(recorded.directory.log(), &log).unwrap();
    }
}
