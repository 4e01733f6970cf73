//! Converts a state to the document in a snapshot, canonical JSON, and back.
//!
//! A document is not trusted. It is parsed field by field, checked against the invariants of every state, and must then print as exactly
//! the bytes that were read. So each state has only one document, and no part of a document is ignored.

mod reader;

use reader::{Reader, invalid};

use super::{Call, CallStatus, Counter, Node, NodeStatus, Run, RunStatus, SnapshotMark, State, Task, TaskStatus};
use crate::json::{Object, Text, Writer};
use crate::run::format::RunError;
use crate::run::state::entry::{write_call, write_node, write_task, write_task_id, write_worker};

impl State {
    /// The state as canonical JSON. Returns `None` before RunCreated.
    pub fn to_canonical(&self) -> Option<String> {
        let run = self.run()?;
        let mut text = Vec::new();
        let mut ids: Vec<(Text<'static>, u32)> =
            self.tasks.iter().map(|(at, _)| (Text::from_canonical(self.task_id(at)), at)).collect();
        ids.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        let mut document = Writer::new(&mut text).object();
        self.write_calls(document.key("calls"), &ids);
        document.key("capabilities").texts(&run.capabilities);
        self.write_coordinator(document.key("coordinator"), run);
        let mut counters = document.key("counters").object();
        for &counter in Counter::ALL.iter().filter(|&&counter| self.counter(counter) > 0) {
            counters.key(counter.as_str()).integer(self.counter(counter));
        }
        counters.close();
        if let Some(worker) = self.last_assigned {
            document.key("lastAssigned").text(self.workers.get(worker).id.as_json());
        }
        if let Some(mark) = &self.last_snapshot {
            write_last_snapshot(document.key("lastSnapshot"), mark);
        }
        document.key("scheduler").text(run.scheduler.as_str());
        let mut tasks = document.key("tasks").object();
        for (id, task) in &ids {
            write_task(tasks.text_key(id.as_json()), self, self.tasks.get(*task));
        }
        tasks.close();
        let mut workers = document.key("workers").object();
        for worker in self.workers.by_id().map(|worker| self.workers.get(worker)) {
            write_worker(workers.text_key(worker.id.as_json()), worker);
        }
        workers.close();
        document.close();
        String::from_utf8(text).ok()
    }

    fn write_calls(&self, out: Writer<'_>, tasks: &[(Text<'static>, u32)]) {
        let mut rank = vec![0; self.tasks.len() as usize];
        for (at, (_, task)) in tasks.iter().enumerate() {
            rank[*task as usize] = at;
        }
        let id = |call: u32| Text::from_json(self.calls.id(call));
        let task = |call: u32| rank[self.calls.get(call).task as usize];
        let mut calls: Vec<u32> = self.calls.iter().map(|(call, _)| call).collect();
        calls.sort_unstable_by(|&left, &right| task(left).cmp(&task(right)).then_with(|| id(left).cmp(&id(right))));
        let mut by_task = out.object();
        for of_task in calls.chunk_by(|&left, &right| task(left) == task(right)) {
            let mut by_id = by_task.text_key(tasks[task(of_task[0])].0.as_json()).object();
            for &call in of_task {
                write_call(by_id.text_key(self.calls.id(call)), self.calls.get(call), self.calls.tool(call));
            }
            by_id.close();
        }
        by_task.close();
    }

    /// Writes the members of a coordinator up to `nodeStates`, which are the same in all documents.
    pub(super) fn open_coordinator<'o>(&self, out: Writer<'o>) -> Object<'o> {
        let mut coordinator = out.object();
        let by_id = || self.dag.nodes().iter().zip(&self.nodes);
        let completed = by_id().filter(|(_, node)| node.status == NodeStatus::Completed).map(|(place, _)| &place.id);
        coordinator.key("completedNodes").texts(completed);
        coordinator.key("dag").json(self.dag.text().as_bytes());
        coordinator.key("logicalTime").integer(self.logical_time().unwrap_or_default());
        let mut nodes = coordinator.key("nodeStates").object();
        for (place, node) in by_id() {
            write_node(nodes.text_key(place.id.as_json()), self, node);
        }
        nodes.close();
        coordinator
    }

    fn write_coordinator(&self, out: Writer<'_>, run: &Run) {
        let mut coordinator = self.open_coordinator(out);
        let mut pending = coordinator.key("pendingTasks").array();
        for task in self.tasks.pending().map(|task| self.tasks.get(task)) {
            let mut pair = pending.element().array();
            pair.element().integer(task.joined_at);
            write_task_id(pair.element(), self, task);
            pair.close();
        }
        pending.close();
        close_coordinator(coordinator, run);
    }

    /// Parses a document that [`to_canonical`](Self::to_canonical) wrote. Anything else is an error.
    ///
    /// Success means that the state is possible, not that it is the state of a certain run, which only hashes can prove.
    pub fn from_canonical(text: &str) -> Result<Self, RunError> {
        let state = Reader::default().state(text)?;
        state.check_consistency().map_err(|problem| invalid(&problem))?;
        if state.to_canonical().as_deref() != Some(text) {
            return Err(invalid("it is not written as a state is"));
        }
        Ok(state)
    }

    /// Checks the invariants of every state, whatever events led to it.
    fn check_consistency(&self) -> Result<(), String> {
        let Some(run) = self.run() else { return Err("it has no run".into()) };
        let mut earlier = vec![0; self.nodes.len()];
        for (at, task) in self.tasks.iter() {
            let node = &self.nodes[task.node as usize];
            let is_last = node.task == Some(at);
            earlier[task.node as usize] += u32::from(!is_last);
            // Each earlier attempt has failed and has one task: ids are unique, and `node_holds` checks the number of tasks.
            let is_possible = is_last || (task.status == TaskStatus::Failed && task.attempt < node.attempt);
            if !is_possible || !self.times_hold(task) {
                return Err(format!("the task '{}' is in no possible state", self.task_id(at)));
            }
        }
        for (at, node) in self.nodes.iter().enumerate() {
            if !self.node_holds(node, earlier[at], run.status) {
                return Err(format!("the node '{}' is in no possible state", self.dag.nodes()[at].id));
            }
        }
        let is_impossible = |(at, call): &(u32, &Call)| {
            let task = self.tasks.get(call.task);
            let ran = task.has_ended() || task.status == TaskStatus::Running;
            !ran || call.output_hash.is_some() != (call.status == CallStatus::Completed)
                || self.calls.id(*at).is_empty()
        };
        match self.calls.iter().find(is_impossible) {
            Some((at, _)) => Err(format!("the call '{}' is in no possible state", self.calls.id(at))),
            None => Ok(()),
        }
    }

    fn times_hold(&self, task: &Task) -> bool {
        let has_worker = task.status != TaskStatus::Pending;
        let ended = if task.has_ended() { task.ended_at } else { self.next_time };
        let (assigned, joined) = (task.assigned_at, task.joined_at);
        task.attempt > 0
            && task.worker.is_some() == has_worker
            && ended <= self.next_time - u64::from(task.has_ended())
            && if has_worker { assigned < ended } else { joined < self.next_time }
    }

    fn node_holds(&self, node: &Node, earlier: u32, run: RunStatus) -> bool {
        let task = node.task.map(|task| self.tasks.get(task));
        let attempts_hold = match task {
            Some(task) => task.attempt == node.attempt && earlier == node.attempt - 1,
            // The task was withdrawn, or there is none yet.
            None => earlier == node.attempt.saturating_sub(1),
        };
        let task = task.map(|task| task.status);
        let task_holds = match (node.status, task) {
            (NodeStatus::Pending, None) => node.attempt == 0,
            (NodeStatus::Skipped, None) => true,
            (NodeStatus::Pending | NodeStatus::Skipped | NodeStatus::Failed, Some(TaskStatus::Failed)) => true,
            (NodeStatus::Scheduled, Some(TaskStatus::Pending | TaskStatus::Assigned | TaskStatus::Accepted)) => true,
            (NodeStatus::Running, Some(TaskStatus::Running)) => true,
            (NodeStatus::Completed, Some(TaskStatus::Done)) => true,
            _ => false,
        };
        let has_failed = task == Some(TaskStatus::Failed) || earlier > 0;
        let is_completed = node.status == NodeStatus::Completed;
        let run_holds = match run {
            RunStatus::Created => node.status == NodeStatus::Pending && node.attempt == 0,
            RunStatus::Running | RunStatus::Failed => true,
            RunStatus::Completed => is_completed || node.status == NodeStatus::Skipped,
        };
        let result_holds = node.result.is_some() == is_completed;
        attempts_hold
            && task_holds
            && run_holds
            && result_holds
            && node.error.is_some() == (has_failed && !is_completed)
    }
}

/// Writes the last member of a coordinator.
pub(super) fn close_coordinator(mut coordinator: Object<'_>, run: &Run) {
    let mut object = coordinator.key("run").object();
    object.key("id").text(run.id.as_json());
    object.key("status").text(run.status.as_str());
    object.close();
    coordinator.close();
}

fn write_last_snapshot(out: Writer<'_>, mark: &SnapshotMark) {
    // The members of its entry, with the id among them.
    let mut object = out.object();
    object.key("at").integer(mark.at);
    object.key("snapshot").text(mark.snapshot.as_json());
    mark.state_hash.write(object.key("stateHash"));
    object.close();
}

#[cfg(test)]
mod tests;
