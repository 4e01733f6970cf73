//! The payload of a line: the spans of its values, and whether they fit the event's type (`docs/session-format.md` section
//! 2, rules 9, 10 and 17).

use super::edits;
use super::event::{
    Body, CheckpointChange, CheckpointFields, EventType, Fault, Mode, Severity, StartFields, inside_string,
    is_valid_seq,
};
use crate::json::{Cursor, Nesting, NotJson, Span, is_blank_string, spells};
use crate::session::fold::{ItemSink, NoItems};

/// The values of a payload that some event type needs. A payload that is not an object has none of them, so it fits no
/// type.
#[derive(Default)]
pub(super) struct PayloadSpans {
    object: Option<Span>,
    content: Option<Item>,
    summary: Option<Item>,
    items_compressed: Option<Span>,
    items_removed: Option<Span>,
    provider: Option<Span>,
    model: Option<Span>,
    severity: Option<Span>,
    message: Option<Span>,
    directories: Option<Strings>,
    session_id: Option<Span>,
    project_hash: Option<Span>,
    workspace_dirs: Option<Strings>,
    start_time: Option<Span>,
    cwd: Option<Span>,
    title: Option<Span>,
    name: Option<Span>,
    checkpoint_id: Option<Span>,
    checkpoint_name: Option<Span>,
    parent_session_id: Option<Span>,
    parent_sequence: Option<Span>,
}

/// A value that may be an `IContent`.
#[derive(Clone, Copy)]
struct Item {
    span: Span,
    /// Its `speaker`, if it is an object and its `speaker` is a string that is not empty.
    speaker: Option<Span>,
    /// Its `blocks` are an array.
    has_blocks: bool,
}

/// A value that may be an array of strings.
#[derive(Clone, Copy)]
struct Strings {
    span: Span,
    all_strings: bool,
}

/// Reads the value at the cursor into `payload`, whose earlier content is discarded. Passes the value of `content` to
/// `items`.
pub(super) fn read_payload(
    payload: &mut PayloadSpans,
    cursor: &mut Cursor<'_>,
    nesting: &mut Nesting,
    items: &mut impl ItemSink,
) -> Result<(), NotJson> {
    *payload = PayloadSpans::default();
    if cursor.peek() != Some(b'{') {
        return cursor.value(nesting).map(drop);
    }
    let span = cursor.object(|cursor, key| {
        match Key::of(key) {
            Key::Content => payload.content = Some(read_item(cursor, nesting, items)?),
            Key::Summary => payload.summary = Some(read_item(cursor, nesting, &mut NoItems)?),
            Key::Directories => payload.directories = Some(read_strings(cursor, nesting)?),
            Key::WorkspaceDirs => payload.workspace_dirs = Some(read_strings(cursor, nesting)?),
            Key::ItemsCompressed => payload.items_compressed = Some(cursor.value(nesting)?),
            Key::ItemsRemoved => payload.items_removed = Some(cursor.value(nesting)?),
            Key::Provider => payload.provider = Some(cursor.value(nesting)?),
            Key::Model => payload.model = Some(cursor.value(nesting)?),
            Key::Severity => payload.severity = Some(cursor.value(nesting)?),
            Key::Message => payload.message = Some(cursor.value(nesting)?),
            Key::SessionId => payload.session_id = Some(cursor.value(nesting)?),
            Key::ProjectHash => payload.project_hash = Some(cursor.value(nesting)?),
            Key::StartTime => payload.start_time = Some(cursor.value(nesting)?),
            Key::Cwd => payload.cwd = Some(cursor.value(nesting)?),
            Key::Title => payload.title = Some(cursor.value(nesting)?),
            Key::Name => payload.name = Some(cursor.value(nesting)?),
            Key::CheckpointId => payload.checkpoint_id = Some(cursor.value(nesting)?),
            Key::CheckpointName => payload.checkpoint_name = Some(cursor.value(nesting)?),
            Key::ParentSessionId => payload.parent_session_id = Some(cursor.value(nesting)?),
            Key::ParentSequence => payload.parent_sequence = Some(cursor.value(nesting)?),
            Key::Other => drop(cursor.value(nesting)?),
        }
        Ok(())
    })?;
    payload.object = Some(span);
    Ok(())
}

