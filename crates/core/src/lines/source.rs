//! A file of lines. It is opened once; any part of it can be read at any time, from any thread.
//!
//! A small file is read whole and kept in memory; parts of a large one are read when they are requested. Memory maps are not used: a file
//! that is truncated while it is mapped kills the process.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::opened_path::OpenedPath;
use crate::archived::{Archive, Content as Archived, FramedFile, Packed, Unpacked, open_packed};
use crate::disk::{File, FileKind, Metadata, OsError};
use crate::task::Cancellation;

/// The longest line that is read, in bytes: V8's longest string. A longer line could not become a JavaScript
/// value in any case.
pub const MAX_LINE_BYTES: usize = 0x1fff_ffe8;

/// A file smaller than this, in bytes, is read whole and kept.
const KEPT_BYTES: u64 = 1 << 20;

/// The most that is read, in bytes, of a file whose size the system reports as 0.
const MAX_UNKNOWN_BYTES: usize = 1 << 30;

/// Size in bytes of the first read of a file whose size is unknown or 0.
const UNKNOWN_BYTES: usize = 8 << 10;

/// Why reading a file failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A system call failed.
    #[error("{0}")]
    System(OsError),
    /// A line is longer than any JavaScript string.
    #[error("line {line} is longer than {MAX_LINE_BYTES} bytes, more than a JavaScript string can hold")]
    LineTooLong {
        /// The number of the physical line, from 1.
        line: u64,
    },
    /// Bytes that were scanned are no longer there.
    #[error("the file was changed while it was being read")]
    Changed,
    /// An archived session can't be decompressed any further than to this size of its content.
    #[error("The archive is damaged after {0} bytes")]
    Damaged(u64),
    /// What is to be read of a foreign session is not clear, or not there.
    #[error("{0}")]
    Conversation(String),
}

impl ReadError {
    /// Adds `lines`, the number of lines before those in which the error was found, to its line number.
    #[must_use]
    pub fn behind(self, lines: u64) -> Self {
        match self {
            ReadError::LineTooLong { line } => ReadError::LineTooLong { line: line + lines },
            other => other,
        }
    }
}

/// An open file of lines. That of an archived session has the offsets of the session.
pub struct LineSource {
    content: Content,
    /// The archive that was opened because there is no file at the path.
    archive: Option<PathBuf>,
    /// The size of the archive in bytes, if the file is one.
    archived_bytes: Option<u64>,
    /// The size of the content before a frame of the unpacked archive that does not check.
    damage: Option<u64>,
    size: u64,
    /// Offset from which on nothing is read.
    end: u64,
    metadata: Metadata,
}

enum Content {
    File(File),
    /// The whole content of a small file.
    Memory(Vec<u8>),
    /// An archived session.
    Framed(FramedFile),
}

