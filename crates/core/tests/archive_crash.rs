//! Interrupted archiving and restoring: a child process is ended at every step, at random moments, or by a full disk. Afterwards the session has every
//! record, in its file, in its archive or in both, and the next attempt succeeds.
//!
//! `CRASH_ROUNDS` sets the number of rounds of each kind; by default it is small.

// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod crashing;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crashing::{Terms, child_command, kill_after, random_numbers, rounds, run_to_end, say, take_on_terms};
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::read::Replay;
use session_tape_core::session::record::{ArchiveError, Archived, archive, restore};
use session_tape_core::{Cancellation, Task};

/// Each with whether session and archive exist when the point is reached, and whether the session is being restored.
const POINTS: [(&str, [bool; 2], bool); 16] = [
    ("archive::created", [true, false], false),
    ("archive::compressed", [true, false], false),
    ("archive::verified", [true, false], false),
    ("archive::synced", [true, false], false),
    ("archive::compared", [true, false], false),
    ("archive::renamed", [true, true], false),
    ("writer::before_directory_sync", [true, true], false),
    ("archive::placed", [true, true], false),
    ("archive::removed", [false, true], false),
    ("archive::forgotten", [false, true], false),
    ("restore::created", [false, true], true),
    ("restore::written", [false, true], true),
    ("restore::synced", [false, true], true),
    ("archive::renamed", [true, true], true),
    ("archive::placed", [true, true], true),
    ("restore::forgotten", [true, false], true),
];

/// The items of a session that is interrupted at a step: each step is reached once, whatever there is to archive.
const FEW: usize = 1_000;
/// Those of a session whose archiving takes a while.
const MANY: usize = 10_000;

// ---- The child ----------------------------------------------------------------------------------

/// Runs only in the process that the harness starts.
#[test]
fn child() {
    let Ok(path) = std::env::var("CRASH_SESSION") else { return };
    take_on_terms();
    let restores = std::env::var("CRASH_RESTORES").is_ok();
    match work(Path::new(&path), restores) {
        Ok(done) => say(&format!("acked {}", done.bytes)),
        Err(ArchiveError::System(error)) => {
            // It names the file for which there is no room.
            let written = if restores { path } else { format!("{path}.zst") };
            assert_eq!((error.code, error.path), ("EFBIG", Some(written.into())));
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn work(path: &Path, restores: bool) -> Result<Archived, ArchiveError> {
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| () };
    if restores { restore(path, "a child", &mut task) } else { archive(path, "a child", &mut task) }
}

// ---- The harness --------------------------------------------------------------------------------

struct SessionFiles {
    directory: tempfile::TempDir,
    session: PathBuf,
    archive: PathBuf,
    items: usize,
    text: String,
}

impl SessionFiles {
    /// A directory with a session, or with its archive.
    fn new(items: usize, is_archived: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (session, archived) =
            (directory.path().join("session-s.jsonl"), directory.path().join("session-s.jsonl.zst"));
        let start = r#""type":"session_start","payload":{"sessionId":"s","projectHash":"h"}"#;
        let item = |at: usize| {
            format!(r#""type":"content","payload":{{"content":{{"speaker":"ai","blocks":[],"n":{}}}}}"#, at * 7919)
        };
        let events = [start.to_owned()].into_iter().chain((0..items).map(item));
        let text: String = events.zip(1..).map(|(event, seq)| format!("{{\"v\":1,\"seq\":{seq},{event}}}\n")).collect();
        fs::write(&session, &text).unwrap();
        if is_archived {
            work(&session, false).unwrap();
        }
        SessionFiles { directory, session, archive: archived, items, text }
    }

    fn command(&self, restores: bool, terms: Terms) -> Command {
        let mut command = child_command(terms);
        command.env("CRASH_SESSION", &self.session);
        if restores {
            command.env("CRASH_RESTORES", "1");
        }
        command
    }

    /// Checks that nothing is lost, and that everything else is a temporary file or a lock. Returns whether there are a session and an archive.
    fn check(&self, context: &str) -> [bool; 2] {
        let there = [&self.session, &self.archive].map(|path| path.exists());
        for path in [&self.session, &self.archive].into_iter().filter(|path| path.exists()) {
            let replay = Replay::open(path, FoldOptions::default()).and_then(Replay::complete).unwrap();
            let outcome = replay.outcome(None);
            assert!(outcome.metadata.is_ok() && outcome.warnings.is_empty(), "{context}: {outcome:?}");
            assert_eq!(replay.items().len(), self.items, "{context}");
        }
        assert!(there.contains(&true), "{context}: the session is lost");
        for entry in fs::read_dir(self.directory.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_known = ["session-s.jsonl", "session-s.jsonl.zst", "session-s.jsonl.lock"].contains(&name.as_str());
            assert!(is_known || name.starts_with(".session-tape-"), "{context}: {name}");
        }
        there
    }

    /// Checks that the session can be archived and restored whatever the interruption has left.
    fn go_on(&self, context: &str) {
        work(&self.session, false).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(self.check(context), [false, true], "{context}");
        work(&self.archive, true).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(self.check(context), [true, false], "{context}");
        assert!(fs::read_to_string(&self.session).unwrap() == self.text, "{context}: the session was altered");
    }
}

#[test]
fn a_process_that_ends_at_any_step_loses_no_record() {
    for (point, left, restores) in POINTS {
        let place = SessionFiles::new(FEW, restores);
        let ended = run_to_end(&mut place.command(restores, Terms { point: Some((point, 1)), ..Terms::default() }));
        assert!(!ended.by_itself() && ended.acked.is_none(), "{point} was not reached");
        assert_eq!(place.check(point), left, "{point}");
        place.go_on(point);
    }
}

#[test]
fn a_process_that_is_killed_at_any_moment_loses_no_record() {
    let mut next = random_numbers();
    for round in 0..rounds() * 6 {
        let restores = round % 2 == 1;
        let place = SessionFiles::new(MANY, restores);
        let delay = Duration::from_micros(500 + next(140_000));
        let ended = kill_after(delay, &mut place.command(restores, Terms::default()));
        let context = format!("kill -9, round {round}");
        let there = place.check(&context);
        assert!(ended.acked.is_none() || there == [restores, !restores], "{context}: {there:?}");
        place.go_on(&context);
    }
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    for restores in [false, true] {
        for round in 0..rounds() {
            let place = SessionFiles::new(MANY, restores);
            let size = if restores { place.text.len() as u64 } else { place.text.len() as u64 / 12 };
            let terms = Terms { file_limit: Some(size * round / rounds() + 10), ..Terms::default() };
            let ended = run_to_end(&mut place.command(restores, terms));
            assert!(ended.by_itself() && ended.acked.is_none(), "round {round}: {:?}", ended.acked);
            assert_eq!(place.check("a full disk"), [!restores, restores], "round {round}");
            assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 1, "round {round}");
        }
    }
}

/// What reached the file is not what was compressed.
#[test]
fn an_archive_that_reads_back_otherwise_is_given_up() {
    let place = SessionFiles::new(MANY, false);
    let directory = place.directory.path().to_path_buf();
    let own_thread = std::thread::current().id();
    let corrupt = move || {
        // The tests beside this one archive too, and failpoints are the process's.
        if std::thread::current().id() != own_thread {
            return;
        }
        let paths = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "archive")) {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    };
    fail::cfg_callback("archive::compressed", corrupt).unwrap();
    let refused = work(&place.session, false).unwrap_err();
    fail::remove("archive::compressed");
    assert_eq!(refused.code(), "Damaged");
    assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 1);
    place.go_on("an archive that reads back otherwise");
}

