//! Why a session was not repaired.

use std::path::{Path, PathBuf};

use crate::disk::OsError;

use crate::disk::write::StageError;
use crate::lines::ReadError;

/// Why a session was not repaired. Nothing is left at the destination then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// The file has no record.
    #[error("{} has no record of a session in it: nothing can be repaired", .0.display())]
    NoRecords(PathBuf),
    /// No record says which session it is, and neither does the caller.
    #[error(
        "{} has no session_start that can be used, and no projectHash was given to make one with: give the hash of the session's project", .0.display()
    )]
    NoStart(PathBuf),
    /// The file was written to in the meantime.
    #[error("{} was changed while it was being repaired: repair it again when nothing writes to it", .0.display())]
    SourceChanged(PathBuf),
    /// Something exists at the destination.
    #[error("There is something at {} already; nothing is ever replaced", .0.display())]
    DestinationExists(PathBuf),
    /// What was written does not replay.
    #[error("What was recovered from {path} does not replay: {reason}", path = .path.display())]
    Unrepairable {
        /// The source.
        path: PathBuf,
        /// What a strict replay says.
        reason: String,
    },
    /// The caller stopped the work.
    #[error("The repair was stopped")]
    Cancelled,
    /// A system call failed.
    #[error("{0}")]
    System(OsError),
}

impl RepairError {
    /// The code that programs read.
    pub fn code(&self) -> &'static str {
        match self {
            RepairError::NoRecords(_) => "NoRecords",
            RepairError::NoStart(_) => "NoStart",
            RepairError::SourceChanged(_) => "SourceChanged",
            RepairError::DestinationExists(_) => "DestinationExists",
            RepairError::Unrepairable { .. } => "Unrepairable",
            RepairError::Cancelled => "Cancelled",
            RepairError::System(error) => error.code,
        }
    }
}

impl RepairError {
    /// The file that the error is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            RepairError::NoRecords(path)
            | RepairError::NoStart(path)
            | RepairError::SourceChanged(path)
            | RepairError::DestinationExists(path)
            | RepairError::Unrepairable { path, .. } => Some(path),
            RepairError::System(error) => error.path.as_deref(),
            RepairError::Cancelled => None,
        }
    }
}

impl From<OsError> for RepairError {
    fn from(error: OsError) -> Self {
        if error.is_cancelled() { RepairError::Cancelled } else { RepairError::System(error) }
    }
}

impl From<StageError> for RepairError {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Exists(path) => RepairError::DestinationExists(path),
            StageError::System(error) => error.into(),
        }
    }
}

impl From<crate::task::Cancelled> for RepairError {
    fn from(_: crate::task::Cancelled) -> Self {
        RepairError::Cancelled
    }
}

impl RepairError {
    /// The error of a read from the source at `path`.
    pub(super) fn reading(error: ReadError, path: &Path) -> Self {
        match error {
            ReadError::System(error) => {
                OsError { path: error.path.or_else(|| Some(path.to_path_buf())), ..error }.into()
            }
            ReadError::LineTooLong { .. } | ReadError::Changed | ReadError::Damaged(_) | ReadError::Conversation(_) => {
                RepairError::SourceChanged(path.to_path_buf())
            }
        }
    }
}
