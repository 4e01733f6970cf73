use super::*;
use proptest::prelude::*;

fn decoded(json: JsonText) -> String {
    json.latin1.iter().map(|byte| char::from(*byte)).collect()
}

#[test]
fn characters_take_the_cheapest_form() {
    let mut json = JsonText::default();
    json.raw("\"aé\u{ff}Ā😀\"".as_bytes());
    assert_eq!(json.latin1, b"\"a\xe9\xff\\u0100\\ud83d\\ude00\"");
    let mut json = JsonText::default();
    json.raw(b"\"\xff\"");
    assert_eq!(json.latin1, b"\"\\ufffd\"");
}

#[test]
fn an_object_has_its_members_between_commas() {
    let mut json = JsonText::default();
    json.open();
    json.member("a", "{");
    json.key("b");
    json.open();
    json.close();
    json.member("c", &[Some(1.5), None]);
    json.close();
    assert_eq!(decoded(json), r#"{"a":"{","b":{},"c":[1.5,null]}"#);
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
        assert_eq!(has_wide_key(json.as_bytes()), expected, "{json}");
    }
    assert!(has_wide_key(b"{\"\xff\":1}"));
    let mut json = JsonText::default();
    json.raw("{\"名\":1}".as_bytes());
    assert!(
        matches!(json.finish(), OutputText::Utf16(units) if units == "{\"名\":1}".encode_utf16().collect::<Vec<_>>())
    );
}

#[test]
fn written_and_appended_strings_are_equal() {
    for text in [r#"{"a":"b"}"#, r#"{"a":"é 名 😀"}"#, r#"{"名":1}"#, ""] {
        let (mut written, mut raw) = (JsonText::default(), JsonText::default());
        for json in [&mut written, &mut raw] {
            json.raw("\"é名\",".as_bytes());
        }
        written.written(|out| out.extend_from_slice(text.as_bytes()));
        raw.raw(text.as_bytes());
        assert_eq!((written.latin1, written.has_wide_key), (raw.latin1, raw.has_wide_key), "{text}");
    }
}

#[test]
fn numbers_survive_as_json() {
    let mut json = JsonText::default();
    json.array([f64::INFINITY, f64::NEG_INFINITY, -0.0, 1.5], JsonText::number);
    assert_eq!(decoded(json), "[1e999,-1e999,-0,1.5]");
}

#[test]
fn huge_text_is_passed_unescaped() {
    assert_eq!(
        unescape_units(br#""\u0100\\u0100\u00e9\n""#),
        r#""Ā\\u0100\u00e9\n""#.encode_utf16().collect::<Vec<_>>()
    );
    assert_eq!(unescape_units(br"\\\u0100"), r"\\Ā".encode_utf16().collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn json_of_any_bytes_decodes_to_the_same_text(bytes in proptest::collection::vec(prop_oneof![3 => 0x20u8..0x7f, 2 => any::<u8>()], 0..100)) {
        // Used as the inside of a JSON string, so that escapes can be decoded; the bytes themselves must not contain
        // any.
        let bytes: Vec<u8> = bytes.into_iter().filter(|b| *b >= 0x20 && *b != b'"' && *b != b'\\').collect();
        let mut json = JsonText::default();
        json.raw(&[b"\"", &bytes[..], b"\""].concat());
        let parsed: String = serde_json::from_str(&decoded(json)).unwrap();
        prop_assert_eq!(parsed, String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn json_of_any_string_decodes_to_the_same_text(text in any::<String>()) {
        let mut json = JsonText::default();
        json.value(&text);
        let units = unescape_units(&json.latin1);
        let parsed: String = serde_json::from_str(&decoded(json)).unwrap();
        prop_assert_eq!(&parsed, &text);
        let unescaped = String::from_utf16(&units).unwrap();
        prop_assert_eq!(serde_json::from_str::<String>(&unescaped).unwrap(), text);
    }
}
