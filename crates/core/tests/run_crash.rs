//! Kills the recorder of a run: a real recorder in a child process, which ends at every step of its work (a line, a blob, a snapshot, the directory,
//! a resumed log) and at random moments. Afterwards every acknowledged event is present, the log replays and verifies, each snapshot is complete, and
//! another recorder can resume the run.
//!
//! `CRASH_ROUNDS` sets the number of rounds of each kind; by default it is small.

// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod crashing;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use crashing::{Ended, Terms, child_command, kill_after, random_numbers, rounds, run_to_end, say, take_on_terms};
use session_tape_core::disk::Durability;
use session_tape_core::hash::{as_text, sha256_hex};
use session_tape_core::json::Text;
use session_tape_core::run::record::{EventInput, RecordError, RunRecorder, RunRecorderConfig, WrittenSnapshot};
use session_tape_core::run::{
    Aspect, Kind, Redactions, ReplayOptions, Replayed, RunDirectory, Scheduler, StartFrom, Verify,
};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::{Cancellation, Task};

const POINTS: [&str; 14] = [
    "run_recorder::before_create",
    "run_recorder::after_create",
    "run_recorder::before_cut",
    "run_recorder::after_cut",
    "run_recorder::before_snapshot",
    "atomic_file::before_rename",
    "atomic_file::after_rename",
    "lock::before_owner",
    "append::before_write",
    "append::after_write",
    "append::before_sync",
    "writer::before_directory_sync",
    "writer::before_answer",
    "writer::after_answer",
];

/// Steps that are reached when a write fails after a part of a batch.
const POINTS_OF_A_FULL_DISK: [&str; 2] = ["append::before_truncate", "append::after_truncate"];

/// More than the events of four processes: each node is named by the time at which it is scheduled.
const NODES: u64 = 400;
const BATCHES: u64 = 8;

/// The orders of a child.
#[derive(Clone, Copy)]
struct Orders<'a> {
    run: &'a Path,
    terms: Terms,
}

// ---- The child ----------------------------------------------------------------------------------

