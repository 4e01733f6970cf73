use std::fs;

use super::*;
use crate::bundle::testing::*;

fn opened(path: &Path) -> Result<OpenedBundle, ImportError> {
    quietly(|task| OpenedBundle::open(path, &VerifyOptions::default(), task))
}

#[test]
fn directory_and_archive_open_to_the_original_files() {
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    let session = session(root.path());
    for source in [run.directory.root(), &session] {
        let out = tempfile::tempdir().unwrap();
        let [directory, archive] = ["d", "a.tar.zst"].map(|name| out.path().join(name));
        exported(source, &directory);
        exported(source, &archive);
        let is_run = source.is_dir();
        let log = fs::read(if is_run { run.directory.log() } else { session.clone() }).unwrap();
        for bundle in [&directory, &archive] {
            let opened = opened(bundle).unwrap();
            assert_eq!(fs::read(opened.log()).unwrap(), log);
            assert_eq!(opened.manifest.kind, if is_run { BundleKind::Run } else { BundleKind::Session });
            if is_run {
                assert_eq!(files(&opened.run_directory().blobs()), files(&run.directory.blobs()));
            }
        }
        assert_eq!(names(out.path()), ["a.tar.zst", "d"]);
    }
}

#[test]
fn closing_removes_unpacked_files() {
    let root = tempfile::tempdir().unwrap();
    let archive = root.path().join("a.tar.zst");
    exported(small_run().directory.root(), &archive);
    let opened = opened(&archive).unwrap();
    let log = opened.log();
    assert!(log.exists());
    drop(opened);
    assert!(!log.exists() && !log.parent().unwrap().exists());
}

#[test]
fn opening_refuses_a_bundle_that_does_not_verify() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("d");
    exported(small_run().directory.root(), &path);
    fs::write(path.join("redactions.json"), "{}").unwrap();
    assert!(matches!(opened(&path), Err(ImportError::Refused { .. })));
    let archive = root.path().join("a.tar.zst");
    fs::write(&archive, "no archive").unwrap();
    assert_eq!(opened(&archive).err().unwrap().code(), BundleCode::NotABundle);
}

#[test]
fn session_bundle_is_refused_where_a_run_is_needed() {
    let root = tempfile::tempdir().unwrap();
    let session = session(root.path());
    for form in ["x", "x.tar.zst"] {
        let destination = root.path().join(form);
        exported(&session, &destination);
        let error = opened(&destination).unwrap().expect_run().err().unwrap();
        assert_eq!(error.code(), BundleCode::NotABundle);
        assert!(error.to_string().contains("it is the bundle of a session, not of a run"));
    }
    let run = root.path().join("run");
    exported(small_run().directory.root(), &run);
    assert!(opened(&run).unwrap().expect_run().is_ok());
}

#[test]
fn an_open_path_is_a_bundle_if_it_is_one_by_its_name() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name);
    let session = session(root.path());
    exported(&session, &place("bundle"));
    exported(&session, &place("bundle.tar.zst"));
    fs::copy(place("bundle.tar.zst"), place("archive.jsonl")).unwrap();
    fs::copy(&session, place("session.tar.zst")).unwrap();
    fs::write(place("text.tar.zst"), "neither").unwrap();
    let text = fs::read(&session).unwrap();
    fs::write(place("kept.jsonl.zst"), zstd::encode_all(&text[..], 3).unwrap()).unwrap();
    fs::create_dir(place("directory")).unwrap();
    fs::create_dir(place("directory.tar.zst")).unwrap();
    let expected = [
        ("bundle", true),
        ("bundle.tar.zst", true),
        ("archive.jsonl", true),
        ("session.tar.zst", false),
        ("text.tar.zst", true),
        ("kept.jsonl.zst", false),
        ("kept.jsonl", false),
        ("directory", false),
        ("directory.tar.zst", true),
        ("none.tar.zst", true),
        ("none.jsonl", false),
        ("session-1.jsonl", false),
    ];
    for (name, is_one) in expected {
        let path = place(name);
        assert_eq!((is_bundle(&path), is_opened_bundle(&OpenedPath::at(&path))), (is_one, is_one), "{name}");
    }
}
