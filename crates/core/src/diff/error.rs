//! The errors of a comparison.

use std::fmt;
use std::path::PathBuf;

use crate::disk::OsError;
use crate::json::quoted;
use crate::lines::ReadError;
use crate::run::{ErrorCode, RunError};

/// One of the two recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Side {
    Left,
    Right,
}

impl Side {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The recording that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its side. `None` if only one recording is read.
    pub side: Option<Side>,
    /// Its path, as the caller passed it.
    pub path: PathBuf,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.side {
            Some(side) => write!(f, "the {side} recording, {}", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

/// An error of a comparison. Programs check [`code`](DiffError::code).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// The log of a run can't be read as far as necessary.
    #[error("{error} (in {place})")]
    Run {
        /// The error, with the event it is about.
        error: Box<RunError>,
        /// The run that it is about.
        place: Damage,
    },
    /// A session can't be read as far as necessary.
    #[error("{error} (in {place})")]
    Session {
        /// The error.
        error: Box<SessionFault>,
        /// The session that it is about.
        place: Damage,
    },
    /// One recording is a run, the other one a session.
    #[error("A run and a session can't be compared: {} is a run, {} is a session", .run.display(), .session.display())]
    NotComparable {
        /// The path of the run.
        run: PathBuf,
        /// The path of the session.
        session: PathBuf,
    },
    /// A pointer to ignore is not a JSON pointer.
    #[error("'{}' is not a JSON pointer: {why}", quoted(.pointer))]
    InvalidPointer {
        /// The text that was passed.
        pointer: String,
        /// The reason.
        why: &'static str,
    },
    /// No event has this id.
    #[error("There is no event '{}' in {}: {hint}", quoted(.event_id), .path.display())]
    NoSuchEvent {
        /// The id that was passed.
        event_id: String,
        /// The recording.
        path: PathBuf,
        /// The form of ids in that recording.
        hint: &'static str,
    },
    /// The comparison was cancelled.
    #[error("The comparison was cancelled")]
    Cancelled,
}

/// An error of a session as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFault {
    /// The file can't be read.
    #[error("{0}")]
    Read(ReadError),
    /// The file has no line.
    #[error("Empty file")]
    EmptyFile,
    /// The first line is not a `session_start`.
    #[error("Missing or corrupt session_start event")]
    MissingStart,
    /// The `session_start` lacks required fields.
    #[error("Invalid session_start: missing required fields")]
    InvalidStart,
}

impl DiffError {
    /// The stable code of the error. An error of the system has the system's own code.
    pub fn code(&self) -> &'static str {
        match self {
            DiffError::Run { error, .. } => error.system.as_ref().map_or(error.code.as_str(), |system| system.code),
            DiffError::Session { error, .. } => match &**error {
                SessionFault::Read(ReadError::System(system)) => system.code,
                SessionFault::Read(ReadError::LineTooLong { .. }) => "TooLarge",
                SessionFault::Read(ReadError::Damaged(_)) => "Damaged",
                SessionFault::Read(_) => "Changed",
                SessionFault::EmptyFile => "EmptyFile",
                SessionFault::MissingStart => "MissingStart",
                SessionFault::InvalidStart => "InvalidStart",
            },
            DiffError::NotComparable { .. } => "NotComparable",
            DiffError::InvalidPointer { .. } => "InvalidPointer",
            DiffError::NoSuchEvent { .. } => "NoSuchEvent",
            DiffError::Cancelled => "Cancelled",
        }
    }

    /// The error of the system, if one is the cause.
    pub fn system(&self) -> Option<&OsError> {
        match self {
            DiffError::Run { error, .. } => error.system.as_deref(),
            DiffError::Session { error, .. } => match &**error {
                SessionFault::Read(ReadError::System(system)) => Some(system),
                _ => None,
            },
            _ => None,
        }
    }

    /// The error of a run, if one is the cause.
    pub fn run_error(&self) -> Option<&RunError> {
        match self {
            DiffError::Run { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The side that the error is about, if it is about one of two recordings.
    pub fn side(&self) -> Option<Side> {
        match self {
            DiffError::Run { place, .. } | DiffError::Session { place, .. } => place.side,
            _ => None,
        }
    }

    /// A system call failed for a path before it was known whether it is a run or a session.
    pub fn of_system(error: OsError, path: PathBuf, side: Option<Side>) -> Self {
        DiffError::Run { error: Box::new(error.into()), place: Damage { side, path } }
    }

    /// The error of a run at `place`.
    pub fn of_run(error: RunError, place: Damage) -> Self {
        match error.code {
            ErrorCode::Cancelled => DiffError::Cancelled,
            _ => DiffError::Run { error: Box::new(error), place },
        }
    }

    /// The error of a session at `place`.
    pub fn of_session(error: SessionFault, place: Damage) -> Self {
        match error {
            SessionFault::Read(ReadError::System(system)) if system.is_cancelled() => DiffError::Cancelled,
            _ => DiffError::Session { error: Box::new(error), place },
        }
    }
}

impl From<ReadError> for SessionFault {
    fn from(error: ReadError) -> Self {
        SessionFault::Read(error)
    }
}
