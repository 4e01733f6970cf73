//! The text of a damaged file: its bytes, or what they decode to if another program encoded them.

use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use super::error::RepairError;
use crate::archived::{Packed, Recovered, is_archive_name, recover};
use crate::disk::{File, InputFile, OsError, sniff};
use crate::hash::Hash;
use crate::lines::{LineSource, ReadError};
use crate::task::Task;

/// The first bytes of a gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Number of bytes that are read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// How a file is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, as sessions are.
    Plain,
    Gzip,
    Zstd,
    Utf16,
}

impl Encoding {
    /// The name that users read.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Encoding::Plain => "UTF-8",
            Encoding::Gzip => "gzip",
            Encoding::Zstd => "zstd",
            Encoding::Utf16 => "UTF-16",
        }
    }
}

/// The text of a file.
pub(super) struct Text {
    /// The file, or a temporary one with the decoded text.
    pub source: LineSource,
    /// The encoding of the file itself.
    pub encoding: Encoding,
    /// Problems of the encoding.
    pub warnings: Vec<String>,
    /// The parts of an archive that can't be decompressed, by their offsets in it.
    pub lost: Vec<Range<u64>>,
}

/// Opens the text of the file at `path`.
pub(super) fn open(path: &Path, task: &mut Task<'_>) -> Result<Text, RepairError> {
    let source = LineSource::open(path).map_err(|error| RepairError::reading(error, path))?.as_opened();
    let mut beginning = [0; BEGINNING_BYTES];
    let filled = source.read_at(&mut beginning, 0).map_err(|error| RepairError::reading(error, path))?;
    let beginning = &beginning[..filled];
    let encoding = encoding_of(beginning);
    if source.archived_bytes().is_some() {
        if encoding != Encoding::Plain || !is_whole_archive(&source, path, task)? {
            return recovered(path, task);
        }
    } else if is_archive_name(path) && encoding != Encoding::Zstd {
        // The first bytes of an archive may be what is damaged.
        let text = recovered(path, task)?;
        if text.source.size() > 0 {
            return Ok(text);
        }
    }
    if encoding == Encoding::Plain {
        return Ok(Text { source, encoding, warnings: Vec::new(), lost: Vec::new() });
    }
    drop(source);
    let mut warnings = Vec::new();
    let mut file = InputFile::open(path)?;
    let mut text = match encoding {
        Encoding::Gzip => unpacked(&mut MultiGzDecoder::new(&mut file), encoding, &mut warnings, task)?,
        Encoding::Zstd => {
            let decoder = zstd::stream::read::Decoder::new(&mut file);
            let mut decoder = decoder.map_err(|error| OsError::new(&error, "read", Some(path)))?;
            unpacked(&mut decoder, encoding, &mut warnings, task)?
        }
        Encoding::Utf16 | Encoding::Plain => from_utf16(&mut file, beginning, &mut warnings, task)?,
    };
    if encoding != Encoding::Utf16
        && let Some(recoded) = recoded(&mut text, &mut warnings, task)?
    {
        text = recoded;
    }
    let source = LineSource::of_file(text).map_err(|error| RepairError::reading(error, path))?.as_opened();
    Ok(Text { source, encoding, warnings, lost: Vec::new() })
}

/// The text as UTF-8, if it is UTF-16: what was unpacked may be.
fn recoded(text: &mut File, warnings: &mut Vec<String>, task: &mut Task<'_>) -> Result<Option<File>, RepairError> {
    let mut beginning = [0; BEGINNING_BYTES];
    let filled = text.read_at(&mut beginning, 0).map_err(failed("read"))?;
    let beginning = &beginning[..filled];
    let is_utf16 = encoding_of(beginning) == Encoding::Utf16;
    is_utf16.then(|| from_utf16(text, beginning, warnings, task)).transpose()
}

/// Whether all of an archived session can be read, frame by frame.
fn is_whole_archive(source: &LineSource, path: &Path, task: &mut Task<'_>) -> Result<bool, RepairError> {
    let (mut chunk, mut at) = (vec![0; CHUNK_BYTES], 0);
    if source.frame_ranges(0, 1).is_none() {
        return Ok(false);
    }
    loop {
        task.check()?;
        match source.read_at(&mut chunk, at).map_err(|error| RepairError::reading(error, path))? {
            0 => return Ok(source.damage().is_none()),
            count => at += count as u64,
        }
    }
}

/// What can be decompressed of an archive, from whatever frame.
fn recovered(path: &Path, task: &mut Task<'_>) -> Result<Text, RepairError> {
    let file = InputFile::open(path)?;
    let size = file.metadata()?.size;
    let packed = Packed::File(file.into_file());
    let Recovered { mut content, lost, damage } = task.cancellation.during(|| recover(&packed, size))?;
    let mut warnings: Vec<_> = damage.map(|damage| ReadError::Damaged(damage).to_string()).into_iter().collect();
    let mut encoding = if damage.is_none() { Encoding::Plain } else { Encoding::Zstd };
    if let Some(recoded) = recoded(&mut content, &mut warnings, task)? {
        content = recoded;
        encoding = Encoding::Utf16;
    }
    let source = LineSource::of_file(content).map_err(|error| RepairError::reading(error, path))?.as_opened();
    Ok(Text { source, encoding, warnings, lost })
}

fn encoding_of(beginning: &[u8]) -> Encoding {
    match beginning {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Encoding::Utf16,
        _ if guessed_order(beginning).is_some() => Encoding::Utf16,
        _ if beginning.starts_with(&GZIP_MAGIC) => Encoding::Gzip,
        _ if sniff::is_archive(beginning) => Encoding::Zstd,
        _ => Encoding::Plain,
    }
}

