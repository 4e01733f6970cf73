//! Batches of a log, read and decoded on another thread while those before them are compared.
//!
//! Only a few batches are read ahead, so that a difference that is found early costs no more than reading up to it.

use crate::pipeline::{Pipeline, Worker};

/// How many batches are read ahead at most.
const AHEAD: usize = 2;

/// A log of at most so many bytes is read sooner than a thread is started.
const MAX_SMALL_BYTES: u64 = 256 << 10;

/// Reads a log batch by batch.
pub trait BatchReader: Send + 'static {
    /// Some records.
    type Batch: Send + 'static;
    /// Why there are no more.
    type Error: Send + 'static;

    /// The next batch, `None` at the end. `spare` is an earlier one, whose buffers can be used again.
    fn read(&mut self, spare: Option<Self::Batch>) -> Result<Option<Self::Batch>, Self::Error>;
}

type Read<R> = Result<Option<<R as BatchReader>::Batch>, <R as BatchReader>::Error>;

/// A log that is being read.
pub struct Feed<R: BatchReader> {
    pipeline: Pipeline<Reading<R>>,
}

/// A reader, until the log is over: at its end, or at an error.
struct Reading<R>(Option<R>);

impl<R: BatchReader> Worker for Reading<R> {
    /// A spare batch.
    type Job = Option<R::Batch>;
    type Output = Read<R>;

    fn work(&mut self, spare: Option<R::Batch>) -> Read<R> {
        // A reader that panics is not used again either.
        let Some(mut reader) = self.0.take() else { return Ok(None) };
        let read = reader.read(spare);
        if matches!(read, Ok(Some(_))) {
            self.0 = Some(reader);
        }
        read
    }
}

impl<R: BatchReader> Feed<R> {
    /// Nothing is read yet. A log of `size` bytes that is not small is read on another thread.
    pub fn new(reader: R, size: u64) -> Self {
        let ahead = if size > MAX_SMALL_BYTES { AHEAD } else { 0 };
        Feed { pipeline: Pipeline::serial(Reading(Some(reader)), 1 + ahead) }
    }

    /// The next batch, `None` at the end and behind an error. `spare` is an earlier one, whose buffers can be used again.
    ///
    /// # Panics
    ///
    /// If the reader panicked.
    pub fn next(&mut self, spare: Option<R::Batch>) -> Read<R> {
        self.pipeline.push(spare);
        while !self.pipeline.is_full() {
            self.pipeline.push(None);
        }
        self.pipeline.next_output().map_or(Ok(None), |(_, read)| read)
    }
}

#[cfg(test)]
mod tests;
