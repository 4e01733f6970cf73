//! The state of a run at an event (`docs/run-format.md` section 9), and the one way in which it changes.
//!
//! [`State::apply`] is pure: no clock, no I/O, nothing but the state and the event. What is legal is decided before
//! anything changes (`transition.rs`), so that a refused event leaves the state exactly as it was. Ids become small
//! numbers where they come in; an event allocates only where it brings something new to keep.

mod apply;
mod calls;
mod document;
mod run_state;
mod step;
mod stored_hash;
mod tasks;
mod workers;

use std::sync::Arc;

pub use calls::{Call, CallStatus, Calls};
pub use stored_hash::StoredHash;
pub use tasks::{Task, TaskStatus, Tasks};
pub use workers::{Worker, Workers};

use super::dag::Dag;
use super::scheduler::Scheduler;
use super::text::Text;

/// Where a run is in its course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// It exists.
    Created,
    /// Work is being done.
    Running,
    /// It ended well.
    Completed,
    /// It ended badly.
    Failed,
}

/// Where a node is in its course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeStatus {
    /// It waits for its dependencies, for the scheduler, or for another attempt.
    Pending,
    /// Its task waits for a worker to begin.
    Scheduled,
    /// A worker runs its task.
    Running,
    /// It ended well.
    Completed,
    /// It ended badly.
    Failed,
    /// It will not be run.
    Skipped,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Capability checks that allowed.
    CapabilityAllowed,
    /// Capability checks that denied.
    CapabilityDenied,
    /// `Error` events.
    Errors,
    /// Policy decisions that allowed.
    PolicyAllowed,
    /// Policy decisions that denied.
    PolicyDenied,
}

/// What RunCreated said of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The run's id. In no hash: equal executions have equal hashes.
    pub id: Text<'static>,
    /// Where it is in its course.
    pub status: RunStatus,
    /// How tasks find their workers.
    pub scheduler: Scheduler,
    /// What the run as a whole may do, sorted, each once.
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
    /// Where it is in its course.
    pub status: NodeStatus,
    /// How often it was scheduled.
    pub attempt: u32,
    /// Its task of the last attempt, as a place in [`State::tasks`]; None before the first, and when it was skipped instead.
    pub task: Option<u32>,
    /// What it resulted in, once it is completed.
    pub result: Option<StoredHash>,
    /// Why the last attempt that ended did not end well.
    pub error: Option<Box<TaskFailure>>,
}

/// The last snapshot that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotMark {
    /// Its id.
    pub snapshot: Text<'static>,
    /// The logical time after which it was taken.
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

    /// What RunCreated said, and where the run is. None before that.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// The time of the last event. None before the first.
    pub fn logical_time(&self) -> Option<u64> {
        self.next_time.checked_sub(1)
    }

    /// The time that the next event has to have.
    pub fn next_time(&self) -> u64 {
        self.next_time
    }

    /// The state of each node, in the order of [`Dag::nodes`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All tasks there are, and the order of those that wait.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// All workers there are.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// All calls there were.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// How often something was counted.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// The worker that was assigned last, as a place in [`workers`](Self::workers).
    pub fn last_assigned(&self) -> Option<u32> {
        self.last_assigned
    }

    /// The last snapshot that was created.
    pub fn last_snapshot(&self) -> Option<&SnapshotMark> {
        self.last_snapshot.as_ref()
    }

    /// The id of a task: `<node>#<attempt>`, as the inside of its JSON string.
    pub fn task_id(&self, task: u32) -> String {
        let task = self.tasks.get(task);
        format!("{}#{}", self.dag.nodes()[task.node as usize].id.as_json(), task.attempt)
    }
}

/// Names as the format has them.
macro_rules! names {
    ($($of:ident: $($variant:ident $name:literal),+;)+) => {
        $(impl $of {
            /// Every one, in the order of their names here.
            pub const ALL: &'static [$of] = &[$($of::$variant),+];

            /// The name, as the format has it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($of::$variant => $name),+
                }
            }

            /// The one of this name.
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
    /// Whether hardly anything may come any more.
    pub fn is_end(self) -> bool {
        matches!(self, RunStatus::Completed | RunStatus::Failed)
    }
}

#[cfg(test)]
mod tests;
