//! Bundles as one file: plain tar inside plain zstd. `tar --zstd -xf` opens it.
//!
//! What is written is a function of paths and contents: no times, no owners, one mode. What is read may be repacked by
//! other tools, as long as each entry is a plain file under a short path; a directory entry says nothing and is passed over.

use std::cell::Cell;
use std::io::{self, BufReader, Chain, Cursor, Read, Write};
use std::rc::Rc;

use tar::{EntryType, Header};

use super::container::{Container, Visitor, from_io_error, into_io_error, read_up_to};
use super::error::{BundleCode, BundleError};
use super::limits::{DEFAULT_EXPANSION, Limits};
use super::path::{BundlePath, Names};
use crate::disk::input_file::InputFile;
use crate::disk::sniff::ZSTD_MAGIC as MAGIC;

/// The unit of tar.
const BLOCK_BYTES: usize = 512;

/// The unit in which other tools write tar: they fill it up with zeros.
const RECORD_BYTES: u64 = 10_240;

/// The largest window of zstd that is written and read, as a power of two: 8 MiB, what every decoder supports.
const MAX_WINDOW_LOG: u32 = 23;

/// The longest header of a zstd frame.
const FRAME_HEADER_BYTES: usize = 18;

/// The largest block of zstd. A bounded archive is compressed in pieces of this size, so that zstd makes of them what it would anyway.
const PIECE_BYTES: usize = 128 << 10;

/// The pieces in which it is compressed while it expands too much. Each costs a block, of at least 4 bytes.
const SMALL_PIECE_BYTES: usize = 256;

/// How many times its own size an archive expands to before there are small pieces: what readers allow by default, with room to spare.
const MOST_EXPANSION: u64 = DEFAULT_EXPANSION * 4 / 5;

/// The highest level at which several threads compress. Each has a context of its own, which takes more memory at higher ones.
const MAX_THREADED_LEVEL: i32 = 12;

/// The most threads that compress: more would wait for the disk, and each has its buffers.
const MAX_THREADS: usize = 4;

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// zstd's level.
    pub level: i32,
    /// How many threads compress, at least 1. The archive is the same whatever their number.
    pub threads: u32,
    /// Whether the archive expands to no more than what readers allow by default. That it nearly always does by itself, and to
    /// see to it takes time: each block has to be compressed before the next one is begun.
    pub is_bounded: bool,
}

impl Compression {
    /// At this level, by as many threads as this machine runs at once, not bounded.
    pub fn new(level: i32) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
        Compression { level, threads: threads as u32, is_bounded: false }
    }
}

/// Whether an archive of `size` bytes expands to more than a bounded one would.
pub fn expands_too_much(size: u64, tar_bytes: u64) -> bool {
    tar_bytes > size.saturating_mul(MOST_EXPANSION).saturating_add(PIECE_BYTES as u64)
}

/// Writes an archive. Its bytes depend neither on how many are written at a time nor on the number of threads.
pub struct ArchiveWriter<W: Write> {
    encoder: zstd::Encoder<'static, Written<W>>,
    is_bounded: bool,
    /// What of a bounded archive was not compressed yet, less than a piece.
    piece: Vec<u8>,
    /// How many bytes were compressed.
    compressed: u64,
    left: u64,
    padding: usize,
}

/// Counts the bytes of an archive that is written. It passes on no flush, which is but the end of a block.
struct Written<W> {
    out: W,
    count: u64,
}

impl<W: Write> Write for Written<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.count += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many bytes the tar of files of these sizes has.
pub fn tar_bytes(sizes: impl IntoIterator<Item = u64>) -> u64 {
    let block = BLOCK_BYTES as u64;
    sizes.into_iter().fold(2 * block, |sum, size| sum + block + size.div_ceil(block) * block)
}

impl<W: Write> ArchiveWriter<W> {
    /// An archive of `total` bytes of tar.
    pub fn new(out: W, compression: Compression, total: u64) -> io::Result<Self> {
        let Compression { level, threads, is_bounded } = compression;
        let mut encoder = zstd::Encoder::new(Written { out, count: 0 }, level)?;
        encoder.include_checksum(true)?;
        encoder.include_contentsize(true)?;
        encoder.set_pledged_src_size(Some(total))?;
        if level > 19 {
            encoder.window_log(MAX_WINDOW_LOG)?;
        }
        if level <= MAX_THREADED_LEVEL && !is_bounded {
            // Also where there is one: what several make of it is another archive than that of none.
            encoder.multithread(threads.max(1))?;
        }
        Ok(ArchiveWriter { encoder, is_bounded, piece: Vec::new(), compressed: 0, left: 0, padding: 0 })
    }

