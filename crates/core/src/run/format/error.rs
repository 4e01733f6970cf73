//! The errors of runs: a code for each problem, and the error that carries it.
//!
//! The codes are part of the documented format: new ones are added, none is renamed.

use std::fmt;

use crate::disk::OsError;
use crate::json::quoted;
use crate::task::Cancelled;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $code:ident,)+) => {
        /// The code of an error. [`as_str`](ErrorCode::as_str) is the text that users compare with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $code,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$code,)+];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$code => stringify!($code),)+
                }
            }
        }
    };
}

codes! {
    /// A complete line is not a JSON object.
    NotAJsonLine,
    /// A line is JSON, but not in the required form: other keys, a different order, white space, or a duplicate key.
    NotCanonical,
    /// A line has a format version that this release does not know.
    UnsupportedVersion,
    /// A line has a `kind` that this release does not know.
    UnknownKind,
    /// A required field of the envelope or the payload is missing.
    MissingField,
    /// A field has the wrong type or an invalid value.
    InvalidField,
    /// A line, a blob or a file is larger than its limit.
    TooLarge,
    /// Logical times are not 0, 1, 2 … without gaps.
    TimeGap,
    /// The parent that an event names does not exist, or is not earlier.
    ParentMissing,
    /// An event after the end of the run is not of a kind that is allowed there.
    AfterEnd,
    /// The state does not allow the event.
    IllegalTransition,
    /// A stored hash is not that of the stored bytes: something was changed, moved, dropped or inserted.
    ChainBroken,
    /// The state differs from the recorded one.
    StateMismatch,
    /// An assignment differs from the decision of the run's scheduler.
    ScheduleMismatch,
    /// A workflow or its graph is not valid.
    WorkflowInvalid,
    /// `workflow.json`, `dag.json` and the run's `dagHash` do not belong together.
    DagMismatch,
    /// A snapshot can't be used.
    SnapshotInvalid,
    /// A blob that an event names is not in the store.
    BlobMissing,
    /// A blob's bytes do not have the hash that is its name.
    BlobCorrupt,
    /// The normalised output of a tool does not have the recorded hash.
    OutputMismatch,
    /// This release does not know a normaliser, so outputs made with it can't be checked.
    UnknownNormalizer,
    /// The payload was redacted, so nothing about it can be checked.
    Redacted,
    /// The log contains no events.
    EmptyLog,
    /// The path does not lead to a run: it is not a directory, or one without any part of a run.
    NotARun,
    /// A system call failed, such as reading or writing a file.
    SystemError,
    /// The caller cancelled the operation.
    Cancelled,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error of a run: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// The code.
    pub code: ErrorCode,
    /// A readable description: what was found, where, and what to do.
    pub message: String,
    /// Logical time of the event concerned: the one in its line or, if that can't be read, the one expected at its place. `None` if the
    /// error is not about an event.
    pub time: Option<u64>,
    /// The expected value.
    pub expected: Option<String>,
    /// The value found.
    pub found: Option<String>,
    /// The system error, if that is the cause.
    pub system: Option<Box<OsError>>,
}

impl RunError {
    /// An error that is not about an event yet.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        RunError { code, message: message.into(), time: None, expected: None, found: None, system: None }
    }

    /// The error for a log without events.
    pub fn empty_log() -> RunError {
        RunError::new(ErrorCode::EmptyLog, "The log holds no event: at least RunCreated must be there")
    }

    /// Makes it an error about the event at `time`.
    #[must_use]
    pub fn at(self, time: u64) -> Self {
        RunError { time: Some(time), ..self }
    }

    /// Makes it an error about the event expected at `time`, unless it is already about an event.
    #[must_use]
    pub fn at_unless_known(self, time: u64) -> Self {
        RunError { time: self.time.or(Some(time)), ..self }
    }

    /// Adds the expected value and the value found. Long texts are cut.
    #[must_use]
    pub fn compared(self, expected: impl AsRef<str>, found: impl AsRef<str>) -> Self {
        RunError { expected: Some(quoted(expected.as_ref())), found: Some(quoted(found.as_ref())), ..self }
    }

    /// The id of the event concerned.
    pub fn event_id(&self) -> Option<String> {
        self.time.map(event_id)
    }
}

impl From<Cancelled> for RunError {
    fn from(_: Cancelled) -> Self {
        RunError::new(ErrorCode::Cancelled, "The caller asked to stop")
    }
}

impl From<OsError> for RunError {
    fn from(error: OsError) -> Self {
        if error.is_cancelled() {
            return RunError::new(ErrorCode::Cancelled, "The caller asked to stop");
        }
        let message = error.to_string();
        RunError { system: Some(Box::new(error)), ..RunError::new(ErrorCode::SystemError, message) }
    }
}

/// The id of the event at a logical time.
pub fn event_id(time: u64) -> String {
    format!("evt_{time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_name() {
        let names: std::collections::HashSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        assert_eq!(ErrorCode::NotAJsonLine.to_string(), "NotAJsonLine");
    }

    #[test]
    fn an_error_names_its_event_and_quotes_no_more_than_is_readable() {
        let error = RunError::new(ErrorCode::TimeGap, "found").at(7).compared("1", "é".repeat(500));
        assert_eq!(error.event_id().as_deref(), Some("evt_7"));
        assert_eq!(error.found.as_ref().unwrap().chars().count(), 121);
        assert_eq!(RunError::new(ErrorCode::TimeGap, "").event_id(), None);
        assert_eq!(error.clone().at_unless_known(8).time, Some(7));
        assert_eq!(RunError::new(ErrorCode::TimeGap, "").at_unless_known(8).time, Some(8));
    }
}
