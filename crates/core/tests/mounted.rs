//! Runs everything that this crate does with files on a file system other than the operating system's: code that bypassed the trait would not find
//! its files, or would leave files where none may be.

#![cfg(unix)]
// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod memory;

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use memory::Memory;
use session_tape_core::bundle::{
    BundleCode, ExportFrom, ExportOptions, OpenedBundle, VerifyOptions, export, import, verify as verify_bundle,
};
use session_tape_core::diff::{DiffOptions, Source, diff};
use session_tape_core::disk::testing::{MountGuard, mount};
use session_tape_core::disk::{Durability, files};
use session_tape_core::hash::as_text;
use session_tape_core::json::Text;
use session_tape_core::lines::Writer;
use session_tape_core::run::read::{Range, Trace};
use session_tape_core::run::record::{EventInput, RecordError, RunRecorder, RunRecorderConfig};
use session_tape_core::run::{Kind, Redactions, ReplayOptions, RunDirectory, Scheduler, StartFrom};
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::read::{Replay, Summary};
use session_tape_core::session::record::{FileNameForm, Record, Recorder, RecorderConfig};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::{Cancellation, Task};

/// A path that does not exist on the real disk.
const ROOT: &str = "/no-such-disk";

const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

fn mounted(root: &Path) -> (Memory, MountGuard) {
    assert!(!root.exists(), "{} is there", root.display());
    let memory = Memory::with_root(root);
    let guard = mount(root, Arc::new(memory.clone()));
    (memory, guard)
}

fn at(name: &str) -> PathBuf {
    Path::new(ROOT).join(name)
}

fn quietly<T>(work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    work(&mut Task { cancellation: &Cancellation::default(), progress: &mut |_| {} })
}

fn watched<T>(work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    work(&mut Task { cancellation: &Cancellation::default(), progress: &mut |_| {} })
}

fn flush(writer: &Writer) {
    let (sender, flushed) = mpsc::channel();
    writer.flush(Box::new(move |result| sender.send(result).unwrap()));
    flushed.recv().unwrap().unwrap();
}

#[test]
fn core_accesses_files_only_through_the_trait() {
    let (memory, _mounted) = mounted(Path::new(ROOT));
    // Archives are unpacked here.
    let temporary = std::env::temp_dir();
    let unpacked = Memory::with_root(&temporary);
    let _unpacked = mount(&temporary, Arc::new(unpacked.clone()));

    let session = record_a_session(&memory);
    read_a_session(&session);
    let run = record_a_run(&memory);
    read_a_run(&run);
    let small: Vec<PathBuf> = memory.files();
    for source in [&session, &run] {
        seal_and_read(source, &unpacked);
    }
    compare(&session, &run);

    assert!(small.iter().all(|path| memory.files().contains(path)), "a reader removed what it read");
    let leftovers = memory.files().into_iter().find(|path| path.to_string_lossy().contains(".tmp"));
    assert_eq!((leftovers, unpacked.files()), (None, vec![]));
    let done = memory.calls();
    let all = "append create create_directory metadata open read read_at read_directory remove_file remove_tree rename rename_new \
               seek set_len symlink_metadata sync_all sync_data sync_directory try_lock unlock write";
    assert_eq!(done.into_iter().collect::<Vec<_>>(), all.split_whitespace().collect::<Vec<_>>());
    assert!(!Path::new(ROOT).exists());
}

#[test]
fn latest_mount_owns_a_path_while_its_guard_lives() {
    let root = PathBuf::from("/no-such-disk-either");
    let (path, inner) = (root.join("inner/file"), root.join("inner"));
    let (_outer_disk, outer) = mounted(&root);
    let (_inner_disk, inside) = mounted(&inner);
    files::create_new(&path, 0o600).unwrap();
    drop(outer);
    assert!(files::is_file(&path) && !files::exists(&root));
    drop(inside);
    assert_eq!(files::metadata(&path).unwrap_err().code, "ENOENT");
    assert_eq!(files::create_new(&path, 0o600).unwrap_err().code, "ENOENT");
}

// ---- Sessions -----------------------------------------------------------------------------------

fn session_recorder() -> Recorder {
    let config = RecorderConfig {
        mode: 0o600,
        chats_dir: at("home/chats"),
        file_name: FileNameForm::Minutes,
        id_prefix: "mounted".encode_utf16().collect(),
        durability: Durability::Fsync,
        exclusive_owner: Some("a test".to_owned()),
    };
    let start = br#"{"sessionId":"s","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#;
    Recorder::new(config, start, 0.0, |failure| panic!("not recorded: {:?}", failure.error))
}

