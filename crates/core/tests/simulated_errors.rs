//! Errors of the system, on a simulated disk: every call of a recorder fails once with every error that it may fail with, and some pairs of calls
//! fail. Afterwards everything acknowledged is present, with or without a power cut, the failure was reported, and another recorder can resume.
//!
//! `CUT_FAULTS=1` tries every fault instead of every third, `CUT_PAIRS` sets the number of pairs, and `CUT_SEED` selects them.

#![cfg(unix)]
// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod simulated;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use session_tape_core::disk::{Durability, files};

use session_tape_core::disk::append::{Appender, OpenError, Target};

use session_tape_core::disk::lock::{FileLock, LockError};
use session_tape_core::lines::WriteError;
use session_tape_core::run::record::RecordError;
use simulated::cut::{Cut, Share};
use simulated::disk::Disk;
use simulated::fault::{Call, Fault, Visit, faults_of};
use simulated::search::{Random, number};
use simulated::tree::Op;
use simulated::{run, session};

/// What a program that met faults has reported.
#[derive(Debug, Default)]
struct Said {
    /// The number of failures that were reported to the caller.
    failures: usize,
    /// Whether its recorder was active until the end.
    is_active: bool,
}

/// A program that records, whatever happens. Returns what it has reported.
type Program = fn(&Disk) -> Said;

/// Checks a disk that is mounted, given what was acknowledged.
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
        // A caller may retry what was refused.
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

/// The calls of a program that meets no fault.
fn visits_of(root: &Path, program: Program) -> Vec<Visit> {
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let said = program(&disk);
    assert!(said.failures == 0 && said.is_active, "{said:?}");
    let mut counts: BTreeMap<Call, usize> = BTreeMap::new();
    let mut count = |call| {
        let count = counts.entry(call).or_default();
        *count += 1;
        (call, *count - 1)
    };
    disk.calls().into_iter().map(&mut count).collect()
}

fn meet(root: &Path, faults: &[(Visit, Fault)], program: Program, check: Check) -> Result<Said, String> {
    let disk = Disk::new(root);
    let mounted = disk.mounted();
    faults.iter().for_each(|(visit, fault)| disk.fail(*visit, *fault));
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
    Ok(said)
}

/// Checks that a read or write that is interrupted or done in part is not a failure.
fn go_on_after_each(name: &str, root: &Path, program: Program, check: Check) {
    let is_harmless = |fault: &Fault| matches!(fault, Fault::Short | Fault::Error(libc::EINTR));
    let mut tried = 0;
    for visit in visits_of(root, program) {
        for fault in faults_of(visit.0).into_iter().filter(is_harmless) {
            let met = meet(root, &[(visit, fault)], program, check);
            let said = met.unwrap_or_else(|error| panic!("{fault:?} of {visit:?} of {name}: {error}"));
            assert!(said.failures == 0 && said.is_active, "{fault:?} of {visit:?} of {name}: {said:?}");
            tried += 1;
        }
    }
    assert!(tried > 5, "{tried}");
}

fn try_all(name: &str, root: &Path, program: Program, check: Check) {
    let visits = visits_of(root, program);
    let mut tried: BTreeMap<Call, usize> = BTreeMap::new();
    let all = visits.iter().flat_map(|visit| faults_of(visit.0).into_iter().map(move |fault| (*visit, fault)));
    for (visit, fault) in all.step_by(number("CUT_FAULTS", 3) as usize) {
        let met = meet(root, &[(visit, fault)], program, check);
        let _ = met.unwrap_or_else(|error| panic!("{fault:?} of {visit:?} of {name}: {error}"));
        *tried.entry(visit.0).or_default() += 1;
    }
    let mut random = Random::new(number("CUT_SEED", 1));
    let pairs = number("CUT_PAIRS", 10);
    for _ in 0..pairs {
        let mut pick = || {
            let visit = visits[random.below(visits.len() as u64) as usize];
            let faults = faults_of(visit.0);
            (visit, faults[random.below(faults.len() as u64) as usize])
        };
        let pair = [pick(), pick()];
        let _ = meet(root, &pair, program, check).unwrap_or_else(|error| panic!("{pair:?} of {name}: {error}"));
    }
    println!("{name}: {} faults one at a time {tried:?}, {pairs} pairs", tried.values().sum::<usize>());
    assert!(tried.contains_key(&Call::SyncDirectory) && tried.contains_key(&Call::Write), "{tried:?}");
}

