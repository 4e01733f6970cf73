use std::sync::Arc;

use super::*;
use crate::json::Nesting;
use crate::run::format::Kind;
use crate::run::graph::dag::Dag;
use crate::run::sample::{Sample, any_options};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A run that is built event by event, each with its expected parent.
struct Story {
    state: State,
    causality: Causality,
}

impl Story {
    /// Graph: `a`; `b` after `a`; `c`; `d` after `a` and `c`.
    fn new() -> Self {
        let workflow = json!({"name": "w", "version": "1", "nodes": [
            {"id": "a", "kind": "k"}, {"id": "b", "kind": "k", "dependsOn": ["a"]}, {"id": "c", "kind": "k"},
            {"id": "d", "kind": "k", "dependsOn": ["a", "c"]}]});
        let state = State::new(Arc::new(Dag::compile(&workflow.to_string()).unwrap()));
        Story { causality: Causality::new(&state), state }
    }

    #[track_caller]
    fn tell(&mut self, time: u64, cause: Option<u64>, kind: Kind, node: Option<&str>, payload: Value) {
        assert_eq!(self.state.next_time(), time);
        let json = payload.to_string();
        let payload = Payload::parse(kind, &json, &mut Nesting::default()).unwrap();
        let node = node.map(Text::from_plain);
        let place = node.as_ref().map(|node| self.state.dag().find(node).unwrap());
        let parent = self.causality.parent_of(&self.state, place, &payload);
        assert_eq!(parent, cause, "{kind} at {time}");
        let event = Event { time, node, parent, payload };
        self.state.apply(&event).unwrap();
        self.causality.observe(&self.state, &event);
    }
}

fn tool(call: &str) -> Value {
    json!({"tool": "t", "call": call, "requestHash": "h", "rawHash": "h", "outputHash": "h", "normalizer": "none",
           "code": "E", "message": "m", "limitMs": 1})
}

fn task(task: &str) -> Value {
    json!({"task": task, "worker": "w", "inputHash": "h", "outputHash": "h", "reason": "r", "dependsOn": [],
           "code": "E", "message": "m", "willRetry": true})
}

#[test]
fn default_parent_of_each_kind_is_as_documented() {
    use Kind::*;
    let mut story = Story::new();
    let hash = story.state.dag().hash().to_owned();
    let created = json!({"runId": "r", "workflow": {"name": "w", "version": "1"}, "dagHash": hash,
                         "scheduler": "external", "capabilities": []});
    let check = || json!({"capability": "c", "allowed": true});
    let error = || json!({"code": "E", "message": "m", "recoverable": true});
    let (a, c, d) = (Some("a"), Some("c"), Some("d"));
    story.tell(0, None, RunCreated, None, created);
    story.tell(1, Some(0), Error, None, error());
    story.tell(2, Some(0), RunStarted, None, json!({"workers": [{"id": "w", "capabilities": []}]}));
    // Only the start of the run made the node ready.
    story.tell(3, Some(2), NodeScheduled, a, task("a#1"));
    story.tell(4, Some(2), NodeScheduled, c, task("c#1"));
    // Without a call, and not started: the event before.
    story.tell(5, Some(4), CapabilityCheck, a, check());
    story.tell(6, Some(3), TaskAssigned, a, json!({"task": "a#1", "worker": "w"}));
    story.tell(7, Some(6), TaskRejected, a, task("a#1"));
    story.tell(8, Some(7), TaskAssigned, a, json!({"task": "a#1", "worker": "w"}));
    story.tell(9, Some(4), TaskAssigned, c, json!({"task": "c#1", "worker": "w"}));
    story.tell(10, Some(8), TaskAccepted, a, task("a#1"));
    // Taken from its worker: the event by which the task joined those that wait.
    story.tell(11, Some(7), TaskAssigned, a, json!({"task": "a#1", "worker": "w", "from": "w"}));
    story.tell(12, Some(11), TaskAccepted, a, task("a#1"));
    story.tell(13, Some(12), NodeStarted, a, task("a#1"));
    story.tell(14, Some(13), CapabilityCheck, a, check());
    story.tell(15, Some(13), ToolInvoked, a, tool("x"));
    story.tell(16, Some(13), ToolInvoked, a, tool("y"));
    story.tell(17, Some(16), PolicyDecision, a, json!({"decision": "d", "rule": "r", "allowed": true}));
    story.tell(18, Some(16), ToolCompleted, a, tool("y"));
    story.tell(19, Some(15), BlobStored, a, json!({"blob": "h", "size": 1}));
    story.tell(20, Some(19), BlobStored, None, json!({"blob": "h", "size": 1}));
    story.tell(21, Some(18), NodeFailed, a, task("a#1"));
    // A late result.
    story.tell(22, Some(15), ToolTimedOut, a, tool("x"));
    // After a retry: the failure, not the late result.
    story.tell(23, Some(21), NodeScheduled, a, task("a#2"));
    story.tell(24, Some(23), TaskAssigned, a, json!({"task": "a#2", "worker": "w"}));
    story.tell(25, Some(24), TaskAccepted, a, task("a#2"));
    story.tell(26, Some(25), NodeStarted, a, task("a#2"));
    // Results of the previous attempt do not count.
    story.tell(27, Some(26), NodeCompleted, a, task("a#2"));
    story.tell(28, Some(2), NodeSkipped, c, json!({"reason": "r"}));
    story.tell(29, Some(28), NodeScheduled, d, task("d#1"));
    story.tell(30, Some(27), NodeScheduled, Some("b"), task("b#1"));
    story.tell(31, Some(14), NodeSkipped, d, json!({"reason": "r", "because": 14}));
    story.tell(32, Some(31), Heartbeat, None, json!({"worker": "w", "status": "idle"}));
    story.tell(33, Some(32), SnapshotCreated, None, json!({"snapshot": "s", "stateHash": "h", "at": 32}));
    story.tell(34, Some(33), SnapshotRestored, None, json!({"snapshot": "s", "stateHash": "h", "at": 32}));
    story.tell(35, Some(30), TaskAssigned, Some("b"), json!({"task": "b#1", "worker": "w"}));
    story.tell(36, Some(35), TaskAccepted, Some("b"), task("b#1"));
    story.tell(37, Some(36), NodeStarted, Some("b"), task("b#1"));
    story.tell(38, Some(37), ToolInvoked, Some("b"), tool("x"));
    story.tell(39, Some(38), ToolFailed, Some("b"), tool("x"));
    story.tell(40, Some(39), NodeCompleted, Some("b"), task("b#1"));
    story.tell(41, Some(40), Error, None, error());
    story.tell(42, Some(40), RunCompleted, None, json!({"outputs": {}}));
    story.tell(43, Some(42), BlobStored, None, json!({"blob": "h", "size": 1}));
}