    /// Begins a file, whose bytes come next.
    pub fn begin(&mut self, path: &str, size: u64) -> io::Result<()> {
        let mut header = Header::new_ustar();
        header.set_path(path)?;
        header.set_size(size);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(EntryType::Regular);
        header.set_cksum();
        self.left = size;
        self.padding = padding(size);
        self.add(header.as_bytes())
    }

    /// Writes bytes of the file. More than it was said to have are an error.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| io::Error::other("more bytes than were announced"))?;
        self.add(bytes)
    }

    /// Ends the file. Fewer bytes than it was said to have are an error.
    pub fn end(&mut self) -> io::Result<()> {
        if self.left > 0 {
            return Err(io::Error::other("fewer bytes than were announced"));
        }
        self.add(&[0; BLOCK_BYTES][..self.padding])
    }

    /// Ends the archive.
    pub fn finish(mut self) -> io::Result<W> {
        self.add(&[0; 2 * BLOCK_BYTES])?;
        if self.is_bounded {
            self.compress()?;
        }
        Ok(self.encoder.finish()?.out)
    }

    fn add(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if !self.is_bounded {
            return self.encoder.write_all(bytes);
        }
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.piece.len()));
            self.piece.extend_from_slice(now);
            if self.piece.len() == PIECE_BYTES {
                self.compress()?;
            }
            bytes = later;
        }
        Ok(())
    }

    /// Compresses a piece, whose last block is ended by what comes then.
    fn compress(&mut self) -> io::Result<()> {
        self.encoder.flush()?;
        let expands = self.compressed > self.encoder.get_ref().count.saturating_mul(MOST_EXPANSION);
        for piece in self.piece.chunks(if expands { SMALL_PIECE_BYTES } else { PIECE_BYTES }) {
            self.encoder.flush()?;
            self.encoder.write_all(piece)?;
        }
        self.compressed += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }
}

fn padding(size: u64) -> usize {
    (size.next_multiple_of(BLOCK_BYTES as u64) - size) as usize
}

/// Counts what is read of the archive itself.
pub struct Counted<R> {
    input: R,
    position: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.position.set(self.position.get() + count as u64);
        Ok(count)
    }
}

type Compressed<R> = BufReader<Chain<Cursor<Vec<u8>>, Counted<R>>>;

/// Reads an archive, once.
pub struct ArchiveReader<R: Read> {
    tar: Option<Tar<R>>,
    total: u64,
    position: Rc<Cell<u64>>,
    limits: Limits,
}

impl ArchiveReader<InputFile> {
    /// The archive in a file.
    pub fn open(file: InputFile, limits: &Limits) -> Result<Self, BundleError> {
        let size = file.metadata()?.size;
        Self::new(file, size, limits)
    }
}

impl<R: Read> ArchiveReader<R> {
    /// The archive in the next `size` bytes of `input`. What begins otherwise than one is [`BundleCode::NotABundle`].
    pub fn new(input: R, size: u64, limits: &Limits) -> Result<Self, BundleError> {
        let position = Rc::new(Cell::new(0));
        let mut input = Counted { input, position: position.clone() };
        let mut head = vec![0; FRAME_HEADER_BYTES];
        let count = read_up_to(&mut input, &mut head).map_err(|error| BundleError::system(&error, "read", None))?;
        head.truncate(count);
        check_frame(&head)?;
        let compressed = BufReader::with_capacity(256 << 10, Cursor::new(head).chain(input));
        let failed = |error: io::Error| BundleError::new(BundleCode::ArchiveCorrupt, error.to_string());
        let mut decoder = zstd::Decoder::with_buffer(compressed).map_err(failed)?.single_frame();
        decoder.window_log_max(MAX_WINDOW_LOG).map_err(failed)?;
        let tar = Tar { decoder, read: 0, expanded: limits.expanded(size) };
        Ok(ArchiveReader { tar: Some(tar), total: size, position, limits: *limits })
    }
}