impl LineSource {
    /// Opens the file at `path` for reading, or the archive next to it if only that exists. What is no regular file, such as a pipe or a device, is
    /// refused at once.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::of_opened(OpenedPath::at(path))
    }

    /// Like [`open`](Self::open), but reads nothing yet of a file whose size is known. For callers that need only its beginning.
    pub fn open_unread(path: &Path) -> Result<Self, ReadError> {
        Self::of(OpenedPath::at(path), 1)
    }

    /// Like [`open_unread`](Self::open_unread), for callers that need only the first `length` bytes of the content: an archive without a seek table is
    /// not unpacked beyond them, and seems to end there.
    pub fn open_beginning(path: &Path, length: usize) -> Result<Self, ReadError> {
        Self::packed_of(OpenedPath::at(path), 1)?
            .unarchived(path, |archive| match archive.has_frames() {
                true => archive.open(),
                false => Ok(Archived::Unpacked(Unpacked::Memory(archive.beginning(length)?), None)),
            })
            .map_err(ReadError::System)
    }

    /// Like [`open`](Self::open), of a path that is open already.
    pub fn of_opened(opened: OpenedPath) -> Result<Self, ReadError> {
        Self::of(opened, KEPT_BYTES)
    }

    /// The same file, without what is appended to it after it was opened: its last line ends where it ended then.
    #[must_use]
    pub fn as_opened(self) -> Self {
        LineSource { end: self.size, ..self }
    }

    /// Presents an open file, which may have no name.
    pub fn of_file(file: File) -> Result<Self, ReadError> {
        let metadata = file.metadata().map_err(|error| failed(&error, "fstat", None))?;
        Ok(Self::plain(Content::File(file), metadata.size, metadata))
    }

    /// Presents bytes in memory as a file.
    pub fn in_memory(content: Vec<u8>) -> Self {
        let size = content.len() as u64;
        let metadata = Metadata { kind: FileKind::File, size, modified: None, inode: None };
        Self::plain(Content::Memory(content), size, metadata)
    }

    /// A file that is no archive.
    fn plain(content: Content, size: u64, metadata: Metadata) -> Self {
        LineSource { content, archive: None, archived_bytes: None, damage: None, size, end: u64::MAX, metadata }
    }

    /// Presents what was opened. A file is read whole if it is smaller than `kept_bytes`.
    fn of(opened: OpenedPath, kept_bytes: u64) -> Result<Self, ReadError> {
        let path = opened.path.clone();
        Self::packed_of(opened, kept_bytes)?.unarchived(&path, Archive::open).map_err(ReadError::System)
    }

    /// Like [`of`](Self::of), but an archive is presented as it is.
    fn packed_of(OpenedPath { path, found, archive }: OpenedPath, kept_bytes: u64) -> Result<Self, ReadError> {
        let refused = |error: OsError| ReadError::System(error.about_recording());
        let (file, metadata) = found.map_err(refused)?;
        metadata.expect_regular(&path).map_err(refused)?;
        let (content, size) = read_or_keep_open(file, &metadata, kept_bytes, &Cancellation::current())?;
        Ok(LineSource { archive, ..Self::plain(content, size, metadata) })
    }

    /// The same file, with the content of the session if it is an archived one, which `open` opens.
    fn unarchived(self, path: &Path, open: impl FnOnce(Archive) -> Result<Archived, OsError>) -> Result<Self, OsError> {
        let packed = match self.content {
            Content::File(file) => Packed::File(file),
            Content::Memory(bytes) => Packed::Memory(bytes),
            Content::Framed(_) => return Ok(self),
        };
        let size = self.size;
        let found = open_packed(packed, size, self.archive.as_deref().unwrap_or(path))?;
        let with = |content, size| LineSource { content, size, ..self };
        let archive = match found {
            Err(Packed::File(file)) => return Ok(with(Content::File(file), size)),
            Err(Packed::Memory(bytes)) => return Ok(with(Content::Memory(bytes), size)),
            Ok(archive) => open(archive)?,
        };
        let (damage, (content, content_size)) = match archive {
            Archived::Framed(file) => {
                let size = file.size();
                (None, (Content::Framed(file), size))
            }
            Archived::Unpacked(Unpacked::File(file, size), damage) => (damage, (Content::File(file), size)),
            Archived::Unpacked(Unpacked::Memory(bytes), damage) => (damage, in_memory(bytes)),
        };
        Ok(LineSource { archived_bytes: Some(size), damage, ..with(content, content_size) })
    }

    /// If it is an archived session of which a frame does not check, as far as it was read: the size of the content before that. There is a byte more,
    /// which no line of JSON contains, and then the end.
    pub fn damage(&self) -> Option<u64> {
        match &self.content {
            Content::Framed(file) => file.damage(),
            _ => self.damage,
        }
    }

    /// The size of what can be read, as far as it is known: what is behind a damaged frame is not there.
    pub fn readable(&self) -> u64 {
        self.damage().map_or(self.size, |damage| damage + 1)
    }

    /// The path of the file that was opened at `path`: of the archive if only that existed.
    pub fn path_at<'p>(&'p self, path: &'p Path) -> &'p Path {
        self.archive.as_deref().unwrap_or(path)
    }

    /// The size of the archive in bytes, if this is an archived session.
    pub fn archived_bytes(&self) -> Option<u64> {
        self.archived_bytes
    }

    /// Reads the file from its beginning to the size that it had when it was opened.
    pub fn into_reader(self) -> SourceReader {
        SourceReader { source: self.as_opened(), at: 0 }
    }

    /// The ranges that can be read without reading others, from `start` on, if the file consists of such: those of an archive.
    pub(crate) fn frame_ranges(&self, start: u64, least: u64) -> Option<Vec<Range<u64>>> {
        match &self.content {
            Content::Framed(file) => {
                let end = self.readable();
                let ranges = file.ranges(start, least).into_iter();
                Some(ranges.take_while(|range| range.start < end || range.start == start).collect())
            }
            _ => None,
        }
    }

    /// Size of the file in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The metadata of the file when it was opened.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The first offset, from `offset` on, that has data. What is before it is a hole: the file has zeros there, which need not be read. Where that is
    /// unknown, everything counts as data.
    pub fn next_data(&self, offset: u64) -> u64 {
        match &self.content {
            Content::File(file) => file.next_data(offset).map_or(offset, |data| data.max(offset)),
            Content::Memory(_) | Content::Framed(_) => offset,
        }
    }

    /// The first range, from `offset` on, that has data; empty at the end of the file.
    pub fn data_at(&self, offset: u64) -> Range<u64> {
        let start = self.next_data(offset);
        let end = match &self.content {
            Content::File(file) if start < self.size => {
                file.next_hole(start).unwrap_or(self.size).clamp(start, self.size)
            }
            _ => self.size.max(start),
        };
        start..end
    }

    /// The `length` bytes at `offset`, read into `scratch` unless they are in memory. The caller must have seen them there before: if they
    /// are missing, the file was changed, and [`ReadError::Changed`] is returned.
    pub fn bytes_at<'a>(&'a self, offset: u64, length: usize, scratch: &'a mut Vec<u8>) -> Result<&'a [u8], ReadError> {
        match &self.content {
            Content::File(file) => {
                scratch.clear();
                read_exact_onto(scratch, length, file, offset)?;
                Ok(scratch)
            }
            Content::Framed(_) => {
                scratch.clear();
                self.append_bytes_at(offset, length, scratch)?;
                Ok(scratch)
            }
            Content::Memory(content) => {
                let start = usize::try_from(offset).map_err(|_| ReadError::Changed)?;
                let end = start.checked_add(length).ok_or(ReadError::Changed)?;
                content.get(start..end).ok_or(ReadError::Changed)
            }
        }
    }

    /// Appends the `length` bytes at `offset`, which the caller must have seen there before, to `bytes`.
    pub fn append_bytes_at(&self, offset: u64, length: usize, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
        match &self.content {
            Content::File(file) => read_exact_onto(bytes, length, file, offset),
            Content::Memory(_) => {
                bytes.extend_from_slice(self.bytes_at(offset, length, &mut Vec::new())?);
                Ok(())
            }
            Content::Framed(file) => {
                let start = bytes.len();
                bytes.resize(start + length, 0);
                let (mut filled, mut at) = (start, offset);
                while filled < bytes.len() {
                    match file.read_at(&mut bytes[filled..], at).map_err(ReadError::System)? {
                        0 => return Err(file.damage().map_or(ReadError::Changed, ReadError::Damaged)),
                        count => (filled, at) = (filled + count, at + count as u64),
                    }
                }
                Ok(())
            }
        }
    }

    /// Reads bytes from `offset` on into the buffer, and returns how many; 0 at the end of the file.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, ReadError> {
        match &self.content {
            Content::File(file) => loop {
                let rest = usize::try_from(self.end.saturating_sub(offset)).unwrap_or(usize::MAX);
                let length = buffer.len().min(rest);
                match file.read_at(&mut buffer[..length], offset) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    result => return result.map_err(|error| failed(&error, "read", None)),
                }
            },
            Content::Framed(file) => file.read_at(buffer, offset).map_err(ReadError::System),
            Content::Memory(content) => {
                let rest = usize::try_from(offset).ok().and_then(|start| content.get(start..)).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
        }
    }
}

