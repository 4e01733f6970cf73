//! Why a session was not repaired.

use std::path::{Path, PathBuf};

use crate::disk::OsError;

use crate::disk::write::StageError;
use crate::foreign::ForeignFormat;
use crate::lines::ReadError;

/// Why a session was not repaired. Nothing is left at the destination then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// The file has no record.
    #[error("{} has no record of a session in it: nothing can be repaired", .0.display())]
    NoRecords(PathBuf),
    /// It is a session of another program.
    #[error(
        "{} is a session of another program ({}, {records} records), and only native ones are repaired: import it with importSession or session-tape import", .path.display(), .format.as_str()
    )]
    Foreign {
        /// The source.
        path: PathBuf,
        /// Its format.
        format: ForeignFormat,
        /// The number of its records.
        records: u64,
    },
    /// No record says which session it is, and neither does the caller.
    #[error(
        "{} has no session_start that can be used, and no projectHash was given to make one with: give the hash of the session's project", .0.display()
    )]
    NoStart(PathBuf),
    /// The file has other sessions than the one that was asked for.
    #[error("{} has no session {wanted}: it has {}", .path.display(), named(.found))]
    NoSession {
        /// The source.
        path: PathBuf,
        /// The id that was asked for.
        wanted: String,
        /// The ids of the sessions that it has.
        found: Vec<String>,
    },
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
            RepairError::NoRecords(_) | RepairError::Foreign { .. } => "NoRecords",
            RepairError::NoStart(_) => "NoStart",
            RepairError::NoSession { .. } => "NoSession",
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
            | RepairError::NoSession { path, .. }
            | RepairError::Foreign { path, .. }
            | RepairError::Unrepairable { path, .. } => Some(path),
            RepairError::System(error) => error.path.as_deref(),
            RepairError::Cancelled => None,
        }
    }
}

/// Maximum number of ids that a message names.
const MAX_NAMED: usize = 10;

fn named(ids: &[String]) -> String {
    let more = if ids.len() > MAX_NAMED { " …" } else { "" };
    format!("{}{more}", ids[..ids.len().min(MAX_NAMED)].join(", "))
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
