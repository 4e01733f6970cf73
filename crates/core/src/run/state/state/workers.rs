//! All workers of a run, accessible by index, by id, and in the order of ids.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use crate::json::Text;
use crate::run::graph::Lookup;

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its id.
    pub id: Text<'static>,
    /// The status that it reported last: a canonical JSON string without its quotes.
    pub status: String,
    /// Its capabilities, sorted, without duplicates.
    pub capabilities: Vec<Text<'static>>,
    /// Number of tasks that it is busy with.
    pub active: u32,
}

/// The workers of a run.
#[derive(Clone, Debug, Default)]
pub struct Workers {
    list: Vec<Worker>,
    lookup: Lookup,
    by_id: BTreeMap<Text<'static>, u32>,
}

impl Worker {
    /// Whether it may be assigned a task that needs these capabilities.
    pub fn is_eligible(&self, needed: &[Text<'_>]) -> bool {
        matches!(self.status.as_str(), "idle" | "busy")
            && needed.iter().all(|one| self.capabilities.binary_search_by(|own| own.cmp(one)).is_ok())
    }
}

impl Workers {
    /// The worker at an index.
    #[inline]
    pub fn get(&self, worker: u32) -> &Worker {
        &self.list[worker as usize]
    }

    /// The index of the worker with this id.
    #[inline]
    pub fn find(&self, id: &Text<'_>) -> Option<u32> {
        self.lookup.find(id.as_json(), |worker| self.list[worker as usize].id.as_json() == id.as_json())
    }

    /// The indices of all workers, in the order of the UTF-8 bytes of their ids.
    pub fn by_id(&self) -> impl Iterator<Item = u32> {
        self.by_id.values().copied()
    }

    /// Like [`by_id`](Self::by_id), but starts after `worker`, wraps around and ends with it. Without a worker, starts with the first.
    pub fn by_id_behind(&self, worker: Option<u32>) -> impl Iterator<Item = u32> {
        let id = worker.map(|worker| &self.get(worker).id);
        let behind = (id.map_or(Unbounded, Excluded), Unbounded);
        let rest = id.map(|id| self.by_id.range::<Text<'static>, _>(..=id)).into_iter().flatten();
        self.by_id.range::<Text<'static>, _>(behind).chain(rest).map(|(_, &worker)| worker)
    }

    /// Number of workers.
    pub fn len(&self) -> u32 {
        self.list.len() as u32
    }

    /// Whether there are no workers yet.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a worker with a new id. Returns its index.
    pub(super) fn add(&mut self, id: &Text<'_>, status: &str, capabilities: &[Text<'_>]) -> u32 {
        let (worker, id) = (self.len(), id.clone().into_owned());
        let list = &self.list;
        self.lookup.insert(id.as_json(), worker, |other| list[other as usize].id.as_json());
        self.by_id.insert(id.clone(), worker);
        self.list.push(Worker { id, status: status.to_owned(), capabilities: owned(capabilities), active: 0 });
        worker
    }

    /// Updates what a worker reported. Returns whether that changed anything.
    pub(super) fn update(&mut self, worker: u32, status: &str, capabilities: Option<&[Text<'_>]>) -> bool {
        let worker = &mut self.list[worker as usize];
        let mut changed = worker.status != status;
        if changed {
            status.clone_into(&mut worker.status);
        }
        if let Some(capabilities) = capabilities
            && worker.capabilities != capabilities
        {
            worker.capabilities = owned(capabilities);
            changed = true;
        }
        changed
    }

    /// Adds `by` to the number of tasks that a worker is busy with.
    pub(super) fn change_load(&mut self, worker: u32, by: i32) {
        let active = &mut self.list[worker as usize].active;
        *active = active.saturating_add_signed(by);
    }
}

impl PartialEq for Workers {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for Workers {}

fn owned(texts: &[Text<'_>]) -> Vec<Text<'static>> {
    texts.iter().map(|text| text.clone().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(ids: &[&str]) -> Workers {
        let mut workers = Workers::default();
        for id in ids {
            workers.add(&Text::from_plain(id), "idle", &[]);
        }
        workers
    }

    #[test]
    fn workers_are_found_and_ordered_by_id() {
        let workers = workers(&["c", "a", "é", "b"]);
        assert_eq!(workers.find(&Text::from_plain("é")), Some(2));
        assert_eq!(workers.find(&Text::from_plain("d")), None);
        assert_eq!(workers.by_id().collect::<Vec<_>>(), [1, 3, 0, 2]);
        assert_eq!(workers.by_id_behind(None).collect::<Vec<_>>(), [1, 3, 0, 2]);
        assert_eq!(workers.by_id_behind(Some(3)).collect::<Vec<_>>(), [0, 2, 1, 3]);
        assert_eq!(workers.by_id_behind(Some(2)).collect::<Vec<_>>(), [1, 3, 0, 2]);
    }

    #[test]
    fn worker_update_reports_whether_anything_changed() {
        let mut workers = workers(&["a"]);
        let net = [Text::from_plain("net")];
        assert!(!workers.update(0, "idle", None));
        assert!(!workers.update(0, "idle", Some(&[])));
        assert!(workers.update(0, "busy", None));
        assert!(workers.update(0, "busy", Some(&net)));
        assert!(!workers.update(0, "busy", Some(&net)));
    }

    #[test]
    fn a_worker_is_eligible_by_status_and_all_capabilities() {
        let [gpu, net] = ["gpu", "net"].map(Text::from_plain);
        let mut workers = workers(&["a"]);
        workers.update(0, "busy", Some(&[gpu.clone(), net.clone()]));
        assert!(workers.get(0).is_eligible(&[]));
        assert!(workers.get(0).is_eligible(std::slice::from_ref(&net)));
        assert!(workers.get(0).is_eligible(&[gpu, net.clone()]));
        assert!(!workers.get(0).is_eligible(&[net, Text::from_plain("zone")]));
        workers.update(0, "away", None);
        assert!(!workers.get(0).is_eligible(&[]));
    }
}
