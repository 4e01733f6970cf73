//! The entries of a state, from which its hash is computed (`docs/run-format.md` section 9).
//!
//! An entry is determined by the state and a [`Slot`], its place in the state. So a slot is enough to report a change of the state, and a
//! sink that ignores the change costs nothing. Each entry is canonical JSON, an array that begins with its type and key:
//!
//! | entry | exists |
//! |---|---|
//! | `["dag",dagHash]` | once the run exists |
//! | `["node",id,{"attempt","error"?:{"code","message"},"resultHash"?,"status","task"?}]` | for each node of the graph |
//! | `["task",id,{"assignedAt"?,"attempt","endedAt"?,"node","status","worker"?}]` | for each task that was not withdrawn |
//! | `["pending",position,task]` | for each waiting task; the position is the time at which it joined |
//! | `["worker",id,{"capabilities","status"}]` | for each worker |
//! | `["call",task,call,{"outputHash"?,"status","tool"}]` | for each call, open or closed |
//! | `["counter",name,n]` | for each counter that is not 0 |
//! | `["scheduler","lastAssigned",worker]` | once a task has been assigned |
//! | `["snapshot",id,{"at","stateHash"}]` | once a snapshot has been created |

use super::state::{Call, Counter, Node, RunStatus, SnapshotMark, State, Task, Worker};
use crate::json::{Array, Text, Writer};
use crate::run::format::RunError;

/// The place of an entry in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The graph's hash.
    Dag,
    /// A node.
    Node(u32),
    /// The last task of a node. Tasks of earlier attempts have ended, so their entries no longer change.
    Task(u32),
    /// The last task of a node, among the waiting tasks.
    Pending(u32),
    /// A worker.
    Worker(u32),
    /// A call.
    Call(u32),
    /// A counter.
    Counter(Counter),
    /// The worker that was assigned last.
    LastAssigned,
    /// The last snapshot.
    Snapshot,
}

/// The claim of a SnapshotRestored about the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The run's status.
    pub status: RunStatus,
    /// The logical time with which the state is hashed.
    pub at: u64,
    /// Whether the event before is the snapshot's SnapshotCreated, whose mark is then the only change since the snapshot was taken.
    pub is_last: bool,
}

/// Receives the changes that an event makes to entries. `state` is the state after the change.
pub trait EntrySink {
    /// A new entry is in this slot. The previous entry of the slot, if any, remains part of the state and is not reported again.
    fn add(&mut self, state: &State, slot: Slot);

    /// The entry in this slot has changed.
    fn replace(&mut self, state: &State, slot: Slot);

    /// The entry in this slot has changed for the last time.
    fn finalize(&mut self, state: &State, slot: Slot) {
        self.replace(state, slot);
    }

    /// The entry in this slot was removed.
    fn remove(&mut self, slot: Slot);

    /// Called for a SnapshotCreated before the state changes, if `at` is the time of the state. `state_hash` is the hash that the event
    /// claims for the state. The claim does not matter until the snapshot is restored.
    fn created(&mut self, status: RunStatus, at: u64, state_hash: &Text<'_>) {
        let _ = (status, at, state_hash);
    }

    /// Called for a SnapshotRestored before the state changes. Returns an error if the restored state does not have the claimed hash. A
    /// sink that computes no hashes accepts any claim.
    fn restored(&mut self, claim: Claim, state_hash: &Text<'_>) -> Result<(), RunError> {
        let _ = (claim, state_hash);
        Ok(())
    }
}

/// Ignores all changes.
pub(crate) struct NoSink;

impl EntrySink for NoSink {
    #[inline]
    fn add(&mut self, _: &State, _: Slot) {}
    #[inline]
    fn replace(&mut self, _: &State, _: Slot) {}
    #[inline]
    fn remove(&mut self, _: Slot) {}
}

/// Writes the entry in a slot, which must have one.
pub(super) fn write_entry(out: &mut Vec<u8>, state: &State, slot: Slot) {
    let mut entry = Writer::new(out).array();
    match slot {
        Slot::Dag => {
            entry.element().text("dag");
            entry.element().text(state.dag().hash());
        }
        Slot::Node(node) => {
            entry.element().text("node");
            entry.element().text(state.dag().nodes()[node as usize].id.as_json());
            write_node(entry.element(), state, &state.nodes()[node as usize]);
        }
        Slot::Task(node) => {
            if let Some(task) = state.nodes()[node as usize].task {
                task_members(&mut entry, state, state.tasks().get(task));
            }
        }
        Slot::Pending(node) => {
            entry.element().text("pending");
            if let Some(task) = state.nodes()[node as usize].task {
                let task = state.tasks().get(task);
                entry.element().integer(task.joined_at);
                write_task_id(entry.element(), state, task);
            }
        }
        Slot::Worker(worker) => {
            let worker = state.workers().get(worker);
            entry.element().text("worker");
            entry.element().text(worker.id.as_json());
            write_worker(entry.element(), worker);
        }
        Slot::Call(call) => {
            entry.element().text("call");
            write_task_id(entry.element(), state, state.tasks().get(state.calls().get(call).task));
            entry.element().text(state.calls().id(call));
            write_call(entry.element(), state.calls().get(call), state.calls().tool(call));
        }
        Slot::Counter(counter) => {
            entry.element().text("counter");
            entry.element().text(counter.as_str());
            entry.element().integer(state.counter(counter));
        }
        Slot::LastAssigned => {
            entry.element().text("scheduler");
            entry.element().text("lastAssigned");
            if let Some(worker) = state.last_assigned() {
                entry.element().text(state.workers().get(worker).id.as_json());
            }
        }
        Slot::Snapshot => {
            entry.element().text("snapshot");
            if let Some(mark) = state.last_snapshot() {
                entry.element().text(mark.snapshot.as_json());
                write_mark(entry.element(), mark);
            }
        }
    }
    entry.close();
}

