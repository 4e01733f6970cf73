//! Finds whole JSON objects in damaged text, in one pass over bytes that are never kept.
//!
//! The machine is a JSON parser that forgives what repair can mend: NUL bytes anywhere, which are dropped, and control characters in strings, line
//! feeds above all. It begins wherever an object with a member can begin. When the text breaks off, it says where the next object can begin: no earlier
//! than the last string, since text that was read as JSON up to there is JSON however often it is tried. So every byte is read at most twice, whatever
//! the text. It also says what is before each object, which distinguishes a record from an object inside one.

use std::ops::Range;

use crate::json::{is_simple_escape, plain_prefix, spells};

/// Maximum nesting. Text that is nested deeper is no object.
const MAX_DEPTH: usize = 1 << 18;

/// Maximum number of line feeds in the strings of an object.
const MAX_RAW_LINES: u32 = 10_000;

/// Maximum size in bytes of an object with line feeds in its strings.
const MAX_RAW_BYTES: u64 = 64 << 20;

/// Maximum length of a key of which the text is kept.
const MAX_TEXT_BYTES: usize = 64;

/// What the machine found.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// A whole object, and whether it is a record.
    Whole { object: Object, is_record: bool },
    /// The text is no object any longer.
    Broken(Broken),
    /// A line ended; the next one begins at this offset.
    LineEnd(u64),
}

/// What is before an object, blanks apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Before {
    /// The beginning of a line, and this number of blanks.
    Line(u64),
    /// `[` at the beginning of a line.
    Bracket,
    /// Another object that is whole.
    Object,
    /// Another object that is whole, and a comma.
    Comma,
    /// The end of an object that broke off, or NULs.
    Break,
    /// Text that is before no value in JSON.
    Junk,
    /// `:`, `,` or `[`: the object may be a value inside another one.
    Value,
}

/// An object that is whole.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object {
    pub range: Range<u64>,
    pub before: Before,
}

/// An object that broke off.
#[derive(Debug, PartialEq)]
pub(super) struct Broken {
    /// Where it began.
    pub start: Option<u64>,
    /// Where the next object can begin.
    pub resume: u64,
    /// The record that it ends with: an object inside it, or one that was appended to it.
    pub last: Option<Object>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Outside,
    Value,
    ElementOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    AfterValue,
    Text,
    Escape,
    Hex(u8),
    Number(Digits),
    /// The rest of `true`, `false` or `null`.
    Literal(&'static [u8]),
}

/// The part of a number that was read last.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Digits {
    Sign,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    PowerSign,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Member {
    Type,
    Payload,
    Seq,
    /// `v` or `ts`.
    Scalar,
    Other,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Object,
    Array,
    Text,
    Number,
    Literal,
}

/// An object or array that is open.
struct Frame {
    start: u64,
    before: Before,
    is_object: bool,
    member: Member,
    has_type: bool,
    has_payload: bool,
    has_seq: bool,
}

impl Frame {
    fn open(start: u64, before: Before, is_object: bool) -> Self {
        Frame { start, before, is_object, member: Member::Other, has_type: false, has_payload: false, has_seq: false }
    }

    /// Whether it is known to begin where a record may: no record has it inside.
    fn is_outermost(&self) -> bool {
        matches!(self.before, Before::Line(_) | Before::Object | Before::Break)
    }

    fn is_record(&self) -> bool {
        self.is_object && self.has_type && self.has_payload && self.has_seq
    }
}

/// The machine, between two bytes.
pub(super) struct Machine {
    state: State,
    frames: Vec<Frame>,
    /// The record that ended last, if nothing follows it yet in the object that it is in.
    last: Option<Object>,
    /// What was read last, outside strings.
    before: Before,
    /// The last `{` that only white space follows.
    brace: Option<u64>,
    /// What is before that, outside all objects.
    before_brace: Before,
    /// The offset after the string that was read last, and after the NULs that follow it.
    string_end: u64,
    is_key: bool,
    /// The current key.
    text: Vec<u8>,
    raw_lines: u32,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            state: State::Outside,
            frames: Vec::new(),
            last: None,
            before: Before::Line(0),
            brace: None,
            before_brace: Before::Line(0),
            string_end: 0,
            is_key: false,
            text: Vec::new(),
            raw_lines: 0,
        }
    }
}

