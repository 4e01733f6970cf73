use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::*;
use crate::bundle::format::BundleKind;
use crate::bundle::read::{VerifyOptions, verify};
use crate::bundle::redact::RedactionRule;
use crate::bundle::testing::*;
use crate::disk::Durability;
use crate::run::testing::{Recorded, SampleOptions};
use crate::task::Cancellation;

/// Whether a tool is installed. If not, prints why the test is skipped.
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("nothing was tested: there is no {tool} on this machine");
    }
    found
}

fn both(root: &Path) -> [PathBuf; 2] {
    ["x.cath-bundle", "x.cath-bundle.tar.zst"].map(|name| root.join(name))
}

#[test]
fn bundles_of_runs_and_sessions_verify_as_directory_and_archive() {
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    let session = session(root.path());
    for (source, kind) in [(run.directory.root(), BundleKind::Run), (&session, BundleKind::Session)] {
        let out = tempfile::tempdir().unwrap();
        let infos = both(out.path()).map(|destination| exported(source, &destination));
        assert_eq!(infos[0].bundle_id, infos[1].bundle_id);
        for (info, destination) in infos.iter().zip(both(out.path())) {
            let report = verified(&destination);
            assert_eq!(report.problems, []);
            assert_eq!((report.info.as_ref(), &info.path, info.kind), (Some(info), &destination, kind));
        }
        assert_eq!(names(out.path()), ["x.cath-bundle", "x.cath-bundle.tar.zst"], "nothing else is left");
    }
}

#[test]
fn export_bytes_do_not_depend_on_the_path_of_the_source() {
    let run = small_run();
    let other = tempfile::tempdir().unwrap();
    let copy = other.path().join("elsewhere/with another name");
    fs::create_dir_all(&copy).unwrap();
    for (path, bytes) in files(run.directory.root()).into_iter().rev() {
        fs::create_dir_all(copy.join(&path).parent().unwrap()).unwrap();
        fs::write(copy.join(&path), bytes).unwrap();
    }
    let [one, two] = [run.directory.root(), &copy].map(|source| {
        let out = tempfile::tempdir().unwrap();
        let [directory, archive] = both(out.path());
        let ids = [exported(source, &directory).bundle_id, exported(source, &archive).bundle_id];
        (ids, files(&directory), fs::read(archive).unwrap())
    });
    assert!(one == two);
}

#[test]
fn bundle_holds_the_source_byte_for_byte() {
    let run = small_run();
    run.write_snapshot(run.last(), None);
    let root = tempfile::tempdir().unwrap();
    let [directory, _] = both(root.path());
    exported(run.directory.root(), &directory);
    let sealed = ["manifest.json", "manifest.sha256", "metadata.json"];
    let kept: Vec<_> = files(&directory).into_iter().filter(|(path, _)| !sealed.contains(&path.as_str())).collect();
    assert_eq!(kept, files(run.directory.root()));
    let session = session(root.path());
    let destination = root.path().join("s");
    exported(&session, &destination);
    assert_eq!(fs::read(destination.join("session.jsonl")).unwrap(), fs::read(session).unwrap());
}

#[test]
fn export_leaves_out_torn_tails_and_crash_leftovers() {
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    let [whole, torn] = both(root.path());
    let id = exported(run.directory.root(), &whole).bundle_id;
    fs::write(run.directory.log(), [run.log(), b"{\"v\":1,\"ti".to_vec()].concat()).unwrap();
    fs::write(run.directory.root().join(".new-abc.tmp"), "x").unwrap();
    let blobs = fs::read_dir(run.directory.blobs()).unwrap().next().unwrap().unwrap().path();
    fs::write(blobs.join(".new-abc.tmp"), "x").unwrap();
    assert_eq!(exported(run.directory.root(), &torn).bundle_id, id);
    assert_eq!(verified(&torn).problems, []);
}

