//! Archiving and restoring on a simulated disk: the power is cut after each operation, and each call of the system fails with each of its errors.
//! Whatever state the disk is in then, the session has every record, and the next attempt succeeds.

#![cfg(unix)]
// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod simulated;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use session_tape_core::disk::files;
use session_tape_core::lines::LineSource;
use session_tape_core::session::record::{ArchiveError, Archived, archive, restore};
use session_tape_core::{Cancellation, Task};
use simulated::cut::{Cut, Fill, Share};
use simulated::disk::Disk;
use simulated::fault::{Call, Fault, Visit, faults_of};
use simulated::search::{Search, search};
use simulated::tree::Tree;

const FILLS: &[Fill] = &[Fill::Zeros, Fill::Garbage];

fn text() -> String {
    (0..400).map(|at| format!("{{\"v\":1,\"seq\":{at},\"n\":{}}}\n", at * 7919)).collect()
}

fn session_of(root: &Path) -> PathBuf {
    root.join("session-s.jsonl")
}

fn work(root: &Path, restores: bool) -> Result<Archived, ArchiveError> {
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| () };
    let path = session_of(root);
    if restores { restore(&path, "a test", &mut task) } else { archive(&path, "a test", &mut task) }
}

/// A disk on which the session, or its archive, and what an earlier version kept beside it are durable.
fn prepared(root: &Path, is_archived: bool) -> Tree {
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    files::create_new(&session_of(root), 0o600).unwrap().write_all(text().as_bytes()).unwrap();
    files::create_new(&root.join("session-s.jsonl.snap"), 0o600).unwrap().write_all(b"any").unwrap();
    if is_archived {
        work(root, false).unwrap();
    }
    disk.tree()
}

/// Checks that the session is there whole, and that it can be archived and restored.
fn judge(root: &Path, tree: &Tree) -> Result<(), String> {
    let disk = Disk::of(root, tree.clone());
    let _mounted = disk.mounted();
    check(root)?;
    for restores in [false, true] {
        work(root, restores).map_err(|error| format!("restores: {restores}: {error}"))?;
        check(root)?;
    }
    Ok(())
}

fn check(root: &Path) -> Result<(), String> {
    let path = session_of(root);
    let source = LineSource::open(&path).map_err(|error| format!("the session is lost: {error}"))?;
    let mut content = String::new();
    source.into_reader().read_to_string(&mut content).map_err(|error| error.to_string())?;
    if content == text() { Ok(()) } else { Err(format!("the session has {} bytes", content.len())) }
}

#[test]
fn a_power_cut_at_any_step_loses_no_record() {
    for restores in [false, true] {
        let root = PathBuf::from(format!("/simulated/archives-{restores}"));
        let disk = Disk::of(&root, prepared(&root, restores));
        let mounted = disk.mounted();
        work(&root, restores).unwrap();
        drop(mounted);
        let (base, log) = disk.history();
        let options = Search::from_environment(FILLS).all_of_short(4096);
        let tried =
            search(&base, &log, options, &|tree, _| judge(&root, tree)).unwrap_or_else(|fault| panic!("{fault}"));
        println!("restores: {restores}: {tried:?}");
        assert!(tried.states > 10 && tried.exhausted > 3, "{tried:?}");
    }
}

fn visits_of(calls: Vec<Call>) -> Vec<Visit> {
    let mut counts: BTreeMap<Call, usize> = BTreeMap::new();
    let mut count = |call| {
        let count = counts.entry(call).or_default();
        *count += 1;
        (call, *count - 1)
    };
    calls.into_iter().map(&mut count).collect()
}

/// Also with a power cut after the failure, of which nothing or everything that is not durable has reached the disk.
#[test]
fn an_error_of_any_call_loses_no_record() {
    for restores in [false, true] {
        let root = PathBuf::from(format!("/simulated/archive-errors-{restores}"));
        let base = prepared(&root, restores);
        let disk = Disk::of(&root, base.clone());
        let mounted = disk.mounted();
        work(&root, restores).unwrap();
        drop(mounted);
        let mut refused = 0;
        for visit in visits_of(disk.calls()) {
            for fault in faults_of(visit.0) {
                let context = format!("restores: {restores}: {fault:?} of {visit:?}");
                let disk = Disk::of(&root, base.clone());
                let mounted = disk.mounted();
                disk.fail(visit, fault);
                let result = work(&root, restores);
                drop(mounted);
                refused += usize::from(result.is_err());
                assert!(
                    result.is_ok() || !matches!(fault, Fault::Short | Fault::Error(libc::EINTR)),
                    "{context}: {result:?}"
                );
                let (base, log) = disk.history();
                let cut = Cut::after(&base, &log);
                for share in [Share::Nothing, Share::Whole] {
                    let state = cut.state(&vec![share; cut.pending.len()]);
                    judge(&root, &state).unwrap_or_else(|error| panic!("{context}: {error}"));
                }
            }
        }
        assert!(refused > 30, "{refused}");
    }
}