fn workflow() -> String {
    let mut nodes = String::new();
    for node in 0..NODES {
        write!(nodes, r#"{}{{"id":"n{node}","kind":"k"}}"#, if node == 0 { "" } else { "," }).unwrap();
    }
    format!(r#"{{"name":"w","version":"1","nodes":[{nodes}]}}"#)
}

/// Runs only in the process that the harness starts.
#[test]
fn child() {
    let Ok(directory) = std::env::var("RUN_CRASH_DIRECTORY") else { return };
    let recorder = recorder(Path::new(&directory), take_on_terms());
    let Some(recording) = Recording::begin(&recorder) else { return };
    if (0..BATCHES).all(|batch| recording.batch(batch)) {
        let (sender, disposed) = mpsc::channel();
        recorder.dispose(move || sender.send(()).unwrap());
        disposed.recv().unwrap();
    }
}

fn recorder(directory: &Path, fsync: bool) -> RunRecorder {
    let config = RunRecorderConfig {
        mode: 0o600,
        directory: directory.to_path_buf(),
        run_id: Text::from_plain("r1"),
        workflow: &workflow(),
        scheduler: Scheduler::External,
        capabilities: None,
        resume: true,
        durability: if fsync { Durability::Fsync } else { Durability::Os },
        owner: "the child".to_owned(),
    };
    RunRecorder::open(&config, 0.0, |_| {}).unwrap()
}

/// Records a run, and reports which events are durable.
struct Recording<'r>(&'r RunRecorder);

impl<'r> Recording<'r> {
    fn begin(recorder: &'r RunRecorder) -> Option<Self> {
        let recording = Recording(recorder);
        if String::from_utf8(recorder.run_state()).unwrap().contains(r#""status":"Created""#) {
            recording.append(Kind::RunStarted, r#"{"workers":[{"id":"w","capabilities":[]}]}"#);
        }
        recording.flush().then_some(recording)
    }

    fn append(&self, kind: Kind, payload: &str) -> u64 {
        self.append_about(None, kind, payload)
    }

    fn append_about(&self, node: Option<&str>, kind: Kind, payload: &str) -> u64 {
        let input = EventInput { kind, node: node.map(|node| Text::from_plain(node).into_owned()), parent: None };
        let Ok(appended) = self.0.append(&input, payload.as_bytes(), 0.0);
        appended.unwrap()
    }

    /// Records some nodes with their outputs, from their first event to their last, and in some batches a snapshot; then flushes. Returns `false`
    /// once writing has failed.
    fn batch(&self, batch: u64) -> bool {
        for node in 0..=batch % 2 {
            if !self.node(&"é".repeat((batch * 97 + node) as usize * 11)) {
                return false;
            }
        }
        (batch % 3 != 2 || self.snapshot()) && self.flush()
    }

    /// Records a node whose tool returns an output that is unique.
    fn node(&self, filling: &str) -> bool {
        let time = self.0.next_time();
        let (node, task) = (format!("n{time}"), format!(r#""task":"n{time}#1""#));
        let Ok(blob) = self.0.put_blob(format!("{time} {filling}").as_bytes()) else { return false };
        let output = as_text(&blob);
        self.append(Kind::NodeScheduled, &format!(r#"{{{task},"dependsOn":[]}}"#));
        self.append(Kind::TaskAssigned, &format!(r#"{{{task},"worker":"w","reason":"{filling}"}}"#));
        self.append(Kind::TaskAccepted, &format!(r#"{{{task},"worker":"w"}}"#));
        self.append(Kind::NodeStarted, &format!(r#"{{{task},"worker":"w","inputHash":"h"}}"#));
        let call = r#""tool":"t","call":"c""#;
        self.append_about(Some(&node), Kind::ToolInvoked, &format!(r#"{{{call},"requestHash":"h"}}"#));
        let result = format!(r#"{{{call},"rawHash":"{output}","outputHash":"{output}","normalizer":"none"}}"#);
        self.append_about(Some(&node), Kind::ToolCompleted, &result);
        self.append(Kind::NodeCompleted, &format!(r#"{{{task},"outputHash":"{output}"}}"#));
        true
    }

    /// Flushes, and reports how many events are safe. Returns `false` once writing has failed.
    fn flush(&self) -> bool {
        let events = self.0.next_time();
        let (sender, flushed) = mpsc::channel();
        self.0.writer().flush(Box::new(move |result| sender.send(result).unwrap()));
        let is_safe = flushed.recv().unwrap().is_ok() && !self.0.writer().has_failed();
        if is_safe {
            say(&format!("acked {events}"));
        }
        is_safe
    }

    fn snapshot(&self) -> bool {
        let (sender, written) = mpsc::channel::<Result<WrittenSnapshot, RecordError>>();
        self.0.snapshot(None, move |result| sender.send(result).unwrap());
        match written.recv().unwrap() {
            Ok(WrittenSnapshot { id, logical_time, state_hash, .. }) => {
                let hash = as_text(&state_hash);
                let payload = format!(r#"{{"snapshot":"{id}","stateHash":"{hash}","at":{logical_time}}}"#);
                self.append(Kind::SnapshotCreated, &payload);
                true
            }
            // A snapshot that cannot be written does not harm the log.
            Err(_) => self.0.is_active(),
        }
    }
}

// ---- The harness --------------------------------------------------------------------------------

fn command(orders: &Orders<'_>) -> Command {
    let mut command = child_command(orders.terms);
    command.env("RUN_CRASH_DIRECTORY", orders.run);
    command
}

fn run(orders: &Orders<'_>) -> Ended {
    run_to_end(&mut command(orders))
}

/// The number of events that a child acknowledged.
fn acked(ended: &Ended) -> u64 {
    ended.acked.unwrap_or(0)
}

fn replayed(run: &RunDirectory, start_from: StartFrom, context: &str) -> Option<Replayed> {
    let options = ReplayOptions { start_from, verify: Verify::Full, ..ReplayOptions::default() };
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    match run.replay(&options, &mut task) {
        Ok(replayed) => Some(replayed),
        // The child ended before RunCreated was in the log.
        Err(failed) if matches!(failed.error.code.as_str(), "EmptyLog" | "NotARun" | "SystemError") => None,
        Err(failed) => panic!("{context}: {}", failed.error),
    }
}

/// Checks that the directory has a valid run with every acknowledged event. Returns the number of its events.
fn check(root: &Path, acked: u64, context: &str) -> u64 {
    let run = RunDirectory::new(root);
    let Some(whole) = replayed(&run, StartFrom::Log, context) else {
        assert_eq!(acked, 0, "{context}: there is no run any more");
        return 0;
    };
    assert!(whole.event_count >= acked, "{context}: {} of {acked} acknowledged events", whole.event_count);
    let is_about_the_end = |warning: &String| warning.starts_with("The last line of the log is torn");
    assert!(whole.warnings.iter().all(is_about_the_end), "{context}: {:?}", whole.warnings);
    let from_snapshot = replayed(&run, StartFrom::LatestSnapshot, context).unwrap();
    assert_eq!(from_snapshot.state_hash, whole.state_hash, "{context}");
    assert_eq!(from_snapshot.warnings, whole.warnings, "{context}");
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    let found = run.verify(&TrustedKeys::default(), &Redactions::default(), &mut task).unwrap();
    assert!(found.is_ok() && found.check(Aspect::Chain).checked == whole.event_count, "{context}: {found:?}");
    check_names(root, context);
    whole.event_count
}

/// Checks names: each file has a name that the format defines, or one that marks what a crash left. A blob has the name of its hash.
fn check_names(directory: &Path, context: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            check_names(&path, context);
            continue;
        }
        let is_known = ["events.cath-log", "events.cath-log.lock", "dag.json", "workflow.json"].contains(&&name[..])
            || (name.starts_with("snap_") && name.ends_with(".cath-snap"))
            || name == as_text(&sha256_hex([&fs::read(&path).unwrap()]))
            || (name.starts_with(".new-") && name.ends_with(".tmp"));
        assert!(is_known, "{context}: {name}");
    }
}

/// Three processes record one run, each ended by `end`. Each one resumes what the previous ones have left. Finally a recorder ends by itself.
///
/// `end` gets the number of events that were present before, and returns how many were acknowledged.
fn three_lives(context: &str, fsync: bool, mut end: impl FnMut(u64, &Orders<'_>) -> u64) {
    let root = tempfile::tempdir().unwrap();
    let run_path = root.path().join("run");
    let orders = Orders { run: &run_path, terms: Terms { fsync, ..Terms::default() } };
    let mut events = 0;
    for _ in 0..3 {
        let acked = end(events, &orders).max(events);
        events = if run_path.exists() { check(&run_path, acked, context) } else { 0 };
        assert!(events >= acked, "{context}: {acked} events were acknowledged");
    }
    let last = run(&orders);
    assert!(last.by_itself() && acked(&last) > events, "{context}: no recorder can go on");
    check(&run_path, acked(&last), context);
}

/// Appends what an interrupted write leaves.
fn tear(run: &Path) {
    if let Ok(mut log) = OpenOptions::new().append(true).open(run.join("events.cath-log")) {
        log.write_all(br#"{"v":1,"time":"#).unwrap();
    }
}

#[test]
fn a_recorder_that_ends_at_any_step_loses_nothing_acknowledged() {
    let mut ended_at = HashSet::new();
    for point in POINTS {
        for round in 0..rounds() {
            // In ten rounds, each round has another visit or another durability.
            let (visit, fsync) = ([1, 5, 2, 7, 20][(round % 5) as usize] + round / 10, round % 2 == 1);
            three_lives(&format!("{point}, visit {visit}, fsync {fsync}"), fsync, |events, orders| {
                if events > 0 && round % 2 == 0 {
                    tear(orders.run);
                }
                let ended = run(&Orders { terms: Terms { point: Some((point, visit)), ..orders.terms }, ..*orders });
                if !ended.by_itself() {
                    ended_at.insert(point);
                }
                acked(&ended)
            });
        }
    }
    assert_eq!(ended_at.len(), POINTS.len(), "ended only at {ended_at:?}");
}

#[test]
fn a_recorder_that_is_killed_at_any_moment_loses_nothing_acknowledged() {
    let mut next = random_numbers();
    for round in 0..rounds() * 4 {
        let context = format!("kill -9, round {round}");
        three_lives(&context, round % 4 == 3, |events, orders| {
            let delay = Duration::from_micros(500 + next(80_000));
            let acked = acked(&kill_after(delay, &mut command(orders)));
            cut_in_mid_write(orders.run, acked.max(events), next(3000));
            acked
        });
    }
}

/// Truncates the log as a kill in the middle of a write would: a part of what was not acknowledged yet is left. Events covered by a snapshot were
/// flushed before that was written.
fn cut_in_mid_write(run: &Path, acked: u64, surplus: u64) {
    let newest = RunDirectory::new(run).snapshot_times().unwrap().first().map_or(0, |time| time + 1);
    let acked = acked.max(newest);
    let path: PathBuf = run.join("events.cath-log");
    let Ok(log) = fs::read(&path) else { return };
    let mut ends = memchr::memchr_iter(b'\n', &log).map(|newline| newline + 1);
    let Some(safe) = acked.checked_sub(1).map_or(Some(0), |last| ends.nth(last as usize)) else { return };
    let length = (safe + surplus as usize).min(log.len());
    OpenOptions::new().write(true).open(&path).unwrap().set_len(length as u64).unwrap();
}

#[test]
fn a_full_disk_leaves_whole_events() {
    for round in 0..rounds() * 4 {
        let context = format!("file limit, round {round}");
        let root = tempfile::tempdir().unwrap();
        let run_path = root.path().join("run");
        let file_limit = Some(25_000 + round % 40 * 557);
        let orders = Orders { run: &run_path, terms: Terms { file_limit, ..Terms::default() } };
        let safe = acked(&run(&orders));
        assert!(safe > 0, "{context}");
        let log = fs::read(run_path.join("events.cath-log")).unwrap();
        assert!(log.ends_with(b"\n"), "{context}: the log ends at an event");
        let events = check(&run_path, safe, &context);
        // The disk has room again, and the run is resumed.
        let last = run(&Orders { terms: Terms::default(), ..orders });
        assert!(last.by_itself() && acked(&last) > events, "{context}");
        check(&run_path, acked(&last), &context);
    }
}

#[test]
fn a_recorder_that_ends_while_it_cuts_back_a_torn_batch_loses_nothing_acknowledged() {
    for point in POINTS_OF_A_FULL_DISK {
        for round in 0..rounds() {
            three_lives(&format!("{point}, round {round}"), false, |events, orders| {
                let size = fs::metadata(orders.run.join("events.cath-log")).map_or(0, |log| log.len());
                let file_limit = Some((size + 9_000 + events * 13 + round % 40 * 311).max(20_000));
                acked(&run(&Orders { terms: Terms { point: Some((point, 1)), file_limit, ..orders.terms }, ..*orders }))
            });
        }
    }
}
