use super::unix::{BLOCK_BYTES, WRITER_PATIENCE};
use super::*;
use crate::lines::LineSource;
use crate::task::Cancellation;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

fn pipe() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    (root, path)
}

/// What is read from a pipe to which another thread writes these pieces, one after the other.
fn drained(pieces: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    let (_root, path) = pipe();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
            for piece in pieces {
                std::thread::sleep(Duration::from_millis(30));
                // The reader may already have stopped.
                let _ = writer.write_all(piece);
            }
        });
        let source = LineSource::open_or_drain(&path).map_err(|error| error.to_string())?;
        let mut scratch = Vec::new();
        Ok(source.bytes_at(0, source.size() as usize, &mut scratch).unwrap().to_vec())
    })
}

#[test]
fn reads_everything_that_is_written_to_a_pipe() {
    let pieces = [b"one\n".to_vec(), vec![b'x'; 3 * BLOCK_BYTES], b"last".to_vec()];
    assert_eq!(drained(&pieces), Ok(pieces.concat()));
    assert_eq!(drained(&[]), Ok(vec![]), "a writer that writes nothing makes an empty file");
}

#[test]
fn stream_beyond_the_limit_is_an_error() {
    let error = drained(&vec![vec![b'x'; 1 << 20]; 6]).unwrap_err();
    assert!(error.starts_with("EFBIG: more than 1 GiB"), "{error}");
}

#[test]
fn cancellation_ends_the_wait_for_a_pipe_writer() {
    let (_root, path) = pipe();
    let error = LineSource::open_or_drain(&path).err().unwrap().to_string();
    let expected = format!("EINVAL: a pipe without a writer, not a regular file, open '{}'", path.display());
    assert_eq!(error, expected);
    let refused = LineSource::open(&path).err().unwrap().to_string();
    assert_eq!(refused, format!("EINVAL: a pipe, not a regular file, open '{}'", path.display()));
}

#[test]
fn cancellation_ends_the_wait_for_data() {
    let (_root, path) = pipe();
    let cancellation = Cancellation::default();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| cancellation.during(|| LineSource::open_or_drain(&path).err().unwrap()));
        let _silent = OpenOptions::new().write(true).open(&path).unwrap();
        std::thread::sleep(WRITER_PATIENCE + Duration::from_millis(200));
        assert!(!reader.is_finished(), "a writer that is there is waited for");
        cancellation.cancel();
        assert!(reader.join().unwrap().to_string().starts_with("ECANCELED: "));
    });
}

#[test]
fn only_empty_devices_are_readable() {
    assert_eq!(LineSource::open(Path::new("/dev/null")).ok().map(|source| source.size()), Some(0));
    let error = LineSource::open_or_drain(Path::new("/dev/zero")).err().unwrap().to_string();
    assert_eq!(error, "EINVAL: a device, not a regular file, open '/dev/zero'");
}
