//! The writer in every order of its threads: callers, the writing thread, and threads that wait for it. The files are
//! real.

use super::*;
use crate::task::threading::{explore, spawn};
use loom::sync::Notify;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Pauses between batches end at once, all other waits only when they are signalled.
const ONLY_PAUSES: Duration = Duration::from_millis(5);
/// All waits end at once: the thread ends after each batch, and callers that wait poll.
const ALL: Duration = Duration::from_secs(60);
/// More than any model takes.
const FAR: Duration = Duration::from_secs(24 * 3600);

/// A writer, its file, and the number of failures that it has reported.
struct Model {
    path: PathBuf,
    target: Arc<Target>,
    writer: Writer,
    failures: Arc<AtomicU32>,
}

/// A caller that commits: it records what the queue has room for, and learns from the hook what is written, as the event loop of a program does.
struct Committer {
    model: Model,
    acknowledged: Event,
    /// The number of acknowledgements that the caller has seen.
    seen: u32,
    max_bytes: u64,
    /// The lines that are queued, those that wait for room, and the offsets of the ends of those that are acknowledged.
    awaited: VecDeque<u64>,
    crowded: VecDeque<&'static str>,
    ends: Vec<u64>,
}

impl Committer {
    fn new(model: Model, max_bytes: u64) -> Self {
        let acknowledged = Event::new();
        let happened = acknowledged.clone();
        model.writer.acknowledge_with(Arc::new(move || happened.happen()));
        let (awaited, crowded) = (VecDeque::new(), VecDeque::new());
        Committer { model, acknowledged, seen: 0, max_bytes, awaited, crowded, ends: Vec::new() }
    }

    fn commit(&mut self, line: &'static str) {
        if !self.crowded.is_empty() || !self.record(line) {
            self.crowded.push_back(line);
        }
    }

    /// Records a line if there is room for it.
    fn record(&mut self, line: &str) -> bool {
        let (_, queued) = self.model.writer.unwritten();
        if queued > 0 && queued + line.len() as u64 + 1 > self.max_bytes {
            return false;
        }
        self.model.writer.hold();
        self.awaited.push_back(self.model.writer.queued());
        assert!(self.model.push(line));
        true
    }

    /// Settles what is acknowledged, and records what there is room for then. Returns whether there was anything.
    fn settle(&mut self) -> bool {
        let before = (self.awaited.len(), self.crowded.len());
        while let Some(end) = self.awaited.front().and_then(|line| self.model.writer.line_end(*line)) {
            self.ends.push(end);
            self.awaited.pop_front();
        }
        while let Some(line) = self.crowded.front().copied()
            && self.record(line)
        {
            self.crowded.pop_front();
        }
        before != (self.awaited.len(), self.crowded.len())
    }

    fn watch(&mut self) {
        while self.model.writer.watch() && self.settle() {}
    }

    /// Waits for acknowledgements until everything is settled.
    fn finish(&mut self) {
        self.watch();
        while !self.awaited.is_empty() || !self.crowded.is_empty() {
            while self.acknowledged.times() == self.seen {
                self.acknowledged.0.0.wait();
            }
            self.seen = self.acknowledged.times();
            self.settle();
            self.watch();
        }
    }
}

/// An event that a model waits for, and how often it occurred.
#[derive(Clone)]
struct Event(Arc<(Notify, AtomicU32)>);

impl Event {
    fn new() -> Self {
        Event(Arc::new((Notify::new(), AtomicU32::new(0))))
    }

    fn happen(&self) {
        self.0.1.fetch_add(1, SeqCst);
        self.0.0.notify();
    }

    fn times(&self) -> u32 {
        self.0.1.load(SeqCst)
    }

    fn wait(&self) {
        // A wait may end spuriously.
        while self.times() == 0 {
            self.0.0.wait();
        }
    }
}

impl Model {
    fn new(path: &std::path::Path, durability: Durability) -> Self {
        std::fs::write(path, "").unwrap();
        let failures = Arc::new(AtomicU32::new(0));
        let counted = failures.clone();
        let hook = move |_: &WriteFailure| {
            counted.fetch_add(1, SeqCst);
        };
        let target = Arc::new(Target::new(path.to_path_buf()));
        Model { path: path.to_path_buf(), target, writer: Writer::new(durability, Box::new(hook)), failures }
    }