/// Reads a file from its beginning.
pub struct SourceReader {
    source: LineSource,
    at: u64,
}

impl SourceReader {
    /// The file.
    pub fn into_source(self) -> LineSource {
        self.source
    }
}

impl io::Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(buffer, self.at).map_err(|error| match error {
            ReadError::System(error) if error.errno != 0 => io::Error::from_raw_os_error(-error.errno),
            other => io::Error::other(other),
        })?;
        self.at += count as u64;
        Ok(count)
    }
}

fn in_memory(bytes: Vec<u8>) -> (Content, u64) {
    let size = bytes.len() as u64;
    (Content::Memory(bytes), size)
}

/// Reads a small file into memory, and keeps a large one open. Returns its size too. A file whose size the system reports as 0, like many in
/// `/proc`, is read to its end.
fn read_or_keep_open(
    file: File,
    metadata: &Metadata,
    kept_bytes: u64,
    cancellation: &Cancellation,
) -> Result<(Content, u64), ReadError> {
    if metadata.size >= kept_bytes {
        return Ok((Content::File(file), metadata.size));
    }
    // One byte more than the file's size, so that the read that detects its end needs no second buffer.
    let mut content = vec![0; if metadata.size == 0 { UNKNOWN_BYTES } else { metadata.size as usize + 1 }];
    let mut filled = 0;
    loop {
        filled += fill(&file, &mut content[filled..], cancellation)?;
        if filled < content.len() {
            content.truncate(filled);
            return Ok(in_memory(content));
        }
        // The file has grown since it was opened.
        if let Some(size) = file.metadata().ok().map(|metadata| metadata.size).filter(|size| *size >= KEPT_BYTES) {
            return Ok((Content::File(file), size));
        }
        if filled > MAX_UNKNOWN_BYTES {
            let message = "more than 1 GiB came from a file without a size; write it to another file first";
            let error = OsError::new(&io::ErrorKind::FileTooLarge.into(), "read", None);
            return Err(ReadError::System(OsError { message, ..error }));
        }
        content.resize(filled * 2, 0);
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &File, buffer: &mut [u8], cancellation: &Cancellation) -> Result<usize, ReadError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match cancellation.check().and_then(|()| file.read(&mut buffer[filled..])) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(&error, "read", None)),
        }
    }
    Ok(filled)
}

