use super::frame::TORN;
use super::*;
use crate::disk::files;
use crate::lines::LineSource;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn archive(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut survey = Survey::default();
    survey.add(content);
    let mut writer = ArchiveWriter::new(&mut bytes, &survey).unwrap();
    content.chunks(70_001).for_each(|piece| writer.add(piece).unwrap());
    assert_eq!(writer.finish().unwrap(), bytes.len() as u64);
    bytes
}

/// Lines that compress as sessions do.
fn lines(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 200);
    let mut seq = 0_u64;
    while text.len() < bytes {
        seq += 1;
        let noise = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        text.extend_from_slice(
            format!("{{\"v\":1,\"seq\":{seq},\"payload\":\"{noise:x}{:x}\"}}\n", noise.rotate_left(17)).as_bytes(),
        );
    }
    text
}

fn written(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn content_of(path: &Path) -> Vec<u8> {
    let source = LineSource::open(path).unwrap();
    let (mut content, mut buffer) = (Vec::new(), vec![0; 100_003]);
    loop {
        match source.read_at(&mut buffer, content.len() as u64).unwrap() {
            0 => return content,
            count => content.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The output of a program that reads its input. `None`, with the reason, if it is not installed.
fn output_of(program: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    use std::io::Write;
    let started = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        println!("skipped: {program} is not installed");
        return None;
    };
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}");
    Some(output.stdout)
}

#[test]
fn an_archive_has_the_bytes_of_the_session_at_its_offsets() {
    let directory = tempfile::tempdir().unwrap();
    for size in [0, 1, 5_000, FRAME_BYTES - 30, FRAME_BYTES, 3 * FRAME_BYTES + 17] {
        let text = lines(size);
        let path = written(directory.path(), "s.jsonl.zst", &archive(&text));
        let source = LineSource::open(&path).unwrap();
        assert_eq!(
            (source.size(), source.archived_bytes()),
            (text.len() as u64, Some(files::metadata(&path).unwrap().size))
        );
        assert_eq!(content_of(&path), text, "{size}");
        let at = text.len() * 2 / 3;
        let length = (text.len() - at).min(FRAME_BYTES + 5);
        assert_eq!(source.bytes_at(at as u64, length, &mut Vec::new()).unwrap(), &text[at..at + length]);
        assert!(source.bytes_at(text.len() as u64, 1, &mut Vec::new()).is_err());
    }
}

#[test]
fn frames_end_at_lines_unless_a_line_is_longer() {
    let long = [&lines(1000)[..], &vec![b'x'; 2 * FRAME_BYTES], b"\n", &lines(2 * FRAME_BYTES)].concat();
    let directory = tempfile::tempdir().unwrap();
    let path = written(directory.path(), "s.jsonl.zst", &archive(&long));
    assert_eq!(content_of(&path), long);
    let ranges = LineSource::open(&path).unwrap().frame_ranges(0, 1).unwrap();
    assert!(ranges.iter().all(|range| range.end - range.start <= FRAME_BYTES as u64), "{ranges:?}");
    let text = lines(3 * FRAME_BYTES);
    let path = written(directory.path(), "s.jsonl.zst", &archive(&text));
    let ranges = LineSource::open(&path).unwrap().frame_ranges(0, 1).unwrap();
    assert!(ranges.len() == 4 && ranges.iter().all(|range| text[range.end as usize - 1] == b'\n'), "{ranges:?}");
}

#[test]
fn zstd_restores_the_identical_file() {
    for size in [0, 5_000, 2 * FRAME_BYTES + 17] {
        let text = lines(size);
        let Some(restored) = output_of("zstd", &["-d", "-c"], &archive(&text)) else { return };
        assert_eq!(restored, text);
    }
}

#[test]
fn archives_of_other_programs_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let text = lines(3 << 20);
    let halves = text.split_at(text.len() / 2 + 11);
    let Some(one_frame) = output_of("zstd", &["-3", "-c"], &text) else { return };
    let several =
        [halves.0, halves.1].map(|half| output_of("zstd", &["-19", "-c", "--no-check"], half).unwrap()).concat();
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &several].concat();
    for bytes in [one_frame, several, skippable] {
        for name in ["s.jsonl.zst", "renamed"] {
            assert_eq!(content_of(&written(directory.path(), name, &bytes)), text);
        }
    }
}

