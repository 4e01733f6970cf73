//! The line of an event (`docs/run-format.md` section 3): parse and print, side by side.
//!
//! A line has one form only: its keys in the fixed order, no white space, no other keys. So parsing is positional
//! and builds nothing, and a line that was read and printed again is the same bytes.

use super::error::{ErrorCode, RunError, event_id, quoted};
use crate::hash::{HEX_BYTES, HexHash, is_lower_hex};
use crate::jsonl::scan::{Cursor, Nesting, Span, plain_prefix};

/// The longest line, in bytes, without its `\n`.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// How many hex digits a salt has.
pub const SALT_DIGITS: usize = 32;

/// How many digits an integer has at most that is exact in JavaScript.
const MAX_INTEGER_DIGITS: usize = 16;

/// The keys of a line, in their order. Only `salt` may be left out: that marks a redacted payload.
const KEYS: [&str; 11] =
    ["v", "time", "ts", "kind", "node", "parent", "payloadHash", "stateHash", "hash", "salt", "payload"];

/// An event as it stands in its line, every part borrowed.
///
/// Texts are the insides of JSON strings, escapes and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLine<'a> {
    /// The whole line, without its `\n`.
    pub line: &'a str,
    /// Logical time.
    pub time: u64,
    /// Wall clock, for people.
    pub ts: &'a str,
    /// The event's kind, known or not.
    pub kind: &'a str,
    /// The graph node concerned; None stands for null.
    pub node: Option<&'a str>,
    /// Logical time of the cause; None stands for null.
    pub parent: Option<u64>,
    /// Hash of salt and payload.
    pub payload_hash: &'a HexHash,
    /// Hash of the state after this event.
    pub state_hash: &'a HexHash,
    /// Hash of this line and the hash before.
    pub hash: &'a HexHash,
    /// 16 random bytes in hex. None where the payload was redacted; whether it may be is the reader's question.
    pub salt: Option<&'a [u8; SALT_DIGITS]>,
    /// The payload as it stands in the line.
    pub payload: &'a str,
    /// How many bytes of the line `hash` covers, from its beginning.
    pub covered: usize,
}

impl<'a> EventLine<'a> {
    /// Takes a line apart without looking into its payload, which the reader of the payload must prove to be a JSON object:
    /// for a payload without such a reader there is [`parse`](Self::parse).
    #[inline]
    pub fn split(line: &'a str) -> Result<Self, RunError> {
        if line.len() > MAX_LINE_BYTES {
            return Err(too_long(line));
        }
        Reader { line, at: 0 }.event().ok_or_else(|| diagnose(line))
    }

    /// Takes a line apart, its payload proven to be one JSON object.
    pub fn parse(line: &'a str, nesting: &mut Nesting) -> Result<Self, RunError> {
        let event = Self::split(line)?;
        let mut cursor = Cursor::new(event.payload.as_bytes());
        match cursor.value(nesting).and_then(|_| cursor.finish()) {
            Ok(()) => Ok(event),
            Err(_) => Err(event.fault()),
        }
    }

    /// The bytes that the line's `hash` covers, together with the hash before.
    pub fn covered_bytes(&self) -> &'a [u8] {
        &self.line.as_bytes()[..self.covered]
    }

    /// What is wrong with the line, given that its payload is not JSON.
    #[cold]
    pub fn fault(&self) -> RunError {
        diagnose(self.line)
    }

    /// What the line's hashes are about.
    pub fn hashed_parts(&self) -> HashedParts<'a> {
        let EventLine { time, payload_hash, state_hash, hash, salt, payload, .. } = *self;
        HashedParts {
            time,
            covered: self.covered_bytes(),
            payload_hash,
            state_hash,
            hash,
            salt,
            payload: payload.as_bytes(),
        }
    }

    /// The event's id.
    pub fn id(&self) -> String {
        event_id(self.time)
    }
}

