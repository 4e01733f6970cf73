use super::*;
use std::io::Write;

use crate::lines::SEGMENT_BYTES;
use proptest::prelude::*;

fn title(content: &[u8]) -> Option<String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    read_title(file.path()).unwrap().map(|title| String::from_utf8(title).unwrap())
}

fn titled(title: &str) -> String {
    format!(r#"{{"type":"session_metadata","payload":{{"title":{title}}}}}"#)
}

#[test]
fn the_last_valid_title_counts_whatever_else_there_is() {
    let good = titled(r#""größer""#);
    for after in [
        "",
        "null",
        "not json",
        r#"{"type":"session_metadata"}"#,
        r#"{"type":"session_metadata","payload":{}}"#,
        r#"{"type":"session_metadata","payload":null}"#,
        r#"{"type":"session_metadata","payload":[{"title":"x"}]}"#,
        r#"{"type":"session_metadata","payload":{"title":7}}"#,
        r#"{"type":"session_metadata","payload":{"title":"x"},"type":"content"}"#,
        r#"{"type":"session_metadata","payload":{"title":"x"}"#,
        r#"["session_metadata",{"title":"x"}]"#,
    ] {
        assert_eq!(title(format!("{good}\n{after}").as_bytes()).as_deref(), Some(r#""größer""#), "{after}");
    }
    for (last, expected) in [
        (titled("null"), "null"),
        (titled(r#""""#), r#""""#),
        (r#"{"seq":"?","ty\u0070e":"session\u005fmetadata","payload":{"title":1,"t\u0069tle":"x"}}"#.into(), r#""x""#),
        (r#"{"type":"session\u005Fmetadata","payload":{"title":"\ud800"}}"#.into(), r#""\ud800""#),
    ] {
        assert_eq!(title(format!("{good}\n{last}\n \n").as_bytes()).as_deref(), Some(expected), "{last}");
    }
    assert_eq!(title(format!("\u{feff}{good}").as_bytes()).as_deref(), Some(r#""größer""#));
    assert_eq!(title(b""), None);
}

#[test]
fn a_title_behind_a_line_that_no_string_can_hold_is_found() {
    // Tests have a lower limit.
    let long = vec![b' '; 13 << 20];
    assert_eq!(
        title(&[titled("1").as_bytes(), b"\n", &long, b"\n", titled("null").as_bytes()].concat()).unwrap(),
        "null"
    );
    assert_eq!(title(&[titled("null").as_bytes(), b"\n", &long, b"\n", &long].concat()).unwrap(), "null");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn last_title_is_found_for_any_segment_boundaries(
        lines in prop::collection::vec((0..SEGMENT_BYTES as usize, prop::option::of(0..99_u32)), 0..8),
    ) {
        let mut content = Vec::new();
        for (filler, title) in &lines {
            content.extend(std::iter::repeat_n(b'x', *filler));
            content.push(b'\n');
            content.extend(title.iter().flat_map(|title| titled(&format!("\"{title}\"")).into_bytes()));
            content.push(b'\n');
        }
        let last = lines.iter().rev().find_map(|(_, title)| *title);
        prop_assert_eq!(title(&content), last.map(|title| format!("\"{title}\"")));
    }
}
