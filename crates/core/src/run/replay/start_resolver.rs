//! Finds the start point of a replay: the first event, or the one after a snapshot that is proven to match the log.
//!
//! A snapshot is good if its document is whole, if it is of this run, if its hashes are those of the log's event at its time, and if its
//! state has that state hash. Nothing else in it is trusted.

use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::replay_start::ReplayStart;
use super::start_from::StartFrom;
use crate::disk::{InputFile, OsError};
use crate::hash::{HexHash, as_text};
use crate::json::quoted;
use crate::run::format::{Created, ErrorCode, EventLine, Redactions, RunError};
use crate::run::read::{LogReader, Position, find};
use crate::run::state::{Snapshot, State, invalid, snapshot};
use crate::run::store::RunDirectory;
use crate::signature::TrustedKeys;

/// Finds the start point of a replay of a run.
pub(crate) struct StartResolver<'s> {
    /// The run.
    pub directory: &'s RunDirectory,
    /// Trusted keys. If there are any, a snapshot must be signed by one of them.
    pub trusted: &'s TrustedKeys,
    /// What a bundle lists as redacted.
    pub redactions: &'s Redactions,
    /// Logical time of the last event to apply, if there is a limit. Later snapshots are not used.
    pub until: Option<u64>,
}

impl StartResolver<'_> {
    /// The requested start point, or the nearest good one before it. A warning is added for each skipped snapshot.
    pub(crate) fn resolve(&self, from: &StartFrom, warnings: &mut Vec<String>) -> Result<ReplayStart, RunError> {
        if let StartFrom::BundleSnapshot(path) = from {
            return self.after_bundle_snapshot(path);
        }
        for Candidate { time, path } in self.candidates(from, warnings)? {
            match self.after_snapshot_in(time, &path) {
                Ok(start) => return Ok(start),
                Err(error) => warnings.push(format!("{} was passed over: {error}", Snapshot::id_at(time))),
            }
        }
        self.directory.read_dag().map(ReplayStart::first_event)
    }

    /// The start point after the run's snapshot of the event at `time`. Returns an error if that snapshot is not good.
    pub(crate) fn after_snapshot(&self, time: u64) -> Result<ReplayStart, RunError> {
        self.after_snapshot_in(time, &self.directory.snapshot(time))
    }

    /// The start point after the snapshot with which a partial bundle begins. The log has no earlier events, so only its first line can be
    /// compared with the snapshot: a verifier checks that line's hash.
    pub(crate) fn after_bundle_snapshot(&self, path: &Path) -> Result<ReplayStart, RunError> {
        let start = ReplayStart::after_snapshot(&Snapshot::read(path, self.trusted)?.content, 0)?;
        let begins = start.state.logical_time().unwrap_or(0);
        if self.until.is_some_and(|until| until < begins) {
            let message =
                format!("The bundle begins after the event at time {begins}: nothing is known of the time before");
            return Err(RunError::new(ErrorCode::SnapshotInvalid, message).at(begins));
        }
        Ok(start)
    }

    /// The snapshots to try, in order.
    fn candidates(&self, from: &StartFrom, warnings: &mut Vec<String>) -> Result<Vec<Candidate>, RunError> {
        let snapshots = self.directory.snapshots();
        let own = |time| Candidate { time, path: snapshot::path_of(&snapshots, time) };
        let (name, wanted) = match from {
            StartFrom::Log | StartFrom::BundleSnapshot(_) => return Ok(Vec::new()),
            StartFrom::LatestSnapshot => {
                let times = self.times_before(u64::MAX, &snapshots)?;
                return Ok(times.into_iter().map(own).collect());
            }
            StartFrom::Snapshot(id) => (id.clone(), Snapshot::time_of_id(id).map(own)),
            StartFrom::SnapshotFile(path) => {
                let path = if path.components().count() == 1 { snapshots.join(path) } else { path.clone() };
                let name = path.display().to_string();
                (name, snapshot::time_of(&path).map(|time| Candidate { time, path }))
            }
        };
        let Some(wanted) = wanted else {
            warnings.push(format!("'{}' was passed over: that is no id of a snapshot", quoted(&name)));
            return Ok(Vec::new());
        };
        let mut candidates: Vec<_> = self.times_before(wanted.time, &snapshots)?.into_iter().map(own).collect();
        if self.until.is_some_and(|until| wanted.time > until) {
            warnings.push(format!("{} was passed over: it is later than the last event wanted", quoted(&name)));
        } else {
            // The caller asked for this snapshot, so it is tried even if it is not listed: the warning then says that it is missing.
            candidates.insert(0, wanted);
        }
        Ok(candidates)
    }

    /// The times of the run's snapshots before `time` and not after the last event to apply, newest first.
    fn times_before(&self, time: u64, snapshots: &Path) -> Result<Vec<u64>, RunError> {
        let mut times = snapshot::list(snapshots)?;
        times.retain(|&found| found < time && self.until.is_none_or(|until| found <= until));
        Ok(times)
    }

    fn after_snapshot_in(&self, time: u64, path: &Path) -> Result<ReplayStart, RunError> {
        let Snapshot { content, .. } = Snapshot::read(path, self.trusted)?;
        let created = Created::read(&self.directory.log(), self.redactions)?;
        if content.run_id != created.run_id.as_json() {
            return Err(foreign("run", created.run_id.as_json(), &content.run_id));
        }
        let (event, offset) = self.event_of_log(time)?;
        for (what, snapshot, log) in
            [("event", &content.event_hash, &event.hash), ("state", &content.state_hash, &event.state_hash)]
        {
            if snapshot != log {
                return Err(foreign(what, as_text(log), as_text(snapshot)));
            }
        }
        let start = ReplayStart::after_snapshot(&content, offset)?;
        check_agrees(&start.state, &created)?;
        Ok(start)
    }

    /// The hashes of the log's event at `time`, and the offset of the end of its line.
    fn event_of_log(&self, time: u64) -> Result<(Hashes, u64), RunError> {
        let mut log = InputFile::open(&self.directory.log())?;
        let Position::At(offset) = find(&mut log, time)? else {
            return Err(invalid("the log has no event at its time"));
        };
        log.seek(SeekFrom::Start(offset)).map_err(|error| OsError::new(&error, "read", None))?;
        let chunk = LogReader::new(log, offset).next_chunk(Vec::new())?;
        let Some(line) = chunk.as_ref().and_then(|chunk| chunk.lines().next()) else {
            return Err(invalid("the log has no event at its time"));
        };
        let (_, line) = line?;
        let event = EventLine::split(line)?;
        Ok((Hashes { hash: *event.hash, state_hash: *event.state_hash }, offset + line.len() as u64 + 1))
    }
}