/// Writes the entry of any task, including one that no longer has a slot.
pub(super) fn write_task_entry(out: &mut Vec<u8>, state: &State, task: &Task) {
    let mut entry = Writer::new(out).array();
    task_members(&mut entry, state, task);
    entry.close();
}

fn task_members(entry: &mut Array<'_>, state: &State, task: &Task) {
    entry.element().text("task");
    write_task_id(entry.element(), state, task);
    write_task(entry.element(), state, task);
}

/// The slots of all entries of a state. Tasks of earlier attempts have none.
pub(super) fn slots(state: &State) -> impl Iterator<Item = Slot> {
    let exists = state.run().is_some();
    let single = exists.then_some(Slot::Dag).into_iter();
    let nodes = (0..if exists { state.nodes().len() as u32 } else { 0 }).map(Slot::Node);
    let with_task = || (0..state.nodes().len() as u32).filter(|&node| state.nodes()[node as usize].task.is_some());
    let pending = state.tasks().pending().map(|task| Slot::Pending(state.tasks().get(task).node));
    let workers = (0..state.workers().len()).map(Slot::Worker);
    let calls = state.calls().iter().map(|(call, _)| Slot::Call(call));
    let counters = Counter::ALL.iter().filter(|&&counter| state.counter(counter) > 0).map(|&one| Slot::Counter(one));
    let last_assigned = state.last_assigned().map(|_| Slot::LastAssigned);
    let snapshot = state.last_snapshot().map(|_| Slot::Snapshot);
    let lists = nodes.chain(with_task().map(Slot::Task)).chain(pending).chain(workers).chain(calls).chain(counters);
    single.chain(lists).chain(last_assigned).chain(snapshot)
}

/// Writes a task's id as a JSON string.
pub(super) fn write_task_id(out: Writer<'_>, state: &State, task: &Task) {
    let out = out.buffer();
    out.push(b'"');
    out.extend_from_slice(state.dag().nodes()[task.node as usize].id.as_json().as_bytes());
    out.push(b'#');
    Writer::new(out).integer(task.attempt.into());
    out.push(b'"');
}

/// Writes the state of a node.
pub(super) fn write_node(out: Writer<'_>, state: &State, node: &Node) {
    let mut object = out.object();
    object.key("attempt").integer(node.attempt.into());
    if let Some(failure) = &node.error {
        let mut error = object.key("error").object();
        error.key("code").text(failure.code.as_json());
        error.key("message").text(failure.message.as_json());
        error.close();
    }
    if let Some(hash) = &node.result {
        hash.write(object.key("resultHash"));
    }
    object.key("status").text(node.status.as_str());
    if let Some(task) = node.task {
        write_task_id(object.key("task"), state, state.tasks().get(task));
    }
    object.close();
}

/// Writes the state of a task.
pub(super) fn write_task(out: Writer<'_>, state: &State, task: &Task) {
    let mut object = out.object();
    if task.worker.is_some() {
        object.key("assignedAt").integer(task.assigned_at);
    }
    object.key("attempt").integer(task.attempt.into());
    if task.has_ended() {
        object.key("endedAt").integer(task.ended_at);
    }
    object.key("node").text(state.dag().nodes()[task.node as usize].id.as_json());
    object.key("status").text(task.status.as_str());
    if let Some(worker) = task.worker {
        object.key("worker").text(state.workers().get(worker).id.as_json());
    }
    object.close();
}

/// Writes the state of a worker, without its tasks, which name their worker.
pub(super) fn write_worker(out: Writer<'_>, worker: &Worker) {
    let mut object = out.object();
    object.key("capabilities").texts(&worker.capabilities);
    object.key("status").text(&worker.status);
    object.close();
}

/// Writes the state of a call.
pub(super) fn write_call(out: Writer<'_>, call: &Call, tool: &str) {
    let mut object = out.object();
    if let Some(hash) = &call.output_hash {
        hash.write(object.key("outputHash"));
    }
    object.key("status").text(call.status.as_str());
    object.key("tool").text(tool);
    object.close();
}

/// Writes the mark of the last snapshot, without its id.
pub(super) fn write_mark(out: Writer<'_>, mark: &SnapshotMark) {
    let mut object = out.object();
    object.key("at").integer(mark.at);
    mark.state_hash.write(object.key("stateHash"));
    object.close();
}
