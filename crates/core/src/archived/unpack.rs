//! Archives without a seek table: read once from the beginning, up to the first frame that does not check.

use std::io::{self, BufRead, BufReader, Read, Write};

use zstd::Decoder;

use super::content::{Packed, PackedReader, Unpacked};
use super::frame::TORN;
use crate::disk::{File, OsError};
use crate::task::Cancellation;

/// Content up to this size, in bytes, is kept in memory.
const MEMORY_BYTES: usize = 1 << 20;

/// Maximum size of the content, in bytes: as for all files of a bundle together. Few compressed bytes can claim to be any number of zeros.
const MAX_BYTES: u64 = 64 << 30;

/// What is decompressed at a time.
const PIECE_BYTES: usize = 128 << 10;

/// At least the first `length` bytes of the content, if it has so many. `None` if the first frame can't be decompressed.
pub(super) fn beginning_of(packed: &Packed, length: usize) -> Result<Option<Vec<u8>>, OsError> {
    let mut content = Vec::new();
    let decoder = Decoder::new(packed.reader()).map_err(|error| failed(&error))?;
    match decoder.take(length as u64).read_to_end(&mut content) {
        Err(error) if !is_damage(&error) => Err(failed(&error)),
        Err(_) if content.is_empty() => Ok(None),
        _ => Ok(Some(content)),
    }
}

/// The size of the content up to the first frame that does not check.
pub(super) fn count(packed: &Packed) -> Result<u64, OsError> {
    let mut sink = Counted { size: 0 };
    decompress(packed, &mut sink)?;
    Ok(sink.size)
}

/// Decompresses the content up to the first frame that does not check, which a torn line stands for. Returns whether there is such a frame.
pub(super) fn unpack(packed: &Packed) -> Result<(Unpacked, bool), OsError> {
    let mut copy = Copy { memory: Vec::new(), file: None, size: 0 };
    let is_torn = !decompress(packed, &mut copy)?;
    if is_torn {
        copy.append(&[TORN]).map_err(|error| failed(&error))?;
    }
    let unpacked = match copy.file {
        Some(file) => Unpacked::File(file, copy.size),
        None => Unpacked::Memory(copy.memory),
    };
    Ok((unpacked, is_torn))
}

/// Where the content of frames goes, which may have to be taken back.
trait Sink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    fn size(&self) -> u64;
    fn cut_back(&mut self, size: u64) -> io::Result<()>;
}

/// Returns whether all frames check.
fn decompress(packed: &Packed, sink: &mut dyn Sink) -> Result<bool, OsError> {
    let cancellation = Cancellation::current();
    let mut reader = BufReader::with_capacity(PIECE_BYTES, packed.reader());
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        if reader.fill_buf().map_err(|error| failed(&error))?.is_empty() {
            return Ok(true);
        }
        let before = sink.size();
        match decompress_frame(reader, &mut piece, sink, &cancellation)? {
            Some(rest) => reader = rest,
            None => {
                sink.cut_back(before).map_err(|error| failed(&error))?;
                return Ok(false);
            }
        }
    }
}

/// Decompresses one frame. `None` if it does not check.
fn decompress_frame<'p>(
    reader: BufReader<PackedReader<'p>>,
    piece: &mut [u8],
    sink: &mut dyn Sink,
    cancellation: &Cancellation,
) -> Result<Option<BufReader<PackedReader<'p>>>, OsError> {
    let mut decoder = Decoder::with_buffer(reader).map_err(|error| failed(&error))?.single_frame();
    loop {
        cancellation.check().map_err(|error| failed(&error))?;
        match decoder.read(piece) {
            Ok(0) => return Ok(Some(decoder.finish())),
            Ok(count) => sink.append(&piece[..count]).map_err(|error| failed(&error))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_damage(&error) => return Ok(None),
            Err(error) => return Err(failed(&error)),
        }
        if sink.size() > MAX_BYTES {
            return Err(too_large());
        }
    }
}

/// Whether an error is one of the content: the system's errors have numbers.
fn is_damage(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}

fn failed(error: &io::Error) -> OsError {
    OsError::new(error, "read", None)
}

fn too_large() -> OsError {
    let message = "the archive expands to more than 64 GiB; decompress it to a file first";
    OsError { message, ..failed(&io::ErrorKind::FileTooLarge.into()) }
}

struct Counted {
    size: u64,
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
struct Copy {
    memory: Vec<u8>,
    file: Option<File>,
    size: u64,
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
