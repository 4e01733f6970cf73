use std::fs;
use std::path::Path;

use super::*;
use crate::bundle::export::{ExportFrom, ExportOptions};
use crate::bundle::read::OpenedBundle;
use crate::bundle::read::verify::VerifyOptions;
use crate::bundle::testing::*;
use crate::run::testing::{Recorded, SampleOptions};
use crate::run::{ErrorCode, Snapshot, Verify};
use crate::task::Cancellation;

fn replayed(path: &Path, options: &ReplayOptions) -> Result<Replayed, Box<Failed>> {
    let opened = quietly(|task| OpenedBundle::open(path, &VerifyOptions::default(), task)).unwrap();
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    opened.replay(options, &mut task)
}

fn sample() -> (Recorded, u64) {
    let recorded = run(SampleOptions { seed: 3, max_events: 300, nodes: 12, trouble: 5, ..SampleOptions::default() });
    let time = recorded.last() / 2;
    recorded.write_snapshot(time, None);
    (recorded, time)
}

const MODES: [Verify; 3] = [Verify::None, Verify::Chain, Verify::Full];

fn with(verify: Verify) -> ReplayOptions {
    ReplayOptions { verify, ..ReplayOptions::default() }
}

#[test]
fn bundles_replay_to_the_state_of_their_source() {
    let (run, time) = sample();
    let expected = run.state_at(run.last()).to_canonical().unwrap();
    let root = tempfile::tempdir().unwrap();
    for (name, from) in [("whole", ExportFrom::Log), ("partial", ExportFrom::LatestSnapshot)] {
        for form in ["d", "a.tar.zst"] {
            let destination = root.path().join(format!("{name}-{form}"));
            let options = ExportOptions { from: from.clone(), ..ExportOptions::default() };
            try_export(run.directory.root(), &destination, &options).unwrap();
            for verify in MODES {
                let replayed = replayed(&destination, &with(verify)).unwrap();
                assert_eq!(replayed.state.to_canonical().unwrap(), expected);
                assert_eq!(replayed.event_count, run.last() + 1);
                assert_eq!(replayed.from_snapshot.is_some(), name == "partial");
            }
        }
    }
    let partial = root.path().join("partial-d");
    for until in [time, time + 1, run.last() - 1] {
        let options = ReplayOptions { until: Some(until), ..ReplayOptions::default() };
        let state = replayed(&partial, &options).unwrap().state;
        assert_eq!(state.to_canonical().unwrap(), run.state_at(until).to_canonical().unwrap());
    }
    let before = ReplayOptions { until: Some(time - 1), ..ReplayOptions::default() };
    assert_eq!(replayed(&partial, &before).unwrap_err().error.code, ErrorCode::SnapshotInvalid);
}

#[test]
fn a_whole_bundle_still_has_its_snapshots() {
    let (run, time) = sample();
    let root = tempfile::tempdir().unwrap();
    let archive = root.path().join("a.tar.zst");
    exported(run.directory.root(), &archive);
    let options = ReplayOptions { start_from: StartFrom::LatestSnapshot, ..ReplayOptions::default() };
    let replayed = replayed(&archive, &options).unwrap();
    assert_eq!((replayed.from_snapshot, replayed.warnings), (Some(Snapshot::id_at(time)), vec![]));
}

#[test]
fn wrong_states_of_a_partial_bundle_are_reported_at_their_event() {
    let (mut run, time) = sample();
    let at = time as usize + 3;
    run.records[at].state_hash = [b'0'; 64];
    let records = std::mem::take(&mut run.records);
    run.write_log(&records);
    let root = tempfile::tempdir().unwrap();
    let destination = root.path().join("d");
    let options = ExportOptions { from: ExportFrom::LatestSnapshot, ..ExportOptions::default() };
    try_export(run.directory.root(), &destination, &options).unwrap();
    assert!(replayed(&destination, &with(Verify::Chain)).is_ok());
    let failed = replayed(&destination, &with(Verify::Full)).unwrap_err();
    assert_eq!((failed.error.code, failed.error.time), (ErrorCode::StateMismatch, Some(at as u64)));
    run.records = records;
    let before = run.state_at(at as u64 - 1).to_canonical().unwrap();
    assert_eq!(failed.state.unwrap().to_canonical().unwrap(), before);
    assert!(fs::metadata(destination).unwrap().is_dir());
}
