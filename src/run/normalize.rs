//! Normalisers: what of a tool's raw output counts, so that outputs which differ in form only have equal hashes.

use std::borrow::Cow;

use super::error::{ErrorCode, RunError, quoted};

/// How a raw output becomes the output that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Normalizer {
    /// As it is.
    None,
    /// Canonical JSON, RFC 8785.
    Json,
    /// CRLF and CR become LF, blanks (spaces and tabs) go from the end of each line.
    Text,
}

impl Normalizer {
    /// The normaliser that events call `name`. None for one that this release does not know.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Normalizer::None),
            "json" => Some(Normalizer::Json),
            "text" => Some(Normalizer::Text),
            _ => None,
        }
    }

    /// Its name in events.
    pub fn name(self) -> &'static str {
        match self {
            Normalizer::None => "none",
            Normalizer::Json => "json",
            Normalizer::Text => "text",
        }
    }

    /// The normalised output. An error where the output has no such form.
    pub fn apply(self, raw: &[u8]) -> Result<Cow<'_, [u8]>, RunError> {
        match self {
            Normalizer::None => Ok(Cow::Borrowed(raw)),
            Normalizer::Json => json(raw).map(Cow::Owned),
            Normalizer::Text => Ok(Cow::Owned(text(raw))),
        }
    }
}

/// Numbers are doubles, as in JavaScript, and the last of equal keys counts. Nesting is limited to 127 levels.
fn json(raw: &[u8]) -> Result<Vec<u8>, RunError> {
    let canonical = serde_json::from_slice::<serde_json::Value>(raw)
        .and_then(|value| serde_json_canonicalizer::to_vec(&value))
        .map_err(|error| {
            let message = format!("An output that was to be normalised as JSON has no RFC 8785 form: {error}");
            let found = String::from_utf8_lossy(&raw[..raw.len().min(512)]);
            RunError::new(ErrorCode::OutputMismatch, message).compared("JSON", quoted(&found))
        })?;
    Ok(canonical)
}

fn text(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(end) = memchr::memchr2(b'\r', b'\n', rest) {
        out.extend_from_slice(without_trailing_blanks(&rest[..end]));
        out.push(b'\n');
        rest = &rest[end..];
        rest = rest.strip_prefix(b"\r\n").unwrap_or_else(|| &rest[1..]);
    }
    out.extend_from_slice(without_trailing_blanks(rest));
    out
}

fn without_trailing_blanks(line: &[u8]) -> &[u8] {
    let blanks = line.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &line[..line.len() - blanks]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normalized(normalizer: Normalizer, raw: &str) -> String {
        String::from_utf8(normalizer.apply(raw.as_bytes()).unwrap().into_owned()).unwrap()
    }

    #[test]
    fn names_are_those_of_events() {
        for normalizer in [Normalizer::None, Normalizer::Json, Normalizer::Text] {
            assert_eq!(Normalizer::named(normalizer.name()), Some(normalizer));
        }
        assert_eq!(Normalizer::named("JSON"), None);
    }

    #[test]
    fn text_has_one_ending_and_no_trailing_blanks() {
        for (raw, expected) in [
            ("", ""),
            (" \t ", ""),
            ("a\r\nb\rc\n", "a\nb\nc\n"),
            ("a \t\r\n\r\n \r\r\n b \u{a0} ", "a\n\n\n\n b \u{a0}"),
            ("\r", "\n"),
            ("\n\r", "\n\n"),
        ] {
            assert_eq!(normalized(Normalizer::Text, raw), expected, "{raw:?}");
        }
        assert_eq!(&*Normalizer::Text.apply(b"\xff \r").unwrap(), b"\xff\n", "any bytes are text");
    }

    #[test]
    fn json_has_the_form_of_rfc_8785() {
        for (raw, expected) in [
            (" { \"b\" : 1.0 , \"a\" : [ ] } ", r#"{"a":[],"b":1}"#),
            // The sorting example of RFC 8785, section 3.2.3.
            (
                r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
                "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
            ),
            (
                r#"[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0,9007199254740993,1e21,5e-324]"#,
                "[333333333.3333333,1e+30,4.5,0.002,1e-27,0,9007199254740992,1e+21,5e-324]",
            ),
            (
                r#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/\u007f""#,
                "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u{7f}\"",
            ),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            ("null", "null"),
        ] {
            assert_eq!(normalized(Normalizer::Json, raw), expected, "{raw}");
        }
    }

    #[test]
    fn what_has_no_canonical_form_is_an_error() {
        let deep = "[".repeat(1_000_000);
        let unclosed = format!("{deep}{}", "]".repeat(999_999));
        for raw in [&b""[..], b"{", b"1e999", b"\"\\ud800\"", b"\xff", b"1 2", deep.as_bytes(), unclosed.as_bytes()] {
            assert_eq!(Normalizer::Json.apply(raw).unwrap_err().code, ErrorCode::OutputMismatch);
        }
    }

    proptest! {
        #[test]
        fn what_is_normalised_stays(raw in "[ \\t\\r\\nab]{0,40}", number in any::<f64>()) {
            let text = normalized(Normalizer::Text, &raw);
            prop_assert_eq!(&normalized(Normalizer::Text, &text), &text);
            prop_assert!(!text.contains('\r'));
            prop_assume!(number.is_finite());
            let json = normalized(Normalizer::Json, &format!("[{number:e}]"));
            prop_assert_eq!(json[1..json.len() - 1].parse::<f64>().unwrap(), number);
            prop_assert_eq!(&normalized(Normalizer::Json, &json), &json);
        }
    }
}
