use std::fs;

use super::*;
use crate::run::format::ErrorCode;
use crate::run::graph::Scheduler;
use crate::run::record::{Record, Recorded, lines};
use crate::run::sample::SampleOptions;
use crate::run::store::BlobStore;
use crate::signature::SigningKey;
use crate::signature::tests::key_pair;
use crate::task::Cancellation;
use proptest::prelude::*;
use serde_json::json;

const ASPECTS: [Aspect; 7] = [
    Aspect::Chain,
    Aspect::Dag,
    Aspect::Schedule,
    Aspect::StateHashes,
    Aspect::OutputHashes,
    Aspect::Blobs,
    Aspect::Snapshots,
];

fn run(recorded: &Recorded) -> Verification {
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    recorded.directory.verify(&TrustedKeys::default(), &Redactions::default(), &mut task).unwrap()
}

fn sample(seed: u64, scheduler: Scheduler) -> Recorded {
    Recorded::new(SampleOptions { seed, max_events: 200, nodes: 12, scheduler, ..SampleOptions::default() })
}

fn count(recorded: &Recorded, kind: Kind) -> u64 {
    recorded.records.iter().filter(|record| record.kind == kind).count() as u64
}

fn counts(check: &Check) -> (u64, u64, u64) {
    (check.checked, check.failed, check.unverifiable)
}

/// The first failure of an aspect: its code and time.
fn first(found: &Verification, aspect: Aspect) -> (ErrorCode, Option<u64>) {
    let error = &found.check(aspect).first_failure.as_ref().unwrap().error;
    (error.code, error.time)
}

/// Asserts that exactly these aspects have failures or unverifiable parts.
fn assert_only(found: &Verification, failing: &[Aspect]) {
    for aspect in ASPECTS {
        let check = found.check(aspect);
        let is_clean = check.failed == 0 && check.unverifiable == 0;
        assert_eq!(is_clean, !failing.contains(&aspect), "{aspect:?}: {check:?}");
    }
    assert_eq!(found.is_ok(), failing.is_empty());
}

#[test]
fn a_run_as_it_was_recorded_matches_in_everything() {
    for seed in 0..6 {
        for scheduler in [Scheduler::RoundRobin, Scheduler::LeastLoaded, Scheduler::External] {
            let recorded = sample(seed, scheduler);
            let found = run(&recorded);
            assert_only(&found, &[]);
            let events = recorded.records.len() as u64;
            assert_eq!(counts(found.check(Aspect::Chain)), (events, 0, 0));
            assert_eq!(counts(found.check(Aspect::StateHashes)), (events, 0, 0));
            assert_eq!(counts(found.check(Aspect::Dag)), (1, 0, 0));
            assert_eq!(found.check(Aspect::Schedule).checked, count(&recorded, Kind::TaskAssigned));
            assert_eq!(found.check(Aspect::OutputHashes).checked, count(&recorded, Kind::ToolCompleted));
            assert_eq!(found.check(Aspect::Blobs).checked, count(&recorded, Kind::BlobStored));
            assert!(found.check(Aspect::Schedule).holds() && found.check(Aspect::OutputHashes).holds());
        }
    }
}

#[test]
fn flags_are_false_if_nothing_was_checked() {
    let mut recorded = sample(1, Scheduler::RoundRobin);
    recorded.records.truncate(1);
    recorded.write_log(&recorded.records);
    let found = run(&recorded);
    assert!(found.is_ok());
    assert!(!found.check(Aspect::Schedule).holds() && !found.check(Aspect::OutputHashes).holds());
    fs::write(recorded.directory.log(), "").unwrap();
    let found = run(&recorded);
    assert!(!found.is_ok() && ASPECTS.iter().all(|&aspect| !found.check(aspect).holds()), "{found:?}");
    assert_eq!(first(&found, Aspect::Chain).0, ErrorCode::EmptyLog);
    assert_eq!(counts(found.check(Aspect::Chain)), (1, 1, 0));
}

