//! Bundles, forks and power cuts on a simulated disk: the power is cut after each operation, and in every state that the disk may then be in, what
//! was being made is complete or does not exist.
//!
//! `CUT_STATES` sets the number of states that are tried of a cut with too many of them, `CUT_SEED` selects them.

#![cfg(unix)]
// An error in the harness fails the test.
#![allow(clippy::unwrap_used)]

mod simulated;

use std::collections::BTreeSet;
use std::path::Path;

use session_tape_core::bundle::{BundleError, ExportOptions, ImportError, VerifyOptions, export, import, verify};
use session_tape_core::disk::{Durability, OsError, files};
use session_tape_core::session::record::{ForkError, fork};
use sha2::{Digest as _, Sha256};
use simulated::bundle::{
    SECRET, check_fork, check_whole, export_from, files_of, fork_of, import_from, quietly, session_text,
};
use simulated::cut::Fill;
use simulated::disk::Disk;
use simulated::fault::{Call, Fault};
use simulated::run::{RUN, Recording};
use simulated::search::{Search, Tried, search};
use simulated::tree::Tree;

const FILLS: &[Fill] = &[Fill::Zeros, Fill::Garbage];

/// A disk with a durable session at `session.jsonl`.
fn with_session(root: &Path) -> Disk {
    let disk = Disk::new(root);
    let mounted = disk.mounted();
    let text = session_text();
    session_tape_core::disk::write::write_atomically(
        &root.join("session.jsonl"),
        text.as_bytes(),
        root,
        Durability::Fsync,
    )
    .unwrap();
    drop(mounted);
    Disk::of(root, disk.tree())
}

/// A disk with a run.
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

/// Exports, imports and forks sync on their own account: where files or directories can't be synced, they are as durable as other files.
#[test]
fn a_file_system_without_syncs_has_bundles_and_forks() {
    for call in [Call::Sync, Call::SyncDirectory] {
        let root = Path::new("/simulated/no-syncs");
        let disk = with_session(root);
        disk.lack(call, libc::EINVAL);
        let _mounted = disk.mounted();
        let bundle = root.join("x.cath-bundle");
        export_from(root.join("session.jsonl"))(&bundle);
        import_from(bundle)(&root.join("imported"));
        let (source, target) = fork_of(root);
        fork(&source, &target).unwrap();
    }
}

/// Checks that the bundle is complete or does not exist, that files left next to it are recognisable and have no secret, and that another attempt
/// succeeds.
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
        let report = quietly(|task| verify(&path, &VerifyOptions::default(), task)).map_err(|error| error.message)?;
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
    let judge = |tree: &Tree, acknowledged: &BTreeSet<u64>| judge(root, tree, bundle, !acknowledged.is_empty(), make);
    let tried = search(&base, &log, Search::from_environment(FILLS), &judge).unwrap_or_else(|fault| panic!("{fault}"));
    println!("{bundle} in {}: {tried:?}", root.display());
    assert!(tried.cuts > 5 && tried.states > 5, "{tried:?}");
    tried
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
    try_all(&disk, "imported", &import_from(archive));
}

