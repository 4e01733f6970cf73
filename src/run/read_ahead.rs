//! The lines of a log, read and taken apart by another thread while the ones before are folded. A short log is read by the folding thread.

use std::path::Path;

use super::error::RunError;
use super::event::{EventLine, LineOffsets};
use super::log::{Chunk, LogReader, TornEnd};
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
    torn: TornEnd,
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
    /// Opens the log at `path` where its line at `offset` begins. It is not read ahead if `busy` other threads leave no core to do so.
    pub fn open_at(path: &Path, offset: u64, busy: usize) -> Result<Self, RunError> {
        let log = LogReader::open_at(path, offset)?;
        let size = log.size()?;
        let torn = TornEnd::default();
        let is_short = size.saturating_sub(offset) <= SHORT_BYTES;
        let room = if is_short || spare_cores() <= busy { 1 } else { ROOM };
        Ok(ReadAhead { chunks: Pipeline::serial(LineSplitter { log }, ROOM), size, room, torn, is_over: false })
    }

    /// How many bytes the log had when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What is torn. Known at the end.
    pub fn torn(&self) -> TornEnd {
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
    End { torn: TornEnd },
}

impl Worker for LineSplitter {
    type Job = Spare;
    type Output = Result<Read, RunError>;

    fn work(&mut self, mut spare: Spare) -> Result<Read, RunError> {
        let Some(chunk) = self.log.next_chunk(std::mem::take(&mut spare.lines))? else {
            return Ok(Read::End { torn: self.log.torn() });
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

#[cfg(test)]
mod tests {
    use super::super::chain::tests::log_of;
    use super::*;

    /// How many lines were read, the fault behind them, and the torn bytes.
    fn read(log: &[u8]) -> (Vec<u64>, Option<RunError>, u64) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), log).unwrap();
        let mut ahead = ReadAhead::open_at(file.path(), 0, 0).unwrap();
        let (mut times, mut fault) = (Vec::new(), None);
        while let Some(lines) = ahead.next_chunk(Spare::default).unwrap() {
            let (text, _) = lines.chunk.text();
            times.extend(lines.spare.notes.offsets.iter().map(|offsets| offsets.line(text).unwrap().time));
            fault = fault.or(lines.fault);
        }
        (times, fault, ahead.torn().bytes)
    }

    #[test]
    fn short_and_long_logs_are_read_to_their_end() {
        for (count, padding) in [(1, 0), (100, 10), (3000, 2000)] {
            let mut log = log_of(count, padding);
            assert_eq!(log.len() as u64 > SHORT_BYTES, count == 3000);
            log.extend_from_slice(b"torn");
            assert_eq!(read(&log), ((0..count).collect(), None, 4));
        }
    }

    #[test]
    fn a_bad_line_is_found_where_it_is() {
        let log = String::from_utf8(log_of(3000, 2000)).unwrap();
        let bad = log.replace(r#""time":2000,"ts""#, r#""time":2000,"at""#);
        let (times, fault, _) = read(bad.as_bytes());
        assert_eq!((times[1999], fault.unwrap().time), (1999, Some(2000)));
        assert_ne!(times.get(2000), Some(&2000));
    }
}
