//! All tasks of a run, and the order of those that wait for a worker.
//!
//! The tasks that wait form a linked list, so that a task joins and leaves in constant time, however many wait.

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// It waits for a worker.
    Pending,
    /// It is assigned to a worker.
    Assigned,
    /// The worker accepted it.
    Accepted,
    /// The worker runs it.
    Running,
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
    /// Its node was skipped before the task ran. It is no longer part of the state.
    Withdrawn,
}

/// An attempt of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its node, as an index into the graph's nodes.
    pub node: u32,
    /// Which attempt of the node it is, from 1.
    pub attempt: u32,
    /// The task's status.
    pub status: TaskStatus,
    /// The worker that has it, or had it when it ended.
    pub worker: Option<u32>,
    /// The logical time at which it was assigned to that worker. 0 without a worker.
    pub assigned_at: u64,
    /// The logical time at which it ended. 0 before.
    pub ended_at: u64,
    /// The logical time at which it last joined the waiting tasks.
    pub joined_at: u64,
    before: Option<TaskNumber>,
    after: Option<TaskNumber>,
}

/// An index into the list of tasks plus one, so that an `Option` takes no extra space.
type TaskNumber = std::num::NonZeroU32;

fn place(task: u32) -> Option<TaskNumber> {
    TaskNumber::new(task + 1)
}

fn index(place: TaskNumber) -> u32 {
    place.get() - 1
}

/// The tasks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    list: Vec<Task>,
    first: Option<TaskNumber>,
    last: Option<TaskNumber>,
}

impl Task {
    /// The worker that is busy with it. `None` while it waits and after it has ended.
    #[inline]
    pub fn active_worker(&self) -> Option<u32> {
        match self.status {
            TaskStatus::Assigned | TaskStatus::Accepted | TaskStatus::Running => self.worker,
            _ => None,
        }
    }

    /// Whether it has succeeded or failed.
    pub fn has_ended(&self) -> bool {
        matches!(self.status, TaskStatus::Done | TaskStatus::Failed)
    }
}

impl Tasks {
    /// The task at an index.
    #[inline]
    pub fn get(&self, task: u32) -> &Task {
        &self.list[task as usize]
    }

    /// All tasks except withdrawn ones, with their indices, in the order in which they were scheduled.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Task)> {
        let all = self.list.iter().enumerate().map(|(at, task)| (at as u32, task));
        all.filter(|(_, task)| task.status != TaskStatus::Withdrawn)
    }

    /// The tasks that wait for a worker, in order.
    pub fn pending(&self) -> impl Iterator<Item = u32> {
        let after = |&at: &TaskNumber| self.list[index(at) as usize].after;
        std::iter::successors(self.first, after).map(index)
    }

    /// Adds a task, last of those that wait. Returns its index.
    pub(super) fn join(&mut self, node: u32, attempt: u32, time: u64) -> u32 {
        let task = self.len();
        self.restore(node, attempt, TaskStatus::Pending);
        self.wait_since(task, time);
        task
    }

    /// Adds a task with the given state. Those that wait are queued afterwards, with [`wait_since`](Self::wait_since).
    pub(super) fn restore(&mut self, node: u32, attempt: u32, status: TaskStatus) -> &mut Task {
        let task = self.len();
        self.list.push(Task {
            node,
            attempt,
            status,
            worker: None,
            assigned_at: 0,
            ended_at: 0,
            joined_at: 0,
            before: None,
            after: None,
        });
        self.get_mut(task)
    }

    /// Number of tasks, including withdrawn ones, which is the index of the next task.
    pub(super) fn len(&self) -> u32 {
        self.list.len() as u32
    }

    fn get_mut(&mut self, task: u32) -> &mut Task {
        &mut self.list[task as usize]
    }

    /// Queues a task that waits and is not queued, last of those that wait.
    pub(super) fn wait_since(&mut self, task: u32, time: u64) {
        let before = self.last;
        let waiting = self.get_mut(task);
        (waiting.joined_at, waiting.before, waiting.after) = (time, before, None);
        match before {
            Some(before) => self.get_mut(index(before)).after = place(task),
            None => self.first = place(task),
        }
        self.last = place(task);
    }

    fn unlink(&mut self, task: u32) {
        let Task { before, after, .. } = *self.get(task);
        match before {
            Some(before) => self.get_mut(index(before)).after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => self.get_mut(index(after)).before = before,
            None => self.last = before,
        }
    }

    /// Assigns a task to a worker. The task may be waiting, or belong to another worker.
    pub(super) fn assign(&mut self, task: u32, worker: u32, time: u64) {
        if self.get(task).status == TaskStatus::Pending {
            self.unlink(task);
        }
        let task = self.get_mut(task);
        (task.status, task.worker, task.assigned_at) = (TaskStatus::Assigned, Some(worker), time);
    }

    /// Takes a task from its worker, and appends it to those that wait.
    pub(super) fn rejoin(&mut self, task: u32, time: u64) {
        let given_back = self.get_mut(task);
        (given_back.status, given_back.worker) = (TaskStatus::Pending, None);
        given_back.assigned_at = 0;
        self.wait_since(task, time);
    }

    /// Sets the status of a task that a worker has.
    pub(super) fn set_status(&mut self, task: u32, status: TaskStatus) {
        self.get_mut(task).status = status;
    }

    /// Ends a running task.
    pub(super) fn end(&mut self, task: u32, status: TaskStatus, time: u64) {
        let task = self.get_mut(task);
        (task.status, task.ended_at) = (status, time);
    }

    /// Removes a task that has not run from the state.
    pub(super) fn withdraw(&mut self, task: u32) {
        if self.get(task).status == TaskStatus::Pending {
            self.unlink(task);
        }
        self.get_mut(task).status = TaskStatus::Withdrawn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(tasks: &Tasks) -> Vec<u32> {
        tasks.pending().collect()
    }

    #[test]
    fn tasks_wait_in_the_order_in_which_they_joined() {
        let mut tasks = Tasks::default();
        let [a, b, c] = [0, 1, 2].map(|node| tasks.join(node, 1, node.into()));
        assert_eq!(pending(&tasks), [a, b, c]);
        tasks.assign(b, 0, 3);
        assert_eq!(pending(&tasks), [a, c]);
        tasks.assign(a, 0, 4);
        tasks.rejoin(b, 5);
        assert_eq!(pending(&tasks), [c, b]);
        tasks.withdraw(b);
        tasks.withdraw(c);
        assert!(pending(&tasks).is_empty());
        tasks.rejoin(a, 6);
        assert_eq!(pending(&tasks), [a]);
        assert_eq!(tasks.iter().map(|(at, _)| at).collect::<Vec<_>>(), [a]);
    }

    #[test]
    fn task_record_stays_small_in_memory() {
        assert!(size_of::<Task>() <= 56, "{}", size_of::<Task>());
    }
}
