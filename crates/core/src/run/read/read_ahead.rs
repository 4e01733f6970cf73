//! Reads and decodes the lines of a log on other threads while earlier ones are folded. A short log is read by the folding thread.
//!
//! Each thread reads the next chunk and decodes it. The folding thread does the same instead of waiting, so the work is balanced whether
//! decoding or folding takes longer.

use std::path::Path;
use std::sync::Arc;

use super::decoded_chunk::{ChunkDecoder, DecodedChunk};
use super::log::{Chunk, LogReader, TornEnd};
use crate::disk::InputFile;
use crate::run::format::{Redactions, RunError};
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
    log: Arc<Mutex<SharedLog>>,
    chunks: Pipeline<Decoder>,
    readings: InOrder<Result<Option<DecodedChunk>, RunError>>,
    size: u64,
    room: usize,
    is_over: bool,
}

impl ReadAhead {
    /// Opens the log at `path` at the line that begins at `offset`. The events that `redactions` lists may lack a salt. If the log is
    /// verified, the offsets of its lines are noted, and the verifier needs a core. Does not read ahead if no core is left for it.
    pub(crate) fn open_at(
        path: &Path,
        offset: u64,
        redactions: &Redactions,
        is_verified: bool,
    ) -> Result<Self, RunError> {
        let log = LogReader::open_at(path, offset)?;
        let size = log.size()?;
        let is_short = size.saturating_sub(offset) <= SHORT_BYTES;
        let cores = spare_cores().saturating_sub(usize::from(is_verified));
        let helpers = if is_short { 0 } else { cores.min(MAX_HELPERS) };
        let room = if helpers == 0 { 1 } else { (helpers + 1) * CHUNKS_PER_THREAD };
        let log = Arc::new(Mutex::new(SharedLog { log, readings: 0, is_over: false }));
        let redactions = Arc::new(redactions.clone());
        let decoder = || Decoder { log: log.clone(), events: ChunkDecoder::new(redactions.clone(), is_verified) };
        let chunks = Pipeline::parallel(decoder(), (0..helpers).map(|_| decoder()).collect(), room);
        Ok(ReadAhead { log, chunks, readings: InOrder::default(), size, room, is_over: false })
    }

    /// The size of the log in bytes when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The torn end of the log. Nothing before the end was reached.
    pub(crate) fn torn(&self) -> TornEnd {
        if self.is_over { self.log.lock().log.torn() } else { TornEnd::default() }
    }

    /// The next lines, or `None` at the end.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<DecodedChunk>, RunError> {
        while !self.is_over && self.chunks.under_way() + self.readings.waiting() < self.room {
            self.chunks.push(());
        }
        let reading = self.readings.next(|| self.chunks.next_output().map(|(_, reading)| reading));
        let chunk = reading.unwrap_or(Ok(None))?;
        self.is_over |= chunk.is_none();
        Ok(chunk)
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
    /// The number of this reading, and the next chunk or, at the end and after it, `None`.
    fn read(&mut self) -> (u64, Result<Option<Chunk>, RunError>) {
        let number = self.readings;
        self.readings += 1;
        if self.is_over {
            return (number, Ok(None));
        }
        let chunk = self.log.next_chunk(Vec::new());
        self.is_over = !matches!(chunk, Ok(Some(_)));
        (number, chunk)
    }
}

/// Reads chunks of a log and decodes them.
struct Decoder {
    log: Arc<Mutex<SharedLog>>,
    events: ChunkDecoder,
}

impl Worker for Decoder {
    type Job = ();
    type Output = (u64, Result<Option<DecodedChunk>, RunError>);

    fn work(&mut self, (): ()) -> Self::Output {
        let (number, chunk) = self.log.lock().read();
        (number, chunk.map(|chunk| chunk.map(|chunk| self.events.decode(chunk))))
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
        let mut ahead = ReadAhead::open_at(file.path(), 0, &Redactions::default(), true).unwrap();
        let (mut times, mut fault) = (Vec::new(), None);
        while let Some(lines) = ahead.next_chunk().unwrap() {
            let read = lines.borrow_dependent();
            let noted = read.events.len() + usize::from(read.fault.as_ref().is_some_and(|fault| fault.time.is_some()));
            assert_eq!(read.offsets.len(), noted);
            times.extend(read.events.iter().map(|line| line.event.time));
            fault = fault.or(read.fault.clone());
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
