//! Every task of a run, and the order of those that wait for a worker.
//!
//! The waiting ones are linked through the tasks themselves, so that a task joins and leaves in the same time
//! however many wait.

/// Where a task is in its course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// It waits for a worker.
    Pending,
    /// A worker has it.
    Assigned,
    /// The worker will run it.
    Accepted,
    /// The worker runs it.
    Running,
    /// It ended well.
    Done,
    /// It ended badly.
    Failed,
    /// Its node was skipped before it ran: no part of the state any more.
    Withdrawn,
}

/// An attempt of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its node, as a place in the graph.
    pub node: u32,
    /// Which attempt of the node it is, from 1.
    pub attempt: u32,
    /// Where it is in its course.
    pub status: TaskStatus,
    /// The worker that has it, or had it when it ended.
    pub worker: Option<u32>,
    /// When it was handed to that worker. 0 without one.
    pub assigned_at: u64,
    /// When it ended. 0 before.
    pub ended_at: u64,
    /// When it joined those that wait, for the last time.
    pub joined_at: u64,
    before: Option<Place>,
    after: Option<Place>,
}

/// A place in the list of tasks; one more than its index, so that none costs nothing.
type Place = std::num::NonZeroU32;

fn place(task: u32) -> Option<Place> {
    Place::new(task + 1)
}

fn index(place: Place) -> u32 {
    place.get() - 1
}

/// The tasks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    list: Vec<Task>,
    first: Option<Place>,
    last: Option<Place>,
}

impl Task {
    /// The worker that is busy with it: None while it waits and when it has ended.
    #[inline]
    pub fn active_worker(&self) -> Option<u32> {
        match self.status {
            TaskStatus::Assigned | TaskStatus::Accepted | TaskStatus::Running => self.worker,
            _ => None,
        }
    }

    /// Whether it ran to an end, good or bad.
    pub fn has_ended(&self) -> bool {
        matches!(self.status, TaskStatus::Done | TaskStatus::Failed)
    }
}

impl Tasks {
    /// The task at a place.
    #[inline]
    pub fn get(&self, task: u32) -> &Task {
        &self.list[task as usize]
    }

    /// All there are with their places, in the order in which they were scheduled. Those that were withdrawn are left out.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Task)> {
        let all = self.list.iter().enumerate().map(|(at, task)| (at as u32, task));
        all.filter(|(_, task)| task.status != TaskStatus::Withdrawn)
    }

    /// Those that wait for a worker, in order.
    pub fn pending(&self) -> impl Iterator<Item = u32> {
        let after = |&at: &Place| self.list[index(at) as usize].after;
        std::iter::successors(self.first, after).map(index)
    }

    /// Adds a task that waits behind the others.
    pub(in crate::run::state) fn join(&mut self, node: u32, attempt: u32, time: u64) -> u32 {
        let task = self.push(Task {
            node,
            attempt,
            status: TaskStatus::Pending,
            worker: None,
            assigned_at: 0,
            ended_at: 0,
            joined_at: time,
            before: None,
            after: None,
        });
        self.link(task);
        task
    }

    /// Adds a task as it was. Those that wait are listed afterwards, by [`wait_since`](Self::wait_since).
    pub(in crate::run::state) fn restore(&mut self, node: u32, attempt: u32, status: TaskStatus) -> &mut Task {
        let blank = Task {
            node,
            attempt,
            status,
            worker: None,
            assigned_at: 0,
            ended_at: 0,
            joined_at: 0,
            before: None,
            after: None,
        };
        let task = self.push(blank);
        self.get_mut(task)
    }

    /// How many there are, withdrawn ones too: the place of the next.
    pub(in crate::run::state) fn len(&self) -> u32 {
        self.list.len() as u32
    }

    fn push(&mut self, task: Task) -> u32 {
        self.list.push(task);
        self.len() - 1
    }

    fn get_mut(&mut self, task: u32) -> &mut Task {
        &mut self.list[task as usize]
    }

    /// Lists a restored task as the last of those that wait.
    pub(in crate::run::state) fn wait_since(&mut self, task: u32, time: u64) {
        self.get_mut(task).joined_at = time;
        self.link(task);
    }

    /// Puts a task behind all that wait.
    fn link(&mut self, task: u32) {
        let before = self.last;
        (self.get_mut(task).before, self.get_mut(task).after) = (before, None);
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

    /// Hands a task to a worker, out of those that wait or from another worker.
    pub(in crate::run::state) fn assign(&mut self, task: u32, worker: u32, time: u64) {
        if self.get(task).status == TaskStatus::Pending {
            self.unlink(task);
        }
        let task = self.get_mut(task);
        (task.status, task.worker, task.assigned_at) = (TaskStatus::Assigned, Some(worker), time);
    }

    /// Puts a task that a worker has back behind all that wait.
    pub(in crate::run::state) fn rejoin(&mut self, task: u32, time: u64) {
        let given_back = self.get_mut(task);
        (given_back.status, given_back.worker) = (TaskStatus::Pending, None);
        (given_back.assigned_at, given_back.joined_at) = (0, time);
        self.link(task);
    }

    /// Moves a task that a worker has on.
    pub(in crate::run::state) fn set_status(&mut self, task: u32, status: TaskStatus) {
        self.get_mut(task).status = status;
    }

    /// Ends a task that runs.
    pub(in crate::run::state) fn end(&mut self, task: u32, status: TaskStatus, time: u64) {
        let task = self.get_mut(task);
        (task.status, task.ended_at) = (status, time);
    }

    /// Takes a task that has not run out of the state.
    pub(in crate::run::state) fn withdraw(&mut self, task: u32) {
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
    fn a_task_is_small() {
        assert!(size_of::<Task>() <= 56, "{}", size_of::<Task>());
    }
}