/// An archive of a session that refers to this image, and the digits of the image's id.
fn sealed_with(image: &[u8]) -> (Vec<u8>, String) {
    let root = tempfile::tempdir().unwrap();
    let digits = Sha256::digest(image).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let objects = root.path().join("media/objects/sha256");
    std::fs::create_dir_all(&objects).unwrap();
    std::fs::write(objects.join(&digits), image).unwrap();
    let (bytes, base64) = (image.len(), image.len().div_ceil(3) * 4);
    let object = format!(
        r#""contentId":"sha256:{digits}","mimeType":"image/png","byteLength":{bytes},"normalizedBase64Length":{base64}"#
    );
    let reference = format!(
        r#"{{"type":"media","encoding":"reference",{object},"originalContentId":"sha256:{digits}","selectedContentId":"sha256:{digits}","originalObject":{{{object}}},"selectedObject":{{{object}}}}}"#
    );
    let (session, archive) = (root.path().join("session.jsonl"), root.path().join("archive.tar.zst"));
    let line = format!(r#"{{"v":2,"seq":9,"type":"note","payload":{reference}}}"#);
    std::fs::write(&session, format!("{}{line}\n", session_text())).unwrap();
    let options = ExportOptions { media_dir: Some(root.path().join("media")), ..ExportOptions::default() };
    let info = quietly(|task| export(&session, &archive, &options, task)).unwrap();
    assert_eq!(info.media.map(|media| media.sealed), Some(1));
    (std::fs::read(&archive).unwrap(), digits)
}

#[test]
fn an_imported_session_is_never_there_without_its_images() {
    let root = Path::new("/simulated/import-media");
    let image = b"the bytes of an image";
    let (archive, digits) = sealed_with(image);
    let object = Path::new("media/objects/sha256").join(digits);
    let disk = Disk::new(root);
    let mounted = disk.mounted();
    let path = root.join("archive.tar.zst");
    session_tape_core::disk::write::write_atomically(&path, &archive, root, Durability::Fsync).unwrap();
    drop(mounted);
    let disk = Disk::of(root, disk.tree());
    let mounted = disk.mounted();
    let options = VerifyOptions { media_dir: Some(root.join("media")), ..VerifyOptions::default() };
    quietly(|task| import(&path, &root.join("imported"), &options, task)).unwrap();
    disk.acknowledge(1);
    drop(mounted);
    let (base, log) = disk.history();
    let judge = |tree: &Tree, acknowledged: &BTreeSet<u64>| {
        let files = tree.files();
        let is_there = files.contains_key(Path::new("imported/session.jsonl"));
        match files.get(&object) {
            Some(bytes) if bytes != image => Err("an object has its name before its bytes".to_owned()),
            None if is_there => Err("the session is there without its image".to_owned()),
            _ if !is_there && !acknowledged.is_empty() => Err("the session is gone".to_owned()),
            _ => Ok(()),
        }
    };
    let tried = search(&base, &log, Search::from_environment(FILLS), &judge).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(tried.cuts > 5 && tried.states > 5, "{tried:?}");
}

#[test]
fn a_fork_is_whole_or_absent() {
    let root = Path::new("/simulated/fork");
    let disk = with_session(root);
    let (source, target) = fork_of(root);
    let mounted = disk.mounted();
    let made = fork(&source, &target).unwrap();
    disk.acknowledge(1);
    drop(mounted);
    let (base, log) = disk.history();
    let name = made.path.strip_prefix(root).unwrap().to_path_buf();
    let judge = |tree: &Tree, acknowledged: &BTreeSet<u64>| {
        let disk = Disk::of(root, tree.clone());
        let _mounted = disk.mounted();
        let files = tree.files();
        if files.get(Path::new("session.jsonl")).map(Vec::as_slice) != Some(session_text().as_bytes()) {
            return Err("the source has changed".to_owned());
        }
        if !files.contains_key(&name) {
            return if acknowledged.is_empty() { Ok(()) } else { Err("the fork is gone".to_owned()) };
        }
        check_fork(tree, root, &name)
    };
    let tried = search(&base, &log, Search::from_environment(FILLS), &judge).unwrap_or_else(|fault| panic!("{fault}"));
    println!("a fork: {tried:?}");
    assert!(tried.states > 5, "{tried:?}");
}

/// Makes something with each of its syncs failing once. The error names the path, nothing is left, and another attempt succeeds.
fn fail_each_sync(disk: &Disk, made: &Path, make: &dyn Fn() -> Result<(), OsError>) {
    let before = disk.tree();
    let count_syncs = |disk: &Disk, call| disk.calls().iter().filter(|done| **done == call).count();
    let whole = Disk::of(disk.root(), before.clone());
    let mounted = whole.mounted();
    make().unwrap();
    drop(mounted);
    for call in [Call::Sync, Call::SyncDirectory] {
        let syncs = count_syncs(&whole, call);
        assert!(syncs > 0, "{call:?} of {}", made.display());
        for visit in 0..syncs {
            let disk = Disk::of(disk.root(), before.clone());
            let _mounted = disk.mounted();
            disk.fail((call, visit), Fault::Error(libc::EIO));
            let error = make().expect_err("a sync has failed");
            let said = format!("{call:?} {visit}: {error}");
            assert_eq!((error.code, error.path.as_deref()), ("EIO", Some(made)), "{said}");
            assert_eq!(disk.tree().files(), before.files(), "{said}");
            assert!(!files::exists(made), "{said}");
            make().unwrap();
        }
    }
}

fn system(error: &BundleError) -> OsError {
    *error.system.clone().unwrap_or_else(|| panic!("{error:?}"))
}

/// Once a complete bundle stayed after such an error, and the next attempt met it.
#[test]
fn an_export_that_could_not_be_synced_leaves_nothing() {
    for bundle in ["bundle", "bundle.tar.zst"] {
        let disk = with_run(Path::new("/simulated/unsynced-export"));
        let (source, made) = (disk.root().join(RUN), disk.root().join(bundle));
        let make = || quietly(|task| export(&source, &made, &ExportOptions::default(), task)).map(drop);
        fail_each_sync(&disk, &made, &|| make().map_err(|error| system(&error)));
    }
}

#[test]
fn an_import_that_could_not_be_synced_leaves_nothing() {
    let exported = with_run(Path::new("/simulated/unsynced-import"));
    let root = exported.root();
    let (archive, made) = (root.join("archive.tar.zst"), root.join("imported"));
    let mounted = exported.mounted();
    export_from(root.join(RUN))(&archive);
    drop(mounted);
    let make = || quietly(|task| import(&archive, &made, &VerifyOptions::default(), task)).map(drop);
    fail_each_sync(&Disk::of(root, exported.tree()), &made, &|| {
        make().map_err(|error| match error {
            ImportError::Failed(error) => system(&error),
            refused => panic!("{refused}"),
        })
    });
}

#[test]
fn a_fork_that_could_not_be_synced_leaves_nothing() {
    let root = Path::new("/simulated/unsynced-fork");
    let disk = with_session(root);
    let (source, target) = fork_of(root);
    let mounted = disk.mounted();
    let made = fork(&source, &target).unwrap().path;
    drop(mounted);
    let disk = with_session(root);
    fail_each_sync(&disk, &made, &|| match fork(&source, &target) {
        Ok(_) => Ok(()),
        Err(ForkError::System(error)) => Err(error),
        Err(error) => panic!("{error:?}"),
    });
}