impl Machine {
    /// Whether no object is open, and none has begun.
    pub(super) fn is_outside(&self) -> bool {
        self.state == State::Outside && self.brace.is_none()
    }

    /// Whether a string is open.
    pub(super) fn is_in_text(&self) -> bool {
        matches!(self.state, State::Text | State::Escape | State::Hex(_))
    }

    /// Reads bytes that begin at `offset`. Returns how many, and what was found after them, if anything was.
    pub(super) fn read(&mut self, bytes: &[u8], offset: u64) -> (usize, Option<Found>) {
        let mut at = 0;
        while at < bytes.len() {
            if self.state == State::Text {
                let plain = plain_prefix(&bytes[at..]);
                self.pass_plain(&bytes[at..at + plain], offset + at as u64);
                at += plain;
                if at == bytes.len() {
                    break;
                }
            }
            let here = offset + at as u64;
            match self.step(bytes[at], here) {
                Step::Next => at += 1,
                Step::Again => {}
                Step::Found(found) => {
                    let is_line = matches!(found, Found::LineEnd(_) | Found::Whole { .. });
                    return (at + usize::from(is_line), Some(found));
                }
            }
        }
        (bytes.len(), None)
    }

    /// Gives up the object that is open: the text ends at `end`, or another line begins there.
    pub(super) fn break_off(&mut self, end: u64) -> Broken {
        // What a string ends with may be where the next object begins.
        let resume = match self.state {
            State::Outside => end,
            State::Text => self.brace.unwrap_or(end),
            _ if self.string_end == end => self.brace.unwrap_or(end),
            _ => end,
        };
        let outer = self.frames.first();
        let start = outer.filter(|outer| outer.is_outermost()).map(|outer| outer.start);
        let last = self.last.take();
        self.restart(Before::Break);
        Broken { start, resume, last }
    }

    fn restart(&mut self, before: Before) {
        self.frames.clear();
        (self.state, self.brace, self.last, self.before, self.raw_lines) = (State::Outside, None, None, before, 0);
    }

    /// Passes text of a string without quotes, escapes and control characters.
    fn pass_plain(&mut self, plain: &[u8], offset: u64) {
        if plain.is_empty() {
            return;
        }
        if self.is_key {
            self.keep_text(plain);
        }
        let blank = plain.iter().rev().take_while(|byte| **byte == b' ').count();
        if let Some(last) = plain.len().checked_sub(blank + 1) {
            self.brace = (plain[last] == b'{').then_some(offset + last as u64);
        }
    }

