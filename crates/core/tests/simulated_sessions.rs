//! Sessions and power cuts on a simulated disk: the power is cut after each operation, and every state that the disk may then be in is replayed,
//! checked and resumed.
//!
//! `CUT_STATES` sets the number of states that are tried of a cut with too many of them, `CUT_SEED` selects them, and `CUT_EVERY` sets the number of
//! operations between two ends of a first process.

#![cfg(unix)]
// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod simulated;

use std::path::Path;

use session_tape_core::disk::Durability;
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::read::Replay;
use simulated::cut::Fill;
use simulated::disk::Disk;
use simulated::search::{Search, Tried, first_life, lengths, search};
use simulated::session::{Recording, judge, sessions};
use simulated::tree::{Op, Tree};

const FILLS: &[Fill] = &[Fill::Zeros, Fill::Garbage];

/// Tries all states of nearly all cuts, since there are few.
fn options() -> Search {
    Search::from_environment(FILLS).all_of_short(4096)
}

fn try_all(root: &Path, base: &Tree, log: &[Op]) -> Tried {
    let judge = |tree: &Tree, acknowledged: &_| judge(root, tree, acknowledged);
    search(base, log, options(), &judge).unwrap_or_else(|fault| panic!("{fault}"))
}

fn record_some(recording: &Recording, disk: &Disk, first_id: u64) {
    for id in [0, 1] {
        recording.record(first_id + id);
    }
    let _ = recording.flush(&|what| disk.acknowledge(what));
    recording.record(first_id + 2);
    let _ = recording.flush(&|what| disk.acknowledge(what));
    recording.record(first_id + 3);
}

/// A disk on which a recorder has worked.
fn recorded(root: &Path, durability: Durability) -> Disk {
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let recording = Recording::new(root, durability);
    record_some(&recording, &disk, 0);
    recording.end();
    disk
}

#[test]
fn new_session_keeps_acknowledged_records_after_a_power_cut() {
    let root = Path::new("/simulated/new-session");
    let (base, log) = recorded(root, Durability::Fsync).history();
    let tried = try_all(root, &base, &log);
    println!("a new session: {tried:?}");
    assert!(tried.exhausted > 3 && tried.states > 10, "{tried:?}");
}

/// The process ends after each of its operations, another one resumes with what the kernel has, and then the power is cut.
#[test]
fn resumed_session_keeps_acknowledged_records_after_a_power_cut() {
    let root = Path::new("/simulated/second-life");
    let mut all = Tried::default();
    for durability in [Durability::Fsync, Durability::Os] {
        let (base, log) = recorded(root, durability).history();
        for length in lengths(&log) {
            let before = first_life(&log, length, durability);
            let length = before.len();
            let disk = Disk::with(root, base.clone(), before);
            let mounted = disk.mounted();
            let recording = Recording::new(root, Durability::Fsync);
            for path in sessions(&disk.tree()).into_keys().map(|path| root.join(path)) {
                let replay = Replay::open(&path, FoldOptions::default()).and_then(Replay::complete).unwrap();
                if replay.outcome(None).metadata.is_ok() {
                    assert!(recording.recorder.resume(path, replay.outcome(None).last_seq));
                }
            }
            record_some(&recording, &disk, 100);
            recording.end();
            drop(mounted);
            // Another test has the cuts of the first process.
            let (base, log) = disk.history();
            let judge = |tree: &Tree, acknowledged: &_| judge(root, tree, acknowledged);
            let options = Search { from: length, ..options() };
            all += search(&base, &log, options, &judge).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
    println!("a session's second life: {all:?}");
    assert!(all.states > 10, "{all:?}");
}
