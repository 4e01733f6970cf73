//! Batches of a log, read and taken apart on a thread of their own while those before them are compared.
//!
//! Only a few batches are read ahead, so that what is found early costs no more than reading up to it.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// How many batches wait at most.
const AHEAD: usize = 2;

/// Reads a log batch by batch.
pub trait BatchReader: Send + 'static {
    /// Some records.
    type Batch: Send + 'static;
    /// Why there are no more.
    type Error: Send + 'static;

    /// The next batch, `None` at the end. `spare` is one that is done with.
    fn read(&mut self, spare: Option<Self::Batch>) -> Result<Option<Self::Batch>, Self::Error>;
}

type Read<R> = Result<Option<<R as BatchReader>::Batch>, <R as BatchReader>::Error>;

/// A log that is being read.
pub enum Feed<R: BatchReader> {
    /// On another thread.
    Ahead(Ahead<R>),
    /// Here and now: there is no other thread, or it would not pay.
    Here(R),
    /// To its end.
    Done,
}

/// What is read on another thread.
pub struct Ahead<R: BatchReader> {
    batches: Receiver<Read<R>>,
    spares: Sender<R::Batch>,
    thread: JoinHandle<()>,
}

impl<R: BatchReader> Feed<R> {
    /// Reads on another thread. `make` opens the log, there or, where there is no other thread to be had, here.
    pub fn ahead(make: impl Fn() -> Result<R, R::Error>) -> Result<Self, R::Error> {
        let (sender, batches) = sync_channel(AHEAD);
        let (spares, returned) = channel();
        let mut reader = make()?;
        let run = move || Self::run(&mut reader, &sender, &returned);
        match Builder::new().name("session-tape".into()).spawn(run) {
            Ok(thread) => Ok(Feed::Ahead(Ahead { batches, spares, thread })),
            Err(_) => make().map(Feed::Here),
        }
    }

    fn run(reader: &mut R, sender: &SyncSender<Read<R>>, returned: &Receiver<R::Batch>) {
        loop {
            let read = reader.read(returned.try_recv().ok());
            let is_last = !matches!(read, Ok(Some(_)));
            // The comparison has ended: the recordings differ.
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    }

    /// The next batch, `None` at the end.
    pub fn next(&mut self, spare: Option<R::Batch>) -> Read<R> {
        let read = match self {
            Feed::Done => return Ok(None),
            Feed::Here(reader) => reader.read(spare),
            Feed::Ahead(ahead) => {
                if let Some(spare) = spare {
                    // The reader may be done by now.
                    let _ = ahead.spares.send(spare);
                }
                match ahead.batches.recv() {
                    Ok(read) => read,
                    Err(_) => return self.fail(),
                }
            }
        };
        if !matches!(read, Ok(Some(_))) {
            *self = Feed::Done;
        }
        read
    }

    /// The reading thread is gone without a result: it panicked, and so does the thread that waits for it.
    fn fail(&mut self) -> Read<R> {
        if let Feed::Ahead(ahead) = std::mem::replace(self, Feed::Done)
            && let Err(panic) = ahead.thread.join()
        {
            std::panic::resume_unwind(panic);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
