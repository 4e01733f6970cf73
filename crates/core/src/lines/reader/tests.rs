use super::*;
use crate::task::Cancellation;
use proptest::prelude::*;
use std::io::Write;

fn source_of(content: &[u8]) -> (LineSource, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    (LineSource::open(file.path()).unwrap(), file)
}

#[test]
fn a_cancelled_reader_stops_in_the_middle_of_a_line() {
    let text = [b"{\"", &vec![b'x'; MAX_LINE_BYTES + CHUNK_BYTES][..]].concat();
    for content in [vec![0; 5 * CHUNK_BYTES], text] {
        let (source, _file) = source_of(&content);
        let cancellation = Cancellation::default();
        let mut reader = cancellation.during(LineReader::default);
        reader.begin(0..u64::MAX);
        reader.fill(&source).unwrap();
        cancellation.cancel();
        match reader.next_chunk(&source, 0).err() {
            Some(ReadError::System(error)) => assert!(error.is_cancelled()),
            other => panic!("{other:?}"),
        }
        reader.begin(7..u64::MAX);
        assert!(reader.first_line(&source).is_err());
    }
}

/// A file with `parts` at their offsets, and holes between them, up to `size`. `None` if the file system has no holes.
#[cfg(unix)]
fn sparse(parts: &[(u64, &[u8])], size: u64) -> Option<(LineSource, tempfile::NamedTempFile)> {
    use std::os::unix::fs::FileExt;
    let file = tempfile::NamedTempFile::new().unwrap();
    parts.iter().for_each(|(offset, bytes)| file.as_file().write_all_at(bytes, *offset).unwrap());
    file.as_file().set_len(size).unwrap();
    let source = LineSource::open(file.path()).unwrap();
    (source.data_at(size - 1).start == size).then_some((source, file))
}

#[cfg(unix)]
#[test]
fn holes_in_a_line_are_skipped_without_reading() {
    const FAR: u64 = 1 << 42;
    for (beginning, is_refused) in [(&b""[..], false), (b"{\"a\":\"", true)] {
        let Some((source, _file)) = sparse(&[(0, b"{}\n"), (3, beginning), (FAR, b"x\"}\n{}\n")], 2 * FAR) else {
            return println!("skipped: the file system has no holes");
        };
        let mut reader = LineReader::default();
        reader.begin(0..u64::MAX);
        let next = |reader: &mut LineReader| {
            let next = reader.next_chunk(&source, 1);
            next.map(|chunk| chunk.map(|chunk| (chunk.bytes.to_vec(), chunk.offset, chunk.unterminated)))
        };
        assert_eq!(next(&mut reader), Ok(Some((b"{}\n".to_vec(), 0, false))));
        let expected = if is_refused {
            Err(ReadError::LineTooLong { line: 2 })
        } else {
            Ok(Some((PLACEHOLDER.to_vec(), 3, false)))
        };
        assert_eq!(next(&mut reader), expected);
        assert_eq!(next(&mut reader), Ok(Some((b"{}\n".to_vec(), FAR + 4, false))));
        assert_eq!(next(&mut reader), Ok(Some((PLACEHOLDER.to_vec(), FAR + 7, true))));
        assert_eq!((reader.position(), reader.is_at_end()), (2 * FAR, true));
        assert!(reader.buffer.len() <= 2 * LOOK_AHEAD_BYTES);
        for start in [1 << 41, FAR + 100] {
            reader.begin(start..u64::MAX);
            assert_eq!(reader.first_line(&source), Ok((start < FAR).then_some(FAR + 4)));
        }
    }
}

#[test]
fn refused_lines_are_not_buffered() {
    let line = |length: usize, last: u8| [b"{\"a\":\"", &vec![b'x'; length - 7][..], &[last, b'\n']].concat();
    for (length, last, is_kept) in
        [(MAX_LINE_BYTES, b'x', true), (MAX_LINE_BYTES + 1, b'x', false), (MAX_LINE_BYTES, b'\0', false)]
    {
        let content = [&line(length, last)[..], &line(MAX_LINE_BYTES, b'x')].concat();
        let (source, _file) = source_of(&content);
        let mut reader = LineReader::default();
        reader.begin(0..u64::MAX);
        let first = reader.next_chunk(&source, 0).map(|chunk| chunk.unwrap().bytes.len());
        match (is_kept, last) {
            (true, _) => assert_eq!(first, Ok(length + 1)),
            (_, b'\0') => assert_eq!(first, Ok(PLACEHOLDER.len())),
            _ => assert_eq!(first, Err(ReadError::LineTooLong { line: 1 })),
        }
        assert_eq!(reader.buffer.len() > 2 * LOOK_AHEAD_BYTES, is_kept);
        assert_eq!(reader.position(), length as u64 + 1);
    }
}

