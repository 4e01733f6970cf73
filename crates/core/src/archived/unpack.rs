//! Archives without a seek table: read once from the beginning, up to the first frame that does not check.

use std::io::{self, BufRead, BufReader, Read, Write};

use zstd::Decoder;

use super::frame::TORN;
use super::packed::{Packed, PackedReader, Unpacked};
use crate::disk::{File, OsError};
use crate::task::Cancellation;

/// Content up to this size, in bytes, is kept in memory.
const MEMORY_BYTES: usize = 1 << 20;

/// Maximum size of the content, in bytes: as for all files of a bundle together. Few compressed bytes can claim to be any number of zeros.
const MAX_BYTES: u64 = 64 << 30;

/// What is decompressed at a time.
const PIECE_BYTES: usize = 128 << 10;

/// How much of a content without a seek table is looked at before all of it is unpacked: as much as for the format of a session.
const LOOK_BYTES: usize = 4 << 20;

/// At least the first `length` bytes of the content, if it has so many. `None` if the first frame can't be decompressed.
pub(super) fn beginning_of(packed: &Packed, length: usize) -> Result<Option<Vec<u8>>, OsError> {
    let mut content = Vec::new();
    let decoder = Decoder::new(packed.reader_at(0)).map_err(|error| failed(&error))?;
    match decoder.take(length as u64).read_to_end(&mut content) {
        Err(error) if !is_damage(&error) => Err(failed(&error)),
        Err(_) if content.is_empty() => Ok(None),
        _ => Ok(Some(content)),
    }
}

/// The size of the content up to the first frame that does not check.
pub(super) fn count(packed: &Packed) -> Result<u64, OsError> {
    let mut sink = Counted::default();
    decompress(packed, &mut sink)?;
    Ok(sink.size)
}

/// Decompresses the content up to the first frame that does not check, which a torn line stands for. Returns its size before that, if there is such a
/// frame. What can't be a session, since no object begins in as much as is looked at for a format, ends there: few bytes may stand for any number.
pub(super) fn unpack_session(packed: &Packed) -> Result<(Unpacked, Option<u64>), OsError> {
    match beginning_of(packed, LOOK_BYTES)? {
        Some(beginning) if beginning.len() == LOOK_BYTES && memchr::memchr(b'{', &beginning).is_none() => {
            Ok((Unpacked::Memory(beginning), None))
        }
        _ => unpack(packed),
    }
}

fn unpack(packed: &Packed) -> Result<(Unpacked, Option<u64>), OsError> {
    let mut copy = Copy::default();
    let is_whole = decompress(packed, &mut copy)?;
    let damage = (!is_whole).then_some(copy.size);
    if damage.is_some() {
        copy.append(&[TORN]).map_err(|error| failed(&error))?;
    }
    let unpacked = match copy.file {
        Some(file) => Unpacked::File(file, copy.size),
        None => Unpacked::Memory(copy.memory),
    };
    Ok((unpacked, damage))
}

/// Where the content of frames goes, which may have to be taken back.
pub(super) trait Sink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    fn size(&self) -> u64;
    fn cut_back(&mut self, size: u64) -> io::Result<()>;
}

/// Returns whether all frames check. If the first one, and so perhaps the only one, is cut off, its beginning is kept.
fn decompress(packed: &Packed, sink: &mut dyn Sink) -> Result<bool, OsError> {
    let (mut at, mut frames) = (0, FrameReader::new(packed));
    loop {
        let before = sink.size();
        match frames.read(at, sink)? {
            FrameEnd::Whole { end } if end == at => return Ok(true),
            FrameEnd::Whole { end } => at = end,
            FrameEnd::CutOff if before == 0 => return Ok(false),
            FrameEnd::CutOff | FrameEnd::Damaged { .. } => {
                sink.cut_back(before).map_err(|error| failed(&error))?;
                return Ok(false);
            }
        }
    }
}

/// What became of a frame.
pub(super) enum FrameEnd {
    /// It checks, and ends at this offset: where it begins at the end of the archive.
    Whole { end: u64 },
    /// The archive ends in it.
    CutOff,
    /// It does not check, which was found before this offset.
    Damaged { before: u64 },
}

/// Decompresses frames wherever they begin.
pub(super) struct FrameReader<'p> {
    packed: &'p Packed,
    /// Behind the frame that was read last.
    reader: Option<BufReader<PackedReader<'p>>>,
    piece: Vec<u8>,
    cancellation: Cancellation,
}

