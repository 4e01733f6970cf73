//! The event of one line, its payload judged by its type, its values not built (`docs/session-format.md` section 2, rules 4–11).

use serde::{Deserialize, Serialize};

use crate::jsonl::scan::Span;
use crate::jsonl::text::{decode, spells};

/// JSON text of a value, owned.
pub type Raw = Box<[u8]>;

/// How much is asked of a line (`docs/session-format.md` section 2, "Strict mode").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// As much as older programs wrote.
    #[default]
    Lenient,
    /// A valid `seq` in every line, whole headers and whole items.
    Strict,
}

/// The event types that this version knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventType {
    /// Metadata; the first line.
    SessionStart,
    /// One more item of history.
    Content,
    /// All history so far becomes one summary.
    Compressed,
    /// The last items leave history.
    Rewind,
    /// Another provider and model.
    ProviderSwitch,
    /// Something worth telling that is no part of the conversation.
    SessionEvent,
    /// Other workspace directories.
    DirectoriesChanged,
    /// A title.
    SessionMetadata,
    /// A checkpoint at this line.
    CheckpointCreated,
    /// Another name for a checkpoint.
    CheckpointRenamed,
    /// A checkpoint is deleted.
    CheckpointDeleted,
    /// The session began as a copy of another one's history.
    SessionForked,
    /// The user's name for the session.
    SessionNamed,
}

impl EventType {
    const ALL: [EventType; 13] = [
        EventType::Content,
        EventType::SessionStart,
        EventType::Compressed,
        EventType::Rewind,
        EventType::ProviderSwitch,
        EventType::SessionEvent,
        EventType::DirectoriesChanged,
        EventType::SessionMetadata,
        EventType::CheckpointCreated,
        EventType::CheckpointRenamed,
        EventType::CheckpointDeleted,
        EventType::SessionForked,
        EventType::SessionNamed,
    ];

    /// The name in the file.
    pub fn as_str(self) -> &'static str {
        self.as_json().trim_matches('"')
    }

    /// The name as JSON text.
    pub fn as_json(self) -> &'static str {
        match self {
            EventType::SessionStart => r#""session_start""#,
            EventType::Content => r#""content""#,
            EventType::Compressed => r#""compressed""#,
            EventType::Rewind => r#""rewind""#,
            EventType::ProviderSwitch => r#""provider_switch""#,
            EventType::SessionEvent => r#""session_event""#,
            EventType::DirectoriesChanged => r#""directories_changed""#,
            EventType::SessionMetadata => r#""session_metadata""#,
            EventType::CheckpointCreated => r#""checkpoint_created""#,
            EventType::CheckpointRenamed => r#""checkpoint_renamed""#,
            EventType::CheckpointDeleted => r#""checkpoint_deleted""#,
            EventType::SessionForked => r#""session_forked""#,
            EventType::SessionNamed => r#""session_named""#,
        }
    }

    /// The type that a JSON value names.
    #[inline]
    pub fn of(token: &[u8]) -> Option<Self> {
        // What nearly all records are.
        if token == br#""content""# { Some(EventType::Content) } else { Self::of_others(token) }
    }

    fn of_others(token: &[u8]) -> Option<Self> {
        let exact = Self::ALL.into_iter().find(|known| known.as_json().as_bytes() == token);
        exact.or_else(|| Self::of_escaped(inside_string(token)?))
    }

    #[cold]
    fn of_escaped(inside: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|known| spells(inside, known.as_str()))
    }
}

/// An event, its values still in the line.
#[derive(Debug, PartialEq)]
pub struct Event {
    /// `seq`, if it is a number.
    pub seq: Option<f64>,
    /// `ts`, whatever it is.
    pub ts: Option<Span>,
    /// What happened.
    pub body: Body,
}

/// What an event does, its payload checked against its type.
#[derive(Debug, PartialEq)]
pub enum Body {
    /// It has what a `session_start` must have, or it is `None`.
    SessionStart(Option<StartFields>),
    /// The item.
    Content(Span),
    /// The summary.
    Compressed(Span),
    /// How many items leave.
    Rewind(u64),
    /// The provider, and the model if there is a usable one.
    ProviderSwitch(Span, Option<Span>),
    /// Severity and message.
    SessionEvent(Severity, Span),
    /// An array of strings.
    DirectoriesChanged(Span),
    /// The title, a string or `null`, if there is the key.
    SessionMetadata(Option<Span>),
    /// What happened to a checkpoint. The `seq` of the event is valid.
    Checkpoint(CheckpointFields),
    /// The payload.
    SessionForked(Span),
    /// The name, a string or `null`.
    SessionNamed(Span),
    /// A known type whose payload does not fit.
    Malformed(EventType, Fault),
    /// A type from a newer version, or none at all.
    Unknown(Option<Span>),
}

/// What about a payload does not fit its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Something that has no message of its own.
    Event,
    /// `title` is neither a string nor `null`.
    Title,
    /// There is no usable `checkpointId`.
    CheckpointId,
    /// There is no usable `name`.
    Name,
}

/// The values of an event about a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointFields {
    /// Whose id this is, a string that is not empty.
    pub id: Span,
    /// What happened to it.
    pub change: CheckpointChange,
}

/// What happened to a checkpoint. Names are strings that are not blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointChange {
    /// It was created, with this name.
    Created(Span),
    /// It has this name now.
    Renamed(Span),
    /// It was deleted.
    Deleted,
}

/// The values of a `session_start`; `None` where the type is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct StartFields {
    pub session_id: Span,
    pub project_hash: Span,
    pub provider: Option<Span>,
    pub model: Option<Span>,
    pub start_time: Option<Span>,
    pub workspace_dirs: Option<Span>,
    pub cwd: Option<Span>,
}

/// How serious a session event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    /// The name in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }

    /// The severity that a JSON value names.
    pub fn of(token: &[u8]) -> Option<Self> {
        let inside = inside_string(token)?;
        [Severity::Info, Severity::Warning, Severity::Error].into_iter().find(|known| spells(inside, known.as_str()))
    }
}

/// The largest integer that is safe: it and all below are exact as doubles.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Whether a number can be the position of a record: a safe integer, 0 or more.
pub fn is_valid_seq(seq: f64) -> bool {
    (0.0..=MAX_SAFE_INTEGER).contains(&seq) && seq.fract() == 0.0
}

/// The text between the quotes, if the token is a string.
pub fn inside_string(token: &[u8]) -> Option<&[u8]> {
    token.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Whether JSON text is the string of these UTF-16 units.
pub fn is_string(token: &[u8], units: &[u16]) -> bool {
    inside_string(token).is_some_and(|inside| decode(inside).eq(units.iter().copied()))
}
