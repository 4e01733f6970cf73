//! Runs on a simulated disk: a recorder that acknowledges what is safe, and the check of what a power cut has left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use serde_json::Value;
use session_tape_core::disk::Durability;
use session_tape_core::json::Text;
use session_tape_core::lines::WriteFailure;
use session_tape_core::run::record::{EventInput, RecordError, RunRecorder, RunRecorderConfig, WrittenSnapshot};
use session_tape_core::run::{Aspect, Kind, Redactions, ReplayOptions, RunDirectory, Scheduler, StartFrom, Verify};
use session_tape_core::signature::TrustedKeys;
use sha2::{Digest as _, Sha256};

use super::disk::Disk;
use super::tree::Tree;
use session_tape_core::task::{Cancellation, Task};

/// The directory of the run, relative to the root of the disk.
pub const RUN: &str = "runs/run";

/// More than the number of events in a test: each node is named by the time at which it is scheduled.
const NODES: usize = 80;

fn workflow() -> String {
    let nodes: Vec<String> = (0..NODES).map(|node| format!(r#"{{"id":"n{node}","kind":"k"}}"#)).collect();
    format!(r#"{{"name":"w","version":"1","nodes":[{}]}}"#, nodes.join(","))
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A recorder, and the failures that it has reported.
pub struct Recording {
    pub recorder: RunRecorder,
    pub failures: mpsc::Receiver<WriteFailure>,
}

impl Recording {
    pub fn open(root: &Path, durability: Durability) -> Result<Self, RecordError> {
        let (sender, failures) = mpsc::channel();
        let config = RunRecorderConfig {
            mode: 0o600,
            directory: root.join(RUN),
            run_id: Text::from_plain("r1"),
            workflow: &workflow(),
            scheduler: Scheduler::External,
            capabilities: None,
            resume: true,
            durability,
            owner: "a recorder".to_owned(),
        };
        let on_failure = move |failure: &WriteFailure| drop(sender.send(failure.clone()));
        Ok(Recording { recorder: RunRecorder::open(&config, 0.0, on_failure)?, failures })
    }

    /// Begins the run, unless it has begun.
    pub fn begin(&self) {
        if self.recorder.next_time() == 1 {
            self.append(Kind::RunStarted, r#"{"workers":[{"id":"w","capabilities":[]}]}"#);
        }
    }

    fn append(&self, kind: Kind, payload: &str) -> u64 {
        self.append_about(None, kind, payload)
    }

    fn append_about(&self, node: Option<&str>, kind: Kind, payload: &str) -> u64 {
        let input = EventInput { kind, node: node.map(|node| Text::from_plain(node).into_owned()), parent: None };
        let Ok(appended) = self.recorder.append(&input, payload.as_bytes(), 0.0);
        appended.unwrap()
    }

    /// Records a node from its first event to its last, with a tool output that is unique.
    pub fn node(&self) -> Result<(), RecordError> {
        let node = format!("n{}", self.recorder.next_time());
        let task = format!(r#""task":"{node}#1""#);
        let output = format!("the output of {node} ").repeat(40);
        self.recorder.put_blob(output.as_bytes())?;
        let output = hex(output.as_bytes());
        self.append(Kind::NodeScheduled, &format!(r#"{{{task},"dependsOn":[]}}"#));
        self.append(Kind::TaskAssigned, &format!(r#"{{{task},"worker":"w","reason":"{}"}}"#, "free ".repeat(60)));
        self.append(Kind::TaskAccepted, &format!(r#"{{{task},"worker":"w"}}"#));
        self.append(Kind::NodeStarted, &format!(r#"{{{task},"worker":"w","inputHash":"h"}}"#));
        let call = r#""tool":"t","call":"c""#;
        self.append_about(Some(&node), Kind::ToolInvoked, &format!(r#"{{{call},"requestHash":"h"}}"#));
        let result = format!(r#"{{{call},"rawHash":"{output}","outputHash":"{output}","normalizer":"none"}}"#);
        self.append_about(Some(&node), Kind::ToolCompleted, &result);
        self.append(Kind::NodeCompleted, &format!(r#"{{{task},"outputHash":"{output}"}}"#));
        Ok(())
    }

    pub fn snapshot(&self) -> Result<(), RecordError> {
        let (sender, written) = mpsc::channel::<Result<WrittenSnapshot, RecordError>>();
        self.recorder.snapshot(None, move |result| sender.send(result).unwrap());
        let WrittenSnapshot { id, logical_time, state_hash, .. } = written.recv().unwrap()?;
        let hash = std::str::from_utf8(&state_hash).unwrap();
        let payload = format!(r#"{{"snapshot":"{id}","stateHash":"{hash}","at":{logical_time}}}"#);
        self.append(Kind::SnapshotCreated, &payload);
        Ok(())
    }

    /// Flushes, and then acknowledges the number of events that are safe.
    pub fn flush(&self, acknowledge: &dyn Fn(u64)) -> Result<(), WriteFailure> {
        let events = self.recorder.next_time();
        let (sender, flushed) = mpsc::channel();
        self.recorder.writer().flush(Box::new(move |result| sender.send(result).unwrap()));
        let result = flushed.recv().unwrap();
        if result.is_ok() && !self.recorder.writer().has_failed() {
            acknowledge(events);
        }
        result
    }

    pub fn end(self) {
        let (sender, disposed) = mpsc::channel();
        self.recorder.dispose(move || sender.send(()).unwrap());
        disposed.recv().unwrap();
    }
}

/// The content of a log, read without the product: the number of complete, chained events, and what they refer to.
#[derive(Default)]
struct Log {
    events: u64,
    /// Each with the number of events up to the one that refers to it.
    blobs: Vec<(u64, String)>,
    snapshots: Vec<(u64, String)>,
}

impl Log {
    fn read(content: &[u8]) -> Self {
        let (mut log, mut previous) = (Log::default(), "0".repeat(64));
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else { break };
            let Ok(event) = serde_json::from_slice::<Value>(line) else { break };
            let Some(covered) = memchr::memmem::find(line, br#","hash":"#) else { break };
            let hash = hex(&[previous.as_bytes(), b"\n", &line[..covered]].concat());
            if event["time"] != log.events || event["hash"] != hash {
                break;
            }
            previous = hash;
            log.events += 1;
            if let Some(blob) = event["payload"]["rawHash"].as_str() {
                log.blobs.push((log.events, blob.to_owned()));
            }
            if let Some(snapshot) = event["payload"]["snapshot"].as_str() {
                log.snapshots.push((log.events, snapshot.to_owned()));
            }
        }
        log
    }
}

/// Checks that nothing acknowledged is lost: events, and the blobs and snapshots that they refer to. What the first `undurable` events refer to was
/// written by a recorder that did not promise durability.
fn check_kept(tree: &Tree, acknowledged: u64, undurable: u64) -> Result<(), String> {
    let files = tree.files();
    let run = PathBuf::from(RUN);
    let content = files.get(&run.join("events.cath-log")).map(Vec::as_slice).unwrap_or_default();
    let log = Log::read(content);
    if log.events < acknowledged {
        return Err(format!("{acknowledged} events were acknowledged and {} are there", log.events));
    }
    for (_, hash) in log.blobs.iter().filter(|(event, _)| (undurable + 1..=acknowledged).contains(event)) {
        let found = files.get(&run.join("blobs").join(&hash[..2]).join(hash));
        if found.is_none_or(|bytes| hex(bytes) != *hash) {
            return Err(format!("the blob {hash} of an acknowledged event is {:?}", found.map(Vec::len)));
        }
    }
    for (_, id) in log.snapshots.iter().filter(|(event, _)| (undurable + 1..=acknowledged).contains(event)) {
        let found = files.get(&run.join("snapshots").join(format!("{id}.cath-snap")));
        if found.is_none_or(|bytes| serde_json::from_slice::<Value>(bytes).is_err()) {
            return Err(format!("the snapshot {id} of an acknowledged event is {:?}", found.map(Vec::len)));
        }
    }
    Ok(())
}

fn watched<T>(work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    work(&mut Task { cancellation: &Cancellation::default(), progress: &mut |_| {} })
}

/// Checks that the run replays to the same state from its log and from its snapshots. Returns the number of its events.
fn check_replays(root: &Path, acknowledged: u64, undurable: u64) -> Result<u64, String> {
    let run = RunDirectory::new(root.join(RUN));
    let replayed = |start_from| {
        let verify = if undurable == 0 { Verify::Full } else { Verify::Chain };
        let options = ReplayOptions { start_from, verify, ..ReplayOptions::default() };
        watched(|task| run.replay(&options, task))
    };
    let whole = match replayed(StartFrom::Log) {
        Ok(whole) => whole,
        // The log or the graph may be missing. The next recorder creates them.
        Err(_) if acknowledged == 0 => return Ok(0),
        Err(failed) => return Err(format!("the run does not replay: {}", failed.error)),
    };
    let from_snapshot = replayed(StartFrom::LatestSnapshot).map_err(|failed| failed.error.to_string())?;
    if from_snapshot.state_hash != whole.state_hash {
        return Err(format!("a snapshot changes the state; {:?}", from_snapshot.warnings));
    }
    if undurable == 0 && from_snapshot.warnings != whole.warnings {
        return Err(format!("a snapshot is there before its log: {:?}", from_snapshot.warnings));
    }
    Ok(whole.event_count)
}

/// Checks that the run verifies. Complete lines after a hole, which no flush has promised, are unverifiable.
fn check_verifies(root: &Path, lines_behind_hole: u64) -> Result<(), String> {
    let run = RunDirectory::new(root.join(RUN));
    let found = watched(|task| run.verify(&TrustedKeys::default(), &Redactions::default(), task));
    match found {
        Ok(found) if found.is_ok() => Ok(()),
        Ok(found) if found.findings.first_failure().is_none() && lines_behind_hole > 0 => {
            let unverifiable = found.check(Aspect::Chain).unverifiable;
            (unverifiable == lines_behind_hole)
                .then_some(())
                .ok_or(format!("{unverifiable} lines, not {lines_behind_hole}"))
        }
        found => Err(format!("the run does not verify: {found:?}")),
    }
}

/// The number of complete lines in the log after the first `events`.
fn lines_behind(tree: &Tree, events: u64) -> u64 {
    let files = tree.files();
    let log = files.get(&PathBuf::from(RUN).join("events.cath-log")).map(Vec::as_slice).unwrap_or_default();
    log.iter().filter(|byte| **byte == b'\n').count() as u64 - events
}

/// Checks that what was acknowledged is present and verifies, and that another recorder can resume the run.
pub fn judge(root: &Path, tree: &Tree, acknowledged: &BTreeSet<u64>, undurable: u64) -> Result<(), String> {
    let disk = Disk::of(root, tree.clone());
    let _mounted = disk.mounted();
    go_on(root, &|| disk.tree(), acknowledged, undurable)
}

/// Like `judge`, for a directory on any disk; `tree` returns its current content.
pub fn go_on(root: &Path, tree: &dyn Fn() -> Tree, acknowledged: &BTreeSet<u64>, undurable: u64) -> Result<(), String> {
    let acknowledged = acknowledged.last().copied().unwrap_or(0);
    check_kept(&tree(), acknowledged, undurable)?;
    let events = check_replays(root, acknowledged, undurable)?;
    if acknowledged > 0 && events == acknowledged && undurable == 0 {
        check_verifies(root, lines_behind(&tree(), acknowledged))?;
    }
    let next = Recording::open(root, Durability::Fsync).map_err(|error| format!("no recorder can go on: {error}"))?;
    let before = next.recorder.next_time();
    next.begin();
    next.node().map_err(|error| format!("the next recorder fails: {error}"))?;
    next.flush(&|_| {}).map_err(|failure| format!("the next recorder fails: {failure:?}"))?;
    let after = next.recorder.next_time();
    next.end();
    check_kept(&tree(), acknowledged, undurable)?;
    if undurable == 0 {
        check_verifies(root, 0)?;
    }
    if before < acknowledged || check_replays(root, after, undurable)? != after {
        return Err(format!("the next recorder went on at {before}, {acknowledged} events were acknowledged"));
    }
    Ok(())
}

/// On a disk that shows previous content, a power cut may leave lines that cannot be told from damage. What was acknowledged precedes them, and a
/// reader that cannot continue reports it.
pub fn judge_after_garbage(root: &Path, tree: &Tree, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    let disk = Disk::of(root, tree.clone());
    let _mounted = disk.mounted();
    let acknowledged = acknowledged.last().copied().unwrap_or(0);
    check_kept(&disk.tree(), acknowledged, 0)?;
    let run = RunDirectory::new(root.join(RUN));
    let options = ReplayOptions { verify: Verify::Full, ..ReplayOptions::default() };
    let events = match watched(|task| run.replay(&options, task)) {
        Ok(whole) => whole.event_count,
        Err(failed) => failed.error.time.unwrap_or(0),
    };
    match Recording::open(root, Durability::Fsync) {
        _ if events < acknowledged => Err(format!("the replay ended at {events}, {acknowledged} were acknowledged")),
        Ok(next) => {
            next.end();
            check_kept(&disk.tree(), acknowledged, 0)
        }
        Err(RecordError::Locked { .. }) => Err("no recorder gets the lock".to_owned()),
        Err(_) => check_kept(&disk.tree(), acknowledged, 0),
    }
}
