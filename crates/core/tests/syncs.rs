//! What a flush with `durability: 'fsync'` syncs: every file with records from before the flush, and every directory entry that leads to it, whatever
//! the recorder did in between.

// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use fail::FailScenario;
use session_tape_core::disk::Durability;
use session_tape_core::disk::lock::FileLock;
use session_tape_core::json::Text;
use session_tape_core::lines::WriteFailure;
use session_tape_core::run::Scheduler;
use session_tape_core::run::record::{RunRecorder, RunRecorderConfig};
use session_tape_core::session::record::{FileNameForm, Record, Recorder, RecorderConfig};

/// Counts the syncs of this process, one test at a time.
struct Syncs {
    _scenario: FailScenario<'static>,
    files: Arc<AtomicU64>,
    directories: Arc<AtomicU64>,
}

impl Syncs {
    fn counted() -> Self {
        let scenario = FailScenario::setup();
        let (files, directories) = (count_visits("append::before_sync"), count_visits("writer::before_directory_sync"));
        Syncs { _scenario: scenario, files, directories }
    }

    /// The numbers of syncs of files and of directories so far.
    fn so_far(&self) -> (u64, u64) {
        (self.files.load(Ordering::SeqCst), self.directories.load(Ordering::SeqCst))
    }
}

fn count_visits(point: &str) -> Arc<AtomicU64> {
    let visits = Arc::new(AtomicU64::new(0));
    let count = visits.clone();
    fail::cfg_callback(point, move || {
        count.fetch_add(1, Ordering::SeqCst);
    })
    .unwrap();
    visits
}

fn recorder(chats_dir: &Path) -> (Recorder, mpsc::Receiver<WriteFailure>) {
    recorder_with(chats_dir, None)
}

fn recorder_with(chats_dir: &Path, exclusive_owner: Option<&str>) -> (Recorder, mpsc::Receiver<WriteFailure>) {
    let (sender, failures) = mpsc::channel();
    let config = RecorderConfig {
        mode: 0o600,
        chats_dir: chats_dir.to_path_buf(),
        file_name: FileNameForm::Minutes,
        id_prefix: "syncs".encode_utf16().collect(),
        durability: Durability::Fsync,
        exclusive_owner: exclusive_owner.map(str::to_owned),
    };
    let on_failure = move |failure: &WriteFailure| sender.send(failure.clone()).unwrap();
    (Recorder::new(config, br#"{"sessionId":"s","projectHash":"h"}"#, 0.0, on_failure), failures)
}

/// Records an item and waits until it is in the file, without a flush.
fn record_and_wait(recorder: &Recorder) {
    record(recorder);
    assert!(recorder.writer().shared().drain(Instant::now() + Duration::from_secs(20)));
}

fn record(recorder: &Recorder) {
    let payload = Some(&br#"{"content":{"speaker":"ai"}}"#[..]);
    let Ok(recorded) = recorder.record(Record { type_json: b"\"content\"", milliseconds: 0.0, payload });
    assert!(recorded.is_some());
}

fn flush(recorder: &Recorder) {
    let (sender, flushed) = mpsc::channel();
    recorder.writer().flush(Box::new(move |result| sender.send(result).unwrap()));
    flushed.recv().unwrap().unwrap();
}

/// The number of directories on its file system that lead to a file; 0 where syncing a file makes its entries durable.
fn directories_above(path: &Path) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let directory = path.parent().unwrap().canonicalize().unwrap();
        let device = |path: &Path| path.metadata().unwrap().dev();
        directory.ancestors().take_while(|above| device(above) == device(&directory)).count() as u64
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        0
    }
}

fn existing_session(directory: &Path) -> PathBuf {
    let path = directory.join("existing.jsonl");
    std::fs::write(&path, "{}\n").unwrap();
    path
}

/// The flush once synced the second file only: data and directory entry of the first one could be lost in a power cut.
#[test]
fn a_flush_syncs_the_file_that_the_recorder_has_left() {
    let syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, _failures) = recorder(&root.path().join("new/chats"));
    record_and_wait(&recorder);
    assert_eq!(syncs.so_far(), (0, 0));
    assert!(recorder.resume(existing_session(root.path()), 7.0));
    record_and_wait(&recorder);
    flush(&recorder);
    let expected =
        (2, directories_above(&root.path().join("new/chats/file")) + directories_above(&root.path().join("file")));
    assert_eq!(syncs.so_far(), expected);
    flush(&recorder);
    assert_eq!(syncs.so_far(), expected);
}

/// After a resume of the recorder's own file, its directories once were not synced.
#[test]
fn a_resume_of_the_same_path_keeps_the_directories_to_sync() {
    let syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, _failures) = recorder(&root.path().join("new/chats"));
    record_and_wait(&recorder);
    let path = recorder.path().unwrap();
    assert!(recorder.resume(path, 2.0));
    record(&recorder);
    flush(&recorder);
    // It is the same file, so one sync of its data is enough.
    assert_eq!(syncs.so_far(), (1, directories_above(&root.path().join("new/chats/file"))));
}

/// The process that created a file may have died before it synced the file's directory and those above it. A program that creates the directory of
/// its sessions does not sync it either.
#[test]
fn the_first_flush_of_a_resumed_file_syncs_the_directories_above_it() {
    let syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, _failures) = recorder(root.path());
    assert!(recorder.resume(existing_session(root.path()), 7.0));
    for _ in 0..2 {
        record(&recorder);
        flush(&recorder);
    }
    assert_eq!(syncs.so_far(), (2, directories_above(&root.path().join("file"))));
}

