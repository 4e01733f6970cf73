//! What a recorder throws.

use std::path::PathBuf;

use crate::disk::lock::LockError;
use crate::disk::os_error::OsError;
use crate::jsonl::writer::WriteFailure;
use crate::run::error::RunError;
use crate::signature::SignatureError;

/// Why something is not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The event, the workflow, or the log to resume is not valid.
    #[error("{0}")]
    Refused(RunError),
    /// The system refused.
    #[error("{0}")]
    System(#[from] OsError),
    /// Another recorder has locked the log.
    #[error("The run's log is being written by {}: '{}'.", if owner.is_empty() { "another recorder" } else { owner }, path.display())]
    Locked {
        /// The owner in the lock file; empty if it is not known.
        owner: String,
        /// The log.
        path: PathBuf,
    },
    /// The directory holds another run than the one to resume.
    #[error("The directory holds a run with another {what}: expected '{expected}', found '{found}'.")]
    OtherRun {
        /// What differs.
        what: &'static str,
        /// What was asked for.
        expected: String,
        /// What was recorded.
        found: String,
    },
    /// The run is sealed: its manifest lists its files as they are.
    #[error("The run is sealed by '{}': no more is recorded to it.", manifest.display())]
    Sealed {
        /// The manifest.
        manifest: PathBuf,
    },
    /// The recorder was disposed of.
    #[error("The recorder is disposed.")]
    Disposed,
    /// The log is not written any more.
    #[error("{}", .0.error)]
    Write(WriteFailure),
    /// The key can't sign.
    #[error("signWith is {0}.")]
    Key(#[from] SignatureError),
}

impl RecordError {
    /// The code by which programs tell errors apart: the system's own where it is the system's error.
    pub fn code(&self) -> &'static str {
        match self {
            RecordError::Refused(error) => error.code.as_str(),
            RecordError::System(error) => error.code,
            RecordError::Locked { .. } => "ERUNLOCKED",
            RecordError::OtherRun { .. } => "RunMismatch",
            RecordError::Sealed { .. } => "RunSealed",
            RecordError::Disposed => "RecorderDisposed",
            RecordError::Write(failure) => failure.error.code(),
            RecordError::Key(error) => error.code(),
        }
    }

    /// The error for a lock on the log at `path` that could not be taken.
    pub(super) fn unlocked(error: LockError, path: PathBuf) -> Self {
        match error {
            LockError::Held { owner } => RecordError::Locked { owner, path },
            LockError::System(error) => RecordError::System(error),
        }
    }
}

/// A system error, whichever layer passes it on.
impl From<RunError> for RecordError {
    fn from(error: RunError) -> Self {
        match error.system {
            Some(system) => RecordError::System(*system),
            None => RecordError::Refused(error),
        }
    }
}
