//! The diff: where two recordings diverge, the events there, their ancestors and the likely cause.

use std::collections::HashSet;

use super::align::{Compared, Divergence, DivergenceKind, Edits, Parting, Request, divergence, edits, start_of};
use super::ancestry::{Cause, Chain, affected_nodes, cause, chain, has_event};
use super::comparable::Comparable;
use super::document::quoted;
use super::error::{DiffError, Side};
use super::projection::{Field, Pair, fields, same_place};
use super::stream::{Members, RunEvents, SessionRecords, Source, SourceKind};
use crate::hash::{as_text, sha256_hex};
use crate::json::{Field as JsonField, Nesting, ROOT, Text, names};
use crate::run::{Kind, RunDirectory};
use crate::task::Task;

/// The options of a diff.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// Which events and values are compared.
    pub compared: Compared,
    /// Whether to compute the edit list.
    pub full: bool,
}

/// One side of a divergence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffSide {
    /// The id of the run or session, as the inside of a JSON string.
    pub run_id: String,
    /// The event's id.
    pub event_id: String,
    /// Further members to show.
    pub members: Members,
}

/// A divergence of two recordings, and its likely cause.
#[derive(Clone, Debug)]
pub struct Diff {
    /// The logical time of the event on the left, or on the right if the left has ended; in a session the place of the record.
    pub divergence_event: u64,
    /// The kind of divergence.
    pub kind: DivergenceKind,
    /// The event on the left. `None` if the left has ended.
    pub left: Option<DiffSide>,
    /// The event on the right. `None` if the right has ended.
    pub right: Option<DiffSide>,
    /// The differences between the two events.
    pub fields: Vec<Field>,
    /// The ancestors of each event, left and right.
    pub chains: [Chain; 2],
    /// The id of the nearest ancestor in both chains.
    pub common_ancestor: Option<String>,
    /// The nodes affected by the divergence.
    pub affected_nodes: Vec<String>,
    /// The likely cause.
    pub likely_cause: Cause,
    /// The edit list, if it was requested.
    pub edits: Option<Edits>,
}

impl Diff {
    /// The chain to show first: the left one, unless the left has ended.
    pub fn chain(&self) -> &Chain {
        &self.chains[usize::from(self.left.is_none())]
    }
}

/// Compares two recordings. Returns `None` if nothing that counts differs.
pub fn diff(
    left: &Source,
    right: &Source,
    options: &DiffOptions,
    task: &mut Task<'_>,
) -> Result<Option<Diff>, DiffError> {
    let sources = [left, right];
    match sources.map(|source| source.kind) {
        [SourceKind::Run, SourceKind::Run] => match partial_header(left, right) {
            Some(fields) => Ok(Some(header_mismatch(left, right, fields))),
            None => match parted::<RunEvents>(sources, options, task)? {
                None => ended_before(sources),
                found => Ok(found),
            },
        },
        [SourceKind::Session, SourceKind::Session] => parted::<SessionRecords>(sources, options, task),
        [SourceKind::Run, SourceKind::Session] => {
            Err(DiffError::NotComparable { run: left.path.clone(), session: right.path.clone() })
        }
        [SourceKind::Session, SourceKind::Run] => {
            Err(DiffError::NotComparable { run: right.path.clone(), session: left.path.clone() })
        }
    }
}

/// Compares two recordings of one kind.
fn parted<S: Comparable>(
    sources: [&Source; 2],
    options: &DiffOptions,
    task: &mut Task<'_>,
) -> Result<Option<Diff>, DiffError> {
    let Some(divergence) = divergence::<S>(sources, &options.compared, task)? else { return Ok(None) };
    let events = divergence.events.each_ref().map(Option::as_ref);
    let fields = differences(events, sources);
    let is_header =
        S::HEADER.iter().any(|path| cause::touches(&fields, path)) && events.iter().flatten().all(|e| is_first(e));
    let mut trace = |side: Side| match events[side as usize] {
        Some(event) => chain(sources[side as usize], event.row.number, task, Some(side)).map(Option::unwrap_or_default),
        None => Ok(Chain::default()),
    };
    let chains = [trace(Side::Left)?, trace(Side::Right)?];
    let edits = options.full.then(|| {
        let skipped = divergence.first().map_or(0, |event| event.place);
        let (start, compared, cancelled) = (start_of(sources)?, &options.compared, task.cancellation);
        edits::<S>(&Request { sources, start, skipped, compared, cancelled })
    });
    let side = |side: Side| {
        let (event, source) = (events[side as usize]?, sources[side as usize]);
        let (run_id, event_id) = (S::id(source).unwrap_or_default(), source.event_id(event.row.number));
        Some(DiffSide { run_id, event_id, members: S::members(event, &fields, side) })
    };
    let guess = |events: [&Parting; 2]| S::cause(events, &fields, sources, &options.compared);
    let number = divergence.first().map_or(0, |event| event.row.number);
    Ok(Some(Diff {
        divergence_event: number,
        kind: kind_of(events, is_header),
        left: side(Side::Left),
        right: side(Side::Right),
        likely_cause: cause::of(&divergence, &fields, is_header, guess),
        affected_nodes: affected_by(sources, events),
        common_ancestor: common_ancestor(&divergence, &chains),
        edits: edits.transpose()?,
        fields,
        chains,
    }))
}

/// Whether an event is the one that names the workflow or the project.
fn is_first(event: &Parting) -> bool {
    event.row.kind.map_or(event.row.number == 0, |kind| kind == Kind::RunCreated)
}

