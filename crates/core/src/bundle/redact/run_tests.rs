use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::escapes::tests::escaped;
use super::escapes::unescaped;
use super::*;
use crate::bundle::export::{ExportFrom, ExportOptions};
use crate::bundle::format::{BundleCode, BundleError, BundleInfo};
use crate::bundle::read::{OpenedBundle, VerifyOptions, is_bundle};
use crate::bundle::testing::*;
use crate::disk::Durability;
use crate::hash::{as_text, sha256_hex};
use crate::json::Text;
use crate::run::read::Range;
use crate::run::testing::{Envelope, GENESIS, Recorded, SampleOptions, append_line};
use crate::run::{Aspect, Kind, Redactions, ReplayOptions, RunDirectory, Verification, Verify};
use crate::signature::TrustedKeys;
use crate::task::{Cancellation, Task};

const AWS: &str = "AKIAIOSFODNN7EXAMPLE";

/// A salt for an event, the same in every run of the test.
fn salt_of(time: u64) -> [u8; 32] {
    let mut salt = [0; 32];
    salt.copy_from_slice(&sha256_hex([&time.to_le_bytes()])[..32]);
    salt
}

/// Rewrites the log with changed payloads and valid hashes.
fn rewrite(run: &Recorded, change: impl Fn(u64, Kind, String) -> String) {
    let (mut previous, mut log) = (GENESIS, Vec::new());
    for (time, record) in (0..).zip(&run.records) {
        let node = record.node.as_deref().map(Text::from_plain);
        let node = node.as_ref().map(Text::as_json);
        let envelope =
            Envelope { time, ts: "2026-02-11T16:00:00.000Z", kind: record.kind.as_str(), node, parent: record.parent };
        let payload = change(time, record.kind, record.payload.to_string());
        if record.kind == Kind::RunCreated {
            name_workflow(run, &payload);
        }
        previous = append_line(&mut log, &previous, &envelope, &record.state_hash, &salt_of(time), payload.as_bytes());
    }
    fs::write(run.directory.log(), log).unwrap();
}

/// Gives workflow.json the name and the version of a RunCreated.
fn name_workflow(run: &Recorded, created: &str) {
    let created: serde_json::Value = serde_json::from_str(created).unwrap();
    let path = run.directory.workflow();
    let mut workflow: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for key in ["name", "version"] {
        if workflow[key] != created["workflow"][key] {
            workflow[key] = created["workflow"][key].clone();
            fs::write(&path, workflow.to_string()).unwrap();
        }
    }
}

/// A payload with one more member.
fn with_member(payload: &str, key: &str, inside: &str) -> String {
    let rest = payload.strip_prefix('{').unwrap();
    format!("{{\"{key}\":\"{inside}\"{}{rest}", if rest == "}" { "" } else { "," })
}

fn plain_run() -> Recorded {
    run(SampleOptions { seed: 3, max_events: 300, nodes: 12, trouble: 5, odd_ids: false, ..SampleOptions::default() })
}

fn pattern(name: &str, pattern: &str) -> RedactionRule {
    RedactionRule { name: name.into(), pattern: Some(pattern.into()), ..RedactionRule::default() }
}

fn pointer(name: &str, path: &str) -> RedactionRule {
    RedactionRule { name: name.into(), path: Some(path.into()), ..RedactionRule::default() }
}

fn by(rules: Vec<RedactionRule>) -> ExportOptions {
    ExportOptions { redact: Some(RedactOptions { builtin: true, rules }), ..ExportOptions::default() }
}

fn exported_by(source: &Path, destination: &Path, rules: &[RedactionRule]) -> Result<BundleInfo, BundleError> {
    try_export(source, destination, &by(rules.to_vec()))
}

/// The first file below `root` that contains a text, in its name or its bytes, with or without escapes.
fn leaks(root: &Path, secret: &str) -> Option<String> {
    let holds = |bytes: &[u8]| memchr::memmem::find(bytes, secret.as_bytes()).is_some();
    let leaking = files(root).into_iter().find(|(path, bytes)| {
        let once = unescaped(bytes).into_owned();
        holds(path.as_bytes()) || holds(bytes) || holds(&once) || holds(&unescaped(&once))
    });
    leaking.map(|(path, _)| path)
}

