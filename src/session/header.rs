//! The header of a session file: its first line, without reading on (`session.md` section 2, `readSessionHeader`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::event::read_start_payload;

/// A first line that is longer is no header: a listing of many files must not read them.
pub const HEADER_BYTES: usize = 1 << 20;

/// Enough for nearly every header.
const FIRST_READ_BYTES: usize = 4096;

/// The JSON text of the payload of the file's `session_start`. `None` if the first line is none, or is longer than
/// [`HEADER_BYTES`], or can't be read.
pub fn read_header(path: &Path) -> Option<Vec<u8>> {
    let line = first_line(File::open(path).ok()?).ok()??;
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
    read_start_payload(line).map(|span| span.of(line).to_vec())
}

/// The first line without its ending, or `None` if it does not end within [`HEADER_BYTES`].
fn first_line(mut file: File) -> io::Result<Option<Vec<u8>>> {
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
    use std::io::Write;

    fn header(content: &[u8]) -> Option<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        read_header(file.path()).map(|payload| String::from_utf8(payload).unwrap())
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
        assert_eq!(read_header(Path::new("/no/such")), None);
        assert_eq!(read_header(Path::new("/")), None);
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
}
