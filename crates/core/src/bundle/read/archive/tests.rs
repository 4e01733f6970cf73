//! Invalid and hostile archives, written byte by byte because libraries refuse to.

use std::fs;
use std::io::Write as _;

use super::*;
use crate::bundle::read::verify::{VerifyOptions, verify};
use crate::bundle::testing::{codes, codes_of, exported, files, imported, names, quietly, small_run, verified};

/// A header with a valid checksum and any name and type.
fn header(name: &[u8], kind: u8, size: &[u8]) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES];
    block[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    block[100..108].copy_from_slice(b"0000644\0");
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    block[124..124 + size.len()].copy_from_slice(size);
    block[136..148].copy_from_slice(b"00000000000\0");
    block[156] = kind;
    block[157..163].copy_from_slice(b"target");
    block[257..265].copy_from_slice(b"ustar\x0000");
    seal(&mut block);
    block
}

fn seal(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn octal(size: usize) -> Vec<u8> {
    format!("{size:011o}\0").into_bytes()
}

fn entry(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(name, kind, &octal(content.len()));
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
    bytes
}

fn zstd_of(tar: &[u8]) -> Vec<u8> {
    zstd::encode_all(tar, 3).unwrap()
}

const END: [u8; 1024] = [0; 1024];

/// The tar of a valid bundle.
fn good_tar() -> Vec<u8> {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.tar.zst");
    exported(small_run().directory.root(), &path);
    zstd::decode_all(fs::File::open(path).unwrap()).unwrap()
}

/// The codes of the problems of an archive. Also checks that importing it fails and leaves no files.
fn problems(archive: &[u8]) -> Vec<BundleCode> {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.tar.zst");
    fs::write(&path, archive).unwrap();
    let found = codes(&path);
    let inner = root.path().join("inner");
    fs::create_dir(&inner).unwrap();
    assert_eq!(imported(&path, &inner.join("y")).is_ok(), found.is_empty());
    if !found.is_empty() {
        assert_eq!((names(root.path()), names(&inner)), (vec!["inner".to_owned(), "x.tar.zst".to_owned()], vec![]));
    }
    found
}

/// The codes of the problems of a valid bundle with an additional first entry.
fn problems_with(entry: &[u8]) -> Vec<BundleCode> {
    problems(&zstd_of(&[entry, &good_tar()].concat()))
}

#[test]
fn unmodified_archive_is_accepted() {
    assert_eq!(problems(&zstd_of(&good_tar())), []);
    assert_eq!(problems_with(&entry(b"blobs/", b'5', b"")), [], "a directory says nothing");
    assert_eq!(problems_with(&entry(b"./", b'5', b"")), []);
}

#[test]
fn rejects_entries_that_lead_out_of_the_archive() {
    use BundleCode::*;
    for (name, code) in [
        (&b"/tmp/evil"[..], AbsolutePath),
        (b"../evil", ParentPath),
        (b"blobs/../../evil", ParentPath),
        (b"./../evil", ParentPath),
        (b"..\\evil", ParentPath),
        (b"C:/evil", DriveLetter),
        (b"a\\b", BackslashInPath),
        (b"a\xff", NotUtf8Path),
        (b"", InvalidPath),
        (b"././a", InvalidPath),
        (b"nul.txt", ReservedName),
        (b"Manifest.json", CaseCollision),
        (b"manifest.json", DuplicatePath),
        (b"unlisted", NotInManifest),
        (b"blobs", DuplicatePath),
    ] {
        let found = problems_with(&entry(name, b'0', b"evil"));
        assert!(found.contains(&code), "{}: {found:?}", name.escape_ascii());
    }
    // The type in pre-POSIX archives is NUL, and directories have a path that ends with a slash.
    assert!(problems_with(&entry(b"unlisted", 0, b"x")).contains(&NotInManifest));
    assert_eq!(problems_with(&entry(b"/etc/", b'5', b"")), [AbsolutePath]);
    assert_eq!(problems_with(&entry(b"../", b'5', b"")), [ParentPath]);
}

#[test]
fn rejects_entry_names_with_bytes_after_the_nul() {
    use BundleCode::NulInPath;
    for name in [&b"dag.json\0/../../evil"[..], b"../x\0y", b"\0x"] {
        let found = problems_with(&entry(name, b'0', b""));
        assert!(found.contains(&NulInPath), "{}: {found:?}", name.escape_ascii());
    }
    assert_eq!(problems_with(&entry(b"blobs/\0x", b'5', b"")), [NulInPath]);
    for prefix in [&b"a\0b"[..], b"\0b"] {
        let mut block = header(b"x", b'0', &octal(0));
        block[345..345 + prefix.len()].copy_from_slice(prefix);
        seal(&mut block);
        assert!(problems_with(&block).contains(&NulInPath), "{}", prefix.escape_ascii());
    }
    // A name that fills its field needs no NUL, and the prefix of the newer format counts too.
    assert_eq!(problems_with(&entry(&[b'd'; 100], b'5', b"")), []);
    let mut block = header(b"evil", b'0', &octal(0));
    block[345..347].copy_from_slice(b"..");
    seal(&mut block);
    assert!(problems_with(&block).contains(&BundleCode::ParentPath));
}

#[test]
fn rejects_entries_that_are_not_files() {
    use BundleCode::*;
    for (kind, code) in [
        (b'1', Link),
        (b'2', Link),
        (b'3', Device),
        (b'4', Device),
        (b'6', Device),
        (b'7', UnsupportedEntry),
        (b'L', UnsupportedEntry),
        (b'K', UnsupportedEntry),
        (b'x', UnsupportedEntry),
        (b'g', UnsupportedEntry),
        (b'S', UnsupportedEntry),
        (b'V', UnsupportedEntry),
        (b'Z', UnsupportedEntry),
    ] {
        let found = problems_with(&entry(b"thing", kind, b"30 path=/etc/passwd\n"));
        assert!(found.contains(&code), "{}: {found:?}", kind as char);
    }
    let links = [entry(b"blobs", b'2', b""), entry(b"blobs/x", b'0', b"evil")].concat();
    let found = problems_with(&links);
    assert!(found.contains(&Link) && found.contains(&NotInManifest), "{found:?}");
}

#[test]
fn reports_damaged_tar() {
    use BundleCode::*;
    let good = good_tar();
    let with = |at: usize, byte: u8| {
        let mut tar = good.clone();
        tar[at] = byte;
        problems(&zstd_of(&tar))
    };
    assert_eq!(with(0, b'x'), [ArchiveCorrupt], "a name without its checksum");
    assert_eq!(with(150, b'9'), [ArchiveCorrupt], "a checksum that is none");
    let size = |size: &[u8]| problems(&zstd_of(&[&header(b"x", b'0', size), &good[..]].concat()));
    assert_eq!(size(b"notanumber\0"), [ArchiveCorrupt]);
    assert!(size(b"77777777777\0").contains(&Truncated));
    // A size of 2^63 and more, in base 256.
    assert_eq!(size(b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"), [TotalTooLarge]);
    assert!(!size(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").is_empty());
    assert_eq!(problems_with(&entry(b"a/", b'5', b"content")), [ArchiveCorrupt]);
    let mut padded = entry(b"metadata.json", b'0', b"{}");
    padded[1023] = 1;
    assert!(problems_with(&padded).contains(&ArchiveCorrupt), "there is something between the files");
}

#[test]
fn rejects_missing_or_additional_bytes_at_the_end() {
    use BundleCode::*;
    let good = good_tar();
    let ended = good.len() - END.len();
    assert_eq!(problems(&zstd_of(&good[..ended])), [Truncated], "no end");
    assert_eq!(problems(&zstd_of(&good[..ended + 512])), [Truncated], "half an end");
    for cut in (1..ended).step_by(211).chain([ended - 1, ended - 513, 511]) {
        assert_eq!(problems(&zstd_of(&good[..cut])), [Truncated], "{cut}");
    }
    let more = |bytes: &[u8]| problems(&zstd_of(&[&good, bytes].concat()));
    assert_eq!(more(b"x"), [TrailingBytes]);
    assert_eq!(more(&entry(b"late", b'0', b"x")), [TrailingBytes]);
    assert_eq!(more(&vec![0; good.len().next_multiple_of(10_240) - good.len()]), [], "as tar fills up its last record");
    assert_eq!(more(&vec![0; 20_480]), [TrailingBytes]);
    let archive = zstd_of(&good);
    let behind = |bytes: &[u8]| problems(&[&archive, bytes].concat());
    assert_eq!(behind(b"\0"), [TrailingBytes]);
    assert_eq!(behind(&archive), [TrailingBytes], "a second frame");
    assert_eq!(behind(&[0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), [TrailingBytes], "a frame that decoders skip");
    for cut in [archive.len() - 1, archive.len() / 2, 20, 5] {
        assert!(problems(&archive[..cut]).contains(&Truncated), "{cut}");
    }
    assert_eq!(problems(&archive[..3]), [NotABundle]);
}

#[test]
fn rejects_invalid_and_oversized_frames_before_decoding() {
    use BundleCode::*;
    assert_eq!(problems(b""), [NotABundle]);
    assert_eq!(problems(&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]), [NotABundle]);
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let frame = |head: &[u8]| problems(&[&magic[..], head, &[0; 20]].concat());
    // 2 GiB; and just over 8 MiB.
    assert_eq!(frame(&[0x00, 21 << 3]), [WindowTooLarge]);
    assert_eq!(frame(&[0x00, 13 << 3 | 1]), [WindowTooLarge]);
    // A single segment of 2^60 bytes.
    assert_eq!(frame(&[0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10]), [WindowTooLarge]);
    assert_eq!(frame(&[0x01, 0x58, 7]), [ArchiveCorrupt], "a dictionary");
    assert_eq!(frame(&[0x10, 0x58]), [ArchiveCorrupt], "a bit without a meaning");
    assert_eq!(frame(&[0x08, 0x58]), [ArchiveCorrupt]);
    assert_eq!(problems(&magic), [Truncated]);
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&good_tar()).unwrap();
    assert_eq!(problems(&encoder.finish().unwrap()), [WindowTooLarge]);
}

#[test]
fn any_changed_byte_of_an_archive_is_found() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.tar.zst");
    exported(small_run().directory.root(), &path);
    let archive = fs::read(&path).unwrap();
    let (tar, mut harmless) = (zstd::decode_all(&archive[..]).unwrap(), 0);
    let some = (0..archive.len()).step_by(archive.len() / 60);
    for at in some.chain(0..12).chain(archive.len() - 8..archive.len()) {
        let mut damaged = archive.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, &damaged).unwrap();
        // Decoders ignore a few bits of a zstd frame.
        let same = zstd::decode_all(&damaged[..]).is_ok_and(|found| found == tar);
        let passed = verified(&path).is_ok();
        assert!(same || !passed, "byte {at}");
        harmless += usize::from(passed);
    }
    assert!(harmless < 10);
}

#[test]
fn stops_a_decompression_bomb_at_the_limit() {
    // 2 GiB of zeros, compressed to about 64 KiB.
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.write_all(&header(b"blobs/aa/x", b'0', &octal(2 << 30))).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..2048 {
        encoder.write_all(&zeros).unwrap();
    }
    encoder.write_all(&END).unwrap();
    let bomb = encoder.finish().unwrap();
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.tar.zst");
    fs::write(&path, &bomb).unwrap();
    let report = verified(&path);
    assert!(report.problems.iter().any(|problem| problem.code == BundleCode::ExpansionTooLarge));
    assert!(bomb.len() * 200 + (1 << 20) < 1 << 29, "most of it was never looked at");
}

#[test]
fn each_limit_has_its_code() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.tar.zst");
    exported(small_run().directory.root(), &path);
    let codes = |limits| {
        let options = VerifyOptions { limits, ..VerifyOptions::default() };
        let report = quietly(|task| verify(&path, &options, task)).unwrap();
        report.problems.iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    let limits = Limits::default();
    assert_eq!(codes(limits), []);
    assert!(codes(Limits { line_bytes: 100, ..limits }).contains(&BundleCode::LineTooLong));
    assert!(codes(Limits { blob_bytes: 3, ..limits }).contains(&BundleCode::BlobTooLarge));
    assert!(codes(Limits { files: 3, ..limits }).contains(&BundleCode::TooManyFiles));
    let tar = zstd::decode_all(fs::File::open(&path).unwrap()).unwrap().len() as u64;
    let size = fs::metadata(&path).unwrap().len();
    assert!(tar > 2 * size, "the allowance for small archives is the default's");
    assert_eq!(codes(Limits { expansion: 1, ..limits }), [BundleCode::ExpansionTooLarge]);
    assert_eq!(codes(Limits { expansion: tar / size, ..limits }), [BundleCode::ExpansionTooLarge]);
    assert_eq!(codes(Limits { expansion: tar / size + 1, ..limits }), []);
    assert!(
        limits.max_tar_bytes(10) == 2000 + (1 << 20)
            && Limits { expansion: 201, ..limits }.max_tar_bytes(10) >= limits.max_tar_bytes(10)
    );
    // Names of directories take memory too.
    let tar: Vec<u8> = (0..100).flat_map(|n| entry(format!("d{n}/").as_bytes(), b'5', b"")).collect();
    fs::write(&path, zstd_of(&[&tar[..], &END].concat())).unwrap();
    assert!(codes(Limits { files: 10, ..limits }).contains(&BundleCode::TooManyFiles));
}

#[test]
fn total_limit_applies_to_the_sum_of_all_files() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.tar.zst");
    let codes = |total_bytes| {
        let options = VerifyOptions { limits: Limits { total_bytes, ..Limits::default() }, ..VerifyOptions::default() };
        codes_of(&quietly(|task| verify(&path, &options, task)).unwrap().problems)
    };
    exported(small_run().directory.root(), &path);
    let unpacked = root.path().join("d");
    imported(&path, &unpacked).unwrap();
    let total = files(&unpacked).iter().map(|(_, bytes)| bytes.len() as u64).sum();
    assert_eq!(codes(total), []);
    for limit in [0, 1, 1024, total - 1] {
        assert_eq!(codes(limit), [BundleCode::TotalTooLarge], "{limit} of {total}");
    }
    // The size in the header is refused, before any content.
    let tar = [&header(b"blobs/aa/x", b'0', &octal(1 << 20))[..], &END].concat();
    fs::write(&path, zstd_of(&tar)).unwrap();
    assert_eq!(codes((1 << 20) - 1), [BundleCode::TotalTooLarge]);
    assert_eq!(codes(1 << 20), [BundleCode::Truncated]);
}

fn bounded(level: i32) -> Compression {
    Compression { is_bounded: true, ..Compression::new(level) }
}

/// The archive of one file with these bytes, written in pieces.
fn archive_of(bytes: &[u8], at_a_time: usize, compression: Compression) -> Vec<u8> {
    let size = bytes.len() as u64;
    let mut writer = ArchiveWriter::new(Vec::new(), compression, tar_bytes([size])).unwrap();
    writer.begin("a", size).unwrap();
    bytes.chunks(at_a_time).for_each(|bytes| writer.write(bytes).unwrap());
    writer.end().unwrap();
    writer.finish().unwrap()
}

#[test]
fn bounded_compression_stays_below_the_expansion_limit() {
    let line = b"the same words again, and again the same words\n".repeat(100_000);
    let mixed = [&vec![0; 2 << 20][..], &line, &vec![b'a'; 3 << 20]].concat();
    for (level, bytes) in [(1, &vec![b'a'; 8 << 20]), (3, &line), (9, &mixed), (22, &vec![0; 4 << 20])] {
        let archive = archive_of(bytes, 1 << 20, bounded(level));
        let tar = tar_bytes([bytes.len() as u64]);
        assert!(tar <= Limits::default().max_tar_bytes(archive.len() as u64));
        // The ratio holds without the readers' allowance for small archives, except for the first piece.
        let size = archive.len() as u64;
        assert!(tar <= size * MAX_EXPANSION + PIECE_BYTES as u64, "level {level}: {tar} of {size}");
        assert!(!expands_too_much(size, tar));
        let free = archive_of(bytes, 1 << 20, Compression::new(level)).len() as u64;
        assert!(expands_too_much(free, tar), "level {level}: {tar} of {free} by itself");
        assert!(tar >= size * MAX_EXPANSION / 3, "level {level}: no larger than it must be: {tar} of {size}");
        for at_a_time in [100_003, 1 << 30] {
            assert!(
                archive_of(bytes, at_a_time, bounded(level)) == archive,
                "level {level}, {at_a_time} bytes at a time"
            );
        }
        let decoded = zstd::decode_all(&archive[..]).unwrap();
        assert!(decoded.len() as u64 == tar && decoded[512..512 + bytes.len()] == bytes[..]);
    }
}

/// Text that compresses moderately.
fn words(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut words = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        format!("{:x} said {} ", state >> 56, state >> 50).into_bytes()
    };
    std::iter::repeat_with(&mut words).take(count).flatten().collect()
}

