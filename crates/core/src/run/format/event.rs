//! The line of an event (`docs/run-format.md` section 3): parse and print, side by side.
//!
//! A line has one form only: its keys in the fixed order, no white space, no other keys. So parsing is positional and allocates nothing,
//! and a line that is read and printed again has the same bytes.

use super::error::{ErrorCode, RunError, event_id};
use crate::hash::{HEX_BYTES, HexHash, is_lower_hex};
use crate::json::{Cursor, Nesting, Span, plain_prefix, quoted};

/// Number of hex digits of a salt.
pub(crate) const SALT_DIGITS: usize = 32;

/// Maximum number of digits of an integer that JavaScript represents exactly.
const MAX_INTEGER_DIGITS: usize = 16;

/// The keys of a line, in order. Only `salt` may be missing, which marks a redacted payload.
const KEYS: [&str; 11] =
    ["v", "time", "ts", "kind", "node", "parent", "payloadHash", "stateHash", "hash", "salt", "payload"];

/// An event as written in its line. All parts are borrowed.
///
/// Texts are JSON strings without their quotes, with escapes.
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
    /// The graph node concerned; `None` stands for null.
    pub node: Option<&'a str>,
    /// Logical time of the parent; `None` stands for null.
    pub parent: Option<u64>,
    /// Hash of salt and payload.
    pub payload_hash: &'a HexHash,
    /// Hash of the state after this event.
    pub state_hash: &'a HexHash,
    /// Hash of this line and of the hash of the line before.
    pub hash: &'a HexHash,
    /// 16 random bytes in hex. `None` if the payload was redacted; the reader must check whether that is allowed.
    pub salt: Option<&'a [u8; SALT_DIGITS]>,
    /// The payload as written in the line.
    pub payload: &'a str,
    /// Number of bytes at the beginning of the line that `hash` covers.
    pub covered: usize,
}

impl<'a> EventLine<'a> {
    /// The longest line, in bytes, without its `\n`.
    pub const MAX_BYTES: usize = 16 << 20;

    /// The logical time of a line, given at least its beginning. Returns `None` if that is not the beginning of an event's line.
    pub fn peek_time(beginning: &[u8]) -> Option<u64> {
        let digits = beginning.strip_prefix(br#"{"v":1,"time":"#)?;
        let (time, length) = integer(digits)?;
        (digits.get(length) == Some(&b',')).then_some(time)
    }

    /// Splits a line into its parts without parsing the payload. The caller must prove that the payload is a JSON object, or use
    /// [`parse`](Self::parse) instead.
    #[inline]
    pub fn split(line: &'a str) -> Result<Self, RunError> {
        if line.len() > EventLine::MAX_BYTES {
            return Err(too_long(line));
        }
        Reader { line, at: 0 }.event().ok_or_else(|| diagnose(line))
    }

    /// Splits a line into its parts, and proves that the payload is one JSON object.
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

    /// The error of a line whose payload is not JSON.
    #[cold]
    pub fn fault(&self) -> RunError {
        diagnose(self.line)
    }

    /// The hashes of the line, and what they cover.
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

/// The hashes of a line, and what they cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashedParts<'a> {
    /// Logical time.
    pub time: u64,
    /// The bytes that `hash` covers, together with the hash of the line before.
    pub covered: &'a [u8],
    /// Hash of salt and payload.
    pub payload_hash: &'a HexHash,
    /// Hash of the state after this event.
    pub state_hash: &'a HexHash,
    /// Hash of the covered bytes and of the hash of the line before.
    pub hash: &'a HexHash,
    /// `None` if the payload was redacted.
    pub salt: Option<&'a [u8; SALT_DIGITS]>,
    /// The payload as written in the line.
    pub payload: &'a [u8],
}

/// The position of a split line within a chunk, small enough to be sent to another thread with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineOffsets {
    start: u32,
    end: u32,
    covered: u32,
    redacted: bool,
}

impl LineOffsets {
    /// The position of the line of `event`, which begins at `start`.
    pub(crate) fn of(event: &EventLine<'_>, start: usize) -> Self {
        let (covered, end) = (event.covered as u32, (start + event.line.len()) as u32);
        LineOffsets { start: start as u32, end, covered, redacted: event.salt.is_none() }
    }

    /// The hashes of the line, and what they cover. `None` if `lines` are other lines than those that the position was taken from.
    #[inline]
    pub(crate) fn hashed_parts<'a>(&self, lines: &'a [u8], time: u64) -> Option<HashedParts<'a>> {
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

/// The fields before the hashes of a line to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    /// Logical time.
    pub time: u64,
    /// Wall clock: ISO-8601, UTC. Written unchanged.
    pub ts: &'a str,
    /// The kind's name. Written unchanged.
    pub kind: &'a str,
    /// The graph node concerned: a JSON string without its quotes, as `JSON.stringify` writes it. `None` is written as null.
    pub node: Option<&'a str>,
    /// Logical time of the parent. `None` is written as null.
    pub parent: Option<u64>,
}

/// Prints the part of a line that its hash covers.
pub(crate) fn print_covered(out: &mut Vec<u8>, envelope: &Envelope<'_>, payload_hash: &HexHash, state_hash: &HexHash) {
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
pub(crate) fn print_rest(out: &mut Vec<u8>, hash: &HexHash, salt: Option<&[u8; SALT_DIGITS]>, payload: &[u8]) {
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

/// Parses a non-negative integer that JavaScript represents exactly, in the form of `JSON.stringify`. Returns its value and length.
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

/// Parses a line from front to back. A method returns `None` if the line does not have the form of an event; [`diagnose`] then finds out why.
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

    // Always inlined, so that constant texts are compared as words.
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
        // Very few strings have escapes.
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

/// The error for a line over the limit, given at least its beginning.
pub(crate) fn line_too_long(beginning: &[u8]) -> RunError {
    let error = RunError::new(ErrorCode::TooLarge, format!("A line is longer than {} bytes", EventLine::MAX_BYTES));
    match EventLine::peek_time(beginning) {
        Some(time) => error.at(time),
        None => error,
    }
}

/// The error for a line that is not UTF-8.
pub(crate) fn not_utf8(line: &[u8]) -> RunError {
    let error = RunError::new(ErrorCode::NotAJsonLine, "A line is not valid UTF-8");
    match EventLine::peek_time(line) {
        Some(time) => error.at(time),
        None => error,
    }
}

/// Finds out why a line is not an event. Slow and thorough: it runs once, for the line that ends the reading.
fn diagnose(line: &str) -> RunError {
    let error = match Members::of(line) {
        Some(members) => members.fault(),
        None => RunError::new(ErrorCode::NotAJsonLine, "A line is not a JSON object")
            .compared("one JSON object", quoted(line)),
    };
    match EventLine::peek_time(line.as_bytes()) {
        Some(time) => error.at(time),
        None => error,
    }
}

/// The members of an object, as found.
pub(crate) struct Members<'a> {
    line: &'a str,
    members: Vec<(&'a [u8], Span)>,
}

impl<'a> Members<'a> {
    /// Returns `None` if the text is not one JSON object.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
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

    /// The value of a member, as JSON. Of duplicate keys the last one counts.
    pub(crate) fn value(&self, key: &str) -> Option<&'a str> {
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

/// What a field of the envelope must be. Returns `None` if `value` meets that.
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
