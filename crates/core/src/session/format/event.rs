//! The event of one line. Its payload is validated by its type; its values are not built (`docs/session-format.md` section 2,
//! rules 4–11).

use std::fmt;

use super::edits::{Change, Cut, Purge};
use crate::json::{Span, decode, spells};

/// The JSON text of a value, owned.
pub(crate) type Raw = Box<[u8]>;

/// How strictly lines are validated (`docs/session-format.md` section 2, "Strict mode").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Accepts what older programs wrote.
    #[default]
    Lenient,
    /// Requires a known `v` and a valid `seq` in every line, whole headers and whole items.
    Strict,
}

/// The event types that this version knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// The session's metadata, in the first line.
    SessionStart,
    /// Adds an item to the history.
    Content,
    /// Replaces the whole history by a summary.
    Compressed,
    /// Removes the last items of the history.
    Rewind,
    /// Changes the provider, and the model if it names one.
    ProviderSwitch,
    /// A note about the session that is not part of the history.
    SessionEvent,
    /// Changes the workspace directories.
    DirectoriesChanged,
    /// Changes the title.
    SessionMetadata,
    /// Creates a checkpoint at this line.
    CheckpointCreated,
    /// Renames a checkpoint.
    CheckpointRenamed,
    /// Deletes a checkpoint.
    CheckpointDeleted,
    /// States that the session began with a copy of another session's history.
    SessionForked,
    /// Changes the user's name for the session.
    SessionNamed,
    /// Removes and replaces items by their keys.
    DensityMutation,
    /// Inserts an item behind another one.
    SyntheticInsert,
    /// Changes the marker of an item.
    ChronologyBind,
    /// Replaces the whole history.
    SemanticMediaPurge,
    /// What a compression removed.
    CompressionDetail,
}

impl EventType {
    const ALL: [EventType; 18] = [
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
        EventType::DensityMutation,
        EventType::SyntheticInsert,
        EventType::ChronologyBind,
        EventType::SemanticMediaPurge,
        EventType::CompressionDetail,
    ];

    /// The name in the file.
    pub fn as_str(self) -> &'static str {
        self.as_json().trim_matches('"')
    }

    /// The name as JSON text.
    #[inline]
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
            EventType::DensityMutation => r#""density_mutation""#,
            EventType::SyntheticInsert => r#""synthetic_insert""#,
            EventType::ChronologyBind => r#""chronology_bind""#,
            EventType::SemanticMediaPurge => r#""semantic_media_purge""#,
            EventType::CompressionDetail => r#""compression_detail""#,
        }
    }

    /// The type that a JSON value names.
    #[inline]
    pub fn of(token: &[u8]) -> Option<Self> {
        // Nearly all records have this type.
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

/// An event. Its values are spans of the line.
#[derive(Debug, PartialEq)]
pub struct Event {
    /// `seq`, if it is a number.
    pub seq: Option<f64>,
    /// `ts`, of any type.
    pub ts: Option<Span>,
    /// What happened.
    pub body: Body,
}

/// The content of an event, its payload validated by its type.
#[derive(Debug, PartialEq)]
pub enum Body {
    /// The fields of a `session_start`; `None` if the payload lacks some that the mode requires.
    SessionStart(Option<StartFields>),
    /// The item.
    Content(Span),
    /// The summary.
    Compressed(Span),
    /// The number of items to remove, and where to cut instead.
    Rewind(u64, Cut),
    /// The provider, and the model if it is a string that is not empty.
    ProviderSwitch(Span, Option<Span>),
    /// Severity and message.
    SessionEvent(Severity, Span),
    /// An array of strings.
    DirectoriesChanged(Span),
    /// The title, a string or `null`; `None` if the payload has no `title`.
    SessionMetadata(Option<Span>),
    /// What happened to a checkpoint. The `seq` of the event is valid.
    Checkpoint(CheckpointFields),
    /// The payload.
    SessionForked(Span),
    /// The name, a string or `null`.
    SessionNamed(Span),
    /// An edit of items.
    Edit(Box<Change<Span>>),
    /// Replaces the whole history.
    Purge(Box<Purge>),
    /// What a compression removed.
    CompressionDetail,
    /// A known type whose payload does not fit.
    Malformed(EventType, Fault),
    /// An event whose type is unknown, perhaps from a newer version; `None` if it has no `type`.
    Unknown(Option<Span>),
}

impl Body {
    /// What the event does to the history; `None` if it does nothing. `item` makes the items of their places in the line.
    #[inline]
    pub fn change<T>(&self, mut item: impl FnMut(Span) -> T) -> Option<Change<T>> {
        match self {
            Body::Content(content) => Some(Change::Append(item(*content))),
            Body::Compressed(summary) => Some(Change::Replace(vec![item(*summary)])),
            Body::Purge(purge) => Some(Change::Replace(purge.items.iter().copied().map(item).collect())),
            Body::Rewind(count, cut) => {
                let before = if let Cut::Before(key) = cut { Some(*key) } else { None };
                Some(Change::Cut { count: *count, before })
            }
            Body::Edit(edit) => Some(edit.map(|place| item(*place))),
            _ => None,
        }
    }

    /// Whether the event has items that it may add to the history.
    pub fn has_items(&self) -> bool {
        let mut has_items = false;
        self.each_item(|_, _| has_items = true);
        has_items
    }

    /// Calls `take` with each item of the event, in order, and where it is in the payload.
    pub fn each_item(&self, mut take: impl FnMut(ItemPlace, Span)) {
        match self {
            Body::Content(item) => take(ItemPlace::Content, *item),
            Body::Compressed(summary) => take(ItemPlace::Summary, *summary),
            Body::Purge(purge) => {
                purge.items.iter().enumerate().for_each(|(index, item)| take(ItemPlace::Purged(index), *item));
            }
            Body::Edit(edit) => match &**edit {
                Change::Mutate { replacements, .. } => {
                    let items = replacements.iter().enumerate();
                    items.for_each(|(index, (_, item))| take(ItemPlace::Replacement(index), *item));
                }
                Change::Insert { item, .. } => take(ItemPlace::Inserted, *item),
                Change::Bind { content, .. } => content.iter().for_each(|item| take(ItemPlace::Bound, *item)),
                _ => {}
            },
            _ => {}
        }
    }
}

/// Where an item is in the payload of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemPlace {
    /// `content` of a `content`.
    Content,
    /// `summary` of a `compressed`.
    Summary,
    /// `replacement` of this entry of the `replacements` of a `density_mutation`.
    Replacement(usize),
    /// `content` of a `synthetic_insert`.
    Inserted,
    /// `content` of a `chronology_bind`.
    Bound,
    /// This element of the `history` of a `semantic_media_purge`.
    Purged(usize),
}

