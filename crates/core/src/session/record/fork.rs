//! Forks: a new session that begins with another one's history up to a checkpoint (`docs/session-format.md` section 8).
//!
//! Items are copied byte for byte. The new file is written under a temporary name and gets its own name once it is whole, so a crash
//! never leaves half a session.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use super::recorder::{FileNameForm, MAX_NAMES, Record, append_line, file_name};
use crate::clock::{Clock, timestamp};
use crate::disk::OsError;
use crate::disk::write::{Naming, StagedFile, sync_entry};
use crate::json::JsonText;
use crate::session::fold::{Checkpoint, FoldOptions, HistoryEffect};
use crate::session::format::{EventType, Mode, envelope, is_string};
use crate::session::read::{Replay, ReplayError};

/// The temporary name of the new file until it is whole. Listings do not mistake it for a session.
const UNFINISHED: Naming = (".session-tape-", ".fork");

/// Why a session was not forked.
#[derive(Clone, Debug, PartialEq)]
pub enum ForkError {
    /// The source can't be replayed.
    Source(ReplayError),
    /// The numbers of the source's records do not ascend.
    SequenceCorrupt,
    /// The source has no such checkpoint, or it is deleted.
    Gone,
    /// The source could not be read up to the checkpoint.
    Through(ReplayError),
    /// The history is empty at the checkpoint.
    Empty,
    /// The new file could not be written.
    System(OsError),
}

/// A checkpoint to fork from.
#[derive(Clone, Debug)]
pub struct ForkSource {
    /// The file of the session with the checkpoint.
    pub path: PathBuf,
    /// The hash, in UTF-16, that the session's project must have.
    pub project_hash: Vec<u16>,
    /// The checkpoint's id, in UTF-16.
    pub checkpoint_id: Vec<u16>,
}

/// The session to be created.
#[derive(Clone, Debug)]
pub struct ForkTarget {
    /// The directory in which its file is created.
    pub chats_dir: PathBuf,
    /// The form of the file's name.
    pub file_name: FileNameForm,
    /// The first UTF-16 units of its id, with which the file's name ends.
    pub id_prefix: Vec<u16>,
    /// JSON text of the payload of its `session_start`.
    pub start_payload: Vec<u8>,
    /// The permissions of its file, less the umask.
    pub mode: u32,
    /// The time of its records, in milliseconds since 1970.
    pub milliseconds: f64,
    /// JSON text of the items that it begins with, instead of those of the source.
    pub contents: Option<Vec<String>>,
}

impl ForkTarget {
    fn path(&self, number: u32) -> PathBuf {
        self.chats_dir.join(file_name(self.file_name, &timestamp(self.milliseconds), &self.id_prefix, number))
    }
}

/// A session that was created by forking.
#[derive(Clone, Debug, PartialEq)]
pub struct Fork {
    /// Its file.
    pub path: PathBuf,
    /// The number of its last record.
    pub last_seq: f64,
}

/// Creates a session from another one's history up to a checkpoint.
pub fn fork(source: &ForkSource, target: &ForkTarget) -> Result<Fork, ForkError> {
    let Found { replay, options, sequence, forked } = find(source)?;
    match replay.history_at_checkpoint(sequence) {
        Some(history) => write(target, &forked, history, &replay),
        // The checkpoint was created directly after edits.
        None => {
            let through = FoldOptions { through_seq: Some(sequence), ..options };
            let replay = Replay::open(&source.path, through).and_then(Replay::complete).map_err(ForkError::Through)?;
            write(target, &forked, replay.history(), &replay)
        }
    }
}

/// The number of the record that created the checkpoint, if a session can be forked from it.
pub fn fork_sequence(source: &ForkSource) -> Result<f64, ForkError> {
    find(source).map(|found| found.sequence)
}

/// A checkpoint that was found in its session.
struct Found {
    replay: Replay,
    options: FoldOptions,
    /// The number of the record that created it.
    sequence: f64,
    /// JSON text of the payload of the new session's `session_forked`.
    forked: Vec<u8>,
}