/// Looks at the header of the frame before anything is set up for it.
fn check_frame(head: &[u8]) -> Result<(), BundleError> {
    if !head.starts_with(&MAGIC) {
        let message = "This is neither a directory nor a zstd archive (a skippable frame is none of a bundle's)";
        return Err(BundleError::new(BundleCode::NotABundle, message));
    }
    let truncated = || BundleError::new(BundleCode::Truncated, "The archive ends within its first header");
    let corrupt = |why: &str| Err(BundleError::new(BundleCode::ArchiveCorrupt, why));
    let descriptor = *head.get(4).ok_or_else(truncated)?;
    if descriptor & 0b11 != 0 {
        return corrupt("The archive needs a dictionary");
    }
    if descriptor & 0b1_1000 != 0 {
        return corrupt("The archive's header has bits set that mean nothing");
    }
    let window = if descriptor & 0b10_0000 == 0 {
        let byte = *head.get(5).ok_or_else(truncated)?;
        let base = 1u64 << (10 + u32::from(byte >> 3));
        base + base / 8 * u64::from(byte & 7)
    } else {
        let digits = head.get(5..5 + (1 << (descriptor >> 6))).ok_or_else(truncated)?;
        let size = digits.iter().rev().fold(0, |size: u64, byte| size << 8 | u64::from(*byte));
        size.saturating_add(if digits.len() == 2 { 256 } else { 0 })
    };
    if window > 1 << MAX_WINDOW_LOG {
        let message = format!(
            "To decompress the archive would take a window of {window} bytes, and no more than {} are given: compress it without --long or --ultra",
            1u64 << MAX_WINDOW_LOG
        );
        return Err(BundleError::new(BundleCode::WindowTooLarge, message));
    }
    Ok(())
}

/// The tar inside, as far as it may expand.
struct Tar<R: Read> {
    decoder: zstd::Decoder<'static, Compressed<R>>,
    read: u64,
    expanded: u64,
}

impl<R: Read> Read for Tar<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // One byte more than is allowed tells that there is more.
        let allowed = self.expanded.saturating_sub(self.read).saturating_add(1);
        let length = buffer.len().min(usize::try_from(allowed).unwrap_or(usize::MAX));
        let count = self.decoder.read(&mut buffer[..length]).map_err(damage)?;
        self.read += count as u64;
        if self.read > self.expanded {
            let message =
                format!("The archive expands to more than {} bytes, more than the limit for its size", self.expanded);
            return Err(into_io_error(BundleError::new(BundleCode::ExpansionTooLarge, message)));
        }
        Ok(count)
    }
}

/// What the decoder says of the archive, unless it is the system that says it.
fn damage(error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
        return error;
    }
    into_io_error(match error.kind() {
        io::ErrorKind::UnexpectedEof => truncated("in the middle of its compressed data"),
        _ => BundleError::new(BundleCode::ArchiveCorrupt, format!("The archive is damaged: {error}")),
    })
}

fn truncated(place: &str) -> BundleError {
    BundleError::new(BundleCode::Truncated, format!("The archive ends too early, {place}"))
}

fn failed(error: io::Error) -> BundleError {
    from_io_error(error, |error| BundleError::system(error, "read", None))
}

impl<R: Read> Container for ArchiveReader<R> {
    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<(), BundleError> {
        let Some(mut tar) = self.tar.take() else { return Ok(()) };
        let (mut names, mut entries, mut total) = (Names::default(), 0, 0u64);
        let Limits { files, total_bytes, .. } = self.limits;
        while let Some(header) = next_header(&mut tar)? {
            entries += 1;
            // Directories are entries too, and each costs its name in memory.
            if entries > files.saturating_mul(2).saturating_add(16) {
                let message = format!("The archive has more than {entries} entries, too many for {files} files");
                return Err(BundleError::new(BundleCode::TooManyFiles, message));
            }
            let size = header.entry_size().map_err(|_| corrupt("an entry's size is none"))?;
            total = total.saturating_add(size);
            if total > total_bytes {
                let message = "The archive holds more bytes than the limit for all files together";
                return Err(BundleError::new(BundleCode::TotalTooLarge, message));
            }
            let mut content = EntryContent { tar: &mut tar, left: size };
            match entry(&header, &mut names) {
                Ok(Some(path)) => visitor.file(&path, size, &mut content)?,
                Ok(None) if size == 0 => {}
                Ok(None) => return Err(corrupt("a directory in it has content")),
                Err(error) => visitor.problem(error)?,
            }
            content.pass_over()?;
        }
        end(tar)
    }

    fn total(&self) -> u64 {
        self.total
    }

    fn position(&self) -> Rc<Cell<u64>> {
        self.position.clone()
    }
}

/// The header of the next entry; None where the end begins.
fn next_header(tar: &mut impl Read) -> Result<Option<Header>, BundleError> {
    let mut header = Header::new_old();
    match read_up_to(tar, header.as_mut_bytes()).map_err(failed)? {
        BLOCK_BYTES if header.as_bytes() == &[0; BLOCK_BYTES] => Ok(None),
        BLOCK_BYTES => {
            let found = header.as_bytes();
            let sum = |range: &[u8]| range.iter().map(|byte| u32::from(*byte)).sum::<u32>();
            let expected = sum(&found[..148]) + sum(&found[156..]) + 8 * 32;
            match header.cksum() {
                Ok(checksum) if checksum == expected => Ok(Some(header)),
                _ => Err(corrupt("an entry's header does not have its checksum")),
            }
        }
        _ => Err(truncated("without the blocks of zeros that end it")),
    }
}

