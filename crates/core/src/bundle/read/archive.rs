//! The archive container: a ustar archive compressed with zstd, which `tar --zstd -xf` unpacks.
//!
//! The writer's output depends only on paths and contents: it sets no times and no owners, and one mode for all files. The reader
//! also accepts archives that other tools repacked, if every entry is a regular file with a short path; directory entries are skipped.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use tar::{EntryType, Header};

use super::io_error::{into_io_error, read_failed};
use crate::bundle::format::{BundleCode, BundleError, BundlePath, DEFAULT_EXPANSION, Limits, PathSet};
use crate::disk::{InputFile, OsError, read_up_to, sniff};
use crate::task::background::granted_threads;

/// The block size of tar.
const BLOCK_BYTES: usize = 512;

/// The record size of tar. Other tools pad archives with zeros to a multiple of it.
const RECORD_BYTES: u64 = 10_240;

/// The base-2 logarithm of the largest zstd window that is written or accepted: 8 MiB, which every decoder supports.
const MAX_WINDOW_LOG: u32 = 23;

/// The maximum size of a zstd frame header.
const FRAME_HEADER_BYTES: usize = 18;

/// The maximum size of a zstd block. A bounded archive is compressed in pieces of this size, which costs no compression.
const PIECE_BYTES: usize = 128 << 10;

/// The size of pieces while a bounded archive expands too much. Each becomes a block of at least 4 bytes, which limits the ratio.
const SMALL_PIECE_BYTES: usize = 256;

/// The expansion ratio above which the writer changes to small pieces: below the readers' default limit, with some margin.
const MAX_EXPANSION: u64 = DEFAULT_EXPANSION * 4 / 5;

/// The highest level at which several threads compress. Each thread has its own context, which takes more memory at higher levels.
const MAX_THREADED_LEVEL: i32 = 12;

/// The maximum number of compressing threads. More would wait for the disk, and each has its own buffers.
const MAX_THREADS: usize = 4;

/// Compression parameters of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compression {
    /// The zstd level.
    pub level: i32,
    /// The number of compressing threads, at least 1. It does not change the archive's bytes.
    pub threads: u32,
    /// Whether to keep the expansion ratio below the readers' default limit. Nearly all archives are below it anyway, and enforcing
    /// it is slower, because each block must be compressed before the next one begins.
    pub is_bounded: bool,
}

impl Compression {
    /// Unbounded compression at `level`, with up to [`MAX_THREADS`] of the machine's hardware threads.
    pub(crate) fn new(level: i32) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
        Compression { level, threads: threads as u32, is_bounded: false }
    }

    /// The same with as many threads as the system grants at this moment. Fails if it grants none.
    pub(crate) fn granted(self) -> Result<Self, OsError> {
        if !self.is_threaded() {
            return Ok(self);
        }
        match granted_threads(self.threads.max(1) as usize) {
            0 => Err(OsError::no_thread(&io::ErrorKind::WouldBlock.into())),
            granted => Ok(Compression { threads: granted as u32, ..self }),
        }
    }

    /// Whether zstd uses threads of its own.
    fn is_threaded(self) -> bool {
        self.level <= MAX_THREADED_LEVEL && !self.is_bounded
    }
}

/// Whether an archive of `size` bytes that holds `tar_bytes` exceeds the expansion ratio of a bounded archive.
pub(crate) fn expands_too_much(size: u64, tar_bytes: u64) -> bool {
    tar_bytes > size.saturating_mul(MAX_EXPANSION).saturating_add(PIECE_BYTES as u64)
}

/// Writes an archive. Its bytes depend neither on the sizes of single writes nor on the number of threads.
pub(crate) struct ArchiveWriter<W: Write> {
    encoder: zstd::Encoder<'static, CountingWriter<W>>,
    is_bounded: bool,
    /// Bytes of a bounded archive that wait for a full piece.
    piece: Vec<u8>,
    /// The number of input bytes compressed so far.
    compressed: u64,
    /// The number of bytes of the current file still to be written.
    remaining: u64,
    padding: usize,
}

