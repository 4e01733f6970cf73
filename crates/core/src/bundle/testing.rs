//! Runs and sessions to export, and shorthands for operations on bundles, for tests.

#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::export::{ExportOptions, export};
use super::format::{BundleCode, BundleError, BundleInfo};
use super::read::{ImportError, Report, VerifyOptions, import, verify};
use crate::disk::Durability;
use crate::hash::as_text;
use crate::run::Kind;
use crate::run::testing::{Recorded, SampleOptions};
use crate::task::{Cancellation, Task};

/// A run with every blob that its log names.
pub fn run(options: SampleOptions) -> Recorded {
    let mut recorded = Recorded::new(options);
    let blobs = recorded.directory.blob_store();
    for (time, record) in recorded.records.iter_mut().enumerate() {
        if record.kind == Kind::BlobStored {
            let bytes = format!("blob {time} ").repeat(time % 50 + 1);
            let small = blobs.path_of(record.payload["blob"].as_str().unwrap()).unwrap();
            fs::remove_file(small).unwrap();
            record.payload["blob"] = json!(as_text(&blobs.put(bytes.as_bytes(), Durability::Os).unwrap()));
            record.payload["size"] = json!(bytes.len());
        }
    }
    let records = std::mem::take(&mut recorded.records);
    recorded.write_log(&records);
    recorded.records = records;
    recorded
}

/// A small run with blobs.
pub fn small_run() -> Recorded {
    let recorded = (1..).map(|seed| run(SampleOptions { seed, max_events: 60, ..SampleOptions::default() }));
    let mut whole = recorded.filter(|run| fs::read_dir(run.directory.blobs()).is_ok_and(|blobs| blobs.count() > 1));
    whole.next().unwrap()
}

/// Writes the file of a session with a torn last line.
pub fn session(root: &Path) -> PathBuf {
    let path = root.join("session-1.jsonl");
    let line = |seq: u32, kind: &str, payload: &str| {
        format!(
            "{{\"v\":1,\"seq\":{seq},\"ts\":\"2026-02-11T16:00:0{seq}.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n"
        )
    };
    let text = [
        line(
            1,
            "session_start",
            r#"{"sessionId":"s-1","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#,
        ),
        line(2, "content", r#"{"content":{"speaker":"human","blocks":[{"type":"text","text":"héllo"}]}}"#),
        line(3, "content", r#"{"content":{"speaker":"ai","blocks":[]}}"#),
    ];
    fs::write(&path, text.concat() + "{\"torn").unwrap();
    path
}

/// Runs `work` without progress reports or cancellation.
pub fn quietly<T>(work: impl FnOnce(&mut Task<'_>) -> T) -> T {
    work(&mut Task { cancellation: &Cancellation::default(), progress: &mut |_| {} })
}

pub fn exported(source: &Path, destination: &Path) -> BundleInfo {
    try_export(source, destination, &ExportOptions::default()).unwrap()
}

pub fn try_export(source: &Path, destination: &Path, options: &ExportOptions) -> Result<BundleInfo, BundleError> {
    quietly(|task| export(source, destination, options, task))
}

pub fn verified(path: &Path) -> Report {
    quietly(|task| verify(path, &VerifyOptions::default(), task)).unwrap()
}

/// The distinct codes of the problems of a bundle, sorted.
pub fn codes(path: &Path) -> Vec<BundleCode> {
    codes_of(&verified(path).problems)
}

pub fn codes_of(problems: &[BundleError]) -> Vec<BundleCode> {
    let mut codes: Vec<_> = problems.iter().map(|problem| problem.code).collect();
    codes.sort();
    codes.dedup();
    codes
}

pub fn imported(path: &Path, directory: &Path) -> Result<BundleInfo, ImportError> {
    quietly(|task| import(path, directory, &VerifyOptions::default(), task))
}

/// All files below a directory, with their bytes, sorted by path.
pub fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    found.push((name, fs::read(&path).unwrap()));
                }
            }
        }
    }
    found.sort();
    found
}

/// The names in a directory, sorted.
pub fn names(root: &Path) -> Vec<String> {
    let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}
