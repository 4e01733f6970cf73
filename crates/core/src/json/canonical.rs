//! Canonical JSON (`docs/run-format.md` section 2): keys sorted by UTF-8 bytes, no white space, integers only, strings escaped as
//! `JSON.stringify` does.
//!
//! Objects and arrays are written directly to the output, without collecting or sorting anything. The caller writes the keys of an object
//! in order, which debug builds check.

use super::text::Text;

/// Writes a string, quotes included.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    write_text(out, Text::from_plain(text).as_json());
}

/// Writes a string, quotes included, given its canonical form without the quotes.
#[inline]
pub(crate) fn write_text(out: &mut Vec<u8>, inside: &str) {
    out.push(b'"');
    out.extend_from_slice(inside.as_bytes());
    out.push(b'"');
}

/// Maximum number of digits of an integer.
pub(crate) const MAX_DIGITS: usize = 20;

/// Writes the digits of an integer to the end of `room`, and returns them.
#[inline]
pub(crate) fn digits(room: &mut [u8; MAX_DIGITS], value: u64) -> &[u8] {
    let mut at = room.len();
    let mut rest = value;
    loop {
        at -= 1;
        room[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &room[at..];
        }
    }
}

/// Writes an integer.
#[inline]
pub(crate) fn write_integer(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(digits(&mut [0; MAX_DIGITS], value));
}

/// An array that is being written.
pub(crate) struct Array<'w> {
    out: &'w mut Vec<u8>,
    empty: bool,
}

impl<'w> Array<'w> {
    /// Writes the opening bracket.
    pub(crate) fn open(out: &'w mut Vec<u8>) -> Self {
        out.push(b'[');
        Array { out, empty: true }
    }

    /// Begins the next element. Returns the buffer to write it to.
    pub(crate) fn element(&mut self) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        self.out
    }

    /// Writes the closing bracket.
    pub(crate) fn close(self) {
        self.out.push(b']');
    }
}

/// An object that is being written.
pub(crate) struct Object<'w> {
    out: &'w mut Vec<u8>,
    empty: bool,
    #[cfg(debug_assertions)]
    last: Option<Text<'static>>,
}

impl<'w> Object<'w> {
    /// Writes the opening brace.
    pub(crate) fn open(out: &'w mut Vec<u8>) -> Self {
        out.push(b'{');
        Object {
            out,
            empty: true,
            #[cfg(debug_assertions)]
            last: None,
        }
    }

    /// Writes a key that needs no escapes. Returns the buffer to write its value to. Keys must be written in the order of their bytes.
    #[inline]
    pub(crate) fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.text_key(key)
    }

    /// Like [`key`](Self::key), for a key from outside, given in its canonical form without the quotes.
    #[inline]
    pub(crate) fn text_key(&mut self, inside: &str) -> &mut Vec<u8> {
        #[cfg(debug_assertions)]
        {
            let key = Text::from_json(inside).into_owned();
            debug_assert!(self.last.as_ref().is_none_or(|last| *last < key), "{inside} comes too late");
            self.last = Some(key);
        }
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        write_text(self.out, inside);
        self.out.push(b':');
        self.out
    }

    /// Writes the closing brace.
    #[inline]
    pub(crate) fn close(self) {
        self.out.push(b'}');
    }
}

/// Writes an array of texts.
pub(crate) fn write_texts<'t>(out: &mut Vec<u8>, texts: impl IntoIterator<Item = &'t Text<'t>>) {
    let mut array = Array::open(out);
    for text in texts {
        write_text(array.element(), text.as_json());
    }
    array.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_and_elements_are_written_without_white_space() {
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        write_texts(object.key("a"), &[Text::from_plain("x"), Text::from_plain("\"")]);
        Array::open(object.text_key("b\\n")).close();
        Object::open(object.key("c")).close();
        object.close();
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"a":["x","\""],"b\n":[],"c":{}}"#);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "comes too late")]
    fn unsorted_keys_are_detected() {
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        write_integer(object.key("b"), 1);
        write_integer(object.key("a"), 2);
    }

    proptest! {
        #[test]
        fn integers_print_as_themselves(value in any::<u64>()) {
            let mut out = Vec::new();
            write_integer(&mut out, value);
            prop_assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }

        #[test]
        fn strings_print_as_by_serde_json(text in any::<String>()) {
            let mut out = Vec::new();
            write_string(&mut out, &text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
