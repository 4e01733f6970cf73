use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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

/// A feed, and the number of batches read. The reader shares that counter until it is dropped.
fn feed(end: Result<usize, usize>, size: u64) -> (Feed<Counting>, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    (Feed::new(Counting { next: 0, end, read: read.clone() }, size), read)
}

#[test]
fn feed_yields_batches_in_order_until_end_or_error() {
    for (end, size) in [(Ok(100), u64::MAX), (Err(100), u64::MAX), (Ok(0), u64::MAX), (Ok(3), 0), (Err(3), 0)] {
        let (mut feed, read) = feed(end, size);
        for batch in 1..=end.unwrap_or_else(|end| end) {
            assert_eq!(feed.next(Some(0)), Ok(Some(batch)));
        }
        assert_eq!(feed.next(None), end.map(|_| None));
        assert_eq!(feed.next(None), Ok(None));
        assert_eq!(Arc::strong_count(&read), 1, "the log is closed");
    }
}

#[test]
fn read_ahead_is_bounded_and_stops_when_the_feed_is_dropped() {
    let (mut feed, read) = feed(Ok(600), u64::MAX);
    (0..10).for_each(|_| assert!(feed.next(None).is_ok()));
    std::thread::sleep(Duration::from_millis(30));
    assert!(read.load(Ordering::SeqCst) <= 10 + AHEAD);
    drop(feed);
    let closed = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        Arc::strong_count(&read) == 1
    });
    assert!(closed && read.load(Ordering::SeqCst) <= 10 + AHEAD);
}

#[test]
fn a_small_log_is_read_on_the_thread_that_compares() {
    let (mut feed, read) = feed(Ok(600), MAX_SMALL_BYTES);
    for batch in 1..=10 {
        assert_eq!(feed.next(None), Ok(Some(batch)));
        assert_eq!(read.load(Ordering::SeqCst), batch);
    }
}

#[test]
#[should_panic(expected = "as wanted")]
fn a_panic_of_the_reader_is_passed_on() {
    let (mut feed, _) = feed(Ok(1000), u64::MAX);
    (0..1000).for_each(|_| assert!(feed.next(None).is_ok()));
}
