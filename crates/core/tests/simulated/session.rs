//! Sessions on a simulated disk: a recorder that acknowledges what is safe, and the check of what a power cut has left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use serde_json::Value;
use session_tape_core::disk::Durability;
use session_tape_core::lines::WriteFailure;
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::read::Replay;
use session_tape_core::session::record::{FileNameForm, Record, Recorder, RecorderConfig};

use super::disk::Disk;
use super::tree::Tree;

/// The directory of the sessions, relative to the root of the disk.
pub const CHATS: &str = "home/chats";

/// The text of the record with this id, which is unique.
fn text_of(id: u64) -> String {
    format!("{id} ").repeat(30 + (id as usize * 37) % 60)
}

/// A recorder, and the failures that it has reported.
pub struct Recording {
    pub recorder: Recorder,
    pub failures: mpsc::Receiver<WriteFailure>,
    unflushed: std::cell::RefCell<Vec<u64>>,
}

impl Recording {
    pub fn new(root: &Path, durability: Durability) -> Self {
        let (sender, failures) = mpsc::channel();
        let config = RecorderConfig {
            mode: 0o600,
            chats_dir: root.join(CHATS),
            file_name: FileNameForm::Minutes,
            id_prefix: "cut".encode_utf16().collect(),
            durability,
            exclusive_owner: Some("a recorder".to_owned()),
        };
        let start =
            br#"{"sessionId":"s","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#;
        let on_failure = move |failure: &WriteFailure| drop(sender.send(failure.clone()));
        let recorder = Recorder::new(config, start, 0.0, on_failure);
        Recording { recorder, failures, unflushed: Vec::new().into() }
    }

    /// Records an item. Returns whether the recorder took it.
    pub fn record(&self, id: u64) -> bool {
        let payload = format!(r#"{{"content":{{"speaker":"ai","id":{id},"text":"{}"}}}}"#, text_of(id));
        let payload = Some(payload.as_bytes());
        let Ok(recorded) = self.recorder.record(Record { type_json: b"\"content\"", milliseconds: 0.0, payload });
        self.unflushed.borrow_mut().push(id);
        recorded.is_some()
    }

    /// Flushes, and then acknowledges what is safe. Returns the result of the flush.
    pub fn flush(&self, acknowledge: &dyn Fn(u64)) -> Result<(), WriteFailure> {
        let (sender, flushed) = mpsc::channel();
        self.recorder.writer().flush(Box::new(move |result| sender.send(result).unwrap()));
        let result = flushed.recv().unwrap();
        if result.is_ok() && !self.recorder.writer().has_failed() {
            self.unflushed.borrow_mut().drain(..).for_each(acknowledge);
        }
        result
    }

    pub fn end(self) {
        let (sender, disposed) = mpsc::channel();
        self.recorder.dispose(move || sender.send(()).unwrap());
        disposed.recv().unwrap();
    }
}

/// The session files on a disk, relative to its root.
pub fn sessions(tree: &Tree) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = tree.files();
    files.retain(|path, _| path.extension().is_some_and(|extension| extension == "jsonl"));
    files
}

/// The ids of the records in a file, read without the product. An error if a record occurs twice, is out of order or was altered.
pub fn ids_in(content: &[u8]) -> Result<Vec<u64>, String> {
    let mut ids = Vec::new();
    for line in content.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
        if record["type"] != "content" {
            continue;
        }
        let id = record["payload"]["content"]["id"].as_u64().ok_or("a record without an id")?;
        if record["payload"]["content"]["text"] != *text_of(id) {
            return Err(format!("record {id} was altered"));
        }
        if ids.last().is_some_and(|last| *last >= id) {
            return Err(format!("record {id} is there twice or out of order: {ids:?}"));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// The number of items of a replay, its last `seq`, and whether it has metadata.
fn replayed(path: &Path) -> Result<(usize, f64, bool), String> {
    let replay = Replay::open(path, FoldOptions::default())
        .and_then(Replay::complete)
        .map_err(|error| format!("the replay fails: {error:?}"))?;
    let outcome = replay.outcome(None);
    Ok((replay.items().len(), outcome.last_seq, outcome.metadata.is_ok()))
}

/// Checks that nothing acknowledged is lost, that no record occurs in part or twice, and that another recorder can resume the session.
pub fn judge(root: &Path, tree: &Tree, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    let disk = Disk::of(root, tree.clone());
    let _mounted = disk.mounted();
    go_on(root, &|| disk.tree(), acknowledged)
}

/// Like `judge`, for a directory on any disk; `tree` returns its current content.
pub fn go_on(root: &Path, tree: &dyn Fn() -> Tree, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    const NEXT: u64 = 1_000_000;
    check(&tree(), root, acknowledged)?;
    let recording = Recording::new(root, Durability::Fsync);
    let resumable = sessions(&tree()).into_keys().find_map(|path| {
        let path = root.join(path);
        let (_, last_seq, is_session) = replayed(&path).ok()?;
        is_session.then_some((path, last_seq))
    });
    if let Some((path, last_seq)) = resumable
        && !recording.recorder.resume(path, last_seq)
    {
        return Err(format!("the session can't be resumed: {:?}", recording.failures.try_recv()));
    }
    recording.record(NEXT);
    recording.flush(&|_| {}).map_err(|failure| format!("the next recorder failed: {failure:?}"))?;
    if let Ok(failure) = recording.failures.try_recv() {
        return Err(format!("the next recorder failed: {failure:?}"));
    }
    recording.end();
    let mut with_next = acknowledged.clone();
    with_next.insert(NEXT);
    check(&tree(), root, &with_next)
}

fn check(tree: &Tree, root: &Path, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    let mut found = BTreeSet::new();
    for (path, content) in sessions(tree) {
        let ids = ids_in(&content)?;
        let path = root.join(path);
        let (items, _, is_session) = replayed(&path)?;
        if is_session {
            if items != ids.len() {
                return Err(format!("the replay has {items} items, the file {}", ids.len()));
            }
            found.extend(ids);
        }
    }
    match acknowledged.difference(&found).next() {
        Some(id) => Err(format!("record {id} was acknowledged and is lost")),
        None => Ok(()),
    }
}
