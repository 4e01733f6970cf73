//! Errors as JSON objects, from which JavaScript builds an `Error`. Errors of runs, bundles, diffs and recorders have the same form.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;

use session_tape_core::atif::ExportError as AtifExportError;
use session_tape_core::bundle::{BundleError, ImportError};
use session_tape_core::diff::{DiffError, Side};
use session_tape_core::disk::OsError;
use session_tape_core::lines::{WriteError, WriteFailure};
use session_tape_core::repair::RepairError;
use session_tape_core::run::RunError;
use session_tape_core::run::record::RecordError;
use session_tape_core::session::record::ArchiveError;

/// The beginning of the message for a bundle that can't be read.
pub const CANT_BE_READ: &str = "The bundle can't be read";

/// An error. Members without a value are left out.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorJson<'e> {
    pub code: &'e str,
    pub message: Cow<'e, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errno: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    syscall: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Cow<'e, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<Vec<ErrorJson<'e>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversations: Option<&'e [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<&'e [String]>,
}

impl<'e> ErrorJson<'e> {
    /// An error without further members.
    pub fn new(code: &'e str, message: impl Into<Cow<'e, str>>) -> Self {
        ErrorJson { code, message: message.into(), ..Self::default() }
    }

    /// Adds the members of Node's own errors if a system call failed.
    fn with_system(self, error: Option<&'e OsError>) -> Self {
        let Some(OsError { code, errno, syscall, path, .. }) = error else { return self };
        let path = path.as_ref().map(|path| path.to_string_lossy()).or(self.path);
        ErrorJson { code, errno: Some(*errno), syscall: Some(syscall), path, ..self }
    }

    /// Adds the members of a run's error that describe an event.
    fn with_event(self, error: &'e RunError) -> Self {
        let RunError { time, expected, found, .. } = error;
        let (expected, found) = (expected.as_deref(), found.as_deref());
        ErrorJson { time: *time, event_id: error.event_id(), expected, found, ..self }
    }

    /// Adds the conversations of which one must be chosen.
    pub fn with_conversations(self, conversations: &'e [String]) -> Self {
        ErrorJson { conversations: Some(conversations), ..self }
    }

    /// Adds the path that the error is about.
    pub fn at_path(self, path: impl Into<Cow<'e, str>>) -> Self {
        ErrorJson { path: Some(path.into()), ..self }
    }

    /// Adds the side, if the error is about one of two recordings.
    pub fn of_side(self, side: Option<Side>) -> Self {
        ErrorJson { side: side.map(Side::as_str), ..self }
    }

    /// The error for a bundle that was not imported or can't be read: its first problem, and all of them as `problems`. The message
    /// begins with `what`.
    pub fn refusal(refusal: &'e ImportError, what: &str) -> Self {
        let message = refusal_message(refusal, what);
        match refusal {
            ImportError::Failed(error) => error.into(),
            ImportError::Refused { problems } => {
                let first = problems.first().map(Self::from).unwrap_or_default();
                let problems = problems.iter().map(Self::from).collect();
                ErrorJson { message: message.into(), problems: Some(problems), ..first }
            }
        }
    }
}

impl<'e> From<&'e OsError> for ErrorJson<'e> {
    fn from(error: &'e OsError) -> Self {
        Self::new(error.code, error.to_string()).with_system(Some(error))
    }
}

impl<'e> From<&'e AtifExportError> for ErrorJson<'e> {
    fn from(error: &'e AtifExportError) -> Self {
        let json = Self::new(error.code(), error.to_string()).with_system(error.system());
        match error {
            AtifExportError::Conversation { conversations, .. } => json.with_conversations(conversations),
            _ => json,
        }
    }
}

impl<'e> From<&'e RunError> for ErrorJson<'e> {
    fn from(error: &'e RunError) -> Self {
        Self::new(error.code.as_str(), &error.message).with_event(error).with_system(error.system.as_deref())
    }
}

impl<'e> From<&'e BundleError> for ErrorJson<'e> {
    fn from(error: &'e BundleError) -> Self {
        let path = error.path.as_deref().map(Cow::from);
        ErrorJson { path, ..Self::new(error.code.as_str(), &error.message) }.with_system(error.system.as_deref())
    }
}

impl<'e> From<&'e ArchiveError> for ErrorJson<'e> {
    fn from(error: &'e ArchiveError) -> Self {
        match error {
            ArchiveError::System(error) => error.into(),
            ArchiveError::Locked { owner } => {
                ErrorJson { owner: Some(owner), ..Self::new(error.code(), error.to_string()) }
            }
            _ => ErrorJson {
                path: error.path().map(Path::to_string_lossy),
                ..Self::new(error.code(), error.to_string())
            },
        }
    }
}

impl<'e> From<&'e DiffError> for ErrorJson<'e> {
    fn from(error: &'e DiffError) -> Self {
        let json = Self::new(error.code(), error.to_string());
        let json = match error.run_error() {
            Some(error) => json.with_event(error),
            None => json,
        };
        json.with_system(error.system()).of_side(error.side())
    }
}

