//! A record: what its envelope says, and what a replay makes of it.

use std::borrow::Cow;

use crate::json::{Cursor, Nesting, NotJson, Span};
use crate::lines::MAX_LINE_BYTES;
use crate::session::fold::KeyedHistory;
use crate::session::format::{
    Body, CheckpointChange, CheckpointFields, Cut, Edit, EventType, Fault, Line, Mode, number, valid_seq,
};

/// The envelope of a record: the places of its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    pub seq: Span,
    /// The last `v`, of any type.
    pub version: Option<Span>,
    pub ts: Option<Span>,
    pub event_type: Span,
    pub payload: Span,
    /// The offset after its `}`.
    pub end: u32,
}

/// What a line holds.
pub(super) enum Parsed {
    Record(Envelope),
    /// White space, or `null`.
    Nothing,
    /// JSON that is no record.
    Other,
    /// Not JSON, or an array, which may be one of records.
    Unknown,
}

impl Envelope {
    /// Reads a line, given without its ending.
    pub(super) fn parse(line: &[u8], nesting: &mut Nesting) -> Parsed {
        let mut cursor = Cursor::new(line);
        cursor.white_space();
        match cursor.peek() {
            None => Parsed::Nothing,
            Some(b'{') => match Self::read(&mut cursor, nesting).and_then(|found| cursor.finish().map(|()| found)) {
                Ok(Some(envelope)) => Parsed::Record(envelope),
                Ok(None) => Parsed::Other,
                Err(NotJson) => Parsed::Unknown,
            },
            Some(b'[') => Parsed::Unknown,
            Some(first) => match cursor.value(nesting).and_then(|_| cursor.finish()) {
                Ok(()) if first == b'n' => Parsed::Nothing,
                Ok(()) => Parsed::Other,
                Err(NotJson) if crate::json::is_blank(line) => Parsed::Nothing,
                Err(NotJson) => Parsed::Unknown,
            },
        }
    }

    /// Reads an object. Returns `None` if it is no record.
    fn read(cursor: &mut Cursor<'_>, nesting: &mut Nesting) -> Result<Option<Self>, NotJson> {
        let line = cursor.clone();
        let is = |value: &Span, bytes: &[u8]| line.at(value.start).is_some_and(|first| bytes.contains(&first));
        let [seq, version, ts, event_type, payload] = cursor.members(["seq", "v", "ts", "type", "payload"], nesting)?;
        let (seq, ts) = (seq.filter(|seq| is(seq, b"-0123456789")), ts.filter(|ts| is(ts, b"\"")));
        let event_type = event_type.filter(|event_type| is(event_type, b"\""));
        let payload = payload.filter(|payload| is(payload, b"{"));
        let end = cursor.position() as u32;
        let (Some(seq), Some(event_type), Some(payload)) = (seq, event_type, payload) else { return Ok(None) };
        Ok(Some(Envelope { seq, version, ts, event_type, payload, end }))
    }

    /// The number of the record, if it can be one.
    pub(super) fn number(&self, line: &[u8]) -> Option<f64> {
        valid_seq(self.seq.of(line))
    }
}

