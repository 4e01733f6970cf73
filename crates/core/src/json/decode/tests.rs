use super::*;
use proptest::prelude::*;

fn decoded(inside: &[u8]) -> String {
    String::from_utf16_lossy(&decode(inside).collect::<Vec<_>>())
}

#[test]
fn blank_text_is_what_javascript_trims_to_nothing() {
    for blank in ["", " ", "\t\u{b}\u{c}\r", "\u{feff}", "\u{a0}\u{2028}\u{3000}\u{1680}\u{200a}\u{202f}\u{205f}"] {
        assert!(is_blank(blank.as_bytes()), "{blank:?}");
    }
    for not_blank in ["x", "\u{85}", "\u{200b}", "\u{180e}", "\0", " . "] {
        assert!(!is_blank(not_blank.as_bytes()), "{not_blank:?}");
    }
    assert!(!is_blank(b"\xff"), "U+FFFD is no white space");
}

#[test]
fn blankness_considers_decoded_escapes() {
    for blank in [&b""[..], b" ", br"\u0020\t\n\r\f\u000b", br"\ufeff\u00a0 \u2029\u3000", "\u{2003}\\u1680".as_bytes()]
    {
        assert!(is_blank_string(blank), "{blank:?}");
    }
    for other in
        [&br"\b"[..], br"\u0085", br"\u180e", br"\u200b", br"\ud800", br" \u0041", b"\xff", b" \\t\xff", br"\\"]
    {
        assert!(!is_blank_string(other), "{other:?}");
    }
}

#[test]
fn escaped_words_are_recognised() {
    assert!(spells(b"type", "type"));
    assert!(spells(br"ty\u0070e", "type"));
    assert!(spells(br"\u0074\u0079\u0070\u0065", "type"));
    for other in [&b"typ"[..], b"types", br"ty\u0070E", br"\u0074ype2", b"", br"ty\\pe"] {
        assert!(!spells(other, "type"), "{other:?}");
    }
}

#[test]
fn escapes_and_bad_bytes_decode_as_in_javascript() {
    assert_eq!(decoded(br#"a\n\"\\\/\b\f\r\t\u00e9"#), "a\n\"\\/\u{8}\u{c}\r\t\u{e9}");
    assert_eq!(decode(br"\ud83d\ude00\ud800").collect::<Vec<_>>(), [0xd83d, 0xde00, 0xd800]);
    // One U+FFFD for each maximal part of a broken sequence, as in the WHATWG decoder.
    assert_eq!(decoded(b"a\xe2\x82b\xff\xf0\x9f\x98"), "a\u{fffd}b\u{fffd}\u{fffd}");
    assert_eq!(decoded(b"\xed\xa0\x80"), "\u{fffd}\u{fffd}\u{fffd}");
}

/// Insides of strings with characters of all lengths, escapes, and bytes that are not UTF-8.
fn insides() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<String>().prop_map(|text| text.replace(|c: char| c < ' ' || c == '"' || c == '\\', "x").into_bytes()),
        "[ -!#-\\[\\]-~]{0,40}".prop_map(String::into_bytes),
        prop::sample::select(vec!["é", "→", "日本", "🌊", "\u{7f}"]).prop_map(|text| text.as_bytes().to_vec()),
        prop::sample::select(vec![
            &br"\n"[..],
            br"\ud83d",
            br"\u00e9",
            br"\\",
            br"\u2014",
            b"\xff",
            b"\xe2\x82",
            b"\xc3"
        ])
        .prop_map(<[u8]>::to_vec),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// The string that `JSON.parse` builds from this inside, by means of other libraries. `None` for lone surrogates, which are compared
/// elsewhere.
fn by_serde_json(inside: &[u8]) -> Option<Vec<u16>> {
    let text = format!("\"{}\"", String::from_utf8_lossy(inside));
    serde_json::from_str::<String>(&text).ok().map(|text| text.encode_utf16().collect())
}

proptest! {
    #[test]
    fn decoding_switches_from_narrow_to_wide_at_the_first_wide_character(inside in insides(), behind in "[a-z\"]{0,9}") {
        let bytes = [b"\"", &inside[..], b"\"", behind.as_bytes()].concat();
        let (mut cursor, mut narrow) = (Cursor::new(&bytes), Vec::new());
        let decoded_narrow = cursor.narrow_string(&mut narrow);
        let mut units: Vec<u16> = narrow.iter().map(|byte| u16::from(*byte)).collect();
        let whole: Vec<u16> = decode(&inside).collect();
        match decoded_narrow {
            Ok(decoded) => {
                prop_assert_eq!(decoded, &inside);
                prop_assert!(whole.iter().all(|unit| *unit <= 0xff));
            }
            Err(at) => {
                prop_assert_eq!(cursor.wide_string(&mut units, at), Ok(&inside[..]));
                prop_assert!(whole.iter().any(|unit| *unit > 0xff));
            }
        }
        prop_assert_eq!(&units, &whole);
        prop_assert_eq!(cursor.rest(), behind.as_bytes());
        if let Some(expected) = by_serde_json(&inside) {
            prop_assert_eq!(whole, expected);
        }
    }

    #[test]
    fn invalid_strings_are_not_decoded(inside in insides(), end in prop::sample::select(vec![&b""[..], b"\n\"", b"\\", b"\\x\"", br"\u12g4"])) {
        let bytes = [b"\"", &inside[..], end].concat();
        let (mut cursor, mut narrow, mut units) = (Cursor::new(&bytes), Vec::new(), Vec::new());
        let at = cursor.narrow_string(&mut narrow);
        prop_assert!(at.is_err_and(|at| cursor.wide_string(&mut units, at).is_err()));
    }

    #[test]
    fn bounded_decoding_is_a_prefix_of_full_decoding(
        pieces in proptest::collection::vec(prop_oneof![
            any::<String>().prop_map(|text| text.replace(['"', '\\'], "x").into_bytes()),
            prop::sample::select(vec![&br"\n"[..], br"\ud83d", br"\ude00", b"\xff", b"\xe2\x82", b"\xf0\x9f\x98\x80"]).prop_map(<[u8]>::to_vec),
        ], 0..12),
        before in 0..3_usize,
        most in 0..40_usize,
    ) {
        let inside = pieces.concat();
        let mut units = vec![0x61; before];
        decode_up_to(&mut units, &inside, most);
        let whole: Vec<u16> = std::iter::repeat_n(0x61, before).chain(decode(&inside)).collect();
        prop_assert!(whole.starts_with(&units));
        prop_assert!(units.len() == whole.len() || units.len() >= most);
        prop_assert!(units.len() <= before.max(most + 1));
    }

    #[test]
    fn any_text_survives_serde_json(text in any::<String>()) {
        let literal = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(decoded(&literal.as_bytes()[1..literal.len() - 1]), text);
    }
}
