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
use std::sync::Arc;
use std::time::Duration;

use session_tape_core::disk::Durability;
use session_tape_core::lines::{LineSource, Threads};
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::read::testing::{SnapshotFile, load};
use session_tape_core::session::read::{Replay, Snapshots};
use simulated::cut::Fill;
use simulated::disk::Disk;
use simulated::search::{Judge, Search, Tried, first_life, lengths, search};
use simulated::session::{Recording, judge, judge_without_boot, sessions};
use simulated::tree::{Op, Tree};

const FILLS: &[Fill] = &[Fill::Zeros, Fill::Garbage];

/// Tries all states of nearly all cuts, since there are few.
fn options() -> Search {
    Search::from_environment(FILLS).all_of_short(4096).with_identities()
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

/// The snapshot may reach the disk before the lines that it covers.
#[test]
fn a_snapshot_never_changes_a_result() {
    let root = Path::new("/simulated/session-snapshot");
    let tried = try_snapshot(&with_unsynced_session(root), &|tree, acknowledged| judge(root, tree, acknowledged));
    println!("a session's snapshot: {tried:?}");
}

/// Where a power cut cannot be detected, the file is synced before its snapshot relies on the system's metadata.
#[test]
fn a_snapshot_never_changes_a_result_where_the_system_does_not_name_its_start() {
    let root = Path::new("/simulated/session-snapshot-without-boot");
    let disk = with_unsynced_session(root);
    disk.hide_boot();
    let tried = try_snapshot(&disk, &|tree, acknowledged| judge_without_boot(root, tree, acknowledged));
    println!("a session's snapshot without the system's start: {tried:?}");
}

/// A disk with a session of which everything is durable except the content of its file.
fn with_unsynced_session(root: &Path) -> Disk {
    let disk = Disk::new(root);
    let mounted = disk.mounted();
    // The files are at rest, so that the system's metadata is relied on.
    disk.set_age(Duration::from_secs(60));
    let recording = Recording::new(root, Durability::Os);
    for id in 0..3 {
        recording.record(id);
    }
    recording.end();
    drop(mounted);
    let (mut base, log) = disk.history();
    let (writes, entries): (Vec<_>, Vec<_>) = log.into_iter().partition(|op| matches!(op, Op::Write { .. }));
    for op in &entries {
        base.add_inode(op);
        base.apply(op);
    }
    Disk::with(root, base, writes)
}

/// Cuts the power at each moment while the session on a disk gets a snapshot.
fn try_snapshot(disk: &Disk, judge: &Judge<'_>) -> Tried {
    let mounted = disk.mounted();
    let path = disk.root().join(sessions(&disk.tree()).into_keys().next().unwrap());
    let mut replay = Replay::open_with(&path, FoldOptions::default(), &Snapshots::Beside, Threads::All).unwrap();
    while replay.scan_on().unwrap().is_some() {}
    replay.keep_snapshot();
    drop(mounted);
    assert!(disk.tree().files().keys().any(|path| path.extension().is_some_and(|extension| extension == "snap")));
    let (base, log) = disk.history();
    let tried = search(&base, &log, options(), judge).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(tried.states > 10 && tried.exhausted == tried.cuts, "{tried:?}");
    tried
}

/// The clock of a file system may differ from that of the system, by which the file seems to have been left alone for a minute.
#[test]
fn unchanged_file_is_judged_by_the_clock_of_its_file_system() {
    for (age_of_snapshot, is_at_rest) in [(60, false), (0, true)] {
        let root = Path::new("/simulated/session-clocks");
        let disk = Disk::new(root);
        let _mounted = disk.mounted();
        disk.set_age(Duration::from_secs(60));
        let recording = Recording::new(root, Durability::Os);
        recording.record(1);
        let path = recording.recorder.path().unwrap();
        recording.end();
        disk.set_age(Duration::from_secs(age_of_snapshot));
        let mut replay = Replay::open_with(&path, FoldOptions::default(), &Snapshots::Beside, Threads::All).unwrap();
        while replay.scan_on().unwrap().is_some() {}
        replay.keep_snapshot();
        let source = Arc::new(LineSource::open(&path).unwrap());
        let loaded = load(&SnapshotFile::beside(&path), &source, &FoldOptions::default(), Threads::All).unwrap();
        assert_eq!(loaded.matches_metadata, is_at_rest);
    }
}
