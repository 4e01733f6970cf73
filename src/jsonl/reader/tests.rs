use super::*;
use proptest::prelude::*;
use std::io::Write;

fn source_of(content: &[u8]) -> (LineSource, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    (LineSource::open(file.path()).unwrap(), file)
}

#[test]
fn a_cancelled_reader_stops_in_the_middle_of_a_line() {
    // A sparse file of zeros, which takes longer to read than any test lasts.
    let endless = |beginning: &[u8]| {
        let (source, file) = source_of(beginning);
        file.as_file().set_len(1 << 40).unwrap();
        drop(source);
        (LineSource::open(file.path()).unwrap(), file)
    };
    let (zeros, _one) = endless(b"");
    let (text, _other) = endless(b"{\"");
    for (source, range) in [(&zeros, 0..1 << 40), (&text, 0..1 << 40), (&text, 0..1), (&zeros, 7..1 << 40)] {
        let cancellation = Cancellation::default();
        let mut reader = cancellation.during(LineReader::default);
        reader.begin(range);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                cancellation.cancel();
            });
            match reader.next_chunk(source, 0, &mut |_| {}).err() {
                Some(ReadError::System(error)) => assert!(error.is_cancelled()),
                other => panic!("{other:?}"),
            }
        });
        assert!(reader.first_line(source).is_err() || !reader.skipping);
    }
}

/// Reads all chunks of a range, and checks that they are whole lines and have the right offsets.
fn read_range(reader: &mut LineReader, source: &LineSource, content: &[u8], range: Range<u64>) -> Vec<u8> {
    let (mut seen, mut observed) = (Vec::new(), Vec::new());
    reader.begin(range);
    loop {
        let mut observe = |bytes: &[u8]| observed.extend_from_slice(bytes);
        let Some(chunk) = reader.next_chunk(source, 0, &mut observe).unwrap() else { break };
        let at = chunk.offset as usize;
        assert!(at == 0 || content[at - 1] == b'\n');
        assert_eq!(chunk.at_start, at == 0);
        assert_eq!(chunk.unterminated, !chunk.bytes.ends_with(b"\n"));
        assert!(!chunk.unterminated || at + chunk.bytes.len() == content.len());
        assert_eq!(&content[at..at + chunk.bytes.len()], chunk.bytes);
        seen.extend_from_slice(chunk.bytes);
    }
    assert!(observed == seen);
    let position = reader.position();
    assert!(reader.next_chunk(source, 0, &mut |_| {}).unwrap().is_none());
    assert_eq!(reader.position(), position, "what lies behind the range is not read");
    seen
}

#[test]
fn every_byte_is_handed_out_once_in_whole_lines() {
    let line = |length: usize| [vec![b'{'; length], vec![b'\n']].concat();
    let many: Vec<u8> = (0..3000).flat_map(|n| line(n % 1500)).collect();
    let c = CHUNK_BYTES;
    let across: Vec<u8> = [line(c - 1), line(c), line(6 * c), line(5), b"tail".to_vec()].concat();
    for content in
        [b"".to_vec(), b"\n".to_vec(), b"a".to_vec(), many, across, line(CHUNK_BYTES - 2), line(CHUNK_BYTES - 1)]
    {
        let (source, _file) = source_of(&content);
        let mut reader = LineReader::default();
        assert!(read_range(&mut reader, &source, &content, 0..u64::MAX) == content, "{} bytes", content.len());
        assert_eq!(reader.position(), content.len() as u64);
        assert!(reader.is_at_end());
    }
}

proptest! {
    #[test]
    fn ranges_that_follow_each_other_have_each_line_once(
        lines in proptest::collection::vec((0usize..40, any::<bool>()), 0..30),
        ended in any::<bool>(),
        mut cuts in proptest::collection::vec(0u64..700, 0..6),
    ) {
        let mut content: Vec<u8> = lines.iter().flat_map(|(length, _)| [vec![b'['; *length], vec![b'\n']].concat()).collect();
        if !ended {
            content.extend_from_slice(b"[1,2");
        }
        let (source, _file) = source_of(&content);
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([u64::MAX]);
        let (mut reader, mut start, mut seen) = (LineReader::default(), 0, Vec::new());
        for end in ends {
            reader.begin(start..end);
            let first = reader.first_line(&source).unwrap();
            prop_assert!(first.is_none_or(|first| (start..end).contains(&first)));
            let read = read_range(&mut reader, &source, &content, start..end);
            prop_assert_eq!(first.is_some_and(|first| first < content.len() as u64), !read.is_empty());
            seen.extend(read);
            start = end;
        }
        prop_assert_eq!(seen, content);
    }
}

