//! Canonical JSON (`docs/run-format.md` section 2): keys sorted by UTF-8 bytes, no white space, integers only, strings escaped as
//! `JSON.stringify` does.
//!
//! Objects and arrays are written directly to the output, without collecting or sorting anything. The caller writes the keys of an object
//! in order, which debug builds check.

use super::text::Text;

/// Where a value is written: the end of a buffer.
pub(crate) struct Writer<'w>(&'w mut Vec<u8>);

impl<'w> Writer<'w> {
    #[inline]
    pub(crate) fn new(out: &'w mut Vec<u8>) -> Self {
        Writer(out)
    }

    /// The buffer, for a value that the caller writes.
    #[inline]
    pub(crate) fn buffer(self) -> &'w mut Vec<u8> {
        self.0
    }

    /// Writes a value that is canonical already.
    #[inline]
    pub(crate) fn json(self, json: &[u8]) {
        self.0.extend_from_slice(json);
    }

    /// Writes a string, given its canonical form without the quotes.
    #[inline]
    pub(crate) fn text(self, inside: &str) {
        self.0.push(b'"');
        self.0.extend_from_slice(inside.as_bytes());
        self.0.push(b'"');
    }

    /// Writes a string.
    pub(crate) fn string(self, text: &str) {
        self.text(Text::from_plain(text).as_json());
    }

    /// Writes an integer.
    #[inline]
    pub(crate) fn integer(self, value: u64) {
        self.json(itoa::Buffer::new().format(value).as_bytes());
    }

    /// Writes an array of texts.
    pub(crate) fn texts<'t>(self, texts: impl IntoIterator<Item = &'t Text<'t>>) {
        let mut array = self.array();
        for text in texts {
            array.element().text(text.as_json());
        }
        array.close();
    }

    /// Writes the opening bracket of an array.
    pub(crate) fn array(self) -> Array<'w> {
        self.0.push(b'[');
        Array { out: self.0, empty: true }
    }

    /// Writes the opening brace of an object.
    pub(crate) fn object(self) -> Object<'w> {
        self.0.push(b'{');
        Object {
            out: self.0,
            empty: true,
            #[cfg(debug_assertions)]
            last: None,
        }
    }
}

/// An array that is being written.
pub(crate) struct Array<'w> {
    out: &'w mut Vec<u8>,
    empty: bool,
}

impl Array<'_> {
    /// Begins the next element.
    pub(crate) fn element(&mut self) -> Writer<'_> {
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        Writer(self.out)
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

impl Object<'_> {
    /// Writes a key that needs no escapes. Keys must be written in the order of their bytes.
    #[inline]
    pub(crate) fn key(&mut self, key: &'static str) -> Writer<'_> {
        self.text_key(key)
    }

    /// Like [`key`](Self::key), for a key from outside, given in its canonical form without the quotes.
    #[inline]
    pub(crate) fn text_key(&mut self, inside: &str) -> Writer<'_> {
        #[cfg(debug_assertions)]
        {
            let key = Text::from_json(inside).into_owned();
            debug_assert!(self.last.as_ref().is_none_or(|last| *last < key), "{inside} comes too late");
            self.last = Some(key);
        }
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        Writer(self.out).text(inside);
        self.out.push(b':');
        Writer(self.out)
    }

    /// Writes the closing brace.
    #[inline]
    pub(crate) fn close(self) {
        self.out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_and_elements_are_written_without_white_space() {
        let mut out = Vec::new();
        let mut object = Writer::new(&mut out).object();
        object.key("a").texts(&[Text::from_plain("x"), Text::from_plain("\"")]);
        object.text_key("b\\n").array().close();
        object.key("c").object().close();
        object.key("d").integer(u64::MAX);
        object.close();
        let expected = r#"{"a":["x","\""],"b\n":[],"c":{},"d":18446744073709551615}"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "comes too late")]
    fn unsorted_keys_are_detected() {
        let mut out = Vec::new();
        let mut object = Writer::new(&mut out).object();
        object.key("b").integer(1);
        object.key("a").integer(2);
    }

    proptest! {
        #[test]
        fn strings_print_as_by_serde_json(text in any::<String>()) {
            let mut out = Vec::new();
            Writer::new(&mut out).string(&text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
