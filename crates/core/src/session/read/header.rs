//! The header of a session file: its first line, without reading on (`docs/session-format.md` section 2, `readSessionHeader`).

use std::io::{self, Read};
use std::path::Path;

use crate::archived::{Archive, Packed, TORN, may_be_archive, open_either, open_packed, resolve};
use crate::disk::{BOM, Links, OsError, files};
use crate::foreign::{ConvertOptions, OpenedSource, open_converted};
use crate::json::Nesting;
use crate::lines::{LineReader, LineSource, ReadError, cannot_be_json};
use crate::session::format::{Body, Line, Mode};

/// Maximum length of the first line in bytes. A longer one does not count as a header, so that a listing of many files does not wait for it.
pub(super) const HEADER_BYTES: usize = 1 << 20;

/// Enough for nearly every header, and no more than one page.
const FIRST_READ_BYTES: usize = 4096;

/// Why a file has no header. The messages are more precise than those of a replay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The file can't be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The path is a directory. The message is that of a system that lets a directory be opened.
    #[error("EISDIR: illegal operation on a directory, read")]
    Directory,
    /// The path is a pipe or a device.
    #[error("Not a file")]
    NotAFile,
    /// The file is empty, or its first line is blank.
    #[error("Empty file or unreadable first line")]
    Empty,
    /// The first line does not end within [`HEADER_BYTES`].
    #[error("The first line is longer than {HEADER_BYTES} bytes")]
    TooLong,
    /// `JSON.parse` would refuse the first line.
    #[error("Missing or corrupt session_start event: first line is not valid JSON")]
    NotJson,
    /// The first line is JSON, but not a `session_start`.
    #[error("Missing or corrupt session_start event: first line is not a session_start event")]
    NotStart,
    /// The first line is a `session_start` whose payload is not an object. The message is that of a strict replay.
    #[error("Invalid session_start: missing or malformed required fields")]
    Invalid,
}

/// A session as a listing shows it.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Size of the session in bytes.
    pub size: u64,
    /// Size of the archive in bytes, if the session is archived.
    pub archived: Option<u64>,
    /// When it was last written, in milliseconds since 1970; 0 if the system does not report it.
    pub modified: f64,
    /// JSON text of the payload of its `session_start`.
    pub payload: Vec<u8>,
    /// Whether that has the fields that a strict replay requires.
    pub is_whole: bool,
}

impl Summary {
    /// Reads the payload of the file's `session_start`, and the file's metadata.
    pub fn of_header(path: &Path) -> Result<Self, HeaderError> {
        read(path, |_, _| Err(HeaderError::TooLong))
    }

    /// Like [`of_header`](Self::of_header), but also reads what a foreign session becomes.
    pub fn of_any_header(path: &Path) -> Result<Self, HeaderError> {
        let native = Self::of_header(path);
        if native.is_ok() || matches!(native, Err(HeaderError::Directory | HeaderError::NotAFile)) {
            return native;
        }
        let options = ConvertOptions { start_only: true, ..ConvertOptions::default() };
        let opened = open_converted(path, &options, &mut |_, _| (), LineSource::open_unread);
        let Ok(OpenedSource::Foreign(conversion)) = opened else {
            return native;
        };
        let mut reader = LineReader::default();
        reader.begin(0..1);
        let line = reader.next_chunk(&conversion.native, 0)?.map(|chunk| chunk.bytes.to_vec());
        let (payload, is_whole) = line.and_then(|line| payload_of(line).ok()).ok_or(HeaderError::NotStart)?;
        let modified = files::metadata(path).map_or(0.0, |metadata| metadata.modified_milliseconds());
        let archived = conversion.native.archived_bytes();
        Ok(Summary { size: conversion.summary.source_bytes, archived, modified, payload, is_whole })
    }

    /// Like [`of_header`](Self::of_header), but reads a first line of any length, as a replay does.
    pub fn read(path: &Path) -> Result<Self, HeaderError> {
        read(path, long_first_line)
    }
}

/// Reads the header of a file, and the file's metadata. If the first line does not end within [`HEADER_BYTES`], calls `read_on` with the path and the
/// beginning of the line to get the whole line. Opens only regular files, so that a listing of many files does not wait for the writer of a pipe.
fn read(
    path: &Path,
    read_on: impl FnOnce(&Path, &[u8]) -> Result<Vec<u8>, HeaderError>,
) -> Result<Summary, HeaderError> {
    match files::metadata(&resolve(path)) {
        Ok(metadata) if metadata.is_directory() => return Err(HeaderError::Directory),
        Ok(metadata) if !metadata.is_file() => return Err(HeaderError::NotAFile),
        _ => {}
    }
    let (mut file, metadata, archive) = open_either(path, Links::Followed).map_err(ReadError::System)?;
    metadata.expect_regular(path).map_err(ReadError::System)?;
    let mut found = first_line(&mut file, metadata.size).map_err(|error| failed(&error, "read", None))?;
    let (mut size, mut packed) = (metadata.size, None);
    if may_be_archive(found.beginning()) {
        let opened = open_packed(Packed::File(file), size, archive.as_deref().unwrap_or(path));
        if let Ok(archive) = opened.map_err(ReadError::System)? {
            (found, size) = first_archived_line(&archive).map_err(ReadError::System)?;
            packed = Some(archive);
        }
    }
    let line = match found {
        FirstLine::Whole(line) => line,
        FirstLine::Prefix(beginning) => read_on(path, &beginning)?,
    };
    let (payload, is_whole) = payload_of(line).map_err(|line| match packed {
        Some(_) if line == [TORN] => ReadError::Damaged(0).into(),
        _ => problem_of(&line),
    })?;
    let modified = metadata.modified_milliseconds();
    let Some(archive) = packed else { return Ok(Summary { size, archived: None, modified, payload, is_whole }) };
    // Only now: without a seek table, all of the archive has to be decompressed for it.
    let size = archive.size().map_err(ReadError::System)?;
    Ok(Summary { size, archived: Some(metadata.size), modified, payload, is_whole })
}

