//! A random walk through a run: the state and lists of nodes and calls say which events are legal, and chance picks one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{CAPABILITIES, Chance, SampleEvent, SampleOptions, TOOLS};
use crate::hash::{as_text, sha256_hex, to_hex};
use crate::run::format::Kind;
use crate::run::graph::{Causality, Dag, Scheduler, decide};
use crate::run::state::{Node, NodeStatus, RunStatus, State, StateHasher};

/// A run that is being generated.
pub struct Walk {
    options: SampleOptions,
    chance: Chance,
    state: State,
    hasher: StateHasher,
    causality: Causality,
    events: Vec<SampleEvent>,
    /// For each node, the number of its dependencies that are not done yet, and its dependents.
    blocking: Vec<usize>,
    dependents: Vec<Vec<u32>>,
    /// Nodes that may be scheduled, and nodes whose tasks are assigned, accepted and running.
    ready: Vec<u32>,
    assigned: Vec<u32>,
    accepted: Vec<u32>,
    running: Vec<u32>,
    /// Open calls: the node, the call's id, and the tool.
    calls: Vec<(u32, String, &'static str)>,
    next_call: usize,
}

impl Walk {
    /// A walk before the first event.
    pub fn new(options: SampleOptions, dag: Arc<Dag>, chance: Chance) -> Self {
        let state = State::new(dag.clone());
        let mut dependents = vec![Vec::new(); dag.nodes().len()];
        for (index, node) in dag.nodes().iter().enumerate() {
            for &dependency in &node.dependencies {
                dependents[dependency as usize].push(index as u32);
            }
        }
        let blocking: Vec<_> = dag.nodes().iter().map(|node| node.dependencies.len()).collect();
        Walk {
            causality: Causality::new(&state),
            ready: (0..blocking.len() as u32).filter(|&node| blocking[node as usize] == 0).collect(),
            options,
            chance,
            state,
            hasher: StateHasher::default(),
            events: Vec::new(),
            blocking,
            dependents,
            assigned: Vec::new(),
            accepted: Vec::new(),
            running: Vec::new(),
            calls: Vec::new(),
            next_call: 0,
        }
    }

    /// Walks to the end, and returns the events.
    pub fn events(mut self) -> Vec<SampleEvent> {
        self.begin();
        while self.events.len() < self.options.max_events && self.step() {}
        self.events
    }

    fn put(&mut self, kind: Kind, node: Option<u32>, payload: Value) {
        let time = self.state.next_time();
        let payload = payload.to_string();
        let name = node.map(|node| self.state.dag().nodes()[node as usize].id.to_plain().into_owned());
        let mut event = SampleEvent { time, kind, node: name, parent: None, payload, state_hash: [b'0'; 64] };
        event.parent = match self.chance.percent(10) && time > 0 {
            true => Some(self.chance.below(time as usize) as u64),
            false => self.causality.parent_of(&self.state, node, &event.event().payload),
        };
        let taken = event.event();
        self.state.apply_into(&taken, &mut self.hasher).unwrap();
        self.causality.observe(&self.state, &taken);
        event.state_hash = to_hex(&self.hasher.state_hash(&self.state).unwrap());
        self.events.push(event);
    }

    fn begin(&mut self) {
        let created = json!({
            "runId": format!("run-{}", self.options.seed), "workflow": { "name": "sample", "version": "1.0.0" },
            "dagHash": self.state.dag().hash(), "scheduler": self.options.scheduler.as_str(), "capabilities": ["net", "fs"],
        });
        self.put(Kind::RunCreated, None, created);
        while self.chance.percent(30) {
            self.aside();
        }
        let worker = |index: usize| {
            // The first worker has all capabilities, so that no task waits forever.
            let capabilities: Vec<_> = CAPABILITIES.iter().filter(|_| index == 0 || self.chance.percent(60)).collect();
            json!({ "id": worker_id(index), "capabilities": capabilities })
        };
        let workers: Vec<_> = (0..self.options.workers.max(1)).map(worker).collect();
        self.put(Kind::RunStarted, None, json!({ "workers": workers }));
    }

