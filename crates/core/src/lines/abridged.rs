//! A long line without the middle of its long strings, for readers that need no item: what makes a line hundreds of megabytes long is nearly always one
//! string, such as an image.
//!
//! Only strings deep in the line are shortened, in an object within the payload or deeper, and only their insides: the line parses if and only if the whole
//! line does, and everything that a fold looks at is there. What was left out is noted, so that places can be found again.

use crate::json::{is_simple_escape, plain_prefix};

/// Number of bytes of a string that are kept: more than any key or value that has a meaning.
const KEPT_BYTES: usize = if cfg!(test) { 64 } else { 4 << 10 };

/// The nesting depth of the objects whose strings are shortened: the line is at depth 1, its payload at 2.
const DEPTH: u32 = 3;

/// A line, added piece by piece.
#[derive(Debug, Default)]
pub struct Abridged {
    bytes: Vec<u8>,
    cuts: Vec<Cut>,
    state: State,
    depth: u32,
    /// Whether the value at [`DEPTH`] is an object.
    is_object: bool,
    /// The line can't be JSON, whatever follows.
    is_broken: bool,
}

/// A place where bytes were left out.
#[derive(Debug)]
struct Cut {
    /// Their offset in the abridged line.
    at: usize,
    /// Number of bytes left out up to here.
    left_out: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Between,
    /// In a string, of which this many bytes were kept.
    InString(usize),
    /// The same, in an escape of which there are these bytes so far.
    InEscape(usize, [u8; 6], usize),
}