fn read_item(cursor: &mut Cursor<'_>, nesting: &mut Nesting, items: &mut impl ItemSink) -> Result<Item, NotJson> {
    if cursor.peek() != Some(b'{') {
        return Ok(Item { span: cursor.value(nesting)?, speaker: None, has_blocks: false });
    }
    let (line, start, mut members) = (cursor.clone(), cursor.position(), ItemMembers::default());
    if items.take(cursor, |key, value| members.add(key, value, line.at(value.start))) {
        return Ok(members.of(cursor.span_from(start)));
    }
    members = ItemMembers::default();
    let span = cursor.object(|cursor, key| {
        let first = cursor.peek();
        members.add(key, cursor.value(nesting)?, first);
        Ok(())
    })?;
    Ok(members.of(span))
}

/// The members of an item that are validated.
#[derive(Default)]
struct ItemMembers {
    speaker: Option<Span>,
    has_blocks: bool,
}

impl ItemMembers {
    /// If a key occurs twice, the last value counts.
    #[inline]
    fn add(&mut self, key: &[u8], value: Span, first: Option<u8>) {
        match ItemKey::of(key) {
            ItemKey::Speaker => {
                self.speaker = (first == Some(b'"') && value.len() > EMPTY_STRING_BYTES).then_some(value)
            }
            ItemKey::Blocks => self.has_blocks = first == Some(b'['),
            ItemKey::Other => {}
        }
    }

    fn of(&self, span: Span) -> Item {
        Item { span, speaker: self.speaker, has_blocks: self.has_blocks }
    }
}

fn read_strings(cursor: &mut Cursor<'_>, nesting: &mut Nesting) -> Result<Strings, NotJson> {
    if cursor.peek() != Some(b'[') {
        return Ok(Strings { span: cursor.value(nesting)?, all_strings: false });
    }
    let mut all_strings = true;
    let span = cursor.array(|cursor| {
        all_strings &= cursor.peek() == Some(b'"');
        cursor.value(nesting).map(drop)
    })?;
    Ok(Strings { span, all_strings })
}

/// Length of an empty string: its two quotes.
const EMPTY_STRING_BYTES: usize = 2;

impl PayloadSpans {
    /// The whole payload, if it is an object.
    pub(crate) fn object(&self) -> Option<Span> {
        self.object
    }

    /// The value of its `content`, of any type.
    pub(crate) fn item(&self) -> Option<Span> {
        self.content.map(|item| item.span)
    }

    /// Its `sessionId`, if it is a string that is not empty.
    pub(crate) fn session_id(&self, line: &[u8]) -> Option<Span> {
        filled_string(self.session_id, line)
    }

    /// The content of an event with this type and this `seq`, or why the payload does not fit the type (rules 10 and 17).
    pub(crate) fn body(&self, event_type: EventType, seq: Option<f64>, line: &[u8], mode: Mode) -> Result<Body, Fault> {
        match event_type {
            EventType::SessionStart => Ok(Body::SessionStart(self.start_fields(line, mode))),
            EventType::Content => self.content_body(line, mode).ok_or(Fault::Event),
            EventType::Compressed => self.compressed_body(line, mode).ok_or(Fault::Event),
            EventType::Rewind => self.rewind_body(line).ok_or(Fault::Event),
            EventType::ProviderSwitch => {
                let provider = filled_string(self.provider, line).ok_or(Fault::Event)?;
                Ok(Body::ProviderSwitch(provider, filled_string(self.model, line)))
            }
            EventType::SessionEvent => self.session_event_body(line).ok_or(Fault::Event),
            EventType::DirectoriesChanged => {
                strings(self.directories).map(Body::DirectoriesChanged).ok_or(Fault::Event)
            }
            EventType::SessionMetadata => self.title_body(line),
            EventType::CheckpointCreated => {
                self.checkpoint_body(seq, line, |name| Ok(CheckpointChange::Created(name?)))
            }
            EventType::CheckpointRenamed => {
                self.checkpoint_body(seq, line, |name| Ok(CheckpointChange::Renamed(name?)))
            }
            EventType::CheckpointDeleted => self.checkpoint_body(seq, line, |_| Ok(CheckpointChange::Deleted)),
            EventType::SessionForked => self.fork_body(line),
            EventType::SessionNamed => string_or_null(self.name, line).map(Body::SessionNamed).ok_or(Fault::Event),
            EventType::DensityMutation => self.edit_body(line, edits::mutation),
            EventType::SyntheticInsert => self.edit_body(line, edits::insertion),
            EventType::ChronologyBind => self.edit_body(line, edits::binding),
            EventType::SemanticMediaPurge => {
                let purge = self.object.and_then(|payload| edits::purge(line, payload)).ok_or(Fault::Event)?;
                Ok(Body::Purge(Box::new(purge)))
            }
            EventType::CompressionDetail => {
                self.object.filter(|payload| edits::is_compression_detail(line, *payload)).ok_or(Fault::Event)?;
                Ok(Body::CompressionDetail)
            }
        }
    }