const CHECK_SESSION: Check = |disk, acknowledged| session::go_on(disk.root(), &|| disk.tree(), acknowledged);
const CHECK_RUN: Check = |disk, acknowledged| run::go_on(disk.root(), &|| disk.tree(), acknowledged, 0);

#[test]
fn session_withstands_every_system_error() {
    try_all("a session", Path::new("/simulated/session-errors"), record_a_session, CHECK_SESSION);
}

#[test]
fn run_withstands_every_system_error() {
    try_all("a run", Path::new("/simulated/run-errors"), record_a_run, CHECK_RUN);
}

#[test]
fn a_call_that_is_interrupted_or_done_in_part_ends_nothing() {
    go_on_after_each("a session", Path::new("/simulated/session-interrupted"), record_a_session, CHECK_SESSION);
    go_on_after_each("a run", Path::new("/simulated/run-interrupted"), record_a_run, CHECK_RUN);
}

/// A batch waits until another writer's batch is complete or cut back, and only then determines the end of the file.
#[test]
fn a_batch_waits_for_that_of_another_writer() {
    let root = Path::new("/simulated/two-writers");
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let path = root.join("session.jsonl");
    files::create_new(&path, 0o600).unwrap();
    let mut first = open(&target(&path)).unwrap();
    disk.before_lock(move || {
        first.append(b"of the first\n").unwrap();
        first.finish();
    });
    let mut second = open(&target(&path)).unwrap();
    second.append(b"of the second\n").unwrap();
    let files = disk.tree().files();
    assert_eq!(files[Path::new("session.jsonl")], b"of the first\nof the second\n");
}

fn target(path: &Path) -> Arc<Target> {
    Arc::new(Target::new(path.to_path_buf()))
}

fn open(target: &Arc<Target>) -> Result<Appender, &'static str> {
    Appender::open(target).map_err(|error| match error {
        OpenError::System(error) => error.code,
        OpenError::Replaced(_) => "FileReplaced",
    })
}

/// The visit of the next call of this kind.
fn next(disk: &Disk, call: Call) -> Visit {
    (call, disk.calls().into_iter().filter(|done| *done == call).count())
}

/// What the writer of a second batch knows about the file.
#[derive(PartialEq)]
enum Known {
    Nothing,
    ItsOwnBatch,
    /// Its own batch, to which another writer has added a torn line.
    AllButAnEnd,
}

/// Appends two batches, of which the second meets this fault. Returns the content of the file and the error of the second batch.
fn second_batch(fault: (Call, i32), known: Known) -> (Vec<u8>, Option<&'static str>) {
    let root = Path::new("/simulated/second-batch");
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let path = root.join("session.jsonl");
    files::create_new(&path, 0o600).unwrap();
    let first = target(&path);
    open(&first).unwrap().append(b"first\n").unwrap();
    if known == Known::AllButAnEnd {
        open(&target(&path)).unwrap().append(b"{").unwrap();
    }
    disk.fail(next(&disk, fault.0), Fault::Error(fault.1));
    let second = if known == Known::Nothing { target(&path) } else { first };
    let said = match open(&second) {
        Ok(mut appender) => appender.append(b"second\n").err().map(|torn| torn.error.code),
        Err(code) => Some(code),
    };
    (disk.tree().files().remove(Path::new("session.jsonl")).unwrap(), said)
}

/// A newline after a line that is complete would be an empty line in the middle of a log.
#[test]
fn unreadable_last_byte_is_not_a_torn_line() {
    for known in [Known::Nothing, Known::ItsOwnBatch] {
        assert_eq!(second_batch((Call::Read, libc::EIO), known), (b"first\n".to_vec(), Some("EIO")));
    }
    for known in [Known::Nothing, Known::ItsOwnBatch] {
        assert_eq!(second_batch((Call::Read, libc::EINTR), known), (b"first\nsecond\n".to_vec(), None));
    }
}