    /// Adds one or two events, or none. Returns false once the run has ended.
    fn step(&mut self) -> bool {
        if self.state.run().is_some_and(|run| run.status.is_end()) {
            return false;
        }
        let busy = self.assigned.len() + self.accepted.len() + self.running.len();
        match self.chance.below(16) {
            0 | 1 if !self.ready.is_empty() => self.schedule(),
            2 | 3 => self.assign(),
            4 | 5 if !self.assigned.is_empty() => self.accept(),
            6 | 7 if !self.accepted.is_empty() => self.start(),
            8 | 9 if !self.running.is_empty() => self.invoke(),
            10 | 11 if !self.calls.is_empty() => self.answer(),
            12 | 13 if !self.running.is_empty() => self.end_node(),
            14 => self.aside(),
            15 if self.trouble() && self.trouble() => self.skip(),
            _ if self.ready.is_empty() && busy == 0 && self.state.tasks().pending().next().is_none() => self.end_run(),
            _ => {}
        }
        true
    }

    fn trouble(&mut self) -> bool {
        self.chance.percent(self.options.trouble)
    }

    fn task(&self, node: u32) -> String {
        let attempt = self.state.nodes()[node as usize].attempt;
        format!("{}#{attempt}", self.state.dag().nodes()[node as usize].id.to_plain())
    }

    fn holder(&self, node: u32) -> String {
        let task = self.state.tasks().get(self.state.nodes()[node as usize].task.unwrap());
        self.state.workers().get(task.worker.unwrap()).id.to_plain().into_owned()
    }

    fn some_hash(&mut self) -> String {
        as_text(&sha256_hex([&self.chance.below(usize::MAX).to_be_bytes()])).to_owned()
    }

    fn schedule(&mut self) {
        let node = take(&mut self.ready, &mut self.chance);
        let name = &self.state.dag().nodes()[node as usize].id;
        let task = format!("{}#{}", name.to_plain(), self.state.nodes()[node as usize].attempt + 1);
        let mut payload = json!({ "task": task, "dependsOn": [] });
        if self.chance.percent(50) {
            payload["dependsOn"] = json!([self.chance.below(self.events.len())]);
            payload["priority"] = json!(self.chance.below(10));
        }
        self.put(Kind::NodeScheduled, Some(node), payload);
    }

    fn assign(&mut self) {
        let among = [self.assigned.as_slice(), &self.accepted].concat();
        if !among.is_empty() && self.trouble() && self.trouble() {
            return self.reassign(self.chance.clone().pick(&among));
        }
        let decision = match self.options.scheduler {
            Scheduler::External => {
                let first = self.state.tasks().pending().next();
                first.map(|task| (task, self.eligible(task)))
            }
            _ => decide(&self.state).map(|decision| (decision.task, decision.worker)),
        };
        let Some((task, worker)) = decision else { return };
        let node = self.state.tasks().get(task).node;
        let worker = self.state.workers().get(worker).id.to_plain().into_owned();
        self.put(
            Kind::TaskAssigned,
            Some(node),
            json!({ "task": self.task(node), "worker": worker, "reason": "next" }),
        );
        self.assigned.push(node);
    }

    fn eligible(&mut self, task: u32) -> u32 {
        let needed = &self.state.dag().nodes()[self.state.tasks().get(task).node as usize].capabilities;
        let workers = self.state.workers();
        let able: Vec<u32> = workers.by_id().filter(|&worker| workers.get(worker).is_eligible(needed)).collect();
        self.chance.pick(&able)
    }

    fn reassign(&mut self, node: u32) {
        let (from, worker) = (self.holder(node), self.eligible(self.state.nodes()[node as usize].task.unwrap()));
        let worker = self.state.workers().get(worker).id.to_plain().into_owned();
        let payload = json!({ "task": self.task(node), "worker": worker, "from": from });
        self.put(Kind::TaskAssigned, Some(node), payload);
        self.assigned.retain(|&other| other != node);
        self.accepted.retain(|&other| other != node);
        self.assigned.push(node);
    }