#[test]
fn retry_descends_from_the_previous_attempt() {
    use Kind::*;
    let mut story = Story::new();
    let hash = story.state.dag().hash().to_owned();
    let created = json!({"runId": "r", "workflow": {"name": "w", "version": "1"}, "dagHash": hash,
                         "scheduler": "external", "capabilities": []});
    let check = || json!({"capability": "c", "allowed": true});
    let a = Some("a");
    story.tell(0, None, RunCreated, None, created);
    story.tell(1, Some(0), RunStarted, None, json!({"workers": [{"id": "w", "capabilities": []}]}));
    story.tell(2, Some(1), NodeScheduled, a, task("a#1"));
    story.tell(3, Some(2), TaskAssigned, a, json!({"task": "a#1", "worker": "w"}));
    story.tell(4, Some(3), TaskAccepted, a, task("a#1"));
    story.tell(5, Some(4), NodeStarted, a, task("a#1"));
    story.tell(6, Some(5), ToolInvoked, a, tool("x"));
    story.tell(7, Some(5), NodeFailed, a, task("a#1"));
    story.tell(8, Some(6), CapabilityCheck, a, check());
    story.tell(9, Some(7), NodeScheduled, a, task("a#2"));
    story.tell(10, Some(6), CapabilityCheck, a, check());
    story.tell(11, Some(9), TaskAssigned, a, json!({"task": "a#2", "worker": "w"}));
    story.tell(12, Some(11), TaskAccepted, a, task("a#2"));
    story.tell(13, Some(12), NodeStarted, a, task("a#2"));
    story.tell(14, Some(13), CapabilityCheck, a, check());
}

#[test]
fn end_of_an_empty_run_descends_from_its_creation() {
    let mut story = Story::new();
    let hash = story.state.dag().hash().to_owned();
    let created = json!({"runId": "r", "workflow": {"name": "w", "version": "1"}, "dagHash": hash,
                         "scheduler": "external", "capabilities": []});
    story.tell(0, None, Kind::RunCreated, None, created);
    story.tell(1, Some(0), Kind::RunStarted, None, json!({"workers": []}));
    story.tell(2, Some(1), Kind::Heartbeat, None, json!({"worker": "w", "status": "idle"}));
    story.tell(3, Some(1), Kind::RunFailed, None, json!({"code": "E", "message": "m"}));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_event_but_the_first_has_an_earlier_cause(options in any_options()) {
        let sample = Sample::new(options);
        let mut state = State::new(sample.dag.clone());
        let mut causality = Causality::new(&state);
        for event in &sample.events {
            let event = event.event();
            let node = event.node.as_ref().and_then(|node| state.dag().find(node));
            let parent = causality.parent_of(&state, node, &event.payload);
            prop_assert_eq!(parent.is_some(), event.time > 0);
            prop_assert!(parent.is_none_or(|parent| parent < event.time));
            state.apply(&event).unwrap();
            causality.observe(&state, &event);
        }
    }
}
