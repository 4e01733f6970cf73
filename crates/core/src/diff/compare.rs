//! The diff: where two recordings diverge, the events there, their ancestors and the likely cause.

use std::collections::HashSet;

use super::align::{
    Compared, DivergenceKind, Edits, PartingEvent, PartingRecord, RunDivergence, SessionDivergence, diverging_events,
    diverging_records, start_of,
};
use super::ancestry::{Cause, Chain, Edge, affected_nodes, cause, chain, has_event, record_id};
use super::error::{DiffError, Side};
use super::projection::{Field, FieldOptions, Pair, Tree, fields, project_event, same_place};
use super::stream::{
    Members, RunCursor, SessionCursor, Source, SourceKind, edit_runs, edit_sessions, excerpts, of_event, of_record,
    parting_block, quoted, start_of as session_start,
};
use crate::hash::{as_text, sha256_hex};
use crate::json::{Field as JsonField, Nesting, Text, names};
use crate::run::{Kind, RunDirectory, event_id};
use crate::task::Task;

/// Maximum number of events that are read from each log, from the divergence on, to find out whether the same events happened in
/// another order.
const LOOKED_THROUGH: usize = 256;

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
    /// The ancestors of the event on the left.
    pub left_chain: Chain,
    /// The ancestors of the event on the right.
    pub right_chain: Chain,
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
        if self.left.is_some() { &self.left_chain } else { &self.right_chain }
    }
}

/// Compares two recordings. Returns `None` if nothing that counts differs.
pub fn diff(
    left: &Source,
    right: &Source,
    options: &DiffOptions,
    task: &mut Task<'_>,
) -> Result<Option<Diff>, DiffError> {
    match (left.kind, right.kind) {
        (SourceKind::Run, SourceKind::Run) => diff_runs(left, right, options, task),
        (SourceKind::Session, SourceKind::Session) => diff_sessions(left, right, options, task),
        (SourceKind::Run, SourceKind::Session) => {
            Err(DiffError::NotComparable { run: left.path.clone(), session: right.path.clone() })
        }
        (SourceKind::Session, SourceKind::Run) => {
            Err(DiffError::NotComparable { run: right.path.clone(), session: left.path.clone() })
        }
    }
}

/// The differences between two events. Empty if one side has ended.
fn differences(left: Option<&Tree<'_>>, right: Option<&Tree<'_>>, sources: [&Source; 2]) -> Vec<Field> {
    let (Some(left), Some(right)) = (left, right) else { return Vec::new() };
    let redacted = sources.iter().any(|source| source.is_redacted);
    fields(&Pair { left, right, same_reference: &same_place }, FieldOptions { redacted })
}

fn kind_of(has_left: bool, has_right: bool, is_header: bool) -> DivergenceKind {
    match (has_left, has_right) {
        (false, _) => DivergenceKind::LeftEnded,
        (_, false) => DivergenceKind::RightEnded,
        _ if is_header => DivergenceKind::HeaderMismatch,
        _ => DivergenceKind::EventMismatch,
    }
}

