//! Reads a state from its document, field by field.

use std::sync::Arc;

use crate::json::{Field, FieldError, Name, Nesting, Text, names};
use crate::run::format::{ErrorCode, RunError};
use crate::run::graph::{Dag, Lookup, Scheduler};
use crate::run::state::state::{
    CallStatus, Counter, Node, NodeStatus, Run, RunStatus, SnapshotMark, State, StoredHash, Task, TaskFailure,
    TaskStatus,
};

/// Reads a document. Only here must tasks be found by id.
#[derive(Default)]
pub(super) struct Reader {
    task_ids: Vec<String>,
    tasks: Lookup,
    nesting: Nesting,
}

impl Reader {
    pub(super) fn state(mut self, text: &str) -> Result<State, RunError> {
        let names = names![
            "calls",
            "capabilities",
            "coordinator",
            "counters",
            "lastAssigned",
            "lastSnapshot",
            "scheduler",
            "tasks",
            "workers",
        ];
        let fields = Field::read(text, names, &mut self.nesting).map_err(wrong)?;
        let coordinator_names = names!["completedNodes", "dag", "logicalTime", "nodeStates", "pendingTasks", "run"];
        let coordinator = fields[2].required("an object").map_err(wrong)?;
        let coordinator = Field::read(coordinator, coordinator_names, &mut self.nesting).map_err(wrong)?;
        let dag = Dag::parse(coordinator[1].required("a graph").map_err(wrong)?)?;
        self.fill(State::new(Arc::new(dag)), fields, coordinator).map_err(wrong)
    }