#[test]
fn what_is_behind_damage_is_a_torn_line() {
    let directory = tempfile::tempdir().unwrap();
    let text = lines(4 * FRAME_BYTES);
    let whole = archive(&text);
    let path = written(directory.path(), "s.jsonl.zst", &whole);
    let ranges = LineSource::open(&path).unwrap().frame_ranges(0, 1).unwrap();
    let second = ranges[1].start as usize;
    let torn = [&text[..second], &[TORN]].concat();
    // Somewhere in the second of five frames: with a seek table, and without one because its end is missing.
    let mut changed = whole.clone();
    changed[whole.len() * 2 / 5 - 500] ^= 4;
    assert_eq!(content_of(&written(directory.path(), "changed.jsonl.zst", &changed)), torn);
    let (untabled, cut) = (&changed[..whole.len() - 1], &whole[..whole.len() * 2 / 5 - 500]);
    for bytes in [untabled, cut] {
        let path = written(directory.path(), "cut.jsonl.zst", bytes);
        assert_eq!(content_of(&path), torn);
        assert_eq!(LineSource::open(&path).unwrap().size(), torn.len() as u64);
    }
    let nothing = written(directory.path(), "nothing.jsonl.zst", &whole[..20]);
    assert_eq!(content_of(&nothing), [TORN]);
}

/// Regression guard: a table may claim any number of frames of any size.
#[test]
fn a_table_that_lies_is_no_worse_than_damage() {
    let text = lines(2 * FRAME_BYTES);
    let whole = archive(&text);
    let directory = tempfile::tempdir().unwrap();
    let table = whole.len() - (3 * 12 + 9);
    for (at, value) in
        [(table + 4, 1 << 22), (table + 4, 17), (table + 8, 1), (table, 1 << 30), (whole.len() - 9, u32::MAX)]
    {
        let mut lying = whole.clone();
        lying[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let content = content_of(&written(directory.path(), "s.jsonl.zst", &lying));
        let good = content.strip_suffix(&[TORN]).unwrap_or(&content);
        assert!(text.starts_with(good), "byte {at}");
    }
}

/// Other programs write checksums into the table alone.
#[test]
fn a_frame_without_a_checksum_is_checked_by_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let texts = [lines(1000), lines(1000).to_ascii_uppercase()];
    let frames = [0, 1].map(|at| zstd::bulk::compress(&texts[at], 3).unwrap());
    for (claimed, expected) in [(1, texts.concat()), (0, [&texts[0][..], &[TORN]].concat())] {
        let entry = |at: usize, of: usize| super::table::Frame {
            packed_offset: 0,
            packed: frames[at].len() as u32,
            offset: 0,
            length: texts[at].len() as u32,
            checksum: Some(super::frame::checksum_of(&texts[of])),
        };
        let mut bytes = frames.concat();
        super::table::append_table(&[entry(0, 0), entry(1, claimed)], &mut bytes);
        assert_eq!(content_of(&written(directory.path(), "s.jsonl.zst", &bytes)), expected);
    }
}