fn touches(fields: &[Field], path: &str) -> bool {
    fields
        .iter()
        .any(|field| field.path == path || field.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
}

fn diff_runs(
    left: &Source,
    right: &Source,
    options: &DiffOptions,
    task: &mut Task<'_>,
) -> Result<Option<Diff>, DiffError> {
    if let Some(fields) = partial_header(left, right) {
        return Ok(Some(header_mismatch(left, right, fields)));
    }
    let Some(divergence) = diverging_events(left, right, &options.compared, task)? else {
        return ended_before(left, right);
    };
    let (one, other) = (divergence.left.as_ref(), divergence.right.as_ref());
    let fields = differences(one.map(|event| &event.tree), other.map(|event| &event.tree), [left, right]);
    let is_header = ["/payload/workflow", "/payload/dagHash"].iter().any(|path| touches(&fields, path))
        && [one, other].iter().all(|event| event.is_some_and(|event| event.kind == Kind::RunCreated));
    let mut trace = |source: &Source, event: Option<&PartingEvent>, side| match event {
        Some(event) => chain(source, event.time, task, Some(side)).map(Option::unwrap_or_default),
        None => Ok(Chain::default()),
    };
    let (left_chain, right_chain) = (trace(left, one, Side::Left)?, trace(right, other, Side::Right)?);
    let common = common_event(&divergence, &left_chain, &right_chain);
    let is_reordered = || is_reordered(left, right, &divergence, &options.compared);
    let edits = options.full.then(|| {
        let skipped = one.or(other).map_or(0, |event| event.place);
        edit_runs((left, right), (start_of(left, right)?, skipped), &options.compared, task.cancellation)
    });
    Ok(Some(Diff {
        divergence_event: one.or(other).map_or(0, |event| event.time),
        kind: kind_of(one.is_some(), other.is_some(), is_header),
        left: one.map(|event| event_side(left, event)),
        right: other.map(|event| event_side(right, event)),
        likely_cause: cause::of_runs(&divergence, &fields, is_header, is_reordered),
        affected_nodes: affected_by(left, right, &divergence),
        common_ancestor: common.map(|edge| edge.event_id.clone()),
        fields,
        left_chain,
        right_chain,
        edits: edits.transpose()?,
    }))
}

fn event_side(source: &Source, event: &PartingEvent) -> DiffSide {
    DiffSide { run_id: run_id(source), event_id: event_id(event.time), members: of_event(event) }
}

fn run_id(source: &Source) -> String {
    source.id_of_run().unwrap_or_default()
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
        Some(DiffSide { run_id: run_id(source), event_id: event_id(0), members })
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
fn ended_before(left: &Source, right: &Source) -> Result<Option<Diff>, DiffError> {
    let start = start_of(left, right)?;
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
        left_chain: Chain::default(),
        right_chain: Chain::default(),
        common_ancestor: None,
        affected_nodes: Vec::new(),
        likely_cause: Cause::LogTruncated,
        edits: None,
    }
}

/// The nearest common ancestor. All events before the divergence are equal, so it is the nearest one with the same place on both
/// sides; if one side has ended, the nearest ancestor on the other side.
fn common_event<'c>(divergence: &RunDivergence, left: &'c Chain, right: &'c Chain) -> Option<&'c Edge> {
    let compared = |edge: &&Edge| divergence.left_places.holds(edge.number);
    match (&divergence.left, &divergence.right) {
        (Some(_), Some(_)) => {
            let places: HashSet<i64> = right
                .edges
                .iter()
                .filter(|edge| divergence.right_places.holds(edge.number))
                .map(|edge| divergence.right_places.of(edge.number))
                .collect();
            left.edges.iter().filter(compared).find(|edge| places.contains(&divergence.left_places.of(edge.number)))
        }
        (Some(_), None) => left.edges.iter().find(compared),
        (None, _) => right.edges.iter().find(|edge| divergence.right_places.holds(edge.number)),
    }
}

fn affected_by(left: &Source, right: &Source, divergence: &RunDivergence) -> Vec<String> {
    let node = |event: &PartingEvent| {
        let node = event.tree.children(crate::diff::projection::ROOT).find(|&child| event.tree.has_key(child, "node"));
        node.and_then(|node| event.tree.string(node)).map(Text::into_owned)
    };
    let mut nodes: Vec<Text<'static>> = Vec::new();
    for found in [&divergence.left, &divergence.right].into_iter().flatten().filter_map(node) {
        if !nodes.contains(&found) {
            nodes.push(found);
        }
    }
    affected_nodes(if divergence.left.is_some() { left } else { right }, &nodes)
}

/// Whether each of the two events also occurs in the other log, soon after the divergence.
fn is_reordered(left: &Source, right: &Source, divergence: &RunDivergence, compared: &Compared) -> bool {
    let next = |source: &Source, event: &Option<PartingEvent>| {
        let mut trees = Vec::new();
        let Some(mut cursor) =
            event.as_ref().and_then(|event| RunCursor::open(source, event.time, compared.heartbeats).ok())
        else {
            return trees;
        };
        while trees.len() < LOOKED_THROUGH && cursor.advance().unwrap_or(false) {
            trees.extend(cursor.event().and_then(|event| project_event(&event, &compared.ignore)));
        }
        trees
    };
    cause::are_crossed(&next(left, &divergence.left), &next(right, &divergence.right))
}

fn diff_sessions(
    left: &Source,
    right: &Source,
    options: &DiffOptions,
    task: &mut Task<'_>,
) -> Result<Option<Diff>, DiffError> {
    let Some(divergence) = diverging_records(left, right, &options.compared, task)? else { return Ok(None) };
    let SessionDivergence { left: one, right: other, .. } = &divergence;
    let (one, other) = (one.as_ref(), other.as_ref());
    let fields = differences(one.map(|record| &record.tree), other.map(|record| &record.tree), [left, right]);
    let is_header = one.or(other).is_some_and(|record| record.place == 0) && touches(&fields, "/payload/projectHash");
    let mut trace = |source: &Source, record: Option<&PartingRecord>, side| match record {
        Some(record) => chain(source, record.place, task, Some(side)).map(Option::unwrap_or_default),
        None => Ok(Chain::default()),
    };
    let (left_chain, right_chain) = (trace(left, one, Side::Left)?, trace(right, other, Side::Right)?);
    let (left_excerpt, right_excerpt) = excerpts(&fields);
    let edits = options.full.then(|| {
        let skipped = one.or(other).map_or(0, |record| record.place as i64);
        edit_sessions(left, right, skipped, &options.compared, task.cancellation)
    });
    Ok(Some(Diff {
        divergence_event: one.or(other).map_or(0, |record| record.place),
        kind: kind_of(one.is_some(), other.is_some(), is_header),
        left: one.map(|record| record_side(left, record, parting_block(&fields), left_excerpt)),
        right: other.map(|record| record_side(right, record, parting_block(&fields), right_excerpt)),
        likely_cause: cause::of_sessions(&divergence, &fields, is_header),
        affected_nodes: Vec::new(),
        common_ancestor: common_record(&divergence, &left_chain, &right_chain),
        fields,
        left_chain,
        right_chain,
        edits: edits.transpose()?,
    }))
}

fn record_side(source: &Source, record: &PartingRecord, block: usize, excerpt: Option<String>) -> DiffSide {
    let run_id = session_id(source).unwrap_or_default();
    DiffSide { run_id, event_id: record_id(record.place), members: of_record(record, block, excerpt) }
}

fn session_id(source: &Source) -> Option<String> {
    let mut cursor = SessionCursor::open(source).ok()?;
    cursor.advance().ok()?;
    let line = cursor.record()?.line;
    let id = session_start(line, &mut Nesting::default()).ok()?.session_id;
    let id = String::from_utf8_lossy(id.of(line)).into_owned();
    Some(Text::from_json(crate::diff::projection::inside(&id)).as_json().to_owned())
}

/// The nearest common ancestor: all records before the divergence are equal and have the same places.
fn common_record(divergence: &SessionDivergence, left: &Chain, right: &Chain) -> Option<String> {
    let edge = match (&divergence.left, &divergence.right) {
        (Some(_), Some(_)) => {
            let places: HashSet<u64> = right.edges.iter().map(|edge| edge.number).collect();
            left.edges.iter().find(|edge| places.contains(&edge.number))
        }
        (Some(_), None) => left.edges.first(),
        (None, _) => right.edges.first(),
    };
    edge.map(|edge| edge.event_id.clone())
}