fn read_exact_onto(bytes: &mut Vec<u8>, length: usize, file: &File, offset: u64) -> Result<(), ReadError> {
    let start = bytes.len();
    if start == 0 && bytes.capacity() < length {
        // The system provides this memory zeroed, so it need not be cleared.
        *bytes = vec![0; length];
    } else {
        bytes.resize(start + length, 0);
    }
    read_exact_at(file, &mut bytes[start..], offset)
}

fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> Result<(), ReadError> {
    while !buffer.is_empty() {
        match file.read_at(buffer, offset) {
            Ok(0) => return Err(ReadError::Changed),
            Ok(count) => {
                buffer = &mut buffer[count..];
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(&error, "read", None)),
        }
    }
    Ok(())
}

fn failed(error: &io::Error, syscall: &'static str, path: Option<&Path>) -> ReadError {
    ReadError::System(OsError::new(error, syscall, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn source_of(content: &[u8]) -> (LineSource, tempfile::NamedTempFile) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        (LineSource::open(file.path()).unwrap(), file)
    }

    #[test]
    fn any_part_of_a_file_can_be_read() {
        let large = b"0123456789".repeat(KEPT_BYTES as usize / 5);
        for content in [b"0123456789".to_vec(), large] {
            let (source, _file) = source_of(&content);
            let size = content.len();
            assert_eq!(source.size(), size as u64);
            assert_eq!(source.bytes_at(3, 4, &mut Vec::new()), Ok(&b"3456"[..]));
            assert_eq!(source.bytes_at(size as u64 - 3, 4, &mut Vec::new()), Err(ReadError::Changed));
            assert!(source.bytes_at(u64::MAX - 1, 4, &mut Vec::new()).is_err());
            let mut buffer = [0; 8];
            assert_eq!(source.read_at(&mut buffer, size as u64 - 2), Ok(2));
            assert_eq!(&buffer[..2], b"89");
            assert_eq!(source.read_at(&mut buffer, size as u64 + 7), Ok(0));
        }
    }

    #[test]
    fn archive_is_unpacked_no_further_than_a_reader_of_its_beginning_needs() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&zstd::encode_all(&b"0123456789\n".repeat(10_000)[..], 1).unwrap()).unwrap();
        assert_eq!(LineSource::open_beginning(file.path(), 100).unwrap().size(), 100);
        assert_eq!(LineSource::open_beginning(file.path(), 1 << 20).unwrap().size(), 110_000);
    }

    #[test]
    fn truncated_file_is_reported_as_changed() {
        let (source, file) = source_of(&b"0123456789\n".repeat(KEPT_BYTES as usize / 5));
        file.as_file().set_len(10).unwrap();
        assert_eq!(source.bytes_at(100, 10, &mut Vec::new()), Err(ReadError::Changed));
    }

    #[cfg(unix)]
    #[test]
    fn system_errors_have_the_wording_of_node() {
        let message = |path: &str| LineSource::open(Path::new(path)).err().unwrap().to_string();
        assert_eq!(message("/no/such/file"), "ENOENT: no such file or directory, open '/no/such/file'");
        assert_eq!(message("/"), "EISDIR: illegal operation on a directory, read");
        let refused = |what: &str, path: &str| {
            format!("EINVAL: {what}, not a regular file; write its content to a file first, open '{path}'")
        };
        for device in ["/dev/null", "/dev/zero"] {
            assert_eq!(message(device), refused("a device", device));
        }
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name).display().to_string();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert_eq!(message(&at("pipe")), refused("a pipe", &at("pipe")));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(message(&at("socket")), refused("a socket", &at("socket")));
    }
}
