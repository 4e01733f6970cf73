use std::sync::Arc;

use super::*;
use crate::hash::{as_text, to_hex};
use crate::json::Nesting;
use crate::run::format::Kind;
use crate::run::graph::Dag;
use serde_json::{Value, json};

/// A run that is built event by event.
struct Scene {
    state: State,
}

impl Scene {
    /// A run without events. Graph: `a`, `b` after `a`, `c`.
    fn new() -> Self {
        let workflow = json!({"name": "w", "version": "1", "nodes": [
            {"id": "a", "kind": "k"}, {"id": "b", "kind": "k", "dependsOn": ["a"]}, {"id": "c", "kind": "k"}]});
        Scene { state: State::new(Arc::new(Dag::compile(&workflow.to_string()).unwrap())) }
    }

    fn created() -> Self {
        let mut scene = Scene::new();
        let payload = scene.created_payload();
        scene.ok(Kind::RunCreated, None, payload);
        scene
    }

    fn running() -> Self {
        let mut scene = Scene::created();
        let workers = json!({"workers": [{"id": "w", "capabilities": []}, {"id": "v", "capabilities": []}]});
        scene.ok(Kind::RunStarted, None, workers);
        scene
    }

    /// A running run whose task `a#1` has this status.
    fn with_task(status: TaskStatus) -> Self {
        let mut scene = Scene::running();
        scene.ok(Kind::NodeScheduled, Some("a"), json!({"task": "a#1", "dependsOn": [1]}));
        let steps = [
            (TaskStatus::Assigned, Kind::TaskAssigned, json!({"task": "a#1", "worker": "w"})),
            (TaskStatus::Accepted, Kind::TaskAccepted, json!({"task": "a#1", "worker": "w"})),
            (TaskStatus::Running, Kind::NodeStarted, json!({"task": "a#1", "worker": "w", "inputHash": "h"})),
        ];
        for (reached, kind, payload) in steps {
            if status != TaskStatus::Pending
                && scene.task_status() != status
                && scene.task_status() != TaskStatus::Running
            {
                scene.ok(kind, Some("a"), payload);
                assert_eq!(scene.task_status(), reached);
            }
        }
        match status {
            TaskStatus::Done => scene.ok(Kind::NodeCompleted, Some("a"), json!({"task": "a#1", "outputHash": "h"})),
            TaskStatus::Failed => scene.ok(Kind::NodeFailed, Some("a"), failed("a#1", false)),
            TaskStatus::Withdrawn => {
                scene = Scene::with_task(TaskStatus::Pending);
                scene.ok(Kind::NodeSkipped, Some("a"), json!({"reason": "r"}));
            }
            _ => {}
        }
        assert_eq!(scene.task_status(), status);
        scene
    }

    fn created_payload(&self) -> Value {
        json!({"runId": "r", "workflow": {"name": "w", "version": "1"}, "dagHash": self.state.dag().hash(),
               "scheduler": "external", "capabilities": []})
    }

    fn task_status(&self) -> TaskStatus {
        self.state.tasks().get(0).status
    }

    fn node(&self, id: &str) -> &crate::run::state::state::Node {
        &self.state.nodes()[self.state.dag().find(&Text::from_plain(id)).unwrap() as usize]
    }

    fn try_event(
        &mut self,
        kind: Kind,
        node: Option<&str>,
        parent: Option<u64>,
        payload: &Value,
    ) -> Result<(), RunError> {
        let json = payload.to_string();
        let payload = Payload::parse(kind, &json, &mut Nesting::default()).unwrap();
        let time = self.state.next_time();
        let before = self.state.clone();
        let event = Event { time, node: node.map(Text::from_plain), parent, payload };
        let checked = self.state.check(&event);
        let taken = self.state.apply(&event);
        assert_eq!(checked, taken);
        assert!(taken.is_ok() || self.state == before, "{kind} was refused and changed the state");
        taken
    }

    fn attempt(&mut self, kind: Kind, node: Option<&str>, payload: Value) -> Result<(), RunError> {
        let parent = self.state.next_time().checked_sub(1);
        self.try_event(kind, node, parent, &payload)
    }

