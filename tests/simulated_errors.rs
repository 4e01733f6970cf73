//! Errors of the system, on a simulated disk: every call of a recorder ends once with every error that it may end with, and some pairs of calls
//! do. What was acknowledged is there, with the power on or cut, the failure was said, and the next recorder goes on.
//!
//! With `CUT_FAULTS=1` every fault is tried, otherwise every third; `CUT_PAIRS` how many pairs, and `CUT_SEED` which.

#![cfg(unix)]
// A harness that can't go on fails the test.
#![allow(clippy::unwrap_used)]

mod simulated;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use session_tape::disk::durability::Durability;
use session_tape::run::recorder::RecordError;
use simulated::cut::{Cut, Share};
use simulated::disk::Disk;
use simulated::fault::{Call, Fault, faults_of};
use simulated::search::{Random, number};
use simulated::tree::Op;
use simulated::{run, session};

/// What the program that met the faults has said.
#[derive(Debug, Default)]
struct Said {
    /// Failures of which the caller was told.
    failures: usize,
    /// Whether its recorder went on to the end.
    is_active: bool,
}

/// A program that records, whatever happens; what it said.
type Program = fn(&Disk) -> Said;

/// Whether all is as it should be on a disk that is mounted, given what was acknowledged.
type Check = fn(&Disk, &BTreeSet<u64>) -> Result<(), String>;

fn record_a_session(disk: &Disk) -> Said {
    let recording = session::Recording::new(disk.root(), Durability::Fsync);
    for id in 0..2 {
        recording.record(id);
    }
    let mut failures = usize::from(recording.flush(&|what| disk.acknowledge(what)).is_err());
    recording.record(2);
    failures += usize::from(recording.flush(&|what| disk.acknowledge(what)).is_err());
    failures += recording.failures.try_iter().count();
    let is_active = recording.recorder.is_active();
    recording.end();
    Said { failures, is_active }
}

fn record_a_run(disk: &Disk) -> Said {
    let Ok(recording) = run::Recording::open(disk.root(), Durability::Fsync) else {
        return Said { failures: 1, is_active: false };
    };
    recording.begin();
    let mut failures = usize::from(recording.flush(&|what| disk.acknowledge(what)).is_err());
    let mut try_twice = |work: &dyn Fn() -> Result<(), RecordError>| {
        // A caller may try again what it was refused.
        if work().is_err() {
            failures += 1;
            let _ = work();
        }
    };
    try_twice(&|| recording.node());
    let _ = recording.flush(&|what| disk.acknowledge(what));
    try_twice(&|| recording.snapshot());
    failures += usize::from(recording.flush(&|what| disk.acknowledge(what)).is_err());
    failures += recording.failures.try_iter().count();
    let is_active = recording.recorder.is_active();
    recording.end();
    Said { failures, is_active }
}

/// The calls of a program that meets no fault, in the order of one run of it.
fn calls_of(root: &Path, program: Program) -> Vec<Call> {
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let said = program(&disk);
    assert!(said.failures == 0 && said.is_active, "{said:?}");
    disk.calls()
}

fn meet(root: &Path, faults: &[(usize, Fault)], program: Program, check: Check) -> Result<(), String> {
    let disk = Disk::new(root);
    let mounted = disk.mounted();
    faults.iter().for_each(|(call, fault)| disk.fail(*call, *fault));
    let said = program(&disk);
    let (base, log) = disk.history();
    drop(mounted);
    let cut = Cut::after(&base, &log);
    let nothing = vec![Share::Nothing; cut.pending.len()];
    let whole = vec![Share::Whole; cut.pending.len()];
    for (what, tree) in
        [("with the power on", whole), ("with the power cut", nothing)].map(|(what, shares)| (what, cut.state(&shares)))
    {
        let next = Disk::of(root, tree);
        let _mounted = next.mounted();
        check(&next, &cut.acknowledged).map_err(|error| format!("{what}: {error}"))?;
    }
    let was_sync = log.iter().any(|op| matches!(op, Op::FailedSync { .. }));
    if was_sync && said.failures == 0 {
        return Err(format!("a sync failed, and nothing was said: {said:?}"));
    }
    if !said.is_active && said.failures == 0 {
        return Err("it has stopped, and nothing was said".to_owned());
    }
    Ok(())
}