    /// The values of a `session_start`, if it has the fields that the mode requires: the one rule for headers.
    pub(crate) fn start_fields(&self, line: &[u8], mode: Mode) -> Option<StartFields> {
        let fields = StartFields {
            session_id: self.session_id(line)?,
            project_hash: filled_string(self.project_hash, line)?,
            provider: string(self.provider, line),
            model: string(self.model, line),
            start_time: string(self.start_time, line),
            workspace_dirs: strings(self.workspace_dirs),
            cwd: string(self.cwd, line),
            is_subagent: edits::is_subagent(line, self.object?),
            parent_session_id: string(self.parent_session_id, line),
        };
        let is_whole = || fields.provider.and(fields.model).is_some() && filled_string(self.start_time, line).is_some();
        (mode == Mode::Lenient || is_whole()).then_some(fields)
    }

    fn content_body(&self, line: &[u8], mode: Mode) -> Option<Body> {
        self.content?.usable(line, mode).map(Body::Content)
    }

    fn compressed_body(&self, line: &[u8], mode: Mode) -> Option<Body> {
        number(self.items_compressed?.of(line))?;
        self.summary?.usable(line, mode).map(Body::Compressed)
    }

    fn rewind_body(&self, line: &[u8]) -> Option<Body> {
        let removed = number(self.items_removed?.of(line))?;
        // A fraction is rounded up. A number beyond u64 saturates, which is more than any history has.
        (removed >= 0.0).then_some(())?;
        Some(Body::Rewind(removed.ceil() as u64, edits::cut(line, self.object?)))
    }

    fn edit_body(&self, line: &[u8], edit: fn(&[u8], Span) -> Option<edits::Edit>) -> Result<Body, Fault> {
        let edit = self.object.and_then(|payload| edit(line, payload)).ok_or(Fault::Event)?;
        Ok(Body::Edit(Box::new(edit)))
    }

    fn session_event_body(&self, line: &[u8]) -> Option<Body> {
        let severity = Severity::of(self.severity?.of(line))?;
        Some(Body::SessionEvent(severity, string(self.message, line)?))
    }

    fn title_body(&self, line: &[u8]) -> Result<Body, Fault> {
        self.object.ok_or(Fault::Event)?;
        let Some(title) = self.title else { return Ok(Body::SessionMetadata(None)) };
        string_or_null(Some(title), line).map(|title| Body::SessionMetadata(Some(title))).ok_or(Fault::Title)
    }

    /// Calls `change_to` with the name, or with the fault if there is no usable name.
    fn checkpoint_body(
        &self,
        seq: Option<f64>,
        line: &[u8],
        change_to: fn(Result<Span, Fault>) -> Result<CheckpointChange, Fault>,
    ) -> Result<Body, Fault> {
        self.object.filter(|_| seq.is_some_and(is_valid_seq)).ok_or(Fault::Event)?;
        let id = self.checkpoint_id(line)?;
        let name = string(self.name, line).filter(|name| !is_blank_text(name.of(line))).ok_or(Fault::Name);
        Ok(Body::Checkpoint(CheckpointFields { id, change: change_to(name)? }))
    }

    fn fork_body(&self, line: &[u8]) -> Result<Body, Fault> {
        let payload = self.object.ok_or(Fault::Event)?;
        self.checkpoint_id(line)?;
        let sequence = self.parent_sequence.and_then(|span| number(span.of(line)));
        let fits = string(self.parent_session_id, line).is_some()
            && string(self.checkpoint_name, line).is_some()
            && sequence.is_some_and(is_valid_seq);
        if fits { Ok(Body::SessionForked(payload)) } else { Err(Fault::Event) }
    }

    fn checkpoint_id(&self, line: &[u8]) -> Result<Span, Fault> {
        filled_string(self.checkpoint_id, line).ok_or(Fault::CheckpointId)
    }
}

