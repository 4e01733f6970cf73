//! What is compared: the log of a run, or the file of a session, wherever it came from.

use std::path::{Path, PathBuf};

use super::error::{Damage, Side};
use crate::disk::files;
use crate::disk::input_file::InputFile;
use crate::disk::os_error::OsError;
use crate::run::directory::RunDirectory;
use crate::run::redactions::Redactions;

/// What sort of recording it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The log of a workflow's execution.
    Run,
    /// The conversation of a CLI.
    Session,
}

/// A recording that is to be read.
///
/// A caller that opens another form (a bundle, say) turns it into this one: a log on disk, and what is particular about it.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it is.
    pub kind: SourceKind,
    /// The recording as the caller named it, for messages.
    pub path: PathBuf,
    /// A run's directory, in which its graph is.
    pub root: PathBuf,
    /// The log of the run, or the file of the session.
    pub log: PathBuf,
    /// The logical time of a run's first event: 0, but for what begins behind a snapshot. None: whatever it is.
    pub first: Option<u64>,
    /// The events of a run that were redacted.
    pub redactions: Redactions,
    /// Whether anything was redacted, in a session too.
    pub is_redacted: bool,
    /// The run's id, where its log does not say: the inside of a JSON string.
    pub run_id: Option<String>,
}

/// How a run's log begins.
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

    /// What is at `path`: a directory is a run, a file that begins as a run's log is that run's, any other file is a session.
    pub fn find(path: &Path) -> Result<Self, OsError> {
        let metadata = files::metadata(path)?;
        if metadata.is_directory() {
            return Ok(Self::run(path));
        }
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

    /// Where an error is that is found in it.
    pub fn place(&self, side: Option<Side>) -> Damage {
        Damage { side, path: self.path.clone() }
    }
}
