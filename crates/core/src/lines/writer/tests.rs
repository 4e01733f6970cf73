use super::*;
use crate::disk::lock::FileLock;
use crate::task::Cancellation;
use crate::task::background;
use std::convert::Infallible;
use std::sync::mpsc;
use std::time::{Duration, Instant};

struct Fixture {
    _directory: tempfile::TempDir,
    path: PathBuf,
    target: Arc<Target>,
    writer: Writer,
    failures: mpsc::Receiver<WriteFailure>,
}

fn fixture(durability: Durability) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    std::fs::write(&path, "").unwrap();
    let (sender, failures) = mpsc::channel();
    let writer = Writer::new(durability, Box::new(move |failure| sender.send(failure.clone()).unwrap()));
    Fixture { _directory: directory, target: Target::new(path.clone()).into(), path, writer, failures }
}

fn push_to(writer: &Writer, target: &Arc<Target>, line: &str) -> bool {
    let write = |buffer: &mut Vec<u8>| {
        buffer.extend_from_slice(line.as_bytes());
        buffer.push(b'\n');
        Ok::<(), Infallible>(())
    };
    writer.push(target, 1, line.len() + 1, write).unwrap()
}

impl Fixture {
    fn push(&self, line: &str) -> bool {
        push_to(&self.writer, &self.target, line)
    }

    /// Waits until every line is in its file, without a flush.
    fn wait_until_written(&self) {
        assert!(self.writer.shared().drain(Instant::now() + Duration::from_secs(20)));
    }

    fn flush(&self) -> Result<(), WriteFailure> {
        let (sender, receiver) = mpsc::channel();
        self.writer.flush(Box::new(move |result| sender.send(result).unwrap()));
        receiver.recv().unwrap()
    }

    fn content(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }
}

#[test]
fn lines_arrive_in_order_at_any_durability() {
    for durability in [Durability::Os, Durability::Fsync] {
        let fixture = fixture(durability);
        let lines: Vec<String> = (0..20_000).map(|n| format!("line {n} {}", "x".repeat(n % 90))).collect();
        for line in &lines {
            assert!(fixture.push(line));
        }
        fixture.flush().unwrap();
        assert_eq!(fixture.writer.unwritten(), (0, 0));
        assert_eq!(fixture.content(), lines.join("\n") + "\n");
    }
}

#[test]
fn what_is_queued_is_written_without_a_flush_and_after_the_writer_is_gone() {
    let Fixture { _directory, path, target, writer, .. } = fixture(Durability::Os);
    let write = |buffer: &mut Vec<u8>| {
        buffer.extend_from_slice(b"last\n");
        Ok::<(), Infallible>(())
    };
    writer.push(&target, 1, 5, write).unwrap();
    let shared = writer.shared().clone();
    drop(writer);
    assert!(shared.drain(Instant::now() + Duration::from_secs(20)));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "last\n");
}

/// Regression: the writer slept although a line was queued during its last pause, since it paused after its last check and not before it.
#[test]
fn line_queued_in_the_last_pause_is_written() {
    let fixture = fixture(Durability::Os);
    for round in 0..400 {
        fixture.push("a");
        fixture.flush().unwrap();
        // Lands somewhere in the pauses of a writer that is about to go idle.
        std::thread::sleep(thread::POLL_INTERVAL * (thread::MAX_POLLS - 1) + Duration::from_micros(round * 5));
        fixture.push("b");
        let deadline = Instant::now() + Duration::from_secs(20);
        while fixture.writer.unwritten().0 > 0 {
            assert!(Instant::now() < deadline, "round {round}");
            std::thread::yield_now();
        }
    }
}

/// Regression: the polling thread kept the file of a worker locked after the worker had ended.
#[test]
fn ended_writer_has_closed_its_file() {
    let fixture = fixture(Durability::Os);
    for round in 0..50 {
        let lock = FileLock::acquire(&fixture.path, "x").unwrap();
        let target = Arc::new(Target::new(fixture.path.clone()).locked(lock));
        let writer = Writer::new(Durability::Os, Box::new(|_| {}));
        for _ in 0..round % 5 {
            let write = |buffer: &mut Vec<u8>| {
                buffer.extend_from_slice(b"x\n");
                Ok::<(), Infallible>(())
            };
            writer.push(&target, 1, 2, write).unwrap();
        }
        drop(target);
        writer.shared().end(Instant::now() + Duration::from_secs(20));
        assert!(!FileLock::path_for(&fixture.path).exists(), "round {round}");
    }
    assert_eq!(fixture.content().len(), 2 * 100);
}

#[test]
fn an_idle_writer_is_flushed_at_once() {
    let fixture = fixture(Durability::Fsync);
    fixture.flush().unwrap();
    fixture.push("a");
    fixture.flush().unwrap();
    fixture.flush().unwrap();
    assert_eq!(fixture.content(), "a\n");
}