/// Counts the bytes of the archive. Ignores `flush`, which the encoder calls at the end of every block.
struct CountingWriter<W> {
    out: W,
    count: u64,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.count += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The size of the tar archive of files with these sizes, in bytes.
pub(crate) fn tar_bytes(sizes: impl IntoIterator<Item = u64>) -> u64 {
    let block = BLOCK_BYTES as u64;
    sizes.into_iter().fold(2 * block, |sum, size| sum + block + size.div_ceil(block) * block)
}

impl<W: Write> ArchiveWriter<W> {
    /// Begins an archive whose tar has exactly `total` bytes, as [`tar_bytes`] computes it.
    pub(crate) fn new(out: W, compression: Compression, total: u64) -> io::Result<Self> {
        let Compression { level, threads, is_bounded } = compression;
        let mut encoder = zstd::Encoder::new(CountingWriter { out, count: 0 }, level)?;
        encoder.include_checksum(true)?;
        encoder.include_contentsize(true)?;
        encoder.set_pledged_src_size(Some(total))?;
        // What is repeated at a distance, such as an image that is in a session many times, is found in the whole window at any level.
        encoder.long_distance_matching(true)?;
        encoder.window_log(MAX_WINDOW_LOG)?;
        if compression.is_threaded() {
            // Also with one thread: the output of zstd's multithreaded mode differs from its single-threaded output.
            encoder.multithread(threads.max(1))?;
        }
        Ok(ArchiveWriter { encoder, is_bounded, piece: Vec::new(), compressed: 0, remaining: 0, padding: 0 })
    }

    /// Begins a file of `size` bytes. Calls of [`write`](Self::write) follow, then [`end`](Self::end).
    pub(crate) fn begin(&mut self, path: &str, size: u64) -> io::Result<()> {
        let mut header = Header::new_ustar();
        header.set_path(path)?;
        header.set_size(size);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(EntryType::Regular);
        header.set_cksum();
        self.remaining = size;
        self.padding = padding(size);
        self.add(header.as_bytes())
    }

    /// Writes bytes of the current file. More bytes than its size are an error.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let remaining = self.remaining.checked_sub(bytes.len() as u64);
        self.remaining = remaining.ok_or_else(|| io::Error::other("more bytes than were announced"))?;
        self.add(bytes)
    }

