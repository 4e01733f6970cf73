//! Interrupted forks: a child process forks a session and is ended at every step, at random moments, or by a full disk. Afterwards the new session is
//! complete or does not exist, and the source is unchanged.
//!
//! `CRASH_ROUNDS` sets the number of rounds of each kind; by default it is small.

// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod crashing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crashing::{Terms, child_command, kill_after, random_numbers, rounds, run_to_end, say, take_on_terms};
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::format::Mode;
use session_tape_core::session::read::Replay;
use session_tape_core::session::record::{FileNameForm, ForkError, ForkSource, ForkTarget, fork};

/// Each with whether the new session exists when the point is reached.
const POINTS: [(&str, bool); 5] = [
    ("fork::created", false),
    ("fork::written", false),
    ("fork::synced", false),
    ("fork::placed", true),
    ("writer::before_directory_sync", true),
];

const ITEMS: usize = 400;

// ---- The child ----------------------------------------------------------------------------------

/// Runs only in the process that the harness starts.
#[test]
fn child() {
    let Ok(directory) = std::env::var("CRASH_DIRECTORY") else { return };
    take_on_terms();
    let directory = PathBuf::from(directory);
    let source = ForkSource {
        path: source_of(&directory),
        project_hash: "h".encode_utf16().collect(),
        checkpoint_id: "c".encode_utf16().collect(),
    };
    let start =
        br#"{"sessionId":"child","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#;
    let target = ForkTarget {
        mode: 0o600,
        chats_dir: directory,
        file_name: FileNameForm::Minutes,
        id_prefix: "child".encode_utf16().collect(),
        start_payload: start.to_vec(),
        milliseconds: 0.0,
        contents: None,
    };
    match fork(&source, &target) {
        Ok(made) => say(&format!("acked {}", made.last_seq)),
        Err(ForkError::System(error)) => assert_eq!(error.code, "EFBIG"),
        Err(error) => panic!("{error:?}"),
    }
}

// ---- The harness --------------------------------------------------------------------------------

fn source_of(directory: &Path) -> PathBuf {
    directory.join("session-source.jsonl")
}

/// A directory with a source: `ITEMS` items, the checkpoint, and one more item.
fn prepared() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let start = r#""type":"session_start","payload":{"sessionId":"s","projectHash":"h","provider":"p","model":"m","startTime":"t"}"#;
    let item = |at: usize| {
        let filling = "é".repeat(at % 700);
        format!(r#""type":"content","payload":{{"content":{{"speaker":"ai","blocks":[],"text":"{filling}"}}}}"#)
    };
    let checkpoint = r#""type":"checkpoint_created","payload":{"checkpointId":"c","name":"n"}"#.to_owned();
    let events = [start.to_owned()].into_iter().chain((0..ITEMS).map(item)).chain([checkpoint, item(1)]);
    let text: String = events.zip(1..).map(|(event, seq)| format!("{{\"v\":1,\"seq\":{seq},{event}}}\n")).collect();
    fs::write(source_of(directory.path()), text).unwrap();
    directory
}

fn command(directory: &Path, terms: Terms) -> Command {
    let mut command = child_command(terms);
    command.env("CRASH_DIRECTORY", directory);
    command
}

/// Checks the files next to the source: sessions are complete, and all others are temporary files. Returns whether there is a new session.
fn check(directory: &Path, before: &[u8], context: &str) -> bool {
    assert_eq!(fs::read(source_of(directory)).unwrap(), before, "{context}: the source has changed");
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (sessions, others): (Vec<_>, Vec<_>) = entries
        .filter(|path| *path != source_of(directory))
        .partition(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    for path in &others {
        let name = path.file_name().unwrap().to_string_lossy();
        assert!(name.starts_with(".session-tape-") && path.is_file(), "{context}: {name}");
    }
    assert!(others.len() <= 1 && sessions.len() <= 1, "{context}: {sessions:?} {others:?}");
    for path in &sessions {
        let options = FoldOptions { mode: Mode::Strict, ..FoldOptions::default() };
        let replay = Replay::open(path, options).and_then(Replay::complete).unwrap();
        let outcome = replay.outcome(None);
        assert!(outcome.metadata.is_ok() && outcome.warnings.is_empty(), "{context}: {outcome:?}");
        assert_eq!((replay.items().len(), outcome.last_seq), (ITEMS, ITEMS as f64 + 2.0), "{context}");
        assert!(outcome.ancestry.is_some(), "{context}");
    }
    !sessions.is_empty()
}

#[test]
fn a_process_that_ends_at_any_step_leaves_a_whole_session_or_none() {
    for (point, is_there) in POINTS {
        let directory = prepared();
        let before = fs::read(source_of(directory.path())).unwrap();
        let ended = run_to_end(&mut command(directory.path(), Terms { point: Some((point, 1)), ..Terms::default() }));
        assert!(!ended.by_itself() && ended.acked.is_none(), "{point} was not reached");
        assert_eq!(check(directory.path(), &before, point), is_there, "{point}");
    }
}

#[test]
fn a_process_that_is_killed_at_any_moment_leaves_a_whole_session_or_none() {
    let mut next = random_numbers();
    for round in 0..rounds() * 8 {
        let directory = prepared();
        let before = fs::read(source_of(directory.path())).unwrap();
        let delay = Duration::from_micros(500 + next(25_000));
        let ended = kill_after(delay, &mut command(directory.path(), Terms::default()));
        let is_there = check(directory.path(), &before, &format!("kill -9, round {round}"));
        assert!(is_there || ended.acked.is_none(), "round {round}: a fork was acknowledged and is missing");
    }
}

#[test]
fn full_disk_fails_the_fork_and_leaves_no_files() {
    for round in 0..rounds() {
        let directory = prepared();
        let before = fs::read(source_of(directory.path())).unwrap();
        // The new session is shorter than its source, but by less than this.
        let size = before.len() as u64 - 10_000;
        let terms = Terms { file_limit: Some(size * round / rounds()), ..Terms::default() };
        let ended = run_to_end(&mut command(directory.path(), terms));
        assert!(ended.by_itself() && ended.acked.is_none(), "round {round}: {:?}", ended.acked);
        check(directory.path(), &before, &format!("file limit, round {round}"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "round {round}");
    }
}
