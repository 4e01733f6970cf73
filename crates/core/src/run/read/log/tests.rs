use std::io::Cursor;

use super::*;
use crate::run::format::log_of;

/// All whole lines of a log, the length of its torn end, and the size of the largest buffer.
fn read_through(log: &[u8]) -> Result<(Vec<u8>, u64, usize), RunError> {
    let mut reader = LogReader::new(log, 0);
    let (mut seen, mut largest, mut spare) = (Vec::new(), 0, Vec::new());
    while let Some(chunk) = reader.next_chunk(spare)? {
        assert!(chunk.bytes().ends_with(b"\n"));
        assert_eq!(chunk.offset, seen.len() as u64);
        seen.extend_from_slice(chunk.bytes());
        spare = chunk.into_spare();
        largest = largest.max(spare.len());
    }
    assert_eq!(reader.offset(), seen.len() as u64);
    assert!(reader.next_chunk(Vec::new())?.is_none());
    Ok((seen, reader.torn().bytes, largest))
}

#[test]
fn chunks_hold_each_whole_line_once() {
    let line = |length: usize| [vec![b'x'; length], vec![b'\n']].concat();
    let c = CHUNK_BYTES;
    let mixed: Vec<u8> = (0..2000).flat_map(|n| line(n * 7919 % 1500)).collect();
    let long = [line(c - 1), line(c), line(6 * c + 3), line(5), line(c - 2)].concat();
    for log in [Vec::new(), b"\n".to_vec(), mixed, long] {
        for torn in [0, 1, 2 * c] {
            let whole = [log.clone(), vec![b'y'; torn]].concat();
            let (seen, found, _) = read_through(&whole).unwrap();
            assert!(seen == log, "{} bytes and {torn}", log.len());
            assert_eq!(found, torn as u64);
        }
    }
}

#[test]
fn a_buffer_that_grew_for_one_line_shrinks_again() {
    let log = [vec![b'x'; 4 << 20], b"\n".to_vec(), b"short\n".repeat(1 << 20)].concat();
    let mut reader = LogReader::new(&log[..], 0);
    let mut spare = Vec::new();
    let mut sizes = Vec::new();
    while let Some(chunk) = reader.next_chunk(spare).unwrap() {
        spare = chunk.into_spare();
        sizes.push(spare.capacity());
    }
    assert!(sizes[0] > 4 << 20);
    assert!(sizes.last().unwrap() <= &(2 * CHUNK_BYTES), "{sizes:?}");
}

#[test]
fn oversized_line_is_an_error_or_torn_and_never_buffered() {
    let limit = |extra: usize| vec![b'x'; EventLine::MAX_BYTES + extra];
    let (seen, ..) = read_through(&[limit(0), b"\n".to_vec()].concat()).unwrap();
    assert_eq!(seen.len(), EventLine::MAX_BYTES + 1);
    let huge = [b"a\n".to_vec(), limit(40 << 20)].concat();
    let (seen, torn, largest) = read_through(&huge).unwrap();
    assert_eq!((&seen[..], torn), (&b"a\n"[..], (EventLine::MAX_BYTES + (40 << 20)) as u64));
    assert!(largest <= EventLine::MAX_BYTES + CHUNK_BYTES);
    let complete = [huge, b"\nmore\n".to_vec()].concat();
    assert_eq!(read_through(&complete).unwrap_err().code, ErrorCode::TooLarge);
}

#[test]
fn text_ends_at_the_line_that_is_not_utf8() {
    let log = b"good\n{\"v\":1,\"time\":7,\"ts\":\"\xff\"}\nmore\n";
    let chunk = LogReader::new(&log[..], 0).next_chunk(Vec::new()).unwrap().unwrap();
    let (text, fault) = chunk.text();
    let fault = fault.unwrap();
    assert_eq!((text, fault.code, fault.time), ("good\n", ErrorCode::NotAJsonLine, Some(7)));
}

#[test]
fn data_appended_after_opening_is_not_read() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    io::Write::write_all(&mut file, b"one\ntwo").unwrap();
    let mut reader = LogReader::open(file.path()).unwrap();
    let large = vec![b'x'; 2 * CHUNK_BYTES];
    io::Write::write_all(&mut file, &[b" is whole\n", &large[..], b"\nmore\n"].concat()).unwrap();
    let seen = reader.next_chunk(Vec::new()).unwrap().unwrap();
    assert_eq!(seen.bytes(), b"one\ntwo is whole\n");
    assert!(reader.next_chunk(Vec::new()).unwrap().is_none());
    assert_eq!(reader.torn(), TornEnd::default());
}

#[test]
fn search_finds_every_event() {
    for (count, padding) in [(0, 0), (1, 0), (40, 0), (3000, 5), (40, 100_000), (600, 2000)] {
        let log = log_of(count, padding);
        let starts: Vec<usize> = [0].into_iter().chain(memchr::memchr_iter(b'\n', &log).map(|at| at + 1)).collect();
        for torn in [&b""[..], b"{\"v\":1,\"time\":99999999,\"ts", &vec![0; 1 << 20]] {
            let mut log = Cursor::new([&log, torn].concat());
            for time in (0..count).step_by(1 + count as usize / 97) {
                let found = find(&mut log, time).unwrap();
                assert_eq!(found, Position::At(starts[time as usize] as u64), "{time} of {count}");
            }
            for time in [count, count + 1, u64::MAX] {
                assert_eq!(find(&mut log, time).unwrap(), Position::BehindEnd, "{time} of {count}");
            }
        }
    }
}