/// Exports in both forms, checks that both verify, have the same content and contain no secrets, and returns the directory.
fn sealed(source: &Path, root: &Path, rules: &[RedactionRule], secrets: &[&str]) -> PathBuf {
    let [directory, archive, unpacked] = ["d", "a.tar.zst", "unpacked"].map(|name| root.join(name));
    let info = exported_by(source, &directory, rules).unwrap();
    assert_eq!(exported_by(source, &archive, rules).unwrap().bundle_id, info.bundle_id);
    imported(&archive, &unpacked).unwrap();
    assert!(files(&unpacked) == files(&directory));
    for path in [&directory, &archive] {
        assert_eq!(verified(path).problems, []);
    }
    for secret in secrets {
        assert_eq!(leaks(&directory, secret), None, "{secret}");
    }
    // Exporting a bundle again changes nothing, with the same rules or without.
    for (number, source) in [&directory, &archive].into_iter().enumerate() {
        for (name, rules) in [("same", rules), ("none", &[])] {
            let again = root.join(format!("{name}-{number}"));
            let again_info = exported_by(source, &again, rules).unwrap();
            assert_eq!(again_info.bundle_id, info.bundle_id);
            assert!(files(&again) == files(&directory));
        }
    }
    assert_eq!(names(root).len(), 7, "no temporary files remain: {:?}", names(root));
    directory
}

pub(super) fn verification(path: &Path) -> Verification {
    if !is_bundle(path) {
        let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
        let (run, trusted) = (RunDirectory::new(path), TrustedKeys::default());
        return run.verify(&trusted, &Redactions::default(), &mut task).unwrap();
    }
    let opened = quietly(|task| OpenedBundle::open(path, &VerifyOptions::default(), task)).unwrap();
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    opened.verify(&TrustedKeys::default(), &mut task).unwrap()
}

fn state(path: &Path) -> String {
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    let options = ReplayOptions { verify: Verify::Full, ..ReplayOptions::default() };
    if !is_bundle(path) {
        let replayed = RunDirectory::new(path).replay(&options, &mut task).unwrap();
        return replayed.state.to_canonical().unwrap();
    }
    let opened = quietly(|task| OpenedBundle::open(path, &VerifyOptions::default(), task)).unwrap();
    opened.replay(&options, &mut task).unwrap().state.to_canonical().unwrap()
}

