//! The event of one line: taken apart, judged, not built (`docs/session-format.md` section 2, rules 4–11).

use serde::{Deserialize, Serialize};

use crate::jsonl::scan::{Cursor, Nesting, NotJson, Span};
use crate::jsonl::text::{is_blank, spells};

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
}

impl EventType {
    const ALL: [EventType; 7] = [
        EventType::Content,
        EventType::SessionStart,
        EventType::Compressed,
        EventType::Rewind,
        EventType::ProviderSwitch,
        EventType::SessionEvent,
        EventType::DirectoriesChanged,
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
        }
    }

    fn of(token: &[u8]) -> Option<Self> {
        let exact = Self::ALL.into_iter().find(|known| known.as_json().as_bytes() == token);
        exact.or_else(|| Self::of_escaped(inside_string(token)?))
    }

    #[cold]
    fn of_escaped(inside: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|known| spells(inside, known.as_str()))
    }
}

/// What a line is.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// White space only: counted, nothing else.
    Blank,
    /// The literal `null`: skipped in silence.
    Null,
    /// `JSON.parse` refuses it.
    Unparseable,
    /// Anything else.
    Event(Event),
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
    /// `sessionId` and `projectHash` are non-empty strings, or it is `None`.
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
    /// A known type whose payload does not fit.
    Malformed(EventType),
    /// A type from a newer version, or none at all.
    Unknown(Option<Span>),
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

    fn of(token: &[u8]) -> Option<Self> {
        let inside = inside_string(token)?;
        [Severity::Info, Severity::Warning, Severity::Error].into_iter().find(|known| spells(inside, known.as_str()))
    }
}

/// The values of the envelope that matter. Of a key that stands twice the last counts, as in JavaScript.
#[derive(Default)]
struct Envelope {
    event_type: Option<Span>,
    seq: Option<Span>,
    ts: Option<Span>,
    payload: PayloadSpans,
}

/// The values of a payload that some event type needs. A payload that is no object has none of them, so it
/// fits no type.
#[derive(Default)]
struct PayloadSpans {
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
}

/// A value that may be an `IContent`.
#[derive(Clone, Copy)]
struct Item {
    span: Span,
    /// It is an object with a `speaker` that is a non-empty string.
    has_speaker: bool,
}

/// A value that may be an array of strings.
#[derive(Clone, Copy)]
struct Strings {
    span: Span,
    all_strings: bool,
}

/// Reads one line, given without its ending.
pub fn read_line(line: &[u8], nesting: &mut Nesting) -> Line {
    let mut cursor = Cursor::new(line);
    cursor.white_space();
    match cursor.peek() {
        Some(b'{') => match read_envelope(&mut cursor, nesting) {
            Ok(envelope) => Line::Event(judge(&envelope, line)),
            Err(NotJson) => Line::Unparseable,
        },
        Some(first) => match cursor.value(nesting).and_then(|_| cursor.finish()) {
            Ok(()) if first == b'n' => Line::Null,
            Ok(()) => Line::Event(Event { seq: None, ts: None, body: Body::Unknown(None) }),
            Err(NotJson) if is_blank(line) => Line::Blank,
            Err(NotJson) => Line::Unparseable,
        },
        None => Line::Blank,
    }
}

/// The payload of a line that is a `session_start`, if it is an object (`readSessionHeader`).
pub fn read_start_payload(line: &[u8]) -> Option<Span> {
    let envelope = read_whole_envelope(line)?;
    let event_type = EventType::of(envelope.event_type?.of(line))?;
    envelope.payload.object.filter(|_| event_type == EventType::SessionStart)
}

/// The `ts` of a line, if that is a string: its text between the quotes.
pub fn read_time(line: &[u8]) -> Option<Span> {
    let ts = read_whole_envelope(line)?.ts;
    string(ts, line).map(within_quotes)
}

/// The `sessionId` of a line that is a `session_start`, if that is a string that is not empty: its text between the quotes.
pub fn read_session_id(line: &[u8]) -> Option<Span> {
    let envelope = read_whole_envelope(line)?;
    let event_type = EventType::of(envelope.event_type?.of(line))?;
    let id = filled_string(envelope.payload.session_id, line)?;
    (event_type == EventType::SessionStart).then(|| within_quotes(id))
}

fn read_whole_envelope(line: &[u8]) -> Option<Envelope> {
    let mut cursor = Cursor::new(line);
    cursor.white_space();
    read_envelope(&mut cursor, &mut Nesting::default()).ok()
}

fn within_quotes(text: Span) -> Span {
    Span { start: text.start + 1, end: text.end - 1 }
}

fn read_envelope(cursor: &mut Cursor<'_>, nesting: &mut Nesting) -> Result<Envelope, NotJson> {
    let mut envelope = Envelope::default();
    cursor.object(|cursor, key| {
        match Key::of(key) {
            Key::PayloadSpans => {
                envelope.payload = read_payload(cursor, nesting)?;
                return Ok(());
            }
            Key::Type => envelope.event_type = Some(cursor.value(nesting)?),
            Key::Seq => envelope.seq = Some(cursor.value(nesting)?),
            Key::Ts => envelope.ts = Some(cursor.value(nesting)?),
            _ => drop(cursor.value(nesting)?),
        }
        Ok(())
    })?;
    cursor.finish()?;
    Ok(envelope)
}