    #[track_caller]
    fn ok(&mut self, kind: Kind, node: Option<&str>, payload: Value) {
        self.attempt(kind, node, payload).unwrap();
    }

    #[track_caller]
    fn refuses(&mut self, code: ErrorCode, kind: Kind, node: Option<&str>, payload: Value) -> String {
        let error = self.attempt(kind, node, payload).unwrap_err();
        assert_eq!((error.code, error.time), (code, Some(self.state.next_time())), "{error}");
        assert!(error.expected.is_some() && error.found.is_some(), "{error}");
        error.message
    }

    #[track_caller]
    fn illegal(&mut self, kind: Kind, node: &str, payload: Value) -> String {
        self.refuses(ErrorCode::IllegalTransition, kind, Some(node), payload)
    }
}

fn failed(task: &str, retry: bool) -> Value {
    json!({"task": task, "code": "E", "message": "m", "willRetry": retry})
}

/// Events about a node, each of which is legal at some point for `a#1`.
fn events_of_a() -> Vec<(Kind, Value)> {
    vec![
        (Kind::NodeScheduled, json!({"task": "a#1", "dependsOn": []})),
        (Kind::TaskAssigned, json!({"task": "a#1", "worker": "w"})),
        (Kind::TaskAccepted, json!({"task": "a#1", "worker": "w"})),
        (Kind::TaskRejected, json!({"task": "a#1", "worker": "w", "reason": "r"})),
        (Kind::NodeStarted, json!({"task": "a#1", "worker": "w", "inputHash": "h"})),
        (Kind::NodeCompleted, json!({"task": "a#1", "outputHash": "h"})),
        (Kind::NodeFailed, failed("a#1", true)),
        (Kind::NodeSkipped, json!({"reason": "r"})),
        (Kind::ToolInvoked, json!({"tool": "t", "call": "c", "requestHash": "h"})),
    ]
}

#[test]
fn each_status_of_a_task_allows_what_the_table_says_and_nothing_else() {
    use Kind::*;
    let allowed = [
        (TaskStatus::Pending, vec![TaskAssigned, NodeSkipped]),
        (TaskStatus::Assigned, vec![TaskAccepted, TaskRejected, NodeSkipped]),
        (TaskStatus::Accepted, vec![NodeStarted, NodeSkipped]),
        (TaskStatus::Running, vec![NodeCompleted, NodeFailed, ToolInvoked]),
        (TaskStatus::Done, vec![]),
        (TaskStatus::Failed, vec![]),
        (TaskStatus::Withdrawn, vec![]),
    ];
    for (status, kinds) in allowed {
        for (kind, payload) in events_of_a() {
            let mut scene = Scene::with_task(status);
            if kinds.contains(&kind) {
                scene.ok(kind, Some("a"), payload);
            } else {
                let message = scene.illegal(kind, "a", payload);
                assert!(message.contains(kind.as_str()) && message.contains("expected"), "{message}");
            }
        }
    }
}

#[test]
fn a_pending_node_can_be_scheduled_or_skipped() {
    for (kind, payload) in events_of_a() {
        let mut scene = Scene::running();
        match kind {
            Kind::NodeScheduled | Kind::NodeSkipped => scene.ok(kind, Some("a"), payload),
            _ => drop(scene.illegal(kind, "a", payload)),
        }
    }
}

#[test]
fn the_first_event_is_run_created_and_only_that() {
    let mut scene = Scene::new();
    for (kind, payload) in events_of_a() {
        scene.refuses(ErrorCode::IllegalTransition, kind, Some("a"), payload);
    }
    scene.refuses(
        ErrorCode::IllegalTransition,
        Kind::Error,
        None,
        json!({"code": "", "message": "", "recoverable": true}),
    );
    let payload = scene.created_payload();
    let error = scene.try_event(Kind::RunCreated, None, Some(0), &payload).unwrap_err();
    assert_eq!(error.code, ErrorCode::ParentMissing);
    scene.ok(Kind::RunCreated, None, payload.clone());
    scene.refuses(ErrorCode::IllegalTransition, Kind::RunCreated, None, payload);
    assert!(scene.state.nodes().iter().all(|node| node.status == NodeStatus::Pending));
}