/// A snapshot after which a replay may start.
impl RunDirectory {
    /// The start point of a replay after the own snapshot of the event at `time`, if that is good. It need not be signed.
    pub fn start_after_snapshot(&self, time: u64, redactions: &Redactions) -> Result<ReplayStart, RunError> {
        let trusted = TrustedKeys::default();
        StartResolver { directory: self, trusted: &trusted, redactions, until: None }.after_snapshot(time)
    }
}

struct Candidate {
    /// The logical time of the event after which it was taken.
    time: u64,
    path: PathBuf,
}

struct Hashes {
    hash: HexHash,
    state_hash: HexHash,
}

/// Checks the state against RunCreated, since the state hash does not cover everything.
fn check_agrees(state: &State, created: &Created) -> Result<(), RunError> {
    let run = state.run().ok_or_else(|| invalid("its state has no run"))?;
    if run.id != created.run_id {
        return Err(foreign("run", created.run_id.as_json(), run.id.as_json()));
    }
    if state.dag().hash() != created.dag_hash {
        return Err(foreign("graph", &created.dag_hash, state.dag().hash()));
    }
    if (run.scheduler, &run.capabilities) != (created.scheduler, &created.capabilities) {
        return Err(invalid("its scheduler or capabilities are not those of the run"));
    }
    Ok(())
}

fn foreign(what: &str, expected: &str, found: &str) -> RunError {
    invalid(&format!("its {what} is not that of the log")).compared(expected, found)
}
