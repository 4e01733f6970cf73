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