#[test]
fn wrong_graph_is_detected_and_the_rest_verified_with_the_right_one() {
    let recorded = sample(1, Scheduler::RoundRobin);
    let (dag, workflow) = (recorded.directory.dag(), recorded.directory.workflow());
    let other = sample(2, Scheduler::RoundRobin);
    let broken = |path: &Path, bytes: &[u8]| {
        let before = fs::read(path).unwrap();
        fs::write(path, bytes).unwrap();
        let found = run(&recorded);
        fs::write(path, before).unwrap();
        found
    };
    let pretty = format!("{} ", recorded.sample.dag.text());
    for (bytes, code) in [
        (other.sample.dag.text().as_bytes(), ErrorCode::DagMismatch),
        (pretty.as_bytes(), ErrorCode::WorkflowInvalid),
        (b"\xff", ErrorCode::WorkflowInvalid),
        (b"", ErrorCode::WorkflowInvalid),
    ] {
        let found = broken(&dag, bytes);
        assert_only(&found, &[Aspect::Dag]);
        assert_eq!(first(&found, Aspect::Dag).0, code);
        assert_eq!(counts(found.check(Aspect::Dag)), (1, 1, 0));
    }
    let found = broken(&workflow, other.sample.workflow.as_bytes());
    assert_only(&found, &[Aspect::Dag]);
    assert_eq!(first(&found, Aspect::Dag).0, ErrorCode::DagMismatch);
    assert_eq!(first(&broken(&workflow, b"{}"), Aspect::Dag).0, ErrorCode::WorkflowInvalid);
    fs::remove_file(&workflow).unwrap();
    assert_eq!(counts(run(&recorded).check(Aspect::Dag)), (0, 0, 1));
    fs::remove_file(&dag).unwrap();
    let found = run(&recorded);
    assert_eq!(first(&found, Aspect::Dag).0, ErrorCode::SystemError);
    assert!(ASPECTS.iter().all(|&aspect| !found.check(aspect).holds()), "{found:?}");
}

#[test]
fn assignment_contradicting_the_scheduler_is_detected() {
    let recorded = sample(1, Scheduler::RoundRobin);
    // A log whose assignments were made by another scheduler than the one it names.
    let other = sample(1, Scheduler::External);
    let mut records = other.records.clone();
    records[0].payload["scheduler"] = json!("round-robin");
    recorded.write_log(&records);
    fs::copy(other.directory.dag(), recorded.directory.dag()).unwrap();
    fs::copy(other.directory.workflow(), recorded.directory.workflow()).unwrap();
    let found = run(&recorded);
    let schedule = found.check(Aspect::Schedule);
    assert!(schedule.failed > 0 && schedule.failed < schedule.checked, "{schedule:?}");
    let (code, time) = first(&found, Aspect::Schedule);
    assert_eq!(code, ErrorCode::ScheduleMismatch);
    assert_eq!(records[time.unwrap() as usize].kind, Kind::TaskAssigned);
    assert!(found.check(Aspect::Chain).holds());
}

#[test]
fn wrong_state_hashes_are_counted_without_side_effects() {
    let recorded = sample(1, Scheduler::LeastLoaded);
    let mut records = recorded.records.clone();
    for place in [7, 30, 31] {
        records[place].state_hash = [b'0'; 64];
    }
    recorded.write_log(&records);
    let found = run(&recorded);
    assert_only(&found, &[Aspect::StateHashes]);
    assert_eq!(found.check(Aspect::StateHashes).failed, 3);
    assert_eq!(first(&found, Aspect::StateHashes), (ErrorCode::StateMismatch, Some(7)));
}