#[test]
fn a_redacted_run_keeps_its_chain_and_its_state() {
    let run = plain_run();
    let blob = run.records.iter().position(|record| record.kind == Kind::ToolCompleted).unwrap() as u64;
    let stored = run.directory.blob_store();
    let raw = format!("{{\"log\": \"token=AK\\u0049AIOSFODNN7EXAMPLE, {AWS}\"}}");
    let raw_hash = as_text(&stored.put(raw.as_bytes(), Durability::Os).unwrap()).to_owned();
    let hit = |time: u64| time % 5 == 2;
    rewrite(&run, |time, kind, payload| {
        let payload = match hit(time) {
            true => with_member(&payload, "note", &format!("key {}!", escaped(AWS, &[time as u8, 2, 0]))),
            false => payload,
        };
        if time != blob {
            return payload;
        }
        assert_eq!(kind, Kind::ToolCompleted);
        let mut value: serde_json::Value = serde_json::from_str(&payload).unwrap();
        value["rawHash"] = raw_hash.clone().into();
        value["normalizer"] = "none".into();
        value.to_string()
    });
    let workflow = fs::read_to_string(run.directory.workflow()).unwrap();
    fs::write(run.directory.workflow(), workflow.replacen('{', &format!("{{\"env\":{{\"KEY\":\"{AWS}\"}},"), 1))
        .unwrap();
    let root = tempfile::tempdir().unwrap();
    let source = run.directory.root();
    let directory = sealed(source, root.path(), &[], &[AWS]);

    let report = verified(&directory);
    let events: Vec<u64> = report.redactions.events.keys().copied().collect();
    let expected: Vec<u64> = (0..=run.last()).filter(|time| hit(*time)).collect();
    assert_eq!(events, expected);
    assert_eq!(report.info.unwrap().redactions, expected.len() as u64 + 2);
    assert_eq!(report.redactions.rules(), BTreeSet::from(["aws-access-key-id".to_owned()]));
    let original = fs::read_to_string(run.directory.log()).unwrap();
    let log = fs::read_to_string(directory.join("events.cath-log")).unwrap();
    for (time, (old, new)) in original.lines().zip(log.lines()).enumerate() {
        if !hit(time as u64) {
            assert_eq!(old, new);
            continue;
        }
        let (before, payload) = new.split_once(",\"payload\":").unwrap();
        assert!(
            old.starts_with(before)
                && !before.contains("\"salt\"")
                && payload.contains("key [redacted:aws-access-key-id]!")
        );
    }
    let mapped = &report.redactions.blobs[&raw_hash];
    let redacted =
        fs::read_to_string(directory.join(format!("blobs/{}/{}", &mapped.redacted[..2], mapped.redacted))).unwrap();
    assert_eq!(redacted, "{\"log\": \"token=[redacted:aws-access-key-id], [redacted:aws-access-key-id]\"}");

    assert_eq!(state(&directory), run.state_at(run.last()).to_canonical().unwrap());
    let (before, after) = (verification(source), verification(&directory));
    let counts = |verification: &Verification, aspect| {
        let check = verification.check(aspect);
        (check.checked, check.failed, check.unverifiable)
    };
    assert_eq!(counts(&after, Aspect::Chain), (run.last() + 1, 0, expected.len() as u64));
    assert_eq!(counts(&after, Aspect::Dag), (0, 0, 1), "workflow.json was redacted");
    assert_eq!(counts(&after, Aspect::StateHashes), counts(&before, Aspect::StateHashes));
    assert!(after.check(Aspect::StateHashes).holds());
    let redacted_of = |kind| {
        let redacted = |time: &u64| run.records[*time as usize].kind == kind && (hit(*time) || *time == blob);
        (0..=run.last()).filter(redacted).count() as u64
    };
    let assigned = (0..=run.last()).filter(|time| hit(*time) && run.records[*time as usize].kind == Kind::TaskAssigned);
    assert_eq!(counts(&after, Aspect::Schedule).2, assigned.count() as u64);
    let outputs = after.check(Aspect::OutputHashes).unverifiable - before.check(Aspect::OutputHashes).unverifiable;
    assert_eq!(outputs, redacted_of(Kind::ToolCompleted) - before_unverifiable(&run, hit, blob));
    assert!(!after.is_ok() && !after.check(Aspect::Schedule).holds());

    let opened = quietly(|task| OpenedBundle::open(&directory, &VerifyOptions::default(), task)).unwrap();
    let mut events = opened.trace(Range::default()).unwrap();
    let mut count = 0;
    while let Some(event) = events.next() {
        assert_eq!(event.unwrap().salt.is_none(), hit(count));
        count += 1;
    }
    assert_eq!(count, run.last() + 1);
}

/// The number of redacted outputs that were unverifiable anyway, because of an unknown normaliser.
fn before_unverifiable(run: &Recorded, hit: impl Fn(u64) -> bool, blob: u64) -> u64 {
    let known = ["none", "json", "text"];
    let is_unknown = |time: &u64| {
        let record = &run.records[*time as usize];
        record.kind == Kind::ToolCompleted && !known.contains(&record.payload["normalizer"].as_str().unwrap())
    };
    (0..=run.last()).filter(|time| hit(*time) && *time != blob).filter(is_unknown).count() as u64
}

