//! Prints the envelope of a record, with the keys in the order of `docs/session-format.md` section 1.

use std::io::Write;

use super::message::js_number;

/// The schema version of a line. A reader that does not know what version 2 has must not read the session as if it were not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Version {
    #[default]
    One = 1,
    Two = 2,
}

impl Version {
    /// The version with which an event of this type, given as JSON text, is written if it has no reference.
    pub(crate) fn of(type_json: &[u8]) -> Self {
        if type_json == b"\"semantic_media_purge\"" { Version::Two } else { Version::One }
    }

    /// The beginning of a line.
    fn head(self) -> &'static [u8] {
        match self {
            Version::One => br#"{"v":1,"seq":"#,
            Version::Two => br#"{"v":2,"seq":"#,
        }
    }
}

/// The maximum number of bytes that an envelope adds to type and payload.
pub(crate) const ENVELOPE_BYTES: usize = 112;

/// Begins a line: appends the version and the record's `seq`.
pub(crate) fn begin(line: &mut Vec<u8>, version: Version, seq: f64) {
    line.extend_from_slice(version.head());
    if seq.fract() == 0.0 && (0.0..9e15).contains(&seq) {
        // Writing to a vector can't fail.
        let _ = write!(line, "{}", seq as u64);
    } else {
        line.extend_from_slice(js_number(seq).as_bytes());
    }
}

/// Changes the version of the line that begins at offset `from`.
pub(crate) fn set_version(line: &mut [u8], from: usize, version: Version) {
    let head = version.head();
    line[from..from + head.len()].copy_from_slice(head);
}

/// Continues after [`begin`]: appends time and type. The payload follows.
pub(crate) fn describe(line: &mut Vec<u8>, ts: &str, type_json: &[u8]) {
    line.extend_from_slice(br#","ts":""#);
    line.extend_from_slice(ts.as_bytes());
    line.extend_from_slice(br#"","type":"#);
    line.extend_from_slice(type_json);
}

/// The key of the payload. It is omitted together with a payload for which `JSON.stringify` returns undefined.
pub(crate) const PAYLOAD_KEY: &[u8] = br#","payload":"#;

/// Ends a line.
pub(crate) const END: &[u8] = b"}\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_keys_in_order() {
        for (version, expected_type) in [(1, "content"), (2, "semantic_media_purge")] {
            let mut line = Vec::new();
            let type_json = format!("\"{expected_type}\"");
            begin(&mut line, Version::of(type_json.as_bytes()), 7.0);
            describe(&mut line, "2026-02-11T16:00:00.123Z", type_json.as_bytes());
            line.extend_from_slice(PAYLOAD_KEY);
            line.extend_from_slice(b"{}");
            line.extend_from_slice(END);
            let expected = format!(
                "{{\"v\":{version},\"seq\":7,\"ts\":\"2026-02-11T16:00:00.123Z\",\"type\":\"{expected_type}\",\"payload\":{{}}}}\n"
            );
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        }
    }

    #[test]
    fn numbers_of_records_print_as_in_javascript() {
        for (seq, expected) in
            [(1.0, "1"), (-3.0, "-3"), (2.5, "2.5"), (9007199254740992.0, "9007199254740992"), (1e21, "1e+21")]
        {
            let mut line = Vec::new();
            begin(&mut line, Version::One, seq);
            assert_eq!(line[Version::One.head().len()..], *expected.as_bytes());
        }
    }
}
