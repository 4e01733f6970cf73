use std::fs;
use std::path::PathBuf;

use super::*;
use crate::bundle::export::{ExportFrom, ExportOptions, export};
use crate::bundle::format::RedactedEvent;
use crate::bundle::testing::*;
use crate::run::testing::SampleOptions;
use BundleCode::*;

/// A bundle directory that tests damage.
struct Bundle {
    root: PathBuf,
    original: Manifest,
    _temporary: tempfile::TempDir,
}

impl Bundle {
    fn of_run() -> Self {
        Self::of(|root| exported(small_run().directory.root(), root))
    }

    fn of(make: impl FnOnce(&Path) -> BundleInfo) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().join("bundle");
        make(&root);
        let original = Manifest::parse(&fs::read(root.join("manifest.json")).unwrap()).unwrap().0;
        Bundle { root, original, _temporary: temporary }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }

    fn codes(&self) -> Vec<BundleCode> {
        codes(&self.root)
    }

    /// Writes a manifest with valid hashes for the files as they are, changed by `change`, as a forger would.
    fn reseal(&self, change: impl FnOnce(&mut Manifest)) {
        let mut manifest = self.original.clone();
        manifest.files.clear();
        for (path, bytes) in files(&self.root).into_iter().filter(|(path, _)| !path.starts_with("manifest.")) {
            let listed = ListedFile { sha256: crate::hash::sha256([&bytes]), size: bytes.len() as u64 };
            manifest.files.insert(path, listed);
        }
        change(&mut manifest);
        let document = manifest.print();
        self.write("manifest.sha256", checksums::print(&manifest, &document));
        self.write("manifest.json", document);
    }

    fn a_blob(&self) -> String {
        files(&self.root).into_iter().find(|(path, _)| path.starts_with("blobs/")).unwrap().0
    }
}

fn partial() -> Bundle {
    Bundle::of(|root| {
        let run = run(SampleOptions { seed: 3, max_events: 300, nodes: 12, trouble: 5, ..SampleOptions::default() });
        run.write_snapshot(run.last() / 2, None);
        let options = ExportOptions { from: ExportFrom::LatestSnapshot, ..ExportOptions::default() };
        quietly(|task| export(run.directory.root(), root, &options, task)).unwrap()
    })
}

#[test]
fn any_changed_byte_of_any_file_is_found() {
    let session = Bundle::of(|root| exported(&session(root.parent().unwrap()), root));
    for bundle in [Bundle::of_run(), session, partial()] {
        for (name, bytes) in files(&bundle.root) {
            let step = (bytes.len() / 25).max(1);
            for at in (0..bytes.len()).step_by(step).chain(bytes.len().checked_sub(1)) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at % 8);
                bundle.write(&name, &damaged);
                assert_ne!(bundle.codes(), [], "{name}, byte {at}");
            }
            for damaged in [&bytes[..bytes.len().saturating_sub(1)], &[&bytes[..], b"\n"].concat()] {
                bundle.write(&name, damaged);
                assert!(bytes.is_empty() || !bundle.codes().is_empty(), "{name}, another length");
            }
            bundle.write(&name, bytes);
        }
        assert_eq!(bundle.codes(), []);
    }
}

#[test]
fn every_missing_file_and_every_new_one_is_found() {
    let bundle = Bundle::of_run();
    for (name, bytes) in files(&bundle.root) {
        fs::remove_file(bundle.path(&name)).unwrap();
        let expected = match name.as_str() {
            "manifest.json" => vec![ManifestMissing],
            // The file is optional, because the manifest determines it.
            "manifest.sha256" => vec![],
            name if name.starts_with("blobs/") => vec![FileMissing, BlobMissing],
            _ => vec![FileMissing],
        };
        assert_eq!(bundle.codes(), expected, "{name}");
        bundle.write(&name, bytes);
    }
    bundle.write("new", "x");
    bundle.write("blobs/new", "x");
    assert_eq!(bundle.codes(), [NotInManifest, BlobNameMismatch]);
}

