use super::*;
use std::io::Write;

fn read_header(path: &Path) -> Result<Vec<u8>, HeaderError> {
    Summary::of_header(path).map(|summary| summary.payload)
}

fn header(content: &[u8]) -> Option<String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    read_header(file.path()).ok().map(|payload| String::from_utf8(payload).unwrap())
}

/// A header line of exactly `length` bytes, its ending not counted.
fn line_of(length: usize) -> Vec<u8> {
    let (front, back) = (br#"{"type":"session_start","payload":{"cwd":""#, br#""}}"#);
    [&front[..], &vec![b'a'; length - front.len() - back.len()], back].concat()
}

#[test]
fn header_is_the_unchanged_payload() {
    let good = br#"{"v":1,"type":"session_start","payload":{ "x" : [1] }}"#;
    assert_eq!(header(good).as_deref(), Some(r#"{ "x" : [1] }"#));
    assert_eq!(header(&[&b"\xef\xbb\xbf"[..], good, b"\r\nrubbish"].concat()).as_deref(), Some(r#"{ "x" : [1] }"#));
    for bad in
        [&b""[..], b"\n", b"\xff", &good[..20], br#"{"type":"content","payload":{}}"#, &[b"\n", &good[..]].concat()]
    {
        assert_eq!(header(bad), None);
    }
}

#[test]
fn missing_header_has_a_reason() {
    let reason = |content: &[u8]| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        read_header(file.path()).unwrap_err()
    };
    assert_eq!(reason(b""), HeaderError::Empty);
    assert_eq!(reason(b" \n{}"), HeaderError::Empty);
    assert_eq!(reason(b"{\"type\":\"sess\n"), HeaderError::NotJson);
    assert_eq!(reason(br#"{"type":"content","payload":{}}"#), HeaderError::NotStart);
    assert_eq!(reason(b"null\n"), HeaderError::NotStart);
    assert_eq!(reason(&line_of(HEADER_BYTES + 1)), HeaderError::TooLong);
    assert_eq!(reason(BOM), HeaderError::Empty);
    assert_eq!(reason(&[BOM, b"\n"].concat()), HeaderError::Empty);
    assert_eq!(reason(&[BOM, BOM, b"{}"].concat()), HeaderError::NotJson);
    assert_eq!(reason(br#"{"type":"session_start"}"#), HeaderError::Invalid);
    assert_eq!(reason(br#"{"type":"session_start","payload":[]}"#), HeaderError::Invalid);
    assert_eq!(Summary::read(Path::new("/")).unwrap_err(), HeaderError::Directory);
    let missing = read_header(Path::new("/no/such")).unwrap_err().to_string();
    assert_eq!(missing, "ENOENT: no such file or directory, open '/no/such'");
}

#[test]
fn header_line_may_be_as_long_as_the_read_limit() {
    for length in [FIRST_READ_BYTES - 1, FIRST_READ_BYTES, FIRST_READ_BYTES + 1, HEADER_BYTES - 1] {
        assert!(header(&[&line_of(length)[..], b"\nnext"].concat()).is_some(), "{length}");
    }
    assert!(header(&line_of(HEADER_BYTES)).is_some());
    assert!(header(&[&line_of(HEADER_BYTES)[..], b"\n"].concat()).is_none());
    assert!(header(&line_of(HEADER_BYTES + 1)).is_none());
}

#[test]
fn summary_reads_a_first_line_of_any_length() {
    let length_of = |content: &[u8]| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        Summary::read(file.path()).map(|summary| summary.payload.len())
    };
    for length in [HEADER_BYTES, HEADER_BYTES + 1, 2 * HEADER_BYTES] {
        let payload = length - br#"{"type":"session_start","payload":}"#.len();
        for (before, after) in [(&b""[..], &b""[..]), (b"", b"\n"), (b"", b"\r\nnext\n"), (BOM, b"\nnext")] {
            assert_eq!(length_of(&[before, &line_of(length), after].concat()), Ok(payload), "{length}");
        }
    }
    let long = line_of(2 * HEADER_BYTES);
    for bad in [&long[..long.len() - 1], &[b"x", &long[..]].concat(), &[BOM, BOM, &long].concat()] {
        assert_eq!(length_of(bad), Err(HeaderError::NotJson));
    }
}

/// The result for an archive with these bytes.
fn archived_header(bytes: &[u8]) -> Result<Summary, HeaderError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl.zst");
    std::fs::write(&path, bytes).unwrap();
    Summary::of_header(&path)
}

#[test]
fn header_of_an_archive_is_that_of_its_content() {
    let text = br#"{"type":"session_start","payload":{"x":1}}"#;
    let packed = |content: &[u8]| zstd::bulk::compress(content, 1).unwrap();
    let skippable = [&0x184d_2a53_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"any"].concat();
    let long = line_of(HEADER_BYTES);
    for (archive, size) in [
        (packed(text), text.len()),
        ([&skippable[..], &packed(text)].concat(), text.len()),
        ([&packed(b"")[..], &packed(&text[..9]), &skippable, &packed(&text[9..])].concat(), text.len()),
        (packed(&long), HEADER_BYTES),
    ] {
        let summary = archived_header(&archive).unwrap();
        assert_eq!((summary.size, summary.archived), (size as u64, Some(archive.len() as u64)));
    }
    let reason = |bytes: &[u8]| archived_header(bytes).unwrap_err();
    assert_eq!(reason(&packed(&line_of(HEADER_BYTES + 1))), HeaderError::TooLong);
    assert_eq!([reason(&packed(b"")), reason(&skippable)], [HeaderError::Empty, HeaderError::Empty]);
    assert_eq!(reason(&packed(text)[..8]), HeaderError::Read(ReadError::Damaged(0)));
}
