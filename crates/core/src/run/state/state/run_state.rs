//! The state as the API shows it (`RunState`): the parts that users ask for, under the names of the specification.
//!
//! It contains less than a snapshot, and lists tasks by worker.

use super::document::close_coordinator;
use super::{Run, State, TaskStatus};
use crate::hash::{HexHash, as_text};
use crate::json::{Text, Writer};
use crate::run::state::entry::write_task_id;

/// The tasks of a worker, as indices into the state.
#[derive(Clone, Debug, Default)]
struct TasksOfWorker {
    active: Vec<u32>,
    /// In the order in which they ended.
    completed: Vec<u32>,
}

impl State {
    /// Writes the state as `{"coordinator":…,"stateHash":…,"workers":…}`, where `hash` is the state hash. Before RunCreated, writes nothing
    /// and returns false.
    pub fn write_run_state(&self, out: &mut Vec<u8>, hash: &HexHash) -> bool {
        let Some(run) = &self.run else { return false };
        let mut state = Writer::new(out).object();
        self.write_run_coordinator(state.key("coordinator"), run);
        state.key("stateHash").text(as_text(hash));
        self.write_run_workers(state.key("workers"));
        state.close();
        true
    }

    fn write_run_coordinator(&self, out: Writer<'_>, run: &Run) {
        let mut coordinator = self.open_coordinator(out);
        self.write_task_ids(coordinator.key("pendingTasks"), self.tasks.pending());
        close_coordinator(coordinator, run);
    }

    fn write_task_ids(&self, out: Writer<'_>, tasks: impl IntoIterator<Item = u32>) {
        let mut ids = out.array();
        for task in tasks {
            write_task_id(ids.element(), self, self.tasks.get(task));
        }
        ids.close();
    }

    fn write_run_workers(&self, out: Writer<'_>) {
        let mut tasks = self.tasks_by_worker();
        let mut workers = out.object();
        for worker in self.workers.by_id() {
            let of_worker = std::mem::take(&mut tasks[worker as usize]);
            self.write_run_worker(workers.text_key(self.workers.get(worker).id.as_json()), worker, of_worker);
        }
        workers.close();
    }

    fn write_run_worker(&self, out: Writer<'_>, worker: u32, tasks: TasksOfWorker) {
        let worker = self.workers.get(worker);
        let mut object = out.object();
        self.write_active_tasks(object.key("activeTasks"), &tasks.active);
        object.key("capabilities").texts(&worker.capabilities);
        self.write_task_ids(object.key("completedTasks"), tasks.completed);
        object.key("status").text(&worker.status);
        object.key("workerId").text(worker.id.as_json());
        object.close();
    }

    fn write_active_tasks(&self, out: Writer<'_>, tasks: &[u32]) {
        let mut by_id: Vec<(Text<'_>, u32)> =
            tasks.iter().map(|&task| (Text::from_canonical(self.task_id(task)), task)).collect();
        by_id.sort_unstable();
        let mut active = out.object();
        for (id, task) in by_id {
            let task = self.tasks.get(task);
            let mut object = active.text_key(id.as_json()).object();
            object.key("assignedAt").integer(task.assigned_at);
            object.key("attempt").integer(task.attempt.into());
            object.key("node").text(self.dag.nodes()[task.node as usize].id.as_json());
            object.key("status").text(task.status.as_str());
            object.close();
        }
        active.close();
    }

    fn tasks_by_worker(&self) -> Vec<TasksOfWorker> {
        let mut tasks = vec![TasksOfWorker::default(); self.workers.len() as usize];
        for (at, task) in self.tasks.iter() {
            let Some(of_worker) = task.worker.and_then(|worker| tasks.get_mut(worker as usize)) else { continue };
            match task.status {
                TaskStatus::Done => of_worker.completed.push(at),
                _ if task.active_worker().is_some() => of_worker.active.push(at),
                _ => {}
            }
        }
        for of_worker in &mut tasks {
            of_worker.completed.sort_by_key(|&task| self.tasks.get(task).ended_at);
        }
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::to_hex;
    use crate::run::sample::{Sample, any_options};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn run_state(state: &State) -> Value {
        let mut out = Vec::new();
        assert!(state.write_run_state(&mut out, &to_hex(&state.hash().unwrap())));
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn run_state_is_empty_before_the_first_event() {
        let sample = Sample::new(Default::default());
        let mut out = Vec::new();
        assert!(!sample.state_after(0).write_run_state(&mut out, &[b'0'; 64]));
        assert!(out.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn run_state_agrees_with_the_snapshot_document(options in any_options(), at in any::<prop::sample::Index>()) {
            let sample = Sample::new(options);
            let state = sample.state_after(1 + at.index(sample.events.len()));
            let shown = run_state(&state);
            let document: Value = serde_json::from_str(&state.to_canonical().unwrap()).unwrap();
            let mut coordinator = document["coordinator"].clone();
            let pending = coordinator["pendingTasks"].as_array().unwrap();
            coordinator["pendingTasks"] = pending.iter().map(|pair| pair[1].clone()).collect();
            prop_assert_eq!(&shown["coordinator"], &coordinator);
            let mut workers = json!({});
            for (id, worker) in document["workers"].as_object().unwrap() {
                let (mut active, mut done) = (json!({}), Vec::new());
                for (task, of) in document["tasks"].as_object().unwrap() {
                    match of["status"].as_str().unwrap() {
                        "Done" if of["worker"] == id.as_str() => done.push((of["endedAt"].as_u64(), task)),
                        "Assigned" | "Accepted" | "Running" if of["worker"] == id.as_str() => active[task] = of.clone(),
                        _ => {}
                    }
                }
                active.as_object_mut().unwrap().values_mut().for_each(|task| { task.as_object_mut().unwrap().remove("worker"); });
                done.sort();
                workers[id] = json!({
                    "workerId": id, "status": worker["status"], "capabilities": worker["capabilities"],
                    "activeTasks": active, "completedTasks": done.into_iter().map(|(_, task)| task).collect::<Vec<_>>(),
                });
            }
            prop_assert_eq!(&shown["workers"], &workers);
        }
    }
}
