//! Kills a process that makes a bundle, at random moments. Afterwards the destination is complete or does not exist. Whatever is left next to it has
//! a recognisable name (`.new-….tmp`), contains no secret that was to be redacted, and does not prevent a later export.
//!
//! `CRASH_ROUNDS` sets the number of rounds of each kind; by default it is small.

#![cfg(unix)]
// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod crashing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crashing::{Terms, child_command, kill_after, rounds, run_to_end, take_on_terms};
use session_tape_core::bundle::{BundleCode, ExportOptions, VerifyOptions, export, import, verify};
use session_tape_core::task::{Cancellation, Task};

const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

fn quietly<T>(work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    work(&mut Task { cancellation: &Cancellation::default(), progress: &mut |_| {} })
}

/// A session that does not compress to nothing, with a secret in each line.
fn session(root: &Path) -> PathBuf {
    let path = root.join("session.jsonl");
    let start = r#"{"v":1,"seq":1,"ts":"2026-02-11T16:00:01.000Z","type":"session_start","payload":{"sessionId":"s","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}}"#;
    let line = |seq: usize| {
        format!(
            r#"{{"v":1,"seq":{seq},"ts":"2026-02-11T16:00:02.000Z","type":"content","payload":{{"content":{{"speaker":"ai","blocks":[{{"type":"text","text":"{} {SECRET}"}}]}}}}}}"#,
            (0..300).map(|n| format!("{:x} ", (n + seq * 300) * 2_654_435_761 % 1_000_003)).collect::<String>()
        )
    };
    let lines: Vec<String> = std::iter::once(start.to_owned()).chain((2..300).map(line)).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

/// Runs only in the process that the harness starts.
#[test]
fn child() {
    let Ok(source) = std::env::var("BUNDLE_CRASH_SOURCE") else { return };
    let destination = PathBuf::from(std::env::var("BUNDLE_CRASH_DESTINATION").unwrap());
    take_on_terms();
    let source = Path::new(&source);
    let code = match std::env::var("BUNDLE_CRASH_WORK").as_deref() {
        Ok("import") => quietly(|task| import(source, &destination, &VerifyOptions::default(), task))
            .err()
            .map(|error| error.code()),
        _ => {
            quietly(|task| export(source, &destination, &ExportOptions::default(), task)).err().map(|error| error.code)
        }
    };
    if code.is_some_and(|code| code == BundleCode::SystemError) {
        std::process::exit(7);
    }
    assert_eq!(code, None);
}

fn command(work: &str, source: &Path, destination: &Path, terms: Terms) -> Command {
    let mut command = child_command(terms);
    command
        .env("BUNDLE_CRASH_WORK", work)
        .env("BUNDLE_CRASH_SOURCE", source)
        .env("BUNDLE_CRASH_DESTINATION", destination);
    command
}

fn holds(path: &Path, text: &str) -> bool {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().any(|entry| holds(&entry.unwrap().path(), text));
    }
    String::from_utf8_lossy(&fs::read(path).unwrap()).contains(text)
}

/// Kills the process that makes `destination` at moments from its start to a little after its end, as another run was timed, and checks what is left. Returns how often that was nothing, and how often all of
/// it.
fn killed(work: &str, source: &Path, destination: &Path) -> (u64, u64) {
    let parent = destination.parent().unwrap();
    let (mut nothing, mut all) = (0, 0);
    let steps = 8 * rounds();
    let begun = Instant::now();
    assert!(run_to_end(&mut command(work, source, destination, Terms::default())).by_itself());
    let whole = begun.elapsed();
    remove(destination);
    for step in 0..steps {
        let delay = whole.mul_f64(1.2 * (step as f64 + 0.5) / steps as f64);
        kill_after(delay, &mut command(work, source, destination, Terms::default()));
        for entry in fs::read_dir(parent).unwrap() {
            let path = entry.unwrap().path();
            if path == destination {
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(name.starts_with(".new-") && name.ends_with(".tmp"), "{name}");
            assert!(!holds(&path, SECRET), "{name} holds the secret");
            // Left for the next rounds, to show that it does not prevent a later export.
        }
        if !destination.exists() {
            nothing += 1;
            continue;
        }
        all += 1;
        let report = quietly(|task| verify(destination, &VerifyOptions::default(), task)).unwrap();
        assert_eq!(report.problems, []);
        remove(destination);
    }
    (nothing, all)
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

/// Calls `check` for exporting a session in both forms and for importing it, each with a destination in an empty directory of its own.
fn for_each_work(mut check: impl FnMut(&str, &Path, &Path)) {
    let root = tempfile::tempdir().unwrap();
    let source = session(root.path());
    let bundle = root.path().join("bundle.tar.zst");
    quietly(|task| export(&source, &bundle, &ExportOptions::default(), task)).unwrap();
    for (work, from, name) in [("export", &source, "d"), ("export", &source, "a.tar.zst"), ("import", &bundle, "i")] {
        let parent = root.path().join(format!("{work}-{name}"));
        fs::create_dir(&parent).unwrap();
        check(work, from, &parent.join(name));
    }
}

#[test]
fn killed_export_leaves_a_whole_bundle_or_none() {
    for_each_work(|work, from, destination| {
        let (nothing, _) = killed(work, from, destination);
        assert!(nothing > 0, "nothing was killed in time");
        // What was left does not prevent another attempt.
        assert!(run_to_end(&mut command(work, from, destination, Terms::default())).by_itself());
        let report = quietly(|task| verify(destination, &VerifyOptions::default(), task)).unwrap();
        assert_eq!(report.problems, []);
    });
}

#[test]
fn full_disk_fails_the_export_and_leaves_no_files() {
    for_each_work(|work, from, destination| {
        for kilobytes in [0, 1, 100] {
            let terms = Terms { file_limit: Some(kilobytes << 10), ..Terms::default() };
            let ended = run_to_end(&mut command(work, from, destination, terms));
            assert_eq!(ended.code, Some(7), "{work} {kilobytes}");
            assert_eq!(fs::read_dir(destination.parent().unwrap()).unwrap().count(), 0, "{work} {kilobytes}");
        }
    });
}
