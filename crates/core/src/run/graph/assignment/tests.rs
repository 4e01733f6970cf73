use std::sync::Arc;

use super::*;
use crate::json::Nesting;
use crate::run::format::Kind;
use crate::run::graph::dag::Dag;
use crate::run::sample::{Sample, any_options};
use proptest::prelude::*;
use serde_json::{Value, json};

fn apply(state: &mut State, kind: Kind, node: Option<&str>, payload: Value) {
    let json = payload.to_string();
    let payload = Payload::parse(kind, &json, &mut Nesting::default()).unwrap();
    let time = state.next_time();
    let event = Event { time, node: node.map(Text::from_plain), parent: time.checked_sub(1), payload };
    check_assignment(state, &event).unwrap();
    state.apply(&event).unwrap();
}

/// A run of these nodes with the capabilities they need, and these workers with the capabilities they have. The nodes are scheduled in order.
fn run(scheduler: &str, nodes: &[(&str, &[&str])], workers: &[(&str, &[&str])]) -> State {
    let list: Vec<_> =
        nodes.iter().map(|(id, needed)| json!({"id": id, "kind": "k", "capabilities": needed})).collect();
    let workflow = json!({"name": "w", "version": "1", "nodes": list}).to_string();
    let mut state = State::new(Arc::new(Dag::compile(&workflow).unwrap()));
    let created = json!({"runId": "r", "workflow": {"name": "w", "version": "1"}, "dagHash": state.dag().hash(),
                         "scheduler": scheduler, "capabilities": []});
    apply(&mut state, Kind::RunCreated, None, created);
    let list: Vec<_> = workers.iter().map(|(id, able)| json!({"id": id, "capabilities": able})).collect();
    apply(&mut state, Kind::RunStarted, None, json!({ "workers": list }));
    for (id, _) in nodes {
        apply(&mut state, Kind::NodeScheduled, Some(id), json!({"task": format!("{id}#1"), "dependsOn": []}));
    }
    state
}

fn assign(state: &mut State, node: &str, worker: &str) {
    apply(state, Kind::TaskAssigned, Some(node), json!({"task": format!("{node}#1"), "worker": worker}));
}

fn beat(state: &mut State, worker: &str, status: &str) {
    apply(state, Kind::Heartbeat, None, json!({"worker": worker, "status": status}));
}

fn decided(state: &State) -> Option<String> {
    let decision = decide(state)?;
    Some(format!("{} {}", state.task_id(decision.task), state.workers().get(decision.worker).id))
}

fn check(state: &State, node: &str, worker: &str, from: Option<&str>) -> Result<(), RunError> {
    let json = json!({"task": format!("{node}#1"), "worker": worker, "from": from}).to_string();
    let payload = Payload::parse(Kind::TaskAssigned, &json, &mut Nesting::default()).unwrap();
    let event = Event { time: state.next_time(), node: Some(Text::from_plain(node)), parent: Some(0), payload };
    state.check(&event).unwrap();
    check_assignment(state, &event)
}

const NODES: [(&str, &[&str]); 5] = [("n1", &[]), ("n2", &[]), ("n3", &[]), ("n4", &[]), ("n5", &[])];

#[test]
fn round_robin_continues_after_the_last_assigned_worker() {
    let mut state = run("round-robin", &NODES, &[("c", &[]), ("a", &[]), ("b", &[])]);
    for (node, worker) in [("n1", "a"), ("n2", "b"), ("n3", "c"), ("n4", "a")] {
        assert_eq!(decided(&state), Some(format!("{node}#1 {worker}")));
        assign(&mut state, node, worker);
    }
    beat(&mut state, "b", "away");
    assert_eq!(decided(&state).unwrap(), "n5#1 c");
    beat(&mut state, "c", "gone");
    assert_eq!(decided(&state).unwrap(), "n5#1 a");
    beat(&mut state, "aa", "busy");
    assert_eq!(decided(&state).unwrap(), "n5#1 aa");
    for worker in ["a", "aa"] {
        beat(&mut state, worker, "IDLE");
    }
    assert_eq!(decided(&state), None);
}

#[test]
fn reassigned_task_advances_the_round_robin() {
    let mut state = run("round-robin", &NODES, &[("a", &[]), ("b", &[]), ("c", &[])]);
    assign(&mut state, "n1", "a");
    apply(&mut state, Kind::TaskAssigned, Some("n1"), json!({"task": "n1#1", "worker": "c", "from": "a"}));
    assert_eq!(decided(&state).unwrap(), "n2#1 a");
}

#[test]
fn least_loaded_takes_the_one_with_the_fewest_tasks_then_the_first() {
    let mut state = run("least-loaded", &NODES, &[("c", &[]), ("a", &[]), ("b", &[])]);
    for (node, worker) in [("n1", "a"), ("n2", "b"), ("n3", "c"), ("n4", "a")] {
        assert_eq!(decided(&state), Some(format!("{node}#1 {worker}")));
        assign(&mut state, node, worker);
    }
    assert_eq!(decided(&state).unwrap(), "n5#1 b");
    apply(&mut state, Kind::TaskRejected, Some("n3"), json!({"task": "n3#1", "worker": "c", "reason": "r"}));
    assert_eq!(decided(&state).unwrap(), "n5#1 c");
}

