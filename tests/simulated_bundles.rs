//! Bundles, forks and a power cut, on a simulated disk: after each operation the power is cut, and in every state that the disk may show then
//! there is the whole of what was being made, or nothing.
//!
//! `CUT_STATES` says how many states a cut is given that has more than that, and `CUT_SEED` which.

#![cfg(unix)]
// A harness that can't go on fails the test.
#![allow(clippy::unwrap_used)]

mod simulated;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use session_tape::bundle::export::{ExportOptions, export};
use session_tape::bundle::import::import;
use session_tape::bundle::verify::{VerifyOptions, verify};
use session_tape::bundle::watch::JobWatch;
use session_tape::disk::durability::Durability;
use session_tape::session::event::Mode;
use session_tape::session::fold::FoldOptions;
use session_tape::session::fork::{ForkSource, ForkTarget, fork};
use session_tape::session::recorder::FileNameForm;
use session_tape::session::replay::Replay;
use session_tape::session::snapshot::Snapshots;
use sha2::{Digest as _, Sha256};
use simulated::cut::Fill;
use simulated::disk::Disk;
use simulated::run::{RUN, Recording};
use simulated::search::{Search, Tried, search};
use simulated::tree::Tree;

const FILLS: &[Fill] = &[Fill::Zeros, Fill::Garbage];

const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

