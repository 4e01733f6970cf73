//! Prepares the directory of a run for recording: a new run, or one to resume.
//!
//! The log is created first, exclusively: the recorder that creates it owns the directory. Only the holder of its lock may write to it.

use std::path::Path;
use std::sync::Arc;

use super::config::RunRecorderConfig;
use super::record_error::RecordError;
use crate::clock::timestamp;
use crate::disk::append::Target;
use crate::disk::lock::{FileLock, LockError};
use crate::disk::write::{new_directory, write_atomically};
use crate::disk::{Durability, OsError, files};
use crate::json::{Text, Writer};
use crate::run::format::{Kind, Salts};
use crate::run::graph::{Dag, Workflow};
use crate::run::record::recorder::torn_tail;
use crate::run::record::recording::{EventInput, RunRecording};
use crate::run::record::resume::{Resumed, resume};
use crate::run::state::State;
use crate::run::store::RunDirectory;

/// A log that can be recorded to.
pub(crate) struct OpenedLog {
    pub recording: RunRecording,
    pub target: Target,
    pub salts: Salts,
    /// The line of RunCreated if the run is new, otherwise empty.
    pub first_line: Vec<u8>,
    /// Number of torn bytes that were cut off.
    pub torn_bytes: u64,
    /// The error of the lock, if the file system has none: the run is recorded without a lock.
    pub unlocked: Option<OsError>,
}

/// Opens the run that `config` names.
pub(crate) fn open(config: &RunRecorderConfig<'_>, milliseconds: f64) -> Result<OpenedLog, RecordError> {
    let workflow = Workflow::parse(config.workflow)?;
    let (name, version) = (workflow.name.clone(), workflow.version.clone());
    let dag = Arc::new(workflow.compile()?);
    let directory = RunDirectory::new(&config.directory);
    let opening = Opening { config, directory, name, version, dag, ts: timestamp(milliseconds) };
    opening.check_is_unsealed()?;
    new_directory::create_for_files(opening.directory.root(), config.mode)?;
    match create_exclusively(&opening.directory.log(), config.mode) {
        Ok(()) => {
            failpoint!("run_recorder::after_create");
            opening.begin_in_new_log(Target::created(opening.directory.log()))
        }
        Err(error) if config.resume && error.code == "EEXIST" => opening.go_on(),
        Err(error) => Err(error.into()),
    }
}

fn create_exclusively(log: &Path, mode: u32) -> Result<(), OsError> {
    failpoint!("run_recorder::before_create");
    files::create_new(log, mode).map(drop)
}

struct Opening<'c> {
    config: &'c RunRecorderConfig<'c>,
    directory: RunDirectory,
    name: Text<'static>,
    version: Text<'static>,
    dag: Arc<Dag>,
    ts: String,
}

