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
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counting {
        next: usize,
        end: Result<usize, usize>,
        read: Arc<AtomicUsize>,
    }

    impl BatchReader for Counting {
        type Batch = usize;
        type Error = usize;

        fn read(&mut self, _: Option<usize>) -> Result<Option<usize>, usize> {
            self.read.fetch_add(1, Ordering::SeqCst);
            self.next += 1;
            match self.end {
                Ok(end) if self.next > end => Ok(None),
                Err(end) if self.next > end => Err(end),
                _ if self.next == 666 => panic!("as wanted"),
                _ => Ok(Some(self.next)),
            }
        }
    }

    fn feed(end: Result<usize, usize>) -> (Feed<Counting>, Arc<AtomicUsize>) {
        let read = Arc::new(AtomicUsize::new(0));
        let of = read.clone();
        (Feed::ahead(|| Ok(Counting { next: 0, end, read: of.clone() })).unwrap(), read)
    }

    #[test]
    fn batches_come_in_order_to_the_end_or_the_error() {
        for end in [Ok(100), Err(100), Ok(0)] {
            let (mut feed, _) = feed(end);
            for batch in 1..=end.unwrap_or_else(|end| end) {
                assert_eq!(feed.next(Some(0)), Ok(Some(batch)));
            }
            assert_eq!(feed.next(None), end.map(|_| None));
            assert_eq!(feed.next(None), Ok(None));
        }
    }

    #[test]
    fn little_is_read_ahead_and_nothing_once_nobody_wants_it() {
        let (mut feed, read) = feed(Ok(600));
        (0..10).for_each(|_| assert!(feed.next(None).is_ok()));
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(read.load(Ordering::SeqCst) <= 10 + AHEAD + 1);
        let Feed::Ahead(ahead) = feed else { panic!("there is no thread") };
        drop(ahead.batches);
        ahead.thread.join().unwrap();
        assert!(read.load(Ordering::SeqCst) <= 10 + AHEAD + 2);
    }

    #[test]
    #[should_panic(expected = "as wanted")]
    fn a_panic_is_passed_on() {
        let (mut feed, _) = feed(Ok(1000));
        (0..1000).for_each(|_| assert!(feed.next(None).is_ok()));
    }
}
