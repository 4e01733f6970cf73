//! Computes the sum of the hashes of a state's entries from scratch. A sum does not depend on the order of its terms, so several threads
//! share the work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::accumulator::Accumulator;
use super::entry::{Slot, slots, write_entry, write_task_entry};
use super::state::{State, Task};
use crate::hash::HashBatch;
use crate::task::spare_cores;
use crate::task::threading::scoped_builder;

/// Number of entries that a thread claims at a time, a few tens of microseconds of work.
const GROUP_ENTRIES: usize = 256;

/// Number of groups for each thread. Starting a thread takes as long as hashing some hundred entries.
const GROUPS_PER_THREAD: usize = 32;

/// An entry of a state.
enum Entry<'s> {
    /// An entry with a slot.
    Slotted(Slot),
    /// A task of an earlier attempt.
    EarlierTask(&'s Task),
}

/// The sum of the hashes of all entries.
pub(super) fn sum_of_entries(state: &State) -> Accumulator {
    let groups = (state.calls().iter().len() + state.nodes().len()) / GROUP_ENTRIES;
    match groups / GROUPS_PER_THREAD {
        0 => sum_of_claimed(state, &AtomicUsize::new(0)),
        more => sum_with(more.min(spare_cores()), state),
    }
}

fn sum_with(helpers: usize, state: &State) -> Accumulator {
    let claimed = AtomicUsize::new(0);
    let work = || sum_of_claimed(state, &claimed);
    thread::scope(|scope| {
        // If the system refuses a thread, the others do its work.
        let helper = |_| scoped_builder().spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (0..helpers).map_while(helper).collect();
        let mut sum = work();
        for helper in helpers {
            let part = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sum.add(&part.to_bytes());
        }
        sum
    })
}

/// Claims groups of entries until none are left, and returns the sum of their hashes.
fn sum_of_claimed(state: &State, claimed: &AtomicUsize) -> Accumulator {
    let (mut entries, mut passed) = (entries(state), 0);
    let (mut batch, mut hashes) = (HashBatch::default(), Vec::new());
    let mut sum = Accumulator::default();
    loop {
        let group = claimed.fetch_add(1, Ordering::Relaxed);
        let others = (group - passed) * GROUP_ENTRIES;
        passed = group + 1;
        batch.clear();
        for entry in entries.by_ref().skip(others).take(GROUP_ENTRIES) {
            batch.write(|out| write(out, state, &entry));
        }
        if batch.count() == 0 {
            return sum;
        }
        batch.hash_into(&mut hashes);
        hashes.iter().for_each(|hash| sum.add(hash));
    }
}

fn entries(state: &State) -> impl Iterator<Item = Entry<'_>> {
    let is_earlier = |&(at, task): &(u32, &Task)| state.nodes()[task.node as usize].task != Some(at);
    let earlier = state.tasks().iter().filter(is_earlier).map(|(_, task)| Entry::EarlierTask(task));
    slots(state).map(Entry::Slotted).chain(earlier)
}

fn write(out: &mut Vec<u8>, state: &State, entry: &Entry<'_>) {
    match entry {
        Entry::Slotted(slot) => write_entry(out, state, *slot),
        Entry::EarlierTask(task) => write_task_entry(out, state, task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::sample::{Sample, SampleOptions};
    use crate::run::state::state_hash::StateHasher;

    #[test]
    fn parallel_sum_adds_each_entry_once() {
        let options = SampleOptions { seed: 3, nodes: 400, max_events: 4000, ..SampleOptions::default() };
        let sample = Sample::new(options);
        let state = sample.state_after(sample.events.len());
        assert!(entries(&state).count() > 5 * GROUP_ENTRIES);
        assert!(entries(&state).any(|entry| matches!(entry, Entry::EarlierTask(_))));
        for helpers in 0..4 {
            assert_eq!(sum_with(helpers, &state), *StateHasher::of(&state).sum(), "{helpers} helpers");
        }
    }
}
