//! The events of a log in columns, a few dozen bytes per event, so that a page can hold a million of them. Of payloads only the lengths are kept.

use std::collections::HashMap;
use std::time::UNIX_EPOCH;

use super::event_reader::ReadEvent;
use super::trace::Trace;
use crate::json::Text;
use crate::run::format::{EventLine, Payload, RunError};

/// Maximum number of labels. Further ones are left out, because each event of a hostile log may have a different label.
const MOST_LABELS: usize = 5000;

/// The value of a column if there is nothing.
const NONE: i64 = -1;

/// The columns of the events read so far.
#[derive(Debug)]
pub struct EventColumns {
    columns: [Vec<i32>; NARROW],
    /// The logical time of an event minus that of its parent; 0 without a parent.
    parent: Vec<i64>,
    /// Milliseconds since the event before.
    at: Vec<i64>,
    payload_bytes: Vec<u32>,
    /// The nodes of the graph and of events.
    pub nodes: Names,
    /// Workers.
    pub workers: Names,
    /// Labels of events, such as a tool, an error code or a rule.
    pub labels: Names,
    /// Statuses that workers reported.
    pub statuses: Names,
    /// The workers that RunStarted declares, as indices into `workers`.
    pub started_workers: Vec<i32>,
    first: u64,
    start: i64,
    clock: TimeReader,
}

/// A column of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The index of the kind in [`Kind::ALL`](super::kind::Kind::ALL).
    Kind,
    /// The node of the event or of its task; -1 if there is none.
    Node,
    /// The worker; -1 if there is none.
    Worker,
    /// The attempt of the task; 0 if there is none.
    Attempt,
    /// The label; -1 if there is none.
    Label,
    /// 1 for a failure that will be retried and for a denied check or decision. For a heartbeat, the index of its status.
    Extra,
    /// Distance to the parent in events; 0 if there is none.
    Parent,
    /// Milliseconds since the event before.
    At,
}

/// Number of narrow columns, which are those before [`Column::Parent`].
const NARROW: usize = Column::Parent as usize;

impl Column {
    /// All columns, with their names.
    pub const ALL: [(Column, &str); 8] = [
        (Column::Kind, "kind"),
        (Column::Node, "node"),
        (Column::Worker, "worker"),
        (Column::Attempt, "attempt"),
        (Column::Label, "label"),
        (Column::Extra, "extra"),
        (Column::Parent, "parent"),
        (Column::At, "at"),
    ];
}

impl EventColumns {
    /// Empty columns. The given nodes are numbered in their order; other nodes get the numbers after them.
    pub fn new<'n>(nodes: impl IntoIterator<Item = Text<'n>>) -> Self {
        let mut names = Names::default();
        nodes.into_iter().for_each(|node| names.add(&node));
        EventColumns {
            columns: Default::default(),
            parent: Vec::new(),
            at: Vec::new(),
            payload_bytes: Vec::new(),
            nodes: names,
            workers: Names::default(),
            labels: Names { most: MOST_LABELS, ..Names::default() },
            statuses: Names::default(),
            started_workers: Vec::new(),
            first: 0,
            start: 0,
            clock: TimeReader::default(),
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The logical time of the first event, which is not 0 after a snapshot.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The wall clock of the first event, in milliseconds since 1970.
    pub fn start(&self) -> i64 {
        self.start
    }

    /// The logical time of the next event.
    pub fn next(&self) -> u64 {
        self.first + self.len() as u64
    }

    /// Adds the events of `trace`, which must begin at [`next`](Self::next). The error is that of the first line that is not an event; the
    /// events before it are added.
    pub fn read(&mut self, trace: Trace) -> Result<(), RunError> {
        trace.for_each(|event| self.add(event))
    }

    /// The numbers of a column from event `from` on, little-endian, and their common width in bytes: the smallest of 1, 2, 4 and, as `f64`,
    /// 8 that holds all of them.
    pub fn encode(&self, column: Column, from: usize) -> (usize, Vec<u8>) {
        match column {
            Column::Parent => narrowed(self.parent.get(from..).unwrap_or_default()),
            Column::At => narrowed(self.at.get(from..).unwrap_or_default()),
            _ => narrowed(self.columns[column as usize].get(from..).unwrap_or_default()),
        }
    }

    /// The first of the latest events whose payloads, each cut to `longest` bytes, fit in `room` bytes.
    pub fn latest_with_payloads(&self, room: usize, longest: usize) -> usize {
        let mut left = room;
        let fits = |bytes: &&u32| {
            let rest = left.checked_sub((**bytes as usize).min(longest));
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        self.len() - self.payload_bytes.iter().rev().take_while(fits).count()
    }

    fn add(&mut self, event: &ReadEvent<'_>) {
        let EventLine { time, ts, parent, payload, .. } = event.line;
        if self.is_empty() {
            (self.first, self.start) = (time, self.clock.begin(ts));
        }
        if let Payload::RunStarted { workers } = &event.event.payload {
            self.started_workers = workers.iter().map(|worker| self.workers.index(&worker.id)).collect();
        }
        let row = self.row(event);
        for (column, number) in self.columns.iter_mut().zip(row) {
            column.push(number);
        }
        self.parent.push(parent.map_or(0, |parent| time.saturating_sub(parent) as i64));
        self.at.push(self.clock.passed(ts));
        self.payload_bytes.push(payload.len() as u32);
    }

    /// The numbers of the narrow columns, in their order.
    fn row(&mut self, event: &ReadEvent<'_>) -> [i32; NARROW] {
        let payload = &event.event.payload;
        let (node, attempt) = match payload.task().map(|task| task_parts(task)) {
            Some((node, attempt)) => (self.nodes.index(&node), attempt),
            None => (event.event.node.as_ref().map_or(NONE as i32, |node| self.nodes.index(node)), 0),
        };
        let worker = worker_of(payload).map_or(NONE as i32, |worker| self.workers.index(worker));
        let label = label_of(payload).map_or(NONE as i32, |label| self.labels.index(label));
        [payload.kind() as i32, node, worker, attempt, label, self.extra(payload)]
    }

    fn extra(&mut self, payload: &Payload<'_>) -> i32 {
        match payload {
            Payload::NodeFailed { will_retry, .. } => i32::from(*will_retry),
            Payload::CapabilityCheck { allowed, .. } | Payload::PolicyDecision { allowed, .. } => i32::from(!*allowed),
            Payload::Heartbeat { status, .. } => self.statuses.index(status),
            _ => 0,
        }
    }
}

/// The node and the attempt of a task id such as `write#2`.
fn task_parts<'t>(task: &'t Text<'_>) -> (Text<'t>, i32) {
    match task.as_json().rsplit_once('#') {
        Some((node, attempt)) => (Text::from_json(node), attempt.parse().unwrap_or(0)),
        None => (task.borrowed(), 0),
    }
}

fn worker_of<'p>(payload: &'p Payload<'_>) -> Option<&'p Text<'p>> {
    match payload {
        Payload::NodeStarted { worker, .. }
        | Payload::TaskAssigned { worker, .. }
        | Payload::TaskAccepted { worker, .. }
        | Payload::TaskRejected { worker, .. }
        | Payload::Heartbeat { worker, .. } => Some(worker),
        _ => None,
    }
}

