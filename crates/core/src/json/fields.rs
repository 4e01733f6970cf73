//! Reads the fields of a JSON object by name: required ones, optional ones, and their types. Other fields are skipped.
//!
//! Of duplicate keys the last one counts, as in `JSON.parse`. An optional field that is `null` counts as missing.

use std::collections::BTreeMap;

use super::decode::spells;
use super::scan::{Cursor, Nesting, NotJson, Span, plain_prefix};
use super::text::Text;

/// The largest integer that JavaScript distinguishes from its neighbours.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The text is not one JSON object.
    #[error("it is not a JSON object")]
    NotAnObject,
    /// The field is missing.
    #[error("'{field}' is missing")]
    Missing {
        /// Its name, with the path that leads to it.
        field: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The field has the wrong type or value.
    #[error("'{field}' must be {expected}")]
    Wrong {
        /// Its name, with the path that leads to it.
        field: String,
        /// What it must be.
        expected: &'static str,
        /// The value found, as JSON.
        found: String,
    },
}

impl FieldError {
    /// The same error, as seen from the enclosing object. `outer` is the name of the inner object there.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        match &mut self {
            FieldError::NotAnObject => {
                return FieldError::Wrong {
                    field: outer.into(),
                    expected: "an object",
                    found: "something else".into(),
                };
            }
            FieldError::Missing { field, .. } | FieldError::Wrong { field, .. } => *field = format!("{outer}.{field}"),
        }
        self
    }
}

/// The name of a field, in a form that is fast to compare with a key.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    text: &'static str,
    /// The name and the quote after it, the first byte in the lowest bits.
    word: u128,
    /// All bits that `word` uses.
    mask: u128,
}

impl Name {
    /// The name `text`, which must not contain characters that JSON escapes.
    pub const fn new(text: &'static str) -> Self {
        let bytes = text.as_bytes();
        assert!(bytes.len() < WORD_BYTES);
        let (mut word, mut at) = (b'"' as u128, bytes.len());
        while at > 0 {
            at -= 1;
            word = word << 8 | bytes[at] as u128;
        }
        Name { text, word, mask: u128::MAX >> (8 * (WORD_BYTES - 1 - bytes.len())) }
    }

    #[inline(always)]
    fn begins(&self, word: u128) -> bool {
        word & self.mask == self.word
    }
}

/// Size in bytes of the word that a name is compared with.
const WORD_BYTES: usize = size_of::<u128>();

/// Names of fields.
macro_rules! names {
    ($($name:literal),+ $(,)?) => {
        const { &[$($crate::json::Name::new($name)),+] }
    };
}
pub(crate) use names;

/// A field, present or missing.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    name: &'static str,
    value: Option<&'a str>,
    /// Whether the value is known to be a string without escapes.
    is_plain: bool,
}

/// Fast path for an object as this library writes it: without white space and without other fields. Returns `None` for any other text,
/// whether it is an object or not.
#[inline]
fn read_usual<'a>(object: &'a str, names: &[Name], fields: &mut [Field<'a>], nesting: &mut Nesting) -> Option<()> {
    let bytes = bounded(object).ok()?;
    let (mut at, mut before, mut expected) = (0, b'{', 0);
    loop {
        if *bytes.get(at)? != before || *bytes.get(at + 1)? != b'"' {
            return None;
        }
        let word = word_at(&bytes[at + 2..]);
        // Most writers write the fields in this order.
        let place = match names.get(expected) {
            Some(name) if name.begins(word) => expected,
            _ => names.iter().position(|name| name.begins(word))?,
        };
        let start = at + names[place].text.len() + 4;
        if *bytes.get(start - 1)? != b':' {
            return None;
        }
        let (length, is_plain) = usual_value(&bytes[start..], nesting)?;
        at = start + length;
        fields[place].value = Some(object.get(start..at).unwrap_or_default());
        fields[place].is_plain = is_plain;
        match bytes.get(at)? {
            b',' => (before, expected) = (b',', place + 1),
            b'}' => return (at + 1 == bytes.len()).then_some(()),
            _ => return None,
        }
    }
}

/// The first bytes of a text as a word. A shorter text is padded with zeros.
#[inline(always)]
fn word_at(text: &[u8]) -> u128 {
    match text.first_chunk() {
        Some(word) => u128::from_le_bytes(*word),
        None => text.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte)),
    }
}

