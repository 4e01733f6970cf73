//! Runs and power cuts on a simulated disk: the power is cut after each operation, and every state that the disk may then be in is replayed,
//! verified, checked and resumed.
//!
//! `CUT_STATES` sets the number of states that are tried of a cut with too many of them, `CUT_SEED` selects them, and `CUT_EVERY` sets the number of
//! operations between two ends of a first process.

#![cfg(unix)]
// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod simulated;

use std::collections::BTreeSet;
use std::path::Path;

use session_tape_core::disk::Durability;
use simulated::cut::{Fill, SECTOR};
use simulated::disk::Disk;
use simulated::run::{RUN, Recording, judge, judge_after_garbage};
use simulated::search::{Search, Tried, first_life, lengths, search};
use simulated::tree::Tree;

/// Nodes, a snapshot, and events that are never flushed.
fn record_some(recording: &Recording, disk: &Disk) {
    recording.begin();
    let _ = recording.flush(&|what| disk.acknowledge(what));
    recording.node().unwrap();
    let _ = recording.flush(&|what| disk.acknowledge(what));
    recording.snapshot().unwrap();
    let _ = recording.flush(&|what| disk.acknowledge(what));
    recording.node().unwrap();
    // A snapshot that covers events which were not flushed yet.
    recording.snapshot().unwrap();
}

fn recorded(root: &Path, durability: Durability) -> Disk {
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let recording = Recording::open(root, durability).unwrap();
    record_some(&recording, &disk);
    recording.end();
    disk
}

#[test]
fn new_run_keeps_acknowledged_events_after_a_power_cut() {
    let root = Path::new("/simulated/new-run");
    let (base, log) = recorded(root, Durability::Fsync).history();
    let judge = |tree: &Tree, acknowledged: &_| judge(root, tree, acknowledged, 0);
    let options = Search::from_environment(&[Fill::Zeros]);
    let tried = search(&base, &log, options, &judge).unwrap_or_else(|fault| panic!("{fault}"));
    println!("a new run: {tried:?}");
    assert!(tried.exhausted > 3 && tried.states > 10, "{tried:?}");
}

#[test]
fn garbage_after_acknowledged_events_does_not_damage_them() {
    let root = Path::new("/simulated/run-garbage");
    let (base, log) = recorded(root, Durability::Fsync).history();
    let judge = |tree: &Tree, acknowledged: &_| judge_after_garbage(root, tree, acknowledged);
    let options = Search::from_environment(&[Fill::Garbage]);
    let tried = search(&base, &log, options, &judge).unwrap_or_else(|fault| panic!("{fault}"));
    println!("a run and garbage: {tried:?}");
    assert!(tried.states > 10, "{tried:?}");
}