/// Scans the session to its end, since a later record may delete or rename the checkpoint. What a newer program has recorded behind the checkpoint is
/// not read.
fn find(source: &ForkSource) -> Result<Found, ForkError> {
    let options = FoldOptions {
        project_hash: Some(source.project_hash.clone()),
        checkpoint_id: Some(source.checkpoint_id.clone()),
        mode: Mode::Strict,
        ends_at_newer: true,
        ..FoldOptions::default()
    };
    let replay = Replay::open(&source.path, options.clone()).and_then(Replay::complete).map_err(ForkError::Source)?;
    let outcome = replay.outcome(None);
    let metadata = outcome.metadata.map_err(ForkError::Source)?;
    if outcome.is_out_of_sequence {
        return Err(ForkError::SequenceCorrupt);
    }
    let live = outcome.checkpoints.iter().find(|one| !one.deleted && is_string(one.id, &source.checkpoint_id));
    let Some(checkpoint) = live else { return Err(replay.newer().map_or(ForkError::Gone, ForkError::Source)) };
    let (sequence, forked) = (checkpoint.sequence, forked_payload(metadata.session_id, checkpoint));
    Ok(Found { replay, options, sequence, forked })
}

/// JSON text of the payload of `session_forked`.
fn forked_payload(parent: &[u8], checkpoint: &Checkpoint<'_>) -> Vec<u8> {
    let json = JsonText::of_object(|json| {
        json.key("parentSessionId").raw(parent);
        json.key("parentSequence").number(checkpoint.sequence);
        json.key("checkpointId").raw(checkpoint.id);
        json.key("checkpointName").raw(checkpoint.name);
    });
    json.into_bytes()
}

fn write(target: &ForkTarget, forked: &[u8], history: &HistoryEffect, replay: &Replay) -> Result<Fork, ForkError> {
    if history.items().is_empty() {
        return Err(ForkError::Empty);
    }
    let first = target.path(1);
    let failed = |error: io::Error, syscall| ForkError::System(OsError::new(&error, syscall, Some(&first)));
    let mut file = StagedFile::beside(&first, UNFINISHED, target.mode).map_err(ForkError::System)?;
    failpoint!("fork::created");
    let mut records = Records { writer: BufWriter::new(file.file()), seq: 0.0, target, clock: Clock::default() };
    records.append(EventType::SessionStart, &target.start_payload).map_err(|error| failed(error, "write"))?;
    records.append(EventType::SessionForked, forked).map_err(|error| failed(error, "write"))?;
    let mut payload = Vec::new();
    let own = target.contents.as_deref();
    for index in 0..own.map_or(history.items().len(), <[String]>::len) {
        payload.clear();
        payload.extend_from_slice(b"{\"content\":");
        match own {
            Some(contents) => payload.extend_from_slice(contents[index].as_bytes()),
            None => history.items()[index]
                .append_to(&mut payload, &history.markers, replay.source())
                .map_err(|error| ForkError::Through(error.into()))?,
        }
        payload.push(b'}');
        records.append(EventType::Content, &payload).map_err(|error| failed(error, "write"))?;
    }
    let last_seq = records.seq;
    records.writer.flush().map_err(|error| failed(error, "write"))?;
    drop(records);
    failpoint!("fork::written");
    file.sync().map_err(ForkError::System)?;
    failpoint!("fork::synced");
    let names = (1..=MAX_NAMES).map(|number| target.path(number));
    let path = file.place_at_first(names).map_err(ForkError::System)?;
    failpoint!("fork::placed");
    sync_entry(&path).map_err(|error| ForkError::System(OsError { path: Some(path.clone()), ..error }))?;
    Ok(Fork { path, last_seq })
}

/// Writes records one after another.
struct Records<'t, W: Write> {
    writer: W,
    seq: f64,
    target: &'t ForkTarget,
    clock: Clock,
}

impl<W: Write> Records<'_, W> {
    fn append(&mut self, event_type: EventType, payload: &[u8]) -> io::Result<()> {
        self.seq += 1.0;
        let mut line = Vec::with_capacity(envelope::ENVELOPE_BYTES + payload.len());
        let record = Record {
            type_json: event_type.as_json().as_bytes(),
            milliseconds: self.target.milliseconds,
            payload: Some(payload),
        };
        let Ok(_) = append_line(&mut line, self.seq, record, &mut self.clock);
        self.writer.write_all(&line)
    }
}

#[cfg(test)]
mod tests;