fn try_all(name: &str, root: &Path, program: Program, check: Check) {
    let calls = calls_of(root, program);
    let mut tried: BTreeMap<Call, usize> = BTreeMap::new();
    let all = calls
        .iter()
        .enumerate()
        .flat_map(|(at, call)| faults_of(*call).into_iter().map(move |fault| (at, *call, fault)));
    for (at, call, fault) in all.step_by(number("CUT_FAULTS", 3) as usize) {
        let met = meet(root, &[(at, fault)], program, check);
        met.unwrap_or_else(|error| panic!("{fault:?} of {call:?}, call {at} of {name}: {error}"));
        *tried.entry(call).or_default() += 1;
    }
    let mut random = Random::new(number("CUT_SEED", 1));
    let pairs = number("CUT_PAIRS", 10);
    for _ in 0..pairs {
        let mut pick = || {
            let number = random.below(calls.len() as u64) as usize;
            let faults = faults_of(calls[number]);
            (number, faults[random.below(faults.len() as u64) as usize])
        };
        let pair = [pick(), pick()];
        meet(root, &pair, program, check).unwrap_or_else(|error| panic!("{pair:?} of {name}: {error}"));
    }
    println!("{name}: {} faults one at a time {tried:?}, {pairs} pairs", tried.values().sum::<usize>());
    assert!(tried.contains_key(&Call::SyncDirectory) && tried.contains_key(&Call::Write), "{tried:?}");
}

#[test]
fn a_session_meets_every_error() {
    let check: Check = |disk, acknowledged| session::go_on(disk.root(), &|| disk.tree(), acknowledged);
    try_all("a session", Path::new("/simulated/session-errors"), record_a_session, check);
}

#[test]
fn a_run_meets_every_error() {
    let check: Check = |disk, acknowledged| run::go_on(disk.root(), &|| disk.tree(), acknowledged, 0);
    try_all("a run", Path::new("/simulated/run-errors"), record_a_run, check);
}

/// A sync of a blob once failed, and a second attempt took what was there for durable.
#[test]
fn a_recorder_whose_blob_can_not_be_synced_stops() {
    let root = Path::new("/simulated/blob-sync");
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    run::Recording::open(root, Durability::Os).unwrap().end();
    let recording = run::Recording::open(root, Durability::Fsync).unwrap();
    recording.flush(&|what| disk.acknowledge(what)).unwrap();
    disk.fail_syncs(1);
    assert!(recording.recorder.put_blob(b"an output").is_err());
    assert!(!recording.recorder.is_active());
    assert_eq!(recording.failures.try_recv().unwrap().error.code(), "EIO");
    recording.end();
}

/// What another recorder has stored without a sync is stored again: after a sync that failed for that one, a sync of the file proves nothing.
#[test]
fn a_blob_that_may_not_be_durable_is_written_again() {
    let root = Path::new("/simulated/blob-again");
    let disk = Disk::new(root);
    let mounted = disk.mounted();
    let first = run::Recording::open(root, Durability::Os).unwrap();
    let hash = first.recorder.put_blob(b"an output").unwrap();
    first.end();
    let name = std::str::from_utf8(&hash).unwrap();
    let path = Path::new(run::RUN).join("blobs").join(&name[..2]).join(name);
    disk.lose(&path);
    let second = run::Recording::open(root, Durability::Fsync).unwrap();
    second.recorder.put_blob(b"an output").unwrap();
    second.begin();
    second.flush(&|what| disk.acknowledge(what)).unwrap();
    second.end();
    drop(mounted);
    let cut = disk.cut();
    let left = cut.state(&vec![Share::Nothing; cut.pending.len()]);
    assert_eq!(left.files().get(&path).map(Vec::as_slice), Some(&b"an output"[..]));
}