#[test]
fn a_search_in_a_damaged_log_finds_the_event_or_says_that_it_cannot() {
    let log = log_of(1000, 50);
    let middle = memchr::memchr_iter(b'\n', &log).nth(500).unwrap() + 1;
    let without = [&log[..middle], &log[middle + 400..]].concat();
    for damaged in [without, [&log[..middle], b"garbage\n", &log[middle..]].concat()] {
        for time in 0..1000 {
            if let Position::At(offset) = find(&mut Cursor::new(&damaged), time).unwrap() {
                assert_eq!(EventLine::peek_time(&damaged[offset as usize..]), Some(time));
            }
        }
    }
}

#[test]
fn system_errors_have_the_wording_of_node() {
    let error = LogReader::open(Path::new("/no/such/log")).err().unwrap();
    assert_eq!(error.code, ErrorCode::SystemError);
    assert_eq!(error.message, "ENOENT: no such file or directory, open '/no/such/log'");
}

#[test]
fn a_log_ends_at_the_line_with_a_hole() {
    let whole = [vec![b'x'; 700], b"\n".to_vec()].concat();
    for (before, hole) in [(0, 512), (701, 1024 - 701), (701, 2 * CHUNK_BYTES - 701), (1402, 2048 - 1402)] {
        let log = [&whole.repeat(2)[..before], &vec![0; hole], &whole.repeat(3)].concat();
        let (seen, torn, _) = read_through(&log).unwrap();
        assert_eq!((seen.len(), torn as usize), (before, log.len() - before), "{hole} zeros at {before}");
    }
}

/// Zeros that were written over a line are damage, not a hole.
#[test]
fn zeros_that_do_not_end_with_a_sector_or_begin_in_the_middle_of_one_are_part_of_their_line() {
    let in_the_middle = [&[b'x'; 100][..], &[0; 412], b"y\nz\n"].concat();
    for log in [[&b"a\n"[..], &[0; 512], b"b\nc\n"].concat(), in_the_middle] {
        assert_eq!(read_through(&log).unwrap(), (log.clone(), 0, CHUNK_BYTES));
    }
}

/// Lines after a hole are counted, wherever the hole is and however long they are.
#[test]
fn complete_lines_behind_a_hole_are_counted() {
    let event = [vec![b'x'; 700], b"\n".to_vec()].concat();
    for (before, behind) in [(0, 0), (1, 1), (3, 2), (900, 900)] {
        let whole = event.repeat(before);
        let hole = whole.len().next_multiple_of(512) + 512 - whole.len();
        let log = [&whole[..], &vec![0; hole], &event.repeat(behind + 1)].concat();
        let mut reader = LogReader::new(&log[..], 0);
        let mut seen = 0;
        while let Some(chunk) = reader.next_chunk(Vec::new()).unwrap() {
            seen += chunk.bytes().len();
        }
        let torn = TornEnd { bytes: (log.len() - whole.len()) as u64, lines: behind as u64 + 1 };
        assert_eq!((seen, reader.torn()), (whole.len(), torn));
    }
    let long = [&[0; 512][..], &vec![b'x'; EventLine::MAX_BYTES + CHUNK_BYTES], b"\n\n"].concat();
    let mut reader = LogReader::new(&long[..], 0);
    assert!(reader.next_chunk(Vec::new()).unwrap().is_none());
    assert_eq!(reader.torn(), TornEnd { bytes: long.len() as u64, lines: 2 });
}

#[cfg(unix)]
#[test]
fn a_hole_of_any_size_is_passed_without_reading_it() {
    use std::os::unix::fs::FileExt;
    let (file, far) = (tempfile::NamedTempFile::new().unwrap(), 1 << 42);
    let log = log_of(3, 200);
    file.as_file().write_all_at(&log, 0).unwrap();
    file.as_file().write_all_at(b"{}\n", far).unwrap();
    file.as_file().set_len(2 * far).unwrap();
    let mut input = InputFile::open(file.path()).unwrap();
    input.seek(SeekFrom::Start(far + far / 2)).unwrap();
    if input.pass_hole().unwrap() == 0 {
        return println!("skipped: the file system has no holes");
    }
    let mut reader = LogReader::open(file.path()).unwrap();
    let chunk = reader.next_chunk(Vec::new()).unwrap().unwrap();
    assert!(chunk.bytes() == log);
    assert!(reader.next_chunk(Vec::new()).unwrap().is_none());
    assert_eq!(reader.torn(), TornEnd { bytes: 2 * far - log.len() as u64, lines: 1 });
    assert_eq!(find(&mut InputFile::open(file.path()).unwrap(), 1).ok(), find(&mut Cursor::new(&log[..]), 1).ok());
}
