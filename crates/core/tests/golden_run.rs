//! The golden run: a directory that the first release wrote, and what every later release must read from it, undamaged and damaged.
//!
//! The expected values were computed by the plain engine of the JavaScript tests, which shares no code with this crate.

// A file that cannot be read fails the test.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use session_tape_core::hash::as_text;
use session_tape_core::run::{
    Aspect, Failed, Redactions, ReplayOptions, Replayed, RunDirectory, StartFrom, Verification, Verify,
};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::{Cancellation, Task};

const LEVELS: [Verify; 3] = [Verify::None, Verify::Chain, Verify::Full];

fn golden() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("__test__/fixtures/run/v1/golden")
}

fn expected() -> Value {
    serde_json::from_slice(&fs::read(golden().join("expected.json")).unwrap()).unwrap()
}

fn watched<T>(work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    work(&mut Task { cancellation: &Cancellation::default(), progress: &mut |_| {} })
}

fn replayed(run: &Path, options: &ReplayOptions) -> Result<Replayed, Box<Failed>> {
    watched(|task| RunDirectory::new(run).replay(options, task))
}

fn shown(state: &session_tape_core::run::State) -> Value {
    let mut json = Vec::new();
    let hash = state.hash().unwrap();
    assert!(state.write_run_state(&mut json, &session_tape_core::hash::to_hex(&hash)));
    serde_json::from_slice(&json).unwrap()
}

fn counts(found: &Verification, aspect: Aspect) -> Value {
    let check = found.check(aspect);
    json!({ "checked": check.checked, "failed": check.failed, "unverifiable": check.unverifiable })
}

fn told(failed: &Failed) -> Value {
    json!({ "code": failed.error.code.as_str(), "time": failed.error.time })
}

/// A copy of the run with a damaged log.
fn damaged(damage: &Value) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for part in ["dag.json", "workflow.json"] {
        fs::copy(golden().join(part), copy.path().join(part)).unwrap();
    }
    fs::write(copy.path().join("events.cath-log"), damaged_log(damage)).unwrap();
    copy
}

fn damaged_log(damage: &Value) -> Vec<u8> {
    let mut log = fs::read(golden().join("events.cath-log")).unwrap();
    if let Some(keep) = damage["keep"].as_u64() {
        log.truncate(keep as usize);
    } else if let Some(places) = damage["lines"].as_array() {
        let lines: Vec<_> = log.split_inclusive(|&byte| byte == b'\n').collect();
        log = places.iter().flat_map(|place| lines[place.as_u64().unwrap() as usize]).copied().collect();
    } else {
        let replace = &damage["replace"];
        let at = replace["at"].as_u64().unwrap() as usize;
        let byte = replace["byte"].as_u64().map(|byte| vec![byte as u8]);
        let bytes = byte.unwrap_or_else(|| replace["text"].as_str().unwrap().into());
        log[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    log
}

#[test]
fn every_event_leads_to_the_state_that_it_led_to() {
    let expected = expected();
    for (time, hash) in expected["stateHashes"].as_array().unwrap().iter().enumerate() {
        let options = ReplayOptions { until: Some(time as u64), verify: Verify::None, ..ReplayOptions::default() };
        let replayed = replayed(&golden(), &options).unwrap();
        assert_eq!(as_text(&replayed.state_hash), hash.as_str().unwrap(), "after {time}");
        if let Some(state) = expected["states"].get(time.to_string()) {
            assert_eq!(shown(&replayed.state), *state, "after {time}");
        }
    }
}

#[test]
fn golden_run_replays_from_each_snapshot() {
    let expected = expected();
    let last = expected["stateHashes"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
    let snapshots = expected["snapshots"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned());
    for snapshot in snapshots {
        for verify in LEVELS {
            let start_from = StartFrom::Snapshot(snapshot.clone());
            let replayed =
                replayed(&golden(), &ReplayOptions { start_from, verify, ..ReplayOptions::default() }).unwrap();
            assert_eq!((replayed.from_snapshot, replayed.warnings), (Some(snapshot.clone()), vec![]));
            assert_eq!(as_text(&replayed.state_hash), last);
        }
    }
}

#[test]
fn trusted_key_accepts_only_the_signed_snapshot() {
    let expected = expected();
    let trusted = TrustedKeys::from_pems(&[expected["trustedKey"].as_str().unwrap()]).unwrap();
    let options = ReplayOptions { start_from: StartFrom::LatestSnapshot, trusted, ..ReplayOptions::default() };
    let replayed = replayed(&golden(), &options).unwrap();
    assert_eq!(json!([replayed.from_snapshot]), expected["signed"]);
    let passed_over = expected["snapshots"].as_array().unwrap().len() - 1;
    assert_eq!(replayed.warnings.len(), passed_over, "{:?}", replayed.warnings);
}

#[test]
fn golden_run_verification_has_the_recorded_counts() {
    let found = watched(|task| {
        RunDirectory::new(golden()).verify(&TrustedKeys::default(), &Redactions::default(), task).unwrap()
    });
    let expected = &expected()["verification"];
    let aspects = [
        ("chain", Aspect::Chain),
        ("dag", Aspect::Dag),
        ("schedule", Aspect::Schedule),
        ("stateHashes", Aspect::StateHashes),
        ("outputHashes", Aspect::OutputHashes),
    ];
    for (name, aspect) in aspects {
        assert_eq!(counts(&found, aspect), expected[name], "{name}: {:?}", found.check(aspect).first_failure);
        assert!(found.check(aspect).holds(), "{name}");
    }
    assert!(found.is_ok());
}

#[test]
fn damage_is_reported_and_earlier_events_replay() {
    let expected = expected();
    for damage in expected["damaged"].as_array().unwrap() {
        let run = damaged(damage);
        let result = replayed(run.path(), &ReplayOptions::default());
        let name = damage["name"].as_str().unwrap();
        let Some(error) = damage.get("error") else {
            let replayed = result.unwrap();
            assert_eq!(replayed.event_count, damage["events"].as_u64().unwrap(), "{name}");
            assert_eq!(replayed.warnings.len(), 1, "{name}: {:?}", replayed.warnings);
            continue;
        };
        let failed = result.unwrap_err();
        let unverified = replayed(run.path(), &ReplayOptions { verify: Verify::None, ..ReplayOptions::default() });
        assert_eq!(unverified.err().map_or(Value::Null, |failed| told(&failed)), damage["unverified"], "{name}");
        assert_eq!(told(&failed), *error, "{name}");
        let last_good = failed.state.as_ref().and_then(|state| state.logical_time());
        assert_eq!(json!(last_good), damage["lastGood"], "{name}");
        if let Some(last_good) = last_good {
            let state = shown(failed.state.as_ref().unwrap());
            assert_eq!(state["stateHash"], expected["stateHashes"][last_good as usize], "{name}");
        }
    }
}
