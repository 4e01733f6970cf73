//! Canonical JSON (`docs/run-format.md` section 2): keys sorted by UTF-8 bytes, no white space, integers only, strings escaped as
//! `JSON.stringify` does.
//!
//! Two writers that know their keys: the caller names the members of an object in order, which is checked in debug
//! builds. Nothing is collected, nothing is sorted here.

use super::text::Text;

/// Writes a string, quotes included.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    write_text(out, Text::from_plain(text).as_json());
}

/// Writes a string of which the inside of its canonical form is at hand, quotes included.
#[inline]
pub fn write_text(out: &mut Vec<u8>, inside: &str) {
    out.push(b'"');
    out.extend_from_slice(inside.as_bytes());
    out.push(b'"');
}

/// How many digits an integer has at most.
pub const MAX_DIGITS: usize = 20;

/// The digits of an integer, written to the end of `room`.
#[inline]
pub fn digits(room: &mut [u8; MAX_DIGITS], value: u64) -> &[u8] {
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
pub fn write_integer(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(digits(&mut [0; MAX_DIGITS], value));
}

/// An array that is being written.
pub struct Array<'w> {
    out: &'w mut Vec<u8>,
    empty: bool,
}

impl<'w> Array<'w> {
    /// Writes the bracket.
    pub fn open(out: &'w mut Vec<u8>) -> Self {
        out.push(b'[');
        Array { out, empty: true }
    }

    /// Where the next element is to be written.
    pub fn element(&mut self) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        self.out
    }

    /// Writes the bracket that ends it.
    pub fn close(self) {
        self.out.push(b']');
    }
}

/// An object that is being written.
pub struct Object<'w> {
    out: &'w mut Vec<u8>,
    empty: bool,
    #[cfg(debug_assertions)]
    last: Option<Text<'static>>,
}

impl<'w> Object<'w> {
    /// Writes the brace.
    pub fn open(out: &'w mut Vec<u8>) -> Self {
        out.push(b'{');
        Object {
            out,
            empty: true,
            #[cfg(debug_assertions)]
            last: None,
        }
    }

    /// Writes a key of our own; where its value is to be written. Keys come in the order of their bytes.
    #[inline]
    pub fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.text_key(key)
    }

    /// The same with a key from outside, given as the inside of its canonical form.
    #[inline]
    pub fn text_key(&mut self, inside: &str) -> &mut Vec<u8> {
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

    /// Writes the brace that ends it.
    #[inline]
    pub fn close(self) {
        self.out.push(b'}');
    }
}

/// Writes texts as an array.
pub fn write_texts<'t>(out: &mut Vec<u8>, texts: impl IntoIterator<Item = &'t Text<'t>>) {
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
    fn keys_out_of_order_are_noticed() {
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
        fn strings_print_as_serde_json_has_them(text in any::<String>()) {
            let mut out = Vec::new();
            write_string(&mut out, &text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
