use std::fs;
use std::path::Path;

use super::*;
use crate::session::fold::FoldOptions;
use crate::session::format::Mode;
use crate::session::read::Replay;
use crate::task::Cancellation;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents").join(name)
}

fn import(path: &Path, options: &ImportOptions) -> Result<Imported, ImportFault> {
    let cancellation = Cancellation::default();
    import_foreign(path, options, &mut Task { cancellation: &cancellation, progress: &mut |_| () })
}

fn options(root: &Path) -> ImportOptions {
    ImportOptions { chats_dir: root.join("a/chats"), project_hash: "p".into(), ..ImportOptions::default() }
}

fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_imported_session_replays_strictly_and_has_a_receipt_and_a_title() {
    let root = tempfile::tempdir().unwrap();
    let options = options(root.path());
    let imported = import(&fixture("made/claude-parallel.jsonl"), &options).unwrap();
    assert_eq!(imported.path, options.chats_dir.join("session-2026-09-01T10-00-s-claude.jsonl"));
    assert_eq!(imported.receipt_path, receipt_of(&imported.path));
    let fold = FoldOptions { mode: Mode::Strict, project_hash: Some(vec![u16::from(b'p')]), ..FoldOptions::default() };
    let replay = Replay::open(&imported.path, fold).unwrap().complete().unwrap();
    let outcome = replay.outcome(None);
    assert!(outcome.warnings.is_empty());
    assert_eq!(outcome.last_seq, imported.last_seq as f64);
    assert_eq!(outcome.metadata.unwrap().title, Some(&b"\"two files\""[..]));
    let receipt = fs::read_to_string(&imported.receipt_path).unwrap();
    assert_eq!(receipt.lines().count() as u64, imported.summary.records + 1);
    assert_eq!(receipt.lines().next(), Some(&*imported.summary.json()));
}

#[test]
fn what_cannot_be_imported_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let options = options(root.path());
    let source = fixture("made/claude-parallel.jsonl");
    let imported = import(&source, &options).unwrap();
    let before = names_in(&options.chats_dir);
    let other = root.path().join("other.jsonl");
    fs::write(&other, "{\"type\":\"x\"}\n").unwrap();
    let empty = root.path().join("empty.jsonl");
    fs::write(&empty, "{\"type\":\"session_meta\",\"payload\":{\"id\":\"e\"}}\n").unwrap();
    let choice = ImportOptions { conversation: Some("none".into()), ..options.clone() };
    for (path, options, code) in [
        (&source, &options, "ESESSIONEXISTS"),
        (&imported.path, &options, "EFOREIGNFORMAT"),
        (&other, &options, "EFOREIGNFORMAT"),
        (&empty, &options, "EFOREIGNEMPTY"),
        (&source, &choice, "EFOREIGNMANY"),
        (&root.path().join("none"), &options, "ENOENT"),
    ] {
        assert_eq!(import(path, options).unwrap_err().code(), code, "{}", path.display());
    }
    assert_eq!(names_in(&options.chats_dir), before);
    let again = ImportOptions { session_id: Some("other".into()), ..options };
    assert_eq!(import(&source, &again).unwrap().summary.session_id, "other");
}

#[test]
fn a_receipt_that_cannot_be_placed_takes_the_session_back() {
    let root = tempfile::tempdir().unwrap();
    let receipt = root.path().join("receipt");
    fs::write(&receipt, "mine").unwrap();
    let options = ImportOptions { receipt: Some(receipt.clone()), ..options(root.path()) };
    assert_eq!(import(&fixture("made/claude-parallel.jsonl"), &options).unwrap_err().code(), "EEXIST");
    assert!(names_in(&options.chats_dir).is_empty());
    assert_eq!(fs::read_to_string(&receipt).unwrap(), "mine");
}
