//! Decides which task is assigned to which worker next (`docs/run-format.md` section 8), and checks recorded assignments against that decision.
//!
//! A decision depends only on the state: the waiting tasks, the workers, their load, and the worker assigned last.

use super::scheduler::Scheduler;
use crate::json::Text;
use crate::run::format::{ErrorCode, Payload, RunError};
use crate::run::read::Event;
use crate::run::state::State;

/// A task and the worker to assign it to, as indices into the state's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The task.
    pub task: u32,
    /// The worker.
    pub worker: u32,
}

/// The decision of the run's scheduler in this state: the first waiting task for which a worker is eligible, and that worker.
///
/// Returns `None` if there is no such task, before RunCreated, and for `external`, where another program decides.
pub(crate) fn decide(state: &State) -> Option<Decision> {
    let scheduler = state.run()?.scheduler;
    // Tasks often need the same capabilities: a set without an eligible worker is searched for only once.
    let mut in_vain: Vec<&[Text<'static>]> = Vec::new();
    for task in state.tasks().pending() {
        let needed = needed(state, task);
        if in_vain.contains(&needed) {
            continue;
        }
        match choose(scheduler, state, needed) {
            Some(worker) => return Some(Decision { task, worker }),
            None if scheduler == Scheduler::External => return None,
            None => in_vain.push(needed),
        }
    }
    None
}

/// Checks that a TaskAssigned, which must be legal in `state`, is the decision of the scheduler in that state. Accepts all other events.
///
/// Under `external` every legal assignment matches, since eligibility limits only what this program decides. An assignment with `from`
/// takes the task from another worker. That is not a decision of the scheduler either, but the new worker must be eligible.
pub(crate) fn check_assignment(state: &State, event: &Event<'_>) -> Result<(), RunError> {
    let (Payload::TaskAssigned { task, worker, from, .. }, Some(run)) = (&event.payload, state.run()) else {
        return Ok(());
    };
    if run.scheduler == Scheduler::External {
        return Ok(());
    }
    if from.is_some() {
        return check_eligible(state, event, run.scheduler, worker);
    }
    let decision = decide(state);
    let expected = match decision {
        Some(decision) => {
            format!("'{}' to '{}'", state.task_id(decision.task), state.workers().get(decision.worker).id.as_json())
        }
        None => "no assignment: no worker is eligible".to_owned(),
    };
    let found = format!("'{}' to '{}'", task.as_json(), worker.as_json());
    if expected == found { Ok(()) } else { Err(mismatch(event, run.scheduler, &expected, &found)) }
}

fn check_eligible(state: &State, event: &Event<'_>, scheduler: Scheduler, worker: &Text<'_>) -> Result<(), RunError> {
    let node = event.node.as_ref().and_then(|node| state.dag().find(node));
    let needed = node.map_or(&[][..], |node| &state.dag().nodes()[node as usize].capabilities);
    let found = state.workers().find(worker).map(|worker| state.workers().get(worker));
    if found.is_some_and(|worker| worker.is_eligible(needed)) {
        return Ok(());
    }
    let needed: Vec<_> = needed.iter().map(Text::to_plain).collect();
    let expected = format!("an idle or busy worker with the capabilities [{}]", needed.join(", "));
    Err(mismatch(event, scheduler, &expected, &format!("'{worker}'")))
}

/// Chooses an eligible worker for a task that needs these capabilities. Returns `None` if there is none, and always for `External`.
fn choose(scheduler: Scheduler, state: &State, needed: &[Text<'_>]) -> Option<u32> {
    let workers = state.workers();
    let is_eligible = |worker: &u32| workers.get(*worker).is_eligible(needed);
    match scheduler {
        Scheduler::RoundRobin => workers.by_id_behind(state.last_assigned()).find(is_eligible),
        // `min_by_key` returns the first of equals, which is the first by id.
        Scheduler::LeastLoaded => workers.by_id().filter(is_eligible).min_by_key(|&one| workers.get(one).active),
        Scheduler::External => None,
    }
}

fn needed(state: &State, task: u32) -> &[Text<'static>] {
    &state.dag().nodes()[state.tasks().get(task).node as usize].capabilities
}

#[cold]
fn mismatch(event: &Event<'_>, scheduler: Scheduler, expected: &str, found: &str) -> RunError {
    let name = scheduler.as_str();
    let message = format!("The {name} scheduler decides otherwise: expected {expected}, found {found}.");
    RunError::new(ErrorCode::ScheduleMismatch, message).at(event.time).compared(expected, found)
}

#[cfg(test)]
mod tests;