    fn accept(&mut self) {
        let node = take(&mut self.assigned, &mut self.chance);
        let mut payload = json!({ "task": self.task(node), "worker": self.holder(node) });
        if self.trouble() {
            payload["reason"] = json!("no time");
            return self.put(Kind::TaskRejected, Some(node), payload);
        }
        self.put(Kind::TaskAccepted, Some(node), payload);
        self.accepted.push(node);
    }

    fn start(&mut self) {
        let node = take(&mut self.accepted, &mut self.chance);
        let payload = json!({ "task": self.task(node), "worker": self.holder(node), "inputHash": self.some_hash() });
        self.put(Kind::NodeStarted, Some(node), payload);
        self.running.push(node);
    }

    fn invoke(&mut self) {
        let node = self.chance.pick(&self.running);
        let tool = self.chance.pick(&TOOLS);
        let call = match self.options.odd_ids {
            true => format!("call \"{}\"", self.next_call),
            false => format!("call-{}", self.next_call),
        };
        self.next_call += 1;
        let mut payload = json!({ "tool": tool, "call": call, "requestHash": self.some_hash() });
        if self.chance.percent(20) {
            payload["version"] = json!("2");
        }
        self.put(Kind::ToolInvoked, Some(node), payload);
        self.calls.push((node, call, tool));
    }

    /// Ends an open call, possibly of a node that has ended and was not scheduled again.
    fn answer(&mut self) {
        let (node, call, tool) = self.calls.swap_remove(self.chance.below(self.calls.len()));
        if !self.trouble() {
            let (raw, output) = (self.some_hash(), self.some_hash());
            let normalizer = self.chance.pick(&["none", "json", "text"]);
            let payload =
                json!({ "tool": tool, "call": call, "rawHash": raw, "outputHash": output, "normalizer": normalizer });
            return self.put(Kind::ToolCompleted, Some(node), payload);
        }
        if self.chance.percent(50) {
            return self.put(Kind::ToolTimedOut, Some(node), json!({ "tool": tool, "call": call, "limitMs": 1500.5 }));
        }
        let payload = json!({ "tool": tool, "call": call, "code": "ETOOL", "message": "it \"broke\"\n" });
        self.put(Kind::ToolFailed, Some(node), payload);
    }

    fn end_node(&mut self) {
        let node = take(&mut self.running, &mut self.chance);
        if !self.trouble() {
            let payload = json!({ "task": self.task(node), "outputHash": self.some_hash() });
            self.put(Kind::NodeCompleted, Some(node), payload);
            return self.settle(node);
        }
        let retry = self.chance.percent(85);
        let payload =
            json!({ "task": self.task(node), "code": "ENODE", "message": "no \u{1f600}\u{7}", "willRetry": retry });
        self.put(Kind::NodeFailed, Some(node), payload);
        if retry {
            self.ready.push(node);
            self.calls.retain(|(of, ..)| *of != node);
        }
    }

    /// Updates the dependents of a node that was completed or skipped.
    fn settle(&mut self, node: u32) {
        for dependent in std::mem::take(&mut self.dependents[node as usize]) {
            self.blocking[dependent as usize] -= 1;
            let state = &self.state.nodes()[dependent as usize];
            if self.blocking[dependent as usize] == 0 && state.status == NodeStatus::Pending {
                self.ready.push(dependent);
            }
        }
    }

    fn skip(&mut self) {
        let node = self.chance.below(self.state.nodes().len().max(1)) as u32;
        let status = self.state.nodes().get(node as usize).map(|node| node.status);
        if !matches!(status, Some(NodeStatus::Pending | NodeStatus::Scheduled)) {
            return;
        }
        self.skip_node(node);
    }

    fn skip_node(&mut self, node: u32) {
        let mut payload = json!({ "reason": "not needed" });
        if self.chance.percent(50) {
            payload["because"] = json!(self.chance.below(self.events.len()));
        }
        self.put(Kind::NodeSkipped, Some(node), payload);
        for list in [&mut self.ready, &mut self.assigned, &mut self.accepted] {
            list.retain(|&other| other != node);
        }
        self.calls.retain(|(of, ..)| *of != node || self.state.nodes()[node as usize].task.is_some());
        self.settle(node);
    }