    fn keep_text(&mut self, bytes: &[u8]) {
        let room = (MAX_TEXT_BYTES + 1).saturating_sub(self.text.len());
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn step(&mut self, byte: u8, at: u64) -> Step {
        if byte == 0 {
            self.string_end += u64::from(self.string_end == at);
            if matches!(self.before, Before::Junk | Before::Value) && !self.is_in_text() {
                self.before = Before::Break;
            }
            return Step::Next;
        }
        match self.state {
            State::Outside => self.outside(byte, at),
            State::Text => self.text(byte, at),
            State::Escape => self.escape(byte, at),
            State::Hex(left) => self.hex(left, byte, at),
            State::Number(digits) => self.number(digits, byte, at),
            State::Literal(rest) => self.literal(rest, byte, at),
            State::Value | State::ElementOrEnd | State::KeyOrEnd | State::Key | State::Colon | State::AfterValue => {
                self.structure(byte, at)
            }
        }
    }

    fn outside(&mut self, byte: u8, at: u64) -> Step {
        match (byte, self.brace) {
            (b'{', earlier) => {
                self.before_brace = if earlier.is_some() { Before::Junk } else { self.before };
                self.brace = Some(at);
            }
            (b'"', Some(start)) => {
                let before = self.before_brace;
                self.restart(before);
                self.frames.push(Frame::open(start, before, true));
                self.begin_text(true);
            }
            (b'\n', _) => return self.line_end(at),
            (b' ' | b'\t' | b'\r', _) => self.blank(byte),
            (_, earlier) => {
                self.before = match (byte, self.before) {
                    (b'[', Before::Line(_)) if earlier.is_none() => Before::Bracket,
                    (b',', Before::Object) if earlier.is_none() => Before::Comma,
                    (b'[' | b',' | b':', _) => Before::Value,
                    _ => Before::Junk,
                };
                self.brace = None;
            }
        }
        Step::Next
    }

    fn line_end(&mut self, at: u64) -> Step {
        self.before = Before::Line(0);
        Step::Found(Found::LineEnd(at + 1))
    }

    fn blank(&mut self, byte: u8) {
        self.before = match self.before {
            _ if byte == b'\r' => Before::Line(0),
            Before::Line(blanks) => Before::Line(blanks + 1),
            before => before,
        };
    }

    fn structure(&mut self, byte: u8, at: u64) -> Step {
        match (byte, self.state) {
            (b'\n', _) => return self.line_end(at),
            (b' ' | b'\t' | b'\r', _) => self.blank(byte),
            (b'"', State::KeyOrEnd | State::Key) => self.begin_text(true),
            (b':', State::Colon) => (self.state, self.before) = (State::Value, Before::Value),
            (b',', State::AfterValue) => {
                (self.last, self.before) = (None, Before::Value);
                self.state = if self.is_in_object() { State::Key } else { State::Value };
            }
            (b'}', State::KeyOrEnd) => return self.close(at),
            (b']', State::ElementOrEnd) => return self.close(at),
            (b'}', State::AfterValue) if self.is_in_object() => return self.close(at),
            (b']', State::AfterValue) if !self.is_in_object() => return self.close(at),
            (_, State::Value | State::ElementOrEnd) => return self.value(byte, at),
            _ => return self.broken(at),
        }
        Step::Next
    }

    /// What is before an object that begins as a value.
    fn before_value(&self) -> Before {
        match &self.frames[..] {
            // Such a member of a record is no object.
            [record]
                if record.is_outermost() && matches!(record.member, Member::Type | Member::Seq | Member::Scalar) =>
            {
                Before::Break
            }
            _ => self.before,
        }
    }

    fn value(&mut self, byte: u8, at: u64) -> Step {
        match byte {
            b'{' | b'[' if self.frames.len() == MAX_DEPTH => return self.broken(at),
            b'{' => {
                self.frames.push(Frame::open(at, self.before_value(), true));
                self.state = State::KeyOrEnd;
            }
            b'[' => {
                self.frames.push(Frame::open(at, self.before, false));
                (self.state, self.before) = (State::ElementOrEnd, Before::Value);
            }
            b'"' => self.begin_text(false),
            b'-' => self.state = State::Number(Digits::Sign),
            b'0' => self.state = State::Number(Digits::Zero),
            b'1'..=b'9' => self.state = State::Number(Digits::Integer),
            b't' => self.state = State::Literal(b"rue"),
            b'f' => self.state = State::Literal(b"alse"),
            b'n' => self.state = State::Literal(b"ull"),
            _ => return self.broken(at),
        }
        Step::Next
    }

    fn begin_text(&mut self, is_key: bool) {
        (self.is_key, self.brace, self.state) = (is_key, None, State::Text);
        self.text.clear();
    }

    fn text(&mut self, byte: u8, at: u64) -> Step {
        match byte {
            b'"' => self.end_text(at + 1),
            b'\\' => {
                self.brace = None;
                if self.is_key {
                    self.keep_text(b"\\");
                }
                self.state = State::Escape;
            }
            b'\n' => {
                self.raw_lines += 1;
                let start = self.frames.first().map_or(at, |outer| outer.start);
                if self.raw_lines > MAX_RAW_LINES || at - start > MAX_RAW_BYTES {
                    return self.broken(at);
                }
                return Step::Found(Found::LineEnd(at + 1));
            }
            b'\t' | b'\r' => {}
            _ => self.brace = None,
        }
        Step::Next
    }

    fn end_text(&mut self, end: u64) {
        self.string_end = end;
        if !self.is_key {
            return self.value_ends(Kind::Text);
        }
        let member = member_of(&self.text);
        if let Some(frame) = self.frames.last_mut() {
            frame.member = member;
        }
        self.state = State::Colon;
    }

    fn escape(&mut self, byte: u8, at: u64) -> Step {
        let next = match byte {
            b'u' => State::Hex(4),
            byte if is_simple_escape(byte) => State::Text,
            _ => return self.broken(at),
        };
        if self.is_key {
            self.keep_text(&[byte]);
        }
        self.state = next;
        Step::Next
    }

    fn hex(&mut self, left: u8, byte: u8, at: u64) -> Step {
        if !byte.is_ascii_hexdigit() {
            return self.broken(at);
        }
        if self.is_key {
            self.keep_text(&[byte]);
        }
        self.state = if left == 1 { State::Text } else { State::Hex(left - 1) };
        Step::Next
    }

    fn number(&mut self, digits: Digits, byte: u8, at: u64) -> Step {
        use Digits::{Exponent, Fraction, Integer, Point, Power, PowerSign, Sign, Zero};
        let next = match (digits, byte) {
            (Sign, b'0') => Zero,
            (Sign | Integer, b'0'..=b'9') => Integer,
            (Zero | Integer, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Integer | Fraction, b'e' | b'E') => Exponent,
            (Exponent, b'+' | b'-') => PowerSign,
            (Exponent | PowerSign | Power, b'0'..=b'9') => Power,
            (Zero | Integer | Fraction | Power, _) => {
                self.value_ends(Kind::Number);
                return Step::Again;
            }
            _ => return self.broken(at),
        };
        self.state = State::Number(next);
        Step::Next
    }

    fn literal(&mut self, rest: &'static [u8], byte: u8, at: u64) -> Step {
        match rest.split_first() {
            Some((expected, [])) if *expected == byte => self.value_ends(Kind::Literal),
            Some((expected, rest)) if *expected == byte => self.state = State::Literal(rest),
            _ => return self.broken(at),
        }
        Step::Next
    }

    fn is_in_object(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.is_object)
    }

