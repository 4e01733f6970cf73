//! The crash harness: a real recorder in a child process, which is killed at every step of its work, and at random moments. Afterwards the file must
//! contain every acknowledged record once, and no record in part.
//!
//! `CRASH_ROUNDS` sets the number of rounds of each kind; by default it is small.

// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod crashing;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use crashing::{Terms, child_command, kill_after, number, random_numbers, rounds, run_to_end, say, take_on_terms};
use session_tape_core::disk::Durability;
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::read::Replay;
use session_tape_core::session::record::{FileNameForm, Record, Recorder, RecorderConfig};

const POINTS: [&str; 9] = [
    "append::before_write",
    "append::after_write",
    "append::before_sync",
    "writer::before_directory_sync",
    "writer::before_answer",
    "writer::after_answer",
    "recorder::before_create",
    "recorder::after_create",
    "lock::before_owner",
];

/// Steps that are reached when a write fails after a part of a batch.
const POINTS_OF_A_FULL_DISK: [&str; 2] = ["append::before_truncate", "append::after_truncate"];

/// The orders of a child.
#[derive(Clone, Copy)]
struct Orders<'a> {
    directory: &'a Path,
    /// The session file to resume, with its last `seq`; if `None`, the child creates a new one.
    resume: Option<(&'a Path, f64)>,
    /// The id of the child's first record.
    first_id: u64,
    terms: Terms,
}

// ---- The child ----------------------------------------------------------------------------------

/// Runs only in the process that the harness starts.
#[test]
fn child() {
    let Ok(directory) = std::env::var("CRASH_DIRECTORY") else { return };
    let fsync = take_on_terms();
    let (sender, failures) = mpsc::channel();
    let config = RecorderConfig {
        mode: 0o600,
        chats_dir: PathBuf::from(directory),
        file_name: FileNameForm::Minutes,
        id_prefix: "crash".encode_utf16().collect(),
        durability: if fsync { Durability::Fsync } else { Durability::Os },
        exclusive_owner: Some("the child".to_owned()),
    };
    let recorder = Recorder::new(config, br#"{"sessionId":"s","projectHash":"h"}"#, 0.0, move |failure| {
        let _ = sender.send(failure.dropped);
    });
    if let Ok(path) = std::env::var("CRASH_RESUME") {
        assert!(recorder.resume(path.into(), number("CRASH_LAST_SEQ").unwrap_or(0.0)));
    }
    let first_id = number("CRASH_FIRST_ID").unwrap_or(0.0) as u64;
    record_batches(&recorder, first_id);
    if let Ok(dropped) = failures.try_recv() {
        say(&format!("dropped {dropped}"));
    }
}

