//! Which task is assigned to which worker next (`docs/run-format.md` section 8), and whether a recorded assignment is the expected one.
//!
//! A decision is a function of the state: the tasks that wait, the workers, their load, and who was assigned last.

use super::decoded_event::Event;
use super::error::{ErrorCode, RunError};
use super::payload::Payload;
use super::scheduler::Scheduler;
use super::state::State;
use super::text::Text;

/// A task and the worker that is to get it, as places in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The task.
    pub task: u32,
    /// The worker.
    pub worker: u32,
}

/// What a run's scheduler decides in this state: the first task that waits and for which a worker is eligible.
///
/// None if there is no such task, and for `external`, where this program decides nothing.
pub fn decide(state: &State) -> Option<Decision> {
    let scheduler = state.run()?.scheduler;
    // Tasks often need the same: what no worker was eligible for once is not looked for again.
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

/// Whether a TaskAssigned is what the scheduler decides in the state before it, in which it is known to be legal.
/// Other events are accepted.
///
/// Under `external` every legal assignment matches: eligibility limits what this program decides. An assignment with `from`, which takes
/// the task from another worker, is not the scheduler's decision either, but its worker has to be eligible.
pub fn check_assignment(state: &State, event: &Event<'_>) -> Result<(), RunError> {
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

/// The eligible worker for a task that needs these capabilities. `External` takes none.
fn choose(scheduler: Scheduler, state: &State, needed: &[Text<'_>]) -> Option<u32> {
    let workers = state.workers();
    let is_eligible = |worker: &u32| workers.get(*worker).is_eligible(needed);
    match scheduler {
        Scheduler::RoundRobin => workers.by_id_behind(state.last_assigned()).find(is_eligible),
        // The first of those with the fewest: they come by id.
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
