//! Recorded samples for tests: a run directory with log, graph, blobs and snapshots.

#![allow(missing_docs)]

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::disk::Durability;
use crate::hash::{HexHash, as_text, sha256_hex, to_hex};
use crate::json::{Nesting, Text};
use crate::run::format::{Envelope, GENESIS, Kind, Payload, append_line};
use crate::run::graph::Normalizer;
use crate::run::read::Event;
use crate::run::sample::{Sample, SampleOptions};
use crate::run::state::{Content, Snapshot, State, StateHasher};
use crate::run::store::{BlobStore, RunDirectory};
use crate::signature::SigningKey;

/// An event to be recorded.
#[derive(Clone, Debug)]
pub struct Record {
    pub kind: Kind,
    pub node: Option<String>,
    pub parent: Option<u64>,
    pub payload: Value,
    pub state_hash: HexHash,
}

/// A recorded run.
pub struct Recorded {
    pub sample: Sample,
    pub records: Vec<Record>,
    pub directory: RunDirectory,
    root: tempfile::TempDir,
}

impl Recorded {
    /// Records a sample. Outputs of tools are in the blob store, and their hashes are real.
    pub fn new(options: SampleOptions) -> Self {
        let sample = Sample::new(options);
        let root = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(root.path().join("run"));
        let blobs = BlobStore::new(directory.blobs());
        let records = records(&sample, &blobs);
        fs::create_dir_all(directory.snapshots()).unwrap();
        fs::write(directory.dag(), sample.dag.text()).unwrap();
        fs::write(directory.workflow(), &sample.workflow).unwrap();
        let recorded = Recorded { sample, records, directory, root };
        recorded.write_log(&recorded.records);
        recorded
    }

    /// Writes a log of `records` with a valid chain, whatever the records are.
    pub fn write_log(&self, records: &[Record]) {
        fs::write(self.directory.log(), lines(records).concat()).unwrap();
    }

    /// The bytes of the log.
    pub fn log(&self) -> Vec<u8> {
        fs::read(self.directory.log()).unwrap()
    }

    /// The time of the last event.
    pub fn last(&self) -> u64 {
        self.records.len() as u64 - 1
    }

    /// The state after the event at `time`, folded from the records.
    pub fn state_at(&self, time: u64) -> State {
        let mut state = State::new(self.sample.dag.clone());
        for (time, record) in (0..=time).zip(&self.records) {
            let payload = record.payload.to_string();
            state.apply(&event(time, record, &payload)).unwrap();
        }
        state
    }

    /// A snapshot of the state after the event at `time`.
    pub fn snapshot_at(&self, time: u64) -> Snapshot {
        let state = self.state_at(time);
        let line = lines(&self.records)[time as usize].clone();
        let content = Content {
            run_id: state.run().unwrap().id.as_json().to_owned(),
            logical_time: time,
            event_hash: hash_of(&line),
            state_hash: self.records[time as usize].state_hash,
            state: state.to_canonical().unwrap().into_bytes(),
        };
        Snapshot::new(content, None)
    }

    /// Writes a snapshot of the state after the event at `time`, signed if there is a key. Returns its path.
    pub fn write_snapshot(&self, time: u64, key: Option<&SigningKey>) -> PathBuf {
        let snapshot = Snapshot::new(self.snapshot_at(time).content, key);
        snapshot.write(&self.directory.snapshots(), Durability::Os).unwrap()
    }

    /// The directory that contains the run's directory.
    pub fn beside(&self) -> PathBuf {
        self.root.path().to_owned()
    }
}

/// The chained lines of a log.
pub fn lines(records: &[Record]) -> Vec<Vec<u8>> {
    let mut previous = GENESIS;
    let mut lines = Vec::new();
    for (time, record) in (0..).zip(records) {
        let mut line = Vec::new();
        let node = record.node.as_deref().map(Text::from_plain);
        let node = node.as_ref().map(Text::as_json);
        let (kind, parent) = (record.kind.as_str(), record.parent);
        let envelope = Envelope { time, ts: "2026-02-11T16:00:00.000Z", kind, node, parent };
        let salt = *sha256_hex([&time.to_le_bytes()]).first_chunk().unwrap();
        let payload = record.payload.to_string();
        previous = append_line(&mut line, &previous, &envelope, &record.state_hash, &salt, payload.as_bytes());
        lines.push(line);
    }
    lines
}

fn hash_of(line: &[u8]) -> HexHash {
    let at = memchr::memmem::find(line, b",\"hash\":\"").unwrap() + 9;
    *line[at..].first_chunk().unwrap()
}

fn event<'a>(time: u64, record: &'a Record, payload: &'a str) -> Event<'a> {
    let payload = Payload::parse(record.kind, payload, &mut Nesting::default()).unwrap();
    Event { time, node: record.node.as_deref().map(Text::from_plain), parent: record.parent, payload }
}

/// The sample's events, with the hashes of real states and outputs.
fn records(sample: &Sample, blobs: &BlobStore) -> Vec<Record> {
    let mut state = State::new(sample.dag.clone());
    let mut hasher = StateHasher::default();
    let mut records: Vec<Record> = Vec::new();
    for sampled in &sample.events {
        let mut payload: Value = serde_json::from_str(&sampled.payload).unwrap();
        match sampled.kind {
            Kind::BlobStored => give_blob(&mut payload, sampled.time, blobs),
            Kind::ToolCompleted => give_output(&mut payload, sampled.time, blobs),
            Kind::SnapshotCreated | Kind::SnapshotRestored => {
                let at = payload["at"].as_u64().unwrap() as usize;
                payload["stateHash"] = json!(as_text(&records[at].state_hash));
            }
            _ => {}
        }
        let (kind, node, parent) = (sampled.kind, sampled.node.clone(), sampled.parent);
        let mut record = Record { kind, node, parent, payload, state_hash: GENESIS };
        let text = record.payload.to_string();
        state.apply_into(&event(sampled.time, &record, &text), &mut hasher).unwrap();
        record.state_hash = to_hex(&hasher.state_hash(&state).unwrap());
        records.push(record);
    }
    assert_eq!(hasher.state_hash(&state), state.hash());
    records
}

fn give_blob(payload: &mut Value, time: u64, blobs: &BlobStore) {
    let bytes = format!("blob {time}");
    payload["blob"] = json!(as_text(&blobs.put(bytes.as_bytes(), Durability::Os).unwrap()));
    payload["size"] = json!(bytes.len());
}

fn give_output(payload: &mut Value, time: u64, blobs: &BlobStore) {
    let raw = format!("{{ \"z\": [{time}.0, \"\u{e9}\"], \r\n \"a\": null }} ");
    let normalizer = Normalizer::named(payload["normalizer"].as_str().unwrap()).unwrap();
    let output = sha256_hex([&normalizer.apply(raw.as_bytes()).unwrap()]);
    payload["rawHash"] = json!(as_text(&blobs.put(raw.as_bytes(), Durability::Os).unwrap()));
    payload["outputHash"] = json!(as_text(&output));
}