impl Opening<'_> {
    /// Begins a run in a log that was just created. Removes the log if that fails, because it would make the next attempt fail too.
    fn begin_in_new_log(&self, target: Target) -> Result<OpenedLog, RecordError> {
        let log = self.directory.log();
        let (target, unlocked) = self.locked(target)?;
        let opened = self.begin(target).inspect_err(|_| {
            let _ = files::remove_file(&log);
        })?;
        Ok(OpenedLog { unlocked, ..opened })
    }

    /// Locks the log. Where the file system has no locks, the error comes with a target that is not locked: a run can be recorded there too.
    fn locked(&self, target: Target) -> Result<(Target, Option<OsError>), RecordError> {
        match FileLock::acquire(target.path(), &self.config.owner) {
            Ok(lock) => Ok((target.locked(lock), None)),
            Err(LockError::Unsupported(error)) => Ok((target, Some(error))),
            Err(error) => Err(RecordError::unlocked(error, target.path().to_path_buf())),
        }
    }

    /// Begins a run in an empty log: prints its first event, and writes the other files and directories of the run.
    fn begin(&self, target: Target) -> Result<OpenedLog, RecordError> {
        let mut recording = RunRecording::new(self.dag.clone());
        let (mut salts, mut first_line) = (Salts::default(), Vec::new());
        let input = EventInput { kind: Kind::RunCreated, node: None, parent: None };
        recording.record(&input, &self.created(), &self.ts, &salts.draw()?, &mut first_line)?;
        self.write_graph(self.config.workflow)?;
        for directory in [self.directory.snapshots(), self.directory.blobs()] {
            new_directory::create_for_files(&directory, self.config.mode)?;
        }
        Ok(OpenedLog { recording, target, salts, first_line, torn_bytes: 0, unlocked: None })
    }

    /// The payload of RunCreated.
    fn created(&self) -> String {
        let mut json = br#"{"runId":"#.to_vec();
        Writer::new(&mut json).text(self.config.run_id.as_json());
        json.extend_from_slice(br#","workflow":"#);
        let mut workflow = Writer::new(&mut json).object();
        workflow.key("name").text(self.name.as_json());
        workflow.key("version").text(self.version.as_json());
        workflow.close();
        json.extend_from_slice(br#","dagHash":"#);
        Writer::new(&mut json).text(self.dag.hash());
        json.extend_from_slice(br#","scheduler":"#);
        Writer::new(&mut json).text(self.config.scheduler.as_str());
        json.extend_from_slice(br#","capabilities":"#);
        Writer::new(&mut json).texts(self.config.capabilities.iter().flatten());
        json.push(b'}');
        crate::json::escape_line_separators(&mut json, 0);
        String::from_utf8(json).unwrap_or_default()
    }

    fn write_graph(&self, workflow: &str) -> Result<(), OsError> {
        let (root, durability) = (self.directory.root(), self.config.durability);
        write_atomically(&self.directory.workflow(), workflow.as_bytes(), root, durability)?;
        write_atomically(&self.directory.dag(), self.dag.text().as_bytes(), root, durability)
    }

    /// Fails if the directory has a manifest. It is then a bundle, even without a log, and no reader would read what is recorded to it.
    /// Passes if a new run finds an existing log, because the error about the log is more useful.
    fn check_is_unsealed(&self) -> Result<(), RecordError> {
        let manifest = self.directory.manifest();
        if files::exists(&manifest) && (self.config.resume || !files::exists(&self.directory.log())) {
            return Err(RecordError::Sealed { manifest });
        }
        Ok(())
    }

    /// Resumes the existing log after its last whole line.
    fn go_on(&self) -> Result<OpenedLog, RecordError> {
        let log = self.directory.log();
        let (target, unlocked) = self.locked(Target::new(log.clone()))?;
        self.check_is_unsealed()?;
        let Resumed { recording, whole_bytes, torn_bytes } = resume(&log, self.dag.clone())?;
        if let Some(recording) = &recording {
            self.check_is_same_run(recording.state())?;
        }
        if torn_bytes > 0 {
            failpoint!("run_recorder::before_cut");
            torn_tail::cut(&log, whole_bytes, self.config.mode, self.config.durability)?;
            failpoint!("run_recorder::after_cut");
        }
        let Some(recording) = recording else {
            return self.begin(target).map(|opened| OpenedLog { torn_bytes, unlocked, ..opened });
        };
        self.heal_graph()?;
        target.examine()?;
        Ok(OpenedLog { recording, target, salts: Salts::default(), first_line: Vec::new(), torn_bytes, unlocked })
    }

    /// Checks that RunCreated matches the configuration. The graph was compared when the log was read.
    fn check_is_same_run(&self, state: &State) -> Result<(), RecordError> {
        let Some(run) = state.run() else { return Ok(()) };
        let same = |what, expected: &str, found: &str| match expected == found {
            true => Ok(()),
            false => Err(RecordError::OtherRun { what, expected: expected.to_owned(), found: found.to_owned() }),
        };
        same("id", self.config.run_id.as_json(), run.id.as_json())?;
        same("scheduler", self.config.scheduler.as_str(), run.scheduler.as_str())?;
        let Some(capabilities) = &self.config.capabilities else { return Ok(()) };
        let mut capabilities = capabilities.clone();
        capabilities.sort_unstable();
        capabilities.dedup();
        same("set of capabilities", &listed(&capabilities), &listed(&run.capabilities))
    }

    /// Writes the graph's files again if they are missing, or damaged as a power cut leaves files that were not synced. With
    /// [`Durability::Fsync`] also if they are whole: they may not have been synced, and a sync after one that failed proves nothing.
    fn heal_graph(&self) -> Result<(), OsError> {
        let dag = self.directory.dag_text();
        // A workflow with another graph is left for a verification to find.
        let workflow = self.directory.workflow_text().ok().filter(|found| Dag::compile(found).is_ok());
        let is_whole = workflow.is_some() && dag.is_ok_and(|found| found == self.dag.text());
        if is_whole && self.config.durability == Durability::Os {
            return Ok(());
        }
        self.write_graph(workflow.as_deref().unwrap_or(self.config.workflow))
    }
}

fn listed(texts: &[Text<'_>]) -> String {
    texts.iter().map(Text::to_plain).collect::<Vec<_>>().join(", ")
}