#[test]
fn wrong_outputs_are_counted_without_side_effects() {
    let recorded = sample(1, Scheduler::LeastLoaded);
    let blobs = BlobStore::new(recorded.directory.blobs());
    let outputs: Vec<(u64, String)> = (0..)
        .zip(&recorded.records)
        .filter(|(_, record)| record.kind == Kind::ToolCompleted)
        .map(|(time, record)| (time, record.payload["rawHash"].as_str().unwrap().to_owned()))
        .collect();
    fs::remove_file(blobs.path_of(&outputs[1].1).unwrap()).unwrap();
    let found = run(&recorded);
    assert_only(&found, &[Aspect::OutputHashes]);
    assert_eq!(first(&found, Aspect::OutputHashes), (ErrorCode::BlobMissing, Some(outputs[1].0)));
    fs::write(blobs.path_of(&outputs[0].1).unwrap(), "{}").unwrap();
    let found = run(&recorded);
    assert_eq!(first(&found, Aspect::OutputHashes), (ErrorCode::BlobCorrupt, Some(outputs[0].0)));
    assert_eq!(found.check(Aspect::OutputHashes).failed, 2);
    // Outputs listed as redacted can't be checked, and don't count as matches.
    let redactions =
        Redactions { blobs: outputs.iter().take(2).map(|(_, raw)| raw.clone()).collect(), ..Redactions::default() };
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    let found = recorded.directory.verify(&TrustedKeys::default(), &redactions, &mut task).unwrap();
    assert_eq!(counts(found.check(Aspect::OutputHashes)), (outputs.len() as u64 - 2, 0, 2));
    assert!(!found.is_ok() && !found.check(Aspect::OutputHashes).holds());
}

/// A run with these events behind its own.
fn with_more(mut recorded: Recorded, more: &[(Kind, serde_json::Value)]) -> Recorded {
    let end = recorded.records.iter().position(|record| matches!(record.kind, Kind::RunCompleted | Kind::RunFailed));
    let at = end.unwrap_or(recorded.records.len());
    recorded.records.truncate(at);
    let model = recorded.records.last().unwrap().clone();
    for (kind, payload) in more {
        let record = Record { kind: *kind, node: None, payload: payload.clone(), ..model.clone() };
        recorded.records.push(record);
    }
    recorded.write_log(&recorded.records);
    recorded
}

/// Verification once called a run sound whose stored blob was changed or gone, if no output was named after it.
#[test]
fn missing_or_changed_blobs_are_counted_without_side_effects() {
    let blobs_of = |recorded: &Recorded| BlobStore::new(recorded.directory.blobs());
    let recorded = sample(1, Scheduler::RoundRobin);
    let put = |bytes: &[u8]| {
        let hash = blobs_of(&recorded).put(bytes, crate::disk::Durability::Os).unwrap();
        crate::hash::as_text(&hash).to_owned()
    };
    let blobs = [&b"one"[..], b"two", b"three"].map(put);
    let more = blobs
        .iter()
        .map(|blob| (Kind::BlobStored, json!({ "blob": blob, "size": if *blob == blobs[2] { 5 } else { 3 } })));
    let before = count(&recorded, Kind::BlobStored);
    let recorded = with_more(recorded, &more.collect::<Vec<_>>());
    let at = recorded.records.len() as u64 - 3;
    let found = run(&recorded);
    // The lines have the state hashes of others.
    assert_only(&found, &[Aspect::StateHashes]);
    assert!(found.check(Aspect::Blobs).checked >= 3 && found.check(Aspect::Blobs).checked <= before + 3);
    let path = |blob: &str| blobs_of(&recorded).path_of(blob).unwrap();
    fs::write(path(&blobs[1]), "TWO").unwrap();
    let found = run(&recorded);
    assert_only(&found, &[Aspect::StateHashes, Aspect::Blobs]);
    assert_eq!(first(&found, Aspect::Blobs), (ErrorCode::BlobCorrupt, Some(at + 1)));
    fs::remove_file(path(&blobs[0])).unwrap();
    let found = run(&recorded);
    assert_eq!(first(&found, Aspect::Blobs), (ErrorCode::BlobMissing, Some(at)));
    assert_eq!(found.check(Aspect::Blobs).failed, 2);
    let redactions = Redactions { blobs: blobs[..2].iter().cloned().collect(), ..Redactions::default() };
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    let found = recorded.directory.verify(&TrustedKeys::default(), &redactions, &mut task).unwrap();
    assert_eq!((found.check(Aspect::Blobs).failed, found.check(Aspect::Blobs).unverifiable), (0, 2));
    assert!(!found.is_ok());
}