#[test]
fn line_that_fails_to_print_leaves_no_bytes() {
    let fixture = fixture(Durability::Os);
    let refuse = |buffer: &mut Vec<u8>| {
        buffer.extend_from_slice(b"half a li");
        Err("refused")
    };
    assert_eq!(fixture.writer.push(&fixture.target, 1, 10, refuse), Err("refused"));
    fixture.push("whole");
    fixture.flush().unwrap();
    assert_eq!(fixture.content(), "whole\n");
}

#[test]
fn missing_file_ends_the_writer_with_one_failure() {
    let fixture = fixture(Durability::Os);
    fixture.push("a");
    fixture.flush().unwrap();
    std::fs::remove_file(&fixture.path).unwrap();
    fixture.push("b");
    fixture.push("c");
    assert_eq!(fixture.flush(), Ok(()));
    let failure = fixture.failures.recv().unwrap();
    assert_eq!(failure.error.code(), "ENOENT");
    assert!((1..=2).contains(&failure.dropped), "{}", failure.dropped);
    assert!(!fixture.push("d"));
    assert!(fixture.failures.try_recv().is_err());
    assert!(!fixture.path.exists());
    assert_eq!(fixture.writer.unwritten(), (0, 0));
}

#[test]
fn a_file_that_became_a_directory_rejects_the_flush() {
    let fixture = fixture(Durability::Os);
    std::fs::remove_file(&fixture.path).unwrap();
    std::fs::create_dir(&fixture.path).unwrap();
    fixture.push("a");
    let flushed = fixture.flush();
    let failure = fixture.failures.recv().unwrap();
    assert_eq!(failure.error.code(), "EISDIR");
    // The write may have failed before the flush was requested. A failed writer has nothing to flush, but reports what is lost.
    assert!(flushed.is_ok() || flushed == Err(failure));
    assert_eq!((fixture.writer.unflushed(), fixture.writer.missing()), (Some(1), 1));
    assert!(!fixture.push("b"));
    fixture.writer.refuse(3);
    assert_eq!((fixture.writer.unflushed(), fixture.writer.missing()), (Some(5), 5));
}

/// Regression: a flush was answered between the failure and its report, so the caller found no failure and assumed that the lines were
/// written.
#[test]
fn a_flush_and_a_drain_during_the_report_of_a_failure_wait_for_its_end() {
    let (reporting, reports) = mpsc::channel();
    let (go_on, gone_on) = mpsc::channel();
    let gone_on = std::sync::Mutex::new(gone_on);
    let hook = move |failure: &WriteFailure| {
        reporting.send(failure.clone()).unwrap();
        gone_on.lock().unwrap().recv().unwrap();
    };
    let directory = tempfile::tempdir().unwrap();
    let writer = Writer::new(Durability::Os, Box::new(hook));
    push_to(&writer, &Arc::new(Target::new(directory.path().to_path_buf())), "a");
    assert_eq!(reports.recv().unwrap().error.code(), "EISDIR");
    assert!(writer.has_failed());
    let (sender, flushed) = mpsc::channel();
    writer.flush(Box::new(move |result| sender.send(result).unwrap()));
    assert_eq!(flushed.try_recv(), Err(mpsc::TryRecvError::Empty));
    assert!(!writer.shared().drain(Instant::now() + Duration::from_millis(20)));
    go_on.send(()).unwrap();
    assert_eq!(flushed.recv().unwrap(), Ok(()));
    assert!(writer.shared().drain(Instant::now() + Duration::from_secs(20)));
}

