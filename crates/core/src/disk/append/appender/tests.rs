use super::*;
use std::fs::OpenOptions;
use std::io::Write;

fn file_of(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    std::fs::write(&path, content).unwrap();
    (directory, path)
}

fn open(path: &std::path::Path) -> Appender {
    Appender::open(&Arc::new(Target::new(path.to_path_buf()))).unwrap()
}

fn append_to(content: &[u8], lines: &[u8]) -> Vec<u8> {
    let (_directory, path) = file_of(content);
    open(&path).append(lines).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn append_never_joins_a_torn_tail() {
    assert_eq!(append_to(b"", b"a\n"), b"a\n");
    assert_eq!(append_to(b"x\n", b"a\nb\n"), b"x\na\nb\n");
    assert_eq!(append_to(b"x\n{\"to", b"a\n"), b"x\n{\"to\na\n");
}

#[test]
fn append_never_creates_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gone.jsonl");
    let opened = Appender::open(&Arc::new(Target::new(path.clone())));
    assert!(matches!(opened, Err(OpenError::System(error)) if error.code == "ENOENT"));
    assert!(!path.exists());
}

#[test]
fn partial_write_counts_only_whole_lines() {
    let batch = |newline: &'static [u8], written| Batch { newline, lines: b"aa\nbb\n", written };
    assert_eq!(batch(b"", 0).whole_lines(), 0);
    assert_eq!(batch(b"", 2).whole_lines(), 0);
    assert_eq!(batch(b"", 3).whole_lines(), 3);
    assert_eq!(batch(b"", 5).whole_lines(), 3);
    assert_eq!(batch(b"\n", 1).whole_lines(), 0);
    assert_eq!(batch(b"\n", 4).whole_lines(), 3);
    assert_eq!(batch(b"\n", 7).whole_lines(), 6);
}

#[test]
fn rollback_keeps_whole_lines_and_other_writers_data() {
    let (_directory, path) = file_of(b"x\n");
    let mut appender = open(&path);
    let error = || io::Error::from_raw_os_error(libc::ENOSPC);
    let partial = |written| Batch { newline: b"", lines: b"aaa\nbbb\n", written };

    appender.file.write_all(b"aaa\nbb").unwrap();
    let torn = appender.cut_back(&partial(6), error());
    assert_eq!((torn.lines, torn.error.code), (1, "ENOSPC"));
    assert_eq!(std::fs::read(&path).unwrap(), b"x\naaa\n");

    appender.file.write_all(b"aa").unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\nother\n").unwrap();
    assert_eq!(appender.cut_back(&partial(2), error()).lines, 0);
    assert_eq!(std::fs::read(&path).unwrap(), b"x\naaa\naa\nother\n");
}

#[cfg(unix)]
#[test]
fn suspended_writer_does_not_block_others_forever() {
    let (_directory, path) = file_of(b"");
    let _holds_the_lock = open(&path);
    open(&path).append(b"a\n").unwrap();
    assert_eq!(std::fs::read(path).unwrap(), b"a\n");
}
