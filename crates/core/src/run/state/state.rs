//! The state of a run after an event (`docs/run-format.md` section 9). It changes only by applying the next event.
//!
//! [`State::apply`] is pure: no clock and no I/O, only the state and the event. Whether an event is legal is decided before anything
//! changes (`transition.rs`), so that a refused event leaves the state exactly as it was. Ids are mapped to small numbers on entry; an
//! event allocates only if it adds something to the state.

mod apply;
mod calls;
mod document;
mod run_state;
mod step;
mod stored_hash;
mod tasks;
mod workers;

use std::sync::Arc;

pub(crate) use calls::CallStatus;
pub(crate) use calls::{Call, Calls};
pub(crate) use stored_hash::StoredHash;
pub(crate) use tasks::{Task, TaskStatus, Tasks};
pub(crate) use workers::{Worker, Workers};

use crate::json::Text;
use crate::run::graph::{Dag, Scheduler};

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// The run exists.
    Created,
    /// The run has begun.
    Running,
    /// It succeeded.
    Completed,
    /// It failed.
    Failed,
}

/// The status of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeStatus {
    /// It waits for its dependencies, for the scheduler, or for another attempt.
    Pending,
    /// Its task waits for a worker to begin.
    Scheduled,
    /// A worker runs its task.
    Running,
    /// It succeeded.
    Completed,
    /// It failed.
    Failed,
    /// It will not be run.
    Skipped,
}

/// A counter of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Allowed capability checks.
    CapabilityAllowed,
    /// Denied capability checks.
    CapabilityDenied,
    /// `Error` events.
    Errors,
    /// Policy decisions to allow.
    PolicyAllowed,
    /// Policy decisions to deny.
    PolicyDenied,
}

/// A run, as described by RunCreated, with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The run's id. No state hash covers it, so that equal executions have equal hashes.
    pub id: Text<'static>,
    /// The run's status.
    pub status: RunStatus,
    /// The scheduler that assigns tasks.
    pub scheduler: Scheduler,
    /// The capabilities of the run as a whole, sorted, without duplicates.
    pub capabilities: Vec<Text<'static>>,
}

/// Why an attempt of a node failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFailure {
    /// The code that NodeFailed gave.
    pub code: Text<'static>,
    /// The message that NodeFailed gave.
    pub message: Text<'static>,
}

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node's status.
    pub status: NodeStatus,
    /// Number of times it was scheduled.
    pub attempt: u32,
    /// The task of its last attempt, as an index into [`State::tasks`]. `None` before the first attempt, and if the node was skipped
    /// instead of running that task.
    pub task: Option<u32>,
    /// The hash of its output, once it is completed.
    pub result: Option<StoredHash>,
    /// The error of its last failed attempt, unless it is completed.
    pub error: Option<Box<TaskFailure>>,
}

/// The last snapshot that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotMark {
    /// Its id.
    pub snapshot: Text<'static>,
    /// The logical time of the event after which it was taken.
    pub at: u64,
    /// The hash of the state in it.
    pub state_hash: StoredHash,
}

/// The state of a run after an event, or before the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    dag: Arc<Dag>,
    run: Option<Run>,
    next_time: u64,
    nodes: Vec<Node>,
    tasks: Tasks,
    workers: Workers,
    calls: Calls,
    counters: [u64; Counter::ALL.len()],
    last_assigned: Option<u32>,
    last_snapshot: Option<SnapshotMark>,
}

impl State {
    /// The state before the first event of a run of this graph.
    pub fn new(dag: Arc<Dag>) -> Self {
        let node = Node { status: NodeStatus::Pending, attempt: 0, task: None, result: None, error: None };
        State {
            nodes: vec![node; dag.nodes().len()],
            dag,
            run: None,
            next_time: 0,
            tasks: Tasks::default(),
            workers: Workers::default(),
            calls: Calls::default(),
            counters: [0; Counter::ALL.len()],
            last_assigned: None,
            last_snapshot: None,
        }
    }

    /// The graph.
    pub fn dag(&self) -> &Arc<Dag> {
        &self.dag
    }

    /// The name of the run's status. `None` before RunCreated.
    pub fn status(&self) -> Option<&'static str> {
        self.run.as_ref().map(|run| run.status.as_str())
    }

    /// The run. `None` before RunCreated.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// The time of the last event. `None` before the first.
    pub fn logical_time(&self) -> Option<u64> {
        self.next_time.checked_sub(1)
    }

    /// The time that the next event must have.
    pub fn next_time(&self) -> u64 {
        self.next_time
    }

    /// The state of each node, in the order of [`Dag::nodes`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All tasks, and the order of the waiting ones.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// All workers.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// All calls, including closed ones.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// The value of a counter.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// The worker that was assigned last, as an index into [`workers`](Self::workers).
    pub fn last_assigned(&self) -> Option<u32> {
        self.last_assigned
    }

    /// The last snapshot that was created.
    pub fn last_snapshot(&self) -> Option<&SnapshotMark> {
        self.last_snapshot.as_ref()
    }

    /// The id of a task, `<node>#<attempt>`, as a JSON string without its quotes.
    pub fn task_id(&self, task: u32) -> String {
        let task = self.tasks.get(task);
        format!("{}#{}", self.dag.nodes()[task.node as usize].id.as_json(), task.attempt)
    }
}

/// The names in the format of the variants of an enum.
macro_rules! names {
    ($($of:ident: $($variant:ident $name:literal),+;)+) => {
        $(impl $of {
            /// All variants.
            pub const ALL: &'static [$of] = &[$($of::$variant),+];

            /// The name in the format.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($of::$variant => $name),+
                }
            }

            /// The variant with this name. Returns `None` if there is none.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        })+
    };
}

names! {
    RunStatus: Created "Created", Running "Running", Completed "Completed", Failed "Failed";
    NodeStatus: Pending "Pending", Scheduled "Scheduled", Running "Running", Completed "Completed", Failed "Failed",
        Skipped "Skipped";
    Counter: CapabilityAllowed "capabilityAllowed", CapabilityDenied "capabilityDenied", Errors "errors",
        PolicyAllowed "policyAllowed", PolicyDenied "policyDenied";
    TaskStatus: Pending "Pending", Assigned "Assigned", Accepted "Accepted", Running "Running", Done "Done",
        Failed "Failed", Withdrawn "Withdrawn";
    CallStatus: Open "Open", Completed "Completed", Failed "Failed", TimedOut "TimedOut";
}

impl RunStatus {
    /// Whether the run has ended. After that only SnapshotCreated and BlobStored are legal.
    pub fn is_end(self) -> bool {
        matches!(self, RunStatus::Completed | RunStatus::Failed)
    }
}

#[cfg(test)]
mod tests;