    /// Ends the current file. Fewer bytes than its size are an error.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        if self.remaining > 0 {
            return Err(io::Error::other("fewer bytes than were announced"));
        }
        self.add(&[0; BLOCK_BYTES][..self.padding])
    }

    /// Writes the end of the archive and returns the writer below it.
    pub(crate) fn finish(mut self) -> io::Result<W> {
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

    /// Compresses the waiting piece. Its last block stays open until the next flush.
    fn compress(&mut self) -> io::Result<()> {
        self.encoder.flush()?;
        let expands = self.compressed > self.encoder.get_ref().count.saturating_mul(MAX_EXPANSION);
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

/// The path of an entry or why that is refused, and the size of its content.
type Entry = (Result<BundlePath, BundleError>, u64);

/// The tar of an archive, decompressed while it is read and limited in size.
pub(super) struct Archive {
    decoder: zstd::Decoder<'static, BufReader<InputFile>>,
    read: u64,
    /// The limit for `read`.
    max_bytes: u64,
    names: PathSet,
    entries: u64,
    /// The sizes of the entries so far.
    total: u64,
    limits: Limits,
}

impl Archive {
    /// Opens the archive of `size` bytes in `file`. A file without zstd's magic number is [`BundleCode::NotABundle`].
    pub(super) fn open(mut file: InputFile, size: u64, limits: &Limits) -> Result<Self, BundleError> {
        let mut head = [0; FRAME_HEADER_BYTES];
        let count = read_up_to(&mut file, &mut head).map_err(read_failed)?;
        check_frame(&head[..count])?;
        file.seek(SeekFrom::Start(0)).map_err(read_failed)?;
        let failed = |error: io::Error| BundleError::new(BundleCode::ArchiveCorrupt, error.to_string());
        let compressed = BufReader::with_capacity(256 << 10, file);
        let mut decoder = zstd::Decoder::with_buffer(compressed).map_err(failed)?.single_frame();
        decoder.window_log_max(MAX_WINDOW_LOG).map_err(failed)?;
        let (max_bytes, names) = (limits.max_tar_bytes(size), PathSet::default());
        Ok(Archive { decoder, read: 0, max_bytes, names, entries: 0, total: 0, limits: *limits })
    }

    /// The number of bytes of the archive that were read.
    pub(super) fn position(&mut self) -> io::Result<u64> {
        self.decoder.get_mut().get_mut().stream_position()
    }

    /// Reads the header of the next entry that is not a directory; `None` after checking that nothing follows. What the entry before has must have
    /// been read.
    pub(super) fn next_entry(&mut self) -> Result<Option<Entry>, BundleError> {
        self.expect_zeros()?;
        let Limits { files, total_bytes, .. } = self.limits;
        while let Some(header) = self.next_header()? {
            self.entries += 1;
            // Directory entries count as well, because each name is held in memory.
            if self.entries > self.limits.entries() {
                let message = format!("The archive has more than {} entries, too many for {files} files", self.entries);
                return Err(BundleError::new(BundleCode::TooManyFiles, message));
            }
            let size = header.entry_size().map_err(|_| corrupt("an entry's size is none"))?;
            self.total = self.total.saturating_add(size);
            if self.total > total_bytes {
                let message = "The archive holds more bytes than the limit for all files together";
                return Err(BundleError::new(BundleCode::TotalTooLarge, message));
            }
            match entry_path(&header, &mut self.names).transpose() {
                Some(path) => return Ok(Some((path, size))),
                None if size == 0 => {}
                None => return Err(corrupt("a directory in it has content")),
            }
        }
        self.expect_end().map(|()| None)
    }

    /// Reads content of the current entry. There must be more.
    pub(super) fn read_content(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.read(buffer)? {
            0 => Err(into_io_error(truncated("in the middle of a file"))),
            count => Ok(count),
        }
    }

    /// Checks the zeros after the content of an entry.
    fn expect_zeros(&mut self) -> Result<(), BundleError> {
        let (mut fill, padding) = ([0; BLOCK_BYTES], padding(self.read));
        if read_up_to(self, &mut fill[..padding]).map_err(read_failed)? < padding {
            return Err(truncated("in the middle of a block"));
        }
        if fill.iter().any(|byte| *byte != 0) {
            return Err(corrupt("there are bytes between two files"));
        }
        Ok(())
    }

    /// Reads the next header; `None` at the first of the zero blocks that end the archive.
    fn next_header(&mut self) -> Result<Option<Header>, BundleError> {
        let mut header = Header::new_old();
        match read_up_to(self, header.as_mut_bytes()).map_err(read_failed)? {
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

    /// Checks that only zeros follow in the tar, up to the end of the block or of the record, and nothing after it in the frame or the file.
    fn expect_end(&mut self) -> Result<(), BundleError> {
        let trailing = |of: &str| {
            BundleError::new(BundleCode::TrailingBytes, format!("There are bytes after the end of the {of} archive"))
        };
        let minimum = self.read + BLOCK_BYTES as u64;
        let mut rest = vec![0; (RECORD_BYTES as usize) * 2];
        let count = read_up_to(self, &mut rest).map_err(read_failed)?;
        if self.read < minimum {
            return Err(truncated("without the blocks of zeros that end it"));
        }
        if rest[..count].iter().any(|byte| *byte != 0) || self.read > minimum.next_multiple_of(RECORD_BYTES) {
            return Err(trailing("tar"));
        }
        match read_up_to(self.decoder.get_mut(), &mut [0]).map_err(read_failed)? {
            0 => Ok(()),
            _ => Err(trailing("compressed")),
        }
    }
}

impl Read for Archive {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Reading one byte past the limit shows that there is more.
        let allowed = self.max_bytes.saturating_sub(self.read).saturating_add(1);
        let length = buffer.len().min(usize::try_from(allowed).unwrap_or(usize::MAX));
        let count = self.decoder.read(&mut buffer[..length]).map_err(decoder_error)?;
        self.read += count as u64;
        if self.read > self.max_bytes {
            let message =
                format!("The archive expands to more than {} bytes, more than the limit for its size", self.max_bytes);
            return Err(into_io_error(BundleError::new(BundleCode::ExpansionTooLarge, message)));
        }
        Ok(count)
    }
}

/// Checks the frame header, so that the decoder allocates no more than the largest allowed window.
fn check_frame(head: &[u8]) -> Result<(), BundleError> {
    if !sniff::is_archive(head) {
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

/// Converts an error of the decoder to one about the archive; system errors stay what they are.
fn decoder_error(error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() {
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

fn corrupt(why: &str) -> BundleError {
    BundleError::new(BundleCode::ArchiveCorrupt, format!("The archive is damaged: {why}"))
}

/// Checks an entry's type and path, and returns the path of a file; `None` for a directory.
fn entry_path(header: &Header, names: &mut PathSet) -> Result<Option<BundlePath>, BundleError> {
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
    // Readers disagree on whether bytes after a NUL belong to the path, so such bytes are refused.
    let prefix = header.as_ustar().map_or(&[][..], |header| &header.prefix);
    if [&header.as_old().name, prefix].into_iter().any(has_bytes_behind_nul) {
        return refused(BundleCode::NulInPath, "there are bytes behind the NUL that ends its path");
    }
    // `tar -C directory .` writes this prefix.
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

#[cfg(test)]
mod tests;