#[test]
fn verification_reports_every_problem() {
    let bundle = Bundle::of_run();
    let blob = bundle.a_blob();
    bundle.write("dag.json", "{}");
    bundle.write("unlisted", "");
    bundle.write("manifest.sha256", "");
    fs::remove_file(bundle.path(&blob)).unwrap();
    let report = verified(&bundle.root);
    assert_eq!(codes_of(&report.problems), [NotInManifest, FileMissing, WrongSize, ChecksumsMismatch, BlobMissing]);
    let wrong_size = report.problems.iter().find(|problem| problem.code == WrongSize).unwrap();
    assert_eq!(wrong_size.path.as_deref(), Some("dag.json"));
    assert!(wrong_size.message.contains("dag.json"));
}

#[test]
fn resealed_bundle_with_a_false_manifest_is_detected() {
    let bundle = Bundle::of_run();
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), []);
    bundle.reseal(|manifest| manifest.log.count += 1);
    assert_eq!(bundle.codes(), [WrongCount, MetadataInvalid]);
    bundle.reseal(|manifest| manifest.log.head = Some([b'0'; 64]));
    assert_eq!(bundle.codes(), [WrongHead]);
    bundle.reseal(|manifest| manifest.log.first_time = Some(1));
    assert_eq!(bundle.codes(), [WrongHead]);
    bundle.reseal(|manifest| manifest.kind = BundleKind::Session);
    assert!(bundle.codes().contains(&FileMissing));
    let log = bundle.read("events.cath-log");
    for (damaged, expected) in [
        (log.replacen("sample", "simple", 1), vec![LogInvalid]),
        (log.replacen("\n", "", 1), vec![LogInvalid]),
        (format!("{log}{{"), vec![LogInvalid]),
        (log.split_inclusive('\n').skip(1).collect(), vec![LogInvalid, WrongCount, WrongHead, MetadataInvalid]),
        (String::new(), vec![LogInvalid, WrongCount, WrongHead, MetadataInvalid]),
    ] {
        bundle.write("events.cath-log", &damaged);
        bundle.reseal(|_| {});
        let found = bundle.codes();
        assert!(found.contains(&LogInvalid) && found.iter().all(|code| expected.contains(code)), "{found:?}");
    }
    bundle.write("events.cath-log", &log);
    let blob = bundle.a_blob();
    bundle.write(&blob, "other bytes");
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [BlobNameMismatch]);
    fs::remove_file(bundle.path(&blob)).unwrap();
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [BlobMissing]);
}

#[test]
fn truncated_log_is_detected_by_the_recorded_head() {
    let bundle = Bundle::of_run();
    let log = bundle.read("events.cath-log");
    let whole: Vec<_> = log.split_inclusive('\n').collect();
    bundle.write("events.cath-log", whole[..whole.len() - 1].concat());
    bundle.reseal(|_| {});
    let found = bundle.codes();
    assert!(found.contains(&WrongCount) && found.contains(&WrongHead), "{found:?}");
}

#[test]
fn events_without_salt_are_exactly_the_redacted_ones() {
    let bundle = Bundle::of_run();
    let log = bundle.read("events.cath-log");
    let salt = log.split(",\"salt\":").nth(3).unwrap().split_once(',').unwrap().0;
    let hash = log.split("\"payloadHash\":\"").nth(3).unwrap()[..64].to_owned();
    bundle.write("events.cath-log", log.replace(&format!(",\"salt\":{salt}"), ""));
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [RedactionMismatch]);
    let list = |time| {
        let event = RedactedEvent { payload_hash: hash.clone(), rules: vec!["jwt".into()] };
        RedactionList { events: [(time, event)].into(), ..RedactionList::default() }.print()
    };
    bundle.write("redactions.json", list(2));
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), []);
    assert_eq!(verified(&bundle.root).info.unwrap().redactions, 1);
    for time in [1, 3, 9999] {
        bundle.write("redactions.json", list(time));
        bundle.reseal(|_| {});
        assert_eq!(bundle.codes(), [RedactionMismatch]);
    }
    bundle.write("redactions.json", "{}");
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [RedactionMismatch, RedactionsInvalid]);
}