#[test]
fn sha256sum_accepts_the_checksums_and_tar_the_archive() {
    if !(has("sha256sum") && has("tar") && has("zstd")) {
        return;
    }
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    let [directory, archive] = both(root.path());
    exported(run.directory.root(), &directory);
    exported(run.directory.root(), &archive);
    let unpacked = root.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let tar = |arguments: &[&str]| {
        let output = Command::new("tar").args(arguments).arg(&archive).current_dir(&unpacked).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    tar(&["--zstd", "-xf"]);
    assert_eq!(files(&unpacked), files(&directory));
    for place in [&directory, &unpacked] {
        let output = Command::new("sha256sum").args(["-c", "--strict", "manifest.sha256"]).current_dir(place).output();
        assert!(output.unwrap().status.success());
    }
    let listed: Vec<_> = tar(&["--zstd", "--numeric-owner", "-tvf"]).lines().map(str::to_owned).collect();
    assert!(listed.iter().all(|line| line.starts_with("-rw-r--r-- 0/0") && line.contains("1970-01-01")), "{listed:?}");
    let paths: Vec<_> = listed.iter().map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert!(paths.is_sorted());
}

#[test]
fn bundle_repacked_by_tar_is_the_same_bundle() {
    if !(has("tar") && has("zstd")) {
        return;
    }
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    let [directory, archive] = both(root.path());
    let info = exported(run.directory.root(), &directory);
    let pack = Command::new("tar").arg("--zstd").arg("-cf").arg(&archive).arg("-C").arg(&directory).arg(".").status();
    assert!(pack.unwrap().success());
    let report = verified(&archive);
    assert_eq!((report.problems, report.info.unwrap().bundle_id), (vec![], info.bundle_id));
}

#[test]
fn signing_keeps_the_bundle_id() {
    use crate::bundle::format::SignaturePolicy;
    use crate::bundle::read::{VerifyOptions, verify};
    use crate::signature::TrustedKeys;
    let (private, public) = crate::signature::tests::key_pair();
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    let [plain, signed] = both(root.path());
    let options = ExportOptions { key: Some(SigningKey::from_pem(private).unwrap()), ..ExportOptions::default() };
    let id = try_export(run.directory.root(), &signed, &options).unwrap().bundle_id;
    assert_eq!(exported(run.directory.root(), &plain).bundle_id, id);
    let codes = |path: &Path, key: &str| {
        let trusted = TrustedKeys::from_pems(&[key]).unwrap();
        let options = VerifyOptions { trusted, signature: SignaturePolicy::Required, ..VerifyOptions::default() };
        codes_of(&quietly(|task| verify(path, &options, task)).unwrap().problems)
    };
    assert_eq!(codes(&signed, public), []);
    assert_eq!(codes(&plain, public), [BundleCode::SignatureMissing]);
    assert_eq!(codes(&signed, crate::signature::tests::OTHER_PUBLIC), [BundleCode::SignatureNotTrusted]);
}

#[test]
fn failed_export_replaces_nothing_and_leaves_no_files() {
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    for destination in both(root.path()) {
        fs::create_dir(&destination).unwrap();
        let error = try_export(run.directory.root(), &destination, &ExportOptions::default()).unwrap_err();
        assert_eq!(error.code, BundleCode::DestinationExists);
        fs::remove_dir(&destination).unwrap();
        let absent = root.path().join("absent");
        let error = try_export(&absent, &destination, &ExportOptions::default()).unwrap_err();
        assert_eq!((error.code, error.system.unwrap().code), (BundleCode::SystemError, "ENOENT"));
        let error = try_export(root.path(), &destination, &ExportOptions::default()).unwrap_err();
        assert_eq!(error.code, BundleCode::NotABundle);
        for level in [0, 23, -1] {
            let options = ExportOptions { level: Some(level), ..ExportOptions::default() };
            let error = try_export(run.directory.root(), &destination, &options).unwrap_err();
            assert_eq!(error.code, BundleCode::InvalidOption);
        }
    }
    let nowhere = root.path().join("no/such/place");
    let error = try_export(run.directory.root(), &nowhere, &ExportOptions::default()).unwrap_err();
    assert_eq!(error.code, BundleCode::SystemError);
    assert!(names(root.path()).is_empty());
}

/// Damages a run and returns the error of its export.
fn refused(damage: impl FnOnce(&Recorded)) -> BundleCode {
    let run = small_run();
    damage(&run);
    let root = tempfile::tempdir().unwrap();
    let codes = both(root.path())
        .map(|destination| try_export(run.directory.root(), &destination, &ExportOptions::default()).unwrap_err().code);
    assert!(names(root.path()).is_empty());
    assert_eq!(codes[0], codes[1]);
    codes[0]
}

#[test]
fn export_refuses_a_run_whose_bundle_would_not_verify() {
    let refused = |change: &dyn Fn(&Recorded)| {
        let run = small_run();
        change(&run);
        let root = tempfile::tempdir().unwrap();
        let error = try_export(run.directory.root(), &root.path().join("b"), &ExportOptions::default()).unwrap_err();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        assert_eq!(error.code, BundleCode::SourceInvalid, "{error}");
        error.message
    };
    let without_salt = |run: &Recorded| {
        let log = fs::read_to_string(run.directory.log()).unwrap();
        let mut lines: Vec<String> = log.lines().map(|line| format!("{line}\n")).collect();
        let salt = lines[2].find(",\"salt\"").unwrap();
        lines[2].replace_range(salt..salt + 42, "");
        fs::write(run.directory.log(), lines.concat()).unwrap();
    };
    assert!(refused(&without_salt).contains("evt_2 has no salt"));
    let with_workflow = |from: &'static str, to: &'static str| {
        move |run: &Recorded| {
            let workflow = run.sample.workflow.replace(from, to);
            assert_ne!(workflow, run.sample.workflow);
            fs::write(run.directory.workflow(), workflow).unwrap();
        }
    };
    assert!(refused(&with_workflow("1.0.0", "1.0.1")).contains("DagMismatch"));
    assert!(refused(&with_workflow("\"sample\"", "\"another\"")).contains("DagMismatch"));
    assert!(refused(&with_workflow("\"kind\":\"", "\"kind\":\"x")).contains("DagMismatch"));
}

fn a_blob(run: &Recorded) -> PathBuf {
    run.directory.blobs().join(files(&run.directory.blobs()).remove(0).0)
}

#[test]
fn export_refuses_a_damaged_source() {
    let changed = |run: &Recorded, from: &str, to: &str| {
        let log = String::from_utf8(run.log()).unwrap();
        fs::write(run.directory.log(), log.replacen(from, to, 1)).unwrap();
    };
    assert_eq!(refused(|run| changed(run, "sample", "simple")), BundleCode::SourceInvalid);
    assert_eq!(refused(|run| changed(run, "\n", "\n\n")), BundleCode::SourceInvalid);
    assert_eq!(refused(|run| fs::write(run.directory.log(), "").unwrap()), BundleCode::SourceInvalid);
    assert_eq!(refused(|run| fs::remove_file(run.directory.dag()).unwrap()), BundleCode::SourceInvalid);
    assert_eq!(refused(|run| fs::remove_file(run.directory.workflow()).unwrap()), BundleCode::SourceInvalid);
    assert_eq!(refused(|run| changed(run, "\"v\":1", "\"v\":2")), BundleCode::UnsupportedVersion);
    assert_eq!(refused(|run| fs::write(a_blob(run), "x").unwrap()), BundleCode::BlobNameMismatch);
    assert_eq!(refused(|run| fs::remove_file(a_blob(run)).unwrap()), BundleCode::BlobMissing);
}

#[cfg(unix)]
#[test]
fn export_does_not_follow_links_in_a_source() {
    let error = refused(|run| {
        let blob = a_blob(run);
        let elsewhere = run.beside().join("elsewhere");
        fs::rename(&blob, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &blob).unwrap();
    });
    assert_eq!(error, BundleCode::SystemError);
}

#[cfg(unix)]
#[test]
fn export_accepts_a_link_to_a_session() {
    let (root, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let session = session(root.path());
    let link = root.path().join("link.jsonl");
    std::os::unix::fs::symlink(&session, &link).unwrap();
    let [of_file, of_link] = ["file", "link"].map(|name| out.path().join(name));
    assert_eq!(exported(&session, &of_file).bundle_id, exported(&link, &of_link).bundle_id);
}

#[test]
fn export_detects_a_source_that_changes_while_it_is_read() {
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    let blob = a_blob(&run);
    for destination in both(root.path()) {
        let original = fs::read(&blob).unwrap();
        let mut changed = original.clone();
        changed[0] ^= 1;
        let mut progress = |progress: Progress| {
            // Planning reports the first half of the progress.
            if progress.bytes >= progress.total / 2 {
                fs::write(&blob, &changed).unwrap();
            }
        };
        let cancelled = Cancellation::default();
        let mut task = Task { cancellation: &cancelled, progress: &mut progress };
        let error = export(run.directory.root(), &destination, &ExportOptions::default(), &mut task).unwrap_err();
        assert_eq!(error.code, BundleCode::SourceChanged);
        fs::write(&blob, original).unwrap();
    }
    assert!(names(root.path()).is_empty());
}

#[test]
fn it_can_be_stopped_at_any_moment_and_leaves_nothing() {
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    for destination in both(root.path()) {
        let mut moments = 0;
        let mut count = |_: Progress| moments += 1;
        export(
            run.directory.root(),
            &destination,
            &ExportOptions::default(),
            &mut Task { cancellation: &Cancellation::default(), progress: &mut count },
        )
        .unwrap();
        if destination.is_dir() {
            fs::remove_dir_all(&destination).unwrap()
        } else {
            fs::remove_file(&destination).unwrap()
        }
        for moment in (0..moments - 1).step_by(7) {
            let (cancelled, mut seen) = (Cancellation::default(), 0);
            let mut stop = |_: Progress| {
                if seen >= moment {
                    cancelled.cancel();
                }
                seen += 1;
            };
            let mut task = Task { cancellation: &cancelled, progress: &mut stop };
            let error = export(run.directory.root(), &destination, &ExportOptions::default(), &mut task).unwrap_err();
            assert_eq!(error.code, BundleCode::Cancelled, "moment {moment} of {moments}");
            assert!(names(root.path()).is_empty());
        }
    }
}

#[test]
fn progress_grows_to_the_total() {
    let run = run(SampleOptions { max_events: 3000, nodes: 100, ..SampleOptions::default() });
    let root = tempfile::tempdir().unwrap();
    for destination in both(root.path()) {
        let mut seen = Vec::new();
        let mut note = |progress: Progress| seen.push(progress);
        let cancelled = Cancellation::default();
        let mut task = Task { cancellation: &cancelled, progress: &mut note };
        let info = export(run.directory.root(), &destination, &ExportOptions::default(), &mut task).unwrap();
        assert!(seen.pop().unwrap().is_last);
        assert!(seen.is_sorted_by_key(|progress| progress.bytes) && seen.len() > 10);
        let last = seen.last().unwrap();
        assert_eq!(last.bytes, last.total);
        // The manifest and its checksums, without a signature.
        assert_eq!(last.files, info.files + 2);
    }
}

fn snapshot_run() -> (Recorded, u64) {
    let recorded = run(SampleOptions { seed: 3, max_events: 300, nodes: 12, trouble: 5, ..SampleOptions::default() });
    let time = recorded.last() / 2;
    recorded.write_snapshot(time, None);
    (recorded, time)
}

#[test]
fn partial_bundle_holds_the_snapshot_and_the_events_after_it() {
    let (run, time) = snapshot_run();
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    let all = exported(run.directory.root(), &whole);
    for (destination, from) in
        both(root.path()).into_iter().zip([ExportFrom::LatestSnapshot, ExportFrom::Snapshot(format!("snap_{time}"))])
    {
        let options = ExportOptions { from, ..ExportOptions::default() };
        let info = try_export(run.directory.root(), &destination, &options).unwrap();
        assert!(info.partial && info.files < all.files);
        assert_eq!(info.events, run.last() - time);
        let report = verified(&destination);
        assert_eq!(report.problems, []);
        let manifest = report.manifest.unwrap();
        assert_eq!(manifest.partial.as_ref().map(|partial| partial.logical_time), Some(time));
        assert_eq!((manifest.log.first_time, manifest.log.last_time), (Some(time + 1), Some(run.last())));
        assert!(manifest.files.contains_key("snapshot.cath-snap"));
    }
    let [directory, _] = both(root.path());
    let log = fs::read(directory.join("events.cath-log")).unwrap();
    assert!(run.log().ends_with(&log));
    assert!(files(&directory).iter().any(|(path, _)| path.starts_with("blobs/")));
}

#[test]
fn partial_bundle_may_have_no_events_after_its_snapshot() {
    let (run, _) = snapshot_run();
    run.write_snapshot(run.last(), None);
    let root = tempfile::tempdir().unwrap();
    let options = ExportOptions { from: ExportFrom::LatestSnapshot, ..ExportOptions::default() };
    for destination in both(root.path()) {
        let info = try_export(run.directory.root(), &destination, &options).unwrap();
        assert_eq!((info.events, verified(&destination).problems), (0, vec![]));
    }
}

#[test]
fn partial_export_requires_a_valid_snapshot() {
    let (run, time) = snapshot_run();
    let root = tempfile::tempdir().unwrap();
    let destination = root.path().join("x");
    let code = |from| {
        let options = ExportOptions { from, ..ExportOptions::default() };
        try_export(run.directory.root(), &destination, &options).unwrap_err().code
    };
    assert_eq!(code(ExportFrom::Snapshot("snap_1".into())), BundleCode::SnapshotNotFound);
    assert_eq!(code(ExportFrom::Snapshot("../x".into())), BundleCode::SnapshotNotFound);
    let path = run.directory.snapshots().join(format!("snap_{time}.cath-snap"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"logicalTime\":", "\"logicalTime\":1", 1)).unwrap();
    assert_eq!(code(ExportFrom::LatestSnapshot), BundleCode::SnapshotNotFound);
    let session = session(root.path());
    let options = ExportOptions { from: ExportFrom::LatestSnapshot, ..ExportOptions::default() };
    assert_eq!(try_export(&session, &destination, &options).unwrap_err().code, BundleCode::InvalidOption);
}

#[test]
fn export_refuses_what_readers_would_refuse() {
    let run = small_run();
    let root = tempfile::tempdir().unwrap();
    for (limits, code) in [
        (Limits { line_bytes: 100, ..Limits::default() }, BundleCode::LineTooLong),
        (Limits { blob_bytes: 3, ..Limits::default() }, BundleCode::BlobTooLarge),
        (Limits { files: 4, ..Limits::default() }, BundleCode::TooManyFiles),
        (Limits { total_bytes: 1000, ..Limits::default() }, BundleCode::TotalTooLarge),
    ] {
        for destination in both(root.path()) {
            let options = ExportOptions { limits, ..ExportOptions::default() };
            let error = try_export(run.directory.root(), &destination, &options).unwrap_err();
            assert_eq!(error.code, code, "{error}");
        }
    }
    assert!(names(root.path()).is_empty());
}

/// Exports a run with a redacted event from a snapshot, under a limit that is one byte less than a file has, for each limit in turn.
#[test]
fn export_enforces_each_file_limit_of_the_reader() {
    let (run, _) = snapshot_run();
    let root = tempfile::tempdir().unwrap();
    let rules = vec![RedactionRule { name: "all".into(), path: Some("/*".into()), ..RedactionRule::default() }];
    let redact = || Some(RedactOptions { builtin: false, rules: rules.clone() });
    let options =
        |limits| ExportOptions { from: ExportFrom::LatestSnapshot, limits, redact: redact(), ..Default::default() };
    let good = root.path().join("good");
    try_export(run.directory.root(), &good, &options(Limits::default())).unwrap();
    let size = |name: &str| fs::metadata(good.join(name)).unwrap().len();
    let default = Limits::default();
    for (limits, path) in [
        (Limits { manifest_bytes: size("manifest.json") - 1, ..default }, "manifest.json"),
        (Limits { redactions_bytes: size("redactions.json") - 1, ..default }, "redactions.json"),
        (Limits { blob_bytes: size("snapshot.cath-snap") - 1, ..default }, "snapshot.cath-snap"),
    ] {
        for (form, destination) in both(root.path()).iter().enumerate() {
            let error = try_export(run.directory.root(), destination, &options(limits)).unwrap_err();
            assert_eq!((error.code, error.path.as_deref()), (BundleCode::FileTooLarge, Some(path)), "{form}");
        }
        // A reader with this limit refuses the bundle too.
        let refused = quietly(|task| verify(&good, &VerifyOptions { limits, ..Default::default() }, task)).unwrap();
        assert!(
            refused
                .problems
                .iter()
                .any(|found| (found.code, found.path.as_deref()) == (BundleCode::FileTooLarge, Some(path)))
        );
    }
    assert_eq!(names(root.path()), ["good"]);
    let exact = Limits {
        manifest_bytes: size("manifest.json").max(size("manifest.sha256")),
        redactions_bytes: size("redactions.json"),
        blob_bytes: size("snapshot.cath-snap"),
        ..default
    };
    let [directory, _] = both(root.path());
    try_export(run.directory.root(), &directory, &options(exact)).unwrap();
    let report = quietly(|task| verify(&directory, &VerifyOptions { limits: exact, ..Default::default() }, task));
    assert_eq!(report.unwrap().problems, []);
}

#[test]
fn a_run_with_an_id_of_megabytes_verifies_too() {
    let mut run = small_run();
    let mut records = std::mem::take(&mut run.records);
    records[0].payload["runId"] = "r".repeat(2 << 20).into();
    run.write_log(&records);
    let root = tempfile::tempdir().unwrap();
    for destination in both(root.path()) {
        exported(run.directory.root(), &destination);
        assert_eq!(verified(&destination).problems, []);
    }
}

/// A session with a text of eight million equal letters.
fn repetitive_session(root: &Path) -> PathBuf {
    let session = session(root);
    let text = fs::read_to_string(&session).unwrap().replace("h\u{e9}llo", &"a".repeat(3 << 20));
    fs::write(&session, text).unwrap();
    session
}

#[test]
fn repetitive_content_verifies_with_the_default_limits() {
    let run = small_run();
    let blobs = run.directory.blob_store();
    blobs.put(&vec![b'a'; 3 << 20], Durability::Os).unwrap();
    let root = tempfile::tempdir().unwrap();
    for source in [run.directory.root(), &repetitive_session(root.path())] {
        let out = tempfile::tempdir().unwrap();
        let [one, two] = ["1.tar.zst", "2.tar.zst"].map(|name| out.path().join(name));
        exported(source, &one);
        exported(source, &two);
        assert_eq!(verified(&one).problems, []);
        assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap());
        if has("tar") && has("zstd") {
            let unpacked = out.path().join("unpacked");
            fs::create_dir(&unpacked).unwrap();
            let status = Command::new("tar").arg("--zstd").arg("-xf").arg(&one).arg("-C").arg(&unpacked).status();
            assert!(status.unwrap().success());
            assert_eq!(verified(&unpacked).problems, []);
        }
    }
}

#[test]
fn export_refuses_archives_beyond_the_expansion_limit_of_the_caller() {
    let root = tempfile::tempdir().unwrap();
    let session = repetitive_session(root.path());
    let [directory, archive] = both(root.path());
    let limits = Limits { expansion: 100, ..Limits::default() };
    let options = ExportOptions { limits, ..ExportOptions::default() };
    let error = try_export(&session, &archive, &options).unwrap_err();
    assert_eq!(error.code, BundleCode::ExpansionTooLarge);
    exported(&session, &directory);
    assert_eq!(verified(&directory).problems, []);
    assert_eq!(names(root.path()), ["session-1.jsonl", "x.cath-bundle"]);
}

/// The progress reports of an export, in order, except for the one that it is whole.
fn told(source: &Path, destination: &Path) -> Vec<Progress> {
    let mut told = Vec::new();
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |progress| told.push(progress) };
    export(source, destination, &ExportOptions::default(), &mut task).unwrap();
    assert!(told.pop().unwrap().is_last);
    told
}

