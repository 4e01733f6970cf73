//! All tool calls of a run, including closed ones: a task must not use the id of a call twice, and output hashes are part of the state.
//! Therefore a call takes few bytes, and all ids are in one string.

use super::stored_hash::StoredHash;
use crate::json::Text;
use crate::run::graph::Lookup;

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallStatus {
    /// It has no result yet.
    Open,
    /// It returned an output.
    Completed,
    /// It returned an error.
    Failed,
    /// It timed out.
    TimedOut,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The task that made it.
    pub task: u32,
    /// The call's status.
    pub status: CallStatus,
    /// The hash of its normalised output, once it is completed.
    pub output_hash: Option<StoredHash>,
    tool: u32,
    /// The previous call of the same task.
    previous: Option<CallNumber>,
    id_start: u64,
}

/// An index into the list of calls plus one, so that an `Option` takes no extra space.
type CallNumber = std::num::NonZeroU32;

fn index(place: CallNumber) -> u32 {
    place.get() - 1
}

/// The calls of a task.
#[derive(Clone, Copy, Debug, Default)]
struct TaskCalls {
    last: Option<CallNumber>,
    /// Calls that were closed before the task ended are not in the lookup.
    has_ended: bool,
}

/// The calls of a run.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    list: Vec<Call>,
    /// Indexed by task.
    of_tasks: Vec<TaskCalls>,
    /// Contains no calls that were closed before their task ended, so that it stays small: only an illegal event refers to those.
    lookup: Lookup,
    ids: String,
    tools: Vec<Box<str>>,
    tool_lookup: Lookup,
}

impl Calls {
    /// The call at an index.
    #[inline]
    pub fn get(&self, call: u32) -> &Call {
        &self.list[call as usize]
    }

    /// All calls with their indices, in the order in which they were opened.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &Call)> {
        self.list.iter().enumerate().map(|(at, call)| (at as u32, call))
    }

    /// The id of a call, unique within its task: a canonical JSON string without its quotes.
    #[inline]
    pub fn id(&self, call: u32) -> &str {
        id_in(&self.ids, &self.list, call)
    }

    /// The tool that was called: a canonical JSON string without its quotes.
    #[inline]
    pub fn tool(&self, call: u32) -> &str {
        &self.tools[self.get(call).tool as usize]
    }

    /// The index of a task's call with this id.
    #[inline]
    pub fn find(&self, task: u32, id: &Text<'_>) -> Option<u32> {
        let id = id.as_json();
        let found = self.lookup.find(&(task, id), |call| self.get(call).task == task && self.id(call) == id);
        found.or_else(|| self.of_ended_task(task).find(|&call| self.id(call) == id))
    }

    /// The calls of a task that has ended; empty for other tasks.
    fn of_ended_task(&self, task: u32) -> impl Iterator<Item = u32> {
        let calls = self.of_tasks.get(task as usize).filter(|calls| calls.has_ended);
        let last = calls.and_then(|calls| calls.last);
        std::iter::successors(last, |&call| self.get(index(call)).previous).map(index)
    }

    /// Records that a task has ended, so that its closed calls need not be found quickly any more.
    pub(super) fn end_task(&mut self, task: u32) {
        let Some(calls) = self.of_tasks.get_mut(task as usize) else { return };
        calls.has_ended = true;
        let mut next = calls.last;
        while let Some(at) = next.map(index) {
            let call = &self.list[at as usize];
            // An open call may still be closed.
            if call.status != CallStatus::Open {
                self.lookup.remove(&(task, id_in(&self.ids, &self.list, at)), |other| other == at);
            }
            next = call.previous;
        }
    }

    /// Opens a call with an id that its task has not used yet. Returns its index.
    pub(super) fn open(&mut self, task: u32, tool: &Text<'_>, id: &Text<'_>) -> u32 {
        let (call, tool, id) = (self.list.len() as u32, self.tool_number(tool.as_json()), id.as_json());
        let id_start = self.ids.len() as u64;
        self.ids.push_str(id);
        if self.of_tasks.len() <= task as usize {
            self.of_tasks.resize(task as usize + 1, TaskCalls::default());
        }
        let previous = std::mem::replace(&mut self.of_tasks[task as usize].last, CallNumber::new(call + 1));
        self.list.push(Call { task, status: CallStatus::Open, output_hash: None, tool, previous, id_start });
        let (list, ids) = (&self.list, &self.ids);
        let key = |call: u32| (list[call as usize].task, id_in(ids, list, call));
        self.lookup.insert(key(call), call, key);
        call
    }

    fn tool_number(&mut self, tool: &str) -> u32 {
        if let Some(known) = self.tool_lookup.find(tool, |other| *self.tools[other as usize] == *tool) {
            return known;
        }
        let number = self.tools.len() as u32;
        self.tools.push(tool.into());
        let tools = &self.tools;
        self.tool_lookup.insert(tool, number, |other| &*tools[other as usize]);
        number
    }

    /// Closes an open call.
    pub(super) fn close(&mut self, call: u32, status: CallStatus, output_hash: Option<&Text<'_>>) {
        let call = &mut self.list[call as usize];
        (call.status, call.output_hash) = (status, output_hash.map(StoredHash::of));
    }
}

