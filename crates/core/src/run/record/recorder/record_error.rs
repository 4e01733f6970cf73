//! The errors of a recorder.

use std::path::PathBuf;

use crate::disk::OsError;

use crate::disk::lock::LockError;
use crate::lines::WriteFailure;
use crate::run::format::RunError;
use crate::signature::SignatureError;

/// Why a recorder refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The event, the workflow, or the log to resume is not valid.
    #[error("{0}")]
    Refused(RunError),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] OsError),
    /// Another recorder has locked the log.
    #[error("The run's log is being written by {}: '{}'.", if owner.is_empty() { "another recorder" } else { owner }, path.display())]
    Locked {
        /// The owner in the lock file; empty if unknown.
        owner: String,
        /// The log.
        path: PathBuf,
    },
    /// The directory contains another run than the one to resume.
    #[error("The directory holds a run with another {what}: expected '{expected}', found '{found}'.")]
    OtherRun {
        /// What differs.
        what: &'static str,
        /// The requested value.
        expected: String,
        /// The recorded value.
        found: String,
    },
    /// The run is sealed: its manifest lists its files with their hashes.
    #[error("The run is sealed by '{}': no more is recorded to it.", manifest.display())]
    Sealed {
        /// The manifest.
        manifest: PathBuf,
    },
    /// The recorder was disposed of.
    #[error("The recorder is disposed.")]
    Disposed,
    /// The log is no longer written, because of an earlier failure.
    #[error("{}", .0.error)]
    Write(WriteFailure),
    /// The key can't sign.
    #[error("signWith is {0}.")]
    Key(#[from] SignatureError),
}

impl RecordError {
    /// The code by which programs distinguish errors. A system error has the system's own code.
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
            LockError::System(error) | LockError::Unsupported(error) => RecordError::System(error),
        }
    }
}

/// Converts system errors to [`RecordError::System`], whichever layer passes them on.
impl From<RunError> for RecordError {
    fn from(error: RunError) -> Self {
        match error.system {
            Some(system) => RecordError::System(*system),
            None => RecordError::Refused(error),
        }
    }
}