/// Regression: while the queued lines were being synced, a writer that a caller had stopped accepted lines again and lost them, and a drain
/// did not wait for the report of the failure.
#[test]
fn a_writer_that_was_stopped_takes_no_more_lines() {
    for round in 0..20 {
        let fixture = fixture(Durability::Fsync);
        fixture.push("a");
        fixture.wait_until_written();
        fixture.writer.fail(WriteError::Locked { owner: String::new() }, None, 0);
        while fixture.failures.try_recv().is_err() {
            assert!(fixture.writer.has_failed(), "round {round}");
        }
        assert_eq!(fixture.content(), "a\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_device_drops_unwritten_lines() {
    let fixture = fixture(Durability::Os);
    let full = Arc::new(Target::new("/dev/full".into()));
    push_to(&fixture.writer, &full, "x");
    fixture.flush().unwrap();
    let failure = fixture.failures.recv().unwrap();
    assert_eq!((failure.error.code(), failure.dropped), ("ENOSPC", 1));
}

#[test]
fn lines_are_written_to_the_file_current_when_queued() {
    let fixture = fixture(Durability::Fsync);
    let other_path = fixture.path.with_extension("other");
    std::fs::write(&other_path, "").unwrap();
    fixture.push("a");
    let other = Arc::new(Target::new(other_path.clone()));
    for (target, line) in [(&other, "b\n"), (&fixture.target, "c\n"), (&other, "d\n")] {
        let write = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(line.as_bytes());
            Ok::<(), Infallible>(())
        };
        fixture.writer.push(target, 1, 2, write).unwrap();
    }
    fixture.flush().unwrap();
    assert_eq!(fixture.content(), "a\nc\n");
    assert_eq!(std::fs::read_to_string(other_path).unwrap(), "b\nd\n");
}

/// With `fsync`, lines written to one file are synced before the writer fails at another file.
#[test]
fn failure_keeps_lines_of_an_earlier_unsynced_file() {
    let fixture = fixture(Durability::Fsync);
    fixture.push("a");
    fixture.wait_until_written();
    let missing = Arc::new(Target::new(fixture.path.with_extension("missing")));
    push_to(&fixture.writer, &missing, "b");
    assert_eq!(fixture.flush(), Ok(()));
    let failure = fixture.failures.recv().unwrap();
    assert_eq!((failure.error.code(), failure.kept, failure.dropped), ("ENOENT", 1, 1));
}

/// Regression: a recorder that could not continue in another file dropped the lines that were still queued for its first one.
#[test]
fn a_failure_of_the_caller_waits_for_what_was_queued() {
    for durability in [Durability::Os, Durability::Fsync] {
        let fixture = fixture(durability);
        (0..500).for_each(|_| assert!(fixture.push("queued before the failure")));
        let other = fixture.path.with_extension("other");
        fixture.writer.fail(WriteError::Locked { owner: String::new() }, Some(other.clone()), 3);
        assert!(fixture.writer.has_failed());
        assert!(!fixture.push("refused"));
        assert_eq!(fixture.flush(), Ok(()));
        let failure = fixture.failures.recv().unwrap();
        assert_eq!((failure.error.code(), failure.path, failure.kept), ("ESESSIONLOCKED", Some(other), 500));
        assert!((3..=4).contains(&failure.dropped), "{}", failure.dropped);
        assert_eq!(fixture.content().lines().count(), 500);
        assert_eq!(fixture.writer.missing(), 4);
    }
}

/// Regression: the writer shared a pool of threads with replays, and when all of them were blocked, the last records of a process were lost.
#[test]
fn blocked_jobs_of_the_pool_do_not_hold_up_a_writer() {
    let (blocked, release) = mpsc::channel::<()>();
    let release = Arc::new(Mutex::new(release));
    for _ in 0..600 {
        let release = release.clone();
        // Ends when the sender is dropped, even if this test panics.
        background::spawn(&Cancellation::default(), move |_| {
            let _ = release.lock().recv();
        });
    }
    let fixture = fixture(Durability::Os);
    fixture.push("last");
    fixture.wait_until_written();
    assert_eq!(fixture.content(), "last\n");
    drop(blocked);
}

/// The thread ends when it has had nothing to do for a while, and the next line starts another one.
#[test]
fn a_line_that_comes_after_the_thread_has_ended_is_written() {
    let fixture = fixture(Durability::Os);
    for line in ["first", "second"] {
        fixture.push(line);
        let deadline = Instant::now() + Duration::from_secs(20);
        while fixture.writer.shared().state.lock().thread != Thread::None {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    assert_eq!(fixture.content(), "first\nsecond\n");
}

/// Closing syncs lines for which no flush was requested, and ends the thread.
#[test]
fn closing_syncs_and_ends_the_thread() {
    let fixture = fixture(Durability::Fsync);
    fixture.push("a");
    fixture.wait_until_written();
    let (sender, receiver) = mpsc::channel();
    fixture.writer.close(Box::new(move || sender.send(()).unwrap()));
    receiver.recv().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while fixture.writer.shared().state.lock().thread != Thread::None {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(1));
    }
    let state = fixture.writer.shared().state.lock();
    assert!(state.unsynced.is_empty());
    assert_eq!(state.synced, 1);
}

fn acknowledging(durability: Durability) -> (Fixture, mpsc::Receiver<()>) {
    let fixture = fixture(durability);
    let (sender, batches) = mpsc::channel();
    fixture.writer.acknowledge_with(Arc::new(move || {
        let _ = sender.send(());
    }));
    (fixture, batches)
}

fn next(batches: &mpsc::Receiver<()>) {
    batches.recv_timeout(Duration::from_secs(20)).unwrap();
}

#[test]
fn what_is_asked_for_during_a_sync_is_answered() {
    let (fixture, batches) = acknowledging(Durability::Fsync);
    for round in 0..4000 {
        let (done, flushed) = mpsc::channel();
        fixture.push("x");
        let flush = || fixture.writer.flush(Box::new(move |result| done.send(result).unwrap()));
        // The second one comes before, during or after the sync for the first.
        let later = Instant::now() + Duration::from_micros(round % 97 * 2);
        let wait = || while Instant::now() < later {};
        if round % 2 == 0 {
            let is_acknowledged = fixture.writer.watch();
            wait();
            flush();
            flushed.recv_timeout(Duration::from_secs(20)).unwrap().unwrap();
            if !is_acknowledged {
                next(&batches);
            }
        } else {
            flush();
            wait();
            if !fixture.writer.watch() {
                next(&batches);
            }
            flushed.recv_timeout(Duration::from_secs(20)).unwrap().unwrap();
        }
        assert_eq!(fixture.writer.acknowledged(), fixture.writer.queued());
        while batches.try_recv().is_ok() {}
    }
}

/// Also by a caller that begins to wait while the thread ends the batch before.
#[test]
fn a_watched_line_is_acknowledged_when_the_hook_is_called() {
    let (fixture, batches) = acknowledging(Durability::Os);
    for round in 0..4000 {
        fixture.push("before");
        fixture.flush().unwrap();
        fixture.writer.hold();
        fixture.push("watched");
        let later = Instant::now() + Duration::from_micros(round % 31);
        while Instant::now() < later {}
        assert!(!fixture.writer.watch());
        next(&batches);
        assert_eq!(fixture.writer.acknowledged(), fixture.writer.queued());
        assert!(batches.try_recv().is_err());
    }
}

#[test]
fn held_lines_are_one_batch_which_is_acknowledged_once() {
    for durability in [Durability::Os, Durability::Fsync] {
        let (fixture, batches) = acknowledging(durability);
        // The thread is then working, parked or gone.
        for pause in [0, 3, 40] {
            std::thread::sleep(Duration::from_millis(pause));
            let first = fixture.writer.queued();
            fixture.writer.hold();
            (0..64).for_each(|n| assert!(fixture.push(&"x".repeat(n))));
            std::thread::sleep(Duration::from_millis(3));
            assert_eq!((fixture.writer.acknowledged(), fixture.writer.line_end(first)), (first, None));
            assert!(!fixture.writer.watch());
            next(&batches);
            assert_eq!(fixture.writer.acknowledged(), first + 64);
            assert!(fixture.writer.watch());
            assert!(batches.try_recv().is_err());
        }
        let content = fixture.content();
        let ends = content.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u64 + 1);
        assert_eq!(
            (0..192).map(|line| fixture.writer.line_end(line).unwrap()).collect::<Vec<_>>(),
            ends.collect::<Vec<_>>()
        );
        assert_eq!(fixture.writer.line_end(192), None);
    }
}

#[test]
fn held_lines_are_written_by_a_flush_and_by_the_end() {
    let (fixture, _batches) = acknowledging(Durability::Os);
    fixture.writer.hold();
    fixture.push("flushed");
    fixture.flush().unwrap();
    fixture.writer.hold();
    fixture.push("drained");
    fixture.wait_until_written();
    fixture.writer.hold();
    fixture.push("ended");
    fixture.writer.shared().end(Instant::now() + Duration::from_secs(20));
    assert_eq!(fixture.content(), "flushed\ndrained\nended\n");
}

#[test]
fn an_observed_writer_acknowledges_every_batch_and_syncs_it() {
    let (fixture, batches) = acknowledging(Durability::Fsync);
    fixture.writer.observe();
    for line in 0..5 {
        fixture.push("a");
        next(&batches);
        assert_eq!(fixture.writer.acknowledged(), line + 1);
    }
}

#[test]
fn after_a_failure_only_what_is_in_the_file_is_acknowledged() {
    let (fixture, batches) = acknowledging(Durability::Os);
    fixture.push("kept");
    fixture.flush().unwrap();
    std::fs::remove_file(&fixture.path).unwrap();
    fixture.writer.hold();
    fixture.push("lost");
    fixture.writer.watch();
    assert_eq!(fixture.failures.recv_timeout(Duration::from_secs(20)).unwrap().dropped, 1);
    assert_eq!((fixture.writer.line_end(0), fixture.writer.line_end(1)), (Some(5), None));
    assert!(batches.try_recv().is_err());
}

/// Whenever it was queued: the loop may have turned many times before the disk was ready.
#[test]
fn a_line_is_pending_until_the_loop_turns_after_it_was_written() {
    let (fixture, _batches) = acknowledging(Durability::Os);
    fixture.writer.hold();
    fixture.push("a");
    assert!(fixture.writer.end_turn());
    assert!(fixture.writer.end_turn());
    assert_eq!(fixture.writer.pending(), (1, 2));
    fixture.flush().unwrap();
    assert_eq!((fixture.writer.pending(), fixture.writer.unwritten()), ((1, 2), (0, 0)));
    assert!(!fixture.writer.end_turn());
    assert_eq!(fixture.writer.pending(), (0, 0));
}