/// Number of bytes by which an encoding is recognised.
const BEGINNING_BYTES: usize = 16;

/// Whether UTF-16 without a byte order mark is big-endian, if the text begins like such: with ASCII, of which every other byte is zero.
fn guessed_order(beginning: &[u8]) -> Option<bool> {
    let is_ascii = |order: fn([u8; 2]) -> u16| {
        let units = beginning.as_chunks().0;
        units.len() >= BEGINNING_BYTES / 2 && units.iter().all(|unit| (b'\t'.into()..0x7f).contains(&order(*unit)))
    };
    match (is_ascii(u16::from_le_bytes), is_ascii(u16::from_be_bytes)) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    }
}

/// How the bytes of a record in the middle of UTF-8 can be read if they are UTF-16.
#[derive(Debug, PartialEq)]
pub(super) enum Utf16Record {
    /// All of it is ASCII: nothing is between the characters but zero bytes.
    Ascii,
    /// Nothing tells the order of the bytes, by which its characters are others.
    Unknown,
}

/// Whether a record, from its `{` to its `}`, is UTF-16.
pub(super) fn utf16_of(record: &[u8]) -> Option<Utf16Record> {
    let is_zero = |at: usize| record.get(at) == Some(&0);
    let is_utf16 = is_zero(1) && is_zero(3) && !is_zero(2) && record.len().checked_sub(2).is_some_and(is_zero);
    let is_ascii = record.iter().enumerate().all(|(at, byte)| (*byte == 0) == (at % 2 == 1) && byte.is_ascii());
    is_utf16.then_some(if is_ascii { Utf16Record::Ascii } else { Utf16Record::Unknown })
}

/// The error of a temporary file, which has no name.
fn failed(syscall: &'static str) -> impl Fn(io::Error) -> OsError {
    move |error| OsError::new(&error, syscall, None)
}

/// Unpacks into a temporary file. What follows damage can't be unpacked: it ends the text.
fn unpacked(
    packed: &mut impl Read,
    encoding: Encoding,
    warnings: &mut Vec<String>,
    task: &mut Task<'_>,
) -> Result<File, RepairError> {
    let mut file = File::unnamed().map_err(failed("open"))?;
    let (mut chunk, mut size) = (vec![0; CHUNK_BYTES], 0);
    loop {
        task.check()?;
        match packed.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => {
                file.write_all(&chunk[..count]).map_err(failed("write"))?;
                size += count as u64;
            }
            Err(error) if error.raw_os_error().is_some() => return Err(failed("read")(error).into()),
            Err(_) => {
                let name = encoding.as_str();
                warnings.push(format!("The {name} stream is damaged: nothing after {size} unpacked bytes can be read"));
                break;
            }
        }
    }
    Ok(file)
}

/// Converts UTF-16 with this beginning into UTF-8 without a byte order mark.
fn from_utf16(
    file: &mut (impl Read + io::Seek),
    beginning: &[u8],
    warnings: &mut Vec<String>,
    task: &mut Task<'_>,
) -> Result<File, RepairError> {
    file.seek(io::SeekFrom::Start(0)).map_err(failed("read"))?;
    let mut text = BufWriter::new(File::unnamed().map_err(failed("open"))?);
    let guessed = guessed_order(beginning);
    let big = guessed.unwrap_or(beginning.starts_with(&[0xfe, 0xff]));
    if guessed.is_some() {
        let order = if big { "big" } else { "little" };
        warnings
            .push(format!("The text has no byte order mark: by its first bytes, it was read as {order}-endian UTF-16"));
    }
    let (mut bytes, mut units) = (Vec::new(), Vec::new());
    let (mut replaced, mut is_first) = (0_u64, true);
    loop {
        task.check()?;
        let count = file.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut bytes).map_err(failed("read"))?;
        let pairs = bytes.chunks_exact(2).filter_map(|pair| <[u8; 2]>::try_from(pair).ok());
        units.extend(pairs.map(|pair| if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }));
        bytes.drain(..bytes.len() & !1);
        // The second half of a pair of surrogates may be in the next chunk.
        let is_half = count > 0 && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
        let whole = units.len() - usize::from(is_half);
        for decoded in char::decode_utf16(units.drain(..whole)) {
            replaced += u64::from(decoded.is_err());
            let character = decoded.unwrap_or(char::REPLACEMENT_CHARACTER);
            if !std::mem::replace(&mut is_first, false) || character != '\u{feff}' {
                text.write_all(character.encode_utf8(&mut [0; 4]).as_bytes()).map_err(failed("write"))?;
            }
        }
        if count == 0 {
            break;
        }
    }
    if !bytes.is_empty() {
        warnings.push("The UTF-16 text ends with half a unit: its last byte is lost".to_owned());
    }
    if replaced > 0 {
        warnings.push(format!("Replaced {replaced} lone surrogates of the UTF-16 text by U+FFFD"));
    }
    text.into_inner().map_err(|error| failed("write")(error.into_error()).into())
}

/// The size and the SHA-256 of the file at `path`.
pub(super) fn hash_of(path: &Path, task: &mut Task<'_>) -> Result<(u64, Hash), RepairError> {
    let mut file = InputFile::open(path)?;
    let (mut hasher, mut chunk, mut size) = (Sha256::new(), vec![0; CHUNK_BYTES], 0);
    loop {
        task.check()?;
        match file.read(&mut chunk) {
            Ok(0) => return Ok((size, hasher.finalize().into())),
            Ok(count) => {
                hasher.update(&chunk[..count]);
                size += count as u64;
            }
            Err(error) => return Err(OsError::new(&error, "read", Some(path)).into()),
        }
    }
}