fn label_of<'p>(payload: &'p Payload<'_>) -> Option<&'p Text<'p>> {
    match payload {
        Payload::ToolInvoked { tool, .. }
        | Payload::ToolCompleted { tool, .. }
        | Payload::ToolFailed { tool, .. }
        | Payload::ToolTimedOut { tool, .. } => Some(tool),
        Payload::RunFailed { code, .. } | Payload::NodeFailed { code, .. } | Payload::Error { code, .. } => Some(code),
        Payload::CapabilityCheck { capability, .. } => Some(capability),
        Payload::PolicyDecision { rule, .. } => Some(rule),
        Payload::NodeSkipped { reason, .. } | Payload::TaskRejected { reason, .. } => Some(reason),
        Payload::TaskAssigned { reason, .. } => reason.as_ref(),
        Payload::SnapshotCreated { snapshot, .. } | Payload::SnapshotRestored { snapshot, .. } => Some(snapshot),
        _ => None,
    }
}

/// Distinct names, in order of first appearance.
#[derive(Debug)]
pub struct Names {
    list: Vec<String>,
    indices: HashMap<String, i32>,
    most: usize,
}

impl Default for Names {
    fn default() -> Self {
        Names { list: Vec::new(), indices: HashMap::new(), most: i32::MAX as usize }
    }
}

impl Names {
    /// The names, each as a JSON string without its quotes.
    pub fn list(&self) -> &[String] {
        &self.list
    }

    /// Adds a name, unless it is already in the list.
    pub fn add(&mut self, name: &Text<'_>) {
        self.index(name);
    }

    /// The index of a name, which is added if it is new. -1 if there are too many.
    fn index(&mut self, name: &Text<'_>) -> i32 {
        if let Some(index) = self.indices.get(name.as_json()) {
            return *index;
        }
        if self.list.len() >= self.most {
            return NONE as i32;
        }
        let index = self.list.len() as i32;
        self.list.push(name.as_json().to_owned());
        self.indices.insert(name.as_json().to_owned(), index);
        index
    }
}

/// Parses wall-clock times. A time that can't be parsed counts as that of the event before.
#[derive(Debug, Default)]
struct TimeReader {
    /// The text parsed last, because many events share a millisecond.
    text: String,
    milliseconds: i64,
}

impl TimeReader {
    fn begin(&mut self, ts: &str) -> i64 {
        self.passed(ts);
        self.milliseconds
    }

    /// Milliseconds since the time parsed before.
    fn passed(&mut self, ts: &str) -> i64 {
        if ts == self.text {
            return 0;
        }
        let Some(milliseconds) = milliseconds(ts) else { return 0 };
        ts.clone_into(&mut self.text);
        milliseconds - std::mem::replace(&mut self.milliseconds, milliseconds)
    }
}

fn milliseconds(ts: &str) -> Option<i64> {
    let time = humantime::parse_rfc3339(ts).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

fn narrowed<T: Copy + Into<i64>>(numbers: &[T]) -> (usize, Vec<u8>) {
    let numbers = || numbers.iter().map(|number| (*number).into());
    let (least, most) = numbers().fold((0, 0), |(least, most), number| (number.min(least), number.max(most)));
    let fits = |bits: u32| least >= -(1 << (bits - 1)) && most < 1 << (bits - 1);
    match [8, 16, 32].into_iter().find(|bits| fits(*bits)) {
        Some(8) => (1, numbers().map(|number| number as u8).collect()),
        Some(16) => (2, numbers().flat_map(|number| (number as i16).to_le_bytes()).collect()),
        Some(_) => (4, numbers().flat_map(|number| (number as i32).to_le_bytes()).collect()),
        None => (8, numbers().flat_map(|number| (number as f64).to_le_bytes()).collect()),
    }
}

#[cfg(test)]
mod tests;