fn quietly<T>(work: impl FnOnce(&mut JobWatch<'_>) -> T) -> T {
    work(&mut JobWatch { cancelled: &AtomicBool::new(false), progress: &mut |_| {} })
}

fn session_text() -> String {
    let start = r#""type":"session_start","payload":{"sessionId":"s","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#;
    let item = |id: u64| {
        format!(
            r#""type":"content","payload":{{"content":{{"speaker":"ai","blocks":[],"text":"{id} {SECRET} {}"}}}}"#,
            "é".repeat(300)
        )
    };
    let checkpoint = r#""type":"checkpoint_created","payload":{"checkpointId":"c","name":"n"}"#.to_owned();
    let mut text = String::new();
    for (event, seq) in [start.to_owned(), item(1), item(2), checkpoint, item(3)].iter().zip(1..) {
        writeln!(text, r#"{{"v":1,"seq":{seq},"ts":"2026-02-11T16:00:01.000Z",{event}}}"#).unwrap();
    }
    text
}

/// A disk on which there is a session, at `session.jsonl`, and all is durable.
fn with_session(root: &Path) -> Disk {
    let disk = Disk::new(root);
    let mounted = disk.mounted();
    let text = session_text();
    session_tape::disk::atomic_file::write(&root.join("session.jsonl"), text.as_bytes(), root, Durability::Fsync)
        .unwrap();
    drop(mounted);
    Disk::of(root, disk.tree())
}

/// A disk on which there is a run.
fn with_run(root: &Path) -> Disk {
    let disk = Disk::new(root);
    let mounted = disk.mounted();
    let recording = Recording::open(root, Durability::Os).unwrap();
    recording.begin();
    recording.node().unwrap();
    recording.snapshot().unwrap();
    recording.end();
    drop(mounted);
    Disk::of(root, disk.tree())
}

/// The files of a bundle that is a directory or an archive, read without the product; none if it is not there.
fn files_of(tree: &Tree, bundle: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for (path, bytes) in tree.files() {
        if path == bundle {
            let tar = zstd::decode_all(&bytes[..]).unwrap();
            for entry in tar::Archive::new(&tar[..]).entries().unwrap() {
                let (mut entry, mut content) = (entry.unwrap(), Vec::new());
                entry.read_to_end(&mut content).unwrap();
                found.insert(entry.path().unwrap().to_str().unwrap().to_owned(), content);
            }
        } else if let Ok(inside) = path.strip_prefix(bundle) {
            found.insert(inside.to_str().unwrap().to_owned(), bytes);
        }
    }
    found
}

/// The manifest lists all that is there with its hash, and the manifest has its own.
fn check_whole(files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let manifest = files.get("manifest.json").ok_or("there is no manifest")?;
    let parsed: Value =
        serde_json::from_slice(manifest).map_err(|error| format!("the manifest is damaged: {error}"))?;
    let listed = parsed["files"].as_object().ok_or("the manifest lists nothing")?;
    for (path, entry) in listed {
        let found = files.get(path).ok_or_else(|| format!("{path} is missing"))?;
        if entry["sha256"] != hex(found) {
            return Err(format!("{path} is damaged"));
        }
    }
    let sums = String::from_utf8_lossy(files.get("manifest.sha256").ok_or("there are no checksums")?).into_owned();
    if !sums.contains(&hex(manifest)) || files.len() != listed.len() + 2 {
        return Err(format!("there is more or less than the manifest lists: {:?}", files.keys()));
    }
    Ok(())
}

/// There is the whole bundle or none; what is left beside it is known for what it is, has no secret, and a next attempt succeeds.
fn judge(root: &Path, tree: &Tree, bundle: &str, is_safe: bool, again: &dyn Fn(&Path)) -> Result<(), String> {
    let disk = Disk::of(root, tree.clone());
    let _mounted = disk.mounted();
    let path = root.join(bundle);
    let is_there = tree.find(Path::new(bundle)).is_ok();
    if is_safe && !is_there {
        return Err("a bundle whose making had succeeded is gone".to_owned());
    }
    if is_there {
        check_whole(&files_of(tree, Path::new(bundle)))?;
        let report = quietly(|watch| verify(&path, &VerifyOptions::default(), watch)).map_err(|error| error.message)?;
        if !report.is_ok() {
            return Err(format!("{:?}", report.problems));
        }
        return Ok(());
    }
    for (path, bytes) in tree.files() {
        let name = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let is_left_over = name.starts_with(".new-") && name.ends_with(".tmp");
        if is_left_over && memchr::memmem::find(&bytes, SECRET.as_bytes()).is_some() {
            return Err(format!("{} has a secret", path.display()));
        }
    }
    again(&path);
    check_whole(&files_of(&disk.tree(), Path::new(bundle)))
}

fn try_all(disk: &Disk, bundle: &str, make: &dyn Fn(&Path)) -> Tried {
    let root = disk.root();
    let mounted = disk.mounted();
    make(&root.join(bundle));
    disk.acknowledge(1);
    drop(mounted);
    let (base, log) = disk.history();
    let judge = |tree: &Tree, acknowledged: &std::collections::BTreeSet<u64>| {
        judge(root, tree, bundle, !acknowledged.is_empty(), make)
    };
    let tried = search(&base, &log, Search::from_environment(FILLS), &judge).unwrap_or_else(|fault| panic!("{fault}"));
    println!("{bundle} in {}: {tried:?}", root.display());
    assert!(tried.cuts > 5 && tried.states > 5, "{tried:?}");
    tried
}

fn export_from(source: PathBuf) -> impl Fn(&Path) {
    move |bundle| drop(quietly(|watch| export(&source, bundle, &ExportOptions::default(), watch)).unwrap())
}

#[test]
fn a_bundle_of_a_session_is_whole_or_absent() {
    for bundle in ["bundle", "bundle.tar.zst"] {
        let disk = with_session(Path::new("/simulated/session-bundle"));
        let source = disk.root().join("session.jsonl");
        try_all(&disk, bundle, &export_from(source));
    }
}

#[test]
fn a_bundle_of_a_run_is_whole_or_absent() {
    for bundle in ["bundle", "bundle.tar.zst"] {
        let disk = with_run(Path::new("/simulated/run-bundle"));
        let source = disk.root().join(RUN);
        try_all(&disk, bundle, &export_from(source));
    }
}

#[test]
fn an_imported_bundle_is_whole_or_absent() {
    let root = Path::new("/simulated/import");
    let exported = with_run(root);
    let mounted = exported.mounted();
    let archive = root.join("archive.tar.zst");
    export_from(root.join(RUN))(&archive);
    drop(mounted);
    let disk = Disk::of(root, exported.tree());
    let make = |directory: &Path| {
        quietly(|watch| import(&archive, directory, &VerifyOptions::default(), watch)).unwrap();
    };
    try_all(&disk, "imported", &make);
}

#[test]
fn a_fork_is_whole_or_absent() {
    let root = Path::new("/simulated/fork");
    let disk = with_session(root);
    let source = ForkSource {
        path: root.join("session.jsonl"),
        project_hash: "h".encode_utf16().collect(),
        checkpoint_id: "c".encode_utf16().collect(),
        snapshots: Snapshots::None,
    };
    let target = ForkTarget {
        chats_dir: root.to_path_buf(),
        file_name: FileNameForm::Minutes,
        id_prefix: "fork".encode_utf16().collect(),
        start_payload:
            br#"{"sessionId":"f","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#
                .to_vec(),
        milliseconds: 0.0,
    };
    let mounted = disk.mounted();
    let made = fork(&source, &target).unwrap();
    disk.acknowledge(1);
    drop(mounted);
    let (base, log) = disk.history();
    let name = made.path.strip_prefix(root).unwrap().to_path_buf();
    let judge = |tree: &Tree, acknowledged: &std::collections::BTreeSet<u64>| {
        let disk = Disk::of(root, tree.clone());
        let _mounted = disk.mounted();
        let files = tree.files();
        if files.get(Path::new("session.jsonl")).map(Vec::as_slice) != Some(session_text().as_bytes()) {
            return Err("the source has changed".to_owned());
        }
        let Some(content) = files.get(&name) else {
            return if acknowledged.is_empty() { Ok(()) } else { Err("the fork is gone".to_owned()) };
        };
        let lines: Vec<Value> = content
            .split_inclusive(|byte| *byte == b'\n')
            .map_while(|line| serde_json::from_slice(line).ok())
            .collect();
        let types: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
        if types != ["session_start", "session_forked", "content", "content"] || !content.ends_with(b"\n") {
            return Err(format!("a part of the fork is there: {types:?}"));
        }
        let options = FoldOptions { mode: Mode::Strict, ..FoldOptions::default() };
        let replay = Replay::open(&root.join(&name), options)
            .and_then(Replay::complete)
            .map_err(|error| format!("{error:?}"))?;
        let outcome = replay.outcome(None);
        if outcome.metadata.is_err() || !outcome.warnings.is_empty() {
            return Err(format!("{outcome:?}"));
        }
        Ok(())
    };
    let tried = search(&base, &log, Search::from_environment(FILLS), &judge).unwrap_or_else(|fault| panic!("{fault}"));
    println!("a fork: {tried:?}");
    assert!(tried.states > 5, "{tried:?}");
}
