//! Batches of a log, read and decoded on another thread while earlier ones are compared.
//!
//! Only a few batches are read ahead, so that finding an early difference does not cost much more than reading up to it.

use crate::task::{Pipeline, Worker};

/// Maximum number of batches that are read ahead.
const AHEAD: usize = 2;

/// Maximum size, in bytes, of a log that is read on the caller's thread: reading it takes less time than starting a
/// thread.
const MAX_SMALL_BYTES: u64 = 256 << 10;

/// Reads a log batch by batch.
pub(crate) trait BatchReader: Send + 'static {
    /// A batch of events or records.
    type Batch: Send + 'static;
    /// The error that ends the log.
    type Error: Send + 'static;

    /// Returns the next batch, or `None` at the end. `spare` is an earlier batch, whose buffers can be reused.
    fn read(&mut self, spare: Option<Self::Batch>) -> Result<Option<Self::Batch>, Self::Error>;
}

type Read<R> = Result<Option<<R as BatchReader>::Batch>, <R as BatchReader>::Error>;

/// A log that is being read.
pub(super) struct Feed<R: BatchReader> {
    pipeline: Pipeline<Reading<R>>,
}

/// A reader. `None` once the log has ended or an error has occurred.
struct Reading<R>(Option<R>);

impl<R: BatchReader> Worker for Reading<R> {
    /// A spare batch.
    type Job = Option<R::Batch>;
    type Output = Read<R>;

    fn work(&mut self, spare: Option<R::Batch>) -> Read<R> {
        // The reader is taken out, so that it is not used again after a panic either.
        let Some(mut reader) = self.0.take() else { return Ok(None) };
        let read = reader.read(spare);
        if matches!(read, Ok(Some(_))) {
            self.0 = Some(reader);
        }
        read
    }
}

impl<R: BatchReader> Feed<R> {
    /// A feed that has not read anything yet. If `size`, that of the log in bytes, is not small, another thread reads.
    pub(crate) fn new(reader: R, size: u64) -> Self {
        let ahead = if size > MAX_SMALL_BYTES { AHEAD } else { 0 };
        Feed { pipeline: Pipeline::serial(Reading(Some(reader)), 1 + ahead) }
    }

    /// Returns the next batch, or `None` at the end and after an error. `spare` is an earlier batch, whose buffers can be
    /// reused.
    ///
    /// # Panics
    ///
    /// If the reader panicked.
    pub(crate) fn next(&mut self, spare: Option<R::Batch>) -> Read<R> {
        self.pipeline.push(spare);
        while !self.pipeline.is_full() {
            self.pipeline.push(None);
        }
        self.pipeline.next_output().map_or(Ok(None), |(_, read)| read)
    }
}

#[cfg(test)]
mod tests;
