//! The payload of a line: the spans of its values, and whether they fit the event's type (`docs/session-format.md` section
//! 2, rules 9, 10 and 17).

use super::edits::{self, Change, Cut, each_element, values};
use super::event::{
    Body, CheckpointChange, CheckpointFields, EventType, Fault, Mode, Severity, StartFields, inside_string,
    is_valid_seq,
};
use super::item_sink::ItemSink;
use crate::json::{Cursor, Nesting, NotJson, Span, is_blank_string, spells};

/// A payload. One that is not an object fits no event type.
///
/// Nearly all lines have a `content`, so that is read while a line is scanned. For other events, the payload is read once more.
#[derive(Default)]
pub(super) struct Payload {
    object: Option<Span>,
    /// The value of its `content`.
    content: Option<(Span, Item)>,
}

/// The members of a value that may be an `IContent`.
#[derive(Clone, Copy, Default)]
struct Item {
    /// Its `speaker`, if it is an object and its `speaker` is a string that is not empty.
    speaker: Option<Span>,
    /// Its `blocks`, if they are an array.
    blocks: Option<Span>,
}

/// Reads the value at the cursor into `payload`, whose earlier content is discarded. Passes the value of `content` to
/// `items`.
pub(super) fn read_payload(
    payload: &mut Payload,
    cursor: &mut Cursor<'_>,
    nesting: &mut Nesting,
    items: &mut impl ItemSink,
) -> Result<(), NotJson> {
    *payload = Payload::default();
    if cursor.peek() != Some(b'{') {
        return cursor.value(nesting).map(drop);
    }
    let span = cursor.object(|cursor, key| {
        match spells(key, "content") {
            true => payload.content = Some(read_item(cursor, nesting, items)?),
            false => drop(cursor.value(nesting)?),
        }
        Ok(())
    })?;
    payload.object = Some(span);
    Ok(())
}

fn read_item(
    cursor: &mut Cursor<'_>,
    nesting: &mut Nesting,
    items: &mut impl ItemSink,
) -> Result<(Span, Item), NotJson> {
    let mut item = Item::default();
    if cursor.peek() != Some(b'{') {
        return Ok((cursor.value(nesting)?, item));
    }
    let (line, start) = (cursor.clone(), cursor.position());
    if items.take(cursor, |key, value| item.add(key, value, line.at(value.start))) {
        return Ok((cursor.span_from(start), item));
    }
    item = Item::default();
    let span = cursor.object(|cursor, key| {
        let first = cursor.peek();
        item.add(key, cursor.value(nesting)?, first);
        Ok(())
    })?;
    Ok((span, item))
}

impl Item {
    /// The members of a value of the line.
    fn at(line: &[u8], value: Span) -> Self {
        let [speaker, blocks] = values(line, value, ["speaker", "blocks"]);
        Item {
            speaker: filled_string(speaker, line),
            blocks: blocks.filter(|blocks| blocks.of(line).starts_with(b"[")),
        }
    }

    /// Adds a member. If a key occurs twice, the last value counts.
    #[inline]
    fn add(&mut self, key: &[u8], value: Span, first: Option<u8>) {
        match ItemKey::of(key) {
            ItemKey::Speaker => {
                self.speaker = (first == Some(b'"') && value.len() > EMPTY_STRING_BYTES).then_some(value)
            }
            ItemKey::Blocks => self.blocks = (first == Some(b'[')).then_some(value),
            ItemKey::Other => {}
        }
    }

    fn is_usable(self, line: &[u8], mode: Mode) -> bool {
        let is_whole = |speaker: Span| self.blocks.is_some() && is_speaker(speaker.of(line));
        self.speaker.is_some_and(|speaker| mode == Mode::Lenient || is_whole(speaker))
    }
}

/// Length of an empty string: its two quotes.
const EMPTY_STRING_BYTES: usize = 2;

impl Payload {
    /// The whole payload, if it is an object.
    pub(crate) fn object(&self) -> Option<Span> {
        self.object
    }

