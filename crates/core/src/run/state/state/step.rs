//! The effect of a legal event on the state: a few small changes, each reported to the sink as a change of an entry.

use super::{NodeStatus, Run, RunStatus, SnapshotMark, State, StoredHash, Task, TaskFailure, TaskStatus};
use crate::json::Text;
use crate::run::format::WorkerDeclaration;
use crate::run::state::entry::{EntrySink, Slot};
use crate::run::state::state::Counter;
use crate::run::state::transition::Step;

impl State {
    /// Takes a step that is known to be legal, and reports the changed entries to `sink`.
    pub(super) fn take(&mut self, time: u64, step: Step<'_>, sink: &mut impl EntrySink) {
        match step {
            Step::Nothing => {}
            Step::Create(run) => self.create(run, sink),
            Step::Start(workers) => self.start(workers, sink),
            Step::End(status) => self.set_status(status),
            Step::Schedule { node } => self.schedule(time, node, sink),
            Step::Assign { task, worker } => self.assign(time, task, worker, sink),
            Step::Accept { task } => self.advance(task, TaskStatus::Accepted, sink),
            Step::Reject { task } => self.reject(time, task, sink),
            Step::Begin { task } => self.begin(task, sink),
            Step::Complete { task, output_hash } => self.complete(time, task, output_hash, sink),
            Step::Fail { task, failure, status } => self.fail(time, task, failure, status, sink),
            Step::Skip { node } => self.skip(node, sink),
            Step::Invoke { task, tool, call } => {
                let call = self.calls.open(task, tool, call);
                sink.add(self, Slot::Call(call));
            }
            Step::Close { call, status, output_hash } => {
                self.calls.close(call, status, output_hash);
                sink.finalize(self, Slot::Call(call));
            }
            Step::Count(counter) => self.count(counter, sink),
            Step::Heartbeat { worker, status, capabilities } => self.heartbeat(worker, status, capabilities, sink),
            Step::Meet { worker, status, capabilities } => {
                let worker = self.workers.add(worker, status.as_json(), capabilities);
                sink.add(self, Slot::Worker(worker));
            }
            Step::Mark { snapshot, at, state_hash } => {
                let mark = SnapshotMark {
                    snapshot: snapshot.clone().into_owned(),
                    at,
                    state_hash: StoredHash::of(state_hash),
                };
                let is_new = self.last_snapshot.replace(mark).is_none();
                self.put(is_new, Slot::Snapshot, sink);
            }
        }
    }

    fn put(&self, is_new: bool, slot: Slot, sink: &mut impl EntrySink) {
        if is_new { sink.add(self, slot) } else { sink.replace(self, slot) }
    }

    fn create(&mut self, run: Run, sink: &mut impl EntrySink) {
        self.run = Some(run);
        sink.add(self, Slot::Dag);
        for node in 0..self.nodes.len() as u32 {
            sink.add(self, Slot::Node(node));
        }
    }

