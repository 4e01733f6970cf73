//! Reads one line: parses its envelope, and validates its payload (`docs/session-format.md` section 2, rules 4–11).

use super::event::{Body, Event, EventType, Mode, is_valid_seq};
use super::item_sink::{ItemSink, NoItems};
use super::payload::{Payload, number, read_payload, string};
use crate::json::{Cursor, Nesting, NotJson, Span, is_blank, spells};

/// The result of reading a line. Places are those in the line.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// White space only. It counts as a line, and has no other effect.
    Blank,
    /// The literal `null`. It is skipped without a warning.
    Null,
    /// `JSON.parse` would refuse it.
    Unparseable,
    /// Strict mode only: it parses, but its `v` is not that of a known version.
    Unsupported {
        /// Its `v`; `None` if it has none.
        version: Option<Span>,
        /// Its `seq`, if that is valid.
        seq: Option<f64>,
    },
    /// Strict mode only: it parses, but its `seq` is not valid. It is not an event.
    WithoutSeq,
    /// Anything else.
    Event(Event),
}

impl Line {
    /// Reads one line, given without its ending.
    pub fn read(line: &[u8], mode: Mode, nesting: &mut Nesting) -> Self {
        Self::read_into(&mut NoItems, line, mode, nesting)
    }

    /// Like [`read`](Self::read), and passes what may be an item to `items`.
    #[inline]
    pub fn read_into(items: &mut impl ItemSink, line: &[u8], mode: Mode, nesting: &mut Nesting) -> Self {
        let mut cursor = Cursor::new(line);
        cursor.white_space();
        match cursor.peek() {
            Some(b'{') => {
                let mut envelope = Envelope::default();
                match read_envelope(&mut envelope, &mut cursor, nesting, items) {
                    Ok(()) => validate_line(&envelope, line, mode),
                    Err(NotJson) => Line::Unparseable,
                }
            }
            Some(first) => match cursor.value(nesting).and_then(|_| cursor.finish()) {
                Ok(()) if first == b'n' => Line::Null,
                Ok(()) if mode == Mode::Strict => Line::Unsupported { version: None, seq: None },
                Ok(()) => Line::Event(Event { seq: None, ts: None, body: Body::Unknown(None) }),
                Err(NotJson) if is_blank(line) => Line::Blank,
                Err(NotJson) => Line::Unparseable,
            },
            None => Line::Blank,
        }
    }

    /// The `seq` by which a line is beyond the end of a partial replay; `None` if it has none that counts.
    pub fn seq(&self) -> Option<f64> {
        match self {
            Line::Event(event) => event.seq,
            Line::Unsupported { seq, .. } => *seq,
            Line::Blank | Line::Null | Line::Unparseable | Line::WithoutSeq => None,
        }
    }

    /// The payload of a line that is a `session_start`, if it is an object (`readSessionHeader`), and whether it has the fields that strict replays
    /// require.
    pub fn start_payload(line: &[u8]) -> Option<(Span, bool)> {
        let envelope = Envelope::of(line, &mut Nesting::default())?;
        EventType::of(envelope.event_type?.of(line)).filter(|known| *known == EventType::SessionStart)?;
        let is_whole = envelope.payload.start_fields(line, Mode::Strict).is_some();
        envelope.payload().map(|payload| (payload, is_whole))
    }

    /// The `ts` of a line, if it is a string: its text between the quotes.
    pub fn time(line: &[u8]) -> Option<Span> {
        let ts = Envelope::of(line, &mut Nesting::default())?.ts;
        string(ts, line).map(within_quotes)
    }

    /// The `sessionId` of a line that is a `session_start`, if it is a string that is not empty: its text between the quotes.
    pub fn session_id(line: &[u8]) -> Option<Span> {
        let envelope = Envelope::of(line, &mut Nesting::default())?;
        let event_type = EventType::of(envelope.event_type?.of(line))?;
        let id = envelope.payload.session_id(line)?;
        (event_type == EventType::SessionStart).then(|| within_quotes(id))
    }
}

