//! The schedulers by name: how a run's tasks find their workers (`docs/run-format.md` section 8).

/// How a run's tasks find their workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheduler {
    /// Pending in order; workers by id, starting after the last one assigned.
    RoundRobin,
    /// Pending in order; the worker with the fewest active tasks, then by id.
    LeastLoaded,
    /// The caller assigns tasks; this program decides nothing.
    External,
}

impl Scheduler {
    /// The scheduler of this name.
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