#[test]
fn partial_bundles_are_redacted_and_exported_again_too() {
    let run = plain_run();
    let time = run.last() / 2;
    let created = |kind, payload: String| match kind {
        Kind::RunCreated => payload.replace("\"name\":\"", &format!("\"name\":\"{AWS} ")),
        _ => payload,
    };
    rewrite(&run, |time, kind, payload| {
        let payload = created(kind, payload);
        if time % 7 == 3 { with_member(&payload, "note", AWS) } else { payload }
    });
    // The snapshot must have the hash of the rewritten log.
    let log = fs::read_to_string(run.directory.log()).unwrap();
    let line = log.lines().nth(time as usize).unwrap();
    let event = crate::run::EventLine::split(line).unwrap();
    let mut content = run.snapshot_at(time).content;
    content.event_hash = *event.hash;
    crate::run::Snapshot::new(content, None).write(&run.directory.snapshots(), Durability::Os).unwrap();

    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    exported_by(run.directory.root(), &path("whole.tar.zst"), &[]).unwrap();
    let options = |from| ExportOptions { from, ..by(vec![]) };
    let partial = try_export(run.directory.root(), &path("partial"), &options(ExportFrom::LatestSnapshot)).unwrap();
    assert!(partial.partial && partial.redactions > 0);
    assert_eq!(leaks(&path("partial"), AWS), None);
    assert!(fs::read_to_string(path("partial/metadata.json")).unwrap().contains("[redacted:aws-access-key-id] "));
    let id = ExportFrom::Snapshot(format!("snap_{time}"));
    for (number, (source, from)) in [
        ("partial", ExportFrom::Log),
        ("partial", ExportFrom::LatestSnapshot),
        ("partial", id.clone()),
        ("again-0.tar.zst", id.clone()),
    ]
    .into_iter()
    .enumerate()
    {
        let again = try_export(&path(source), &path(&format!("again-{number}.tar.zst")), &options(from)).unwrap();
        assert_eq!(again.bundle_id, partial.bundle_id, "{number}");
    }
    let of_whole = try_export(&path("whole.tar.zst"), &path("of-whole"), &options(id)).unwrap();
    assert!(of_whole.partial && of_whole.events == partial.events);
    assert_eq!(verified(&path("of-whole")).problems, []);
    assert_eq!(state(&path("of-whole")), state(&path("partial")));
    let other = options(ExportFrom::Snapshot("snap_1".into()));
    let error = try_export(&path("partial"), &path("x"), &other).unwrap_err();
    assert_eq!(error.code, BundleCode::SnapshotNotFound);
    assert_eq!(state(&path("partial")), run.state_at(run.last()).to_canonical().unwrap());

    for name in ["partial", "again-0.tar.zst"] {
        let found = verification(&path(name));
        assert_eq!(found.check(Aspect::Chain).failed, 0);
        assert!(found.check(Aspect::Chain).unverifiable > time);
        assert!(found.check(Aspect::StateHashes).holds() && found.check(Aspect::Snapshots).holds());
        assert_eq!((found.check(Aspect::Dag).unverifiable, found.check(Aspect::Dag).holds()), (1, false));
        let opened = quietly(|task| OpenedBundle::open(&path(name), &VerifyOptions::default(), task)).unwrap();
        let mut events = opened.trace(Range { from: time + 5, to: time + 9, ..Range::default() }).unwrap();
        let mut times = Vec::new();
        while let Some(event) = events.next() {
            times.push(event.unwrap().time);
        }
        assert_eq!(times, (time + 5..=time + 9).collect::<Vec<_>>());
    }
}

#[test]
fn an_unredacted_bundle_exports_to_the_same_bundle() {
    let run = plain_run();
    run.write_snapshot(run.last(), None);
    let root = tempfile::tempdir().unwrap();
    let directory = sealed(run.directory.root(), root.path(), &[], &[]);
    assert_eq!(verified(&directory).info.unwrap().redactions, 0);
    assert!(!directory.join("redactions.json").exists());
}

/// The result of exporting a run in both forms, which must agree.
fn outcome(run: &Recorded, rules: &[RedactionRule]) -> Result<BundleInfo, BundleError> {
    let root = tempfile::tempdir().unwrap();
    let results = ["d", "a.tar.zst"].map(|name| exported_by(run.directory.root(), &root.path().join(name), rules));
    let left = names(root.path()).len();
    let [directory, archive] = results;
    assert_eq!(directory.is_ok(), archive.is_ok());
    assert_eq!(left, if directory.is_ok() { 2 } else { 0 });
    if let (Ok(_), false) = (&directory, rules.iter().any(|rule| rule.pattern.is_none())) {
        assert_eq!(leaks(&root.path().join("d"), AWS), None);
    }
    directory
}