#[test]
fn the_snapshot_of_a_partial_bundle_is_the_one_before_its_log() {
    let bundle = partial();
    assert_eq!(bundle.codes(), []);
    let snapshot = bundle.read("snapshot.cath-snap");
    bundle.write("snapshot.cath-snap", snapshot.replacen("Completed", "completed", 1));
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [SnapshotInvalid]);
    fs::remove_file(bundle.path("snapshot.cath-snap")).unwrap();
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [SnapshotInvalid]);
    bundle.write("snapshot.cath-snap", &snapshot);
    bundle.reseal(|manifest| manifest.partial.as_mut().unwrap().logical_time += 1);
    assert_eq!(bundle.codes(), [SnapshotInvalid]);
    bundle.reseal(|manifest| manifest.partial = None);
    assert_eq!(bundle.codes(), [SnapshotInvalid]);
    // A valid snapshot of another event.
    let parsed = Snapshot::parse(&snapshot, &TrustedKeys::default()).unwrap();
    let mut content = parsed.content.clone();
    content.event_hash = [b'1'; 64];
    bundle.write("snapshot.cath-snap", Snapshot::new(content, None).print());
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [LogInvalid]);
}

#[test]
fn other_format_versions_are_distinguished_from_damage() {
    let bundle = Bundle::of_run();
    let document = bundle.read("manifest.json");
    bundle.write("manifest.json", document.replace("\"v\":1", "\"v\":2"));
    assert_eq!(bundle.codes(), [UnsupportedVersion]);
    assert!(verified(&bundle.root).info.is_none());
    bundle.write("manifest.json", document);
    bundle.write("metadata.json", bundle.read("metadata.json").replace("\"v\":1", "\"v\":2"));
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [UnsupportedVersion]);
    let bundle = Bundle::of_run();
    bundle.write("events.cath-log", bundle.read("events.cath-log").replacen("\n{\"v\":1", "\n{\"v\":2", 1));
    bundle.reseal(|_| {});
    assert_eq!(bundle.codes(), [UnsupportedVersion]);
}

#[test]
fn the_bundle_of_a_run_has_its_graph_and_its_workflow() {
    for bundle in [Bundle::of_run(), partial()] {
        for name in ["dag.json", "workflow.json"] {
            let bytes = bundle.read(name);
            fs::remove_file(bundle.path(name)).unwrap();
            bundle.reseal(|_| {});
            let report = verified(&bundle.root);
            assert_eq!(codes_of(&report.problems), [FileMissing]);
            assert_eq!(report.problems[0].path.as_deref(), Some(name));
            bundle.write(name, bytes);
        }
    }
}

#[test]
fn number_of_listed_problems_is_limited() {
    let bundle = Bundle::of_run();
    for n in 0..MAX_PROBLEMS + 10 {
        bundle.write(&format!("new-{n}"), "");
    }
    let report = verified(&bundle.root);
    assert_eq!(report.problems.len(), MAX_PROBLEMS + 1);
    assert_eq!(report.problems.last().unwrap().code, TooManyProblems);
}

#[test]
fn reports_what_is_not_a_bundle() {
    let run = small_run();
    assert!(codes(run.directory.root()).contains(&ManifestMissing));
    let root = tempfile::tempdir().unwrap();
    assert_eq!(codes(root.path()), [ManifestMissing]);
    assert_eq!(codes(&session(root.path())), [NotABundle]);
    let absent = root.path().join("absent");
    let error = quietly(|task| verify(&absent, &VerifyOptions::default(), task)).unwrap_err();
    assert_eq!(error.code, SystemError);
}