    fn close(&mut self, at: u64) -> Step {
        let Some(frame) = self.frames.pop() else { return self.broken(at) };
        let object = Object { range: frame.start..at + 1, before: frame.before };
        let is_record = frame.is_record();
        if self.frames.is_empty() {
            self.restart(Before::Object);
            return Step::Found(Found::Whole { object, is_record });
        }
        self.last = is_record.then_some(object);
        self.value_ends(if frame.is_object { Kind::Object } else { Kind::Array });
        Step::Next
    }

    /// The last of duplicate keys counts.
    fn value_ends(&mut self, kind: Kind) {
        self.state = State::AfterValue;
        let Some(frame) = self.frames.last_mut().filter(|frame| frame.is_object) else { return };
        match frame.member {
            Member::Type => frame.has_type = kind == Kind::Text,
            Member::Payload => frame.has_payload = kind == Kind::Object,
            Member::Seq => frame.has_seq = kind == Kind::Number,
            Member::Scalar | Member::Other => {}
        }
    }

    fn broken(&mut self, at: u64) -> Step {
        Step::Found(Found::Broken(self.break_off(at)))
    }
}

enum Step {
    /// The byte was read.
    Next,
    /// The byte is to be read in the state that the machine is in now.
    Again,
    Found(Found),
}

fn member_of(key: &[u8]) -> Member {
    let is = |name: &str| key == name.as_bytes() || (key.contains(&b'\\') && spells(key, name));
    match key {
        key if key.len() > MAX_TEXT_BYTES => Member::Other,
        _ if is("type") => Member::Type,
        _ if is("payload") => Member::Payload,
        _ if is("seq") => Member::Seq,
        _ if is("v") || is("ts") => Member::Scalar,
        _ => Member::Other,
    }
}