#[test]
fn a_run_of_another_graph_is_refused() {
    let mut scene = Scene::new();
    let mut payload = scene.created_payload();
    payload["dagHash"] = json!("0".repeat(64));
    scene.refuses(ErrorCode::DagMismatch, Kind::RunCreated, None, payload);
}

#[test]
fn every_other_event_has_an_earlier_cause() {
    let mut scene = Scene::created();
    let payload = json!({"code": "", "message": "", "recoverable": true});
    for parent in [None, Some(1), Some(2), Some(u64::MAX)] {
        let error = scene.try_event(Kind::Error, None, parent, &payload).unwrap_err();
        assert_eq!(error.code, ErrorCode::ParentMissing, "{parent:?}");
    }
    scene.try_event(Kind::Error, None, Some(0), &payload).unwrap();
    scene.try_event(Kind::Error, None, Some(0), &payload).unwrap();
}

#[test]
fn logical_times_have_no_gaps() {
    let mut scene = Scene::created();
    let json = r#"{"code":"","message":"","recoverable":true}"#;
    for time in [0, 2, u64::MAX] {
        let payload = Payload::parse(Kind::Error, json, &mut Nesting::default()).unwrap();
        let error = scene.state.apply(&Event { time, node: None, parent: Some(0), payload }).unwrap_err();
        assert_eq!((error.code, error.time), (ErrorCode::TimeGap, Some(time)));
        assert_eq!(error.expected.as_deref(), Some("1"));
        assert_eq!(error.found, Some(time.to_string()));
    }
}

#[test]
fn work_events_need_a_running_run() {
    for (kind, payload) in events_of_a() {
        let message = Scene::created().illegal(kind, "a", payload);
        assert!(message.contains("the run Created"), "{message}");
    }
    let mut scene = Scene::created();
    scene.refuses(ErrorCode::IllegalTransition, Kind::RunCompleted, None, json!({"outputs": {}}));
    scene.refuses(ErrorCode::IllegalTransition, Kind::RunFailed, None, json!({"code": "E", "message": "m"}));
    for (kind, payload) in asides() {
        scene.ok(kind, None, payload);
    }
}

fn asides() -> Vec<(Kind, Value)> {
    vec![
        (Kind::CapabilityCheck, json!({"capability": "c", "allowed": true})),
        (Kind::CapabilityCheck, json!({"capability": "c", "allowed": false})),
        (Kind::PolicyDecision, json!({"decision": "d", "rule": "r", "allowed": true})),
        (Kind::PolicyDecision, json!({"decision": "d", "rule": "r", "allowed": false})),
        (Kind::BlobStored, json!({"blob": "h", "size": 0})),
        (Kind::Heartbeat, json!({"worker": "w", "status": "idle"})),
        (Kind::Error, json!({"code": "E", "message": "m", "recoverable": false})),
        (Kind::SnapshotCreated, json!({"snapshot": "s", "stateHash": "h", "at": 0})),
        (Kind::SnapshotRestored, json!({"snapshot": "s", "stateHash": "h", "at": 0})),
    ]
}

#[test]
fn after_the_end_only_snapshots_and_blobs_are_accepted() {
    let mut completed = Scene::running();
    for node in ["a", "b", "c"] {
        completed.ok(Kind::NodeSkipped, Some(node), json!({"reason": "r"}));
    }
    completed.ok(Kind::RunCompleted, None, json!({"outputs": {"a": "h"}}));
    let mut failed = Scene::running();
    failed.ok(Kind::RunFailed, None, json!({"code": "E", "message": "m", "node": "b"}));
    for mut scene in [completed, failed] {
        let ends = [
            (Kind::RunCreated, scene.created_payload()),
            (Kind::RunStarted, json!({"workers": []})),
            (Kind::RunCompleted, json!({"outputs": {}})),
            (Kind::RunFailed, json!({"code": "E", "message": "m"})),
        ];
        for (kind, payload) in asides().into_iter().chain(events_of_a()).chain(ends) {
            match kind {
                Kind::SnapshotCreated | Kind::BlobStored => scene.ok(kind, None, payload),
                _ => drop(scene.refuses(ErrorCode::AfterEnd, kind, Some("a"), payload)),
            }
        }
    }
}

