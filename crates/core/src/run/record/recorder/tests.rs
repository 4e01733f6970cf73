use std::sync::mpsc;

use super::*;
use crate::hash::{as_text, to_hex};
use crate::json::Text;
use crate::run::format::Kind;
use crate::run::graph::Scheduler;
use crate::run::replay::{ReplayOptions, StartFrom, Verify};
use crate::task::Task;

const NOON: f64 = 1_770_811_200_000.0;
const WORKFLOW: &str =
    r#"{"name":"w","version":"1","nodes":[{"id":"b","kind":"k","dependsOn":["a"]},{"id":"a","kind":"k"}]}"#;

fn config(directory: &Path, resume: bool) -> RunRecorderConfig<'static> {
    RunRecorderConfig {
        mode: 0o600,
        directory: directory.join("run"),
        run_id: Text::from_plain("r1"),
        workflow: WORKFLOW,
        scheduler: Scheduler::RoundRobin,
        capabilities: None,
        resume,
        durability: Durability::Os,
        owner: "me".to_owned(),
    }
}

fn open(directory: &Path, resume: bool) -> Result<RunRecorder, RecordError> {
    RunRecorder::open(&config(directory, resume), NOON, |_| {})
}

fn code(opened: Result<RunRecorder, RecordError>) -> &'static str {
    opened.err().map_or("opened", |error| error.code())
}

fn append(recorder: &RunRecorder, kind: Kind, node: Option<&'static str>, payload: &str) -> Result<u64, RecordError> {
    let input = EventInput { kind, node: node.map(Text::from_plain), parent: None };
    let Ok(appended) = recorder.append(&input, payload.as_bytes(), NOON);
    appended
}

