//! Recorders release their locks on their own threads: removing a lock file takes as long as the disk takes, and no caller waits for it.

// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use fail::FailScenario;
use session_tape_core::disk::Durability;
use session_tape_core::disk::lock::FileLock;
use session_tape_core::json::Text;
use session_tape_core::lines::WriteFailure;
use session_tape_core::run::Scheduler;
use session_tape_core::run::record::{RunRecorder, RunRecorderConfig};
use session_tape_core::session::record::{FileNameForm, Record, Recorder, RecorderConfig};

/// A disk that removes a lock file only when it is told to. Only one at a time, since failpoints belong to the process.
struct SlowDisk {
    scenario: FailScenario<'static>,
    removals: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
    /// Whether a removal was given up because the caller that should have allowed it was waiting for it.
    is_stuck: Arc<AtomicBool>,
}

impl SlowDisk {
    fn new() -> Self {
        let scenario = FailScenario::setup();
        let (begun, removals) = mpsc::channel();
        let (go_on, allowed) = mpsc::channel();
        let (allowed, is_stuck) = (Mutex::new(allowed), Arc::new(AtomicBool::new(false)));
        let stuck = is_stuck.clone();
        fail::cfg_callback("lock::before_remove", move || {
            begun.send(()).unwrap();
            if allowed.lock().unwrap().recv_timeout(Duration::from_secs(10)).is_err() {
                stuck.store(true, Ordering::SeqCst);
            }
        })
        .unwrap();
        SlowDisk { scenario, removals, go_on, is_stuck }
    }

    /// Lets the removal proceed that has begun.
    fn proceed(self) {
        self.removals.recv().unwrap();
        self.go_on.send(()).unwrap();
        assert!(!self.is_stuck.load(Ordering::SeqCst), "a caller has waited for the removal of a lock file");
        self.scenario.teardown();
    }
}

fn recorder(chats_dir: &Path) -> (Recorder, mpsc::Receiver<WriteFailure>) {
    let (sender, failures) = mpsc::channel();
    let config = RecorderConfig {
        mode: 0o600,
        chats_dir: chats_dir.to_path_buf(),
        file_name: FileNameForm::Minutes,
        id_prefix: "unlocked".encode_utf16().collect(),
        durability: Durability::Os,
        exclusive_owner: Some("a recorder".to_owned()),
    };
    let on_failure = move |failure: &WriteFailure| sender.send(failure.clone()).unwrap();
    (Recorder::new(config, br#"{"sessionId":"s","projectHash":"h"}"#, 0.0, on_failure), failures)
}

fn record(recorder: &Recorder) -> bool {
    let payload = Some(&br#"{"content":{"speaker":"ai"}}"#[..]);
    let Ok(recorded) = recorder.record(Record { type_json: b"\"content\"", milliseconds: 0.0, payload });
    recorded.is_some()
}

fn flush(recorder: &Recorder) {
    let (sender, flushed) = mpsc::channel();
    recorder.writer().flush(Box::new(move |result| sender.send(result).unwrap()));
    flushed.recv().unwrap().unwrap();
}

/// Ends a recording, and checks that only its end waits for the removal of the lock file.
fn expect_no_wait(lock: &Path, end: impl FnOnce(mpsc::Sender<()>)) {
    let disk = SlowDisk::new();
    let (sender, ended) = mpsc::channel();
    end(sender);
    assert!(lock.exists());
    assert!(ended.try_recv().is_err());
    disk.proceed();
    ended.recv().unwrap();
    assert!(!lock.exists());
}

#[test]
fn disposing_of_an_idle_recorder_does_not_wait_for_its_lock_file() {
    let root = tempfile::tempdir().unwrap();
    let (recorder, _failures) = recorder(root.path());
    record(&recorder);
    flush(&recorder);
    let lock = FileLock::path_for(&recorder.path().unwrap());
    expect_no_wait(&lock, |ended| recorder.dispose(move || ended.send(()).unwrap()));
}

#[test]
fn disposing_of_a_recorder_that_resumed_and_recorded_nothing_does_not_wait_for_its_lock_file() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("session.jsonl");
    std::fs::write(&path, "{}\n").unwrap();
    let (recorder, _failures) = recorder(root.path());
    assert!(recorder.resume(path.clone(), 1.0));
    expect_no_wait(&FileLock::path_for(&path), |ended| recorder.dispose(move || ended.send(()).unwrap()));
}

#[test]
fn disposing_of_a_run_does_not_wait_for_its_lock_file() {
    let root = tempfile::tempdir().unwrap();
    let config = RunRecorderConfig {
        mode: 0o600,
        directory: root.path().join("run"),
        run_id: Text::from_plain("r"),
        workflow: r#"{"name":"w","version":"1","nodes":[{"id":"a","kind":"task"}]}"#,
        scheduler: Scheduler::External,
        capabilities: None,
        resume: false,
        durability: Durability::Os,
        owner: String::new(),
    };
    let recorder = RunRecorder::open(&config, 0.0, |_| {}).unwrap();
    let lock = FileLock::path_for(&recorder.log());
    expect_no_wait(&lock, |ended| recorder.dispose(move || ended.send(()).unwrap()));
}

/// Regression: the writer held its mutex meanwhile, which each record takes.
#[test]
fn recording_to_a_writer_that_is_failing_does_not_wait_for_its_lock_file() {
    let root = tempfile::tempdir().unwrap();
    let (recorder, failures) = recorder(root.path());
    record(&recorder);
    flush(&recorder);
    std::fs::remove_file(recorder.path().unwrap()).unwrap();
    let disk = SlowDisk::new();
    record(&recorder);
    disk.removals.recv().unwrap();
    assert!(!record(&recorder) && !recorder.is_active());
    let (missing, pending) = (recorder.missing(), recorder.pending());
    let SlowDisk { go_on, is_stuck, scenario, .. } = disk;
    go_on.send(()).unwrap();
    assert_eq!((missing, pending), (2, (0, 0)));
    assert!(!is_stuck.load(Ordering::SeqCst), "a caller has waited for the removal of a lock file");
    assert_eq!(failures.recv().unwrap().error.code(), "ENOENT");
    scenario.teardown();
}

/// The caller's own failure, on its own thread.
#[test]
fn a_recorder_that_can_not_resume_another_file_does_not_wait_for_its_lock_file() {
    let root = tempfile::tempdir().unwrap();
    let (recorder, failures) = recorder(root.path());
    record(&recorder);
    flush(&recorder);
    let taken = root.path().join("taken.jsonl");
    std::fs::write(&taken, "{}\n").unwrap();
    // Not a `FileLock`: it would be removed at the failpoint that another test may have set up by then.
    let other = std::fs::File::create(FileLock::path_for(&taken)).unwrap();
    other.lock().unwrap();
    let lock = FileLock::path_for(&recorder.path().unwrap());
    let disk = SlowDisk::new();
    assert!(!recorder.resume(taken, 7.0));
    assert!(lock.exists());
    disk.proceed();
    assert_eq!(failures.recv().unwrap().error.code(), "ESESSIONLOCKED");
}

/// A recorder that was collected as garbage, on the thread that collects it.
#[test]
fn dropping_a_recorder_does_not_wait_for_its_lock_file() {
    let root = tempfile::tempdir().unwrap();
    let (recorder, _failures) = recorder(root.path());
    record(&recorder);
    flush(&recorder);
    let lock = FileLock::path_for(&recorder.path().unwrap());
    let disk = SlowDisk::new();
    drop(recorder);
    assert!(lock.exists());
    disk.proceed();
}