#[test]
fn a_stored_blob_of_another_size_is_counted() {
    let recorded = sample(1, Scheduler::RoundRobin);
    let blob = BlobStore::new(recorded.directory.blobs()).put(b"one", crate::disk::Durability::Os).unwrap();
    let payload = json!({ "blob": crate::hash::as_text(&blob), "size": 4 });
    let found = run(&with_more(recorded, &[(Kind::BlobStored, payload)]));
    assert_only(&found, &[Aspect::StateHashes, Aspect::Blobs]);
    assert_eq!(first(&found, Aspect::Blobs).0, ErrorCode::BlobCorrupt);
}

#[test]
fn a_workflow_of_another_name_or_version_is_found() {
    let recorded = sample(1, Scheduler::RoundRobin);
    let mut workflow: serde_json::Value = serde_json::from_str(&recorded.sample.workflow).unwrap();
    for key in ["name", "version"] {
        let before = workflow[key].take();
        workflow[key] = json!("another");
        fs::write(recorded.directory.workflow(), workflow.to_string()).unwrap();
        let found = run(&recorded);
        assert_only(&found, &[Aspect::Dag]);
        assert_eq!(first(&found, Aspect::Dag).0, ErrorCode::DagMismatch);
        // What was redacted may have another name.
        let redactions = Redactions { workflow: true, ..Redactions::default() };
        let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
        let found = recorded.directory.verify(&TrustedKeys::default(), &redactions, &mut task).unwrap();
        assert_eq!(counts(found.check(Aspect::Dag)), (0, 0, 1));
        workflow[key] = before;
    }
}

#[test]
fn snapshots_must_be_those_of_the_log_and_signed_if_keys_are_trusted() {
    let recorded = sample(3, Scheduler::RoundRobin);
    let (private, public) = key_pair();
    recorded.write_snapshot(5, Some(&SigningKey::from_pem(private).unwrap()));
    recorded.write_snapshot(9, None);
    assert_only(&run(&recorded), &[]);
    assert_eq!(counts(run(&recorded).check(Aspect::Snapshots)), (2, 0, 0));

    let trusted = TrustedKeys::from_pems(&[public]).unwrap();
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    let found = recorded.directory.verify(&trusted, &Redactions::default(), &mut task).unwrap();
    assert_only(&found, &[Aspect::Snapshots]);
    assert_eq!(counts(found.check(Aspect::Snapshots)), (2, 1, 0));
    assert_eq!(first(&found, Aspect::Snapshots), (ErrorCode::SnapshotInvalid, Some(9)));

    fs::write(recorded.directory.snapshots().join("snap_7.cath-snap"), "{}").unwrap();
    let found = run(&recorded);
    assert_eq!(first(&found, Aspect::Snapshots), (ErrorCode::SnapshotInvalid, Some(7)));
    let failure = found.check(Aspect::Snapshots).first_failure.as_ref().unwrap();
    assert!(failure.error.message.starts_with("snap_7: "), "{}", failure.error.message);
}

#[test]
fn events_after_an_illegal_one_are_unverifiable() {
    let recorded = sample(1, Scheduler::RoundRobin);
    let place = 60;
    let mut records = recorded.records.clone();
    let illegal =
        Record { kind: Kind::RunCreated, node: None, payload: records[0].payload.clone(), ..records[place].clone() };
    records[place] = illegal;
    recorded.write_log(&records);
    let found = run(&recorded);
    let rest = (records.len() - place) as u64;
    assert_eq!(first(&found, Aspect::Chain), (ErrorCode::IllegalTransition, Some(place as u64)));
    assert_eq!(counts(found.check(Aspect::Chain)), (place as u64 + 1, 1, rest - 1));
    assert_eq!(found.check(Aspect::StateHashes).unverifiable, rest);
    let behind = |kind| records[place..].iter().filter(|record| record.kind == kind).count() as u64;
    assert_eq!(found.check(Aspect::Schedule).unverifiable, behind(Kind::TaskAssigned));
    assert_eq!(found.check(Aspect::OutputHashes).unverifiable, behind(Kind::ToolCompleted));
    // The same for a line that is not an event.
    let mut log = lines(&recorded.records);
    log[place] = b"garbage\n".to_vec();
    fs::write(recorded.directory.log(), log.concat()).unwrap();
    let found = run(&recorded);
    assert_eq!(first(&found, Aspect::Chain).0, ErrorCode::NotAJsonLine);
    assert_eq!(counts(found.check(Aspect::Chain)), (place as u64 + 1, 1, rest - 1));
    assert_eq!(found.check(Aspect::StateHashes).unverifiable, rest);
}