    /// The value of its `content`, of any type.
    pub(crate) fn item(&self) -> Option<Span> {
        self.content.map(|(span, _)| span)
    }

    /// Its `sessionId`, if it is a string that is not empty.
    pub(crate) fn session_id(&self, line: &[u8]) -> Option<Span> {
        let [id] = self.values(line, ["sessionId"]);
        filled_string(id, line)
    }

    /// The content of an event with this type and this `seq`, or why the payload does not fit the type (rules 10 and 17).
    pub(crate) fn body(&self, event_type: EventType, seq: Option<f64>, line: &[u8], mode: Mode) -> Result<Body, Fault> {
        match event_type {
            EventType::SessionStart => Ok(Body::SessionStart(self.start_fields(line, mode))),
            EventType::SessionMetadata => self.title_body(line),
            EventType::CheckpointCreated => {
                self.checkpoint_body(seq, line, |name| Ok(CheckpointChange::Created(name?)))
            }
            EventType::CheckpointRenamed => {
                self.checkpoint_body(seq, line, |name| Ok(CheckpointChange::Renamed(name?)))
            }
            EventType::CheckpointDeleted => self.checkpoint_body(seq, line, |_| Ok(CheckpointChange::Deleted)),
            EventType::SessionForked => self.fork_body(line),
            _ => self.fitting_body(event_type, line, mode).ok_or(Fault::Event),
        }
    }

    /// The content of an event of one of the other types.
    fn fitting_body(&self, event_type: EventType, line: &[u8], mode: Mode) -> Option<Body> {
        if event_type == EventType::Content {
            let (span, item) = self.content?;
            return item.is_usable(line, mode).then_some(Body::Content(span));
        }
        let object = self.object?;
        let edit = |edit: fn(&[u8], Span) -> Option<Change<Span>>| Some(Body::Edit(Box::new(edit(line, object)?)));
        match event_type {
            EventType::Compressed => {
                let [summary, items] = self.values(line, ["summary", "itemsCompressed"]);
                number(items?.of(line))?;
                Item::at(line, summary?).is_usable(line, mode).then_some(Body::Compressed(summary?))
            }
            EventType::Rewind => {
                let [removed, cut] = self.values(line, ["itemsRemoved", "cutSeq"]);
                let removed = number(removed?.of(line)).filter(|removed| *removed >= 0.0)?;
                let cut = cut.map_or(Cut::None, |_| edits::seq(line, cut).map_or(Cut::Malformed, Cut::Before));
                // A fraction is rounded up. A number beyond u64 saturates, which is more than any history has.
                Some(Body::Rewind(removed.ceil() as u64, cut))
            }
            EventType::ProviderSwitch => {
                let [provider, model] = self.values(line, ["provider", "model"]);
                Some(Body::ProviderSwitch(filled_string(provider, line)?, filled_string(model, line)))
            }
            EventType::SessionEvent => {
                let [severity, message] = self.values(line, ["severity", "message"]);
                Some(Body::SessionEvent(Severity::of(severity?.of(line))?, string(message, line)?))
            }
            EventType::DirectoriesChanged => {
                let [directories] = self.values(line, ["directories"]);
                strings(directories, line).map(Body::DirectoriesChanged)
            }
            EventType::SessionNamed => {
                let [name] = self.values(line, ["name"]);
                string_or_null(name, line).map(Body::SessionNamed)
            }
            EventType::DensityMutation => edit(edits::mutation),
            EventType::SyntheticInsert => edit(edits::insertion),
            EventType::ChronologyBind => edit(edits::binding),
            EventType::SemanticMediaPurge => Some(Body::Purge(Box::new(edits::purge(line, object)?))),
            EventType::CompressionDetail => {
                let numbers = self.values(line, ["fromSeq", "toSeq", "itemsCompressed"]);
                let is_number = |value: Option<Span>| value.is_some_and(|value| number(value.of(line)).is_some());
                numbers.into_iter().all(is_number).then_some(Body::CompressionDetail)
            }
            _ => None,
        }
    }

