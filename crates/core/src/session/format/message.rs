//! Messages that quote a session file. Quoted values stay JSON text until the message is printed, so that JavaScript prints its own
//! form of them (lone surrogates, numbers), and large values are not copied.

use std::borrow::Cow;
use std::fmt;

use super::payload::number;
use crate::json::{Cursor, Nesting, decode};

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart<'a> {
    /// Literal text.
    Text(Cow<'a, str>),
    /// A JSON value from the file. A string is printed as its text, any other value as JSON.
    Json(&'a [u8]),
    /// The same, owned.
    OwnJson(Vec<u8>),
    /// A string from JavaScript.
    Utf16(&'a [u16]),
}

/// A message: the concatenation of its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Message<'a>(pub Vec<MessagePart<'a>>);

impl<'a> Message<'a> {
    /// A message of literal text only.
    pub fn text(words: impl Into<Cow<'a, str>>) -> Self {
        Message(vec![MessagePart::Text(words.into())])
    }
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                MessagePart::Text(text) => f.write_str(text)?,
                MessagePart::Utf16(units) => f.write_str(&String::from_utf16_lossy(units))?,
                MessagePart::Json(token) => f.write_str(&shown(token))?,
                MessagePart::OwnJson(token) => f.write_str(&shown(token))?,
            }
        }
        Ok(())
    }
}

fn shown(token: &[u8]) -> String {
    match token.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(inside) => String::from_utf16_lossy(&decode(inside).collect::<Vec<_>>()),
        None => String::from_utf8_lossy(token).into_owned(),
    }
}

/// What `String(value)` is in JavaScript, as a JSON string, for a JSON value.
pub(crate) fn string_of(value: &[u8]) -> Vec<u8> {
    if value.starts_with(b"\"") {
        return value.to_vec();
    }
    let mut json = b"\"".to_vec();
    append_string_of(&mut json, value);
    json.push(b'"');
    json
}

/// Appends the inside of that string. Elements of an array are joined with commas, at every level; `null` in an array is empty.
fn append_string_of(json: &mut Vec<u8>, value: &[u8]) {
    let (mut nesting, mut cursor, mut depth) = (Nesting::default(), Cursor::new(value), 0);
    loop {
        cursor.white_space();
        match cursor.peek() {
            None => return,
            Some(b'[') => {
                depth += 1;
                cursor.skip(1);
                continue;
            }
            Some(b']') => {
                depth -= 1;
                cursor.skip(1);
                continue;
            }
            Some(b',') => {
                json.push(b',');
                cursor.skip(1);
                continue;
            }
            Some(b'{') => json.extend_from_slice(b"[object Object]"),
            Some(_) => {}
        }
        // The value was scanned before, so that this can't fail.
        let Ok(token) = cursor.value_bytes(&mut nesting) else { return };
        match token {
            [b'{', ..] => {}
            [b'"', inside @ .., b'"'] => json.extend_from_slice(inside),
            b"null" if depth > 0 => {}
            _ => match number(token) {
                Some(number) => json.extend_from_slice(js_number(number).as_bytes()),
                None => json.extend_from_slice(token),
            },
        }
    }
}

/// A number as JavaScript prints it.
pub fn js_number(value: f64) -> String {
    if value.is_finite() {
        return ryu_js::Buffer::new().format_finite(value).to_owned();
    }
    let name = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    name.to_owned()
}

/// `value.toFixed(1)`, for a `value` that is a percentage.
pub(crate) fn one_decimal(value: f64) -> String {
    // Rust rounds an exact tie to even, JavaScript up. With one decimal the exact ties of a double are .25 and .75, and the results
    // differ only for .25.
    let quarters = value * 4.0;
    if quarters.fract() == 0.0 && quarters.rem_euclid(4.0) == 1.0 {
        return format!("{}.3", value.floor());
    }
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_javascript() {
        for (value, expected) in [
            (1.0, "1"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (1e21, "1e+21"),
            (9007199254740993.0, "9007199254740992"),
            (1e-7, "1e-7"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(js_number(value), expected);
        }
    }

    #[test]
    fn any_value_prints_as_string_prints_it() {
        for (value, expected) in [
            ("3", "3"),
            ("-0", "0"),
            ("1e999", "Infinity"),
            ("null", "null"),
            ("true", "true"),
            (r#""a\"b""#, r#"a\"b"#),
            (r#"{"a":[1]}"#, "[object Object]"),
            ("[]", ""),
            (r#"[1, [2,null,"x"], {"a":","}, [[],[]]]"#, "1,2,,x,[object Object],,"),
            ("[null]", ""),
        ] {
            assert_eq!(string_of(value.as_bytes()), format!("\"{expected}\"").into_bytes(), "{value}");
        }
    }

    #[test]
    fn percentages_round_as_to_fixed_does() {
        for (value, expected) in [
            (6.25, "6.3"),
            (18.75, "18.8"),
            (33.333333333333336, "33.3"),
            (100.0, "100.0"),
            (5.05, "5.0"),
            (12.25, "12.3"),
            (12.35, "12.3"),
            (0.25, "0.3"),
            (99.95, "100.0"),
        ] {
            assert_eq!(one_decimal(value), expected, "{value}");
        }
    }

    #[test]
    fn quoted_json_shows_as_its_text() {
        let message = Message(vec![
            MessagePart::Text("got '".into()),
            MessagePart::Json(br#""a\u00e9""#),
            MessagePart::Text("'".into()),
        ]);
        assert_eq!(message.to_string(), "got 'aé'");
        assert_eq!(Message(vec![MessagePart::Json(b"[1]")]).to_string(), "[1]");
    }
}
