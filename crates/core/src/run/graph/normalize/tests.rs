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
fn text_is_normalised_to_lf_without_trailing_white_space() {
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
fn json_without_a_canonical_form_is_an_error() {
    let deep = "[".repeat(1_000_000);
    let unclosed = format!("{deep}{}", "]".repeat(999_999));
    for raw in [&b""[..], b"{", b"1e999", b"\"\\ud800\"", b"\xff", b"1 2", deep.as_bytes(), unclosed.as_bytes()] {
        assert_eq!(Normalizer::Json.apply(raw).unwrap_err().code, ErrorCode::OutputMismatch);
    }
}

proptest! {
    #[test]
    fn normalisation_is_idempotent(raw in "[ \\t\\r\\nab]{0,40}", number in any::<f64>()) {
        let text = normalized(Normalizer::Text, &raw);
        prop_assert_eq!(&normalized(Normalizer::Text, &text), &text);
        prop_assert!(!text.contains('\r'));
        prop_assume!(number.is_finite());
        let json = normalized(Normalizer::Json, &format!("[{number:e}]"));
        prop_assert_eq!(json[1..json.len() - 1].parse::<f64>().unwrap(), number);
        prop_assert_eq!(&normalized(Normalizer::Json, &json), &json);
    }
}