    fn start(&mut self, workers: &[WorkerDeclaration<'_>], sink: &mut impl EntrySink) {
        for WorkerDeclaration { id, capabilities } in workers {
            let (worker, is_new) = match self.workers.find(id) {
                Some(known) => {
                    self.workers.update(known, "idle", Some(capabilities));
                    (known, false)
                }
                None => (self.workers.add(id, "idle", capabilities), true),
            };
            self.put(is_new, Slot::Worker(worker), sink);
        }
        self.set_status(RunStatus::Running);
    }

    fn set_status(&mut self, status: RunStatus) {
        if let Some(run) = &mut self.run {
            run.status = status;
        }
    }

    fn schedule(&mut self, time: u64, node: u32, sink: &mut impl EntrySink) {
        let attempt = self.nodes[node as usize].attempt + 1;
        let task = self.tasks.join(node, attempt, time);
        let state = &mut self.nodes[node as usize];
        (state.status, state.attempt, state.task) = (NodeStatus::Scheduled, attempt, Some(task));
        sink.replace(self, Slot::Node(node));
        sink.add(self, Slot::Task(node));
        sink.add(self, Slot::Pending(node));
    }

    fn assign(&mut self, time: u64, task: u32, worker: u32, sink: &mut impl EntrySink) {
        let Task { node, status, .. } = *self.tasks.get(task);
        if status == TaskStatus::Pending {
            sink.remove(Slot::Pending(node));
        }
        self.release(task);
        self.tasks.assign(task, worker, time);
        self.workers.change_load(worker, 1);
        let is_new = self.last_assigned.is_none();
        let is_other = self.last_assigned.replace(worker) != Some(worker);
        sink.replace(self, Slot::Task(node));
        if is_other {
            self.put(is_new, Slot::LastAssigned, sink);
        }
    }

    /// Reduces the load of the worker that is busy with a task, if there is one.
    fn release(&mut self, task: u32) {
        if let Some(worker) = self.tasks.get(task).active_worker() {
            self.workers.change_load(worker, -1);
        }
    }

    fn advance(&mut self, task: u32, status: TaskStatus, sink: &mut impl EntrySink) {
        let node = self.tasks.get(task).node;
        self.tasks.set_status(task, status);
        sink.replace(self, Slot::Task(node));
    }

    fn reject(&mut self, time: u64, task: u32, sink: &mut impl EntrySink) {
        let node = self.tasks.get(task).node;
        self.release(task);
        self.tasks.rejoin(task, time);
        sink.replace(self, Slot::Task(node));
        sink.add(self, Slot::Pending(node));
    }

    fn begin(&mut self, task: u32, sink: &mut impl EntrySink) {
        let node = self.tasks.get(task).node;
        self.nodes[node as usize].status = NodeStatus::Running;
        sink.replace(self, Slot::Node(node));
        self.advance(task, TaskStatus::Running, sink);
    }

    fn complete(&mut self, time: u64, task: u32, output_hash: &Text<'_>, sink: &mut impl EntrySink) {
        let node = self.end_task(time, task, TaskStatus::Done, sink);
        let state = &mut self.nodes[node as usize];
        state.status = NodeStatus::Completed;
        state.result = Some(StoredHash::of(output_hash));
        state.error = None;
        sink.replace(self, Slot::Node(node));
    }

    fn fail(&mut self, time: u64, task: u32, failure: TaskFailure, status: NodeStatus, sink: &mut impl EntrySink) {
        let node = self.end_task(time, task, TaskStatus::Failed, sink);
        let state = &mut self.nodes[node as usize];
        state.status = status;
        state.error = Some(Box::new(failure));
        sink.replace(self, Slot::Node(node));
    }

    fn end_task(&mut self, time: u64, task: u32, status: TaskStatus, sink: &mut impl EntrySink) -> u32 {
        let node = self.tasks.get(task).node;
        self.release(task);
        self.tasks.end(task, status, time);
        self.calls.end_task(task);
        sink.replace(self, Slot::Task(node));
        node
    }

    fn skip(&mut self, node: u32, sink: &mut impl EntrySink) {
        let state = &mut self.nodes[node as usize];
        // Only a scheduled node has a task that has not ended, and only such a task is withdrawn.
        if state.status == NodeStatus::Scheduled
            && let Some(task) = state.task.take()
        {
            if self.tasks.get(task).status == TaskStatus::Pending {
                sink.remove(Slot::Pending(node));
            }
            self.release(task);
            self.tasks.withdraw(task);
            sink.remove(Slot::Task(node));
        }
        self.nodes[node as usize].status = NodeStatus::Skipped;
        sink.replace(self, Slot::Node(node));
    }

    fn count(&mut self, counter: Counter, sink: &mut impl EntrySink) {
        self.counters[counter as usize] += 1;
        self.put(self.counters[counter as usize] == 1, Slot::Counter(counter), sink);
    }

    fn heartbeat(
        &mut self,
        worker: u32,
        status: &Text<'_>,
        capabilities: Option<&[Text<'_>]>,
        sink: &mut impl EntrySink,
    ) {
        if self.workers.update(worker, status.as_json(), capabilities) {
            sink.replace(self, Slot::Worker(worker));
        }
    }
}