#[test]
fn the_archive_stands_for_a_session_that_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let (plain, archived) = (directory.path().join("s.jsonl"), directory.path().join("s.jsonl.zst"));
    assert_eq!(
        LineSource::open(&plain).err().unwrap().to_string(),
        format!("ENOENT: no such file or directory, open '{}'", plain.display())
    );
    fs::write(&archived, archive(b"archived\n")).unwrap();
    assert_eq!((content_of(&plain), resolve(&plain).into_owned()), (b"archived\n".to_vec(), archived.clone()));
    assert_eq!(LineSource::open(&plain).unwrap().path_at(&plain), archived);
    fs::write(&plain, "plain\n").unwrap();
    assert_eq!((content_of(&plain), content_of(&archived)), (b"plain\n".to_vec(), b"archived\n".to_vec()));
    assert_eq!(resolve(&plain), plain);
    assert_eq!([archive_of(&archived), session_of(&plain)], [None, None]);
    assert_eq!((archive_of(&plain), session_of(&archived)), (Some(archived), Some(plain)));
}

proptest! {
    #[test]
    fn any_content_is_read_back_at_any_offset(content: Vec<u8>, times in 1_usize..4, at: prop::sample::Index, length in 0_usize..5000) {
        let directory = tempfile::tempdir().unwrap();
        let content = content.repeat(times);
        let path = written(directory.path(), "s.jsonl.zst", &archive(&content));
        let source = LineSource::open(&path).unwrap();
        let at = at.index(content.len() + 1);
        let length = length.min(content.len() - at);
        let mut scratch = Vec::new();
        prop_assert_eq!(source.bytes_at(at as u64, length, &mut scratch).unwrap(), &content[at..at + length]);
        prop_assert_eq!(content_of(&path), content);
    }

    /// Whatever happens to the bytes of an archive, what is read is a beginning of the session, and nothing panics.
    #[test]
    fn a_damaged_archive_has_a_beginning_of_the_session(at: prop::sample::Index, byte: u8, cut: Option<prop::sample::Index>) {
        let directory = tempfile::tempdir().unwrap();
        let text = lines(40_000);
        let mut bytes = archive(&text);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        let path = written(directory.path(), "s.jsonl.zst", &bytes);
        // A file that does not begin as an archive is a session of other bytes.
        if is_archived(&path) {
            let content = content_of(&path);
            // Of a frame that breaks off, the checksum is missing.
            let is_checked = cut.is_none() || at >= bytes.len();
            prop_assert!(!is_checked || text.starts_with(content.strip_suffix(&[TORN]).unwrap_or(&content)));
        }
    }
}

/// Lines with the same image again and again, and text between them.
fn images(bytes: usize) -> Vec<u8> {
    let mut noise = 1_u64;
    let mut digit = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(noise >> 58) as usize]
    };
    let images: Vec<Vec<u8>> = (0..5).map(|_| (0..1_400_000).map(|_| digit()).collect()).collect();
    let mut text = Vec::with_capacity(bytes + (2 << 20));
    for image in images.iter().cycle() {
        if text.len() >= bytes {
            break;
        }
        text.extend_from_slice(b"{\"data\":\"");
        text.extend_from_slice(image);
        text.extend_from_slice(b"\"}\n");
        text.extend_from_slice(&lines(1_000));
    }
    text
}

#[test]
fn a_session_that_repeats_long_strings_has_long_frames_in_which_a_repeat_costs_nothing() {
    let content = images(72 << 20);
    let bytes = archive(&content);
    // Each frame has the five images once: 1.4 MB of base64 are 1.05 MB.
    assert!(bytes.len() < 2 * 5 * 1_060_000 + 200_000, "{}", bytes.len());
    let directory = tempfile::tempdir().unwrap();
    let path = written(directory.path(), "session-s.jsonl.zst", &bytes);
    assert!(content_of(&path) == content);
    let decoded = Command::new("zstd").args(["-dc", "--long=26"]).arg(&path).stdout(Stdio::piped()).output();
    match decoded {
        Ok(decoded) => assert!(decoded.status.success() && decoded.stdout == content),
        Err(error) => eprintln!("skipped: zstd can't be run here: {error}"),
    }
}

#[test]
fn an_ordinary_session_has_the_same_frames_as_before() {
    let content = lines(9 << 20);
    let mut survey = Survey::default();
    survey.add(&content);
    assert_eq!(survey.long_frames(), None);
}