/// The differences between two events. Empty if one side has ended.
fn differences(events: [Option<&Parting>; 2], sources: [&Source; 2]) -> Vec<Field> {
    let [Some(left), Some(right)] = events else { return Vec::new() };
    let pair = Pair { left: &left.tree, right: &right.tree, same_reference: &same_place };
    fields(&pair, sources.iter().any(|source| source.is_redacted))
}

fn kind_of(events: [Option<&Parting>; 2], is_header: bool) -> DivergenceKind {
    match events {
        [None, _] => DivergenceKind::LeftEnded,
        [_, None] => DivergenceKind::RightEnded,
        _ if is_header => DivergenceKind::HeaderMismatch,
        _ => DivergenceKind::EventMismatch,
    }
}

/// The differences between the workflows and graphs of two runs, from the files in their directories. Returns `None` if they do not
/// differ, or if both logs begin with RunCreated: then that event is compared.
fn partial_header(left: &Source, right: &Source) -> Option<Vec<Field>> {
    if left.first == Some(0) && right.first == Some(0) {
        return None;
    }
    let header = |source: &Source| {
        let directory = RunDirectory::new(&source.root);
        let dag_hash = directory.dag_text().ok().map(|dag| quoted(as_text(&sha256_hex([dag.as_bytes()]))));
        let workflow = directory.workflow_text().ok();
        let workflow = workflow.filter(|_| !source.is_redacted);
        let nesting = &mut Nesting::default();
        let name =
            workflow.as_deref().and_then(|text| JsonField::read(text.trim(), names!["name", "version"], nesting).ok());
        let json = |field: JsonField<'_>| field.required("a string").ok().map(str::to_owned);
        let [name, version] = name.map_or([None, None], |fields| fields.map(json));
        [("/payload/workflow/name", name), ("/payload/workflow/version", version), ("/payload/dagHash", dag_hash)]
    };
    let both = header(left).into_iter().zip(header(right));
    let fields: Vec<Field> = both
        .filter(|((_, left), (_, right))| left.is_some() && right.is_some() && left != right)
        .map(|((path, left), (_, right))| Field { path: path.to_owned(), left, right, note: None })
        .collect();
    (!fields.is_empty()).then_some(fields)
}

/// The diff of two runs whose workflows or graphs differ although at least one log does not begin with RunCreated. Nothing else is
/// known about their divergence.
fn header_mismatch(left: &Source, right: &Source, fields: Vec<Field>) -> Diff {
    let side = |source: &Source| {
        let members = vec![("kind", quoted(Kind::RunCreated.as_str()))];
        Some(DiffSide { run_id: source.id_of_run().unwrap_or_default(), event_id: source.event_id(0), members })
    };
    Diff {
        kind: DivergenceKind::HeaderMismatch,
        left: side(left),
        right: side(right),
        fields,
        likely_cause: Cause::WorkflowChanged,
        ..ended(DivergenceKind::HeaderMismatch, 0)
    }
}

/// Checks whether a log ends before the other one begins. Then no event is compared, but the runs are not equal.
fn ended_before([left, right]: [&Source; 2]) -> Result<Option<Diff>, DiffError> {
    let start = start_of([left, right])?;
    for (source, side, kind) in
        [(left, Side::Left, DivergenceKind::LeftEnded), (right, Side::Right, DivergenceKind::RightEnded)]
    {
        let reaches =
            source.first_time().and_then(|first| if first < start { has_event(source, start - 1) } else { Ok(true) });
        if !reaches.map_err(|error| DiffError::of_run(error, source.place(Some(side))))? {
            return Ok(Some(ended(kind, start)));
        }
    }
    Ok(None)
}

fn ended(kind: DivergenceKind, divergence_event: u64) -> Diff {
    Diff {
        divergence_event,
        kind,
        left: None,
        right: None,
        fields: Vec::new(),
        chains: Default::default(),
        common_ancestor: None,
        affected_nodes: Vec::new(),
        likely_cause: Cause::LogTruncated,
        edits: None,
    }
}

/// The nearest common ancestor. All events before the divergence are equal, so it is the nearest one with the same place on both
/// sides; if one side has ended, the nearest ancestor on the other side.
fn common_ancestor(divergence: &Divergence, chains: &[Chain; 2]) -> Option<String> {
    let compared = |side: Side| {
        let (places, edges) = (&divergence.places[side as usize], &chains[side as usize].edges);
        edges.iter().filter(|edge| places.holds(edge.number)).map(|edge| (places.of(edge.number), edge))
    };
    let edge = match divergence.events {
        [Some(_), Some(_)] => {
            let places: HashSet<i64> = compared(Side::Right).map(|(place, _)| place).collect();
            compared(Side::Left).find(|(place, _)| places.contains(place))
        }
        [Some(_), None] => compared(Side::Left).next(),
        [None, _] => compared(Side::Right).next(),
    };
    edge.map(|(_, edge)| edge.event_id.clone())
}

/// The nodes at which two runs diverge, and those that depend on them.
fn affected_by(sources: [&Source; 2], events: [Option<&Parting>; 2]) -> Vec<String> {
    let mut nodes: Vec<Text<'static>> = Vec::new();
    for event in events.into_iter().flatten() {
        let node = event.tree.children(ROOT).find(|&child| event.tree.has_key(child, "node"));
        let node = node.and_then(|node| event.tree.string(node)).map(Text::into_owned);
        nodes.extend(node.filter(|node| !nodes.contains(node)));
    }
    affected_nodes(sources[usize::from(events[0].is_none())], &nodes)
}