#[test]
fn a_run_is_completed_when_every_node_is() {
    for status in [TaskStatus::Pending, TaskStatus::Running, TaskStatus::Failed] {
        let mut scene = Scene::with_task(status);
        for node in ["b", "c"] {
            scene.ok(Kind::NodeSkipped, Some(node), json!({"reason": "r"}));
        }
        scene.refuses(ErrorCode::IllegalTransition, Kind::RunCompleted, None, json!({"outputs": {}}));
    }
    let mut scene = Scene::with_task(TaskStatus::Done);
    for node in ["b", "c"] {
        scene.ok(Kind::NodeSkipped, Some(node), json!({"reason": "r"}));
    }
    scene.refuses(ErrorCode::IllegalTransition, Kind::RunCompleted, None, json!({"outputs": {"z": "h"}}));
    scene.ok(Kind::RunCompleted, None, json!({"outputs": {"a": "h"}}));
    assert_eq!(scene.state.run().unwrap().status, RunStatus::Completed);
}

#[test]
fn workers_are_declared_once_and_may_be_updated() {
    let mut scene = Scene::created();
    let worker = |id: &str| json!({"id": id, "capabilities": ["net"]});
    let twice = json!({"workers": [worker("w"), worker("v"), worker("w")]});
    scene.refuses(ErrorCode::IllegalTransition, Kind::RunStarted, None, twice);
    scene.ok(Kind::Heartbeat, None, json!({"worker": "w", "status": "away"}));
    scene.ok(Kind::RunStarted, None, json!({"workers": [worker("w")]}));
    let found = scene.state.workers().get(0);
    assert_eq!((found.status.as_str(), found.capabilities.len(), scene.state.workers().len()), ("idle", 1, 1));
    scene.refuses(ErrorCode::IllegalTransition, Kind::RunStarted, None, json!({"workers": []}));
}