#[test]
fn inputs_of_ids_hashes_and_states_are_never_redacted() {
    let run = plain_run();
    for kind in Kind::ALL {
        let Some(time) = run.records.iter().position(|record| record.kind == kind) else { continue };
        let payload = run.records[time].payload.to_string();
        for field in kind.fields().iter().filter(|field| field.is_fixed).map(|field| field.name) {
            let replaced = with_member(&payload, field, &escaped(AWS, &[1, 2, 0]));
            rewrite(&run, |at, _, payload| if at == time as u64 { replaced.clone() } else { payload });
            let error = outcome(&run, &[]).unwrap_err();
            assert_eq!(error.code, BundleCode::RedactionConflict, "{kind} {field}: {error}");
            assert_eq!(error.path.as_deref(), Some("events.cath-log"));
            for part in [format!("evt_{time}"), "aws-access-key-id".to_owned(), field.to_owned()] {
                assert!(error.message.contains(&part), "{error}");
            }
            assert!(!error.message.contains(AWS));
        }
        let as_key = with_member(&payload, AWS, "x");
        rewrite(&run, |at, _, payload| if at == time as u64 { as_key.clone() } else { payload });
        assert_eq!(outcome(&run, &[]).unwrap_err().code, BundleCode::RedactionConflict);
    }
}

#[test]
fn texts_outside_the_state_are_redacted() {
    let run = plain_run();
    for (kind, field) in [
        (Kind::RunCreated, "workflow"),
        (Kind::RunFailed, "message"),
        (Kind::NodeSkipped, "reason"),
        (Kind::ToolInvoked, "version"),
        (Kind::ToolFailed, "message"),
        (Kind::ToolTimedOut, "message"),
        (Kind::CapabilityCheck, "subject"),
        (Kind::PolicyDecision, "decision"),
        (Kind::TaskAssigned, "reason"),
        (Kind::TaskRejected, "reason"),
        (Kind::BlobStored, "mediaType"),
        (Kind::Error, "code"),
        (Kind::Error, "message"),
    ] {
        let Some(time) = run.records.iter().position(|record| record.kind == kind) else { continue };
        rewrite(&run, |at, _, payload| match (at == time as u64, field) {
            (false, _) => payload,
            (true, "workflow") => payload.replace("\"version\":\"", &format!("\"version\":\"{AWS} ")),
            _ => {
                let mut value: serde_json::Value = serde_json::from_str(&payload).unwrap();
                value[field] = AWS.into();
                value.to_string()
            }
        });
        // The name of the workflow is in workflow.json, too.
        let expected = if field == "workflow" { 2 } else { 1 };
        assert_eq!(outcome(&run, &[]).unwrap().redactions, expected, "{kind} {field}");
    }
}

#[test]
fn a_secret_in_a_graph_a_snapshot_or_an_envelope_fails_the_export() {
    let run = plain_run();
    let rule = |text: &str| [pattern("mine", text)];
    // These texts are matched first in the log, which is redacted before graph and snapshots.
    for text in
        ["round-robin", "RunStarted", "2026-02-11", &run.records[3].node.clone().unwrap_or("n".into()), "[0-9a-f]{64}"]
    {
        let error = outcome(&run, &rule(text)).unwrap_err();
        assert_eq!(error.code, BundleCode::RedactionConflict, "{text}");
    }
    let dag = fs::read_to_string(run.directory.dag()).unwrap();
    let kind = dag.split("\"kind\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let error = outcome(&run, &rule(&format!("^.*\"kind\":\"(?P<secret>{kind})"))).unwrap_err();
    assert_eq!((error.code, error.path.as_deref()), (BundleCode::RedactionConflict, Some("dag.json")));
}