    /// Ends a run in which nothing is in progress: skips nodes that wait for a failed one, then ends the run.
    fn end_run(&mut self) {
        let nodes = self.state.nodes();
        if let Some(waiting) = nodes.iter().position(|node| node.status == NodeStatus::Pending) {
            return self.skip_node(waiting as u32);
        }
        match nodes.iter().position(|node| node.status == NodeStatus::Failed) {
            Some(failed) => {
                let id = self.state.dag().nodes()[failed].id.to_plain().into_owned();
                self.put(Kind::RunFailed, None, json!({ "code": "ERUN", "message": "a node failed", "node": id }));
            }
            None => {
                let completed = |(_, node): &(_, &Node)| node.status == NodeStatus::Completed;
                let done = self.state.dag().nodes().iter().zip(nodes).filter(completed);
                let ids: Vec<String> = done.map(|(node, _)| node.id.to_plain().into_owned()).take(20).collect();
                let outputs: serde_json::Map<_, _> = ids.into_iter().map(|id| (id, json!(self.some_hash()))).collect();
                self.put(Kind::RunCompleted, None, json!({ "outputs": outputs }));
            }
        }
        self.store_blob();
        self.take_snapshot();
    }

    /// Adds an event that does not change the status of a node.
    fn aside(&mut self) {
        let allowed = !self.trouble();
        let node = if self.running.is_empty() { None } else { Some(self.chance.pick(&self.running)) };
        match self.chance.below(7) {
            0 => {
                let payload = json!({ "capability": "net", "subject": "é", "allowed": allowed });
                self.put(Kind::CapabilityCheck, node, payload);
            }
            1 => {
                let payload = json!({ "decision": "ask", "rule": "rule-1", "allowed": allowed });
                self.put(Kind::PolicyDecision, node, payload);
            }
            2 => self.store_blob(),
            3 => self.put(Kind::Error, None, json!({ "code": "E", "message": "m", "recoverable": allowed })),
            4 => {
                self.take_snapshot();
                if self.chance.percent(50) {
                    let payload = self.events[self.events.len() - 1].payload.clone();
                    self.put(Kind::SnapshotRestored, None, serde_json::from_str(&payload).unwrap());
                }
            }
            5 => self.restore_as_it_is(),
            _ => self.heartbeat(),
        }
    }

    fn store_blob(&mut self) {
        let payload = json!({ "blob": self.some_hash(), "size": self.chance.below(1000), "mediaType": "text/plain" });
        self.put(Kind::BlobStored, None, payload);
    }

    fn snapshot(&self) -> Value {
        let last = &self.events[self.events.len() - 1];
        json!({ "snapshot": format!("snap_{}", last.time), "stateHash": as_text(&last.state_hash), "at": last.time })
    }

    fn take_snapshot(&mut self) {
        self.put(Kind::SnapshotCreated, None, self.snapshot());
    }

    fn restore_as_it_is(&mut self) {
        if self.state.run().is_some_and(|run| matches!(run.status, RunStatus::Created | RunStatus::Running)) {
            self.put(Kind::SnapshotRestored, None, self.snapshot());
        }
    }

    fn heartbeat(&mut self) {
        let index = self.chance.below(self.options.workers.max(1) + 2);
        let statuses: &[&str] = if index == 0 { &["idle", "busy"] } else { &["idle", "busy", "away", "\"odd\""] };
        let mut payload = json!({ "worker": worker_id(index), "status": self.chance.pick(statuses) });
        if index > 0 && self.chance.percent(30) {
            payload["capabilities"] = json!([self.chance.pick(&CAPABILITIES)]);
        }
        self.put(Kind::Heartbeat, None, payload);
    }
}

fn worker_id(index: usize) -> String {
    ["worker-b", "worker-a", "wörker\n", "worker-c"].get(index).map_or(format!("worker-{index}"), |&id| id.to_owned())
}

fn take(nodes: &mut Vec<u32>, chance: &mut Chance) -> u32 {
    nodes.swap_remove(chance.below(nodes.len()))
}
