//! JSON values as bytes, and objects and arrays that are written in any order of keys.

use crate::json::{Cursor, Nesting, Text, Writer};

/// The members of an object that is valid JSON, in its order.
#[derive(Default)]
pub(super) struct Members<'a>(Vec<(String, &'a [u8])>);

impl<'a> Members<'a> {
    /// The members of a value; `None` if it is not an object.
    pub(super) fn of(json: &'a [u8], nesting: &mut Nesting) -> Option<Self> {
        let mut members = Vec::new();
        let read = Cursor::new(json).object(|cursor, key| {
            members.push((plain(key), cursor.value_bytes(nesting)?));
            Ok(())
        });
        read.ok().map(|_| Members(members))
    }

    /// The value of a member. Of duplicate keys the last one counts, and `null` counts as none.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| *value).filter(|value| *value != b"null")
    }

    /// The value of a member that is a string. A lone surrogate becomes U+FFFD, since readers in other languages refuse it.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        string(self.get(name)?)
    }

    /// The members with other names than these.
    pub(super) fn without(&self, names: &[&str]) -> Members<'a> {
        Members(self.0.iter().filter(|(key, _)| !names.contains(&key.as_str())).cloned().collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the members as members of `object`.
    pub(super) fn write(&self, object: &mut ObjectWriter<'_>) {
        for (key, value) in &self.0 {
            object.raw(key, value);
        }
    }
}

/// The value of a JSON string. A lone surrogate becomes U+FFFD.
pub(super) fn string(json: &[u8]) -> Option<String> {
    Some(plain(json.strip_prefix(b"\"")?.strip_suffix(b"\"")?))
}

/// The value of a JSON string, given what is between its quotes.
pub(super) fn plain(inside: &[u8]) -> String {
    Text::from_json(&String::from_utf8_lossy(inside)).to_plain().into_owned()
}

/// The elements of an array; `None` if the value is none.
pub(super) fn elements<'a>(json: &'a [u8], nesting: &mut Nesting) -> Option<Vec<&'a [u8]>> {
    let mut elements = Vec::new();
    let read = Cursor::new(json).array(|cursor| {
        elements.push(cursor.value_bytes(nesting)?);
        Ok(())
    });
    read.ok().map(|_| elements)
}

/// The value of a number that is an integer from 0 on.
pub(super) fn integer(json: &[u8]) -> Option<u64> {
    number(json).filter(|number| *number >= 0.0 && number.fract() == 0.0 && *number < 9e15).map(|number| number as u64)
}

/// The value of a finite number.
pub(super) fn number(json: &[u8]) -> Option<f64> {
    let is_number = matches!(json.first(), Some(b'-' | b'0'..=b'9'));
    std::str::from_utf8(json).ok().filter(|_| is_number)?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Writes JSON from a file, whose bytes need not be UTF-8.
pub(super) fn write_raw(out: &mut Vec<u8>, json: &[u8]) {
    out.extend_from_slice(String::from_utf8_lossy(json).as_bytes());
}

/// An object that is being written.
pub(super) struct ObjectWriter<'w> {
    out: &'w mut Vec<u8>,
    is_empty: bool,
}

impl<'w> ObjectWriter<'w> {
    pub(super) fn open(out: &'w mut Vec<u8>) -> Self {
        out.push(b'{');
        ObjectWriter { out, is_empty: true }
    }

    /// Begins a member. Returns the buffer for its value.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        Writer::new(self.out).string(key);
        self.out.push(b':');
        self.out
    }

    pub(super) fn text(&mut self, key: &str, text: &str) {
        Writer::new(self.key(key)).string(text);
    }

    pub(super) fn optional_text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    pub(super) fn integer(&mut self, key: &str, value: u64) {
        self.key(key).extend_from_slice(value.to_string().as_bytes());
    }

    pub(super) fn number(&mut self, key: &str, value: f64) {
        self.key(key).extend_from_slice(ryu_js::Buffer::new().format(value).as_bytes());
    }

    pub(super) fn is_true(&mut self, key: &str) {
        self.key(key).extend_from_slice(b"true");
    }

    pub(super) fn raw(&mut self, key: &str, json: &[u8]) {
        write_raw(self.key(key), json);
    }

    pub(super) fn object(&mut self, key: &str, members: impl FnOnce(&mut ObjectWriter<'_>)) {
        let mut object = ObjectWriter::open(self.key(key));
        members(&mut object);
        object.close();
    }

    /// Writes a member whose value is an object, unless that is empty.
    pub(super) fn object_if_any(&mut self, key: &str, members: impl FnOnce(&mut ObjectWriter<'_>)) {
        let mut written = Vec::new();
        let mut object = ObjectWriter::open(&mut written);
        members(&mut object);
        object.close();
        if written != b"{}" {
            self.key(key).extend_from_slice(&written);
        }
    }

    /// Writes an array of values that are JSON already.
    pub(super) fn array(&mut self, key: &str, values: &[Vec<u8>]) {
        let out = self.key(key);
        out.push(b'[');
        out.extend_from_slice(&values.join(&b','));
        out.push(b']');
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }
}