impl<'e> From<&'e RepairError> for ErrorJson<'e> {
    fn from(error: &'e RepairError) -> Self {
        let system = match error {
            RepairError::System(system) => Some(system),
            _ => None,
        };
        let sessions = match error {
            RepairError::NoSession { found, .. } => Some(&found[..]),
            _ => None,
        };
        let path = error.path().map(|path| path.to_string_lossy());
        ErrorJson { path, sessions, ..Self::new(error.code(), error.to_string()) }.with_system(system)
    }
}

impl<'e> From<&'e RecordError> for ErrorJson<'e> {
    fn from(error: &'e RecordError) -> Self {
        let json = Self::new(error.code(), error.to_string());
        match error {
            RecordError::Refused(error) => error.into(),
            RecordError::System(system) => json.with_system(Some(system)),
            RecordError::Write(WriteFailure { error: WriteError::System(system), .. }) => {
                json.with_system(Some(system))
            }
            RecordError::OtherRun { expected, found, .. } => {
                ErrorJson { expected: Some(expected), found: Some(found), ..json }
            }
            RecordError::Locked { owner, path } => {
                ErrorJson { owner: Some(owner), path: Some(path.to_string_lossy()), ..json }
            }
            RecordError::Sealed { manifest } => ErrorJson { path: Some(manifest.to_string_lossy()), ..json },
            _ => json,
        }
    }
}

impl<'e> From<&'e WriteFailure> for ErrorJson<'e> {
    fn from(failure: &'e WriteFailure) -> Self {
        let json = Self::new(failure.error.code(), failure.error.to_string());
        let json = match &failure.error {
            WriteError::System(system) => json.with_system(Some(system)),
            WriteError::Replaced { path, .. } => ErrorJson { path: Some(path.to_string_lossy()), ..json },
            WriteError::Locked { owner } => ErrorJson { owner: Some(owner), ..json },
            _ => json,
        };
        let path = failure.path.as_ref().map(|path| path.to_string_lossy()).or(json.path);
        ErrorJson { path, ..json }
    }
}

/// The message for a bundle that was not imported or can't be read. Begins with `what`.
pub fn refusal_message(refusal: &ImportError, what: &str) -> String {
    match refusal {
        ImportError::Failed(error) => error.message.clone(),
        ImportError::Refused { problems } => {
            let first = problems.first().map(|problem| problem.message.as_str()).unwrap_or_default();
            match problems.len().saturating_sub(1) {
                0 => format!("{what}: {first}"),
                1 => format!("{what}: {first} (and 1 more problem)"),
                more => format!("{what}: {first} (and {more} more problems)"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use session_tape_core::bundle::BundleCode;
    use session_tape_core::run::ErrorCode;
    use std::io;
    use std::path::Path;

    fn text<'e>(error: impl Into<ErrorJson<'e>>) -> String {
        serde_json::to_string(&error.into()).unwrap()
    }

    fn missing() -> OsError {
        OsError::new(&io::Error::from(io::ErrorKind::NotFound), "open", Some(Path::new("/x")))
    }

    #[test]
    fn an_error_of_the_system_has_the_members_of_nodes_own() {
        let members = r#""code":"ENOENT","message":"ENOENT: no such file or directory, open '/x'","errno":0,"syscall":"open","path":"/x""#;
        assert_eq!(text(&RunError::from(missing())), format!("{{{members}}}"));
        assert_eq!(text(&BundleError::from(missing())), format!("{{{members}}}"));
        assert_eq!(text(&RecordError::from(missing())), format!("{{{members}}}"));
        let write = WriteFailure { error: missing().into(), path: None, dropped: 1, kept: 3 };
        assert_eq!(text(&write), format!("{{{members}}}"));
        assert_eq!(text(&RecordError::Write(write)), format!("{{{members}}}"));
        let diff = DiffError::of_system(missing(), "/y".into(), Some(Side::Left));
        assert!(text(&diff).ends_with(r#","errno":0,"syscall":"open","path":"/x","side":"left"}"#));
    }

    #[test]
    fn error_json_has_no_inherited_members() {
        let error = RunError::new(ErrorCode::ChainBroken, "é").at(7).compared("a", "b");
        assert_eq!(
            text(&error),
            r#"{"code":"ChainBroken","message":"é","time":7,"eventId":"evt_7","expected":"a","found":"b"}"#
        );
        let error = BundleError::about(BundleCode::WrongHash, "a/b", "changed");
        assert_eq!(text(&error), r#"{"code":"WrongHash","message":"a/b: changed","path":"a/b"}"#);
    }

    #[test]
    fn refusal_has_the_first_problem_and_lists_all() {
        let problem = |path| BundleError::about(BundleCode::WrongHash, path, "changed");
        let refusal = ImportError::Refused { problems: vec![problem("a"), problem("b")] };
        let json = serde_json::to_value(ErrorJson::refusal(&refusal, CANT_BE_READ)).unwrap();
        assert_eq!((&json["code"], &json["path"]), (&"WrongHash".into(), &"a".into()));
        assert_eq!(json["message"], "The bundle can't be read: a: changed (and 1 more problem)");
        assert_eq!(json["problems"][1]["path"], "b");
    }
}