/// The hashes of a line and what they are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashedParts<'a> {
    /// Logical time.
    pub time: u64,
    /// What `hash` covers, together with the hash before.
    pub covered: &'a [u8],
    /// Hash of salt and payload.
    pub payload_hash: &'a HexHash,
    /// Hash of the state after this event.
    pub state_hash: &'a HexHash,
    /// Hash of what is covered and the hash before.
    pub hash: &'a HexHash,
    /// None where the payload was redacted.
    pub salt: Option<&'a [u8; SALT_DIGITS]>,
    /// The payload as it stands in the line.
    pub payload: &'a [u8],
}

/// Where a line that was taken apart is among others: so little that it can go to another thread with them.
#[derive(Clone, Copy, Debug)]
pub struct LineOffsets {
    start: u32,
    end: u32,
    covered: u32,
    redacted: bool,
}

impl LineOffsets {
    /// The line of `event`, which begins at `start`.
    pub fn of(event: &EventLine<'_>, start: usize) -> Self {
        let (covered, end) = (event.covered as u32, (start + event.line.len()) as u32);
        LineOffsets { start: start as u32, end, covered, redacted: event.salt.is_none() }
    }

    /// What the line's hashes are about. `None` if these are other lines.
    #[inline]
    pub fn hashed_parts<'a>(&self, lines: &'a [u8], time: u64) -> Option<HashedParts<'a>> {
        let line = lines.get(self.start as usize..self.end as usize)?;
        let (covered, rest) = line.split_at_checked(self.covered as usize)?;
        let (before, state_hash) = covered.strip_suffix(b"\"")?.split_last_chunk()?;
        let (_, payload_hash) = before.strip_suffix(br#"","stateHash":""#)?.split_last_chunk()?;
        let (hash, rest) = rest.strip_prefix(br#","hash":""#)?.split_first_chunk()?;
        let (salt, rest) = if self.redacted {
            (None, rest)
        } else {
            let (salt, rest) = rest.strip_prefix(br#"","salt":""#)?.split_first_chunk()?;
            (Some(salt), rest)
        };
        let payload = rest.strip_prefix(br#"","payload":"#)?.strip_suffix(b"}")?;
        Some(HashedParts { time, covered, payload_hash, state_hash, hash, salt, payload })
    }
}

/// What stands before the hashes of a line that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// Logical time.
    pub time: u64,
    /// Wall clock: ISO-8601, UTC. Written as it is.
    pub ts: &'a str,
    /// The kind's name. Written as it is.
    pub kind: &'a str,
    /// The graph node concerned: the inside of a JSON string, as `JSON.stringify` writes it. None writes null.
    pub node: Option<&'a str>,
    /// Logical time of the cause. None writes null.
    pub parent: Option<u64>,
}

/// Prints the part of a line that its hash covers.
pub fn print_covered(out: &mut Vec<u8>, envelope: &Envelope<'_>, payload_hash: &HexHash, state_hash: &HexHash) {
    put(out, &[r#"{"v":1,"time":"#, &envelope.time.to_string(), r#","ts":""#, envelope.ts]);
    put(out, &[r#"","kind":""#, envelope.kind, r#"","node":"#]);
    match envelope.node {
        Some(node) => put(out, &["\"", node, "\""]),
        None => put(out, &["null"]),
    }
    match envelope.parent {
        Some(parent) => put(out, &[r#","parent":"#, &parent.to_string()]),
        None => put(out, &[r#","parent":null"#]),
    }
    put(out, &[r#","payloadHash":""#]);
    out.extend_from_slice(payload_hash);
    put(out, &[r#"","stateHash":""#]);
    out.extend_from_slice(state_hash);
    out.push(b'"');
}

/// Prints the rest of a line, with its `\n`. `payload` is the text of a JSON object.
pub fn print_rest(out: &mut Vec<u8>, hash: &HexHash, salt: Option<&[u8; SALT_DIGITS]>, payload: &[u8]) {
    put(out, &[r#","hash":""#]);
    out.extend_from_slice(hash);
    out.push(b'"');
    if let Some(salt) = salt {
        put(out, &[r#","salt":""#]);
        out.extend_from_slice(salt);
        out.push(b'"');
    }
    put(out, &[r#","payload":"#]);
    out.extend_from_slice(payload);
    out.extend_from_slice(b"}\n");
}

fn put(out: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        out.extend_from_slice(text.as_bytes());
    }
}

/// The logical time of a line of which only the beginning is at hand. None if it does not begin as one.
pub fn peek_time(beginning: &[u8]) -> Option<u64> {
    let digits = beginning.strip_prefix(br#"{"v":1,"time":"#)?;
    let (time, length) = integer(digits)?;
    (digits.get(length) == Some(&b',')).then_some(time)
}

/// An integer as `JSON.stringify` writes one that is not negative and exact in JavaScript, and its length.
#[inline]
fn integer(text: &[u8]) -> Option<(u64, usize)> {
    let (mut value, mut length) = (0, 0);
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        (value, length) = (value * 10 + u64::from(digit), length + 1);
        if length > MAX_INTEGER_DIGITS {
            return None;
        }
    }
    let is_written_so = length == 1 || (length > 1 && text[0] != b'0');
    (is_written_so && value < 1 << 53).then_some((value, length))
}

/// Moves over a line. `None` anywhere: the line is not of the one form, [`diagnose`] finds out why.
struct Reader<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    fn event(mut self) -> Option<EventLine<'a>> {
        self.text(r#"{"v":1,"time":"#)?;
        let time = self.integer()?;
        self.text(r#","ts":"#)?;
        let ts = self.string()?;
        self.text(r#","kind":"#)?;
        let kind = self.string()?;
        self.text(r#","node":"#)?;
        let node = if self.takes("null") { None } else { Some(self.string()?) };
        self.text(r#","parent":"#)?;
        let parent = if self.takes("null") { None } else { Some(self.integer()?) };
        self.text(r#","payloadHash":""#)?;
        let payload_hash = self.hex()?;
        self.text(r#"","stateHash":""#)?;
        let state_hash = self.hex()?;
        let covered = self.at + 1;
        self.text(r#"","hash":""#)?;
        let hash = self.hex()?;
        let salt = if self.takes(r#"","salt":""#) { Some(self.hex()?) } else { None };
        self.text(r#"","payload":"#)?;
        let payload = self.line.get(self.at..self.line.len() - 1)?;
        let whole = payload.starts_with('{') && payload.ends_with('}') && self.line.ends_with('}');
        let line = self.line;
        whole.then_some(EventLine {
            line,
            time,
            ts,
            kind,
            node,
            parent,
            payload_hash,
            state_hash,
            hash,
            salt,
            payload,
            covered,
        })
    }

    fn rest(&self) -> &'a [u8] {
        &self.line.as_bytes()[self.at..]
    }

    // Inlined in any case: then the texts are compared as words.
    #[inline(always)]
    fn takes(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text.as_bytes());
        if found {
            self.at += text.len();
        }
        found
    }

    #[inline(always)]
    fn text(&mut self, text: &str) -> Option<()> {
        self.takes(text).then_some(())
    }

    #[inline]
    fn integer(&mut self) -> Option<u64> {
        let (value, length) = integer(self.rest())?;
        self.at += length;
        Some(value)
    }

    #[inline]
    fn string(&mut self) -> Option<&'a str> {
        let (rest, start) = (self.rest(), self.at + 1);
        let inside = rest.strip_prefix(b"\"")?;
        let plain = plain_prefix(inside);
        // Nearly none has an escape.
        self.at = match inside.get(plain) {
            Some(b'"') => start + plain + 1,
            _ => self.at + Cursor::new(rest).string().ok()?.end as usize,
        };
        self.line.get(start..self.at - 1)
    }

    #[inline]
    fn hex<const DIGITS: usize>(&mut self) -> Option<&'a [u8; DIGITS]> {
        let digits = self.rest().first_chunk::<DIGITS>()?;
        if !is_lower_hex(digits) {
            return None;
        }
        self.at += DIGITS;
        Some(digits)
    }
}

fn too_long(line: &str) -> RunError {
    line_too_long(line.as_bytes())
}

/// The error for a line that is over the limit, of which at least the beginning is at hand.
pub(super) fn line_too_long(beginning: &[u8]) -> RunError {
    let error = RunError::new(ErrorCode::TooLarge, format!("A line is longer than {MAX_LINE_BYTES} bytes"));
    match peek_time(beginning) {
        Some(time) => error.at(time),
        None => error,
    }
}

/// The error for a line that is not UTF-8.
pub(super) fn not_utf8(line: &[u8]) -> RunError {
    let error = RunError::new(ErrorCode::NotAJsonLine, "A line is not valid UTF-8");
    match peek_time(line) {
        Some(time) => error.at(time),
        None => error,
    }
}

/// Why a line is not an event's. Slow and thorough: it runs once, for the line that ends the reading.
fn diagnose(line: &str) -> RunError {
    let error = match Members::of(line) {
        Some(members) => members.fault(),
        None => RunError::new(ErrorCode::NotAJsonLine, "A line is not a JSON object")
            .compared("one JSON object", quoted(line)),
    };
    match peek_time(line.as_bytes()) {
        Some(time) => error.at(time),
        None => error,
    }
}

/// The members of a line's object.
struct Members<'a> {
    line: &'a str,
    members: Vec<(&'a [u8], Span)>,
}

impl<'a> Members<'a> {
    /// `None` if the line is not one JSON object.
    fn of(line: &'a str) -> Option<Self> {
        let mut members = Vec::new();
        let mut nesting = Nesting::default();
        let mut cursor = Cursor::new(line.as_bytes());
        cursor.white_space();
        let object = cursor.object(|cursor, key| {
            members.push((key, cursor.value(&mut nesting)?));
            Ok(())
        });
        object.and_then(|_| cursor.finish()).ok()?;
        Some(Members { line, members })
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        let (_, span) = self.members.iter().rev().find(|(found, _)| *found == key.as_bytes())?;
        self.line.get(span.start as usize..span.end as usize)
    }

    fn fault(&self) -> RunError {
        if let Some(version) = self.value("v").filter(|version| *version != "1") {
            return RunError::new(
                ErrorCode::UnsupportedVersion,
                "The log is of a format version that this release does not read; a newer one may",
            )
            .compared("1", version);
        }
        for key in KEYS.into_iter().filter(|key| *key != "salt") {
            let Some(value) = self.value(key) else {
                return RunError::new(ErrorCode::MissingField, format!("An event has no field '{key}'"))
                    .compared(key, quoted(self.line));
            };
            if let Some(expected) = unmet(key, value) {
                return wrong(key, expected, value);
            }
        }
        if let Some(salt) = self.value("salt")
            && let Some(expected) = unmet("salt", salt)
        {
            return wrong("salt", expected, salt);
        }
        RunError::new(
            ErrorCode::NotCanonical,
            "A line does not have exactly the fields of an event, once each, in their order and without white space",
        )
        .compared(KEYS.join(", "), quoted(self.line))
    }
}

fn wrong(key: &str, expected: &str, found: &str) -> RunError {
    RunError::new(ErrorCode::InvalidField, format!("The field '{key}' of an event is not {expected}"))
        .compared(expected, found)
}

/// What a field of the envelope must be, if it isn't.
fn unmet(key: &str, value: &str) -> Option<&'static str> {
    let bytes = value.as_bytes();
    let is_integer = integer(bytes).is_some_and(|(_, length)| length == bytes.len());
    let inside = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map(str::as_bytes);
    let is_hex = |digits: usize| inside.is_some_and(|inside| inside.len() == digits && is_lower_hex(inside));
    let (met, expected) = match key {
        "time" => (is_integer, "an integer from 0"),
        "parent" => (is_integer || value == "null", "an integer from 0, or null"),
        "ts" | "kind" => (inside.is_some(), "a string"),
        "node" => (inside.is_some() || value == "null", "a string or null"),
        "payloadHash" | "stateHash" | "hash" => (is_hex(HEX_BYTES), "64 lower-case hex digits"),
        "salt" => (is_hex(SALT_DIGITS), "32 lower-case hex digits"),
        "payload" => (value.starts_with('{'), "an object"),
        _ => (true, ""),
    };
    (!met).then_some(expected)
}

#[cfg(test)]
mod tests;
