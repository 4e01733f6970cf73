//! Reads and decodes the lines of a log on other threads while earlier ones are folded. A short log is read by the folding thread.
//!
//! Each thread reads the next chunk and decodes it. The folding thread does the same instead of waiting, so the work is balanced whether
//! decoding or folding takes longer.

use std::path::Path;
use std::sync::Arc;

use super::decoded_chunk::{ChunkDecoder, DecodedChunk, EventBuffer};
use super::log::{Chunk, LogReader, TornEnd};
use crate::disk::InputFile;
use crate::run::format::{Redactions, RunError};
use crate::run::verify::{Notes, Spare};
use crate::task::threading::Mutex;
use crate::task::{InOrder, Pipeline, Worker, spare_cores};

/// Maximum number of helper threads. More would be idle: reading and decoding an event takes about twice as long as folding it.
const MAX_HELPERS: usize = 2;

/// Maximum number of chunks per thread that are being read or wait to be folded.
const CHUNKS_PER_THREAD: usize = 4;

/// Maximum size in bytes of a short log, which is folded before another thread would begin to work.
const SHORT_BYTES: u64 = 4 << 20;

/// Reads a log ahead, from one of its lines on.
pub(super) struct ReadAhead {
    chunks: Pipeline<Decoder>,
    readings: InOrder<Reading>,
    size: u64,
    room: usize,
    torn: TornEnd,
    is_over: bool,
    buffers: Vec<EventBuffer>,
}

/// Lines with their events.
pub(super) struct AheadChunk {
    /// The lines.
    pub lines: DecodedChunk,
    /// The offsets of the lines, if requested.
    pub notes: Notes,
}

/// Options for reading ahead.
pub(super) struct AheadRules<'r> {
    /// Lists the events that may lack a salt.
    pub redactions: &'r Redactions,
    /// Whether to note the offsets of lines.
    pub notes_offsets: bool,
    /// Number of other busy threads.
    pub busy: usize,
}

impl ReadAhead {
    /// Opens the log at `path` at the line that begins at `offset`. Does not read ahead if busy threads leave no core for it.
    pub(crate) fn open_at(path: &Path, offset: u64, rules: &AheadRules<'_>) -> Result<Self, RunError> {
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

    /// The size of the log in bytes when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The torn end of the log. Valid once the end was reached.
    pub(crate) fn torn(&self) -> TornEnd {
        self.torn
    }

    /// Takes back the memory of a list of events for reuse.
    pub(crate) fn reuse(&mut self, buffer: EventBuffer) {
        self.buffers.push(buffer);
    }

    /// The next lines, or `None` at the end. `spare` returns the buffers of lines that are no longer needed, or empty ones.
    pub(crate) fn next_chunk(&mut self, mut spare: impl FnMut() -> Spare) -> Result<Option<AheadChunk>, RunError> {
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
    /// The end was reached, or reading has failed.
    is_over: bool,
}

impl SharedLog {
    /// The number of this reading, and the next chunk or, at the end and after it, what is torn there.
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

/// The result of a reading.
type Reading = Result<Read, RunError>;

/// The outcome of a successful reading.
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
    use super::*;
    use crate::run::format::log_of;
    use crate::run::read::decoded_chunk::Fault;

    /// The times of the events read, the fault of the line after them, and the number of torn bytes.
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
    fn bad_line_is_reported_at_its_position() {
        let log = String::from_utf8(log_of(3000, 2000)).unwrap();
        let bad = log.replace(r#""time":2000,"ts""#, r#""time":2000,"at""#);
        let (times, fault, _) = read(bad.as_bytes());
        let fault = fault.unwrap();
        assert_eq!((times[1999], fault.time, fault.error.time), (1999, None, Some(2000)));
        assert_ne!(times.get(2000), Some(&2000));
    }
}
