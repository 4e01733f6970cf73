//! The ancestors of a run's event, found by following `parent` in the log.

use super::causal_chain::{Chain, Edge, Evidence, MAX_EDGES};
use crate::diff::stream::Source;
use crate::run::read::EventLookup;
use crate::run::{ErrorCode, RunError, event_id};
use crate::task::{Progress, Task};

/// Number of causes followed between two checks for cancellation.
const EDGES_AT_A_TIME: usize = 256;

/// The ancestors of the event at `time`. Returns `None` if there is no such event.
pub(crate) fn chain(source: &Source, time: u64, task: &mut Task<'_>) -> Result<Option<Chain>, RunError> {
    let first = source.first_time()?;
    if time < first {
        return Ok(None);
    }
    let mut log = lookup(source)?;
    let Some(mut parent) = log.event(time)?.map(|event| event.parent) else { return Ok(None) };
    let (mut chain, mut child) = (Chain::default(), time);
    while let Some(time) = parent {
        if time < first || chain.edges.len() == MAX_EDGES {
            chain.truncated = true;
            break;
        }
        if chain.edges.len() % EDGES_AT_A_TIME == 0 {
            task.report(Progress::default())?;
        }
        if time >= child {
            return Err(not_earlier(child, time));
        }
        let event = log.event(time)?.ok_or_else(|| not_earlier(child, time))?;
        (parent, child) = (event.parent, time);
        let (kind, label, evidence) = (event.kind, event.label, Evidence::Recorded);
        chain.edges.push(Edge { number: time, event_id: event_id(time), kind, label, evidence });
    }
    Ok(Some(chain))
}

/// Whether the log has an event at this time.
pub(crate) fn has_event(source: &Source, time: u64) -> Result<bool, RunError> {
    lookup(source)?.event(time).map(|event| event.is_some())
}

fn lookup(source: &Source) -> Result<EventLookup<'_>, RunError> {
    EventLookup::open(&source.log, source.first, &source.redactions)
}

fn not_earlier(child: u64, parent: u64) -> RunError {
    let message =
        format!("{} names {} as its cause, which is no earlier event of the log", event_id(child), event_id(parent));
    RunError::new(ErrorCode::ParentMissing, message).at(child)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::{silent, trace};
    use crate::run::testing::{Recorded, SampleOptions};

    #[test]
    fn ancestry_follows_the_recorded_parents() {
        let options = SampleOptions { nodes: 40, max_events: 3000, ..SampleOptions::default() };
        let recorded = Recorded::new(options);
        let source = Source::run(recorded.directory.root());
        for time in (0..=recorded.last()).step_by(7) {
            let mut expected = Vec::new();
            let mut parent = recorded.records[time as usize].parent;
            while let Some(time) = parent {
                expected.push(time);
                parent = recorded.records[time as usize].parent;
            }
            let chain = chain(&source, time, &mut silent()).unwrap().unwrap();
            assert_eq!(chain.edges.iter().map(|edge| edge.number).collect::<Vec<_>>(), expected);
            assert!(!chain.truncated);
            for edge in chain.edges {
                assert_eq!(edge.kind, recorded.records[edge.number as usize].kind.as_str());
                assert_eq!(edge.event_id, event_id(edge.number));
            }
        }
        assert_eq!(chain(&source, recorded.last() + 1, &mut silent()), Ok(None));
    }

    #[test]
    fn ancestry_ends_where_a_partial_log_begins() {
        let recorded = Recorded::new(SampleOptions { nodes: 10, max_events: 300, ..SampleOptions::default() });
        let log = recorded.log();
        let at = memchr::memchr_iter(b'\n', &log).nth(99).unwrap() + 1;
        std::fs::write(recorded.directory.log(), &log[at..]).unwrap();
        let time = recorded.last();
        for first in [Some(100), None] {
            let source = Source { first, ..Source::run(recorded.directory.root()) };
            let chain = chain(&source, time, &mut silent()).unwrap().unwrap();
            assert!(chain.truncated);
            assert!(chain.edges.iter().all(|edge| edge.number >= 100));
        }
    }

    #[test]
    fn event_ids_have_one_spelling() {
        let recorded = Recorded::new(SampleOptions { max_events: 10, ..SampleOptions::default() });
        let path = recorded.directory.root();
        assert_eq!(trace(path, "evt_0").unwrap(), Chain::default());
        for id in
            ["", "0", "evt_", "evt_-1", "evt_00", "evt_+1", "rec_0", "evt_99", "EVT_0", "evt_99999999999999999999"]
        {
            assert_eq!(trace(path, id).unwrap_err().code(), "NoSuchEvent", "{id}");
        }
    }
}