#[test]
fn task_without_an_eligible_worker_blocks_no_other() {
    let nodes: [(&str, &[&str]); 4] = [("n1", &["gpu"]), ("n2", &["gpu"]), ("n3", &["net"]), ("n4", &[])];
    for scheduler in ["round-robin", "least-loaded"] {
        let mut state = run(scheduler, &nodes, &[("a", &[]), ("b", &["net"])]);
        assert_eq!(decided(&state).unwrap(), "n3#1 b");
        assign(&mut state, "n3", "b");
        assert_eq!(decided(&state).unwrap(), "n4#1 a");
        apply(&mut state, Kind::Heartbeat, None, json!({"worker": "a", "status": "idle", "capabilities": ["gpu"]}));
        assert_eq!(decided(&state).unwrap(), "n1#1 a");
    }
}

#[test]
fn another_assignment_than_the_decided_one_is_a_mismatch() {
    for scheduler in ["round-robin", "least-loaded"] {
        let mut state = run(scheduler, &NODES, &[("a", &[]), ("b", &[])]);
        check(&state, "n1", "a", None).unwrap();
        let error = check(&state, "n1", "b", None).unwrap_err();
        assert_eq!((error.code, error.time), (ErrorCode::ScheduleMismatch, Some(state.next_time())));
        assert_eq!(
            (error.expected.unwrap().as_str(), error.found.unwrap().as_str()),
            ("'n1#1' to 'a'", "'n1#1' to 'b'")
        );
        assert!(check(&state, "n2", "a", None).is_err());
        beat(&mut state, "a", "away");
        beat(&mut state, "b", "away");
        assert!(check(&state, "n1", "a", None).is_err());
    }
}

#[test]
fn under_external_any_legal_assignment_matches() {
    let mut state = run("external", &[("n1", &["net"]), ("n2", &[])], &[("a", &[]), ("b", &["net"]), ("c", &["net"])]);
    assert_eq!(decided(&state), None);
    check(&state, "n2", "a", None).unwrap();
    check(&state, "n1", "c", None).unwrap();
    check(&state, "n1", "a", None).unwrap();
    beat(&mut state, "c", "away");
    check(&state, "n1", "c", None).unwrap();
    assign(&mut state, "n1", "b");
    check(&state, "n1", "c", Some("b")).unwrap();
    check(&state, "n1", "a", Some("b")).unwrap();
}

#[test]
fn a_task_that_is_taken_from_a_worker_goes_to_an_eligible_one() {
    let mut state = run("round-robin", &[("n1", &["net"])], &[("a", &["net"]), ("b", &[]), ("c", &["net"])]);
    assign(&mut state, "n1", "a");
    check(&state, "n1", "c", Some("a")).unwrap();
    assert!(check(&state, "n1", "b", Some("a")).is_err());
}

/// The decision according to the specification, computed from the document of the state.
fn naive(state: &State) -> Option<String> {
    let document: Value = serde_json::from_str(&state.to_canonical().unwrap()).unwrap();
    let nodes = document["coordinator"]["dag"]["nodes"].as_array().unwrap();
    let workers = document["workers"].as_object().unwrap();
    let tasks = document["tasks"].as_object().unwrap();
    let active = |worker: &String| {
        let is_active = |task: &&Value| ["Assigned", "Accepted", "Running"].contains(&task["status"].as_str().unwrap());
        tasks.values().filter(is_active).filter(|task| task["worker"] == json!(worker)).count()
    };
    for pair in document["coordinator"]["pendingTasks"].as_array().unwrap() {
        let task = pair[1].as_str().unwrap();
        let node = nodes.iter().find(|node| node["id"] == tasks[task]["node"]).unwrap();
        let needed = node["capabilities"].as_array().unwrap();
        let mut eligible: Vec<&String> = workers
            .iter()
            .filter(|(_, worker)| worker["status"] == "idle" || worker["status"] == "busy")
            .filter(|(_, worker)| needed.iter().all(|one| worker["capabilities"].as_array().unwrap().contains(one)))
            .map(|(id, _)| id)
            .collect();
        match document["scheduler"].as_str().unwrap() {
            "round-robin" => {
                let last = document.get("lastAssigned").and_then(Value::as_str);
                eligible.sort_by_key(|id| (last.is_some_and(|last| id.as_str() <= last), id.as_str()));
            }
            "least-loaded" => eligible.sort_by_key(|id| (active(id), id.as_str())),
            _ => return None,
        }
        if let Some(worker) = eligible.first() {
            return Some(format!("{task} {worker}"));
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn decisions_match_the_documented_examples(options in any_options()) {
        let sample = Sample::new(options);
        let mut state = State::new(sample.dag.clone());
        for event in &sample.events {
            prop_assert_eq!(check_assignment(&state, &event.event()), Ok(()));
            state.apply(&event.event()).unwrap();
            let decision = decide(&state).map(|decision| {
                let worker = &state.workers().get(decision.worker).id;
                format!("{} {}", Text::from_json(&state.task_id(decision.task)), worker)
            });
            prop_assert_eq!(decision, naive(&state));
        }
    }
}