fn read_payload(cursor: &mut Cursor<'_>, nesting: &mut Nesting) -> Result<PayloadSpans, NotJson> {
    let mut payload = PayloadSpans::default();
    if cursor.peek() != Some(b'{') {
        cursor.value(nesting)?;
        return Ok(payload);
    }
    let span = cursor.object(|cursor, key| {
        match Key::of(key) {
            Key::Content => payload.content = Some(read_item(cursor, nesting)?),
            Key::Summary => payload.summary = Some(read_item(cursor, nesting)?),
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
            _ => drop(cursor.value(nesting)?),
        }
        Ok(())
    })?;
    payload.object = Some(span);
    Ok(payload)
}

fn read_item(cursor: &mut Cursor<'_>, nesting: &mut Nesting) -> Result<Item, NotJson> {
    if cursor.peek() != Some(b'{') {
        return Ok(Item { span: cursor.value(nesting)?, has_speaker: false });
    }
    let mut has_speaker = false;
    let span = cursor.object(|cursor, key| {
        let is_text = cursor.peek() == Some(b'"');
        let value = cursor.value(nesting)?;
        if Key::of(key) == Key::Speaker {
            has_speaker = is_text && value.len() > EMPTY_STRING_BYTES;
        }
        Ok(())
    })?;
    Ok(Item { span, has_speaker })
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

/// The two quotes.
const EMPTY_STRING_BYTES: usize = 2;

fn judge(envelope: &Envelope, line: &[u8]) -> Event {
    let event_type = envelope.event_type.and_then(|span| EventType::of(span.of(line)));
    let body = match event_type {
        None => Body::Unknown(envelope.event_type),
        Some(known) => envelope.payload.body(known, line).unwrap_or(Body::Malformed(known)),
    };
    Event { seq: envelope.seq.and_then(|span| number(span.of(line))), ts: envelope.ts, body }
}

impl PayloadSpans {
    /// What an event of this type does, or `None` if the payload does not fit it (rule 10).
    fn body(&self, event_type: EventType, line: &[u8]) -> Option<Body> {
        match event_type {
            EventType::SessionStart => Some(Body::SessionStart(self.start_fields(line))),
            EventType::Content => usable_item(self.content).map(Body::Content),
            EventType::Compressed => {
                number(self.items_compressed?.of(line))?;
                usable_item(self.summary).map(Body::Compressed)
            }
            EventType::Rewind => {
                let removed = number(self.items_removed?.of(line))?;
                // A fraction rounds up; what is beyond u64 saturates, and is beyond any history.
                (removed >= 0.0).then(|| Body::Rewind(removed.ceil() as u64))
            }
            EventType::ProviderSwitch => {
                let provider = filled_string(self.provider, line)?;
                Some(Body::ProviderSwitch(provider, filled_string(self.model, line)))
            }
            EventType::SessionEvent => {
                let severity = Severity::of(self.severity?.of(line))?;
                Some(Body::SessionEvent(severity, string(self.message, line)?))
            }
            EventType::DirectoriesChanged => strings(self.directories).map(Body::DirectoriesChanged),
        }
    }

    fn start_fields(&self, line: &[u8]) -> Option<StartFields> {
        Some(StartFields {
            session_id: filled_string(self.session_id, line)?,
            project_hash: filled_string(self.project_hash, line)?,
            provider: string(self.provider, line),
            model: string(self.model, line),
            start_time: string(self.start_time, line),
            workspace_dirs: strings(self.workspace_dirs),
        })
    }
}

fn usable_item(item: Option<Item>) -> Option<Span> {
    item.filter(|item| item.has_speaker).map(|item| item.span)
}

fn strings(value: Option<Strings>) -> Option<Span> {
    value.filter(|value| value.all_strings).map(|value| value.span)
}

fn string(value: Option<Span>, line: &[u8]) -> Option<Span> {
    value.filter(|span| span.of(line).starts_with(b"\""))
}

fn filled_string(value: Option<Span>, line: &[u8]) -> Option<Span> {
    string(value, line).filter(|span| span.len() > EMPTY_STRING_BYTES)
}

/// What stands between the quotes, if the token is a string.
fn inside_string(token: &[u8]) -> Option<&[u8]> {
    token.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// The value of a token, if it is a number: the nearest double, infinite beyond the largest.
fn number(token: &[u8]) -> Option<f64> {
    if !matches!(token.first(), Some(b'-' | b'0'..=b'9')) {
        return None;
    }
    std::str::from_utf8(token).ok()?.parse().ok()
}

macro_rules! keys {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// The keys that some rule asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Key { $($name,)* Other }

        impl Key {
            /// The key that stands between its quotes as `raw`.
            #[inline]
            fn of(raw: &[u8]) -> Self {
                $(if raw == $text.as_bytes() { return Key::$name; })*
                if raw.contains(&b'\\') { Self::of_escaped(raw) } else { Key::Other }
            }

            #[cold]
            fn of_escaped(raw: &[u8]) -> Self {
                $(if spells(raw, $text) { return Key::$name; })*
                Key::Other
            }
        }
    };
}

keys! {
    Type = "type", Seq = "seq", Ts = "ts", PayloadSpans = "payload", Content = "content", Speaker = "speaker",
    Summary = "summary", ItemsCompressed = "itemsCompressed", ItemsRemoved = "itemsRemoved", Provider = "provider",
    Model = "model", Severity = "severity", Message = "message", Directories = "directories",
    SessionId = "sessionId", ProjectHash = "projectHash", WorkspaceDirs = "workspaceDirs", StartTime = "startTime",
}

#[cfg(test)]
mod tests;