    /// The values of a `session_start`, if it has the fields that the mode requires: the one rule for headers.
    pub(crate) fn start_fields(&self, line: &[u8], mode: Mode) -> Option<StartFields> {
        let [session_id, project_hash, provider, model, start_time, workspace_dirs, cwd, kind, parent] = self.values(
            line,
            [
                "sessionId",
                "projectHash",
                "provider",
                "model",
                "startTime",
                "workspaceDirs",
                "cwd",
                "kind",
                "parentSessionId",
            ],
        );
        let kind = kind.and_then(|kind| inside_string(kind.of(line)));
        let fields = StartFields {
            session_id: filled_string(session_id, line)?,
            project_hash: filled_string(project_hash, line)?,
            provider: string(provider, line),
            model: string(model, line),
            start_time: string(start_time, line),
            workspace_dirs: strings(workspace_dirs, line),
            cwd: string(cwd, line),
            is_subagent: kind.is_some_and(|kind| spells(kind, "subagent")),
            parent_session_id: string(parent, line),
        };
        let is_whole = || fields.provider.and(fields.model).and(filled_string(start_time, line)).is_some();
        (mode == Mode::Lenient || is_whole()).then_some(fields)
    }

    fn title_body(&self, line: &[u8]) -> Result<Body, Fault> {
        self.object.ok_or(Fault::Event)?;
        let [title] = self.values(line, ["title"]);
        let fits = title.is_none() || string_or_null(title, line).is_some();
        if fits { Ok(Body::SessionMetadata(title)) } else { Err(Fault::Title) }
    }

    /// Calls `change_to` with the name, or with the fault if there is no usable name.
    fn checkpoint_body(
        &self,
        seq: Option<f64>,
        line: &[u8],
        change_to: fn(Result<Span, Fault>) -> Result<CheckpointChange<Span>, Fault>,
    ) -> Result<Body, Fault> {
        self.object.filter(|_| seq.is_some_and(is_valid_seq)).ok_or(Fault::Event)?;
        let [id, name] = self.values(line, ["checkpointId", "name"]);
        let id = filled_string(id, line).ok_or(Fault::CheckpointId)?;
        let name = string(name, line).filter(|name| !is_blank_text(name.of(line))).ok_or(Fault::Name);
        Ok(Body::Checkpoint(CheckpointFields { id, change: change_to(name)? }))
    }

    fn fork_body(&self, line: &[u8]) -> Result<Body, Fault> {
        let payload = self.object.ok_or(Fault::Event)?;
        let [id, name, parent, sequence] =
            self.values(line, ["checkpointId", "checkpointName", "parentSessionId", "parentSequence"]);
        filled_string(id, line).ok_or(Fault::CheckpointId)?;
        let has_sequence = sequence.is_some_and(|sequence| valid_seq(sequence.of(line)).is_some());
        let fits = string(name, line).and(string(parent, line)).is_some() && has_sequence;
        if fits { Ok(Body::SessionForked(payload)) } else { Err(Fault::Event) }
    }

    fn values<const N: usize>(&self, line: &[u8], names: [&str; N]) -> [Option<Span>; N] {
        self.object.map_or([None; N], |object| values(line, object, names))
    }
}

/// A value of the line and its `blocks`, if it is an item in the sense of strict mode.
pub(super) fn whole_item(line: &[u8], value: Span) -> Option<(Span, Span)> {
    let item = Item::at(line, value);
    Some((value, item.blocks?)).filter(|_| item.is_usable(line, Mode::Strict))
}

fn is_speaker(token: &[u8]) -> bool {
    inside_string(token).is_some_and(|inside| ["human", "ai", "tool"].into_iter().any(|known| spells(inside, known)))
}

/// A value, if it is an array of strings.
fn strings(value: Option<Span>, line: &[u8]) -> Option<Span> {
    each_element(line, value?, |element| string(Some(element), line).map(drop))?;
    value
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
    /// The keys of an item that are read.
    ItemKey { Speaker = "speaker", Blocks = "blocks" }
}
