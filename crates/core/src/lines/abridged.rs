//! A long line without what its readers do not need: what makes a line hundreds of megabytes long is one string, such as an image, or many small
//! values deep in it.
//!
//! Long strings are shortened, and of long numbers only the value is kept. Once a certain number of bytes is kept, elements of arrays and members of
//! objects that are not needed are left out too, and white space between tokens; of members with the same key only the last one is kept, which is the
//! one that counts. Everything is validated before it is left out: the abridged line parses if and only if the whole line does, and what is needed of
//! it is the same. Where bytes were left out is noted, so that places can be found again, and values can be read from the file as a whole.

use std::ops::Range;

use super::number::Number;
use super::source::{LineSource, ReadError};
use super::validator::{Step, Validator};
use crate::json::{NotJson, is_simple_escape, plain_prefix, spells};

/// Number of bytes of a string that are kept: more than any key that has a meaning takes, however it is written.
const KEPT_BYTES: usize = if cfg!(any(test, fuzzing)) { 128 } else { 4 << 10 };

/// Number of quotes around a key.
const QUOTES: usize = 2;

/// Number of bytes of a line from which on only what is needed is kept.
const BUDGET_BYTES: usize = if cfg!(any(test, fuzzing)) { 256 } else { 64 << 10 };

/// Number of bytes that are read from a file at a time.
const READ_BYTES: usize = 256 << 10;

/// What is needed of a value.
#[derive(Clone, Copy, Debug)]
pub enum Needed {
    /// All of it.
    Whole,
    /// All of a string, of anything else what [`SCALAR`] is.
    Text,
    /// Of an object the members with these keys, and of each what stands beside it; of an array nothing but that it is one; of a string its
    /// beginning; of a number its value.
    Members(&'static [(&'static str, Needed)]),
}

/// Of an object or array nothing but that it is one, of a string its beginning, of a number its value.
pub const SCALAR: Needed = Needed::Members(&[]);

/// A line, added piece by piece.
#[derive(Debug)]
pub struct Abridged {
    /// What is needed of the line.
    needed: Needed,
    bytes: Vec<u8>,
    cuts: Vec<Cut>,
    /// Number of bytes of the whole line that were kept or left out.
    length: u64,
    state: State,
    grammar: Validator,
    /// What is needed of the open brackets, from the outermost one inwards. Ends at the first of which the same is needed at all depths: everything
    /// or nothing.
    scopes: Vec<Scope>,
    /// What is needed of the next member's value, once its key is known. `None` if nothing is.
    member: Option<Needed>,
    /// The number that is being added, if its value is needed.
    number: Option<Number>,
    /// Where the member begins in the abridged line, inclusive of the comma before it.
    member_start: usize,
    /// Whether an element or member of the innermost open bracket was kept.
    has_elements: bool,
    /// Whether all of the current scalar is needed.
    is_scalar_whole: bool,
    /// An element or member of the bracket at this depth is being left out.
    leaving_out: Option<usize>,
    /// The line can't be JSON, whatever follows.
    is_broken: bool,
}

/// An open bracket.
#[derive(Debug)]
struct Scope {
    needed: Needed,
    /// The needed members that were kept.
    members: Vec<Member>,
}

/// A needed member of an open object.
#[derive(Debug)]
struct Member {
    /// Its index among those that are needed.
    index: usize,
    /// Offset of its key in the abridged line.
    start: usize,
    /// Offset of the comma behind it, once there is one.
    comma: Option<usize>,
}

/// A place where bytes were left out.
#[derive(Debug)]
struct Cut {
    /// Their offset in the abridged line.
    at: usize,
    /// Number of bytes left out up to here.
    left_out: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before the first token. Whether there is white space that JSON does not allow, so that the line is blank or not JSON.
    Before {
        is_foreign: bool,
    },
    /// Between tokens, or in one that is not a string.
    Between,
    InString(Text),
    /// In an escape of which there are this many bytes so far.
    InEscape(Text, [u8; 6], usize),
}

