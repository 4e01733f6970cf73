//! The recordings that can be compared: the log of a run or the file of a session, wherever it came from.

use std::path::{Path, PathBuf};

use crate::archived::resolve;
use crate::diff::error::{Damage, DiffError, Side};
use crate::disk::{InputFile, OsError, files};
use crate::lines::ReadError;
use crate::run::read::EventReader;
use crate::run::{ErrorCode, Redactions, RunDirectory, RunError, event_id};

/// The kind of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The log of a workflow's execution.
    Run,
    /// The conversation of a CLI.
    Session,
}

/// A recording to be read.
///
/// A caller that opens another form, such as a bundle, converts it to this one: a log on disk and its particulars.
#[derive(Clone, Debug)]
pub struct Source {
    /// Whether it is a run or a session.
    pub kind: SourceKind,
    /// The path of the recording as the caller passed it, for messages.
    pub path: PathBuf,
    /// The directory of a run, which contains its graph.
    pub root: PathBuf,
    /// The log of the run, or the file of the session.
    pub log: PathBuf,
    /// The logical time of a run's first event: 0, unless the log begins after a snapshot. `None` if unknown: it is then read
    /// from the log.
    pub first: Option<u64>,
    /// The events of a run that were redacted.
    pub redactions: Redactions,
    /// Whether anything was redacted; of sessions too.
    pub is_redacted: bool,
    /// The run's id, as the inside of a JSON string, if the log does not contain it.
    pub run_id: Option<String>,
}

/// The first bytes of a run's log.
const LOG_BEGINS: &[u8] = br#"{"v":1,"time":"#;

impl Source {
    /// The run in a directory.
    pub fn run(directory: &Path) -> Self {
        let log = RunDirectory::new(directory).log();
        Self::of(SourceKind::Run, directory, directory, log)
    }

    /// The session in a file.
    pub fn session(file: &Path) -> Self {
        Self::of(SourceKind::Session, file, file, file.to_owned())
    }

    /// The recording at `path`: a directory is a run, a file that begins like a run's log is that log, and any other file is
    /// a session.
    pub fn find(path: &Path) -> Result<Self, OsError> {
        let found = resolve(path);
        let metadata = files::metadata(&found)?;
        if metadata.is_directory() {
            return Ok(Self::run(path));
        }
        let path = &*found;
        if metadata.is_file() && InputFile::open(path)?.read_up_to(LOG_BEGINS.len() as u64)? == LOG_BEGINS {
            let root = path.parent().unwrap_or(Path::new(""));
            return Ok(Self::of(SourceKind::Run, path, root, path.to_owned()));
        }
        Ok(Self::session(path))
    }

    fn of(kind: SourceKind, path: &Path, root: &Path, log: PathBuf) -> Self {
        Source {
            kind,
            path: path.to_owned(),
            root: root.to_owned(),
            log,
            first: Some(0),
            redactions: Redactions::default(),
            is_redacted: false,
            run_id: None,
        }
    }

    /// The id of the event with this number: its logical time, or the place of the record.
    pub(crate) fn event_id(&self, number: u64) -> String {
        match self.kind {
            SourceKind::Run => event_id(number),
            SourceKind::Session => format!("rec_{number}"),
        }
    }

    /// The error for lines that can't be read.
    pub(crate) fn unread(&self, error: ReadError, side: Option<Side>) -> DiffError {
        match (self.kind, error) {
            (SourceKind::Session, error) => DiffError::of_session(error.into(), self.place(side)),
            (SourceKind::Run, ReadError::System(error)) => DiffError::of_run(error.into(), self.place(side)),
            (SourceKind::Run, error) => {
                let error = RunError::new(ErrorCode::InvalidField, error.to_string());
                DiffError::of_run(error, self.place(side))
            }
        }
    }

    /// The logical time of a run's first event, from its log if need be.
    pub fn first_time(&self) -> Result<u64, RunError> {
        self.first.map_or_else(|| EventReader::first_time(&self.log), Ok)
    }

    /// The id of a run, as the inside of a JSON string: from its log, or else from its bundle.
    pub fn id_of_run(&self) -> Option<String> {
        let run_id = RunDirectory::with_log(&self.root, &self.log).run_id(&self.redactions);
        run_id.ok().or_else(|| self.run_id.clone())
    }

    /// The recording as the subject of an error.
    pub fn place(&self, side: Option<Side>) -> Damage {
        Damage { side, path: self.path.clone() }
    }
}