    fn push(&self, line: &str) -> bool {
        let write = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(line.as_bytes());
            buffer.push(b'\n');
            Ok::<(), std::convert::Infallible>(())
        };
        self.writer.push(&self.target, 1, line.len() + 1, write).unwrap()
    }

    /// Requests a flush, after which these lines must be in the file.
    fn flush(&self, expected: &'static str) -> Event {
        let (event, path) = (Event::new(), self.path.clone());
        let happened = event.clone();
        self.writer.flush(Box::new(move |result| {
            assert_eq!(result, Ok(()));
            let found = std::fs::read_to_string(path).unwrap();
            assert!(found.starts_with(expected), "{found:?} was flushed instead of {expected:?}");
            happened.happen();
        }));
        event
    }

    /// Closes the writer and waits until that is done.
    fn close(&self) {
        let closed = Event::new();
        let happened = closed.clone();
        self.writer.close(Box::new(move || happened.happen()));
        closed.wait();
        assert_eq!(closed.times(), 1);
    }

    fn content(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }
}

/// Explores a model of a writer with each durability and each kind of waits.
fn explore_writers(preemptions: usize, model: fn(Model)) {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for (durability, ends_below) in
        [Durability::Os, Durability::Fsync].into_iter().flat_map(|d| [(d, ONLY_PAUSES), (d, ALL)])
    {
        let path = directory.path().join("log.jsonl");
        let orders = explore(preemptions, ends_below, move || model(Model::new(&path, durability)));
        println!("{durability:?}, waits below {ends_below:?} end at once: {orders} orders");
    }
}

#[test]
fn flushed_and_later_lines_reach_the_file() {
    explore_writers(2, |model| {
        model.push("a");
        let flushed = model.flush("a\n");
        model.push("b");
        flushed.wait();
        assert_eq!(flushed.times(), 1);
        model.close();
        assert_eq!((model.content().as_str(), model.failures.load(SeqCst)), ("a\nb\n", 0));
    });
}

/// The thread may be working, pausing, waiting, ending or gone.
#[test]
fn line_queued_as_the_thread_goes_idle_is_written() {
    explore_writers(2, |model| {
        model.push("a");
        model.flush("a\n").wait();
        model.push("b");
        assert!(model.writer.shared().drain(Instant::now() + FAR));
        assert_eq!(model.content(), "a\nb\n");
        model.close();
    });
}

#[test]
fn two_callers_lose_nothing_and_both_flushes_are_answered() {
    explore_writers(1, |model| {
        let model = Arc::new(model);
        let (other, has_ended) = (model.clone(), Event::new());
        let ended = has_ended.clone();
        spawn("caller", move || {
            other.push("b");
            other.flush("").wait();
            ended.happen();
        })
        .unwrap();
        model.push("a");
        model.flush("").wait();
        has_ended.wait();
        model.close();
        let content = model.content();
        assert!(["a\nb\n", "b\na\n"].contains(&content.as_str()), "{content:?}");
    });
}

#[test]
fn a_writer_that_a_caller_stops_writes_what_was_queued_and_answers_all() {
    explore_writers(2, |model| {
        model.push("a");
        let flushed = model.flush("a\n");
        model.writer.fail(WriteError::Locked { owner: String::new() }, None, 1);
        assert!(!model.push("b"));
        flushed.wait();
        model.close();
        assert_eq!((model.content().as_str(), model.failures.load(SeqCst)), ("a\n", 1));
        assert_eq!((flushed.times(), model.writer.missing()), (1, 2));
    });
}

/// The end of a worker: everything is written, and the thread ends.
#[test]
fn closing_waits_for_the_last_batch() {
    explore_writers(2, |model| {
        model.push("a");
        model.push("b");
        model.writer.shared().end(Instant::now() + FAR);
        assert_eq!(model.content(), "a\nb\n");
    });
}

#[test]
fn commits_that_wait_for_room_are_all_acknowledged_in_order() {
    explore_writers(1, |model| {
        // Room for one line, so that the second one waits until the first is written.
        let mut committer = Committer::new(model, 2);
        committer.commit("a");
        committer.commit("b");
        committer.finish();
        assert_eq!(committer.ends, [2, 4]);
        assert_eq!(committer.model.content(), "a\nb\n");
        committer.model.close();
    });
}

#[test]
fn a_commit_next_to_queued_lines_and_an_observer_is_acknowledged() {
    explore_writers(1, |model| {
        let mut committer = Committer::new(model, 4);
        committer.model.writer.observe();
        committer.model.push("a");
        committer.commit("b");
        committer.finish();
        assert_eq!(committer.ends, [4]);
        assert_eq!(committer.model.content(), "a\nb\n");
        committer.model.close();
    });
}
