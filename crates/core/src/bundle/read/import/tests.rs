use std::fs;

use proptest::prelude::*;

use super::*;
use crate::bundle::format::BundleCode;
use crate::bundle::testing::*;
use crate::run::testing::any_options;
use crate::task::{Cancellation, Progress, Task};

#[test]
fn import_restores_the_files_of_the_bundle() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let run = small_run();
    for (name, source) in [("run", run.directory.root()), ("session", &session(root.path()))] {
        let (directory, archive) = (path(&format!("{name}-d")), path(&format!("{name}.tar.zst")));
        exported(source, &directory);
        let info = exported(source, &archive);
        for (bundle, copy) in [(&directory, path(&format!("{name}-1"))), (&archive, path(&format!("{name}-2")))] {
            let imported = imported(bundle, &copy).unwrap();
            assert_eq!((imported.bundle_id, imported.path.as_path()), (info.bundle_id, copy.as_path()));
            assert_eq!(files(&copy), files(&directory));
            assert_eq!(verified(&copy).problems, []);
        }
    }
}

#[test]
fn an_imported_bundle_exports_to_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let run = small_run();
    for (name, source) in [("run", run.directory.root()), ("session", &session(root.path()))] {
        let [first, again, copy] = ["1.tar.zst", "2.tar.zst", "copy"].map(|end| path(&format!("{name}-{end}")));
        exported(source, &first);
        imported(&first, &copy).unwrap();
        exported(&copy, &again);
        assert!(fs::read(first).unwrap() == fs::read(again).unwrap());
    }
}

#[test]
fn import_leaves_no_files_of_an_invalid_bundle() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    exported(small_run().directory.root(), &path("bundle"));
    fs::write(path("bundle/metadata.json"), "{}").unwrap();
    let error = imported(&path("bundle"), &path("copy")).unwrap_err();
    assert!(matches!(&error, ImportError::Refused { problems } if problems.len() > 1), "{error}");
    fs::create_dir(path("taken")).unwrap();
    let error = imported(&path("bundle"), &path("taken")).unwrap_err();
    assert_eq!(error.code(), BundleCode::DestinationExists);
    let error = imported(&path("nothing"), &path("copy")).unwrap_err();
    assert!(matches!(&error, ImportError::Failed(error) if error.system.as_ref().unwrap().code == "ENOENT"));
    fs::write(path("text"), "text").unwrap();
    assert_eq!(imported(&path("text"), &path("copy")).unwrap_err().code(), BundleCode::NotABundle);
    assert_eq!(names(root.path()), ["bundle", "taken", "text"]);
    assert!(names(&path("taken")).is_empty());
}

#[test]
fn it_can_be_stopped_at_any_moment_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    exported(small_run().directory.root(), &path("bundle.tar.zst"));
    for moment in 0..20 {
        let (cancelled, mut seen) = (Cancellation::default(), 0);
        let mut stop = |_: Progress| {
            if seen >= moment {
                cancelled.cancel();
            }
            seen += 1;
        };
        let mut task = Task { cancellation: &cancelled, progress: &mut stop };
        let error = import(&path("bundle.tar.zst"), &path("copy"), &VerifyOptions::default(), &mut task).unwrap_err();
        assert_eq!(error.code(), BundleCode::Cancelled);
        assert_eq!(names(root.path()), ["bundle.tar.zst"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn import_undoes_export(options in any_options()) {
        let run = run(options);
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        exported(run.directory.root(), &path("d"));
        exported(run.directory.root(), &path("a.tar.zst"));
        imported(&path("a.tar.zst"), &path("copy")).unwrap();
        prop_assert_eq!(files(&path("copy")), files(&path("d")));
    }
}
