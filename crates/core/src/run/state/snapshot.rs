//! Snapshots (`docs/run-format.md` section 10): the state after an event, in a separate file.
//!
//! A snapshot is checked in two steps. This module checks that the document has its canonical form, that the content has its hash and, if
//! there are trusted keys, the signature of one of them. The caller, which has the log, checks that the state is that of the log.

use std::path::{Path, PathBuf};

use super::state::State;
use crate::disk::write::write_atomically;
use crate::disk::{Durability, InputFile, OsError, files};
use crate::hash::{HEX_BYTES, HexHash, as_text, is_lower_hex, sha256_hex};
use crate::json::Writer;
use crate::run::format::{ErrorCode, Members, RunError};
use crate::signature::{Signature, SigningKey, TrustedKeys};

/// The payload type of the DSSE signature of a snapshot.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.cath.snapshot+json";

/// The largest snapshot that is read, in bytes.
pub(crate) const MAX_SNAPSHOT_BYTES: u64 = 1 << 30;

const PREFIX: &str = "snap_";

/// The content of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The id of the run, as a JSON string without its quotes.
    pub run_id: String,
    /// The logical time of the event after which the snapshot is taken.
    pub logical_time: u64,
    /// The `hash` of that event's line.
    pub event_hash: HexHash,
    /// The hash of the state after that event.
    pub state_hash: HexHash,
    /// The state, as canonical JSON.
    pub state: Vec<u8>,
}

/// A snapshot that was written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The content.
    pub content: Content,
    /// The hash of the document without `contentHash` and `signature`.
    pub content_hash: HexHash,
    /// The signature of the document without `contentHash` and `signature`.
    pub signature: Option<Signature>,
}

impl Snapshot {
    /// The suffix of the name of a snapshot's file.
    pub const SUFFIX: &str = ".cath-snap";

    /// The id of the snapshot that is taken after the event at `time`.
    pub fn id_at(time: u64) -> String {
        format!("{PREFIX}{time}")
    }

    /// The logical time in a snapshot's id. Returns `None` if `id` is not such an id.
    pub fn time_of_id(id: &str) -> Option<u64> {
        let digits = id.strip_prefix(PREFIX)?;
        let time: u64 = digits.parse().ok()?;
        (time.to_string() == digits).then_some(time)
    }

    /// A snapshot of `content`, signed if there is a key.
    pub fn new(content: Content, key: Option<&SigningKey>) -> Self {
        let bytes = content.print(None);
        let signature = key.map(|key| key.sign(PAYLOAD_TYPE, &bytes));
        Snapshot { content, content_hash: sha256_hex([&bytes]), signature }
    }

    /// Its id.
    pub fn id(&self) -> String {
        Snapshot::id_at(self.content.logical_time)
    }

    /// Prints the document, as canonical JSON.
    pub fn print(&self) -> Vec<u8> {
        self.content.print(Some((&self.content_hash, self.signature.as_ref())))
    }

    /// Parses a document. It must have the form of [`print`](Self::print), and its content must have its hash and, if there are trusted
    /// keys, the signature of one of them.
    pub fn parse(document: &str, trusted: &TrustedKeys) -> Result<Self, RunError> {
        let members = Members::of(document).filter(|_| document.starts_with('{'));
        let members = Document(members.ok_or_else(|| invalid("it is not a JSON object"))?);
        if members.value("v")? != "1" {
            let message = "The snapshot is of a format version that this release does not read; a newer one may";
            return Err(RunError::new(ErrorCode::SnapshotInvalid, message).compared("1", members.value("v")?));
        }
        let snapshot = members.snapshot()?;
        if snapshot.print() != document.as_bytes() {
            return Err(invalid("it is not written in canonical form, or has other fields than a snapshot"));
        }
        let bytes = snapshot.content.print(None);
        let found = sha256_hex([&bytes]);
        if found != snapshot.content_hash {
            let error = invalid("it was changed after it was written: its content has another hash");
            return Err(error.compared(as_text(&snapshot.content_hash), as_text(&found)));
        }
        if !trusted.is_empty() {
            let signature = snapshot.signature.as_ref().ok_or_else(|| invalid("it is not signed"))?;
            trusted.verify(PAYLOAD_TYPE, &bytes, signature).map_err(|error| invalid(&error.to_string()))?;
        }
        Ok(snapshot)
    }

    /// Writes the snapshot atomically to a run's directory of snapshots, or leaves the directory as it was. Returns its path.
    pub fn write(&self, directory: &Path, durability: Durability) -> Result<PathBuf, OsError> {
        let path = path_of(directory, self.content.logical_time);
        let replaces = files::exists(&path);
        let written = write_atomically(&path, &self.print(), files::parent(directory), durability);
        written.inspect_err(|_| {
            if !replaces {
                let _ = files::remove_file(&path);
            }
        })?;
        Ok(path)
    }

