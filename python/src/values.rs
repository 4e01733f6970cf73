//! Values of recordings as values of columns.

use arrow::compute::kernels::cast_utils::string_to_datetime;
use chrono::Utc;
use session_tape::{Text, Value};

/// A time in microseconds. `None` if the text is none.
pub fn time(text: &str) -> Option<i64> {
    string_to_datetime(&Utc, text).ok().map(|time| time.timestamp_micros())
}

/// A time, given the JSON text of a string.
pub fn time_of_json(json: &[u8]) -> Option<i64> {
    let inside = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    time(&Text::from_json(std::str::from_utf8(inside).ok()?).to_plain())
}

/// An integer, if the number is one that can be told from its neighbours.
pub fn integer(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0).then_some(number as i64)
}

/// A count.
pub fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// As many whole characters of a text as fit in `limit` bytes.
pub fn limited(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// Appends a result as text: a string as it is, anything else as JSON.
pub fn append_value(text: &mut String, value: &Value<'_>) {
    match value {
        Value::Text(value) => value.append_plain(text),
        Value::Json(json) => text.push_str(json),
    }
}