/// A file is synced with its directories even if it was appended to more than once before.
#[test]
fn two_batches_before_a_flush_keep_the_directories_to_sync() {
    let syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, _failures) = recorder(&root.path().join("new/chats"));
    for _ in 0..2 {
        record_and_wait(&recorder);
    }
    flush(&recorder);
    assert_eq!(syncs.so_far(), (1, directories_above(&root.path().join("new/chats/file"))));
}

/// A recorder that is refused a second file syncs what it has recorded to the first one, although no flush waits for that.
#[test]
fn a_refusal_syncs_what_was_recorded_before_it() {
    let syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, failures) = recorder_with(&root.path().join("chats"), Some("a recorder"));
    record_and_wait(&recorder);
    let taken = existing_session(root.path());
    let _lock = FileLock::acquire(&taken, "another").unwrap();
    assert!(!recorder.resume(taken, 7.0));
    let failure = failures.recv().unwrap();
    assert_eq!((failure.error.code(), failure.kept), ("ESESSIONLOCKED", 2));
    assert_eq!(syncs.so_far(), (1, directories_above(&root.path().join("chats/file"))));
}

/// A recorder that cannot continue in a second file has still synced to the first one what it promised for it.
#[test]
fn a_failure_in_between_syncs_what_was_recorded_before_it() {
    let syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, failures) = recorder(&root.path().join("chats"));
    record_and_wait(&recorder);
    assert!(recorder.resume(root.path().join("missing.jsonl"), 7.0));
    record(&recorder);
    flush(&recorder);
    let failure = failures.recv().unwrap();
    assert_eq!((failure.error.code(), failure.kept, failure.dropped), ("ENOENT", 2, 1));
    assert_eq!(syncs.so_far(), (1, directories_above(&root.path().join("chats/file"))));
}

/// A file that was removed has nothing that a power cut could lose: the flush continues with the other file.
#[cfg(unix)]
#[test]
fn a_file_that_was_deleted_before_its_sync_does_not_end_the_recording() {
    let syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, failures) = recorder(&root.path().join("chats"));
    record_and_wait(&recorder);
    std::fs::remove_dir_all(root.path().join("chats")).unwrap();
    assert!(recorder.resume(existing_session(root.path()), 7.0));
    record(&recorder);
    flush(&recorder);
    assert!(recorder.is_active() && failures.try_recv().is_err());
    assert_eq!(syncs.so_far().0, 2);
}

/// The file at the path of one that was moved away is another file: both are synced.
#[cfg(unix)]
#[test]
fn a_file_that_was_moved_away_is_synced_too() {
    let syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, failures) = recorder(&root.path().join("chats"));
    record_and_wait(&recorder);
    let path = recorder.path().unwrap();
    std::fs::rename(&path, root.path().join("elsewhere.jsonl")).unwrap();
    std::fs::copy(root.path().join("elsewhere.jsonl"), &path).unwrap();
    record(&recorder);
    flush(&recorder);
    assert!(recorder.is_active() && failures.try_recv().is_err());
    assert_eq!(syncs.so_far().0, 2);
}

/// Each batch that finds a copy in the place of the file opens another file, which stays open until it is synced.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_replaced_before_each_batch_takes_few_handles() {
    let _syncs = Syncs::counted();
    let root = tempfile::tempdir().unwrap();
    let (recorder, failures) = recorder(&root.path().join("chats"));
    record_and_wait(&recorder);
    let path = recorder.path().unwrap();
    for _ in 0..40 {
        let copy = path.with_extension("copy");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::rename(&copy, &path).unwrap();
        record_and_wait(&recorder);
    }
    assert!(recorder.is_active() && failures.try_recv().is_err());
    let handles =
        std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| entry.unwrap().path().read_link().ok());
    let of_sessions = handles.filter(|handle| handle.starts_with(root.path())).count();
    assert!(of_sessions <= 8, "{of_sessions}");
    flush(&recorder);
}

/// What a run's recorder with `durability: 'os'` left is synced by the next recorder with `fsync`: graph, blobs and log.
#[test]
fn a_resumed_run_syncs_what_it_finds() {
    let syncs = Syncs::counted();
    let found = count_visits("atomic_file::before_sync");
    let root = tempfile::tempdir().unwrap();
    let open = |durability, resume| {
        let config = RunRecorderConfig {
            mode: 0o600,
            directory: root.path().join("run"),
            run_id: Text::from_plain("r"),
            workflow: r#"{"name":"w","version":"1","nodes":[{"id":"a","kind":"task"}]}"#,
            scheduler: Scheduler::External,
            capabilities: None,
            resume,
            durability,
            owner: String::new(),
        };
        RunRecorder::open(&config, 0.0, |_| {}).unwrap()
    };
    let close = |recorder: RunRecorder| {
        let (sender, closed) = mpsc::channel();
        recorder.dispose(move || sender.send(()).unwrap());
        closed.recv().unwrap();
    };
    let first = open(Durability::Os, false);
    first.put_blob(b"output").unwrap();
    close(first);
    assert_eq!((syncs.so_far(), found.load(Ordering::SeqCst)), ((0, 0), 0));

    let second = open(Durability::Fsync, true);
    assert_eq!(found.load(Ordering::SeqCst), 2);
    for _ in 0..3 {
        second.put_blob(b"output").unwrap();
    }
    assert_eq!(found.load(Ordering::SeqCst), 3);
    close(second);
}
