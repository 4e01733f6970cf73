//! Printing the envelope of a record: one line, keys in the order of `session.md` section 1.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use super::message::js_number;

/// The schema version, and the beginning of every line that is written.
const HEAD: &[u8] = br#"{"v":1,"seq":"#;

/// How many bytes an envelope adds to its type and payload, at most.
pub const ENVELOPE_BYTES: usize = 112;

/// The last millisecond that four digits of a year can tell.
const LAST_MILLISECOND: f64 = 253_402_300_799_999.0;

/// A point in time as the envelope has it: `2026-02-11T16:00:00.000Z`, from milliseconds since 1970.
pub fn timestamp(milliseconds: f64) -> String {
    // A comparison with NaN is false, and NaN becomes 0 like everything before 1970.
    let milliseconds = if milliseconds > 0.0 { milliseconds.min(LAST_MILLISECOND) as u64 } else { 0 };
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(milliseconds)).to_string()
}

/// Begins a line: version and number of the record.
pub fn begin(line: &mut Vec<u8>, seq: f64) {
    line.extend_from_slice(HEAD);
    if seq.fract() == 0.0 && (0.0..9e15).contains(&seq) {
        // Into a vector nothing fails.
        let _ = write!(line, "{}", seq as u64);
    } else {
        line.extend_from_slice(js_number(seq).as_bytes());
    }
}

/// Goes on behind [`begin`]: time and type, up to where the payload's JSON text belongs.
pub fn describe(line: &mut Vec<u8>, ts: &str, type_json: &[u8]) {
    line.extend_from_slice(br#","ts":""#);
    line.extend_from_slice(ts.as_bytes());
    line.extend_from_slice(br#"","type":"#);
    line.extend_from_slice(type_json);
}

/// The key before the payload. A payload that `JSON.stringify` makes nothing of has no key either.
pub const PAYLOAD_KEY: &[u8] = br#","payload":"#;

/// Ends a line.
pub const END: &[u8] = b"}\n";

/// Escapes raw U+2028 and U+2029 behind `from`: some tools split lines there. In JSON text they stand in strings
/// only, so an escape means the same.
pub fn escape_line_separators(text: &mut Vec<u8>, from: usize) {
    if memchr::memmem::find(&text[from..], SEPARATORS).is_none() {
        return;
    }
    let tail = text.split_off(from);
    let mut rest = &tail[..];
    while let Some(at) = memchr::memmem::find(rest, SEPARATORS) {
        text.extend_from_slice(&rest[..at]);
        match rest.get(at + 2) {
            Some(0xa8) => text.extend_from_slice(br"\u2028"),
            Some(0xa9) => text.extend_from_slice(br"\u2029"),
            _ => text.extend_from_slice(&rest[at..rest.len().min(at + 3)]),
        }
        rest = &rest[rest.len().min(at + 3)..];
    }
    text.extend_from_slice(rest);
}

/// The first two of the three bytes of U+2028 and U+2029.
const SEPARATORS: &[u8] = b"\xe2\x80";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_has_its_keys_in_order() {
        let mut line = Vec::new();
        begin(&mut line, 7.0);
        describe(&mut line, &timestamp(1_770_825_600_123.0), b"\"content\"");
        line.extend_from_slice(PAYLOAD_KEY);
        line.extend_from_slice(b"{}");
        line.extend_from_slice(END);
        let expected = "{\"v\":1,\"seq\":7,\"ts\":\"2026-02-11T16:00:00.123Z\",\"type\":\"content\",\"payload\":{}}\n";
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn numbers_of_records_print_as_in_javascript() {
        for (seq, expected) in
            [(1.0, "1"), (-3.0, "-3"), (2.5, "2.5"), (9007199254740992.0, "9007199254740992"), (1e21, "1e+21")]
        {
            let mut line = Vec::new();
            begin(&mut line, seq);
            assert_eq!(line[HEAD.len()..], *expected.as_bytes());
        }
    }

    #[test]
    fn times_beyond_the_calendar_are_clamped() {
        assert_eq!(timestamp(-1.0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(f64::NAN), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(f64::INFINITY), "9999-12-31T23:59:59.999Z");
    }

    proptest! {
        #[test]
        fn separators_are_escaped_and_nothing_else(text in "[a\u{2028}\u{2029}\u{2027}\u{2030}\u{e9}\"]{0,20}") {
            let mut bytes = text.as_bytes().to_vec();
            escape_line_separators(&mut bytes, 0);
            let expected = text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        }
    }
}
