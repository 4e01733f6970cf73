//! Why two recordings could not be compared.

use std::fmt;
use std::path::PathBuf;

use crate::disk::os_error::OsError;
use crate::jsonl::source::ReadError;
use crate::run::error::{ErrorCode, RunError, quoted};

/// One of the two recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Side {
    Left,
    Right,
}

impl Side {
    /// The name that users read.
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

/// What is wrong with a recording, before the two can be told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which of the two. None where there is but one.
    pub side: Option<Side>,
    /// The recording, as the caller named it.
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

/// Why there is no diff. Programs compare [`code`](DiffError::code).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// The log of a run can't be read as far as it takes.
    #[error("{error} (in {place})")]
    Run {
        /// What is wrong, and with which event.
        error: Box<RunError>,
        /// Where.
        place: Damage,
    },
    /// A session can't be read as far as it takes.
    #[error("{error} (in {place})")]
    Session {
        /// What is wrong.
        error: Box<SessionFault>,
        /// Where.
        place: Damage,
    },
    /// One is a run, the other a session.
    #[error("A run and a session can't be compared: {} is a run, {} is a session", .run.display(), .session.display())]
    NotComparable {
        /// The one that is a run.
        run: PathBuf,
        /// The one that is a session.
        session: PathBuf,
    },
    /// What was to be ignored is no JSON pointer.
    #[error("'{}' is not a JSON pointer: {why}", quoted(.pointer))]
    InvalidPointer {
        /// What was given.
        pointer: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no event of this id.
    #[error("There is no event '{}' in {}: {hint}", quoted(.event_id), .path.display())]
    NoSuchEvent {
        /// What was asked for.
        event_id: String,
        /// Where.
        path: PathBuf,
        /// What ids look like there.
        hint: &'static str,
    },
    /// The comparison was cancelled.
    #[error("The comparison was cancelled")]
    Cancelled,
}

/// What is wrong with a session as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionFault {
    /// It can't be read.
    #[error("{0}")]
    Read(ReadError),
    /// The file has no line at all.
    #[error("Empty file")]
    EmptyFile,
    /// The first line is no `session_start`.
    #[error("Missing or corrupt session_start event")]
    MissingStart,
    /// The `session_start` lacks what it must have.
    #[error("Invalid session_start: missing required fields")]
    InvalidStart,
}

impl DiffError {
    /// The stable name of what is wrong. What the system refused has the system's own.
    pub fn code(&self) -> &'static str {
        match self {
            DiffError::Run { error, .. } => error.system.as_ref().map_or(error.code.as_str(), |system| system.code),
            DiffError::Session { error, .. } => match &**error {
                SessionFault::Read(ReadError::System(system)) => system.code,
                SessionFault::Read(ReadError::LineTooLong { .. }) => "TooLarge",
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

    /// What the system said, where that is what is wrong.
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

    /// What is wrong with a run's event, where that is what is wrong.
    pub fn run_error(&self) -> Option<&RunError> {
        match self {
            DiffError::Run { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Which of two recordings it is about.
    pub fn side(&self) -> Option<Side> {
        match self {
            DiffError::Run { place, .. } | DiffError::Session { place, .. } => place.side,
            _ => None,
        }
    }

    /// What the system said of a path at which nothing was found to be read.
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