#[test]
fn write_only_file_counts_as_whole_if_its_writer_knows() {
    let unreadable = (Call::Open, libc::EACCES);
    assert_eq!(second_batch(unreadable, Known::ItsOwnBatch), (b"first\nsecond\n".to_vec(), None));
    assert_eq!(second_batch(unreadable, Known::AllButAnEnd), (b"first\n{\nsecond\n".to_vec(), None));
    assert_eq!(second_batch(unreadable, Known::Nothing), (b"first\n\nsecond\n".to_vec(), None));
}

/// A write that could not be synced counts as lost, and the flush that waits for it is refused.
#[test]
fn a_flush_whose_sync_fails_is_refused() {
    let root = Path::new("/simulated/flush-refused");
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let recording = session::Recording::new(root, Durability::Fsync);
    recording.record(1);
    recording.flush(&|_| {}).unwrap();
    recording.record(2);
    disk.fail_syncs(1);
    assert_eq!(recording.flush(&|_| {}).unwrap_err().error.code(), "EIO");
    // The session_start and one record.
    assert_eq!(recording.failures.recv().unwrap().kept, 2);
    recording.end();
}

/// A lock file is removed while its owner still has it locked. A process that opened it before then has a file without a name, whose lock excludes no
/// one.
#[test]
fn a_lock_file_that_is_removed_before_it_is_locked_is_no_lock() {
    let root = Path::new("/simulated/lock");
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let path = root.join("session.jsonl");
    let first = FileLock::acquire(&path, "the first").unwrap();
    disk.before_lock(|| drop(first));
    let second = FileLock::acquire(&path, "the second").unwrap();
    let refused = FileLock::acquire(&path, "the third").unwrap_err();
    assert_eq!(refused, LockError::Held { owner: "the second".to_owned() });
    drop(second);
    FileLock::acquire(&path, "the third").unwrap();
}

/// After the sync of a blob had failed, a second attempt once assumed that the existing file was durable.
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
    assert_eq!(recording.failures.recv().unwrap().error.code(), "EIO");
    recording.end();
}

/// The same for a snapshot.
#[test]
fn a_recorder_whose_snapshot_can_not_be_synced_stops() {
    let root = Path::new("/simulated/snapshot-sync");
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let recording = run::Recording::open(root, Durability::Fsync).unwrap();
    recording.flush(&|what| disk.acknowledge(what)).unwrap();
    disk.fail_syncs(1);
    assert!(recording.snapshot().is_err());
    assert!(!recording.recorder.is_active());
    assert_eq!(recording.failures.recv().unwrap().error.code(), "EIO");
    recording.end();
}

/// The caller was told that there is no snapshot.
#[test]
fn a_snapshot_whose_entry_can_not_be_synced_is_not_left() {
    let root = Path::new("/simulated/snapshot-entry");
    let disk = Disk::new(root);
    let _mounted = disk.mounted();
    let recording = run::Recording::open(root, Durability::Fsync).unwrap();
    recording.flush(&|what| disk.acknowledge(what)).unwrap();
    let snapshots = || {
        disk.tree().files().into_keys().filter(|path| path.extension().is_some_and(|end| end == "cath-snap")).count()
    };
    disk.fail(next(&disk, Call::SyncDirectory), Fault::Error(libc::EIO));
    assert!(recording.snapshot().is_err());
    assert_eq!(snapshots(), 0);
    recording.end();
}

/// The entries of such a directory are synced with its whole file system. If that fails too, they are not durable, and the recorder reports it.
#[test]
fn unreadable_directory_is_synced() {
    for error in [None, Some(libc::EIO), Some(libc::ENOSYS)] {
        let also_fails = error == Some(libc::EIO);
        let root = Path::new("/simulated/unreadable-directory");
        let disk = Disk::new(root);
        let mounted = disk.mounted();
        let recording = session::Recording::new(root, Durability::Fsync);
        recording.record(1);
        disk.hide_directories(error);
        let flushed = recording.flush(&|what| disk.acknowledge(what));
        assert_eq!(recording.recorder.is_active(), !also_fails, "{flushed:?}");
        recording.end();
        drop(mounted);
        let cut = disk.cut();
        assert_eq!(cut.acknowledged.len(), usize::from(!also_fails));
        let left = cut.state(&vec![Share::Nothing; cut.pending.len()]);
        // Where nothing syncs the entries, they are as durable as the file system makes them.
        assert_eq!(session::sessions(&left).len(), usize::from(error.is_none()));
    }
}

