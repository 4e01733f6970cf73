use super::*;
use proptest::prelude::*;

fn forms(json: impl Into<Vec<u8>>) -> (Vec<u8>, Vec<u16>) {
    match finished(json) {
        OutputText::Latin1(latin1) => (latin1, Vec::new()),
        OutputText::Utf16(units) => (Vec::new(), units),
        _ => unreachable!("the text is not shared"),
    }
}

#[test]
fn characters_take_the_cheapest_form() {
    assert_eq!(forms("\"aé\u{ff}Ā😀\"").0, b"\"a\xe9\xff\\u0100\\ud83d\\ude00\"");
    assert_eq!(forms(b"\"\xff\"").0, b"\"\\ufffd\"");
}

#[test]
fn wide_keys_are_told_from_wide_values() {
    for (json, expected) in [
        (r#"{"a":"名","é":1}"#, false),
        (r#"{"名":1}"#, true),
        (r#"{"a":{"x名\"y" : 1}}"#, true),
        (r#"{"a":"名\\","b":"x:名"}"#, false),
        (r#"["名",{"b":1}]"#, false),
        (r#"{"\u540d":1}"#, false),
        (r#""名""#, false),
    ] {
        assert_eq!(has_wide_key(json), expected, "{json}");
    }
    assert_eq!(forms("{\"名\":1}").1, "{\"名\":1}".encode_utf16().collect::<Vec<_>>());
    assert_eq!(forms(b"{\"\xff\":1}").1, "{\"\u{fffd}\":1}".encode_utf16().collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn json_of_any_bytes_decodes_to_the_same_text(bytes in proptest::collection::vec(prop_oneof![3 => 0x20u8..0x7f, 2 => any::<u8>()], 0..100)) {
        // Used as the inside of a JSON string, so that escapes can be decoded; the bytes themselves must not contain
        // any.
        let bytes: Vec<u8> = bytes.into_iter().filter(|b| *b >= 0x20 && *b != b'"' && *b != b'\\').collect();
        let (latin1, _) = forms([b"\"", &bytes[..], b"\""].concat());
        let json: String = latin1.into_iter().map(char::from).collect();
        prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), String::from_utf8_lossy(&bytes));
    }
}