#[test]
fn heartbeats_add_and_change_workers() {
    let mut scene = Scene::running();
    scene.ok(Kind::Heartbeat, None, json!({"worker": "new", "status": "busy", "capabilities": ["b", "a"]}));
    scene.ok(Kind::Heartbeat, None, json!({"worker": "newer", "status": "away"}));
    scene.ok(Kind::Heartbeat, None, json!({"worker": "new", "status": "idle"}));
    let shown = |worker: u32| {
        let worker = scene.state.workers().get(worker);
        (worker.status.clone(), worker.capabilities.iter().map(Text::to_string).collect::<Vec<_>>())
    };
    assert_eq!(shown(2), ("idle".to_owned(), vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(shown(3), ("away".to_owned(), vec![]));
}

#[test]
fn the_envelope_names_the_node_of_the_task() {
    let task = json!({"task": "a#1", "dependsOn": []});
    let mut scene = Scene::running();
    scene.refuses(ErrorCode::MissingField, Kind::NodeScheduled, None, task.clone());
    scene.illegal(Kind::NodeScheduled, "c", task.clone());
    scene.illegal(Kind::NodeScheduled, "unknown", task);
    scene.refuses(ErrorCode::MissingField, Kind::NodeSkipped, None, json!({"reason": "r"}));
    let aside = json!({"capability": "c", "allowed": true});
    scene.illegal(Kind::CapabilityCheck, "unknown", aside.clone());
    scene.ok(Kind::CapabilityCheck, Some("a"), aside);
    let mut scene = Scene::with_task(TaskStatus::Running);
    let call = json!({"tool": "t", "call": "c", "requestHash": "h"});
    scene.refuses(ErrorCode::MissingField, Kind::ToolInvoked, None, call);
}

#[test]
fn a_task_is_named_after_its_node_and_attempt() {
    for task in
        ["a", "a#", "a#0", "a#2", "a#01", "a#1 ", "a#-1", "a#+1", "b#1", "#1", "a#a#1", "a#99999999999999999999"]
    {
        Scene::running().illegal(Kind::NodeScheduled, "a", json!({"task": task, "dependsOn": []}));
        Scene::with_task(TaskStatus::Pending).illegal(Kind::TaskAssigned, "a", json!({"task": task, "worker": "w"}));
    }
}

#[test]
fn a_node_is_scheduled_when_its_dependencies_are_done() {
    let b = json!({"task": "b#1", "dependsOn": []});
    for status in [TaskStatus::Pending, TaskStatus::Running, TaskStatus::Failed] {
        let message = Scene::with_task(status).illegal(Kind::NodeScheduled, "b", b.clone());
        assert!(message.contains("every dependency Completed or Skipped"), "{message}");
    }
    for status in [TaskStatus::Done, TaskStatus::Withdrawn] {
        Scene::with_task(status).ok(Kind::NodeScheduled, Some("b"), b.clone());
    }
    Scene::running().illegal(Kind::NodeScheduled, "b", b);
}

#[test]
fn referenced_times_must_be_earlier() {
    let mut scene = Scene::running();
    let now = scene.state.next_time();
    scene.illegal(Kind::NodeScheduled, "a", json!({"task": "a#1", "dependsOn": [0, now]}));
    scene.illegal(Kind::NodeSkipped, "a", json!({"reason": "r", "because": now}));
    for kind in [Kind::SnapshotCreated, Kind::SnapshotRestored] {
        let payload = json!({"snapshot": "s", "stateHash": "h", "at": now});
        scene.refuses(ErrorCode::IllegalTransition, kind, None, payload);
    }
    scene.ok(Kind::NodeSkipped, Some("a"), json!({"reason": "r", "because": now - 1}));
}

#[test]
fn only_the_assigned_worker_reports_a_task() {
    for (status, kind) in [
        (TaskStatus::Assigned, Kind::TaskAccepted),
        (TaskStatus::Assigned, Kind::TaskRejected),
        (TaskStatus::Accepted, Kind::NodeStarted),
    ] {
        for worker in ["v", "unknown"] {
            let payload = json!({"task": "a#1", "worker": worker, "reason": "r", "inputHash": "h"});
            Scene::with_task(status).illegal(kind, "a", payload);
        }
    }
    Scene::with_task(TaskStatus::Pending).illegal(Kind::TaskAssigned, "a", json!({"task": "a#1", "worker": "unknown"}));
}

#[test]
fn task_can_be_reassigned_from_its_worker() {
    let take = |from: &str| json!({"task": "a#1", "worker": "v", "from": from});
    for status in [TaskStatus::Assigned, TaskStatus::Accepted] {
        let mut scene = Scene::with_task(status);
        scene.illegal(Kind::TaskAssigned, "a", take("v"));
        scene.illegal(Kind::TaskAssigned, "a", take("unknown"));
        scene.ok(Kind::TaskAssigned, Some("a"), take("w"));
        assert_eq!(scene.task_status(), TaskStatus::Assigned);
        assert_eq!([0, 1].map(|worker| scene.state.workers().get(worker).active), [0, 1]);
        scene.illegal(Kind::TaskAccepted, "a", json!({"task": "a#1", "worker": "w"}));
        scene.ok(Kind::TaskAccepted, Some("a"), json!({"task": "a#1", "worker": "v"}));
    }
    for status in [TaskStatus::Pending, TaskStatus::Running, TaskStatus::Done] {
        Scene::with_task(status).illegal(Kind::TaskAssigned, "a", take("w"));
    }
}

#[test]
fn a_rejected_task_waits_behind_the_others() {
    let mut scene = Scene::with_task(TaskStatus::Assigned);
    scene.ok(Kind::NodeScheduled, Some("c"), json!({"task": "c#1", "dependsOn": []}));
    scene.ok(Kind::TaskRejected, Some("a"), json!({"task": "a#1", "worker": "w", "reason": "r"}));
    let pending: Vec<_> = scene.state.tasks().pending().map(|task| scene.state.task_id(task)).collect();
    assert_eq!(pending, ["c#1", "a#1"]);
    assert_eq!(scene.state.tasks().get(0).joined_at, scene.state.next_time() - 1);
    assert_eq!(scene.state.workers().get(0).active, 0);
    scene.ok(Kind::TaskAssigned, Some("a"), json!({"task": "a#1", "worker": "v"}));
}

#[test]
fn a_failed_node_waits_for_another_attempt_or_is_failed() {
    let mut scene = Scene::with_task(TaskStatus::Running);
    scene.ok(Kind::NodeFailed, Some("a"), failed("a#1", true));
    assert_eq!(scene.node("a").status, NodeStatus::Pending);
    assert_eq!(scene.node("a").error.as_ref().unwrap().code.as_json(), "E");
    assert_eq!(scene.state.workers().get(0).active, 0);
    scene.illegal(Kind::NodeScheduled, "a", json!({"task": "a#1", "dependsOn": []}));
    scene.ok(Kind::NodeScheduled, Some("a"), json!({"task": "a#2", "dependsOn": []}));
    assert!(scene.node("a").error.is_some());
    scene.illegal(Kind::TaskAssigned, "a", json!({"task": "a#1", "worker": "w"}));
    scene.ok(Kind::TaskAssigned, Some("a"), json!({"task": "a#2", "worker": "w"}));
    scene.ok(Kind::TaskAccepted, Some("a"), json!({"task": "a#2", "worker": "w"}));
    scene.ok(Kind::NodeStarted, Some("a"), json!({"task": "a#2", "worker": "w", "inputHash": "h"}));
    scene.illegal(Kind::NodeCompleted, "a", json!({"task": "a#1", "outputHash": "h"}));
    scene.ok(Kind::NodeCompleted, Some("a"), json!({"task": "a#2", "outputHash": "h"}));
    assert_eq!((scene.node("a").attempt, &scene.node("a").error), (2, &None));
}

#[test]
fn skipping_a_node_removes_its_waiting_task() {
    for status in [TaskStatus::Pending, TaskStatus::Assigned, TaskStatus::Accepted] {
        let mut scene = Scene::with_task(status);
        scene.ok(Kind::NodeSkipped, Some("a"), json!({"reason": "r"}));
        assert_eq!((scene.node("a").status, scene.node("a").task), (NodeStatus::Skipped, None));
        assert_eq!(scene.state.tasks().pending().count() + scene.state.tasks().iter().count(), 0);
        assert_eq!(scene.state.workers().get(0).active, 0);
    }
    let mut scene = Scene::with_task(TaskStatus::Running);
    scene.ok(Kind::NodeFailed, Some("a"), failed("a#1", true));
    scene.ok(Kind::NodeSkipped, Some("a"), json!({"reason": "r"}));
    assert_eq!(scene.state.tasks().iter().count(), 1, "a task that has ended stays");
}

#[test]
fn a_call_opens_once_and_closes_once() {
    let invoked = json!({"tool": "t", "call": "c", "requestHash": "h"});
    let closings = [
        (
            Kind::ToolCompleted,
            json!({"tool": "t", "call": "c", "rawHash": "h", "outputHash": "h", "normalizer": "none"}),
        ),
        (Kind::ToolFailed, json!({"tool": "t", "call": "c", "code": "E", "message": "m"})),
        (Kind::ToolTimedOut, json!({"tool": "t", "call": "c", "limitMs": 1})),
    ];
    for (kind, payload) in &closings {
        let mut scene = Scene::with_task(TaskStatus::Running);
        scene.illegal(*kind, "a", payload.clone());
        scene.ok(Kind::ToolInvoked, Some("a"), invoked.clone());
        scene.illegal(Kind::ToolInvoked, "a", invoked.clone());
        let mut other = payload.clone();
        other["tool"] = json!("u");
        scene.illegal(*kind, "a", other);
        scene.illegal(*kind, "c", payload.clone());
        scene.ok(*kind, Some("a"), payload.clone());
        for (kind, payload) in &closings {
            scene.illegal(*kind, "a", payload.clone());
        }
        scene.illegal(Kind::ToolInvoked, "a", invoked.clone());
    }
}

#[test]
fn an_open_call_outlives_its_attempt_but_not_the_next_one() {
    let mut scene = Scene::with_task(TaskStatus::Running);
    for call in ["c", "d"] {
        scene.ok(Kind::ToolInvoked, Some("a"), json!({"tool": "t", "call": call, "requestHash": "h"}));
    }
    scene.ok(Kind::NodeFailed, Some("a"), failed("a#1", true));
    scene.ok(Kind::ToolTimedOut, Some("a"), json!({"tool": "t", "call": "c", "limitMs": 1}));
    scene.ok(Kind::NodeScheduled, Some("a"), json!({"task": "a#2", "dependsOn": []}));
    scene.illegal(Kind::ToolTimedOut, "a", json!({"tool": "t", "call": "d", "limitMs": 1}));
}

#[test]
fn the_snapshot_that_was_created_last_may_be_restored() {
    let mut scene = Scene::running();
    let mut refusing = crate::run::state::state_hash::StateHasher::of(&scene.state);
    let snapshot = json!({"snapshot": "s", "stateHash": "h", "at": 1});
    scene.ok(Kind::SnapshotCreated, None, snapshot.clone());
    for (field, value) in
        [("snapshot", json!("s")), ("snapshot", json!("t")), ("at", json!(0)), ("stateHash", json!("i"))]
    {
        let mut payload = snapshot.clone();
        payload[field] = value;
        let (is_same, json) = (payload == snapshot, payload.to_string());
        let payload = Payload::parse(Kind::SnapshotRestored, &json, &mut Nesting::default()).unwrap();
        let event = Event { time: 3, node: None, parent: Some(0), payload };
        assert_eq!(scene.state.clone().apply_into(&event, &mut refusing).is_ok(), is_same, "{json}");
    }
    // Another event came in between.
    scene.ok(Kind::Heartbeat, None, json!({"worker": "w", "status": "gone"}));
    let json = snapshot.to_string();
    let payload = Payload::parse(Kind::SnapshotRestored, &json, &mut Nesting::default()).unwrap();
    let event = Event { time: 4, node: None, parent: Some(0), payload };
    let error = scene.state.apply_into(&event, &mut refusing).unwrap_err();
    assert_eq!(error.code, ErrorCode::StateMismatch);
}

#[test]
fn the_snapshot_that_was_created_last_is_not_restored_if_it_was_not_one_of_the_state() {
    for is_true in [true, false] {
        let mut scene = Scene::running();
        let mut hasher = crate::run::state::state_hash::StateHasher::of(&scene.state);
        let own = hasher.state_hash(&scene.state).map(|hash| to_hex(&hash)).unwrap();
        let hash = if is_true { as_text(&own) } else { "h" };
        let json = json!({"snapshot": "s", "stateHash": hash, "at": 1}).to_string();
        for (time, kind) in [(2, Kind::SnapshotCreated), (3, Kind::SnapshotRestored)] {
            let payload = Payload::parse(kind, &json, &mut Nesting::default()).unwrap();
            let event = Event { time, node: None, parent: Some(0), payload };
            let taken = scene.state.apply_into(&event, &mut hasher).map_err(|error| error.code);
            let refused = kind == Kind::SnapshotRestored && !is_true;
            assert_eq!(taken.err(), refused.then_some(ErrorCode::StateMismatch), "{is_true} {kind}");
        }
    }
}

#[test]
fn a_message_says_what_was_expected_and_what_was_found() {
    let mut scene = Scene::with_task(TaskStatus::Assigned);
    let message = scene.illegal(Kind::NodeStarted, "a", json!({"task": "a#1", "worker": "w", "inputHash": "h"}));
    let expected = "NodeStarted (evt_4) is not allowed here: expected the task 'a#1' Accepted, found the task 'a#1' \
                    Assigned with worker 'w'.";
    assert_eq!(message, expected);
}
