//! Bundles and forks on a simulated disk or a real one, and checks of them that do not use the product.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use session_tape_core::bundle::{ExportOptions, VerifyOptions, export, import};
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::format::Mode;
use session_tape_core::session::read::Replay;
use session_tape_core::session::record::{FileNameForm, ForkSource, ForkTarget};
use sha2::{Digest as _, Sha256};

use super::tree::Tree;
use session_tape_core::task::{Cancellation, Task};

pub const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

pub fn quietly<T>(work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    work(&mut Task { cancellation: &Cancellation::default(), progress: &mut |_| {} })
}

/// A session with a secret and a checkpoint.
pub fn session_text() -> String {
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

/// The files of a bundle in either form, read without the product. Empty if the bundle does not exist.
pub fn files_of(tree: &Tree, bundle: &Path) -> BTreeMap<String, Vec<u8>> {
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

/// Checks that the manifest lists exactly the existing files, with their hashes, and that its own hash is right.
pub fn check_whole(files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
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

/// Exports what is at `source`.
pub fn export_from(source: PathBuf) -> impl Fn(&Path) {
    move |bundle| drop(quietly(|task| export(&source, bundle, &ExportOptions::default(), task)).unwrap())
}

/// Imports the bundle at `bundle`.
pub fn import_from(bundle: PathBuf) -> impl Fn(&Path) {
    move |directory| drop(quietly(|task| import(&bundle, directory, &VerifyOptions::default(), task)).unwrap())
}

/// The fork of the session at `session.jsonl`: its source and its target.
pub fn fork_of(root: &Path) -> (ForkSource, ForkTarget) {
    let source = ForkSource {
        path: root.join("session.jsonl"),
        project_hash: "h".encode_utf16().collect(),
        checkpoint_id: "c".encode_utf16().collect(),
    };
    let target = ForkTarget {
        mode: 0o600,
        chats_dir: root.to_path_buf(),
        file_name: FileNameForm::Minutes,
        id_prefix: "fork".encode_utf16().collect(),
        start_payload:
            br#"{"sessionId":"f","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#
                .to_vec(),
        milliseconds: 0.0,
        contents: None,
    };
    (source, target)
}

/// Checks that the fork is complete and replays.
pub fn check_fork(tree: &Tree, root: &Path, name: &Path) -> Result<(), String> {
    let files = tree.files();
    let content = files.get(name).ok_or("the fork is gone")?;
    let lines: Vec<Value> =
        content.split_inclusive(|byte| *byte == b'\n').map_while(|line| serde_json::from_slice(line).ok()).collect();
    let types: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    if types != ["session_start", "session_forked", "content", "content"] || !content.ends_with(b"\n") {
        return Err(format!("a part of the fork is there: {types:?}"));
    }
    let options = FoldOptions { mode: Mode::Strict, ..FoldOptions::default() };
    let replay =
        Replay::open(&root.join(name), options).and_then(Replay::complete).map_err(|error| format!("{error:?}"))?;
    let outcome = replay.outcome(None);
    if outcome.metadata.is_err() || !outcome.warnings.is_empty() {
        return Err(format!("{outcome:?}"));
    }
    Ok(())
}
