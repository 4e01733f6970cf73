//! The header of a session file: its first line, without reading on (`session.md` section 2, `readSessionHeader`).

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::event::read_start_payload;
use crate::cached_read::read_cached;
use crate::os_error::OsError;

/// A first line that is longer is no header: a listing of many files must not read them.
pub const HEADER_BYTES: usize = 1 << 20;

/// Enough for nearly every header, and no more than one page.
const FIRST_READ_BYTES: usize = 4096;

/// Why a file has no header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The system refused.
    #[error("{0}")]
    System(OsError),
    /// A directory, a pipe, a device.
    #[error("Not a file")]
    NotAFile,
    /// The file has no line at all.
    #[error("Empty file")]
    Empty,
    /// The first line does not end within [`HEADER_BYTES`].
    #[error("The first line is longer than {HEADER_BYTES} bytes")]
    TooLong,
    /// The first line is no `session_start`.
    #[error("Missing or corrupt session_start event")]
    Missing,
}

/// A session as a listing shows it.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Bytes in the file.
    pub size: u64,
    /// When it was last written, in milliseconds since 1970; 0 where the system does not tell.
    pub modified: f64,
    /// JSON text of the payload of its `session_start`.
    pub payload: Vec<u8>,
}

/// The JSON text of the payload of the file's `session_start`.
pub fn read_header(path: &Path) -> Result<Vec<u8>, HeaderError> {
    read_summary(path).map(|summary| summary.payload)
}

/// What [`read_header`] would give, if the first line is short and the system has it in memory. Never waits, so that the JavaScript
/// thread may call it; `None` if that is not possible, and for whatever is not a whole first line.
pub fn read_header_at_once(path: &Path) -> Option<Result<Vec<u8>, HeaderError>> {
    let mut buffer = [0; FIRST_READ_BYTES];
    let bytes = read_cached(path, &mut buffer)?;
    let line = &bytes[..memchr::memchr(b'\n', bytes)?];
    Some(payload_of(line).map(<[u8]>::to_vec).ok_or(HeaderError::Missing))
}

/// The header of a file, and what the system tells of the file. Other things than files are not opened: who asks for many headers
/// must not wait for whoever writes to a pipe.
pub fn read_summary(path: &Path) -> Result<Summary, HeaderError> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(HeaderError::NotAFile),
        _ => read(path),
    }
}

fn read(path: &Path) -> Result<Summary, HeaderError> {
    let failed = |syscall| move |error: io::Error| HeaderError::System(OsError::new(&error, syscall, None));
    let mut file = File::open(path).map_err(|error| HeaderError::System(OsError::new(&error, "open", Some(path))))?;
    let line = first_line(&mut file).map_err(failed("read"))?.ok_or(HeaderError::TooLong)?;
    let metadata = file.metadata().map_err(failed("fstat"))?;
    let Some(payload) = payload_of(&line) else {
        let empty = line.is_empty() && metadata.len() == 0;
        return Err(if empty { HeaderError::Empty } else { HeaderError::Missing });
    };
    Ok(Summary { size: metadata.len(), modified: modified(&metadata), payload: payload.to_vec() })
}

/// The payload of a file's first line, given without its ending.
fn payload_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    read_start_payload(line).map(|payload| payload.of(line))
}

fn modified(metadata: &Metadata) -> f64 {
    let since_1970 = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since_1970.map_or(0.0, |time| time.as_millis() as f64)
}

/// The first line without its ending, or `None` if it does not end within [`HEADER_BYTES`].
fn first_line(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let mut line = vec![0; FIRST_READ_BYTES];
    let mut filled = 0;
    loop {
        match file.read(&mut line[filled..]) {
            Ok(0) => break,
            Ok(count) => {
                if let Some(newline) = memchr::memchr(b'\n', &line[filled..filled + count]) {
                    line.truncate(filled + newline);
                    return Ok(Some(line));
                }
                filled += count;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if filled == HEADER_BYTES {
            // Not a byte more is read: whether the line ends here the file's size has to tell.
            if file.metadata()?.len() == HEADER_BYTES as u64 {
                break;
            }
            return Ok(None);
        }
        if filled == line.len() {
            line.resize((filled * 4).min(HEADER_BYTES), 0);
        }
    }
    line.truncate(filled);
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn header(content: &[u8]) -> Option<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        read_header(file.path()).ok().map(|payload| String::from_utf8(payload).unwrap())
    }

    /// A header line of exactly `length` bytes, its ending not counted.
    fn line_of(length: usize) -> Vec<u8> {
        let (front, back) = (br#"{"type":"session_start","payload":{"x":""#, br#""}}"#);
        [&front[..], &vec![b'a'; length - front.len() - back.len()], back].concat()
    }

    #[test]
    fn the_payload_is_given_as_it_stands() {
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
    fn a_file_without_a_header_says_why() {
        let reason = |content: &[u8]| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(content).unwrap();
            read_header(file.path()).unwrap_err()
        };
        assert_eq!(reason(b""), HeaderError::Empty);
        assert_eq!(reason(b"\n"), HeaderError::Missing);
        assert_eq!(reason(&line_of(HEADER_BYTES + 1)), HeaderError::TooLong);
        assert_eq!(read_summary(Path::new("/")).unwrap_err(), HeaderError::NotAFile);
        let missing = read_header(Path::new("/no/such")).unwrap_err().to_string();
        assert_eq!(missing, "ENOENT: no such file or directory, open '/no/such'");
    }

    #[test]
    fn a_line_may_fill_what_is_read_and_no_more() {
        for length in [FIRST_READ_BYTES - 1, FIRST_READ_BYTES, FIRST_READ_BYTES + 1, HEADER_BYTES - 1] {
            assert!(header(&[&line_of(length)[..], b"\nnext"].concat()).is_some(), "{length}");
        }
        assert!(header(&line_of(HEADER_BYTES)).is_some());
        assert!(header(&[&line_of(HEADER_BYTES)[..], b"\n"].concat()).is_none());
        assert!(header(&line_of(HEADER_BYTES + 1)).is_none());
    }

    /// First lines of all kinds, most of them about as long as what is read at once, and what may follow them.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            (FIRST_READ_BYTES - 60..FIRST_READ_BYTES + 60).prop_map(line_of),
            (60..200_usize).prop_map(line_of),
            Just(br#"{"type":"session_start","payload":{"a":"\u0061\xff"}}"#.to_vec()),
            Just(br#"{"type":"session_start","payload":[]}"#.to_vec()),
            Just(br#"{"type":"content","payload":{}}"#.to_vec()),
            proptest::collection::vec(any::<u8>(), 0..60),
        ];
        let bom = prop_oneof![4 => Just(&b""[..]), 1 => Just(&b"\xef\xbb\xbf"[..])];
        let after = proptest::sample::select(vec![&b""[..], b"\n", b"\r\n", b"\nmore", b"more", b"\n\n"]);
        (bom, line, after).prop_map(|(bom, line, after)| [bom, &line, after].concat())
    }

    proptest! {
        #[test]
        fn at_once_or_not_the_header_is_the_same(content in content()) {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&content).unwrap();
            if let Some(found) = read_header_at_once(file.path()) {
                prop_assert!(content[..content.len().min(FIRST_READ_BYTES)].contains(&b'\n'));
                prop_assert_eq!(found, read_header(file.path()));
            }
        }
    }
}
