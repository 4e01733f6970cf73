//! Decides which events are legal (`docs/run-format.md` section 5), before anything changes.
//!
//! [`check`] turns an event into the [`Step`] that the state will take. The step refers to resolved ids and can't fail.

mod refusal;

use super::entry::{Claim, EntrySink};
use super::state::{CallStatus, Counter, NodeStatus, Run, RunStatus, State, Task, TaskFailure, TaskStatus};
use crate::json::Text;
use crate::run::format::{ErrorCode, Payload, RunError, WorkerDeclaration};
use crate::run::read::Event;

/// A change of the state that is known to be legal. Nodes, tasks, workers and calls are indices into the state.
#[derive(Debug)]
#[allow(missing_docs)] // Fields are named as what they are.
pub(crate) enum Step<'e> {
    /// No entry changes.
    Nothing,
    /// The run exists.
    Create(Run),
    /// The workers exist and the run begins.
    Start(&'e [WorkerDeclaration<'e>]),
    /// The run ends.
    End(RunStatus),
    /// A node gets its next task.
    Schedule { node: u32 },
    /// A task is assigned to a worker. It may be waiting, or belong to another worker.
    Assign { task: u32, worker: u32 },
    /// A worker accepts its task.
    Accept { task: u32 },
    /// A worker rejects its task.
    Reject { task: u32 },
    /// A worker starts its task.
    Begin { task: u32 },
    /// A task succeeds.
    Complete { task: u32, output_hash: &'e Text<'e> },
    /// A task fails. Its node gets this status.
    Fail { task: u32, failure: TaskFailure, status: NodeStatus },
    /// A node will not be run.
    Skip { node: u32 },
    /// A task makes a call.
    Invoke { task: u32, tool: &'e Text<'e>, call: &'e Text<'e> },
    /// A call ends.
    Close { call: u32, status: CallStatus, output_hash: Option<&'e Text<'e>> },
    /// A counter is incremented.
    Count(Counter),
    /// A known worker reports its status.
    Heartbeat { worker: u32, status: &'e Text<'e>, capabilities: Option<&'e [Text<'e>]> },
    /// An unknown worker reports its status.
    Meet { worker: &'e Text<'e>, status: &'e Text<'e>, capabilities: &'e [Text<'e>] },
    /// A snapshot was taken.
    Mark { snapshot: &'e Text<'e>, at: u64, state_hash: &'e Text<'e> },
}

/// Checks that the state allows `event` as its next event. Returns the step to take.
#[inline]
pub(crate) fn check<'e>(state: &State, event: &'e Event<'e>, sink: &mut impl EntrySink) -> Result<Step<'e>, RunError> {
    let case = Case { state, event };
    let status = case.in_order()?;
    let node = case.known_node()?;
    match &event.payload {
        Payload::RunCreated { .. } => case.create(),
        Payload::RunStarted { workers } => case.start(status, workers),
        Payload::RunCompleted { outputs } => case.complete_run(status, outputs),
        Payload::RunFailed { node, .. } => {
            case.is_running(status)?;
            node.as_ref().map_or(Ok(()), |node| case.node_of_graph(node).map(drop))?;
            Ok(Step::End(RunStatus::Failed))
        }
        Payload::CapabilityCheck { allowed: true, .. } => Ok(Step::Count(Counter::CapabilityAllowed)),
        Payload::CapabilityCheck { .. } => Ok(Step::Count(Counter::CapabilityDenied)),
        Payload::PolicyDecision { allowed: true, .. } => Ok(Step::Count(Counter::PolicyAllowed)),
        Payload::PolicyDecision { .. } => Ok(Step::Count(Counter::PolicyDenied)),
        Payload::Error { .. } => Ok(Step::Count(Counter::Errors)),
        Payload::BlobStored { .. } => Ok(Step::Nothing),
        Payload::Heartbeat { worker, status, capabilities } => Ok(case.heartbeat(worker, status, capabilities)),
        Payload::SnapshotCreated { snapshot, at, state_hash } => {
            case.is_earlier("at", *at)?;
            if at + 1 == event.time {
                sink.created(status, *at, state_hash);
            }
            Ok(Step::Mark { snapshot, at: *at, state_hash })
        }
        Payload::SnapshotRestored { snapshot, at, state_hash } => {
            case.is_earlier("at", *at)?;
            let claim = Claim { status, at: *at, is_last: case.is_last_snapshot(snapshot, *at, state_hash) };
            sink.restored(claim, state_hash).map_err(|error| error.at(event.time))?;
            Ok(Step::Nothing)
        }
        _ => {
            case.is_running(status)?;
            case.of_node(node.ok_or_else(|| case.no_node())?)
        }
    }
}