#[test]
fn a_redacted_event_is_unverifiable_and_only_where_it_is_listed() {
    let recorded = sample(1, Scheduler::RoundRobin);
    let place = (0..).zip(&recorded.records).find(|(_, record)| record.kind == Kind::ToolCompleted).unwrap().0;
    let mut log = lines(&recorded.records);
    let line = String::from_utf8(log[place].clone()).unwrap();
    let salt = line.find(",\"salt\"").unwrap();
    log[place] = [&line[..salt], &line[salt + 42..]]
        .concat()
        .replace("\"call\"", "\"note\":\"[redacted]\",\"call\"")
        .into_bytes();
    fs::write(recorded.directory.log(), log.concat()).unwrap();
    let found = run(&recorded);
    assert_eq!(first(&found, Aspect::Chain), (ErrorCode::MissingField, Some(place as u64)));
    let redactions = Redactions { events: [place as u64].into(), ..Redactions::default() };
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    let found = recorded.directory.verify(&TrustedKeys::default(), &redactions, &mut task).unwrap();
    assert_only(&found, &[Aspect::Chain, Aspect::OutputHashes]);
    assert_eq!(counts(found.check(Aspect::Chain)), (recorded.records.len() as u64, 0, 1));
    assert_eq!(counts(found.check(Aspect::OutputHashes)), (count(&recorded, Kind::ToolCompleted) - 1, 0, 1));
}

#[test]
fn cancellation_does_not_wait_for_snapshots() {
    let recorded = sample(1, Scheduler::RoundRobin);
    recorded.write_snapshot(3, None);
    for graph in [recorded.directory.dag(), recorded.directory.workflow()] {
        fs::remove_file(graph).unwrap();
    }
    let cancelled = Cancellation::default();
    cancelled.cancel();
    let mut task = Task { cancellation: &cancelled, progress: &mut |_| {} };
    let error = recorded.directory.verify(&TrustedKeys::default(), &Redactions::default(), &mut task).unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled);
}

#[test]
fn an_event_that_is_refused_and_does_not_have_its_hash_fails_once() {
    let recorded = sample(1, Scheduler::RoundRobin);
    let log = String::from_utf8(recorded.log()).unwrap();
    let place = log.lines().position(|line| line.contains("\"kind\":\"TaskAccepted\"")).unwrap();
    let mut lines: Vec<String> = log.lines().map(|line| format!("{line}\n")).collect();
    lines[place] = lines[place].replace("TaskAccepted", "NodeScheduled");
    fs::write(recorded.directory.log(), lines.concat()).unwrap();
    let chain = run(&recorded).check(Aspect::Chain).clone();
    assert_eq!((chain.checked, chain.failed), (place as u64 + 1, 1), "{chain:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_change_of_a_log_clears_the_flags(
        seed in 0u64..20, at in any::<prop::sample::Index>(), cut in 0usize..20,
        insert in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let recorded = sample(seed, Scheduler::RoundRobin);
        let log = recorded.log();
        let at = at.index(log.len());
        let end = (at + cut).min(log.len());
        let damaged = [&log[..at], &insert, &log[end..]].concat();
        prop_assume!(damaged != log && damaged.ends_with(b"\n") && damaged.len() > at);
        fs::write(recorded.directory.log(), &damaged).unwrap();
        let found = run(&recorded);
        prop_assert!(!found.is_ok());
        prop_assert!(!found.check(Aspect::Chain).holds());
        prop_assert!(found.check(Aspect::Chain).failed > 0);
        let lines = memchr::memchr_iter(b'\n', &damaged).count().max(1) as u64;
        for aspect in ASPECTS {
            let check = found.check(aspect);
            prop_assert!(check.failed <= check.checked, "{aspect:?}: {check:?}");
            prop_assert_eq!(check.failed > 0, check.first_failure.is_some());
        }
        let (checked, _, unverifiable) = counts(found.check(Aspect::Chain));
        prop_assert_eq!(checked + unverifiable, lines);
    }
}
