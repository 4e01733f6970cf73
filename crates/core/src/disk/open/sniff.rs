//! Detects what a file contains from its first bytes. Its name says nothing, since files get renamed.

use std::io::{Read, SeekFrom};
use std::path::Path;

use super::input_file::InputFile;
use crate::disk::open::files;
use crate::disk::system::File;

/// Number of bytes that are read.
const BEGINNING_BYTES: usize = 64;

/// The first bytes of a zstd frame.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The byte order mark of UTF-8, with which a file may begin.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// Whether a file that begins with these bytes is an archive. Text never begins with them.
pub fn is_archive(beginning: &[u8]) -> bool {
    beginning.starts_with(&ZSTD_MAGIC)
}

/// Whether a file that begins with these bytes may be a session or a log, whose first line is an object: the first byte that is not
/// white space is `{`, or there is white space only.
pub fn may_be_recording(beginning: &[u8]) -> bool {
    let text = beginning.strip_prefix(BOM).unwrap_or(beginning);
    text.trim_ascii_start().first().map_or(!text.is_empty(), |byte| *byte == b'{')
}

/// The first bytes of a regular file. Returns `None` for anything else, and if the file can't be read. Does not open a pipe: its
/// writer would start and then find no reader.
pub fn beginning_of(path: &Path) -> Option<Vec<u8>> {
    let mut file = files::is_file(path).then(|| InputFile::open(path).ok())??;
    let mut beginning = [0; BEGINNING_BYTES];
    // One read of a regular file returns as much as there is.
    let count = file.read(&mut beginning).ok()?;
    Some(beginning[..count].to_vec())
}

/// The first bytes of an open regular file, whose position stays where it is. `None` if the file can't be read.
pub fn beginning_of_file(file: &File) -> Option<Vec<u8>> {
    let mut beginning = [0; BEGINNING_BYTES];
    // On Windows, reading at an offset moves the position.
    let position = file.seek(SeekFrom::Current(0)).ok()?;
    let count = file.read_at(&mut beginning, 0).ok()?;
    file.seek(SeekFrom::Start(position)).ok()?;
    Some(beginning[..count].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Links;
    use std::fs;
    use std::io::Seek as _;

    #[test]
    fn first_bytes_determine_the_kind_of_a_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        for (bytes, archive, recording) in [
            (&b"\x28\xb5\x2f\xfd\x04"[..], true, false),
            (b"\x28\xb5\x2f", false, false),
            (b"{\"v\":1}\n", false, true),
            (b"\xef\xbb\xbf \t{", false, true),
            (b"   ", false, true),
            (b"", false, false),
            (b"no archive", false, false),
            (&[b' '; 100], false, true),
        ] {
            fs::write(&path, bytes).unwrap();
            let beginning = beginning_of(&path).unwrap();
            let mut open = File::open_any(&path, Links::Followed).unwrap().0;
            assert_eq!(beginning_of_file(&open).as_ref(), Some(&beginning));
            assert_eq!(open.stream_position().unwrap(), 0, "reads from where it was");
            assert_eq!((is_archive(&beginning), may_be_recording(&beginning)), (archive, recording), "{bytes:?}");
        }
        assert_eq!(beginning_of(root.path()), None);
        assert_eq!(beginning_of(&root.path().join("none")), None);
    }

    #[cfg(unix)]
    #[test]
    fn sniffing_does_not_wait_for_a_pipe() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(beginning_of(&pipe), None);
    }
}
