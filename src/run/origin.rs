//! Where a replay begins: before the first event, or with the state of a snapshot that is known to be the log's.
//!
//! A snapshot counts as good when its document is whole, it is of this run, the log's event at its time has its hashes, and
//! its state has the hash that stands there. Nothing else of it is believed.

use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chain::GENESIS;
use super::dag::Dag;
use super::directory::RunDirectory;
use super::error::{ErrorCode, RunError, quoted};
use super::fold::Origin;
use super::log::{LogReader, Position, find};
use super::payload::Payload;
use super::redactions::Redactions;
use super::scheduler::Scheduler;
use super::snapshot::{self, Snapshot, snapshot_id};
use super::start_from::StartFrom;
use super::state::State;
use super::state_hash::state_hash;
use super::text::Text;
use super::trace::{Range, Trace, understand};
use crate::disk::input_file::InputFile;
use crate::disk::os_error::OsError;
use crate::hash::{HexHash, as_text, to_hex};
use crate::jsonl::scan::Nesting;
use crate::signature::TrustedKeys;

/// The largest `dag.json` or `workflow.json` that is read, in bytes.
const MAX_GRAPH_BYTES: u64 = 256 << 20;

/// What the log says of the run as a whole: its RunCreated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The run's id.
    pub run_id: Text<'static>,
    /// The hash of its graph.
    pub dag_hash: String,
    scheduler: Scheduler,
    capabilities: Vec<Text<'static>>,
}

impl Created {
    /// Reads the first event of the log at `path`.
    pub fn read(path: &Path, redactions: &Redactions) -> Result<Self, RunError> {
        let range = Range { to: 0, ..Range::default() };
        let mut trace = Trace::open(path, range, redactions.clone())?;
        let line = trace.next().unwrap_or_else(|| Err(empty_log()))?;
        match understand(&line, &mut Nesting::default())?.payload {
            Payload::RunCreated { run_id, dag_hash, scheduler, capabilities, .. } => Ok(Created {
                run_id: run_id.into_owned(),
                dag_hash: dag_hash.as_json().to_owned(),
                scheduler,
                capabilities: capabilities.into_iter().map(Text::into_owned).collect(),
            }),
            other => {
                let message = "A log begins with RunCreated";
                let error = RunError::new(ErrorCode::IllegalTransition, message).at(0);
                Err(error.compared("RunCreated", other.kind().as_str()))
            }
        }
    }
}

/// The error for a log without events.
pub fn empty_log() -> RunError {
    RunError::new(ErrorCode::EmptyLog, "The log holds no event: at least RunCreated must be there")
}

/// Reads a text that is in memory whole.
pub fn read_text(path: &Path) -> Result<String, RunError> {
    let mut file = InputFile::open(path)?;
    let size = file.metadata()?.len();
    if size > MAX_GRAPH_BYTES {
        let message = format!("{} is larger than {MAX_GRAPH_BYTES} bytes", path.display());
        return Err(RunError::new(ErrorCode::TooLarge, message).compared(MAX_GRAPH_BYTES.to_string(), size.to_string()));
    }
    let bytes = file.read_up_to(MAX_GRAPH_BYTES)?;
    String::from_utf8(bytes)
        .map_err(|_| RunError::new(ErrorCode::WorkflowInvalid, format!("{} is not valid UTF-8", path.display())))
}

/// The graph of the run in `directory`.
pub fn read_dag(directory: &RunDirectory) -> Result<Dag, RunError> {
    Dag::parse(&read_text(&directory.dag())?)
}

/// The beginning of the log of a run of this graph.
pub fn log_begin(dag: Dag) -> Origin {
    Origin { state: State::new(Arc::new(dag)), previous: GENESIS, offset: 0 }
}

/// Finds where to begin.
pub struct Search<'s> {
    /// The run.
    pub directory: &'s RunDirectory,
    /// If there are any, a snapshot must be signed by one of them.
    pub trusted: &'s TrustedKeys,
    /// What a bundle lists as redacted.
    pub redactions: &'s Redactions,
    /// No snapshot after this time is of use.
    pub until: Option<u64>,
}

