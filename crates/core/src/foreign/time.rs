//! The times of records, in the form of native lines.

use std::time::UNIX_EPOCH;

use super::value::Json;
use crate::clock::timestamp;

/// A time as it stands in a line: ISO-8601 in UTC, with milliseconds.
pub(super) type Time = Box<str>;

/// The time of a session of which none is known.
pub(super) const UNKNOWN: &str = "1970-01-01T00:00:00.000Z";

/// Milliseconds since 1970 beyond which a number counts as milliseconds, not as seconds.
const MAX_SECONDS: f64 = 1e11;

/// The largest number of milliseconds before or after 1970 that is a time, as in JavaScript.
const LAST_MILLISECOND: f64 = 8.64e15;

/// The time that a value states: an ISO-8601 text with or without an offset, or a number of milliseconds (or, if it is small, of seconds) since
/// 1970. `None` if it does not parse.
pub(super) fn time_of(value: Json<'_>) -> Option<Time> {
    if let Some(number) = value.number() {
        let milliseconds = if number.abs() < MAX_SECONDS { number * 1000.0 } else { number };
        return (milliseconds.abs() <= LAST_MILLISECOND).then(|| timestamp(milliseconds).into());
    }
    parse(&value.text()?)
}

/// The time that an ISO-8601 text states.
pub(super) fn parse(text: &str) -> Option<Time> {
    let text = text.trim();
    let (local, minutes) = split_offset(text)?;
    let local = if local.len() == 10 { format!("{local}T00:00:00") } else { local.to_owned() };
    let local = if local.len() == 16 { format!("{local}:00") } else { local };
    let time = humantime::parse_rfc3339_weak(&local).ok()?;
    let milliseconds = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_millis() as f64,
        Err(before) => -(before.duration().as_millis() as f64),
    };
    Some(timestamp(milliseconds - f64::from(minutes) * 60_000.0).into())
}

/// The local time of a text, and its offset from UTC in minutes.
fn split_offset(text: &str) -> Option<(&str, i32)> {
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return Some((local, 0));
    }
    // A date has two hyphens of its own.
    let Some(at) = text.rfind(['+', '-']).filter(|at| *at > 10) else { return Some((text, 0)) };
    let digits = text[at + 1..].replace(':', "");
    let (hours, minutes) = (digits.get(..2)?.parse::<i32>().ok()?, digits.get(2..).filter(|rest| !rest.is_empty()));
    let minutes = hours * 60 + minutes.map_or(Some(0), |minutes| minutes.parse::<i32>().ok())?;
    Some((&text[..at], if text.as_bytes()[at] == b'-' { -minutes } else { minutes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_stated_in_utc_with_milliseconds() {
        for (text, expected) in [
            ("\"2026-09-01T10:00:13.000Z\"", Some("2026-09-01T10:00:13.000Z")),
            ("\"2024-01-01T10:00:00Z\"", Some("2024-01-01T10:00:00.000Z")),
            ("\"2024-01-01T10:00:00.123456+02:00\"", Some("2024-01-01T08:00:00.123Z")),
            ("\"2024-01-01T00:30:00-0130\"", Some("2024-01-01T02:00:00.000Z")),
            ("\"2024-01-01\"", Some("2024-01-01T00:00:00.000Z")),
            ("1767225600123", Some("2026-01-01T00:00:00.123Z")),
            ("1767225600", Some("2026-01-01T00:00:00.000Z")),
            ("5e300", None),
            ("\"x\"", None),
            ("\"2024-13-01T10:00:00Z\"", None),
            ("\"\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}-\u{e9}\"", None),
            ("{}", None),
        ] {
            assert_eq!(time_of(Json(text.as_bytes())).as_deref(), expected, "{text}");
        }
    }
}