impl<'p> FrameReader<'p> {
    pub(super) fn new(packed: &'p Packed) -> Self {
        FrameReader { packed, reader: None, piece: vec![0; PIECE_BYTES], cancellation: Cancellation::current() }
    }

    /// Decompresses the frame at an offset, or what of it can be decompressed.
    pub(super) fn read(&mut self, at: u64, sink: &mut dyn Sink) -> Result<FrameEnd, OsError> {
        let mut reader = match self.reader.take() {
            Some(reader) if position(&reader) == at => reader,
            _ => BufReader::with_capacity(PIECE_BYTES, self.packed.reader_at(at)),
        };
        if reader.fill_buf().map_err(|error| failed(&error))?.is_empty() {
            return Ok(FrameEnd::Whole { end: at });
        }
        let mut decoder = Decoder::with_buffer(reader).map_err(|error| failed(&error))?.single_frame();
        loop {
            self.cancellation.check().map_err(|error| failed(&error))?;
            match decoder.read(&mut self.piece) {
                Ok(0) => {
                    let end = position(self.reader.insert(decoder.finish()));
                    return Ok(FrameEnd::Whole { end });
                }
                Ok(count) => sink.append(&self.piece[..count]).map_err(|error| failed(&error))?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(FrameEnd::CutOff),
                Err(error) if is_damage(&error) => {
                    return Ok(FrameEnd::Damaged { before: position(&decoder.finish()) });
                }
                Err(error) => return Err(failed(&error)),
            }
            if sink.size() > MAX_BYTES {
                return Err(too_large());
            }
        }
    }
}

fn position(reader: &BufReader<PackedReader<'_>>) -> u64 {
    reader.get_ref().offset - reader.buffer().len() as u64
}

/// Whether an error is one of the content: the system's errors have numbers.
fn is_damage(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}

pub(super) fn failed(error: &io::Error) -> OsError {
    OsError::new(error, "read", None)
}

fn too_large() -> OsError {
    let message = "the archive expands to more than 64 GiB; decompress it to a file first";
    OsError { message, ..failed(&io::ErrorKind::FileTooLarge.into()) }
}

#[derive(Default)]
pub(super) struct Counted {
    pub(super) size: u64,
}

impl Sink for Counted {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.size += bytes.len() as u64;
        Ok(())
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn cut_back(&mut self, size: u64) -> io::Result<()> {
        self.size = size;
        Ok(())
    }
}

/// A copy in memory, which becomes a file without a name when it is large. The file is gone when it is closed.
#[derive(Default)]
pub(super) struct Copy {
    memory: Vec<u8>,
    file: Option<File>,
    size: u64,
}

impl Copy {
    /// Whether it is empty, or ends with a line.
    pub(super) fn ends_line(&self) -> io::Result<bool> {
        let mut last = [b'\n'];
        match (&self.file, self.size.checked_sub(1)) {
            (Some(file), Some(at)) => file.read_at(&mut last, at).map(drop)?,
            (None, Some(_)) => last[0] = self.memory.last().copied().unwrap_or(b'\n'),
            (_, None) => {}
        }
        Ok(last == *b"\n")
    }

    /// The copy as a file without a name.
    pub(super) fn into_file(self) -> io::Result<File> {
        match self.file {
            Some(file) => Ok(file),
            None => {
                let mut file = File::unnamed()?;
                file.write_all(&self.memory)?;
                Ok(file)
            }
        }
    }
}

impl Sink for Copy {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.size += bytes.len() as u64;
        if self.file.is_none() && self.memory.len() + bytes.len() > MEMORY_BYTES {
            let mut file = File::unnamed()?;
            file.write_all(&std::mem::take(&mut self.memory))?;
            self.file = Some(file);
        }
        match &mut self.file {
            // A hole, which takes no space and is not read.
            Some(file) if bytes.iter().all(|byte| *byte == 0) => {
                file.set_len(self.size)?;
                file.seek(io::SeekFrom::Start(self.size)).map(drop)
            }
            Some(file) => file.write_all(bytes),
            None => {
                self.memory.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn cut_back(&mut self, size: u64) -> io::Result<()> {
        self.size = size;
        match &mut self.file {
            Some(file) => {
                file.set_len(size)?;
                file.seek(io::SeekFrom::Start(size)).map(drop)
            }
            None => {
                self.memory.truncate(size as usize);
                Ok(())
            }
        }
    }
}