fn start(recorder: &RunRecorder) {
    append(recorder, Kind::RunStarted, None, r#"{"workers":[{"id":"w","capabilities":[]}]}"#).unwrap();
    append(recorder, Kind::NodeScheduled, None, r#"{"task":"a#1","dependsOn":[]}"#).unwrap();
}

fn dispose(recorder: RunRecorder) {
    let (sender, disposed) = mpsc::channel();
    recorder.dispose(move || sender.send(()).unwrap());
    disposed.recv().unwrap();
    assert!(!recorder.is_active());
}

fn snapshot(recorder: &RunRecorder) -> Result<WrittenSnapshot, RecordError> {
    let (sender, written) = mpsc::channel();
    recorder.snapshot(None, move |result| sender.send(result).unwrap());
    written.recv().unwrap()
}

/// Replays the recorded run with full verification. Returns the number of events and the state hash.
fn replayed(directory: &Path, start_from: StartFrom) -> (u64, HexHash) {
    let options = ReplayOptions { start_from, verify: Verify::Full, ..ReplayOptions::default() };
    let mut task = Task { cancellation: &Default::default(), progress: &mut |_| {} };
    let replayed = RunDirectory::new(directory.join("run")).replay(&options, &mut task).unwrap();
    assert_eq!(replayed.warnings, Vec::<String>::new());
    (replayed.event_count, replayed.state_hash)
}

#[test]
fn run_can_be_created_recorded_and_resumed() {
    let root = tempfile::tempdir().unwrap();
    let recorder = open(root.path(), false).unwrap();
    start(&recorder);
    dispose(recorder);
    let run = root.path().join("run");
    assert_eq!(std::fs::read_to_string(run.join("workflow.json")).unwrap(), WORKFLOW);
    assert!(std::fs::read_to_string(run.join("dag.json")).unwrap().starts_with(r#"{"edges":[["a","b"]],"nodes":"#));
    let mut names: Vec<_> =
        std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["blobs", "dag.json", "events.cath-log", "snapshots", "workflow.json"]);
    assert_eq!(replayed(root.path(), StartFrom::Log).0, 3);

    let recorder = open(root.path(), true).unwrap();
    assert_eq!(recorder.next_time(), 3);
    append(&recorder, Kind::TaskAssigned, None, r#"{"task":"a#1","worker":"w"}"#).unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&recorder.run_state()).unwrap();
    dispose(recorder);
    let (count, hash) = replayed(root.path(), StartFrom::Log);
    assert_eq!((count, shown["stateHash"].as_str()), (4, Some(as_text(&hash))));
}

#[test]
fn a_directory_has_one_run_and_its_log_one_recorder() {
    let root = tempfile::tempdir().unwrap();
    let recorder = open(root.path(), false).unwrap();
    assert_eq!(code(open(root.path(), false)), "EEXIST");
    let locked = open(root.path(), true).err().unwrap();
    assert!(matches!(&locked, RecordError::Locked { owner, .. } if owner == "me"), "{locked}");
    assert_eq!(locked.code(), "ERUNLOCKED");
    dispose(recorder);
    let other = RunRecorderConfig { run_id: Text::from_plain("r2"), ..config(root.path(), true) };
    assert_eq!(code(RunRecorder::open(&other, NOON, |_| {})), "RunMismatch");
    let other = RunRecorderConfig { scheduler: Scheduler::External, ..config(root.path(), true) };
    assert_eq!(code(RunRecorder::open(&other, NOON, |_| {})), "RunMismatch");
    let other = RunRecorderConfig { capabilities: Some(vec![Text::from_plain("x")]), ..config(root.path(), true) };
    assert_eq!(code(RunRecorder::open(&other, NOON, |_| {})), "RunMismatch");
    let other = RunRecorderConfig { workflow: r#"{"name":"w","version":"1","nodes":[]}"#, ..config(root.path(), true) };
    assert_eq!(code(RunRecorder::open(&other, NOON, |_| {})), "DagMismatch");
    std::fs::write(root.path().join("run/manifest.json"), "{}").unwrap();
    assert_eq!(code(open(root.path(), true)), "RunSealed");
    assert_eq!(code(open(root.path(), false)), "EEXIST");
    std::fs::remove_file(root.path().join("run/manifest.json")).unwrap();
    dispose(open(root.path(), true).unwrap());
}

#[test]
fn recorder_refuses_the_directory_of_a_bundle() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::write(run.join("manifest.json"), "{}").unwrap();
    for resume in [false, true] {
        assert_eq!(code(open(root.path(), resume)), "RunSealed");
        assert_eq!(std::fs::read_dir(&run).unwrap().count(), 1);
    }
}

#[test]
fn failed_creation_leaves_no_log() {
    let root = tempfile::tempdir().unwrap();
    let invalid = RunRecorderConfig { workflow: "{}", ..config(root.path(), false) };
    assert_eq!(code(RunRecorder::open(&invalid, NOON, |_| {})), "WorkflowInvalid");
    assert!(!root.path().join("run").exists());
    let huge = "x".repeat(EventLine::MAX_BYTES);
    let large = RunRecorderConfig { run_id: Text::from_plain(&huge), ..config(root.path(), false) };
    assert_eq!(RunRecorder::open(&large, NOON, |_| {}).err().unwrap().code(), "TooLarge");
    std::fs::create_dir_all(root.path().join("run/dag.json/in the way")).unwrap();
    let refused = open(root.path(), false).err().unwrap();
    assert!(matches!(&refused, RecordError::System(error) if error.syscall == "rename"), "{refused}");
    std::fs::remove_dir_all(root.path().join("run/dag.json")).unwrap();
    dispose(open(root.path(), false).unwrap());
}

#[test]
fn a_log_without_an_event_begins_anew_and_a_damaged_one_is_refused() {
    let root = tempfile::tempdir().unwrap();
    dispose(open(root.path(), true).unwrap());
    let log = root.path().join("run/events.cath-log");
    let whole = std::fs::read(&log).unwrap();
    for torn in [0, 1, whole.len() - 1] {
        std::fs::write(&log, &whole[..torn]).unwrap();
        let recorder = open(root.path(), true).unwrap();
        assert_eq!(recorder.torn_bytes(), torn as u64);
        start(&recorder);
        dispose(recorder);
        assert_eq!(replayed(root.path(), StartFrom::Log).0, 3);
    }
    let mut damaged = std::fs::read(&log).unwrap();
    damaged[whole.len() + 20] ^= 1;
    std::fs::write(&log, &damaged).unwrap();
    let refused = open(root.path(), true).err().unwrap();
    assert!(matches!(&refused, RecordError::Refused(error) if error.time == Some(1)), "{refused}");
    assert_eq!(std::fs::read(&log).unwrap(), damaged);
    assert!(!root.path().join("run/events.cath-log.lock").exists());
}

#[test]
fn a_missing_graph_is_written_again() {
    let root = tempfile::tempdir().unwrap();
    dispose(open(root.path(), false).unwrap());
    let dag = std::fs::read(root.path().join("run/dag.json")).unwrap();
    for file in ["dag.json", "workflow.json"] {
        std::fs::remove_file(root.path().join("run").join(file)).unwrap();
        dispose(open(root.path(), true).unwrap());
        assert_eq!(std::fs::read(root.path().join("run/dag.json")).unwrap(), dag);
        assert!(root.path().join("run/workflow.json").exists());
    }
}

#[test]
fn a_snapshot_is_of_the_state_at_the_call() {
    let root = tempfile::tempdir().unwrap();
    let recorder = open(root.path(), false).unwrap();
    start(&recorder);
    let (sender, written) = mpsc::channel();
    recorder.snapshot(None, move |result| sender.send(result).unwrap());
    append(&recorder, Kind::TaskAssigned, None, r#"{"task":"a#1","worker":"w"}"#).unwrap();
    let written = written.recv().unwrap().unwrap();
    assert_eq!((written.id.as_str(), written.logical_time), ("snap_2", 2));
    dispose(recorder);
    assert_eq!(replayed(root.path(), StartFrom::LatestSnapshot), replayed(root.path(), StartFrom::Log));
}

#[test]
fn lost_log_ends_recording_but_not_validation() {
    let root = tempfile::tempdir().unwrap();
    let (sender, failures) = mpsc::channel();
    let recorder =
        RunRecorder::open(&config(root.path(), false), NOON, move |failure| sender.send(failure.error.code()).unwrap())
            .unwrap();
    let (flushed, done) = mpsc::channel();
    recorder.writer().flush(Box::new(move |result| flushed.send(result).unwrap()));
    done.recv().unwrap().unwrap();
    std::fs::remove_file(recorder.log()).unwrap();
    start(&recorder);
    assert_eq!(failures.recv().unwrap(), "ENOENT");
    assert!(!recorder.is_active());
    assert_eq!(
        append(&recorder, Kind::NodeScheduled, None, r#"{"task":"a#1","dependsOn":[]}"#).unwrap_err().code(),
        "IllegalTransition"
    );
    assert_eq!(append(&recorder, Kind::TaskAssigned, None, r#"{"task":"a#1","worker":"w"}"#), Ok(3));
    assert_eq!(snapshot(&recorder).unwrap_err().code(), "ENOENT");
    assert!(std::fs::read_dir(root.path().join("run/snapshots")).unwrap().next().is_none());
    dispose(recorder);
    assert!(!root.path().join("run/events.cath-log").exists());
}

#[test]
fn reported_hash_is_that_of_the_state() {
    let root = tempfile::tempdir().unwrap();
    let recorder = open(root.path(), false).unwrap();
    start(&recorder);
    let shown: serde_json::Value = serde_json::from_slice(&recorder.run_state()).unwrap();
    let own = to_hex(&recorder.lock().recording.state().hash().unwrap());
    assert_eq!(shown["stateHash"], as_text(&own));
    dispose(recorder);
}