/// The values of the envelope that are needed. If a key occurs twice, the last value counts, as in JavaScript.
#[derive(Default)]
pub(crate) struct Envelope {
    pub version: Option<Span>,
    pub event_type: Option<Span>,
    pub seq: Option<Span>,
    pub ts: Option<Span>,
    payload: Payload,
}

impl Envelope {
    /// That of a line, given without its ending. `None` if the line is not a JSON object.
    pub(crate) fn of(line: &[u8], nesting: &mut Nesting) -> Option<Self> {
        let mut cursor = Cursor::new(line);
        cursor.white_space();
        let mut envelope = Envelope::default();
        read_envelope(&mut envelope, &mut cursor, nesting, &mut NoItems).ok()?;
        Some(envelope)
    }

    /// The payload, if it is an object.
    pub(crate) fn payload(&self) -> Option<Span> {
        self.payload.object()
    }
}

/// Reads a line if it is a `content` event: the value of the payload's `content`, of any type; `None` if there is none. Nothing else about it is
/// validated (`readSessionPreview`).
pub(crate) fn read_content(line: &[u8], nesting: &mut Nesting) -> Option<Option<Span>> {
    let envelope = Envelope::of(line, nesting)?;
    let event_type = EventType::of(envelope.event_type?.of(line))?;
    (event_type == EventType::Content).then(|| envelope.payload.item())
}

/// The `type` of a line, of any JSON type. `None` if it has none, or is not an object.
pub(crate) fn read_type(line: &[u8], nesting: &mut Nesting) -> Option<Span> {
    Envelope::of(line, nesting)?.event_type
}

fn within_quotes(text: Span) -> Span {
    Span { start: text.start + 1, end: text.end - 1 }
}

fn read_envelope(
    envelope: &mut Envelope,
    cursor: &mut Cursor<'_>,
    nesting: &mut Nesting,
    items: &mut impl ItemSink,
) -> Result<(), NotJson> {
    cursor.object(|cursor, key| {
        match Key::of(key) {
            Key::Payload => {
                read_payload(&mut envelope.payload, cursor, nesting, items)?;
                return Ok(());
            }
            Key::Type => envelope.event_type = Some(cursor.value(nesting)?),
            Key::Seq => envelope.seq = Some(cursor.value(nesting)?),
            Key::Ts => envelope.ts = Some(cursor.value(nesting)?),
            Key::Version => envelope.version = Some(cursor.value(nesting)?),
            Key::Other => drop(cursor.value(nesting)?),
        }
        Ok(())
    })?;
    cursor.finish()
}

fn validate_line(envelope: &Envelope, line: &[u8], mode: Mode) -> Line {
    let seq = envelope.seq.and_then(|span| number(span.of(line)));
    if mode == Mode::Strict && !envelope.version.is_some_and(|version| is_known_version(version.of(line))) {
        return Line::Unsupported { version: envelope.version, seq: seq.filter(|seq| is_valid_seq(*seq)) };
    }
    if mode == Mode::Strict && !seq.is_some_and(is_valid_seq) {
        return Line::WithoutSeq;
    }
    let event_type = envelope.event_type.and_then(|span| EventType::of(span.of(line)));
    let body = match event_type {
        None => Body::Unknown(envelope.event_type),
        Some(known) => match envelope.payload.body(known, seq, line, mode) {
            Ok(body) => body,
            Err(fault) => Body::Malformed(known, fault),
        },
    };
    Line::Event(Event { seq, ts: envelope.ts, body })
}

fn is_known_version(token: &[u8]) -> bool {
    token == b"1" || number(token).is_some_and(|version| version == 1.0 || version == 2.0)
}

crate::session::format::payload::keys! {
    /// The keys of an envelope that are read.
    Key { Type = "type", Seq = "seq", Ts = "ts", Payload = "payload", Version = "v" }
}

#[cfg(test)]
mod tests;