impl ItemPlace {
    /// The type of the event.
    pub fn event_type(self) -> EventType {
        match self {
            ItemPlace::Content => EventType::Content,
            ItemPlace::Summary => EventType::Compressed,
            ItemPlace::Replacement(_) => EventType::DensityMutation,
            ItemPlace::Inserted => EventType::SyntheticInsert,
            ItemPlace::Bound => EventType::ChronologyBind,
            ItemPlace::Purged(_) => EventType::SemanticMediaPurge,
        }
    }
}

/// The JSON pointer of the item.
impl fmt::Display for ItemPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemPlace::Content | ItemPlace::Inserted | ItemPlace::Bound => f.write_str("/content"),
            ItemPlace::Summary => f.write_str("/summary"),
            ItemPlace::Replacement(index) => write!(f, "/replacements/{index}/replacement"),
            ItemPlace::Purged(index) => write!(f, "/history/{index}"),
        }
    }
}

/// Why a payload does not fit its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A reason that has no message of its own.
    Event,
    /// `title` is neither a string nor `null`.
    Title,
    /// `checkpointId` is not a string, or is empty.
    CheckpointId,
    /// `name` is not a string, or is blank.
    Name,
    /// `cutSeq` is not valid. The event has an effect all the same.
    Cut,
}

/// The values of an event about a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointFields {
    /// The id of the checkpoint, a string that is not empty.
    pub id: Span,
    /// What happened to it.
    pub change: CheckpointChange<Span>,
}

/// What happened to a checkpoint. Names are strings that are not blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointChange<T> {
    /// It was created, with this name.
    Created(T),
    /// It was renamed to this.
    Renamed(T),
    /// It was deleted.
    Deleted,
}

impl<T> CheckpointChange<T> {
    /// The type of its event.
    pub fn event_type(&self) -> EventType {
        match self {
            CheckpointChange::Created(_) => EventType::CheckpointCreated,
            CheckpointChange::Renamed(_) => EventType::CheckpointRenamed,
            CheckpointChange::Deleted => EventType::CheckpointDeleted,
        }
    }
}

/// The values of a `session_start`; `None` if one is missing or has the wrong type.
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
    pub is_subagent: bool,
    pub parent_session_id: Option<Span>,
}

/// How serious a session event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The largest `seq`, a safe integer: all integers from 0 to it are exact as doubles. Strict replays skip records beyond it.
const MAX_SEQ: f64 = 9_007_199_254_740_991.0;

/// Whether a number can be the `seq` of a record: a safe integer, 0 or more.
pub(crate) fn is_valid_seq(seq: f64) -> bool {
    (0.0..=MAX_SEQ).contains(&seq) && seq.fract() == 0.0
}

/// The numbers that resuming a session needs: at most three for what it records itself, and one for what follows.
const NUMBERS_TO_RESUME: f64 = 4.0;

/// Whether `more` further records can follow the one with the number `last`.
pub(crate) fn has_numbers_left(last: f64, more: f64) -> bool {
    last <= MAX_SEQ - more
}

/// The number that further records of a session follow, whose last record has this `seq`: the same, or the largest below one that is not valid, at
/// least that of a `session_start`. Whatever a file has, all readers accept the numbers after it.
pub(crate) fn number_to_follow(last_seq: f64) -> f64 {
    if is_valid_seq(last_seq) { last_seq } else { last_seq.floor().max(1.0) }
}

/// Whether a session whose last record has this number can be resumed.
pub(crate) fn is_resumable_at(last: f64) -> bool {
    has_numbers_left(last, NUMBERS_TO_RESUME)
}

/// The text between the quotes, if the token is a string.
pub(crate) fn inside_string(token: &[u8]) -> Option<&[u8]> {
    token.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Whether JSON text is a string with these UTF-16 units.
#[inline]
pub(crate) fn is_string(token: &[u8], units: &[u16]) -> bool {
    inside_string(token).is_some_and(|inside| decode(inside).eq(units.iter().copied()))
}
