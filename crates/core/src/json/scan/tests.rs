use super::*;
use proptest::prelude::*;

fn parses(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.white_space();
    cursor.value(&mut Nesting::default()).and_then(|_| cursor.finish()).is_ok()
}

#[test]
fn accepts_what_json_parse_accepts() {
    for text in [
        "null",
        " true ",
        "false",
        "0",
        "-0",
        "1e999",
        "1E+2",
        "-1.50e-3",
        "\"\"",
        "\"\\u00e9\\/\\b\"",
        "\"\u{2028}\u{7f}\u{0}\"".replace('\u{0}', "x").as_str(),
        "[]",
        "{}",
        "[1,[2,{\"a\":[]}],{}]",
        "{\"a\":{\"b\":null},\"a\":1}",
        "\"\\ud800\"",
        "\t\r\n[ 1 , 2 ]\r",
        "123456789012345678901234567890",
    ] {
        assert!(parses(text.as_bytes()), "{text:?}");
    }
    assert!(parses(b"\"\xff\xc3\""), "bytes that are not UTF-8 become U+FFFD inside a string");
}

#[test]
fn refuses_what_json_parse_refuses() {
    for text in [
        "",
        " ",
        "nul",
        "nulll",
        "True",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "'a'",
        "\"",
        "\"a",
        "\"\\",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u123\"",
        "\"\t\"",
        "\"\u{1f}\"",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\" 1}",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "[]]",
        "\u{feff}1",
        "\u{a0}1",
        "1\u{b}",
        "\"a\"b",
    ] {
        assert!(!parses(text.as_bytes()), "{text:?}");
    }
    assert!(!parses(b"\xff"), "U+FFFD outside a string");
}

#[test]
fn nesting_of_any_depth_costs_no_stack() {
    let deep = if cfg!(miri) { 10_000 } else { 1_000_000 };
    let text = [b"[".repeat(deep), b"]".repeat(deep)].concat();
    assert!(parses(&text));
    assert!(!parses(&text[..text.len() - 1]));
    let objects = [b"{\"a\":".repeat(deep), b"1".to_vec(), b"}".repeat(deep)].concat();
    assert!(parses(&objects));
}

#[test]
fn a_deep_line_leaves_no_memory_behind() {
    let text = [b"[".repeat(70_000), b"]".repeat(70_000)].concat();
    let mut nesting = Nesting::default();
    Cursor::new(&text).value(&mut nesting).unwrap();
    assert_eq!(nesting.depth, 0);
    assert!(nesting.bits.is_empty());
}

#[test]
fn members_are_reported_with_their_raw_keys() {
    let text = br#"{"a":1,"\u0062":[2,{"c":3}],"a":"x"}"#;
    let mut nesting = Nesting::default();
    let mut seen = Vec::new();
    Cursor::new(text)
        .object(|cursor, key| {
            let span = cursor.value(&mut nesting)?;
            seen.push((key.to_vec(), span.of(text).to_vec()));
            Ok(())
        })
        .unwrap();
    let expected: Vec<(Vec<u8>, Vec<u8>)> = vec![
        (b"a".to_vec(), b"1".to_vec()),
        (b"\\u0062".to_vec(), br#"[2,{"c":3}]"#.to_vec()),
        (b"a".to_vec(), br#""x""#.to_vec()),
    ];
    assert_eq!(seen, expected);
}

/// JSON text of all shapes.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-0.5e+10".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        any::<f64>().prop_map(|n| serde_json::to_string(&n).unwrap()),
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
        "[a-z]{0,80}".prop_map(|s| format!("\"{s}\\u00e9\\\\{s}\"")),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[ {} ]", items.join(" ,"))),
            proptest::collection::vec(inner, 0..6).prop_map(|items| format!(
                "{{{}}}",
                items.iter().map(|item| format!("\"k\" : {item}")).collect::<Vec<_>>().join(",")
            )),
        ]
    })
}

#[test]
fn escapes_are_validated_at_each_offset() {
    for (escape, is_good) in [("\\n", true), ("\\x", false), ("\\u00e9", true), ("\\u00g9", false)] {
        for at in 0..3 * LARGE_BLOCK_BYTES {
            let (before, behind) = ("a".repeat(at), "b".repeat(2 * LARGE_BLOCK_BYTES));
            assert_eq!(parses(format!("\"{before}{escape}{behind}\"").as_bytes()), is_good, "{escape} at {at}");
        }
    }
}

proptest! {
    #[test]
    fn plain_prefix_stops_where_a_byte_loop_does(
        mut bytes in proptest::collection::vec(any::<u8>().prop_map(|b| if b < 0x20 { b | 0x40 } else { b }), 0..200),
        stops in proptest::collection::vec((0usize..200, prop_oneof![Just(b'"'), Just(b'\\'), 0u8..0x20]), 0..3),
    ) {
        for b in &mut bytes {
            if ends_plain(*b) { *b = b'x' }
        }
        for (at, stop) in stops {
            if let Some(slot) = bytes.get_mut(at) { *slot = stop }
        }
        let first = bytes.iter().position(|byte| ends_plain(*byte));
        prop_assert_eq!(plain_prefix(&bytes), first.unwrap_or(bytes.len()));
    }

    // If it builds no values, serde_json accepts the grammar of `JSON.parse`: no limit on depth or on the size of numbers,
    // lone surrogates, and bytes that are not UTF-8 inside strings.
    #[test]
    fn verdict_equals_serde_json_on_near_json(text in "[\\[\\]{},:\"a0-9.eE+\\-\\\\nutrufals ]{0,24}") {
        prop_assert_eq!(parses(text.as_bytes()), serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
    }

    #[test]
    fn verdict_equals_serde_json_on_long_strings(
        pieces in proptest::collection::vec(
            prop_oneof![
                "[a-zé→ ]{0,70}",
                Just("\\\\".to_owned()), Just("\\\"".to_owned()), Just("\\n".to_owned()), Just("\\u00e9".to_owned()),
                Just("\\\\\\\"".to_owned()), Just("\\".to_owned()), Just("\\u12g4".to_owned()), Just("\"".to_owned()), Just("\u{1}".to_owned()),
            ],
            0..40,
        ),
        faults in 0..2_usize,
    ) {
        let is_fault = |piece: &str| matches!(piece, "\\" | "\\u12g4" | "\"" | "\u{1}");
        let mut left = faults;
        let mut is_kept = |piece: &str| {
            let is_kept = !is_fault(piece) || left > 0;
            left -= usize::from(is_kept && is_fault(piece));
            is_kept
        };
        let text = format!("\"{}\"", pieces.iter().filter(|piece| is_kept(piece)).cloned().collect::<String>());
        prop_assert_eq!(parses(text.as_bytes()), serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
    }

    #[test]
    fn verdict_equals_serde_json_on_damaged_json(
        value in json(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut text = value.into_bytes();
        for (at, byte) in damage {
            let at = at.index(text.len());
            text[at] = byte;
        }
        prop_assert_eq!(parses(&text), serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok());
    }
}