/// What a replay makes of a record.
pub(super) enum Event {
    /// A `session_start` that says which session it is.
    Start,
    Checkpoint(CheckpointFields),
    /// An event that every replay reads, or one of a type that this release does not know.
    Other,
    /// A rewind whose `cutSeq` is not valid: replays warn, and go by this number of items.
    BadCut(u64),
    /// An item that only a default replay reads. A strict one accepts no other speakers than `human`, `ai` and `tool`.
    Lenient,
    /// An event that no replay reads, and why.
    Unfit(Cow<'static, str>),
}

/// The largest version of a record that this release reads.
const VERSION: f64 = 2.0;

/// Whether the record is of a later version. A number may be in quotes, as no release writes it.
fn is_of_later_version(envelope: &Envelope, line: &[u8]) -> bool {
    let version = envelope.version.map(|version| version.of(line));
    let unquoted = |text| <[u8]>::strip_suffix(<[u8]>::strip_prefix(text, b"\"")?, b"\"");
    let version = version.and_then(|text| number(unquoted(text).unwrap_or(text)));
    version.is_some_and(|version| version > VERSION && version.fract() == 0.0)
}

/// Whether the record names a version that replays read.
pub(super) fn has_version(envelope: &Envelope, line: &[u8]) -> bool {
    let version = envelope.version.and_then(|version| number(version.of(line)));
    version.is_some_and(|version| version == 1.0 || version == 2.0)
}

/// The record with `"v":1`, if it names no version: default replays read it, and strict ones end there.
pub(super) fn versioned(line: &[u8], envelope: &Envelope, nesting: &mut Nesting) -> Option<(Vec<u8>, Envelope)> {
    if has_version(envelope, line) {
        return None;
    }
    let text = match envelope.version {
        Some(Span { start, end }) => [&line[..start as usize], b"1", &line[end as usize..]].concat(),
        None => {
            let start = memchr::memchr(b'{', line)? + 1;
            [&line[..start], b"\"v\":1,", &line[start..]].concat()
        }
    };
    match Envelope::parse(&text, nesting) {
        Parsed::Record(envelope) => Some((text, envelope)),
        _ => None,
    }
}

/// Whether the record is a `session_start` that says which session it is.
pub(super) fn is_start(envelope: &Envelope, line: &[u8]) -> bool {
    !is_of_later_version(envelope, line)
        && matches!(body_of(line, Mode::Lenient, &mut Nesting::default()), Some(Body::SessionStart(Some(_))))
}

/// Reads the event of a record, whose number need not be valid yet, and applies it to the history.
pub(super) fn event_of(envelope: &Envelope, line: &[u8], nesting: &mut Nesting, history: &mut KeyedHistory) -> Event {
    if line.len() > MAX_LINE_BYTES {
        return Event::Unfit("a record that is longer than any JavaScript string".into());
    }
    if is_of_later_version(envelope, line) {
        return Event::Unfit("a record of a later version".into());
    }
    if let Some((line, envelope)) = versioned(line, envelope, nesting) {
        return event_of(&envelope, &line, nesting, history);
    }
    if envelope.number(line).is_none() {
        // Only the number is wrong, which the record gets anew.
        let (line, envelope) = renumbered(line, envelope, 0.0);
        return event_of(&envelope, &line, nesting, history);
    }
    match body_of(line, Mode::Strict, nesting) {
        Some(Body::SessionStart(_)) if is_start(envelope, line) => Event::Start,
        Some(Body::SessionStart(_)) => Event::Unfit("a session_start without sessionId or projectHash".into()),
        Some(Body::Malformed(known, fault)) => match body_of(line, Mode::Lenient, nesting) {
            Some(Body::Malformed(..)) | None => Event::Unfit(misfit(known, fault)),
            Some(_) => Event::Lenient,
        },
        Some(Body::Checkpoint(fields)) => Event::Checkpoint(fields),
        Some(body) if !history.apply(&body, line) => Event::Unfit(misplaced(&body)),
        Some(Body::Rewind(count, Cut::Malformed)) => Event::BadCut(count),
        Some(_) => Event::Other,
        None => Event::Unfit("no record".into()),
    }
}

fn body_of(line: &[u8], mode: Mode, nesting: &mut Nesting) -> Option<Body> {
    match Line::read(line, mode, nesting) {
        Line::Event(event) => Some(event.body),
        _ => None,
    }
}

fn misfit(known: EventType, fault: Fault) -> Cow<'static, str> {
    let what = match fault {
        Fault::Event => "whose payload does not fit",
        Fault::Title => "whose title is no text",
        Fault::CheckpointId => "without a checkpointId",
        Fault::Name => "without a name",
        Fault::Cut => "whose cutSeq is not valid",
    };
    format!("a {} event {what}", known.as_str()).into()
}

