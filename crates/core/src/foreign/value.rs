//! JSON values as the bytes that they are in a record. Nothing is built: a value is located when it is asked for, and copied as it stands.

use std::borrow::Cow;

use crate::json::{Cursor, Nesting, Text, decode, spells};
use crate::lines::Digest;

/// A valid JSON value, without white space around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Json<'a>(pub &'a [u8]);

/// The members of an object, in its order. Of duplicate keys the last one counts, as in `JSON.parse`.
#[derive(Clone, Debug, Default)]
pub(super) struct Object<'a> {
    members: Vec<(&'a [u8], Json<'a>)>,
    /// Whether a key is not spelled as it stands.
    has_escaped_keys: bool,
}

/// A text without the white space around it.
fn trimmed(text: &[u8]) -> &[u8] {
    let is_token = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let start = text.iter().position(is_token).unwrap_or(text.len());
    let end = text.iter().rposition(is_token).map_or(start, |last| last + 1);
    &text[start..end]
}

impl<'a> Json<'a> {
    /// The value that is all of `text`, except for white space around it. `None` if `text` is not JSON.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let value = trimmed(text);
        Cursor::is_value(value, &mut Nesting::default()).then_some(Json(value))
    }

    /// The value that is all of `text`, and its members if it is an object. `None` if `text` is not JSON.
    pub(super) fn read(text: &'a [u8]) -> Option<(Self, Object<'a>)> {
        let value = trimmed(text);
        if value.first() != Some(&b'{') {
            return Json::parse(text).map(|value| (value, Object::default()));
        }
        let (fields, length) = Object::read(value);
        (length == Some(value.len())).then_some((Json(value), fields))
    }

    /// The bytes of the value.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.0
    }

    fn first(self) -> u8 {
        self.0.first().copied().unwrap_or_default()
    }

    /// Whether it is an object.
    pub(super) fn is_object(self) -> bool {
        self.first() == b'{'
    }

    /// Whether it is an array.
    pub(super) fn is_array(self) -> bool {
        self.first() == b'['
    }

    /// Whether it is a string.
    pub(super) fn is_string(self) -> bool {
        self.first() == b'"'
    }

    /// Whether it is `true`.
    pub(super) fn is_true(self) -> bool {
        self.0 == b"true"
    }

    /// Whether it is `null`.
    pub(super) fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// Its members; none if it is not an object.
    pub(super) fn object(self) -> Object<'a> {
        Object::read(self.0).0
    }

    /// One of its members.
    pub(super) fn get(self, key: &str) -> Option<Json<'a>> {
        self.object().get(key)
    }

    /// Its elements; none if it is not an array.
    pub(super) fn elements(self) -> Vec<Json<'a>> {
        let (mut elements, mut nesting) = (Vec::new(), Nesting::default());
        // What was found before an error counts; there is none in a valid value.
        let _ = Cursor::new(self.0).array(|cursor| {
            elements.push(Json(cursor.value_bytes(&mut nesting)?));
            Ok(())
        });
        elements
    }

    /// The text between its quotes, as it stands, if it is a string.
    pub(super) fn inside(self) -> Option<&'a [u8]> {
        self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// Its text, if it is a string. Lone surrogates and bytes that are not UTF-8 become U+FFFD.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        self.inside().map(plain_text)
    }

    /// At least its first `count` lines, if it is a string.
    pub(super) fn first_lines(self, count: usize) -> Option<Cow<'a, str>> {
        let inside = self.inside()?;
        let (mut at, mut lines) = (0, 0);
        while let Some(backslash) = memchr::memchr(b'\\', &inside[at..]) {
            // The escape of a line feed as a number does not count, and only makes the text longer.
            lines += usize::from(inside.get(at + backslash + 1) == Some(&b'n'));
            at = (at + backslash + 2).min(inside.len());
            if lines == count {
                break;
            }
        }
        Some(plain_text(if lines == count { &inside[..at] } else { inside }))
    }

    /// Its text, if it is a string that may spell an object.
    pub(super) fn text_of_object(self) -> Option<Cow<'a, str>> {
        let mut inside = self.inside()?;
        loop {
            inside = match inside {
                [b' ', rest @ ..] | [b'\\', b'n' | b'r' | b't', rest @ ..] => rest,
                // An escape as a number may be anything.
                [b'{', ..] | [b'\\', b'u', ..] => return self.text(),
                _ => return None,
            };
        }
    }

    /// Its text, if it is a string, for reading it as JSON: lone surrogates are escaped as long as the text is JSON that way.
    pub(super) fn text_as_json(self) -> Option<Cow<'a, [u8]>> {
        let text = match self.text()? {
            Cow::Borrowed(text) => return Some(Cow::Borrowed(text.as_bytes())),
            Cow::Owned(text) => text,
        };
        // Whether it is JSON is looked at first: an escape behind a lone backslash would change what that means.
        if !text.contains(char::REPLACEMENT_CHARACTER) || Json::parse(text.as_bytes()).is_none() {
            return Some(Cow::Owned(text.into_bytes()));
        }
        let units = decode(self.inside()?);
        let mut escaped = String::with_capacity(text.len() + 8);
        for unit in char::decode_utf16(units) {
            match unit {
                Ok(character) => escaped.push(character),
                Err(lone) => escaped.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
            }
        }
        Some(Cow::Owned(escaped.into_bytes()))
    }

    /// At most about the first `bytes` bytes of its text, if it is a string. For looking at the beginning of a long one.
    pub(super) fn beginning(self, bytes: usize) -> Option<String> {
        let inside = self.inside()?;
        let cut = &inside[..inside.len().min(bytes)];
        // A cut escape at the end decodes to something, which no caller looks at.
        Some(String::from_utf16_lossy(&decode(cut).collect::<Vec<_>>()))
    }

    /// Whether it is the string `word`, which is ASCII.
    pub(super) fn is(self, word: &str) -> bool {
        self.inside().is_some_and(|inside| spells(inside, word))
    }

    /// Its value, if it is a number.
    pub(super) fn number(self) -> Option<f64> {
        match self.first() {
            b'-' | b'0'..=b'9' => std::str::from_utf8(self.0).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// Its value, if it is a finite number, or a string that spells one.
    pub(super) fn amount(self) -> Option<f64> {
        let number = match self.inside() {
            Some(_) => self.text()?.trim().parse().ok(),
            None => self.number(),
        };
        number.filter(|number: &f64| number.is_finite())
    }

    /// The value, if it is a string that is not empty.
    pub(super) fn filled(self) -> Option<Json<'a>> {
        (self.is_string() && self.0.len() > 2).then_some(self)
    }

    /// A number that stands for its text, however that is escaped. Equal texts have equal keys; others do by accident only.
    pub(super) fn key(self) -> u64 {
        let inside = self.inside().unwrap_or(self.0);
        if memchr::memchr(b'\\', inside).is_none() {
            return Digest::of(inside) as u64;
        }
        let plain = String::from_utf8_lossy(inside);
        Digest::of(Text::from_json(&plain).as_json().as_bytes()) as u64
    }

    /// Appends the value as it may stand in a line.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        write_value(out, self.0);
    }
}