/// The salts of a log, in order; `None` for an event without one.
fn salts(log: &[u8]) -> Vec<Option<String>> {
    let text = String::from_utf8(log.to_vec()).unwrap();
    let of_line = |line: &str| {
        let (_, salt) = line.split_once(r#","salt":""#)?;
        Some(salt[..32].to_owned())
    };
    text.lines().map(of_line).collect()
}

#[test]
fn salts_are_not_redacted_as_content() {
    let run = plain_run();
    let hex = pattern("hex", r"\b[0-9a-f]{32}\b");
    assert_eq!(outcome(&run, std::slice::from_ref(&hex)).unwrap().redactions, 0);
    // The rule still matches content other than the salts.
    let secret = "0123456789abcdef0123456789abcdef";
    let time = run.records.iter().position(|record| record.kind == Kind::ToolInvoked).unwrap() as u64;
    let planted = |text: &str| {
        let text = text.to_owned();
        rewrite(&run, move |at, _, payload| if at == time { with_member(&payload, "note", &text) } else { payload });
    };
    planted(&format!("key {secret}"));
    let root = tempfile::tempdir().unwrap();
    sealed(run.directory.root(), root.path(), std::slice::from_ref(&hex), &[secret]);
}

#[test]
fn salt_recorded_as_a_secret_is_removed() {
    let run = plain_run();
    let before: Vec<_> =
        (0..=run.last()).map(|time| Some(String::from_utf8(salt_of(time).to_vec()).unwrap())).collect();
    let time = run.records.iter().position(|record| record.kind == Kind::ToolInvoked).unwrap();
    let salt = before[1].clone().unwrap();
    let note = format!("the log says {salt}");
    rewrite(&run, |at, _, payload| if at == time as u64 { with_member(&payload, "note", &note) } else { payload });
    assert_eq!(salts(&run.log())[1], Some(salt.clone()), "it is still that");
    let root = tempfile::tempdir().unwrap();
    let hex = pattern("hex", r"\b[0-9a-f]{32}\b");
    let directory = sealed(run.directory.root(), root.path(), &[hex], &[&salt]);
    let found = salts(&fs::read(directory.join("events.cath-log")).unwrap());
    assert!(found[1].is_none() && found[time].is_none());
    assert_eq!(found.iter().flatten().count(), before.len() - 2);
}

#[test]
fn secret_is_removed_from_all_its_occurrences() {
    let run = plain_run();
    let secret = "cor\"rect/horse\nbattery";
    let times: Vec<u64> =
        (0..=run.last()).filter(|time| run.records[*time as usize].kind == Kind::ToolInvoked).take(3).collect();
    rewrite(&run, |time, _, payload| match times.iter().position(|at| *at == time) {
        Some(0) => with_member(&payload, "password", &escaped(secret, &[0])),
        Some(1) => with_member(&payload, "note", &format!("it is {} !", escaped(secret, &[2, 1, 3]))),
        Some(2) => {
            with_member(&payload, "json", &escaped(&format!("{{\"in\":\"{}\"}}", escaped(secret, &[1, 3])), &[0]))
        }
        _ => payload,
    });
    let blobs = run.directory.blob_store();
    for text in [
        format!("a {secret} b"),
        format!("{{\"x\":\"{}\"}}", escaped(secret, &[3, 0, 1])),
        format!("no json {}", escaped(secret, &[0])),
    ] {
        blobs.put(text.as_bytes(), Durability::Os).unwrap();
    }
    let root = tempfile::tempdir().unwrap();
    let rules = [pointer("secret word", "/password")];
    let directory = sealed(run.directory.root(), root.path(), &rules, &[secret]);
    assert_eq!(verified(&directory).redactions.events.keys().copied().collect::<Vec<_>>(), times);
    assert_eq!(verified(&directory).redactions.blobs.len(), 3);
    // A secret in an id can't be redacted.
    let other = times[1];
    let log = fs::read_to_string(run.directory.log()).unwrap();
    assert!(log.contains("password"));
    rewrite(&run, |time, _, payload| match time {
        time if time == times[0] => with_member(&payload, "password", "node-secret-1"),
        time if time == other => with_member(&payload, "call", "call of node-secret-1"),
        _ => payload,
    });
    let error = outcome(&run, &rules).unwrap_err();
    assert_eq!(error.code, BundleCode::RedactionConflict);
    assert!(error.message.contains("secret word") && !error.message.contains("node-secret"), "{error}");
}

#[test]
fn matches_of_user_rules_are_removed_whatever_they_look_like() {
    let run = plain_run();
    let time = run.records.iter().position(|record| record.kind == Kind::ToolInvoked).unwrap() as u64;
    let with = |secret: &str, note: &str| {
        rewrite(&run, |at, _, payload| match at == time {
            true => with_member(&payload, "password", secret).replacen('{', &format!("{{{note},"), 1),
            false => payload,
        });
    };
    run.directory.blob_store().put(b"say letmein", Durability::Os).unwrap();
    with("letmein", "\"note\":\"it is letmein!\"");
    let root = tempfile::tempdir().unwrap();
    let rules = [pointer("mine", "/password")];
    let directory = sealed(run.directory.root(), root.path(), &rules, &["letmein"]);
    assert_eq!(verified(&directory).redactions.blobs.len(), 1);
    // A number that equals the secret fails the export; a longer number that contains its digits does not.
    with("987654", "\"note\":987654");
    assert_eq!(outcome(&run, &rules).unwrap_err().code, BundleCode::RedactionConflict);
    with("987654", "\"note\":19876543");
    assert_eq!(outcome(&run, &rules).unwrap().redactions, 1);
}

#[test]
fn rules_apply_to_the_kinds_and_tools_that_they_name() {
    let run = plain_run();
    let of = |kind: Kind| run.records.iter().position(|record| record.kind == kind).unwrap() as u64;
    let (invoked, completed) = (of(Kind::ToolInvoked), of(Kind::ToolCompleted));
    let tool = run.records[invoked as usize].payload["tool"].as_str().unwrap().to_owned();
    let blob = run.directory.blob_store();
    let raw = as_text(&blob.put(b"{\"user\":{\"pin\":\"alpha-beta\"},\"n\":1}", Durability::Os).unwrap()).to_owned();
    rewrite(&run, |time, kind, payload| {
        let payload = match kind {
            Kind::ToolInvoked => with_member(&payload, "pin", &format!("pin-of-{time}")),
            _ => payload,
        };
        if time != completed {
            return payload;
        }
        let mut value: serde_json::Value = serde_json::from_str(&payload).unwrap();
        (value["rawHash"], value["tool"]) = (raw.clone().into(), tool.clone().into());
        value.to_string()
    });
    let export = |rule: RedactionRule| {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("d");
        exported_by(run.directory.root(), &directory, &[rule]).unwrap();
        verified(&directory).redactions
    };
    let with = |rule: RedactionRule, kinds: Option<&str>, tools: Option<&str>| {
        let list = |name: Option<&str>| name.map(|name| vec![name.to_owned()]);
        RedactionRule { kinds: list(kinds), tools: list(tools), ..rule }
    };
    let invocations: Vec<_> = run.records.iter().filter(|record| record.kind == Kind::ToolInvoked).collect();
    let by_tool = invocations.iter().filter(|record| record.payload["tool"] == tool.as_str()).count();
    let pins = pattern("pins", "pin-of-[0-9]+");
    assert_eq!(export(pins.clone()).events.len(), invocations.len());
    assert_eq!(export(with(pins.clone(), Some("ToolInvoked"), None)).events.len(), invocations.len());
    assert_eq!(export(with(pins.clone(), Some("ToolCompleted"), None)).events.len(), 0);
    assert_eq!(export(with(pins.clone(), None, Some(&tool))).events.len(), by_tool);
    assert_eq!(export(with(pins, None, Some("no such tool"))).events.len(), 0);
    for path in ["/payload/pin", "/pin", "/*"] {
        assert_eq!(
            export(with(pointer("pin", path), Some("ToolInvoked"), None)).events.len(),
            invocations.len(),
            "{path}"
        );
    }
    for rule in [pointer("pin", "/user/pin"), pointer("pin", "/user"), pattern("pin", "^alpha-beta$")] {
        assert_eq!(export(rule.clone()).blobs.len(), 1, "{rule:?}");
        assert_eq!(export(with(rule.clone(), None, Some(&tool))).blobs.len(), 1);
        assert_eq!(export(with(rule.clone(), Some("ToolCompleted"), None)).blobs.len(), 1);
        assert_eq!(export(with(rule.clone(), Some("Heartbeat"), None)).blobs.len(), 0);
        assert_eq!(export(with(rule, None, Some("no such tool"))).blobs.len(), 0);
    }
    let number = exported_by(run.directory.root(), Path::new("/nowhere/x"), &[pointer("n", "/n")]);
    assert!(number.is_err());
    let error = outcome(&run, &[pointer("n", "/n")]).unwrap_err();
    assert_eq!(error.code, BundleCode::RedactionConflict, "a number is named, and can't be redacted");
    let error = outcome(&run, &[pointer("id", "/task")]).unwrap_err();
    assert_eq!(error.code, BundleCode::RedactionConflict, "an id is named");
}

#[test]
fn invalid_rules_fail_before_anything_is_written() {
    let run = plain_run();
    assert_eq!(outcome(&run, &[pattern("x", "(")]).unwrap_err().code, BundleCode::InvalidRule);
    let root = tempfile::tempdir().unwrap();
    let absent = root.path().join("absent");
    let error = exported_by(&absent, &root.path().join("d"), &[pattern("", "x")]).unwrap_err();
    assert_eq!(error.code, BundleCode::InvalidRule, "told before anything is read");
}

#[test]
fn redaction_can_be_switched_off() {
    let run = plain_run();
    rewrite(&run, |time, _, payload| if time == 5 { with_member(&payload, "note", AWS) } else { payload });
    let root = tempfile::tempdir().unwrap();
    let destination = root.path().join("d");
    let off = RedactOptions { builtin: false, rules: vec![] };
    for redact in [None, Some(off)] {
        let info =
            try_export(run.directory.root(), &destination, &ExportOptions { redact, ..ExportOptions::default() });
        assert_eq!(info.unwrap().redactions, 0);
        assert!(leaks(&destination, AWS).is_some(), "the test can see a leak");
        fs::remove_dir_all(&destination).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn no_planted_secret_is_left_and_redaction_is_idempotent(
        seed in 1u64..50,
        secret in "[a-z]{2}[0-9]{3}[\\\\\"/é\n-]{1,2}[A-Z]{4}",
        places in prop::collection::vec((0u64..200, prop::collection::vec(any::<u8>(), 1..7), 1usize..3), 1..6),
        // Rules that match the placeholders of each other.
        odd in prop::sample::select(vec!["zz[0-9]", "redacted", r"\]", "^.", "[a-c]+$", "x.*", ":", "note: [^ ]*"]),
    ) {
        let run = run(SampleOptions { seed, max_events: 60, odd_ids: false, ..SampleOptions::default() });
        rewrite(&run, |time, _, payload| {
            let hits = places.iter().filter(|(at, ..)| at % (run.last() + 1) == time);
            hits.enumerate().fold(payload, |payload, (number, (_, choices, levels))| {
                let text = (0..*levels).fold(format!("note: {secret} "), |text, _| escaped(&text, choices));
                with_member(&payload, &format!("note{number}"), &text)
            })
        });
        let rules = [
            RedactionRule { kinds: None, ..pattern("mine", &regex::escape(&secret)) },
            RedactionRule { kinds: Some(vec!["Error".into()]), ..pattern("odd", odd) },
        ];
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("d");
        match exported_by(run.directory.root(), &directory, &rules) {
            Err(error) => {
                prop_assert_eq!(error.code, BundleCode::RedactionConflict);
                prop_assert_eq!(names(root.path()).len(), 0);
            }
            Ok(info) => {
                prop_assert_eq!(leaks(&directory, &secret), None);
                prop_assert_eq!(verified(&directory).problems, vec![]);
                let again = root.path().join("again");
                prop_assert_eq!(exported_by(&directory, &again, &rules).unwrap().bundle_id, info.bundle_id);
                prop_assert_eq!(state(&directory), run.state_at(run.last()).to_canonical().unwrap());
            }
        }
    }
}
