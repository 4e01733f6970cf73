//! The schedulers: the rules by which a run's tasks are assigned to workers (`docs/run-format.md` section 8).

/// The rule by which a run's tasks are assigned to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheduler {
    /// Waiting tasks in order; workers by id, starting after the worker assigned last.
    RoundRobin,
    /// Waiting tasks in order; the worker with the fewest active tasks, then by id.
    LeastLoaded,
    /// The caller assigns tasks; this program decides nothing.
    External,
}

impl Scheduler {
    /// The scheduler with this name. Returns `None` if there is none.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Scheduler::RoundRobin, Scheduler::LeastLoaded, Scheduler::External];
        all.into_iter().find(|scheduler| scheduler.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheduler::RoundRobin => "round-robin",
            Scheduler::LeastLoaded => "least-loaded",
            Scheduler::External => "external",
        }
    }
}