/// The id of a call, which ends where the next one begins.
fn id_in<'i>(ids: &'i str, list: &[Call], call: u32) -> &'i str {
    let end = list.get(call as usize + 1).map_or(ids.len(), |next| next.id_start as usize);
    ids.get(list[call as usize].id_start as usize..end).unwrap_or_default()
}

impl PartialEq for Calls {
    fn eq(&self, other: &Self) -> bool {
        (&self.list, &self.ids, &self.tools) == (&other.list, &other.ids, &other.tools)
    }
}

impl Eq for Calls {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_by_task_and_id() {
        let mut calls = Calls::default();
        let [fetch, search] = ["fetch", "search"].map(Text::from_plain);
        for task in 0..100 {
            for id in 0..10 {
                let tool = if id % 2 == 0 { &fetch } else { &search };
                calls.open(task, tool, &Text::from_plain(&format!("call-{id}")));
            }
        }
        let found = calls.find(42, &Text::from_plain("call-7")).unwrap();
        assert_eq!((calls.get(found).task, calls.id(found), calls.tool(found)), (42, "call-7", "search"));
        assert_eq!(calls.find(42, &Text::from_plain("call-70")), None);
        assert_eq!(calls.find(100, &Text::from_plain("call-7")), None);
        calls.close(found, CallStatus::Completed, Some(&Text::from_plain("h")));
        assert_eq!(calls.get(found).status, CallStatus::Completed);
        assert_eq!(calls.tools.len(), 2);
    }

    #[test]
    fn calls_of_a_task_that_has_ended_are_still_found() {
        let mut calls = Calls::default();
        let [fetch, open, closed] = ["fetch", "open", "closed"].map(Text::from_plain);
        for task in 0..3 {
            calls.open(task, &fetch, &open);
            let call = calls.open(task, &fetch, &closed);
            calls.close(call, CallStatus::Failed, None);
        }
        calls.end_task(1);
        assert_eq!([0, 1, 2].map(|task| calls.find(task, &open)), [Some(0), Some(2), Some(4)]);
        assert_eq!([0, 1, 2].map(|task| calls.find(task, &closed)), [Some(1), Some(3), Some(5)]);
        assert_eq!(calls.find(1, &fetch), None);
        // The closed call is now found only through the list of its task.
        calls.of_tasks[1].has_ended = false;
        assert_eq!([&open, &closed].map(|id| calls.find(1, id)), [Some(2), None]);
    }

    #[test]
    fn call_record_stays_small_in_memory() {
        assert!(size_of::<Call>() <= 64, "{}", size_of::<Call>());
    }
}
