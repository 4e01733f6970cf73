//! The lines of a log, read and decoded by other threads while the ones before are folded. A short log is read by the folding thread.
//!
//! Each of the threads reads the next chunk and decodes it. The folding thread does the same instead of waiting, so that it makes no
//! difference which of the two is more work.

use std::path::Path;
use std::sync::Arc;

use super::decoded_chunk::{ChunkDecoder, DecodedChunk, EventBuffer};
use super::error::RunError;
use super::log::{Chunk, LogReader, TornEnd};
use super::redactions::Redactions;
use super::verifier::{Notes, Spare};
use crate::disk::input_file::InputFile;
use crate::pipeline::{InOrder, Pipeline, Worker, spare_cores};
use crate::threading::Mutex;

/// More threads than this have nothing to do: to read and decode an event takes about twice as long as to fold it.
const MAX_HELPERS: usize = 2;

/// How many chunks may be read and not folded for each thread.
const CHUNKS_PER_THREAD: usize = 4;

/// A log with no more bytes is folded before another thread has begun to work.
const SHORT_BYTES: u64 = 4 << 20;

/// A log that is read from one of its lines on.
pub struct ReadAhead {
    chunks: Pipeline<Decoder>,
    readings: InOrder<Reading>,
    size: u64,
    room: usize,
    torn: TornEnd,
    is_over: bool,
    buffers: Vec<EventBuffer>,
}

/// Lines with their events.
pub struct AheadChunk {
    /// The lines.
    pub lines: DecodedChunk,
    /// Where each of the lines is, if that was wanted.
    pub notes: Notes,
}

/// How a log is read ahead.
pub struct AheadRules<'r> {
    /// The events that may have no salt.
    pub redactions: &'r Redactions,
    /// Whether the places of lines are noted.
    pub notes_offsets: bool,
    /// How many other threads are busy.
    pub busy: usize,
}

impl ReadAhead {
    /// Opens the log at `path` where its line at `offset` begins. It is not read ahead if busy threads leave no core to do so.
    pub fn open_at(path: &Path, offset: u64, rules: &AheadRules<'_>) -> Result<Self, RunError> {
        let log = LogReader::open_at(path, offset)?;
        let size = log.size()?;
        let is_short = size.saturating_sub(offset) <= SHORT_BYTES;
        let helpers = if is_short { 0 } else { spare_cores().saturating_sub(rules.busy).min(MAX_HELPERS) };
        let room = if helpers == 0 { 1 } else { (helpers + 1) * CHUNKS_PER_THREAD };
        let log = Arc::new(Mutex::new(SharedLog { log, readings: 0, is_over: false }));
        let redactions = Arc::new(rules.redactions.clone());
        let decoder =
            || Decoder { log: log.clone(), events: ChunkDecoder::new(redactions.clone(), rules.notes_offsets) };
        let chunks = Pipeline::parallel(decoder(), (0..helpers).map(|_| decoder()).collect(), room);
        Ok(ReadAhead {
            chunks,
            readings: InOrder::default(),
            size,
            room,
            torn: TornEnd::default(),
            is_over: false,
            buffers: Vec::new(),
        })
    }

    /// How many bytes the log had when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What is torn. Known at the end.
    pub fn torn(&self) -> TornEnd {
        self.torn
    }

    /// Takes back the memory of a list of events.
    pub fn reuse(&mut self, buffer: EventBuffer) {
        self.buffers.push(buffer);
    }

    /// The next lines, or `None` at the end. `spare` gives the buffers of lines that are no longer needed, or empty ones.
    pub fn next_chunk(&mut self, mut spare: impl FnMut() -> Spare) -> Result<Option<AheadChunk>, RunError> {
        while !self.is_over && self.chunks.under_way() + self.readings.waiting() < self.room {
            self.chunks.push((spare(), self.buffers.pop().unwrap_or_default()));
        }
        match self.readings.next(|| self.chunks.next_output().map(|(_, reading)| reading)) {
            Some(Ok(Read::Lines(lines))) => Ok(Some(*lines)),
            Some(Ok(Read::End { torn })) => {
                (self.torn, self.is_over) = (torn, true);
                Ok(None)
            }
            Some(Err(error)) => Err(error),
            None => Ok(None),
        }
    }
}