/// A string.
#[derive(Clone, Copy, Debug)]
struct Text {
    is_key: bool,
    /// Number of its bytes that were kept.
    kept: usize,
}

impl Abridged {
    /// An empty line, of which this is needed.
    pub fn new(needed: Needed) -> Self {
        Abridged {
            needed,
            bytes: Vec::new(),
            cuts: Vec::new(),
            length: 0,
            state: State::Before { is_foreign: false },
            grammar: Validator::default(),
            scopes: Vec::new(),
            member: None,
            number: None,
            member_start: 0,
            has_elements: false,
            is_scalar_whole: false,
            leaving_out: None,
            is_broken: false,
        }
    }

    /// The abridged form of the value at this place of a file.
    pub(crate) fn of(source: &LineSource, place: Range<u64>, needed: Needed) -> Result<Self, ReadError> {
        let rest = |at: u64| usize::try_from(place.end - at).unwrap_or(READ_BYTES).min(READ_BYTES);
        let (mut abridged, mut at, mut block) = (Abridged::new(needed), place.start, vec![0; rest(place.start)]);
        while at < place.end {
            let count = source.read_at(&mut block[..rest(at)], at)?;
            if count == 0 {
                return Err(ReadError::Changed);
            }
            abridged.add(&block[..count]);
            at += count as u64;
        }
        abridged.end();
        Ok(abridged)
    }