impl Search<'_> {
    /// The beginning that is asked for, or the nearest one before it that is good. Each snapshot that was passed over is in `warnings`.
    pub fn origin(&self, beginning: &StartFrom, warnings: &mut Vec<String>) -> Result<Origin, RunError> {
        for Candidate { time, path } in self.candidates(beginning, warnings)? {
            match self.snapshot(time, &path) {
                Ok(origin) => return Ok(origin),
                Err(error) => warnings.push(format!("{} was passed over: {error}", snapshot_id(time))),
            }
        }
        read_dag(self.directory).map(log_begin)
    }

    /// The snapshots to try, in this order.
    fn candidates(&self, beginning: &StartFrom, warnings: &mut Vec<String>) -> Result<Vec<Candidate>, RunError> {
        let snapshots = self.directory.snapshots();
        let own = |time| Candidate { time, path: snapshot::path_of(&snapshots, time) };
        let (name, wanted) = match beginning {
            StartFrom::Log => return Ok(Vec::new()),
            StartFrom::LatestSnapshot => {
                let times = self.times_before(u64::MAX, &snapshots)?;
                return Ok(times.into_iter().map(own).collect());
            }
            StartFrom::Snapshot(id) => (id.clone(), snapshot::time_of_id(id).map(own)),
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
            // It was asked for, so if it is not there, that is said.
            candidates.insert(0, wanted);
        }
        Ok(candidates)
    }

    /// The times of the run's snapshots before `time` that are of use, newest first.
    fn times_before(&self, time: u64, snapshots: &Path) -> Result<Vec<u64>, RunError> {
        let mut times = snapshot::list(snapshots)?;
        times.retain(|&found| found < time && self.until.is_none_or(|until| found <= until));
        Ok(times)
    }

    /// Whether the snapshot that was taken after the event at `time` is good.
    pub fn check_snapshot(&self, time: u64) -> Result<(), RunError> {
        self.snapshot(time, &snapshot::path_of(&self.directory.snapshots(), time)).map(drop)
    }

    fn snapshot(&self, time: u64, path: &Path) -> Result<Origin, RunError> {
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
        let text = std::str::from_utf8(&content.state).unwrap_or_default();
        let state = State::from_canonical(text)?;
        fits(&state, time, &created)?;
        let own = state_hash(&state).map(|hash| to_hex(&hash));
        match own {
            Some(own) if own == content.state_hash => Ok(Origin { state, previous: content.event_hash, offset }),
            own => {
                let error = invalid("its state is not the one whose hash it has");
                Err(error.compared(as_text(&content.state_hash), own.as_ref().map_or("", as_text)))
            }
        }
    }

    /// The hashes of the log's event at `time`, and where its line ends.
    fn event_of_log(&self, time: u64) -> Result<(Hashes, u64), RunError> {
        let mut log = InputFile::open(&self.directory.log())?;
        let Position::At(offset) = find(&mut log, time)? else {
            return Err(invalid("the log has no event at its time"));
        };
        log.seek(SeekFrom::Start(offset)).map_err(|error| OsError::new(&error, "read", None))?;
        let chunk = LogReader::new(log, offset).next_chunk(Vec::new())?;
        let (text, fault) = chunk.as_ref().map(|chunk| chunk.text()).unwrap_or_default();
        let Some(line) = text.split_inclusive('\n').next() else {
            return Err(fault.unwrap_or_else(|| invalid("the log has no event at its time")));
        };
        let event = super::event::EventLine::split(line.trim_end_matches('\n'))?;
        Ok((Hashes { hash: *event.hash, state_hash: *event.state_hash }, offset + line.len() as u64))
    }
}

/// A snapshot from which a replay may begin.
struct Candidate {
    /// It was taken after the event at this time.
    time: u64,
    path: PathBuf,
}

struct Hashes {
    hash: HexHash,
    state_hash: HexHash,
}

/// What no hash covers must be as RunCreated has it.
fn fits(state: &State, time: u64, created: &Created) -> Result<(), RunError> {
    let run = state.run().ok_or_else(|| invalid("its state has no run"))?;
    if state.logical_time() != Some(time) {
        return Err(invalid("its state is of another time"));
    }
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

fn invalid(why: &str) -> RunError {
    RunError::new(ErrorCode::SnapshotInvalid, format!("The snapshot can't be used: {why}"))
}