    fn fill(
        &mut self,
        mut state: State,
        [calls, capabilities, _, counters, last_assigned, last_snapshot, scheduler, tasks, workers]: [Field<'_>; 9],
        [_, _, time, nodes, pending, run]: [Field<'_>; 6],
    ) -> Result<State, FieldError> {
        state.run = Some(self.run(run, scheduler, capabilities)?);
        state.next_time = time.integer()? + 1;
        self.workers(&mut state, workers)?;
        self.tasks(&mut state, tasks)?;
        self.nodes(&mut state, nodes)?;
        self.pending(&mut state, pending)?;
        self.calls(&mut state, calls)?;
        for (name, value) in counters.members(&mut self.nesting)? {
            let counter = Counter::parse(name.as_json()).ok_or_else(|| counters.wrong("known counters"))?;
            state.counters[counter as usize] = Field::of("counters", value).integer()?;
        }
        state.last_assigned = last_assigned.optional(|field| worker(&state, field))?;
        state.last_snapshot = last_snapshot.optional(|field| self.mark(&state, field))?;
        Ok(state)
    }

    fn read<'a, const N: usize>(
        &mut self,
        name: &'static str,
        json: &'a str,
        names: &[Name; N],
    ) -> Result<[Field<'a>; N], FieldError> {
        Field::read(json, names, &mut self.nesting).map_err(|error| error.within(name))
    }

    fn run(&mut self, run: Field<'_>, scheduler: Field<'_>, capabilities: Field<'_>) -> Result<Run, FieldError> {
        let [id, status] = self.read("run", run.required("an object")?, names!["id", "status"])?;
        let found = Scheduler::parse(scheduler.text()?.as_json());
        Ok(Run {
            id: id.id()?.into_owned(),
            status: one_of(status, RunStatus::parse)?,
            scheduler: found.ok_or_else(|| scheduler.wrong("a known scheduler"))?,
            capabilities: capabilities.ids(&mut self.nesting)?.into_iter().map(Text::into_owned).collect(),
        })
    }

    fn workers(&mut self, state: &mut State, workers: Field<'_>) -> Result<(), FieldError> {
        for (id, json) in workers.members(&mut self.nesting)? {
            let [capabilities, status] = self.read("workers", json, names!["capabilities", "status"])?;
            if id.is_empty() {
                return Err(workers.wrong("workers with ids"));
            }
            let (status, capabilities) = (status.id()?, capabilities.id_set(&mut self.nesting)?);
            state.workers.add(&id, status.as_json(), &capabilities);
        }
        Ok(())
    }

    fn tasks(&mut self, state: &mut State, tasks: Field<'_>) -> Result<(), FieldError> {
        for (id, json) in tasks.members(&mut self.nesting)? {
            let names = names!["assignedAt", "attempt", "endedAt", "node", "status", "worker"];
            let [assigned_at, attempt, ended_at, node, status, holder] = self.read("tasks", json, names)?;
            let place = state.dag.find(&node.id()?).ok_or_else(|| node.wrong("a node of the graph"))?;
            let holder = holder.optional(|field| worker(state, field))?;
            let status = one_of(status, |name| TaskStatus::parse(name).filter(|&one| one != TaskStatus::Withdrawn))?;
            let (attempt, index) = (small(attempt)?, state.tasks.len());
            let task = state.tasks.restore(place, attempt, status);
            task.worker = holder;
            task.assigned_at = assigned_at.optional(Field::integer)?.unwrap_or_default();
            task.ended_at = ended_at.optional(Field::integer)?.unwrap_or_default();
            if let Some(busy) = task.active_worker() {
                state.workers.change_load(busy, 1);
            }
            // Two tasks that claim to be the same attempt would be written under the same id.
            if Text::from_canonical(state.task_id(index)) != id {
                return Err(tasks.wrong("tasks under their own ids"));
            }
            let task_ids = &mut self.task_ids;
            task_ids.push(id.as_json().to_owned());
            self.tasks.insert(&*task_ids[index as usize], index, |other| &*task_ids[other as usize]);
        }
        Ok(())
    }

    fn task(&self, field: Field<'_>) -> Result<u32, FieldError> {
        let id = field.id()?;
        let found = self.tasks.find(id.as_json(), |task| self.task_ids[task as usize] == id.as_json());
        found.ok_or_else(|| field.wrong("a task that there is"))
    }

    fn nodes(&mut self, state: &mut State, nodes: Field<'_>) -> Result<(), FieldError> {
        let members = nodes.members(&mut self.nesting)?;
        if members.len() != state.nodes.len() {
            return Err(nodes.wrong("every node of the graph"));
        }
        for (id, json) in members {
            let place = state.dag.find(&id).ok_or_else(|| nodes.wrong("nodes of the graph"))?;
            let names = names!["attempt", "error", "resultHash", "status", "task"];
            let [attempt, error, result, status, task] = self.read("nodeStates", json, names)?;
            let task = task.optional(|field| self.task(field))?;
            // Later lookups by node rely on this.
            if task.is_some_and(|task| state.tasks.get(task).node != place) {
                return Err(nodes.wrong("nodes with tasks of their own"));
            }
            state.nodes[place as usize] = Node {
                status: one_of(status, NodeStatus::parse)?,
                attempt: small(attempt)?,
                task,
                result: result.optional(Field::id)?.map(|hash| StoredHash::of(&hash)),
                error: error.optional(|field| self.failure(field))?,
            };
        }
        Ok(())
    }

    fn failure(&mut self, error: Field<'_>) -> Result<Box<TaskFailure>, FieldError> {
        let [code, message] = self.read("error", error.required("an object")?, names!["code", "message"])?;
        Ok(Box::new(TaskFailure { code: code.text()?.into_owned(), message: message.text()?.into_owned() }))
    }

    fn pending(&mut self, state: &mut State, pending: Field<'_>) -> Result<(), FieldError> {
        const EXPECTED: &str = "pairs of a time and a task that waits, in order, each once";
        let mut joined = None;
        let mut nesting = std::mem::take(&mut self.nesting);
        let mut waiting = state.tasks.iter().filter(|(_, task)| task.status == TaskStatus::Pending).count();
        pending.each(&mut nesting, |pair| {
            let mut parts = Vec::new();
            pair.each(&mut self.nesting, |part| {
                parts.push(part);
                Ok(())
            })?;
            let [position, task] = parts[..] else { return Err(pair.wrong(EXPECTED)) };
            let (position, task) = (position.integer()?, self.task(task)?);
            // No task joins at time 0, so `joined_at` shows whether the task is listed already.
            let Task { status, joined_at, .. } = *state.tasks.get(task);
            if status != TaskStatus::Pending || joined_at > 0 || joined >= Some(position) || position == 0 {
                return Err(pair.wrong(EXPECTED));
            }
            joined = Some(position);
            waiting -= 1;
            state.tasks.wait_since(task, position);
            Ok(())
        })?;
        if waiting > 0 { Err(pending.wrong("every task that waits")) } else { Ok(()) }
    }

    fn calls(&mut self, state: &mut State, calls: Field<'_>) -> Result<(), FieldError> {
        for (id, json) in calls.members(&mut self.nesting)? {
            let found = self.tasks.find(id.as_json(), |task| self.task_ids[task as usize] == id.as_json());
            let task = found.ok_or_else(|| calls.wrong("calls of tasks that there are"))?;
            for (id, json) in Field::of("calls", json).members(&mut self.nesting)? {
                let [output_hash, status, tool] = self.read("calls", json, names!["outputHash", "status", "tool"])?;
                let (status, tool) = (one_of(status, CallStatus::parse)?, tool.id()?);
                let call = state.calls.open(task, &tool, &id);
                state.calls.close(call, status, output_hash.optional(Field::id)?.as_ref());
            }
        }
        Ok(())
    }

    fn mark(&mut self, state: &State, mark: Field<'_>) -> Result<SnapshotMark, FieldError> {
        let json = mark.required("an object")?;
        let [at, snapshot, state_hash] = self.read("lastSnapshot", json, names!["at", "snapshot", "stateHash"])?;
        let time = at.integer()?;
        if time >= state.next_time {
            return Err(at.wrong("a time that was"));
        }
        let (snapshot, state_hash) = (snapshot.id()?.into_owned(), StoredHash::of(&state_hash.id()?));
        Ok(SnapshotMark { snapshot, at: time, state_hash })
    }
}

fn wrong(error: FieldError) -> RunError {
    invalid(&error.to_string())
}

fn worker(state: &State, field: Field<'_>) -> Result<u32, FieldError> {
    state.workers.find(&field.id()?).ok_or_else(|| field.wrong("a worker that there is"))
}

fn one_of<T>(field: Field<'_>, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, FieldError> {
    parse(field.text()?.as_json()).ok_or_else(|| field.wrong("one of the known names"))
}

/// A count that can be incremented without overflow.
fn small(field: Field<'_>) -> Result<u32, FieldError> {
    let value = u32::try_from(field.integer()?).ok().filter(|&value| value < u32::MAX);
    value.ok_or_else(|| field.wrong("a count"))
}

pub(super) fn invalid(problem: &str) -> RunError {
    RunError::new(ErrorCode::SnapshotInvalid, format!("The state of a snapshot is not valid: {problem}."))
}
