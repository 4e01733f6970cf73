//! Values of recordings as values of columns.

use arrow::compute::kernels::cast_utils::string_to_datetime;
use chrono::{NaiveDate, Utc};
use session_tape::{Text, Value};

/// A time in microseconds. `None` if the text is none.
pub fn time(text: &str) -> Option<i64> {
    let usual = text.as_bytes().try_into().ok().and_then(usual_time);
    usual.or_else(|| string_to_datetime(&Utc, text).ok().map(|time| time.timestamp_micros()))
}

/// The same of a text as recordings have it: `2026-02-11T10:00:00.000Z`.
fn usual_time(text: &[u8; 24]) -> Option<i64> {
    let number = |from: usize, to: usize| {
        text[from..to].iter().try_fold(0, |number, byte| Some(number * 10 + char::from(*byte).to_digit(10)?))
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|&(at, mark)| text[at] != mark) {
        return None;
    }
    let date = NaiveDate::from_ymd_opt(number(0, 4)? as i32, number(5, 7)?, number(8, 10)?)?;
    let time = date.and_hms_milli_opt(number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?)?;
    Some(time.and_utc().timestamp_micros())
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