fn misplaced(body: &Body) -> Cow<'static, str> {
    let is_insert = matches!(body, Body::Edit(edit) if matches!(**edit, Edit::Insert { .. }));
    let name = if is_insert { EventType::SyntheticInsert } else { EventType::ChronologyBind }.as_str();
    format!("a {name} event of an item that is not there").into()
}

/// A rewind by a number of items, and by nothing else.
pub(super) fn with_count_only(line: &[u8], envelope: &Envelope, count: u64) -> Vec<u8> {
    let payload = format!("{{\"itemsRemoved\":{}}}", count.min(1 << 53));
    let Span { start, end } = envelope.payload;
    [&line[..start as usize], payload.as_bytes(), &line[end as usize..]].concat()
}

/// The names of changes to checkpoints.
pub(super) fn change_name(change: &CheckpointChange) -> &'static str {
    match change {
        CheckpointChange::Created(_) => "checkpoint_created",
        CheckpointChange::Renamed(_) => "checkpoint_renamed",
        CheckpointChange::Deleted => "checkpoint_deleted",
    }
}

/// The record with another number.
pub(super) fn renumbered(line: &[u8], envelope: &Envelope, seq: f64) -> (Vec<u8>, Envelope) {
    let number = crate::session::format::js_number(seq);
    let replaced = envelope.seq;
    let text = [&line[..replaced.start as usize], number.as_bytes(), &line[replaced.end as usize..]].concat();
    let moved =
        |at: u32| if at >= replaced.end { at - replaced.end + replaced.start + number.len() as u32 } else { at };
    let span = |span: Span| Span { start: moved(span.start), end: moved(span.end) };
    let envelope = Envelope {
        seq: Span { start: replaced.start, end: replaced.start + number.len() as u32 },
        version: envelope.version.map(span),
        ts: envelope.ts.map(span),
        event_type: span(envelope.event_type),
        payload: span(envelope.payload),
        end: moved(envelope.end),
    };
    (text, envelope)
}

/// The text with further members in the object that ends at `end` and has some already. They count instead of those of the same name: the last of
/// duplicate keys does.
pub(super) fn with_members(text: &[u8], end: u32, members: &[(&str, String)]) -> Vec<u8> {
    let (before, after) = text.split_at(end as usize - 1);
    let members: String = members.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
    [before, members.as_bytes(), after].concat()
}

/// The text of a record that was found in damaged bytes, UTF-8 or not: without the NULs, in one line, and with its control characters escaped.
pub(super) fn cleaned(raw: &[u8]) -> Cow<'_, [u8]> {
    let is_whole = !raw.iter().any(|byte| *byte < b' ');
    if is_whole {
        return Cow::Borrowed(raw);
    }
    // White space between tokens stays, unless it would divide the line.
    let has_lines = has_lines_outside_strings(raw);
    let mut text = Vec::with_capacity(raw.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for (at, &byte) in raw.iter().enumerate() {
        match byte {
            0 => continue,
            b' ' | b'\t' | b'\n' | b'\r' if !in_string => {
                if !has_lines {
                    text.push(byte);
                }
                continue;
            }
            b'\r' if in_string && raw.get(at + 1) == Some(&b'\n') => continue,
            byte if byte < b' ' && in_string => {
                escape_control(byte, &mut text);
                continue;
            }
            b'"' if !is_escaped => in_string = !in_string,
            _ => {}
        }
        is_escaped = byte == b'\\' && !is_escaped;
        text.push(byte);
    }
    Cow::Owned(text)
}

fn has_lines_outside_strings(raw: &[u8]) -> bool {
    let (mut in_string, mut is_escaped) = (false, false);
    for &byte in raw.iter().filter(|byte| **byte != 0) {
        match byte {
            b'\n' | b'\r' if !in_string => return true,
            b'"' if !is_escaped => in_string = !in_string,
            _ => {}
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    false
}

fn escape_control(byte: u8, text: &mut Vec<u8>) {
    match byte {
        b'\n' => text.extend_from_slice(b"\\n"),
        b'\r' => text.extend_from_slice(b"\\r"),
        b'\t' => text.extend_from_slice(b"\\t"),
        other => text.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
    }
}