impl Abridged {
    /// Adds the next bytes of the line.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_broken {
            let taken = match self.state {
                State::Between => self.add_structure(bytes),
                State::InString(kept) => self.add_text(bytes, kept),
                State::InEscape(kept, escape, length) => self.add_to_escape(bytes[0], kept, escape, length),
            };
            bytes = &bytes[taken..];
        }
    }

    /// Notes that zeros follow, so that the line can't be JSON.
    pub fn break_off(&mut self) {
        if !self.is_broken {
            // A control character is allowed neither within strings nor elsewhere.
            self.bytes.push(0);
            self.is_broken = true;
        }
    }

    /// The abridged line.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The offset in the whole line of what is at `offset` in the abridged line.
    pub fn whole_offset(&self, offset: u64) -> u64 {
        let before = self.cuts.partition_point(|cut| cut.at as u64 <= offset);
        offset + before.checked_sub(1).map_or(0, |last| self.cuts[last].left_out)
    }

    /// Adds bytes up to the next string, inclusive of its quotation mark.
    fn add_structure(&mut self, bytes: &[u8]) -> usize {
        let mut taken = bytes.len();
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'"' => {
                    self.state = State::InString(0);
                    taken = at + 1;
                    break;
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    if self.depth == DEPTH {
                        self.is_object = *byte == b'{';
                    }
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                0 => {
                    self.bytes.extend_from_slice(&bytes[..at]);
                    self.break_off();
                    return at;
                }
                _ => {}
            }
        }
        self.bytes.extend_from_slice(&bytes[..taken]);
        taken
    }

    fn add_text(&mut self, bytes: &[u8], kept: usize) -> usize {
        let plain = plain_prefix(bytes);
        let kept = self.keep(&bytes[..plain], kept);
        self.state = State::InString(kept);
        match bytes.get(plain) {
            None => return plain,
            Some(b'"') => {
                self.bytes.push(b'"');
                self.state = State::Between;
            }
            Some(b'\\') => self.state = State::InEscape(kept, [b'\\'; 6], 1),
            Some(_) => self.break_off(),
        }
        plain + 1
    }

    fn add_to_escape(&mut self, byte: u8, kept: usize, mut escape: [u8; 6], mut length: usize) -> usize {
        escape[length] = byte;
        length += 1;
        let (is_valid, is_whole) = match length {
            2 => (byte == b'u' || is_simple_escape(byte), byte != b'u'),
            _ => (byte.is_ascii_hexdigit(), length == escape.len()),
        };
        match (is_valid, is_whole) {
            (false, _) => self.break_off(),
            (true, false) => self.state = State::InEscape(kept, escape, length),
            (true, true) => self.state = State::InString(self.keep(&escape[..length], kept)),
        }
        1
    }

    /// Keeps bytes of a string, of which `kept` are kept already, or leaves them out. Returns how many are kept then. An escape is not split.
    fn keep(&mut self, bytes: &[u8], kept: usize) -> usize {
        let is_deep = self.depth > DEPTH || (self.depth == DEPTH && self.is_object);
        let wanted = if !is_deep {
            bytes.len()
        } else if bytes.first() == Some(&b'\\') {
            if kept < KEPT_BYTES { bytes.len() } else { 0 }
        } else {
            bytes.len().min(KEPT_BYTES.saturating_sub(kept))
        };
        self.bytes.extend_from_slice(&bytes[..wanted]);
        self.leave_out(bytes.len() - wanted);
        kept + wanted
    }

    fn leave_out(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let (at, left_out) = (self.bytes.len(), self.cuts.last().map_or(0, |cut| cut.left_out) + count as u64);
        match self.cuts.last_mut() {
            Some(last) if last.at == at => last.left_out = left_out,
            _ => self.cuts.push(Cut { at, left_out }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn abridged(line: &[u8], step: usize) -> Abridged {
        let mut abridged = Abridged::default();
        line.chunks(step).for_each(|piece| abridged.add(piece));
        abridged
    }

    #[test]
    fn only_deep_strings_are_shortened_and_places_are_found_again() {
        let long = "x\\n\\u00e9".repeat(100);
        for (line, is_shortened) in [
            (format!(r#"{{"payload":{{"content":{{"text":"{long}"}},"title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{"content":{{"blocks":[{{"{long}":"{long}"}}]}},"title":"t"}}}}"#), true),
            (format!(r#"{{"payload":{{"directories":["{long}"],"title":"t"}}}}"#), false),
            (format!(r#"{{"payload":{{"name":"{long}","title":"t"}},"ts":"{long}"}}"#), false),
        ] {
            for step in [1, 7, line.len()] {
                let abridged = abridged(line.as_bytes(), step);
                assert_eq!(abridged.bytes().len() < KEPT_BYTES * 4, is_shortened, "{line}");
                let text = std::str::from_utf8(abridged.bytes()).unwrap();
                assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
                let found = text.find("\"title\"").unwrap();
                assert_eq!(abridged.whole_offset(found as u64), line.find("\"title\"").unwrap() as u64);
            }
        }
    }

    #[test]
    fn a_line_that_is_broken_stays_so_and_is_not_kept() {
        let long = "x".repeat(1000);
        for fault in ["\\x", "\\u00g0", "\u{1}", "\0"] {
            let line = format!(r#"{{"a":{{"b":{{"c":"{long}{fault}{long}"}}}}}}"#);
            let abridged = abridged(line.as_bytes(), 13);
            assert!(serde_json::from_slice::<serde_json::Value>(abridged.bytes()).is_err());
            assert!(abridged.bytes().len() < 100 + KEPT_BYTES);
        }
        let mut abridged = Abridged::default();
        abridged.add(br#"{"a":"#);
        abridged.break_off();
        abridged.add(br#"1}"#);
        assert!(abridged.bytes().ends_with(b"\0"));
    }

    proptest! {
        #[test]
        fn any_text_parses_as_before(
            parts in proptest::collection::vec(prop_oneof![
                Just("{\"a\":"), Just("}"), Just("["), Just("]"), Just(","), Just("\""), Just("\\"), Just("\\\""), Just("\\u00"), Just("1"), Just("\"k\":"),
                Just("0123456789012345678901234567890123456789"),
            ], 0..40),
            step in 1usize..50,
        ) {
            let text = parts.concat();
            for line in [text.clone(), format!(r#"{{"p":{{"c":{{"t":"{text}"}}}}}}"#)] {
                let abridged = abridged(line.as_bytes(), step);
                let parses = |bytes: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
                prop_assert_eq!(parses(abridged.bytes()), parses(line.as_bytes()), "{}", line);
            }
        }
    }
}
