use super::*;
use crate::run::format::ErrorCode;
use crate::run::sample::{Sample, any_options};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The hash of a state, computed from its document by the documented table, without any of the code under test.
fn hash_of_document(document: &str) -> String {
    let document: Value = serde_json::from_str(document).unwrap();
    let coordinator = &document["coordinator"];
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let dag = hex(&Sha256::digest(coordinator["dag"].to_string()));
    let mut entries = vec![json!(["dag", dag])];
    entries.extend(members(&coordinator["nodeStates"]).into_iter().map(|(id, node)| json!(["node", id, node])));
    entries.extend(members(&document["tasks"]).into_iter().map(|(id, task)| json!(["task", id, task])));
    entries.extend(members(&document["workers"]).into_iter().map(|(id, worker)| json!(["worker", id, worker])));
    entries.extend(members(&document["counters"]).into_iter().map(|(name, n)| json!(["counter", name, n])));
    for (task, calls) in members(&document["calls"]) {
        entries.extend(members(&calls).into_iter().map(|(id, call)| json!(["call", task, id, call])));
    }
    for pair in coordinator["pendingTasks"].as_array().unwrap() {
        entries.push(json!(["pending", pair[0], pair[1]]));
    }
    if let Some(worker) = document.get("lastAssigned") {
        entries.push(json!(["scheduler", "lastAssigned", worker]));
    }
    if let Some(mark) = document.get("lastSnapshot") {
        entries.push(json!(["snapshot", mark["snapshot"], { "at": mark["at"], "stateHash": mark["stateHash"] }]));
    }
    let mut sum = [0u8; 32];
    for entry in entries {
        add_bytes(&mut sum, &Sha256::digest(entry.to_string()).into());
    }
    let (status, time) = (coordinator["run"]["status"].as_str().unwrap(), &coordinator["logicalTime"]);
    hex(&Sha256::digest(format!("state/1\n{status}\n{time}\n{}", hex(&sum))))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Schoolbook addition, byte by byte.
fn add_bytes(sum: &mut [u8; 32], added: &[u8; 32]) {
    let mut carry = 0;
    for at in (0..32).rev() {
        let digit = u16::from(sum[at]) + u16::from(added[at]) + carry;
        (sum[at], carry) = (digit as u8, digit >> 8);
    }
}

fn sum_of(hashes: &[Hash]) -> Accumulator {
    let mut sum = Accumulator::default();
    hashes.iter().for_each(|hash| sum.add(hash));
    sum
}

#[test]
fn the_sum_is_modulo_two_to_the_256() {
    let (mut sum, mut one) = (sum_of(&[[0xff; 32]]), [0; 32]);
    one[31] = 1;
    sum.add(&one);
    assert_eq!(sum.to_bytes(), [0; 32]);
    sum.subtract(&one);
    assert_eq!(sum.to_bytes(), [0xff; 32]);
}

#[test]
fn hashed_text_matches_the_documentation() {
    let text = format!("state/1\nRunning\n7\n{}", "0".repeat(64));
    assert_eq!(Accumulator::default().state_hash(RunStatus::Running, 7)[..], Sha256::digest(text)[..]);
}

#[test]
fn there_is_no_hash_before_the_first_event() {
    let sample = Sample::new(Default::default());
    assert_eq!(sample.state_after(0).hash(), None);
    assert!(sample.state_after(1).hash().is_some());
}

#[test]
fn restoring_something_else_than_the_state_is_a_mismatch() {
    let sample = Sample::new(Default::default());
    let mut state = sample.state_after(10);
    let mut hasher = StateHasher::of(&state);
    let restored = |hash: &str| format!(r#"{{"snapshot":"s","stateHash":"{hash}","at":9}}"#);
    let event = |payload: String| {
        let mut event = sample.events[9].clone();
        event = crate::run::sample::SampleEvent {
            time: 10,
            kind: crate::run::format::Kind::SnapshotRestored,
            payload,
            ..event
        };
        (event.node, event.parent) = (None, Some(9));
        event
    };
    let error = state.apply_into(&event(restored(&"0".repeat(64))).event(), &mut hasher).unwrap_err();
    assert_eq!((error.code, error.time), (ErrorCode::StateMismatch, Some(10)));
    assert_eq!(error.expected.as_deref(), Some(as_text(&sample.events[9].state_hash)));
    assert_eq!(error.found.as_deref(), Some("0".repeat(64).as_str()));
    assert_eq!(state, sample.state_after(10));
    state.apply_into(&event(restored(as_text(&sample.events[9].state_hash))).event(), &mut hasher).unwrap();
    assert_eq!(hasher.state_hash(&state), state.hash());
}

proptest! {
    #[test]
    fn the_sum_is_that_of_big_numbers(
        hashes in proptest::collection::vec(any::<[u8; 32]>(), 0..20),
        extremes in proptest::collection::vec(prop_oneof![Just([0xff; 32]), Just([0x80; 32]), Just([0; 32])], 0..5),
    ) {
        let all = [hashes, extremes].concat();
        let mut expected = [0; 32];
        all.iter().for_each(|hash| add_bytes(&mut expected, hash));
        let mut sum = sum_of(&all);
        prop_assert_eq!(sum.to_bytes(), expected);
        all.iter().for_each(|hash| sum.subtract(hash));
        prop_assert_eq!(sum, Accumulator::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn incremental_hash_equals_full_hash_at_every_event(options in any_options()) {
        let sample = Sample::new(options);
        let mut state = State::new(sample.dag.clone());
        for event in &sample.events {
            state.apply(&event.event()).unwrap();
            // The sample's hashes were updated event by event.
            prop_assert_eq!(state.hash().map(|hash| to_hex(&hash)), Some(event.state_hash), "{:?}", event);
        }
    }

    #[test]
    fn a_hasher_can_be_made_at_any_event(options in any_options(), at in any::<prop::sample::Index>()) {
        let sample = Sample::new(options);
        let at = at.index(sample.events.len());
        let mut state = sample.state_after(at);
        let mut hasher = StateHasher::of(&state);
        for event in &sample.events[at..] {
            state.apply_into(&event.event(), &mut hasher).unwrap();
            prop_assert_eq!(hasher.state_hash(&state).map(|hash| to_hex(&hash)), Some(event.state_hash));
        }
    }

    #[test]
    fn hash_matches_the_documented_entries(options in any_options()) {
        let sample = Sample::new(options);
        let mut state = State::new(sample.dag.clone());
        for event in &sample.events {
            state.apply(&event.event()).unwrap();
            prop_assert_eq!(hash_of_document(&state.to_canonical().unwrap()), as_text(&event.state_hash));
        }
    }
}