/// The text of the inside of a string.
fn plain_text(inside: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(inside) {
        Cow::Borrowed(text) if memchr::memchr(b'\\', inside).is_none() => Cow::Borrowed(text),
        text => Cow::Owned(Text::from_json(&text).to_plain().into_owned()),
    }
}

/// The number of members that few objects exceed.
const USUAL_MEMBERS: usize = 16;

impl<'a> Object<'a> {
    /// The members at the beginning of `text`, up to where it is not an object any more, and the length of the object if it is whole.
    pub(super) fn read(text: &'a [u8]) -> (Self, Option<usize>) {
        let (mut object, mut nesting) = (Object::default(), Nesting::default());
        // Enough for most, so that they are not moved while they are found.
        object.members.reserve(USUAL_MEMBERS);
        let mut cursor = Cursor::new(text);
        let read = cursor.object(|cursor, key| {
            object.has_escaped_keys |= key.contains(&b'\\');
            let rest = cursor.rest();
            let value = cursor.value_bytes(&mut nesting);
            // The beginning of a torn value tells its type.
            object.members.push((key, Json(value.unwrap_or(&rest[..1.min(rest.len())]))));
            value.map(drop)
        });
        (object, read.is_ok().then(|| cursor.position()))
    }

    /// The object without room for more members. For what is kept: an empty one takes as many bytes as a hundred lines have.
    pub(super) fn shrunk(mut self) -> Self {
        self.members.shrink_to_fit();
        self
    }

    /// The value of a member.
    pub(super) fn get(&self, key: &str) -> Option<Json<'a>> {
        let is = |name: &[u8]| name == key.as_bytes() || self.has_escaped_keys && spells(name, key);
        let found = self.members.iter().rev().find(|(name, _)| is(name));
        found.map(|(_, value)| *value)
    }

    /// The value of a member that is a string and not empty.
    pub(super) fn filled(&self, key: &str) -> Option<Json<'a>> {
        self.get(key)?.filled()
    }

    /// The text of a member that is a string.
    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// Whether a member is the string `word`.
    pub(super) fn is(&self, key: &str, word: &str) -> bool {
        self.get(key).is_some_and(|value| value.is(word))
    }

    /// Whether a member is `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(Json::is_true)
    }

    /// The members: their keys, as they stand, and their values.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'a [u8], Json<'a>)> + '_ {
        self.members.iter().copied()
    }

    /// The keys, as they stand.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.members.iter().map(|(key, _)| *key)
    }
}

/// Appends JSON text without the line breaks that it may have between its tokens.
pub(super) fn write_value(out: &mut Vec<u8>, text: &[u8]) {
    if memchr::memchr2(b'\n', b'\r', text).is_none() {
        out.extend_from_slice(text);
    } else {
        // A line break inside a string is escaped.
        out.extend(text.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    }
}

/// Appends a text as a JSON string.
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(Text::from_plain(text).as_json().as_bytes());
    out.push(b'"');
}

/// A text as a JSON string.
pub(super) fn json_text(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_text(&mut out, text);
    out
}

/// Appends `"key":`, with a comma before it unless it is the first member.
pub(super) fn write_key(out: &mut Vec<u8>, key: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Appends a member with a JSON value.
pub(super) fn write_member(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    write_key(out, key);
    write_value(out, value);
}

/// Appends a member with a text.
pub(super) fn write_text_member(out: &mut Vec<u8>, key: &str, text: &str) {
    write_key(out, key);
    write_text(out, text);
}

/// A number as JavaScript prints it.
pub(super) fn js_number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return format!("{}", number as i64);
    }
    ryu_js::Buffer::new().format(number).to_owned()
}