/// A log from which several threads read.
struct SharedLog {
    log: LogReader<InputFile>,
    readings: u64,
    /// Its end was read, or it can't be read on.
    is_over: bool,
}

impl SharedLog {
    /// The next chunk, or what is torn at the end, and the number of the reading. `None` behind the end.
    fn read(&mut self, spare: Vec<u8>) -> (u64, Result<Result<Chunk, TornEnd>, RunError>) {
        let number = self.readings;
        self.readings += 1;
        if self.is_over {
            return (number, Ok(Err(self.log.torn())));
        }
        let chunk = self.log.next_chunk(spare);
        self.is_over = !matches!(chunk, Ok(Some(_)));
        (number, chunk.map(|chunk| chunk.ok_or_else(|| self.log.torn())))
    }
}

/// What was read.
type Reading = Result<Read, RunError>;

/// What was read if it could be.
enum Read {
    Lines(Box<AheadChunk>),
    End { torn: TornEnd },
}

/// Reads chunks of a log and decodes them.
struct Decoder {
    log: Arc<Mutex<SharedLog>>,
    events: ChunkDecoder,
}

impl Worker for Decoder {
    type Job = (Spare, EventBuffer);
    type Output = (u64, Reading);

    fn work(&mut self, (spare, buffer): Self::Job) -> Self::Output {
        let Spare { lines, mut notes } = spare;
        let (number, read) = self.log.lock().read(lines);
        let reading = read.map(|read| match read {
            Ok(chunk) => {
                let lines = self.events.decode(chunk, buffer, &mut notes.offsets);
                Read::Lines(Box::new(AheadChunk { lines, notes }))
            }
            Err(torn) => Read::End { torn },
        });
        (number, reading)
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain::tests::log_of;
    use super::super::decoded_chunk::Fault;
    use super::*;

    /// The times of the events that were read, what is wrong behind them, and the torn bytes.
    fn read(log: &[u8]) -> (Vec<u64>, Option<Fault>, u64) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), log).unwrap();
        let rules = AheadRules { redactions: &Redactions::default(), notes_offsets: true, busy: 0 };
        let mut ahead = ReadAhead::open_at(file.path(), 0, &rules).unwrap();
        let (mut times, mut fault) = (Vec::new(), None);
        while let Some(AheadChunk { lines, notes }) = ahead.next_chunk(Spare::default).unwrap() {
            let read = lines.borrow_dependent();
            let noted = read.events.len() + usize::from(read.fault.as_ref().is_some_and(|fault| fault.time.is_some()));
            assert_eq!(notes.offsets.len(), noted);
            times.extend(read.events.iter().map(|line| line.event.time));
            fault = fault.or(read.fault.clone());
            ahead.reuse(lines.into_parts().1);
        }
        (times, fault, ahead.torn().bytes)
    }

    #[test]
    fn short_and_long_logs_are_read_to_their_end() {
        for (count, padding) in [(1, 0), (100, 10), (3000, 2000)] {
            let mut log = log_of(count, padding);
            assert_eq!(log.len() as u64 > SHORT_BYTES, count == 3000);
            log.extend_from_slice(b"torn");
            let (times, fault, torn) = read(&log);
            assert!(times.into_iter().eq(0..count) && fault.is_none());
            assert_eq!(torn, 4);
        }
    }

    #[test]
    fn a_bad_line_is_found_where_it_is() {
        let log = String::from_utf8(log_of(3000, 2000)).unwrap();
        let bad = log.replace(r#""time":2000,"ts""#, r#""time":2000,"at""#);
        let (times, fault, _) = read(bad.as_bytes());
        let fault = fault.unwrap();
        assert_eq!((times[1999], fault.time, fault.error.time), (1999, None, Some(2000)));
        assert_ne!(times.get(2000), Some(&2000));
    }
}
