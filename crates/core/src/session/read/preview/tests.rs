use super::*;
use std::io::Write;

fn preview(lines: &[&[u8]], length: usize) -> Preview {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&lines.join(&b'\n')).unwrap();
    Preview::read(file.path(), length).unwrap()
}

fn message(lines: &[&[u8]], length: usize) -> Option<Vec<u16>> {
    preview(lines, length).first_user_message
}

fn units(text: &str) -> Option<Vec<u16>> {
    Some(text.encode_utf16().collect())
}

fn said(blocks: &str) -> Vec<u8> {
    format!(r#"{{"type":"content","payload":{{"content":{{"speaker":"human","blocks":{blocks}}}}}}}"#).into_bytes()
}

#[test]
fn preview_never_splits_a_surrogate_pair() {
    let text = r#"[{"type":"text","text":"a😀"},{"type":"text","text":"\ud83d"},{"type":"text","text":"\ude00z"}]"#;
    let whole = "a😀😀z";
    for (length, expected) in
        [(0, ""), (1, "a"), (2, "a"), (3, "a😀"), (4, "a😀"), (5, "a😀😀"), (6, whole), (usize::MAX, whole)]
    {
        assert_eq!(message(&[&said(text)], length), units(expected), "{length}");
    }
}

#[test]
fn preview_keeps_lone_surrogates() {
    let text = r#"[{"type":"text","text":"\ud83d\ud83dx\ude00"}]"#;
    assert_eq!(message(&[&said(text)], 9), Some(vec![0xd83d, 0xd83d, 0x78, 0xde00]));
    assert_eq!(message(&[&said(text)], 1), Some(vec![0xd83d]));
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_in_each_block() {
    let line = [
        &br#"{"type":"content","payload":{"content":{"speaker":"human","blocks":[{"type":"text","text":""#[..],
        b"\xe2\x82",
        br#""},{"type":"text","text":""#,
        b"\xac\"}]}}}",
    ]
    .concat();
    assert_eq!(message(&[&line], 9), units("\u{fffd}\u{fffd}"));
}

#[test]
fn of_duplicate_keys_the_last_counts_at_every_depth() {
    let lines: [&[u8]; 4] = [
        br#"{"type":"content","type":"rewind"}"#,
        br#"{"type":"content","payload":{"content":{"speaker":"human","blocks":[{"type":"text","text":"no"}],"blocks":null}}}"#,
        br#"{"type":"content","payload":{"content":{"speaker":"human","blocks":[{"type":"text","text":"no"}]},"content":1}}"#,
        br#"{"type":1,"t\u0079pe":"c\u006fntent","payload":[],"payload":{"content":{"speaker":"ai","spe\u0061ker":"h\u0075man","blocks":[
            {"type":"text","text":"no","text":7},{"type":"image","type":"te\u0078t","text":"no","te\u0078t":"yes"}]}}}"#,
    ];
    assert_eq!(preview(&lines[..1], 9), Preview::default());
    assert_eq!(preview(&lines[1..3], 9), Preview { has_content: true, first_user_message: None });
    let last = lines[3].iter().copied().filter(|byte| *byte != b'\n').collect::<Vec<_>>();
    assert_eq!(message(&[lines[0], lines[1], lines[2], &last], 9), units("yes"));
}

#[test]
fn preview_does_not_depend_on_read_boundaries() {
    let found = said(r#"[{"type":"text","text":"hällo"}]"#);
    for edge in [FIRST_BYTES, FIRST_BYTES * 2, FIRST_BYTES * 5, FIRST_BYTES * 21, MAX_BYTES, MAX_BYTES * 3] {
        for before in edge - 3..edge + 3 {
            let filler = vec![b'x'; before as usize];
            assert_eq!(message(&[b"", &filler, &found, &filler], 9), units("hällo"), "{before}");
            let short = b"null\n".repeat(before as usize / 5);
            assert_eq!(message(&[&short, &found, &short], 9), units("hällo"), "{before}");
        }
    }
}

#[test]
fn preview_skips_lines_beyond_the_string_limit() {
    // Tests have a lower limit.
    let long = [b"\"", &vec![b'x'; 13 << 20][..], b"\""].concat();
    let found = said(r#"[{"type":"text","text":"hällo"}]"#);
    assert_eq!(message(&[&long, &found], 9), units("hällo"));
    assert_eq!(preview(&[br#"{"type":"content"}"#, &long], 9), Preview { has_content: true, first_user_message: None });
}

#[test]
fn preview_ends_where_the_file_was_truncated() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().write_all(&b"null\n".repeat(1 << 16)).unwrap();
    let source = LineSource::open_unread(file.path()).unwrap();
    file.as_file().set_len(5).unwrap();
    assert_eq!(preview_of(&source, 9), Ok(Preview::default()));
}

#[cfg(unix)]
#[test]
fn preview_reports_read_errors() {
    for path in ["/", "/no/such/file", "a\0b", "", "/dev/null"] {
        assert!(Preview::read(Path::new(path), 9).is_err(), "{path:?}");
    }
}