/// The length of the value at the beginning of a text, and whether it is known to be a string without escapes.
#[inline(always)]
fn usual_value(text: &[u8], nesting: &mut Nesting) -> Option<(usize, bool)> {
    if let Some((b'"', inside)) = text.split_first() {
        let length = plain_prefix(inside);
        if inside.get(length) == Some(&b'"') {
            return Some((length + 2, true));
        }
    }
    let mut cursor = Cursor::new(text);
    cursor.value(nesting).ok()?;
    Some((cursor.position(), false))
}

/// Reads any object.
fn read_any<'a>(object: &'a str, fields: &mut [Field<'a>], nesting: &mut Nesting) -> Result<(), FieldError> {
    let mut cursor = Cursor::new(bounded(object)?);
    cursor
        .object(|cursor, key| {
            let span = cursor.value(nesting)?;
            if let Some(field) = named(fields, key) {
                (field.value, field.is_plain) = (Some(slice(object, span)), false);
            }
            Ok(())
        })
        .map_err(|_| FieldError::NotAnObject)?;
    if cursor.position() < object.len() {
        return Err(FieldError::NotAnObject);
    }
    Ok(())
}

/// The bytes of a text. An error if it is too long for the scanner, which counts in 32 bits.
fn bounded(text: &str) -> Result<&[u8], FieldError> {
    if text.len() > u32::MAX as usize { Err(FieldError::NotAnObject) } else { Ok(text.as_bytes()) }
}

fn named<'f, 'a>(fields: &'f mut [Field<'a>], key: &[u8]) -> Option<&'f mut Field<'a>> {
    match fields.iter().position(|field| field.name.as_bytes() == key) {
        Some(at) => fields.get_mut(at),
        None => spelt(fields, key),
    }
}

/// Finds the field of a key that is written with escapes.
#[cold]
fn spelt<'f, 'a>(fields: &'f mut [Field<'a>], key: &[u8]) -> Option<&'f mut Field<'a>> {
    fields.iter_mut().find(|field| spells(key, field.name))
}

/// A value in the text in which it was found. Values begin and end with ASCII characters, so `get` always succeeds.
#[inline]
fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or_default()
}

impl<'a> Field<'a> {
    /// Reads the fields with these names from the text of one JSON object, without white space around it.
    #[inline]
    pub fn read<const N: usize>(
        object: &'a str,
        names: &[Name; N],
        nesting: &mut Nesting,
    ) -> Result<[Self; N], FieldError> {
        let mut fields = [Field { name: "", value: None, is_plain: false }; N];
        // `map` would compile to a call for each name.
        for (field, name) in fields.iter_mut().zip(names) {
            field.name = name.text;
        }
        if read_usual(object, names, &mut fields, nesting).is_none() {
            fields.iter_mut().for_each(|field| (field.value, field.is_plain) = (None, false));
            read_any(object, &mut fields, nesting)?;
        }
        Ok(fields)
    }

    /// A value that is not a member of an object, under a name for errors.
    pub fn of(name: &'static str, value: &'a str) -> Self {
        Field { name, value: Some(value), is_plain: false }
    }

    /// The value as JSON. An error if it is missing.
    #[inline]
    pub fn required(&self, expected: &'static str) -> Result<&'a str, FieldError> {
        self.value.ok_or_else(|| FieldError::Missing { field: self.name.into(), expected })
    }

    /// Converts the value with `read`. Returns `None` if it is missing or null.
    #[inline]
    pub fn optional<T>(self, read: impl FnOnce(Self) -> Result<T, FieldError>) -> Result<Option<T>, FieldError> {
        match self.value {
            None | Some("null") => Ok(None),
            Some(_) => read(self).map(Some),
        }
    }

    /// The error for a value that is not as expected.
    #[cold]
    pub fn wrong(&self, expected: &'static str) -> FieldError {
        let found = quoted(self.value.unwrap_or("nothing"));
        FieldError::Wrong { field: self.name.into(), expected, found }
    }

    /// The value of a JSON string. Returns `None` if the JSON is something else.
    #[inline]
    fn string(&self, json: &'a str) -> Option<Text<'a>> {
        let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))?;
        Some(if self.is_plain { Text::from_unescaped(inside) } else { Text::from_json(inside) })
    }