#[test]
fn content_within_the_expansion_limit_is_one_stream() {
    let text = words(60_000);
    let tar = [entry(b"a", b'0', &text), END.to_vec()].concat();
    let stream = zstd::encode_all(&tar[..], 1).unwrap();
    for compression in [Compression::new(1), bounded(1)] {
        let archive = archive_of(&text, 1000, compression);
        assert!(archive.len() <= stream.len() + stream.len() / 200, "{} against {}", archive.len(), stream.len());
    }
}

#[test]
fn compression_threads_do_not_change_the_archive() {
    // Enough for several threads, each of which compresses 2 MiB at level 1.
    let text = words(600_000);
    for (level, text) in [(1, &text[..]), (3, &text), (MAX_THREADED_LEVEL, &text), (1, &text[..600_000]), (1, b"x")] {
        let by = |threads, at_a_time| archive_of(text, at_a_time, Compression { level, threads, is_bounded: false });
        let archive = by(1, 1 << 20);
        for (threads, at_a_time) in [(1, 777_777), (2, 100_003), (3, 1 << 30), (4, 1 << 18)] {
            assert!(by(threads, at_a_time) == archive, "{threads} threads, {at_a_time} bytes at a time");
        }
        let decoded = zstd::decode_all(&archive[..]).unwrap();
        assert!(decoded[512..512 + text.len()] == *text);
    }
}

#[test]
fn archive_writer_rejects_files_that_differ_from_the_plan() {
    let writer = || ArchiveWriter::new(Vec::new(), bounded(3), tar_bytes([5])).unwrap();
    let mut more = writer();
    more.begin("a", 5).unwrap();
    assert!(more.write(b"123456").is_err());
    let mut less = writer();
    less.begin("a", 5).unwrap();
    less.write(b"1234").unwrap();
    assert!(less.end().is_err());
    let mut exact = writer();
    exact.begin("a", 5).unwrap();
    exact.write(b"12345").unwrap();
    exact.end().unwrap();
    assert_eq!(zstd::decode_all(&exact.finish().unwrap()[..]).unwrap().len() as u64, tar_bytes([5]));
}