/// The process ends after each of its operations, another one resumes with what the kernel has, and then the power is cut.
#[test]
fn resumed_run_keeps_acknowledged_events_after_a_power_cut() {
    let root = Path::new("/simulated/run-second-life");
    let mut all = Tried::default();
    for durability in [Durability::Fsync, Durability::Os] {
        let (base, log) = recorded(root, durability).history();
        for length in lengths(&log) {
            let before = first_life(&log, length, durability);
            let from = before.len();
            let disk = Disk::with(root, base.clone(), before);
            let mounted = disk.mounted();
            let recording = Recording::open(root, Durability::Fsync).unwrap();
            let undurable = if durability == Durability::Os { recording.recorder.next_time() } else { 0 };
            recording.begin();
            recording.node().unwrap();
            recording.flush(&|what| disk.acknowledge(what)).unwrap();
            recording.end();
            drop(mounted);
            let (base, log) = disk.history();
            let judge = |tree: &Tree, acknowledged: &_| judge(root, tree, acknowledged, undurable);
            let options = Search { from, ..Search::from_environment(&[Fill::Zeros]) };
            all += search(&base, &log, options, &judge).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
    println!("a run's second life: {all:?}");
    assert!(all.states > 10, "{all:?}");
}

/// The first sectors written after an acknowledged event are missing, but later ones are present.
#[test]
fn lines_after_a_hole_are_backed_up_before_they_are_cut_off() {
    let root = Path::new("/simulated/run-hole");
    let disk = recorded(root, Durability::Os);
    let mut tree = disk.tree();
    let log = tree.find(&Path::new(RUN).join("events.cath-log")).unwrap();
    let (bytes, _) = tree.file(log);
    let whole = memchr::memchr(b'\n', bytes).unwrap() + 1;
    let end = (whole / SECTOR + 2) * SECTOR;
    bytes[whole..end].fill(0);
    let torn = bytes[whole..].to_vec();
    let disk = Disk::of(root, tree);
    let _mounted = disk.mounted();
    let recording = Recording::open(root, Durability::Fsync).unwrap();
    assert_eq!((recording.recorder.next_time(), recording.recorder.torn_bytes()), (1, torn.len() as u64));
    recording.end();
    let copy = Path::new(RUN).join(format!("events.cath-log.cut-{whole}"));
    assert_eq!(disk.tree().files().get(&copy), Some(&torn));
}

/// A second power cut while the recorder cuts off what the first one has left, and continues after it: the log can still be resumed, and complete
/// lines after the hole are in the log or in the copy.
#[test]
fn cutting_off_a_hole_withstands_another_power_cut() {
    let root = Path::new("/simulated/run-hole-again");
    let path = Path::new(RUN).join("events.cath-log");
    let mut tree = recorded(root, Durability::Os).tree();
    let log = tree.find(&path).unwrap();
    let (bytes, _) = tree.file(log);
    // The hole follows the first event longer than a sector, and is short, so that complete lines soon follow it.
    let whole = memchr::memchr(b'\n', bytes).unwrap() + 1;
    let end = (whole / SECTOR + 1) * SECTOR;
    bytes[whole..end].fill(0);
    let torn = bytes[whole..].to_vec();
    let disk = Disk::of(root, tree);
    let mounted = disk.mounted();
    let recording = Recording::open(root, Durability::Fsync).unwrap();
    let undurable = recording.recorder.next_time();
    assert_eq!((undurable, recording.recorder.torn_bytes()), (1, torn.len() as u64));
    recording.begin();
    recording.node().unwrap();
    recording.flush(&|what| disk.acknowledge(what)).unwrap();
    recording.end();
    drop(mounted);
    let copy = Path::new(RUN).join(format!("events.cath-log.cut-{whole}"));
    let judge = |tree: &Tree, acknowledged: &BTreeSet<u64>| {
        let files = tree.files();
        let in_log = files.get(&path).is_some_and(|log| log[whole..] == torn);
        if !in_log && files.get(&copy) != Some(&torn) {
            return Err("what was behind the hole is neither in the log nor in its copy".to_owned());
        }
        judge(root, tree, acknowledged, undurable)
    };
    let (base, log) = disk.history();
    let options = Search::from_environment(&[Fill::Zeros]);
    let tried = search(&base, &log, options, &judge).unwrap_or_else(|fault| panic!("{fault}"));
    println!("a run whose hole is cut off: {tried:?}");
    assert!(tried.exhausted > 3 && tried.states > 10, "{tried:?}");
}

/// The workflow was never synced, so a power cut may leave the file without its bytes.
#[test]
fn a_damaged_workflow_is_written_again() {
    let root = Path::new("/simulated/run-workflow");
    let mut tree = recorded(root, Durability::Os).tree();
    let path = Path::new(RUN).join("workflow.json");
    let before = tree.files()[&path].clone();
    let workflow = tree.find(&path).unwrap();
    tree.file(workflow).0.fill(0);
    let disk = Disk::of(root, tree);
    let _mounted = disk.mounted();
    Recording::open(root, Durability::Os).unwrap().end();
    assert_eq!(disk.tree().files()[&path], before);
}