    /// Reads the snapshot at `path`, like [`parse`](Self::parse). The file must not have the name of another snapshot.
    pub fn read(path: &Path, trusted: &TrustedKeys) -> Result<Self, RunError> {
        let metadata = files::metadata(path)?;
        if !metadata.is_file() || metadata.size > MAX_SNAPSHOT_BYTES {
            let message = format!("it is no file of at most {MAX_SNAPSHOT_BYTES} bytes");
            return Err(invalid(&message));
        }
        let bytes = InputFile::open(path)?.read_up_to(MAX_SNAPSHOT_BYTES)?;
        let document = std::str::from_utf8(&bytes).map_err(|_| invalid("it is not UTF-8"))?;
        let snapshot = Self::parse(document, trusted)?;
        match time_of(path) {
            Some(time) if time != snapshot.content.logical_time => {
                let error = invalid("it has the name of another one");
                Err(error.compared(Snapshot::id_at(time), snapshot.id()))
            }
            _ => Ok(snapshot),
        }
    }
}

impl Content {
    /// Decodes the state, which must have a run and the snapshot's time.
    pub fn decode_state(&self) -> Result<State, RunError> {
        let state = State::from_canonical(std::str::from_utf8(&self.state).unwrap_or_default())?;
        if state.run().is_none() {
            return Err(invalid("its state has no run"));
        }
        if state.logical_time() != Some(self.logical_time) {
            return Err(invalid("its state is of another time"));
        }
        Ok(state)
    }

    /// Prints the document, with or without hash and signature.
    fn print(&self, seal: Option<(&HexHash, Option<&Signature>)>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.state.len() + 700);
        let mut object = Writer::new(&mut out).object();
        if let Some((hash, _)) = seal {
            object.key("contentHash").text(as_text(hash));
        }
        object.key("eventHash").text(as_text(&self.event_hash));
        object.key("logicalTime").integer(self.logical_time);
        object.key("runId").text(&self.run_id);
        if let Some((_, Some(signature))) = seal {
            object.key("signature").json(signature.to_json().as_bytes());
        }
        object.key("snapshot").text(&Snapshot::id_at(self.logical_time));
        object.key("state").json(&self.state);
        object.key("stateHash").text(as_text(&self.state_hash));
        object.key("v").integer(1);
        object.close();
        out
    }
}

/// The error for a snapshot after which no replay can start.
pub(crate) fn invalid(why: &str) -> RunError {
    RunError::new(ErrorCode::SnapshotInvalid, format!("The snapshot can't be used: {why}"))
}

/// The path of the snapshot that is taken after the event at `time`.
pub(crate) fn path_of(directory: &Path, time: u64) -> PathBuf {
    directory.join(format!("{PREFIX}{time}{}", Snapshot::SUFFIX))
}

/// The logical time in the name of a snapshot's file. Returns `None` if it is not such a name.
pub(crate) fn time_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    Snapshot::time_of_id(name.strip_suffix(Snapshot::SUFFIX)?)
}

/// The times of the snapshots in a directory, newest first. Empty if the directory does not exist.
pub(crate) fn list(directory: &Path) -> Result<Vec<u64>, RunError> {
    let names = match files::read_directory(directory) {
        Err(error) if error.code == "ENOENT" => return Ok(Vec::new()),
        names => names?,
    };
    let mut times = Vec::new();
    for name in names {
        times.extend(time_of(Path::new(&name?)));
    }
    times.sort_unstable();
    times.reverse();
    Ok(times)
}

/// The members of a document.
struct Document<'a>(Members<'a>);

impl<'a> Document<'a> {
    fn value(&self, key: &str) -> Result<&'a str, RunError> {
        self.0.value(key).ok_or_else(|| invalid(&format!("it has no field '{key}'")))
    }

    /// The value of a string, without its quotes.
    fn text(&self, key: &str) -> Result<&'a str, RunError> {
        let inside = self.value(key)?.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inside.ok_or_else(|| invalid(&format!("its field '{key}' is not a string")))
    }

    fn hash(&self, key: &str) -> Result<HexHash, RunError> {
        let digits: Option<&HexHash> = self.text(key)?.as_bytes().first_chunk::<HEX_BYTES>();
        let whole = digits.filter(|digits| is_lower_hex(*digits)).copied();
        whole.ok_or_else(|| invalid(&format!("its field '{key}' is not 64 lower-case hex digits")))
    }

    /// The snapshot with these fields. Whether the document contains anything else shows when the snapshot is printed again.
    fn snapshot(&self) -> Result<Snapshot, RunError> {
        let time = self.value("logicalTime")?.parse();
        let signature = match self.0.value("signature") {
            Some(text) => Some(Signature::from_json(text).map_err(|error| invalid(&error.to_string()))?),
            None => None,
        };
        let content = Content {
            run_id: self.text("runId")?.to_owned(),
            logical_time: time.map_err(|_| invalid("its field 'logicalTime' is not an integer from 0"))?,
            event_hash: self.hash("eventHash")?,
            state_hash: self.hash("stateHash")?,
            state: self.value("state")?.as_bytes().to_vec(),
        };
        Ok(Snapshot { content, content_hash: self.hash("contentHash")?, signature })
    }
}

#[cfg(test)]
mod tests;