#[test]
fn ranges_across_long_lines_have_each_line_once() {
    let c = CHUNK_BYTES;
    let line = |length: usize| [vec![b'['; length], vec![b'\n']].concat();
    let content = [line(10), line(5 * c + 3), line(1), line(c - 7), line(2 * c), b"[1".to_vec()].concat();
    let (source, _file) = source_of(&content);
    for step in [c / 2, c, c + 1, 3 * c] {
        let (mut reader, mut seen, mut start) = (LineReader::default(), Vec::new(), 0);
        while start < content.len() {
            seen.extend(read_range(&mut reader, &source, &content, start as u64..(start + step) as u64));
            start += step;
        }
        assert!(seen == content, "steps of {step}");
    }
}

#[test]
fn a_line_that_is_no_json_is_passed_over_in_bounded_memory() {
    let zeros = vec![0; 5 * CHUNK_BYTES + 17];
    for (tail, lines) in [(&b""[..], 2), (b"\n", 2), (b"\nnext\nlast", 4)] {
        let content = [b"first\n", &zeros[..], tail].concat();
        let (source, _file) = source_of(&content);
        let mut reader = LineReader::default();
        reader.begin(0..u64::MAX);
        let (mut seen, mut observed, mut count) = (Vec::new(), Vec::new(), 0);
        let mut observe = |bytes: &[u8]| observed.extend_from_slice(bytes);
        while let Some(chunk) = reader.next_chunk(&source, count, &mut observe).unwrap() {
            let at = chunk.offset as usize;
            if chunk.bytes != PLACEHOLDER {
                assert_eq!(&content[at..at + chunk.bytes.len()], chunk.bytes);
            }
            assert_eq!(chunk.unterminated, count + 1 == lines && !content.ends_with(b"\n"));
            count += super::super::lines::Lines::new(chunk.bytes).count() as u64;
            seen.extend_from_slice(chunk.bytes);
        }
        assert_eq!(seen, [b"first\n", PLACEHOLDER, tail.strip_prefix(b"\n").unwrap_or(tail)].concat());
        assert_eq!((count, reader.position()), (lines, content.len() as u64));
        assert!(observed == content);
        assert!(reader.buffer.len() <= 2 * CHUNK_BYTES, "{}", reader.buffer.len());
    }
}

#[test]
fn a_line_that_is_too_long_is_passed_over_if_it_is_torn() {
    let long = |length: usize| [b"{\"a\":\"", &vec![b'x'; length][..]].concat();
    for length in [MAX_LINE_BYTES - 6, MAX_LINE_BYTES - 5, MAX_LINE_BYTES, MAX_LINE_BYTES + (3 << 20)] {
        for (tail, is_torn) in [(&b""[..], true), (b"\n", false), (b"\nnext", false)] {
            let content = [b"{}\n", &long(length)[..], tail].concat();
            let (source, _file) = source_of(&content);
            let mut reader = LineReader::default();
            reader.begin(0..u64::MAX);
            assert_eq!(reader.next_chunk(&source, 0, &mut |_| {}).unwrap().unwrap().bytes, b"{}\n");
            let mut observed = 0;
            let mut observe = |bytes: &[u8]| observed += bytes.len();
            let next = reader.next_chunk(&source, 1, &mut observe).map(|chunk| {
                let chunk = chunk.unwrap();
                (chunk.bytes.len(), chunk.offset, chunk.unterminated)
            });
            let fits = length + 6 <= MAX_LINE_BYTES;
            match (fits, is_torn) {
                (false, false) => assert_eq!(next, Err(ReadError::LineTooLong { line: 2 })),
                (false, true) => assert_eq!(next, Ok((PLACEHOLDER.len(), 3, true)), "{length}"),
                (true, true) => assert_eq!(next, Ok((length + 6, 3, true))),
                (true, false) => assert_eq!(next, Ok((length + 7, 3, false))),
            }
            if fits || is_torn {
                assert_eq!(observed as u64, reader.position() - 3);
                assert!(!is_torn || reader.is_at_end());
            }
        }
    }
}

#[test]
fn a_bom_is_dropped_at_the_start_only() {
    let (source, _file) = source_of(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n");
    let mut reader = LineReader::default();
    reader.begin(0..u64::MAX);
    let chunk = reader.next_chunk(&source, 0, &mut |_| {}).unwrap().unwrap();
    assert_eq!((chunk.bytes, chunk.offset), (&b"a\n\xef\xbb\xbfb\n"[..], 3));
}