/// A state, and the event to check.
struct Case<'s, 'e> {
    state: &'s State,
    event: &'e Event<'e>,
}

impl<'e> Case<'_, 'e> {
    /// Checks what every event requires: its time, its parent, and that the run has begun and not ended. Returns the run's status.
    #[inline]
    fn in_order(&self) -> Result<RunStatus, RunError> {
        let Event { time, parent, .. } = *self.event;
        if time != self.state.next_time() {
            return Err(self.time_gap());
        }
        let creates = matches!(self.event.payload, Payload::RunCreated { .. });
        let status = match self.state.run() {
            None if creates => RunStatus::Created,
            None => return Err(self.illegal("RunCreated as the first event", self.event.kind().as_str())),
            Some(run) => run.status,
        };
        if status.is_end()
            && !matches!(self.event.payload, Payload::SnapshotCreated { .. } | Payload::BlobStored { .. })
        {
            return Err(self.after_end(status));
        }
        if creates && time > 0 {
            return Err(self.illegal("RunCreated as the first event only", "RunCreated"));
        }
        match parent {
            None if creates => Ok(status),
            Some(parent) if parent < time => Ok(status),
            _ => Err(self.no_parent()),
        }
    }

    /// The node that the envelope names, if it names one.
    #[inline]
    fn known_node(&self) -> Result<Option<u32>, RunError> {
        self.event.node.as_ref().map(|node| self.node_of_graph(node)).transpose()
    }

    #[inline]
    fn node_of_graph(&self, node: &Text<'_>) -> Result<u32, RunError> {
        let found = self.state.dag().find(node);
        found.ok_or_else(|| self.illegal("a node of the graph", format!("'{}'", node.to_plain())))
    }

    #[inline]
    fn is_running(&self, status: RunStatus) -> Result<(), RunError> {
        if status == RunStatus::Running {
            return Ok(());
        }
        Err(self.illegal("the run Running", format!("the run {}", status.as_str())))
    }

    fn is_earlier(&self, field: &str, time: u64) -> Result<(), RunError> {
        if time < self.event.time {
            return Ok(());
        }
        Err(self.illegal(format!("{field}: a time before {}", self.event.time), time.to_string()))
    }

    fn create(&self) -> Result<Step<'e>, RunError> {
        let Payload::RunCreated { run_id, dag_hash, scheduler, capabilities, .. } = &self.event.payload else {
            return Ok(Step::Nothing);
        };
        let own = self.state.dag().hash();
        if dag_hash.as_json() != own {
            let message = "The run was created with another graph than the one that is here.";
            let error = RunError::new(ErrorCode::DagMismatch, message).compared(dag_hash.to_plain(), own);
            return Err(error.at(self.event.time));
        }
        let owned = |text: &Text<'_>| text.clone().into_owned();
        Ok(Step::Create(Run {
            id: owned(run_id),
            status: RunStatus::Created,
            scheduler: *scheduler,
            capabilities: capabilities.iter().map(owned).collect(),
        }))
    }

    fn start(&self, status: RunStatus, workers: &'e [WorkerDeclaration<'e>]) -> Result<Step<'e>, RunError> {
        if status != RunStatus::Created {
            return Err(self.illegal("the run Created", format!("the run {}", status.as_str())));
        }
        let mut ids: Vec<_> = workers.iter().map(|worker| worker.id.as_json()).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(self.illegal("each worker once", format!("'{}' twice", pair[0]))),
            None => Ok(Step::Start(workers)),
        }
    }

    fn complete_run(&self, status: RunStatus, outputs: &[(Text<'_>, Text<'_>)]) -> Result<Step<'e>, RunError> {
        self.is_running(status)?;
        let open = self.state.nodes().iter().position(|node| !has_result(node.status));
        if let Some(node) = open {
            let status = self.state.nodes()[node].status;
            return Err(self.illegal("every node Completed or Skipped", self.node_is(node as u32, status)));
        }
        for (node, _) in outputs {
            self.node_of_graph(node)?;
        }
        Ok(Step::End(RunStatus::Completed))
    }

    fn heartbeat(
        &self,
        worker: &'e Text<'e>,
        status: &'e Text<'e>,
        capabilities: &'e Option<Vec<Text<'e>>>,
    ) -> Step<'e> {
        let capabilities = capabilities.as_deref();
        match self.state.workers().find(worker) {
            Some(worker) => Step::Heartbeat { worker, status, capabilities },
            None => Step::Meet { worker, status, capabilities: capabilities.unwrap_or_default() },
        }
    }

    /// Whether the last event is the SnapshotCreated of this snapshot, right after the snapshot was taken. SnapshotCreated adds an entry to
    /// the state, so the state differs from that in the snapshot, but only by this entry.
    fn is_last_snapshot(&self, snapshot: &Text<'_>, at: u64, state_hash: &Text<'_>) -> bool {
        let is_it = |mark: &crate::run::state::state::SnapshotMark| {
            mark.snapshot == *snapshot && mark.at == at && mark.state_hash.is(state_hash)
        };
        at + 2 == self.event.time && self.state.last_snapshot().is_some_and(is_it)
    }

    /// Checks the kinds that are about a node and its task.
    #[inline]
    fn of_node(&self, node: u32) -> Result<Step<'e>, RunError> {
        match &self.event.payload {
            Payload::NodeScheduled { task, earliest, .. } => self.schedule(node, task, *earliest),
            Payload::TaskAssigned { task, worker, from, .. } => self.assign(node, task, worker, from.as_ref()),
            Payload::TaskAccepted { task, worker } => {
                Ok(Step::Accept { task: self.held(node, task, TaskStatus::Assigned, worker)? })
            }
            Payload::TaskRejected { task, worker, .. } => {
                Ok(Step::Reject { task: self.held(node, task, TaskStatus::Assigned, worker)? })
            }
            Payload::NodeStarted { task, worker, .. } => {
                Ok(Step::Begin { task: self.held(node, task, TaskStatus::Accepted, worker)? })
            }
            Payload::NodeCompleted { task, output_hash } => {
                Ok(Step::Complete { task: self.task_in(node, task, TaskStatus::Running)?, output_hash })
            }
            Payload::NodeFailed { task, code, message, will_retry } => {
                let task = self.task_in(node, task, TaskStatus::Running)?;
                let failure = TaskFailure { code: code.clone().into_owned(), message: message.clone().into_owned() };
                let status = if *will_retry { NodeStatus::Pending } else { NodeStatus::Failed };
                Ok(Step::Fail { task, failure, status })
            }
            Payload::NodeSkipped { because, .. } => self.skip(node, *because),
            Payload::ToolInvoked { tool, call, .. } => self.invoke(node, tool, call),
            Payload::ToolCompleted { tool, call, output_hash, .. } => {
                let call = self.open_call(node, tool, call)?;
                Ok(Step::Close { call, status: CallStatus::Completed, output_hash: Some(output_hash) })
            }
            Payload::ToolFailed { tool, call, .. } => {
                let call = self.open_call(node, tool, call)?;
                Ok(Step::Close { call, status: CallStatus::Failed, output_hash: None })
            }
            Payload::ToolTimedOut { tool, call, .. } => {
                let call = self.open_call(node, tool, call)?;
                Ok(Step::Close { call, status: CallStatus::TimedOut, output_hash: None })
            }
            // `check` handles the kinds that are not about a node.
            _ => Ok(Step::Nothing),
        }
    }

    fn schedule(&self, node: u32, task: &Text<'_>, earliest: u64) -> Result<Step<'e>, RunError> {
        let state = &self.state.nodes()[node as usize];
        self.node_in(node, &[NodeStatus::Pending])?;
        let attempt = state.attempt + 1;
        if self.attempt(node, task)? != Some(attempt) {
            let expected = format!("the task '{}#{attempt}'", self.state.dag().nodes()[node as usize].id);
            return Err(self.illegal(expected, format!("'{task}'")));
        }
        earliest.checked_sub(1).map_or(Ok(()), |latest| self.is_earlier("dependsOn", latest))?;
        for &dependency in &self.state.dag().nodes()[node as usize].dependencies {
            let status = self.state.nodes()[dependency as usize].status;
            if !has_result(status) {
                return Err(self.illegal("every dependency Completed or Skipped", self.node_is(dependency, status)));
            }
        }
        Ok(Step::Schedule { node })
    }

    fn assign(
        &self,
        node: u32,
        id: &Text<'_>,
        worker: &Text<'_>,
        from: Option<&Text<'_>>,
    ) -> Result<Step<'e>, RunError> {
        let task = self.task(node, id)?;
        match (from, self.state.tasks().get(task)) {
            (None, Task { status: TaskStatus::Pending, .. }) => {}
            (None, other) => return Err(self.illegal_task("Pending", id, other)),
            (Some(from), Task { status: TaskStatus::Assigned | TaskStatus::Accepted, worker: Some(holder), .. })
                if self.state.workers().get(*holder).id == *from => {}
            (Some(from), other) => return Err(self.illegal_task(&format!("with worker '{from}'"), id, other)),
        }
        Ok(Step::Assign { task, worker: self.worker(worker)? })
    }

    fn skip(&self, node: u32, because: Option<u64>) -> Result<Step<'e>, RunError> {
        self.node_in(node, &[NodeStatus::Pending, NodeStatus::Scheduled])?;
        because.map_or(Ok(()), |time| self.is_earlier("because", time))?;
        Ok(Step::Skip { node })
    }

    fn invoke(&self, node: u32, tool: &'e Text<'e>, call: &'e Text<'e>) -> Result<Step<'e>, RunError> {
        self.node_in(node, &[NodeStatus::Running])?;
        let task = self.state.nodes()[node as usize].task.ok_or_else(|| self.no_task(node))?;
        match self.state.calls().find(task, call) {
            None => Ok(Step::Invoke { task, tool, call }),
            Some(_) => Err(self
                .illegal(format!("a call that '{}' has not made yet", self.state.task_id(task)), format!("'{call}'"))),
        }
    }

    fn open_call(&self, node: u32, tool: &Text<'_>, id: &Text<'_>) -> Result<u32, RunError> {
        let task = self.state.nodes()[node as usize].task.ok_or_else(|| self.no_task(node))?;
        let expected = || format!("'{id}' as an open call of {tool} on '{}'", self.state.task_id(task));
        let calls = self.state.calls();
        let Some(call) = calls.find(task, id) else {
            return Err(self.illegal(expected(), "no such call"));
        };
        if calls.get(call).status != CallStatus::Open || calls.tool(call) != tool.as_json() {
            let found = format!("a call of {} that is {}", calls.tool(call), calls.get(call).status.as_str());
            return Err(self.illegal(expected(), found));
        }
        Ok(call)
    }

    /// The attempt that the id of a task of this node names. Returns `None` if the number in the id is not one of an attempt.
    #[inline]
    fn attempt(&self, node: u32, task: &Text<'_>) -> Result<Option<u32>, RunError> {
        let id = self.state.dag().nodes()[node as usize].id.as_json();
        let number = task.as_json().strip_prefix(id).and_then(|rest| rest.strip_prefix('#'));
        let number = number.filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
        match number {
            Some(digits) if !digits.starts_with('0') => Ok(digits.parse().ok()),
            Some(_) => Ok(None),
            None => Err(self.illegal(format!("a task of the node '{}'", self.node_id(node)), format!("'{task}'"))),
        }
    }

    /// The index of the node's last task, which must have this id.
    #[inline]
    fn task(&self, node: u32, id: &Text<'_>) -> Result<u32, RunError> {
        let attempt = self.attempt(node, id)?;
        let state = &self.state.nodes()[node as usize];
        match state.task {
            Some(task) if attempt == Some(state.attempt) => Ok(task),
            Some(task) => Err(self.illegal(format!("the task '{}'", self.state.task_id(task)), format!("'{id}'"))),
            None => Err(self.no_task(node)),
        }
    }

    #[inline]
    fn task_in(&self, node: u32, id: &Text<'_>, status: TaskStatus) -> Result<u32, RunError> {
        let task = self.task(node, id)?;
        let found = self.state.tasks().get(task);
        if found.status != status {
            return Err(self.illegal_task(status.as_str(), id, found));
        }
        Ok(task)
    }

    /// The index of the node's last task, which must have this id and status and belong to this worker.
    #[inline]
    fn held(&self, node: u32, id: &Text<'_>, status: TaskStatus, worker: &Text<'_>) -> Result<u32, RunError> {
        let task = self.task_in(node, id, status)?;
        let found = self.state.tasks().get(task);
        match found.worker {
            Some(holder) if self.state.workers().get(holder).id == *worker => Ok(task),
            _ => Err(self.illegal_task(&format!("with worker '{worker}'"), id, found)),
        }
    }

    #[inline]
    fn worker(&self, id: &Text<'_>) -> Result<u32, RunError> {
        let found = self.state.workers().find(id);
        found.ok_or_else(|| self.illegal("a worker of the run", format!("'{id}'")))
    }

    fn node_in(&self, node: u32, allowed: &[NodeStatus]) -> Result<(), RunError> {
        let found = self.state.nodes()[node as usize].status;
        if allowed.contains(&found) {
            return Ok(());
        }
        let names: Vec<_> = allowed.iter().map(|status| status.as_str()).collect();
        let expected = format!("the node '{}' {}", self.node_id(node), names.join(" or "));
        Err(self.illegal(expected, self.node_is(node, found)))
    }
}

/// Whether a node with this status counts as done for its dependents.
fn has_result(status: NodeStatus) -> bool {
    matches!(status, NodeStatus::Completed | NodeStatus::Skipped)
}

#[cfg(test)]
mod tests;