/// The first line of an archive, and the size of the content if all of it was read; otherwise a larger number.
fn first_archived_line(archive: &Archive) -> Result<(FirstLine, u64), OsError> {
    let mut limit = FIRST_READ_BYTES;
    loop {
        let content = archive.beginning(limit + 1)?;
        let is_end = content.len() <= limit;
        if is_end || limit >= HEADER_BYTES || content.contains(&b'\n') {
            let size = if is_end { content.len() as u64 } else { u64::MAX };
            // Reading from memory does not fail.
            return Ok((first_line(&mut &content[..], size).unwrap_or(FirstLine::Whole(Vec::new())), size));
        }
        limit *= 16;
    }
}

fn failed(error: &io::Error, syscall: &'static str, path: Option<&Path>) -> HeaderError {
    ReadError::System(OsError::new(error, syscall, path)).into()
}

/// Why a first line, given without its ending, has no payload.
fn problem_of(line: &[u8]) -> HeaderError {
    match Line::read(line.strip_prefix(BOM).unwrap_or(line), Mode::Lenient, &mut Nesting::default()) {
        Line::Blank => HeaderError::Empty,
        Line::Unparseable => HeaderError::NotJson,
        Line::Event(event) if event.body == Body::SessionStart(None) => HeaderError::Invalid,
        _ => HeaderError::NotStart,
    }
}

/// A first line of any length, read as a replay reads it.
fn long_first_line(path: &Path, beginning: &[u8]) -> Result<Vec<u8>, HeaderError> {
    if cannot_be_json(beginning) {
        return Err(HeaderError::NotJson);
    }
    let source = LineSource::open(path)?;
    let mut reader = LineReader::default();
    reader.begin(0..1);
    let Some(chunk) = reader.next_chunk(&source, 0)? else { return Ok(Vec::new()) };
    // The reader drops a byte order mark, and the parser of the line drops one too, so a second one remains.
    if chunk.bytes.starts_with(BOM) {
        return Err(HeaderError::NotJson);
    }
    Ok(chunk.bytes.strip_suffix(b"\n").unwrap_or(chunk.bytes).to_vec())
}

/// The payload of a file's first line, given without its ending, and whether it is whole; the line if it has none. Not a copy, because the line may
/// be long.
fn payload_of(mut line: Vec<u8>) -> Result<(Vec<u8>, bool), Vec<u8>> {
    let mark = if line.starts_with(BOM) { BOM.len() } else { 0 };
    let Some((payload, is_whole)) = Line::start_payload(&line[mark..]) else { return Err(line) };
    line.truncate(mark + payload.end as usize);
    line.drain(..mark + payload.start as usize);
    Ok((line, is_whole))
}

/// A first line, without its ending.
enum FirstLine {
    Whole(Vec<u8>),
    /// Its first [`HEADER_BYTES`] bytes; there are more.
    Prefix(Vec<u8>),
}

impl FirstLine {
    fn beginning(&self) -> &[u8] {
        let (FirstLine::Whole(line) | FirstLine::Prefix(line)) = self;
        line
    }
}

/// The first line of a file of this size.
fn first_line(file: &mut impl Read, size: u64) -> io::Result<FirstLine> {
    let mut line = vec![0; FIRST_READ_BYTES];
    let mut filled = 0;
    loop {
        match file.read(&mut line[filled..]) {
            Ok(0) => break,
            Ok(count) => {
                if let Some(newline) = memchr::memchr(b'\n', &line[filled..filled + count]) {
                    line.truncate(filled + newline);
                    return Ok(FirstLine::Whole(line));
                }
                filled += count;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if filled == HEADER_BYTES {
            // Not a byte more is read: the file's size shows whether the line ends here.
            if size == HEADER_BYTES as u64 {
                break;
            }
            return Ok(FirstLine::Prefix(line));
        }
        if filled == line.len() {
            line.resize((filled * 4).min(HEADER_BYTES), 0);
        }
    }
    line.truncate(filled);
    Ok(FirstLine::Whole(line))
}

#[cfg(test)]
mod tests;