    /// Adds the next bytes of the line.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_broken {
            let added = match self.state {
                State::Before { is_foreign } => self.add_before(bytes[0], is_foreign),
                State::Between => self.add_structure(bytes[0]),
                State::InString(text) => self.add_text(bytes, text),
                State::InEscape(text, escape, length) => self.add_to_escape(bytes[0], text, escape, length),
            };
            match added {
                Ok(count) => bytes = &bytes[count..],
                Err(NotJson) => self.break_off(),
            }
        }
    }

    /// Notes that nothing follows: a number that is all there is ends here.
    pub(super) fn end(&mut self) {
        if let Some(number) = self.number.take() {
            self.end_number(&number);
        }
    }

    /// Notes that zeros follow, so that the line can't be JSON.
    pub fn break_off(&mut self) {
        // A control character is allowed neither within strings nor elsewhere.
        (self.bytes, self.cuts) = (vec![0], Vec::new());
        self.is_broken = true;
    }

    /// The abridged line, owned.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The abridged line.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of bytes of the whole line, if it is JSON.
    pub fn whole_length(&self) -> u64 {
        self.length
    }

    /// The offset in the whole line of the byte at `offset` in the abridged line.
    pub fn whole_offset(&self, offset: u64) -> u64 {
        let before = self.cuts.partition_point(|cut| cut.at as u64 <= offset);
        offset + before.checked_sub(1).map_or(0, |last| self.cuts[last].left_out)
    }

    /// Adds a byte before the first token. Blank lines stay blank.
    fn add_before(&mut self, byte: u8, is_foreign: bool) -> Result<usize, NotJson> {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            0x0b | 0x0c | 0x80.. => self.state = State::Before { is_foreign: true },
            _ if is_foreign => return Err(NotJson),
            _ => {
                self.state = State::Between;
                return Ok(0);
            }
        }
        let is_kept = byte >= 0x80 || byte == b'\n' || !self.is_over_budget();
        Ok(self.keep_if(is_kept, &[byte]))
    }

    /// Adds a byte that is outside of all strings.
    fn add_structure(&mut self, byte: u8) -> Result<usize, NotJson> {
        let depth = self.grammar.depth();
        let step = self.grammar.step(byte)?;
        if !matches!(step, Step::Rest | Step::FurtherDigit)
            && let Some(number) = self.number.take()
        {
            self.end_number(&number);
        }
        if matches!(step, Step::Comma | Step::Close) && self.leaving_out == Some(depth) {
            self.leaving_out = None;
        }
        let is_kept = self.leaving_out.is_none()
            && match step {
                Step::Space => byte == b'\n' || !self.is_over_budget() || self.is_in_whole(),
                Step::Colon => true,
                Step::Rest | Step::FurtherDigit => match &mut self.number {
                    Some(number) => number.add(byte),
                    None => step == Step::Rest || !self.is_over_budget() || self.is_scalar_whole,
                },
                Step::Comma => self.is_comma_kept(depth),
                Step::Key => {
                    if !self.has_elements {
                        self.member_start = self.bytes.len();
                    }
                    true
                }
                Step::Open | Step::String | Step::Scalar => self.is_value_kept(byte, step, depth),
                Step::Close => {
                    self.scopes.truncate(depth - 1);
                    self.has_elements = true;
                    true
                }
            };
        match step {
            Step::Key | Step::String => self.state = State::InString(Text { is_key: step == Step::Key, kept: 0 }),
            _ => {}
        }
        Ok(self.keep_if(is_kept, &[byte]))
    }

    /// Whether the comma at this depth is kept. Decides it for the array element behind the comma too.
    fn is_comma_kept(&mut self, depth: usize) -> bool {
        self.member_start = self.bytes.len();
        if let Some(scope) = self.scopes.get_mut(depth - 1)
            && let Some(member) = scope.members.last_mut()
        {
            member.comma.get_or_insert(self.bytes.len());
        }
        if !self.grammar.in_object() && self.is_over_budget() && !self.is_in_whole() {
            self.leaving_out = Some(depth);
            return false;
        }
        self.has_elements
    }

    /// Whether the value that begins at this depth is kept.
    fn is_value_kept(&mut self, byte: u8, step: Step, depth: usize) -> bool {
        let member = self.member.take();
        let needed = match self.innermost() {
            None => Some(self.needed),
            Some(Needed::Whole) => Some(Needed::Whole),
            Some(Needed::Text | Needed::Members(_)) => member,
        };
        let is_first_element = depth > 0 && !self.has_elements && needed.is_none();
        if is_first_element && self.is_over_budget() {
            self.leaving_out = Some(depth);
            return false;
        }
        self.is_scalar_whole = match needed {
            Some(Needed::Whole) => true,
            Some(Needed::Text) => step == Step::String,
            Some(Needed::Members(_)) | None => false,
        };
        let is_value_needed = needed.is_some() && !self.is_scalar_whole;
        if is_value_needed && matches!(byte, b'-' | b'0'..=b'9') {
            self.number = Some(Number::begin(byte, self.bytes.len()));
        }
        self.has_elements = step != Step::Open;
        if step == Step::Open && !matches!(self.innermost(), Some(Needed::Whole | Needed::Members([]))) {
            let needed = needed.filter(|needed| !matches!(needed, Needed::Text)).unwrap_or(SCALAR);
            self.scopes.push(Scope { needed, members: Vec::new() });
        }
        true
    }

    fn add_text(&mut self, bytes: &[u8], text: Text) -> Result<usize, NotJson> {
        let plain = plain_prefix(bytes);
        let text = self.add_to_string(&bytes[..plain], text);
        self.state = State::InString(text);
        match bytes.get(plain) {
            None => return Ok(plain),
            Some(b'"') => {
                self.state = State::Between;
                self.keep_if(self.leaving_out.is_none(), b"\"");
                if text.is_key && self.leaving_out.is_none() {
                    self.end_key(text);
                }
            }
            Some(b'\\') => self.state = State::InEscape(text, [b'\\'; 6], 1),
            Some(_) => return Err(NotJson),
        }
        Ok(plain + 1)
    }

    /// Decides whether the member is kept whose key was read.
    fn end_key(&mut self, key: Text) {
        let end = self.bytes.len() - 1;
        let spelling = &self.bytes[end - key.kept..end];
        let (member, index) = match self.innermost() {
            Some(Needed::Whole) => (Some(Needed::Whole), None),
            Some(Needed::Members(members)) => {
                let index = members.iter().position(|(name, _)| spells(spelling, name));
                (index.map(|index| members[index].1), index)
            }
            Some(Needed::Text) | None => (None, None),
        };
        self.member = member;
        if member.is_none() && self.is_over_budget() {
            self.bytes.truncate(self.member_start);
            while self.cuts.pop_if(|cut| cut.at >= self.member_start).is_some() {}
            self.leaving_out = Some(self.grammar.depth());
            return;
        }
        self.has_elements = true;
        if let Some(index) = index {
            self.remove_member(index);
            let start = self.bytes.len() - key.kept - QUOTES;
            let members = self.scopes.last_mut().map(|scope| &mut scope.members);
            members.into_iter().for_each(|members| members.push(Member { index, start, comma: None }));
        }
    }

    /// Removes the member with this index from the innermost open object, if there is one: another one with the key follows.
    fn remove_member(&mut self, index: usize) {
        let Some(members) = self.scopes.last_mut().map(|scope| &mut scope.members) else { return };
        let Some(at) = members.iter().position(|member| member.index == index) else { return };
        let member = members.remove(at);
        let Some(comma) = member.comma else { return };
        let range = member.start..comma + 1;
        for later in &mut members[at..] {
            later.start -= range.len();
            later.comma = later.comma.map(|comma| comma - range.len());
        }
        self.member_start -= range.len();
        self.remove(range);
    }

    /// Leaves out bytes that were kept.
    fn remove(&mut self, range: Range<usize>) {
        let left_out = self.whole_offset(range.end as u64) - range.start as u64;
        let first = self.cuts.partition_point(|cut| cut.at < range.start);
        let behind = self.cuts.partition_point(|cut| cut.at <= range.end);
        self.cuts.splice(first..behind, [Cut { at: range.start, left_out }]);
        for cut in &mut self.cuts[first + 1..] {
            cut.at -= range.len();
            cut.left_out += range.len() as u64;
        }
        self.bytes.drain(range);
    }

    /// Replaces a number that is too long by a shorter one of the same value.
    fn end_number(&mut self, number: &Number) {
        let Some(text) = number.shorter() else { return };
        self.bytes.truncate(number.start);
        while self.cuts.pop_if(|cut| cut.at > number.start).is_some() {}
        self.bytes.extend_from_slice(text.as_bytes());
        // The last byte stands for the last byte, so that the place of the number ends where it does.
        self.cuts.push(Cut { at: self.bytes.len() - 1, left_out: self.length - self.bytes.len() as u64 });
    }

    fn add_to_escape(
        &mut self,
        byte: u8,
        text: Text,
        mut escape: [u8; 6],
        mut length: usize,
    ) -> Result<usize, NotJson> {
        escape[length] = byte;
        length += 1;
        let (is_valid, is_complete) = match length {
            2 => (byte == b'u' || is_simple_escape(byte), byte != b'u'),
            _ => (byte.is_ascii_hexdigit(), length == escape.len()),
        };
        self.state = match (is_valid, is_complete) {
            (false, _) => return Err(NotJson),
            (true, false) => State::InEscape(text, escape, length),
            (true, true) => State::InString(self.add_to_string(&escape[..length], text)),
        };
        Ok(1)
    }

    /// Adds bytes to a string, or leaves them out. An escape is not split.
    fn add_to_string(&mut self, bytes: &[u8], text: Text) -> Text {
        let is_whole = !text.is_key && self.is_scalar_whole;
        let wanted = if self.leaving_out.is_some() {
            0
        } else if is_whole {
            bytes.len()
        } else if bytes.first() == Some(&b'\\') {
            if text.kept < KEPT_BYTES { bytes.len() } else { 0 }
        } else {
            bytes.len().min(KEPT_BYTES.saturating_sub(text.kept))
        };
        self.keep_if(true, &bytes[..wanted]);
        self.keep_if(false, &bytes[wanted..]);
        Text { kept: text.kept + wanted, ..text }
    }

    fn is_over_budget(&self) -> bool {
        self.bytes.len() >= BUDGET_BYTES
    }

    /// Whether everything in the innermost open bracket is needed.
    fn is_in_whole(&self) -> bool {
        matches!(self.innermost(), Some(Needed::Whole))
    }

    /// What is needed of the innermost open bracket.
    fn innermost(&self) -> Option<Needed> {
        self.scopes.last().map(|scope| scope.needed)
    }

    /// Keeps the next bytes of the line or leaves them out. Returns how many they are.
    fn keep_if(&mut self, is_kept: bool, bytes: &[u8]) -> usize {
        if is_kept && !bytes.is_empty() {
            let left_out = self.length - self.bytes.len() as u64;
            if left_out > self.cuts.last().map_or(0, |cut| cut.left_out) {
                self.cuts.push(Cut { at: self.bytes.len(), left_out });
            }
            self.bytes.extend_from_slice(bytes);
        }
        self.length += bytes.len() as u64;
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEEDED: Needed = Needed::Members(&[
        ("type", SCALAR),
        (
            "payload",
            Needed::Members(&[
                ("item", Needed::Members(&[("speaker", SCALAR), ("blocks", SCALAR)])),
                ("list", Needed::Whole),
                ("title", SCALAR),
            ]),
        ),
    ]);

    fn abridged(line: &[u8], step: usize) -> Abridged {
        let mut abridged = Abridged::new(NEEDED);
        line.chunks(step).for_each(|piece| abridged.add(piece));
        assert!(!parses(line) || abridged.whole_length() == line.len() as u64);
        abridged
    }

    fn parses(line: &[u8]) -> bool {
        let mut cursor = crate::json::Cursor::new(line);
        cursor.white_space();
        cursor.value(&mut crate::json::Nesting::default()).and_then(|_| cursor.finish()).is_ok()
    }

    /// Checks that the line is shorter, still JSON, and that its title is found again, for pieces of any length.
    fn check_abridged(line: &str, is_shorter: bool) {
        for step in [1, 7, line.len()] {
            let abridged = abridged(line.as_bytes(), step);
            let text = std::str::from_utf8(abridged.bytes()).unwrap();
            assert!(parses(text.as_bytes()), "{text}");
            assert_eq!(text.len() < 2 * (BUDGET_BYTES + KEPT_BYTES), is_shorter, "{text}");
            let found = text.find("\"title\"").unwrap();
            assert_eq!(abridged.whole_offset(found as u64), line.find("\"title\"").unwrap() as u64);
        }
    }

    #[test]
    fn shortens_only_strings_that_are_not_needed() {
        let long = "x\\n\\u00e9".repeat(100);
        for (line, is_shorter) in [
            (format!(r#"{{"payload":{{"item":{{"text":"{long}"}},"title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{"item":{{"blocks":[{{"{long}":"{long}"}}]}},"title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{"{long}":"{long}","title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{"list":["{long}"],"title":"t"}}}}"#), false),
            (format!(r#"{{"payload":{{"title":"t"}},"type":"{long}"}}"#), true),
        ] {
            check_abridged(&line, is_shorter);
        }
    }

    #[test]
    fn leaves_out_many_small_values_that_are_not_needed() {
        let (values, members) = ("[1, {}],".repeat(500), "\"k\":[0.5],".repeat(500));
        for (line, is_shorter) in [
            (format!(r#"{{"payload":{{"item":{{"blocks":[{values}true]}},"title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{"item":{{{members}"blocks":[]}},"title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{{members}"title":"t",{members}"item":null}}}}"#), true),
            (format!(r#"{{{members}"payload":{{"title":"t"}}}}"#), true),
            (format!(r#"{{"other":[{values}{{{members}"k":{{}}}}],"payload":{{"title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{"item":[{values}1],"title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{"item":{}1{},"title":"t"}}}}"#, "[".repeat(900), "]".repeat(900)), true),
            (format!(r#"{{"payload":{{"item":[1{},"title":"t"}}}}"#, "0".repeat(900) + "]"), true),
            (format!(r#"{{"payload":{}{{"title":"t"}}}}"#, " ".repeat(900)), true),
            (format!(r#"{{"payload":{{"list":[{values}{{}}],"title":"t"}}}}"#), false),
        ] {
            check_abridged(&line, is_shorter);
        }
    }

    #[test]
    fn keeps_members_that_are_needed_behind_many_that_are_not() {
        let members = "\"k\":[0.5],".repeat(500);
        let line = format!(
            r#"{{"payload":{{"item":{{{members}"sp\u0065aker":"ai",{members}"blocks":[{{{members}"k":1}},2]}}}}}}"#
        );
        let abridged = abridged(line.as_bytes(), 11);
        let text = std::str::from_utf8(abridged.bytes()).unwrap();
        assert!(text.ends_with(r#"],"sp\u0065aker":"ai","blocks":[]}}}"#), "{text}");
        let at = text.find(r#"[]}}"#).unwrap();
        assert_eq!(abridged.whole_offset(at as u64), line.find("[{").unwrap() as u64);
        assert_eq!(abridged.whole_offset(at as u64 + 1), line.len() as u64 - 4);
    }

    #[test]
    fn a_line_that_can_not_be_json_is_not_kept() {
        let long = "x".repeat(1000);
        for fault in ["\\x", "\\u00g0", "\u{1}", "\0", "\" 1 \""] {
            let line = format!(r#"{{"a":{{"b":{{"c":"{long}{fault}{long}"}}}}}}"#);
            assert_eq!(abridged(line.as_bytes(), 13).bytes(), b"\0");
        }
        let mut broken_off = Abridged::new(NEEDED);
        broken_off.add(br#"{"a":"#);
        broken_off.break_off();
        broken_off.add(br#"1}"#);
        assert_eq!(broken_off.bytes(), b"\0");
    }

    #[test]
    fn a_blank_line_stays_blank() {
        for (space, is_shorter) in [(" ", true), ("\u{b}", true), ("\u{a0}", false)] {
            let abridged = abridged(space.repeat(1000).as_bytes(), 3);
            assert!(crate::json::is_blank(abridged.bytes()));
            assert_eq!(abridged.bytes().len() < 2 * BUDGET_BYTES, is_shorter);
        }
        assert_eq!(abridged("\u{a0}{}".as_bytes(), 3).bytes(), b"\0");
    }

    /// A text of tokens in any order.
    fn tokens() -> impl Strategy<Value = String> {
        const TOKENS: [&str; 24] = [
            "{\"a\":",
            "}",
            "[",
            "]",
            ",",
            "\"",
            "\\",
            "\\\"",
            "\\u00",
            "1",
            "0",
            "-",
            ".5",
            "e+",
            "true",
            "nul",
            "\"k\":",
            " ",
            "{",
            "{}",
            "[]",
            "0123456789012345678901234567890123456789",
            ",\"list\":[",
            ",\"speaker\":\"s\"",
        ];
        proptest::collection::vec(prop::sample::select(&TOKENS[..]), 0..40).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        #[test]
        fn any_text_parses_abridged_if_and_only_if_it_parses(text in tokens(), step in 1usize..50, room in 0usize..300) {
            let room = "r".repeat(room);
            for line in [
                text.clone(),
                format!(r#"{{"p":{{"c":{{"t":"{text}"}}}}}}"#),
                format!(r#"{{"payload":{{"room":"{room}","item":{{"blocks":[{text}]}}}}}}"#),
                format!(r#"{{"payload":{{"title":"{room}{room}","item":{{"blocks":{text}}}}}}}"#),
            ] {
                prop_assert_eq!(parses(abridged(line.as_bytes(), step).bytes()), parses(line.as_bytes()), "{}", line);
            }
        }
    }
}
