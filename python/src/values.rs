//! Converts values of recordings to values of columns.

use std::ops::RangeInclusive;

use arrow::compute::kernels::cast_utils::string_to_datetime;
use chrono::{NaiveDate, Utc};
use session_tape_core::Text;

use crate::rows::Value;

/// The times of the years 1 to 9999. Python and SQL engines have no others: one of them would make a whole column, or the dates of a whole lake,
/// unreadable.
const TIMES: RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// A time in microseconds. `None` if the text is not a time of the years 1 to 9999 in UTC.
pub fn time(text: &str) -> Option<i64> {
    let usual = text.as_bytes().try_into().ok().and_then(usual_time);
    let time = usual.or_else(|| string_to_datetime(&Utc, text).ok().map(|time| time.timestamp_micros()));
    time.filter(|time| TIMES.contains(time))
}

/// The time of a text in the form that recordings use, `2026-02-11T10:00:00.000Z`. `None` if it has another form.
fn usual_time(text: &[u8; 24]) -> Option<i64> {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    // Checks every byte: an early exit would cost a branch per byte.
    let fits = |byte: u8, form: u8| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    if !text.iter().zip(FORM).fold(true, |all, (byte, form)| all & fits(*byte, *form)) {
        return None;
    }
    let number =
        |from: usize, to: usize| text[from..to].iter().fold(0, |number, byte| number * 10 + u32::from(byte - b'0'));
    let date = NaiveDate::from_ymd_opt(number(0, 4) as i32, number(5, 7), number(8, 10))?;
    let time = date.and_hms_milli_opt(number(11, 13), number(14, 16), number(17, 19), number(20, 23))?;
    Some(time.and_utc().timestamp_micros())
}

/// A time in microseconds, given the JSON text of a string. `None` if it is not a time.
pub fn time_of_json(json: &[u8]) -> Option<i64> {
    let inside = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if let Some(time) = inside.try_into().ok().and_then(usual_time) {
        return Some(time).filter(|time| TIMES.contains(time));
    }
    time(&Text::from_json(std::str::from_utf8(inside).ok()?).to_plain())
}

/// The number as an integer. `None` if it has a fraction, or is so large that it cannot be told from its neighbours.
pub fn integer(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0).then_some(number as i64)
}

/// A count as a signed integer, at most `i64::MAX`.
pub fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The longest prefix of whole characters that fits into `limit` bytes.
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
