//! The lines of a log, read and taken apart by another thread while the ones before are folded. A short log is read by the folding thread.

use std::path::Path;

use super::error::RunError;
use super::event::{EventLine, LineOffsets};
use super::log::{Chunk, LogReader};
use super::verifier::Spare;
use crate::disk::input_file::InputFile;
use crate::pipeline::{Pipeline, Worker, spare_cores};

/// How many chunks are read ahead.
const ROOM: usize = 3;

/// A log with no more bytes is folded before another thread has begun to work.
const SHORT_BYTES: u64 = 4 << 20;

/// A log that is read from one of its lines on.
pub struct ReadAhead {
    chunks: Pipeline<LineSplitter>,
    size: u64,
    room: usize,
    torn: u64,
    is_over: bool,
}

/// Lines that were taken apart.
pub struct SplitChunk {
    /// The lines.
    pub chunk: Chunk,
    /// Its notes have where each of the lines is.
    pub spare: Spare,
    /// What is wrong with the line behind those.
    pub fault: Option<RunError>,
}

impl ReadAhead {
    /// Opens the log at `path` where its line at `offset` begins.
    pub fn open_at(path: &Path, offset: u64) -> Result<Self, RunError> {
        let log = LogReader::open_at(path, offset)?;
        let size = log.size()?;
        let is_short = size.saturating_sub(offset) <= SHORT_BYTES;
        let room = if is_short || spare_cores() == 0 { 1 } else { ROOM };
        Ok(ReadAhead { chunks: Pipeline::serial(LineSplitter { log }, ROOM), size, room, torn: 0, is_over: false })
    }

    /// How many bytes the log had when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many bytes the torn last line has. Known at the end.
    pub fn torn_bytes(&self) -> u64 {
        self.torn
    }

    /// The next lines, or `None` at the end. `spare` gives the buffers of lines that are no longer needed, or empty ones.
    pub fn next_chunk(&mut self, mut spare: impl FnMut() -> Spare) -> Result<Option<SplitChunk>, RunError> {
        while !self.is_over && self.chunks.under_way() < self.room {
            self.chunks.push(spare());
        }
        match self.chunks.next_output() {
            Some((_, Ok(Read::Lines(lines)))) => Ok(Some(*lines)),
            Some((_, Ok(Read::End { torn }))) => {
                (self.torn, self.is_over) = (torn, true);
                Ok(None)
            }
            Some((_, Err(error))) => Err(error),
            None => Ok(None),
        }
    }
}

/// Reads chunks of a log and takes their lines apart.
struct LineSplitter {
    log: LogReader<InputFile>,
}

/// What was read.
enum Read {
    Lines(Box<SplitChunk>),
    End { torn: u64 },
}

impl Worker for LineSplitter {
    type Job = Spare;
    type Output = Result<Read, RunError>;

    fn work(&mut self, mut spare: Spare) -> Result<Read, RunError> {
        let Some(chunk) = self.log.next_chunk(std::mem::take(&mut spare.lines))? else {
            return Ok(Read::End { torn: self.log.torn_bytes() });
        };
        let fault = split_lines(&chunk, &mut spare.notes.offsets).err();
        Ok(Read::Lines(Box::new(SplitChunk { chunk, spare, fault })))
    }
}

fn split_lines(chunk: &Chunk, offsets: &mut Vec<LineOffsets>) -> Result<(), RunError> {
    for line in chunk.lines() {
        let (start, line) = line?;
        offsets.push(LineOffsets::of(&EventLine::split(line)?, start));
    }
    Ok(())
}