/// The data are synced: a file system, or a sandbox, that does not let directories be synced must not end the recording.
#[test]
fn a_file_system_that_syncs_no_directories_is_recorded_to_with_fsync() {
    for number in [libc::EINVAL, libc::ENOTSUP, libc::ENOSYS, libc::EPERM, libc::EACCES, libc::EISDIR, libc::EBADF] {
        let root = Path::new("/simulated/no-directory-sync");
        let disk = Disk::new(root);
        disk.lack(Call::SyncDirectory, number);
        let _mounted = disk.mounted();
        let session = session::Recording::new(root, Durability::Fsync);
        assert!(session.record(1));
        session.flush(&|_| {}).unwrap();
        assert!(session.recorder.is_active(), "{number}");
        session.end();
        let run = run::Recording::open(root, Durability::Fsync).unwrap();
        run.begin();
        run.node().unwrap();
        run.snapshot().unwrap();
        run.flush(&|_| {}).unwrap();
        assert!(run.recorder.is_active(), "{number}");
        run.end();
    }
}

#[test]
fn a_directory_whose_sync_fails_ends_the_recording() {
    let root = Path::new("/simulated/directory-sync-fails");
    let disk = Disk::new(root);
    disk.lack(Call::SyncDirectory, libc::EIO);
    let _mounted = disk.mounted();
    let session = session::Recording::new(root, Durability::Fsync);
    session.record(1);
    session.flush(&|_| {}).unwrap_err();
    let failure = session.failures.recv().unwrap();
    let WriteError::System(error) = failure.error else { panic!("{failure:?}") };
    assert_eq!((error.code, error.path.as_deref()), ("EIO", Some(root.join(session::CHATS).as_path())));
    session.end();
}

/// What the user has asked for is not left out: a file that can't be synced is not acknowledged.
#[test]
fn a_file_system_that_syncs_no_files_is_recorded_to_without_fsync_only() {
    for (durability, is_active) in [(Durability::Os, true), (Durability::Fsync, false)] {
        let root = Path::new("/simulated/no-file-sync");
        let disk = Disk::new(root);
        disk.lack(Call::Sync, libc::EINVAL);
        let _mounted = disk.mounted();
        let session = session::Recording::new(root, durability);
        session.record(1);
        assert_eq!(session.flush(&|_| {}).is_ok(), is_active);
        assert_eq!(session.recorder.is_active(), is_active);
        session.end();
    }
}

/// A run needs no lock to be recorded; a session with `exclusive` does.
#[test]
fn a_file_system_without_locks_is_recorded_to_unless_the_file_is_to_be_exclusive() {
    for (number, code) in [(libc::ENOSYS, "ENOSYS"), (libc::ENOLCK, "ENOLCK"), (libc::EOPNOTSUPP, "ENOTSUP")] {
        let root = Path::new("/simulated/no-locks");
        let disk = Disk::new(root);
        disk.lack(Call::Lock, number);
        let _mounted = disk.mounted();
        for _ in 0..2 {
            let run = run::Recording::open(root, Durability::Os).unwrap();
            assert_eq!(run.recorder.unlocked().map(|error| error.code), Some(code));
            run.begin();
            run.flush(&|_| {}).unwrap();
            run.end();
        }
        assert!(disk.tree().files().keys().all(|path| path.extension().is_none_or(|extension| extension != "lock")));
        let session = session::Recording::new(root, Durability::Os);
        assert!(!session.record(1));
        assert_eq!(session.failures.recv().unwrap().error.code(), code);
        session.end();
    }
}

/// A blob that another recorder stored without a sync is stored again: if a sync has failed for that recorder, a further sync of the file proves
/// nothing.
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