/// Records batches of all sizes, flushes each, and then acknowledges it to the harness.
fn record_batches(recorder: &Recorder, first_id: u64) {
    let mut id = first_id;
    for batch in 0..60u64 {
        for _ in 0..=(batch * 7 % 23) {
            let filling = "é".repeat((id * 37 % 900) as usize);
            let payload = format!(r#"{{"content":{{"speaker":"ai","id":{id},"text":"{filling}"}}}}"#);
            let payload = Some(payload.as_bytes());
            let Ok(recorded) = recorder.record(Record { type_json: b"\"content\"", milliseconds: 0.0, payload });
            if recorded.is_none() {
                return;
            }
            id += 1;
        }
        let (sender, flushed) = mpsc::channel();
        recorder.writer().flush(Box::new(move |result| sender.send(result).unwrap()));
        let flushed = flushed.recv().unwrap();
        if flushed.is_err() || recorder.writer().has_failed() {
            return;
        }
        say(&format!("acked {id}"));
    }
}

/// Runs in this process, which a panic of the writer must not end: apart from this test, only children reach the fail point.
#[test]
fn a_panic_of_the_writer_is_a_failed_write() {
    let directory = tempfile::tempdir().unwrap();
    let (sender, failures) = mpsc::channel();
    let config = RecorderConfig {
        mode: 0o600,
        chats_dir: directory.path().to_path_buf(),
        file_name: FileNameForm::Minutes,
        id_prefix: "panic".encode_utf16().collect(),
        durability: Durability::Os,
        exclusive_owner: None,
    };
    let recorder = Recorder::new(config, b"{}", 0.0, move |failure| sender.send(failure.clone()).unwrap());
    fail::cfg("append::before_write", "panic").unwrap();
    let payload = Some(&b"{}"[..]);
    let record = Record { type_json: b"\"content\"", milliseconds: 0.0, payload };
    assert_eq!(recorder.record(record).map(|recorded| recorded.map(|recorded| recorded.seq)), Ok(Some(2.0)));
    let failure = failures.recv().unwrap();
    fail::remove("append::before_write");
    assert_eq!((failure.error.code(), failure.dropped), ("UNKNOWN", 2));
    assert!(!recorder.is_active());
    let (sender, flushed) = mpsc::channel();
    recorder.writer().flush(Box::new(move |result| sender.send(result).unwrap()));
    assert_eq!(flushed.recv().unwrap(), Ok(()));
}

// ---- The harness --------------------------------------------------------------------------------

fn command(orders: &Orders<'_>) -> Command {
    let mut command = child_command(orders.terms);
    command.env("CRASH_DIRECTORY", orders.directory).env("CRASH_FIRST_ID", orders.first_id.to_string());
    if let Some((path, last_seq)) = orders.resume {
        command.env("CRASH_RESUME", path).env("CRASH_LAST_SEQ", last_seq.to_string());
    }
    command
}

/// Runs a child to its end. Returns the id after the last one that it acknowledged, or its first id if it acknowledged none.
fn run(orders: &Orders<'_>) -> u64 {
    run_to_end(&mut command(orders)).acked.unwrap_or(orders.first_id)
}

fn session_file(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    entries
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
}

/// The content of a file, checked: each line is a whole record or a torn one, and no record occurs twice.
struct Found {
    ids: HashSet<u64>,
    last_seq: f64,
}

fn check(path: &Path, context: &str) -> Found {
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let mut ids = HashSet::new();
    let mut previous = None;
    for (number, line) in text.lines().enumerate() {
        let Ok(event) = serde_json::from_str::<serde_json::Value>(line) else {
            assert!(!line.contains("}}}{"), "{context}: line {} is a record fused onto a torn one", number + 1);
            continue;
        };
        if event["type"] == "content" {
            let id = event["payload"]["content"]["id"].as_u64().unwrap();
            assert!(ids.insert(id), "{context}: record {id} stands there twice");
            assert!(previous < Some(id), "{context}: record {id} is out of order");
            previous = Some(id);
        }
    }
    let mut replay = Replay::open(path, FoldOptions::default()).unwrap();
    while replay.scan_on().unwrap().is_some() {}
    replay.settle();
    assert_eq!(replay.items().len(), ids.len(), "{context}: the replay has what is in the file");
    let outcome = replay.outcome(None);
    if !text.is_empty() && text.contains('\n') {
        assert!(outcome.metadata.is_ok(), "{context}: {:?}", outcome.metadata);
    }
    Found { ids, last_seq: outcome.last_seq }
}

fn check_acknowledged(found: &Found, ids: std::ops::Range<u64>, context: &str) {
    for id in ids {
        assert!(found.ids.contains(&id), "{context}: record {id} was acknowledged and is missing");
    }
}

/// Three processes record one session, each ended by `end`. Each one resumes what the previous ones have left.
fn three_lives(context: &str, fsync: bool, mut end: impl FnMut(u64, &Orders<'_>) -> u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut acked_ranges = Vec::new();
    let mut state: Option<(PathBuf, f64)> = None;
    for life in 0..3u64 {
        let first_id = life * 100_000;
        let resume = state.as_ref().map(|(path, last_seq)| (path.as_path(), *last_seq));
        let orders =
            Orders { directory: directory.path(), resume, first_id, terms: Terms { fsync, ..Terms::default() } };
        let acked = end(life, &orders);
        acked_ranges.push(first_id..acked);
        let Some(path) = session_file(directory.path()) else { continue };
        let found = check(&path, context);
        acked_ranges.iter().for_each(|range| check_acknowledged(&found, range.clone(), context));
        // A file without a complete session_start has no acknowledged record and cannot be resumed. Removed, so that the harness does not mistake it
        // for the file of the next process.
        if found.last_seq > 0.0 {
            state = Some((path, found.last_seq));
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_process_that_ends_at_any_step_loses_nothing_acknowledged() {
    let mut ended_at = HashSet::new();
    for point in POINTS {
        for fsync in [false, true] {
            for round in 0..rounds() {
                let visit = [1, 2, 7, 30][(round % 4) as usize] + round / 4;
                three_lives(&format!("{point}, visit {visit}, fsync {fsync}"), fsync, |_, orders| {
                    let terms = Terms { point: Some((point, visit)), ..orders.terms };
                    let ended = run_to_end(&mut command(&Orders { terms, ..*orders }));
                    if !ended.by_itself() {
                        ended_at.insert(point);
                    }
                    ended.acked.unwrap_or(orders.first_id)
                });
            }
        }
    }
    assert_eq!(ended_at.len(), POINTS.len(), "ended only at {ended_at:?}");
}

/// A process that leaves an empty file, which the harness once mistook for the next process's file and then missed the acknowledged records in it.
#[test]
fn recorder_after_one_that_wrote_nothing_loses_nothing_acknowledged() {
    for lives in [1, 2] {
        three_lives(&format!("{lives} lives without a line"), lives == 1, |life, orders| {
            let point = (life < lives).then_some(("recorder::after_create", 1));
            run(&Orders { terms: Terms { point, ..orders.terms }, ..*orders })
        });
    }
}

#[test]
fn a_process_that_is_killed_at_any_moment_loses_nothing_acknowledged() {
    let mut next = random_numbers();
    for round in 0..rounds() * 4 {
        let context = format!("kill -9, round {round}");
        three_lives(&context, round % 4 == 3, |_, orders| {
            let delay = Duration::from_micros(500 + next(25_000));
            let acked = kill_after(delay, &mut command(orders)).acked.unwrap_or(orders.first_id);
            cut_in_mid_write(orders.directory, orders.resume.map(|(path, _)| path), acked, next(2000));
            acked
        });
    }
}

/// Truncates a file as a kill in the middle of a write would: a part of what was not acknowledged yet is left.
fn cut_in_mid_write(directory: &Path, resumed: Option<&Path>, acked: u64, surplus: u64) {
    let Some(path) = resumed.map(Path::to_path_buf).or_else(|| session_file(directory)) else { return };
    let content = std::fs::read(&path).unwrap();
    let last = format!("\"id\":{},", acked.saturating_sub(1));
    let Some(at) = memchr::memmem::rfind(&content, last.as_bytes()) else { return };
    let Some(safe) = memchr::memchr(b'\n', &content[at..]).map(|newline| at + newline + 1) else { return };
    let length = (safe + surplus as usize).min(content.len());
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length as u64).unwrap();
}

#[test]
fn a_full_disk_leaves_whole_records() {
    for round in 0..rounds() * 4 {
        let directory = tempfile::tempdir().unwrap();
        let context = format!("file limit, round {round}");
        let orders = Orders {
            directory: directory.path(),
            resume: None,
            first_id: 0,
            terms: Terms { file_limit: Some(60_000 + round * 1237), ..Terms::default() },
        };
        let acked = run(&orders);
        assert!(acked > 0, "{context}");
        let path = session_file(directory.path()).unwrap();
        assert!(std::fs::read(&path).unwrap().ends_with(b"\n"), "{context}: the file ends at a record");
        let found = check(&path, &context);
        check_acknowledged(&found, 0..acked, &context);
        // The disk has room again, and the session is resumed.
        let resume = Some((path.as_path(), found.last_seq));
        let acked = run(&Orders { resume, first_id: 100_000, terms: Terms::default(), ..orders });
        check_acknowledged(&check(&path, &context), 100_000..acked, &context);
    }
}

#[test]
fn a_process_that_ends_while_it_cuts_back_a_torn_batch_loses_nothing_acknowledged() {
    for point in POINTS_OF_A_FULL_DISK {
        for round in 0..rounds() {
            let context = format!("{point}, round {round}");
            three_lives(&context, false, |life, orders| {
                let size = orders.resume.map_or(0, |(path, _)| std::fs::metadata(path).unwrap().len());
                let file_limit = Some(size + 50_000 + life * 777 + round * 1111);
                run(&Orders { terms: Terms { point: Some((point, 1)), file_limit, ..orders.terms }, ..*orders })
            });
        }
    }
}
