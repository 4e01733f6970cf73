//! Finds the parent of an event whose caller names none (`docs/run-format.md` section 6, "Parents").
//!
//! Only recorders need this, so it is not part of the state. A recorder passes in every event of the run, from the first on.

use crate::json::Text;
use crate::run::format::Payload;
use crate::run::read::Event;
use crate::run::state::State;

/// The logical times of the events that may become parents of later ones.
#[derive(Clone, Debug)]
pub(crate) struct Causality {
    nodes: Vec<NodeTimes>,
    run_started: Option<u64>,
    last_end: Option<u64>,
}

/// The logical times of a node's latest events.
#[derive(Clone, Debug, Default)]
struct NodeTimes {
    /// The node was completed or skipped, which is what its dependents wait for.
    settled: Option<u64>,
    /// An attempt failed and will be retried.
    retried: Option<u64>,
    /// Its task joined those that wait for a worker, either newly scheduled or rejected.
    joined: Option<u64>,
    assigned: Option<u64>,
    accepted: Option<u64>,
    started: Option<u64>,
    tool_result: Option<u64>,
    /// Calls without a result, with the times of their ToolInvoked, latest last.
    open_calls: Vec<(u32, u64)>,
}

impl Causality {
    /// The causality before the first event of a run. `state` is the state at that point.
    pub(crate) fn new(state: &State) -> Self {
        Causality { nodes: vec![NodeTimes::default(); state.nodes().len()], run_started: None, last_end: None }
    }

    /// Remembers an event. `state` is the state after it.
    pub(crate) fn observe(&mut self, state: &State, event: &Event<'_>) {
        let time = event.time;
        if matches!(event.payload, Payload::RunStarted { .. }) {
            self.run_started = Some(time);
        }
        let node = event.node.as_ref().and_then(|node| state.dag().find(node));
        let Some((node, times)) = node.and_then(|node| Some((node, self.nodes.get_mut(node as usize)?))) else {
            return;
        };
        match &event.payload {
            Payload::NodeScheduled { .. } => times.joined = Some(time),
            Payload::TaskAssigned { .. } => times.assigned = Some(time),
            Payload::TaskAccepted { .. } => times.accepted = Some(time),
            Payload::TaskRejected { .. } => times.joined = Some(time),
            Payload::NodeStarted { .. } => {
                // Open calls and results of the previous attempt do not belong to this one.
                (times.started, times.tool_result) = (Some(time), None);
                times.open_calls.clear();
            }
            Payload::NodeFailed { will_retry: true, .. } => times.retried = Some(time),
            Payload::NodeFailed { .. } => self.last_end = Some(time),
            Payload::NodeCompleted { .. } | Payload::NodeSkipped { .. } => {
                times.settled = Some(time);
                self.last_end = Some(time);
            }
            Payload::ToolInvoked { call, .. } => {
                times.open_calls.extend(find_call(state, node, call).map(|c| (c, time)))
            }
            Payload::ToolCompleted { call, .. }
            | Payload::ToolFailed { call, .. }
            | Payload::ToolTimedOut { call, .. } => {
                let closed = find_call(state, node, call);
                times.open_calls.retain(|&(open, _)| Some(open) != closed);
                times.tool_result = Some(time);
            }
            _ => {}
        }
    }

    /// The parent of the next event of `state` if the caller names none. `node` is the node in the envelope.
    ///
    /// Returns `None` for RunCreated, which has no parent. If the expected parent does not exist, returns the event before.
    pub(crate) fn parent_of(&self, state: &State, node: Option<u32>, payload: &Payload<'_>) -> Option<u64> {
        let before = state.logical_time()?;
        Some(self.named_cause(state, node, payload).unwrap_or(before))
    }

    fn named_cause(&self, state: &State, node: Option<u32>, payload: &Payload<'_>) -> Option<u64> {
        match payload {
            Payload::RunStarted { .. } => return Some(0),
            Payload::RunCompleted { .. } | Payload::RunFailed { .. } => return self.last_end.or(self.run_started),
            Payload::NodeSkipped { because, .. } => return because.or(self.run_started),
            _ => {}
        }
        let node = node?;
        let times = self.nodes.get(node as usize)?;
        let open_call = |call: &Text<'_>| {
            let call = find_call(state, node, call)?;
            times.open_calls.iter().find(|(open, _)| *open == call).map(|&(_, time)| time)
        };
        match payload {
            Payload::NodeScheduled { .. } => self.made_ready(state, node).or(self.run_started),
            Payload::TaskAssigned { .. } => times.joined,
            Payload::TaskAccepted { .. } | Payload::TaskRejected { .. } => times.assigned,
            Payload::NodeStarted { .. } => times.accepted,
            Payload::ToolInvoked { .. } => times.started,
            Payload::ToolCompleted { call, .. }
            | Payload::ToolFailed { call, .. }
            | Payload::ToolTimedOut { call, .. } => open_call(call),
            Payload::CapabilityCheck { .. } | Payload::PolicyDecision { .. } | Payload::BlobStored { .. } => {
                times.open_calls.last().map(|&(_, time)| time).or(times.started)
            }
            Payload::NodeCompleted { .. } | Payload::NodeFailed { .. } => times.tool_result.or(times.started),
            _ => None,
        }
    }

    /// The latest of the events that made a node ready.
    fn made_ready(&self, state: &State, node: u32) -> Option<u64> {
        let dependencies = &state.dag().nodes()[node as usize].dependencies;
        let settled = dependencies.iter().filter_map(|&dependency| self.nodes[dependency as usize].settled);
        settled.max().max(self.nodes[node as usize].retried)
    }
}

/// The call of a node's last task with this id.
fn find_call(state: &State, node: u32, call: &Text<'_>) -> Option<u32> {
    state.calls().find(state.nodes()[node as usize].task?, call)
}

#[cfg(test)]
mod tests;
