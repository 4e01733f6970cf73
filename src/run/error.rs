//! What can be wrong with a run: one code each, and the error that carries it.
//!
//! Codes are part of the format's documentation: they are added, never renamed.

use std::fmt;

use crate::disk::os_error::OsError;

/// The longest text that an error quotes from a file, in characters.
const QUOTED_CHARS: usize = 120;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $code:ident,)+) => {
        /// What is wrong. [`as_str`](ErrorCode::as_str) is the text that users compare with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
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
    /// A complete line is not the text of one JSON object.
    NotAJsonLine,
    /// A line is JSON, but not written as the format has it: other keys, another order, white space, a key twice.
    NotCanonical,
    /// A line of a format version that this release does not know.
    UnsupportedVersion,
    /// A `kind` that this release does not know.
    UnknownKind,
    /// A required field of the envelope or the payload is not there.
    MissingField,
    /// A field has the wrong type, or a value that it can't have.
    InvalidField,
    /// A line, a blob or a file is larger than its limit.
    TooLarge,
    /// Logical times are not 0, 1, 2 … without gaps.
    TimeGap,
    /// The event that an event names as its cause does not exist, or is not earlier.
    ParentMissing,
    /// An event after the end of the run that may not come there.
    AfterEnd,
    /// The state does not allow the event.
    IllegalTransition,
    /// A stored hash is not that of the stored bytes: something was changed, moved, dropped or inserted.
    ChainBroken,
    /// The state is not the one that was recorded.
    StateMismatch,
    /// A task was assigned otherwise than the run's scheduler decides.
    ScheduleMismatch,
    /// A workflow or its graph is not valid.
    WorkflowInvalid,
    /// `workflow.json`, `dag.json` and the run's `dagHash` do not belong together.
    DagMismatch,
    /// A snapshot that can't be used.
    SnapshotInvalid,
    /// A blob that is named is not in the store.
    BlobMissing,
    /// A blob's bytes do not have the hash that is its name.
    BlobCorrupt,
    /// A tool's output, normalised, does not have the recorded hash.
    OutputMismatch,
    /// A normaliser that this release does not know: outputs made with it can't be checked.
    UnknownNormalizer,
    /// The payload was redacted: nothing about it can be checked.
    Redacted,
    /// The log holds no event.
    EmptyLog,
    /// What is at the path is no run: not a directory, or one without any part of a run.
    NotARun,
    /// The system did not let a file be read or written.
    SystemError,
    /// The caller asked to stop.
    Cancelled,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with a run, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// What is wrong.
    pub code: ErrorCode,
    /// The same for people: what was found, where, and what to do.
    pub message: String,
    /// Logical time of the event concerned: the one that its line has, or, where that can't be read, the one that its place demands. None
    /// where it is about no event.
    pub time: Option<u64>,
    /// What should have been there.
    pub expected: Option<String>,
    /// What was there.
    pub found: Option<String>,
    /// What the system said, where that is what is wrong.
    pub system: Option<Box<OsError>>,
}

impl RunError {
    /// An error that is about no event yet.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        RunError { code, message: message.into(), time: None, expected: None, found: None, system: None }
    }

    /// The same, about the event at `time`.
    #[must_use]
    pub fn at(self, time: u64) -> Self {
        RunError { time: Some(time), ..self }
    }

    /// The same, about the event that should stand at `time`, unless it is about another one already.
    #[must_use]
    pub fn at_unless_known(self, time: u64) -> Self {
        RunError { time: self.time.or(Some(time)), ..self }
    }

    /// The same, with what should have been and what was there. Long texts are cut.
    #[must_use]
    pub fn compared(self, expected: impl AsRef<str>, found: impl AsRef<str>) -> Self {
        RunError { expected: Some(quoted(expected.as_ref())), found: Some(quoted(found.as_ref())), ..self }
    }

    /// The id of the event concerned.
    pub fn event_id(&self) -> Option<String> {
        self.time.map(event_id)
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

/// A text short enough to stand in an error.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
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
        assert_eq!(error.found.as_ref().unwrap().chars().count(), QUOTED_CHARS + 1);
        assert_eq!(RunError::new(ErrorCode::TimeGap, "").event_id(), None);
        assert_eq!(error.clone().at_unless_known(8).time, Some(7));
        assert_eq!(RunError::new(ErrorCode::TimeGap, "").at_unless_known(8).time, Some(8));
    }
}