impl Item {
    fn usable(self, line: &[u8], mode: Mode) -> Option<Span> {
        let speaker = self.speaker?;
        let is_whole = || self.has_blocks && is_speaker(speaker.of(line));
        (mode == Mode::Lenient || is_whole()).then_some(self.span)
    }
}

/// A value of the line and its `blocks`, if it is an item in the sense of strict mode.
pub(super) fn whole_item(line: &[u8], value: Span) -> Option<(Span, Span)> {
    let [speaker, blocks] = edits::members(line, value, ["speaker", "blocks"]);
    let has_blocks = blocks?.of(line).starts_with(b"[");
    let item = Item { span: value, speaker: filled_string(speaker, line), has_blocks };
    Some((item.usable(line, Mode::Strict)?, blocks?))
}

fn is_speaker(token: &[u8]) -> bool {
    inside_string(token).is_some_and(|inside| ["human", "ai", "tool"].into_iter().any(|known| spells(inside, known)))
}

fn strings(value: Option<Strings>) -> Option<Span> {
    value.filter(|value| value.all_strings).map(|value| value.span)
}

/// Whether a string, given with its quotes, is blank.
fn is_blank_text(string: &[u8]) -> bool {
    inside_string(string).is_none_or(is_blank_string)
}

/// A value, if it is a string.
pub(super) fn string(value: Option<Span>, line: &[u8]) -> Option<Span> {
    value.filter(|span| span.of(line).starts_with(b"\""))
}

fn string_or_null(value: Option<Span>, line: &[u8]) -> Option<Span> {
    value.filter(|span| matches!(span.of(line).first(), Some(b'"' | b'n')))
}

fn filled_string(value: Option<Span>, line: &[u8]) -> Option<Span> {
    string(value, line).filter(|span| span.len() > EMPTY_STRING_BYTES)
}

/// The value of a token, if it is a number: the nearest double, infinite beyond the largest one.
#[inline]
pub fn number(token: &[u8]) -> Option<f64> {
    if !matches!(token.first(), Some(b'-' | b'0'..=b'9')) {
        return None;
    }
    integer(token).or_else(|| std::str::from_utf8(token).ok()?.parse().ok())
}

/// The value of a token, if it can be the `seq` of a record.
pub(crate) fn valid_seq(token: &[u8]) -> Option<f64> {
    number(token).filter(|seq| is_valid_seq(*seq))
}

/// The value of a few digits. Nearly all numbers of envelopes are such.
fn integer(token: &[u8]) -> Option<f64> {
    let add = |value: u64, digit: &u8| digit.is_ascii_digit().then(|| value * 10 + u64::from(digit - b'0'));
    // Every integer of fifteen digits is exact as a double.
    (token.len() <= 15).then(|| token.iter().try_fold(0, add)).flatten().map(|value| value as f64)
}

/// Defines an enum of keys, and how a key is recognised by its text. `spells` must be in scope.
macro_rules! keys {
    ($(#[$doc:meta])* $visible:vis $keys:ident { $($name:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $keys { $($name,)* Other }

        impl $keys {
            /// The key that is written as `raw` between its quotes.
            #[inline]
            fn of(raw: &[u8]) -> Self {
                $(if raw == $text.as_bytes() { return $keys::$name; })*
                if raw.contains(&b'\\') { Self::of_escaped(raw) } else { $keys::Other }
            }

            #[cold]
            fn of_escaped(raw: &[u8]) -> Self {
                $(if spells(raw, $text) { return $keys::$name; })*
                $keys::Other
            }
        }
    };
}
pub(crate) use keys;

keys! {
    /// The keys of a payload that are read, frequent ones first.
    Key {
        Content = "content", Summary = "summary", ItemsCompressed = "itemsCompressed", ItemsRemoved = "itemsRemoved",
        Provider = "provider", Model = "model", Severity = "severity", Message = "message", Directories = "directories",
        SessionId = "sessionId", ProjectHash = "projectHash", WorkspaceDirs = "workspaceDirs", StartTime = "startTime",
        Cwd = "cwd", Title = "title", Name = "name", CheckpointId = "checkpointId", CheckpointName = "checkpointName",
        ParentSessionId = "parentSessionId", ParentSequence = "parentSequence",
    }
}

keys! {
    /// The keys of an item that are read.
    ItemKey { Speaker = "speaker", Blocks = "blocks" }
}