fn corrupt(why: &str) -> BundleError {
    BundleError::new(BundleCode::ArchiveCorrupt, format!("The archive is damaged: {why}"))
}

/// The path of a file that is believed so far; None for a directory.
fn entry(header: &Header, names: &mut Names) -> Result<Option<BundlePath>, BundleError> {
    let bytes = header.path_bytes();
    let shown = || String::from_utf8_lossy(&bytes).escape_debug().to_string();
    let refused = |code, why: &str| Err(BundleError::about(code, &shown(), why));
    let kind = header.entry_type();
    match kind {
        EntryType::Regular | EntryType::Directory => {}
        EntryType::Link | EntryType::Symlink => {
            return refused(BundleCode::Link, "a link, which could lead anywhere; a bundle holds only files");
        }
        EntryType::Char | EntryType::Block | EntryType::Fifo => {
            return refused(BundleCode::Device, "a device or a pipe; a bundle holds only files");
        }
        _ => {
            let why =
                "an entry of a kind that no bundle has: an extended header, a long name, a sparse file or the like";
            return refused(BundleCode::UnsupportedEntry, why);
        }
    }
    // Other readers take what stands behind a NUL for part of the path, or not: nothing may.
    let prefix = header.as_ustar().map_or(&[][..], |header| &header.prefix);
    if [&header.as_old().name, prefix].into_iter().any(has_bytes_behind_nul) {
        return refused(BundleCode::NulInPath, "there are bytes behind the NUL that ends its path");
    }
    // What `tar -C directory .` writes.
    let mut plain = bytes.strip_prefix(b"./").unwrap_or(&bytes);
    if kind == EntryType::Directory {
        plain = plain.strip_suffix(b"/").unwrap_or(plain);
        return if plain.is_empty() || plain == b"." { Ok(None) } else { BundlePath::parse(plain).map(|_| None) };
    }
    let path = BundlePath::parse(plain)?;
    names.add(&path)?;
    Ok(Some(path))
}

fn has_bytes_behind_nul(field: &[u8]) -> bool {
    field.iter().skip_while(|byte| **byte != 0).any(|byte| *byte != 0)
}

/// The content of one entry.
struct EntryContent<'c, R: Read> {
    tar: &'c mut Tar<R>,
    left: u64,
}

impl<R: Read> Read for EntryContent<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if length == 0 {
            return Ok(0);
        }
        let count = self.tar.read(&mut buffer[..length])?;
        if count == 0 {
            return Err(into_io_error(truncated("in the middle of a file")));
        }
        self.left -= count as u64;
        Ok(count)
    }
}

impl<R: Read> EntryContent<'_, R> {
    /// What the visitor did not read, and the zeros that fill the last block.
    fn pass_over(mut self) -> Result<(), BundleError> {
        // The size as it was; only its remainder counts, and what was read is gone from `left` alone.
        io::copy(&mut self, &mut io::sink()).map_err(failed)?;
        let mut fill = [0; BLOCK_BYTES];
        let padding = padding(self.tar.read);
        if read_up_to(self.tar, &mut fill[..padding]).map_err(failed)? < padding {
            return Err(truncated("in the middle of a block"));
        }
        if fill.iter().any(|byte| *byte != 0) {
            return Err(corrupt("there are bytes between two files"));
        }
        Ok(())
    }
}

/// The end: zeros to the end of the block or of the record, the end of the frame, the end of the file.
fn end<R: Read>(mut tar: Tar<R>) -> Result<(), BundleError> {
    let begin = tar.read - BLOCK_BYTES as u64;
    let mut rest = vec![0; (RECORD_BYTES as usize) * 2];
    let count = read_up_to(&mut tar, &mut rest).map_err(failed)?;
    let minimum = begin + 2 * BLOCK_BYTES as u64;
    if tar.read < minimum {
        return Err(truncated("without the blocks of zeros that end it"));
    }
    if rest[..count].iter().any(|byte| *byte != 0) || tar.read > minimum.next_multiple_of(RECORD_BYTES) {
        return Err(BundleError::new(BundleCode::TrailingBytes, "There are bytes after the end of the tar archive"));
    }
    let mut compressed = tar.decoder.finish();
    let mut byte = [0];
    match read_up_to(&mut compressed, &mut byte).map_err(failed)? {
        0 => Ok(()),
        _ => {
            Err(BundleError::new(BundleCode::TrailingBytes, "There are bytes after the end of the compressed archive"))
        }
    }
}

#[cfg(test)]
mod tests;