/// Reads all chunks of a range, and checks that they are whole lines and have the right offsets.
fn read_range(reader: &mut LineReader, source: &LineSource, content: &[u8], range: Range<u64>) -> Vec<u8> {
    let mut seen = Vec::new();
    reader.begin(range);
    while let Some(chunk) = reader.next_chunk(source, 0).unwrap() {
        let at = chunk.offset as usize;
        assert!(at == 0 || content[at - 1] == b'\n');
        assert_eq!(chunk.at_start, at == 0);
        assert_eq!(chunk.unterminated, !chunk.bytes.ends_with(b"\n"));
        assert!(!chunk.unterminated || at + chunk.bytes.len() == content.len());
        assert_eq!(&content[at..at + chunk.bytes.len()], chunk.bytes);
        seen.extend_from_slice(chunk.bytes);
    }
    let position = reader.position();
    assert!(reader.next_chunk(source, 0).unwrap().is_none());
    assert_eq!(reader.position(), position, "what lies behind the range is not read");
    seen
}

#[test]
fn chunks_are_whole_lines_and_cover_every_byte_once() {
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
    fn adjacent_ranges_yield_each_line_once(
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
fn adjacent_ranges_across_long_lines_yield_each_line_once() {
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
fn lines_that_can_not_be_json_are_skipped_in_bounded_memory() {
    let zeros = vec![0; 5 * CHUNK_BYTES + 17];
    for (tail, lines) in [(&b""[..], 2), (b"\n", 2), (b"\nnext\nlast", 4)] {
        let content = [b"first\n", &zeros[..], tail].concat();
        let (source, _file) = source_of(&content);
        let mut reader = LineReader::default();
        reader.begin(0..u64::MAX);
        let (mut seen, mut count) = (Vec::new(), 0);
        while let Some(chunk) = reader.next_chunk(&source, count).unwrap() {
            let at = chunk.offset as usize;
            if chunk.bytes != PLACEHOLDER {
                assert_eq!(&content[at..at + chunk.bytes.len()], chunk.bytes);
            }
            assert_eq!(chunk.unterminated, count + 1 == lines && !content.ends_with(b"\n"));
            count += crate::lines::lines::Lines::new(chunk.bytes).count() as u64;
            seen.extend_from_slice(chunk.bytes);
        }
        assert_eq!(seen, [b"first\n", PLACEHOLDER, tail.strip_prefix(b"\n").unwrap_or(tail)].concat());
        assert_eq!((count, reader.position()), (lines, content.len() as u64));
        assert!(reader.buffer.len() <= 2 * CHUNK_BYTES, "{}", reader.buffer.len());
    }
}

#[test]
fn oversized_torn_line_is_skipped() {
    let long = |length: usize| [b"{\"a\":\"", &vec![b'x'; length][..]].concat();
    for length in [MAX_LINE_BYTES - 6, MAX_LINE_BYTES - 5, MAX_LINE_BYTES, MAX_LINE_BYTES + (3 << 20)] {
        for (tail, is_torn) in [(&b""[..], true), (b"\n", false), (b"\nnext", false)] {
            let content = [b"{}\n", &long(length)[..], tail].concat();
            let (source, _file) = source_of(&content);
            let mut reader = LineReader::default();
            reader.begin(0..u64::MAX);
            assert_eq!(reader.next_chunk(&source, 0).unwrap().unwrap().bytes, b"{}\n");
            let next = reader.next_chunk(&source, 1).map(|chunk| {
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
    let chunk = reader.next_chunk(&source, 0).unwrap().unwrap();
    assert_eq!((chunk.bytes, chunk.offset), (&b"a\n\xef\xbb\xbfb\n"[..], 3));
}