#[test]
fn progress_never_decreases_and_ends_once() {
    let run = small_run();
    let blobs = run.directory.blob_store();
    // One source is so repetitive that its archive is written twice, the other has a secret.
    for bytes in [vec![b'a'; 3 << 20], b"AKIAIOSFODNN7EXAMPLE".to_vec()] {
        blobs.put(&bytes, Durability::Os).unwrap();
    }
    let root = tempfile::tempdir().unwrap();
    let session = session(root.path());
    let bytes_of = |files: Vec<(String, Vec<u8>)>| files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
    let sources = [
        (run.directory.root(), bytes_of(files(run.directory.root()))),
        (session.as_path(), fs::metadata(&session).unwrap().len()),
    ];
    for (source, bytes) in sources {
        let out = tempfile::tempdir().unwrap();
        for destination in both(out.path()) {
            let told = told(source, &destination);
            assert!(told.iter().all(|progress| progress.total == bytes), "{told:?}");
            let goes_on = |pair: &[Progress]| pair[0].bytes <= pair[1].bytes && pair[0].files <= pair[1].files;
            assert!(told.windows(2).all(goes_on), "{told:?}");
            let (last, unpacked) = (told[told.len() - 1], out.path().join("unpacked"));
            imported(&destination, &unpacked).unwrap();
            assert_eq!((last.bytes, last.files), (bytes, files(&unpacked).len() as u64));
            fs::remove_dir_all(&unpacked).unwrap();
        }
    }
}

#[test]
fn readers_accept_archives_of_repetitive_content() {
    let run = small_run();
    run.directory.blob_store().put(&vec![b'a'; 10 << 20], Durability::Os).unwrap();
    let root = tempfile::tempdir().unwrap();
    let [directory, archive] = both(root.path());
    assert_eq!(
        exported(run.directory.root(), &archive).bundle_id,
        exported(run.directory.root(), &directory).bundle_id
    );
    assert_eq!(verified(&archive).problems, []);
    let size = fs::metadata(&archive).unwrap().len();
    assert!(size > (10 << 20) / 200, "{size} bytes expand to more than readers allow");
    assert_eq!(names(root.path()), ["x.cath-bundle", "x.cath-bundle.tar.zst"], "and nothing is left of the first try");
}