    /// Reads a string.
    #[inline]
    pub fn text(self) -> Result<Text<'a>, FieldError> {
        let value = self.required("a string")?;
        self.string(value).ok_or_else(|| self.wrong("a string"))
    }

    /// Reads an id: a string that is not empty.
    #[inline]
    pub fn id(self) -> Result<Text<'a>, FieldError> {
        const EXPECTED: &str = "a non-empty string";
        let value = self.required(EXPECTED)?;
        match self.string(value) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(self.wrong(EXPECTED)),
        }
    }

    /// Reads `true` or `false`.
    #[inline]
    pub fn boolean(self) -> Result<bool, FieldError> {
        match self.required("true or false")? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// Reads an integer from 0 on.
    #[inline]
    pub fn integer(self) -> Result<u64, FieldError> {
        const EXPECTED: &str = "an integer from 0 on";
        integer(self.required(EXPECTED)?).ok_or_else(|| self.wrong(EXPECTED))
    }

    /// Reads a finite number.
    pub fn number(self) -> Result<f64, FieldError> {
        number(self.required("a number")?).ok_or_else(|| self.wrong("a number"))
    }

    /// Reads a finite number from 0 on.
    pub fn amount(self) -> Result<f64, FieldError> {
        const EXPECTED: &str = "a number from 0 on";
        number(self.required(EXPECTED)?).filter(|&value| value >= 0.0).ok_or_else(|| self.wrong(EXPECTED))
    }

    /// Reads an array. Its elements are passed to `element` one by one, as fields with the same name.
    pub fn each(
        self,
        nesting: &mut Nesting,
        mut element: impl FnMut(Field<'a>) -> Result<(), FieldError>,
    ) -> Result<(), FieldError> {
        let array = self.required("an array")?;
        let mut failed = None;
        let scanned = Cursor::new(bounded(array)?).array(|cursor| {
            let span = cursor.value(nesting)?;
            element(Field::of(self.name, slice(array, span))).map_err(|error| {
                failed = Some(error);
                NotJson
            })
        });
        scanned.map(drop).map_err(|_| failed.unwrap_or_else(|| self.wrong("an array")))
    }

    /// Reads an array of ids.
    pub fn ids(self, nesting: &mut Nesting) -> Result<Vec<Text<'a>>, FieldError> {
        let mut ids = Vec::new();
        self.each(nesting, |element| {
            ids.push(element.id().map_err(|_| self.wrong("an array of non-empty strings"))?);
            Ok(())
        })?;
        Ok(ids)
    }

    /// Reads an array of ids as the set that it represents: sorted, without duplicates.
    pub fn id_set(self, nesting: &mut Nesting) -> Result<Vec<Text<'a>>, FieldError> {
        let mut ids = self.ids(nesting)?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Reads an object as a map: keys in the order of their bytes, values as JSON.
    pub fn members(self, nesting: &mut Nesting) -> Result<BTreeMap<Text<'a>, &'a str>, FieldError> {
        let object = self.required("an object")?;
        let mut members = BTreeMap::new();
        let scanned = Cursor::new(bounded(object)?).object(|cursor, key| {
            let span = cursor.value(nesting)?;
            let key = std::str::from_utf8(key).map_err(|_| NotJson)?;
            members.insert(Text::from_json(key), slice(object, span));
            Ok(())
        });
        scanned.map_err(|_| self.wrong("an object"))?;
        Ok(members)
    }
}

/// The value of a JSON number that is an integer from 0 to [`MAX_INTEGER`], in any notation. Returns `None` for anything else.
#[inline]
fn integer(json: &str) -> Option<u64> {
    if json.len() <= 15 && json.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(json.bytes().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')));
    }
    let value = number(json)?;
    (value >= 0.0 && value <= MAX_INTEGER as f64 && value.fract() == 0.0).then_some(value as u64)
}

/// The value of a JSON number. Returns `None` for anything else, and for a number that is infinite in JavaScript.
fn number(json: &str) -> Option<f64> {
    match json.as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => json.parse().ok().filter(|value: &f64| value.is_finite()),
        _ => None,
    }
}

/// The longest text that an error quotes from a file, in characters.
pub(crate) const QUOTED_CHARS: usize = 120;

/// Cuts a text to a length suitable for an error.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