fn record_content(recorder: &Recorder, text: &str) {
    let payload = format!(r#"{{"content":{{"speaker":"ai","blocks":[{{"type":"text","text":"{text}"}}]}}}}"#);
    let payload = Some(payload.as_bytes());
    let Ok(recorded) = recorder.record(Record { type_json: b"\"content\"", milliseconds: 0.0, payload });
    assert!(recorded.is_some());
}

fn dispose(recorder: &Recorder) {
    let (sender, disposed) = mpsc::channel();
    recorder.dispose(move || sender.send(()).unwrap());
    disposed.recv().unwrap();
}

/// A session that one recorder began and left torn, and that another one resumed.
fn record_a_session(memory: &Memory) -> PathBuf {
    let first = session_recorder();
    record_content(&first, SECRET);
    flush(first.writer());
    let path = first.path().unwrap();
    let second = session_recorder();
    // The file is locked, so `second` cannot resume it yet; the refusal would be reported as a failure.
    assert!(files::is_file(&PathBuf::from(format!("{}.lock", path.display()))));
    dispose(&first);
    memory.edit(&path, |bytes| bytes.extend_from_slice(b"{\"torn"));
    assert!(second.resume(path.clone(), 2.0));
    record_content(&second, "more");
    flush(second.writer());
    dispose(&second);
    memory.edit(&path, |bytes| assert_eq!(memchr::memchr_iter(b'\n', bytes).count(), 4));
    // A line larger than what is kept of a file in memory makes replays read parts of the file.
    let third = session_recorder();
    assert!(third.resume(path.clone(), 3.0));
    record_content(&third, &"x".repeat(2 << 20));
    dispose(&third);
    path
}

fn read_a_session(path: &Path) {
    let summary = Summary::of_header(path).unwrap();
    assert!(summary.size > 2 << 20 && summary.payload.starts_with(b"{\"sessionId\""));
    let replay = Replay::open(path, FoldOptions::default()).and_then(Replay::complete).unwrap();
    assert_eq!((replay.outcome(None).event_count, replay.items().len()), (4, 3));
}

// ---- Runs ---------------------------------------------------------------------------------------

fn run_recorder(directory: &Path) -> Result<RunRecorder, RecordError> {
    let config = RunRecorderConfig {
        mode: 0o600,
        directory: directory.to_path_buf(),
        run_id: Text::from_plain("r"),
        workflow: r#"{"name":"w","version":"1","nodes":[{"id":"n","kind":"k"}]}"#,
        scheduler: Scheduler::External,
        capabilities: None,
        resume: true,
        durability: Durability::Fsync,
        owner: "a test".to_owned(),
    };
    RunRecorder::open(&config, 0.0, |failure| panic!("not recorded: {:?}", failure.error))
}

fn append(recorder: &RunRecorder, node: Option<&str>, kind: Kind, payload: &str) {
    let input = EventInput { kind, node: node.map(|node| Text::from_plain(node).into_owned()), parent: None };
    let Ok(appended) = recorder.append(&input, payload.as_bytes(), 0.0);
    appended.unwrap();
}

/// A run with a blob and a snapshot, whose recorder ended in the middle of a line.
fn record_a_run(memory: &Memory) -> PathBuf {
    let directory = at("runs/run");
    let recorder = run_recorder(&directory).unwrap();
    assert!(matches!(run_recorder(&directory), Err(RecordError::Locked { .. })));
    append(&recorder, None, Kind::RunStarted, r#"{"workers":[{"id":"w","capabilities":[]}]}"#);
    let output = format!("an output with {SECRET}");
    let blob = recorder.put_blob(output.as_bytes()).unwrap();
    assert_eq!(recorder.put_blob(output.as_bytes()).unwrap(), blob);
    let blob = as_text(&blob);
    append(&recorder, None, Kind::NodeScheduled, r#"{"task":"n#1","dependsOn":[]}"#);
    append(&recorder, None, Kind::TaskAssigned, r#"{"task":"n#1","worker":"w","reason":"free"}"#);
    append(&recorder, None, Kind::TaskAccepted, r#"{"task":"n#1","worker":"w"}"#);
    append(&recorder, None, Kind::NodeStarted, r#"{"task":"n#1","worker":"w","inputHash":"h"}"#);
    append(&recorder, Some("n"), Kind::ToolInvoked, r#"{"tool":"t","call":"c","requestHash":"h"}"#);
    let completed =
        format!(r#"{{"tool":"t","call":"c","rawHash":"{blob}","outputHash":"{blob}","normalizer":"none"}}"#);
    append(&recorder, Some("n"), Kind::ToolCompleted, &completed);
    let (sender, written) = mpsc::channel();
    recorder.snapshot(None, move |result| sender.send(result).unwrap());
    let snapshot = written.recv().unwrap().unwrap();
    let payload = format!(
        r#"{{"snapshot":"{}","stateHash":"{}","at":{}}}"#,
        snapshot.id,
        as_text(&snapshot.state_hash),
        snapshot.logical_time
    );
    append(&recorder, None, Kind::SnapshotCreated, &payload);
    end(recorder);
    memory.edit(&RunDirectory::new(&directory).log(), |bytes| bytes.extend_from_slice(b"{\"torn"));
    let resumed = run_recorder(&directory).unwrap();
    assert_eq!(resumed.torn_bytes(), 6);
    append(&resumed, None, Kind::NodeCompleted, &format!(r#"{{"task":"n#1","outputHash":"{blob}"}}"#));
    end(resumed);
    directory
}

fn end(recorder: RunRecorder) {
    let (sender, disposed) = mpsc::channel();
    recorder.dispose(move || sender.send(()).unwrap());
    disposed.recv().unwrap();
}

fn read_a_run(root: &Path) {
    let directory = RunDirectory::new(root);
    let (trusted, redactions) = (TrustedKeys::default(), Redactions::default());
    let verification = watched(|task| directory.verify(&trusted, &redactions, task)).unwrap();
    assert!(verification.is_ok(), "{verification:?}");
    let options = ReplayOptions { start_from: StartFrom::LatestSnapshot, ..ReplayOptions::default() };
    let replayed = watched(|task| directory.replay(&options, task)).unwrap();
    assert_eq!((replayed.event_count, replayed.from_snapshot.as_deref()), (10, Some("snap_7")));
    assert_eq!(replayed.warnings, Vec::<String>::new());
    let mut trace = Trace::open(&directory.log(), Range { from: 8, ..Range::default() }, redactions).unwrap();
    assert_eq!(trace.next().unwrap().unwrap().time, 8);
    let absent = watched(|task| RunDirectory::new(at("nothing")).replay(&options, task)).unwrap_err();
    assert!(absent.error.message.contains("A run is the directory"), "{}", absent.error.message);
}

// ---- Bundles and diffs --------------------------------------------------------------------------

/// Exports, verifies, imports and opens a source, in both forms. Secrets are redacted, which makes the export stage files.
fn seal_and_read(source: &Path, unpacked: &Memory) {
    for (number, form) in ["directory", "archive.tar.zst"].iter().enumerate() {
        let beside = source.parent().unwrap();
        let (bundle, imported) = (beside.join(form), beside.join(format!("imported-{number}")));
        let is_run = files::is_directory(source);
        let is_partial = is_run && number == 1;
        let from = if is_partial { ExportFrom::LatestSnapshot } else { ExportFrom::Log };
        let options = ExportOptions { from, ..ExportOptions::default() };
        let info = quietly(|task| export(source, &bundle, &options, task)).unwrap();
        // The secrets are in the events before the snapshot.
        assert_eq!(info.redactions == 0, is_partial);
        let exists = quietly(|task| export(source, &bundle, &options, task)).unwrap_err();
        assert_eq!(exists.code, BundleCode::DestinationExists);
        let report = quietly(|task| verify_bundle(&bundle, &VerifyOptions::default(), task)).unwrap();
        assert!(report.is_ok(), "{:?}", report.problems);
        quietly(|task| import(&bundle, &imported, &VerifyOptions::default(), task)).unwrap();
        for bundle in [&bundle, &imported] {
            let opened = quietly(|task| OpenedBundle::open(bundle, &VerifyOptions::default(), task)).unwrap();
            assert_eq!(unpacked.files().is_empty(), files::is_directory(bundle));
            if is_run {
                let replayed = watched(|task| opened.replay(&ReplayOptions::default(), task)).unwrap();
                assert_eq!(replayed.event_count, 10);
            } else {
                let mut replay = Replay::open(&opened.log(), FoldOptions::default()).unwrap();
                while replay.scan_on().unwrap().is_some() {}
                replay.settle();
                assert_eq!(replay.outcome(None).event_count, 4);
            }
        }
        // An export of a bundle reads the bundle's list of redactions.
        let again = beside.join(format!("again-{number}"));
        assert_eq!(quietly(|task| export(&bundle, &again, &options, task)).unwrap().redactions, info.redactions);
    }
}

fn compare(session: &Path, run: &Path) {
    // In the run, only a blob was redacted, so its log does not differ.
    for (source, bundle, differs) in
        [(session, at("home/chats/directory/session.jsonl"), true), (run, at("runs/directory"), false)]
    {
        let sources = [source, &bundle].map(|path| Source::find(path).unwrap());
        let found = watched(|task| diff(&sources[0], &sources[1], &DiffOptions::default(), task)).unwrap();
        assert_eq!(found.is_some(), differs);
        let same = watched(|task| diff(&sources[0], &sources[0], &DiffOptions::default(), task)).unwrap();
        assert!(same.is_none());
    }
}