/// Calls `meanwhile` when the work on a session has placed the new file, and before the old one goes.
fn meanwhile(restores: bool, place: &SessionFiles, meanwhile: impl Fn() + Send + Sync + 'static) -> ArchiveError {
    let own_thread = std::thread::current().id();
    let once = std::sync::Once::new();
    fail::cfg_callback("archive::placed", move || {
        if std::thread::current().id() == own_thread {
            once.call_once(&meanwhile);
        }
    })
    .unwrap();
    let refused = work(&place.session, restores).unwrap_err();
    fail::remove("archive::placed");
    refused
}

fn append(path: &Path, bytes: &[u8]) {
    fs::File::options().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// What a recorder without a lock appends after the comparison, and before the file goes, stays; and so does an archive that another program replaces.
#[test]
fn what_is_written_after_the_comparison_stays() {
    let _alone = ALONE.lock().unwrap();
    let record =
        "{\"v\":1,\"seq\":9999,\"type\":\"session_event\",\"payload\":{\"severity\":\"info\",\"message\":\"late\"}}\n";
    let place = SessionFiles::new(FEW, false);
    let session = place.session.clone();
    let refused = meanwhile(false, &place, move || append(&session, record.as_bytes()));
    assert!(matches!(refused, ArchiveError::Changed(path) if path == place.session));
    assert_eq!(place.check("appended to"), [true, false]);
    assert_eq!(fs::read_to_string(&place.session).unwrap(), format!("{}{record}", place.text));

    let place = SessionFiles::new(FEW, true);
    let (archive, other) = (place.archive.clone(), zstd_of(&place.text));
    let replaced = other.clone();
    let refused = meanwhile(true, &place, move || {
        fs::remove_file(&archive).unwrap();
        fs::write(&archive, &replaced).unwrap();
    });
    assert!(matches!(refused, ArchiveError::Changed(path) if path == place.archive));
    assert_eq!((place.check("replaced"), fs::read(&place.archive).unwrap()), ([false, true], other));

    // Both have something that the other has not.
    let place = SessionFiles::new(FEW, true);
    let (archive, session) = (place.archive.clone(), place.session.clone());
    let refused = meanwhile(true, &place, move || {
        append(&archive, b"x");
        append(&session, record.as_bytes());
    });
    assert!(matches!(refused, ArchiveError::Changed(_)));
    assert_eq!(place.check("both"), [true, true]);
    assert_eq!(fs::read_to_string(&place.session).unwrap(), format!("{}{record}", place.text));
}

/// The archive of another program.
fn zstd_of(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).unwrap()
}

/// A recorder that had its file open before it was archived writes to no file that is gone.
#[test]
fn a_batch_that_waits_while_the_file_is_archived_fails() {
    use session_tape_core::disk::append::{Appender, OpenError, Target};
    let _alone = ALONE.lock().unwrap();
    let place = SessionFiles::new(FEW, false);
    let target = std::sync::Arc::new(Target::new(place.session.clone()));
    Appender::open(&target).unwrap().finish();
    let (session, waits) = (fs::File::open(&place.session).unwrap(), target.clone());
    session.lock().unwrap();
    let waiting = std::thread::spawn(move || Appender::open(&waits));
    while !has_open(&place.session, 2) {
        std::thread::yield_now();
    }
    fs::remove_file(&place.session).unwrap();
    session.unlock().unwrap();
    let opened = waiting.join().unwrap();
    assert!(matches!(opened, Err(OpenError::System(error)) if error.code == "ENOENT"));
}

/// Whether this process has the file open so many times.
fn has_open(path: &Path, times: usize) -> bool {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    descriptors.filter(|entry| fs::read_link(entry.as_ref().unwrap().path()).is_ok_and(|to| to == path)).count()
        == times
}

/// A failpoint is that of the whole process.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
