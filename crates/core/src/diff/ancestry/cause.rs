//! Guesses the likely cause of a divergence from the two events. `Unknown` if they do not show it.

use serde::Serialize;

use super::session_ancestry::tools;
use crate::diff::align::{Compared, Divergence, Parting};
use crate::diff::error::Side;
use crate::diff::projection::{Field, Mark, Note, Pair, Tree, project_event, same_place};
use crate::diff::stream::{Cursor, RunEvents, Source};
use crate::json::ROOT;
use crate::run::Kind;

/// Maximum number of events that are read from each log, from the divergence on, to find out whether the same events happened in
/// another order.
const LOOKED_THROUGH: usize = 256;

/// The likely cause of a divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Cause {
    /// The same request was answered differently.
    ExternalDataChanged,
    /// A request or an input differs.
    InputChanged,
    /// The same events happened in another order or on other workers.
    ScheduleChanged,
    /// A permission differs.
    PolicyChanged,
    /// The workflow, the project or the version of a tool differs.
    WorkflowChanged,
    /// One recording is incomplete.
    LogTruncated,
    /// The recordings do not show the cause.
    Unknown,
}

/// Whether a difference is at a path or within the value there.
pub(crate) fn touches(fields: &[Field], path: &str) -> bool {
    let is_within = |rest: &str| rest.is_empty() || rest.starts_with('/');
    fields.iter().any(|field| field.path.strip_prefix(path).is_some_and(is_within))
}

/// Whether every difference may be due to redaction, which says nothing about the original values.
fn is_redaction(fields: &[Field]) -> bool {
    !fields.is_empty() && fields.iter().all(|field| field.note == Some(Note::Redacted))
}

/// The likely cause of a divergence. `guess` is called for two events that differ.
pub(crate) fn of(
    divergence: &Divergence,
    fields: &[Field],
    is_header: bool,
    guess: impl FnOnce([&Parting; 2]) -> Cause,
) -> Cause {
    match &divergence.events {
        [Some(_), Some(_)] if is_header => Cause::WorkflowChanged,
        [Some(_), Some(_)] if is_redaction(fields) => Cause::Unknown,
        [Some(left), Some(right)] => guess([left, right]),
        _ if divergence.is_cut_off => Cause::LogTruncated,
        _ => Cause::Unknown,
    }
}

/// The likely cause if two events of runs differ. `is_reordered` returns whether each event also occurs later in the other log; it is
/// called only if that matters.
pub(crate) fn of_events(
    left: &Parting,
    right: &Parting,
    fields: &[Field],
    is_reordered: impl FnOnce() -> bool,
) -> Cause {
    let (Some(kind), Some(other_kind)) = (left.row.kind, right.row.kind) else { return Cause::Unknown };
    let touches = |path: &str| touches(fields, path);
    let kinds = [kind, other_kind];
    let is_either = |some: &[Kind]| kinds.iter().any(|kind| some.contains(kind));
    let are_both = |some: &[Kind]| kinds.iter().all(|kind| some.contains(kind));
    // Its request was the same too, since all events before the divergence are equal.
    if are_both(&[Kind::ToolCompleted, Kind::ToolFailed, Kind::ToolTimedOut])
        && left.row.invoked.is_some()
        && left.row.invoked == right.row.invoked
    {
        return if ["/kind", "/payload/rawHash", "/payload/outputHash", "/payload/code", "/payload/message"]
            .into_iter()
            .any(touches)
        {
            Cause::ExternalDataChanged
        } else {
            Cause::Unknown
        };
    }
    if is_either(&[Kind::CapabilityCheck, Kind::PolicyDecision]) {
        return if kind == other_kind && !touches("/payload") { Cause::Unknown } else { Cause::PolicyChanged };
    }
    if kind == other_kind && left.tree.at(&["node"]).is_some() && !touches("/node") {
        match kind {
            Kind::RunCreated if touches("/payload/scheduler") => return Cause::ScheduleChanged,
            Kind::RunCreated if touches("/payload/capabilities") => return Cause::PolicyChanged,
            Kind::RunStarted => return Cause::ScheduleChanged,
            Kind::NodeStarted if touches("/payload/inputHash") => return Cause::InputChanged,
            Kind::ToolInvoked if touches("/payload/tool") => return Cause::Unknown,
            Kind::ToolInvoked if touches("/payload/requestHash") => return Cause::InputChanged,
            Kind::ToolInvoked if touches("/payload/version") => return Cause::WorkflowChanged,
            _ => {}
        }
    }
    let schedule = [Kind::NodeScheduled, Kind::TaskAssigned, Kind::TaskAccepted, Kind::TaskRejected, Kind::NodeStarted];
    if are_both(&schedule) || is_reordered() { Cause::ScheduleChanged } else { Cause::Unknown }
}

/// The likely cause if two records of sessions differ.
pub(crate) fn of_records(left: &Parting, right: &Parting) -> Cause {
    match (Said::of(&left.tree), Said::of(&right.tree)) {
        (Said::Tool, Said::Tool) => answered(&left.tree, &right.tree),
        (Said::Given, _) | (_, Said::Given) => Cause::InputChanged,
        _ => Cause::Unknown,
    }
}

/// The source of a record's content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    /// A response of a tool.
    Tool,
    /// Input from outside: from a human, or the setup of the session.
    Given,
    /// The AI or the CLI.
    Other,
}

impl Said {
    fn of(tree: &Tree<'_>) -> Self {
        let text =
            |path: &[&str]| tree.at(path).and_then(|index| tree.string(index)).map(|text| text.to_plain().into_owned());
        match text(&["type"]).as_deref() {
            Some("session_start" | "provider_switch" | "directories_changed" | "rewind") => Said::Given,
            Some("content") => match text(&["payload", "content", "speaker"]).as_deref() {
                Some("tool") => Said::Tool,
                Some("human") => Said::Given,
                _ => Said::Other,
            },
            _ => Said::Other,
        }
    }
}

/// The likely cause if both records are tool responses: external data if they answer the same calls, the schedule if they answer
/// different ones.
fn answered(left: &Tree<'_>, right: &Tree<'_>) -> Cause {
    let item = |tree: &Tree<'_>| tree.at(&["payload", "content"]).map(|item| tools(tree, item));
    let blocks = |tree: &Tree<'_>| tree.at(&["payload", "content", "blocks"]);
    let calls = |tree: &Tree<'_>| -> Vec<Mark> {
        let blocks = blocks(tree).into_iter().flat_map(|blocks| tree.children(blocks));
        blocks.filter_map(|block| tree.member(block, "callId")).map(|id| tree.mark(id)).collect()
    };
    let (calls, others) = (calls(left), calls(right));
    let are_known = !calls.is_empty() && calls.iter().chain(&others).all(|mark| matches!(mark, Mark::Refers(Some(_))));
    if !are_known {
        return Cause::Unknown;
    }
    if calls != others {
        return Cause::ScheduleChanged;
    }
    // The calls are the same, since all records before are equal. But the difference may be outside the blocks, or in the names of the
    // tools.
    let (Some(one), Some(other)) = (blocks(left), blocks(right)) else { return Cause::Unknown };
    let is_same = Pair { left, right, same_reference: &same_place }.are_equal(one, other);
    if is_same || item(left) != item(right) { Cause::Unknown } else { Cause::ExternalDataChanged }
}

/// Whether each of two events of runs also occurs in the other log, soon after the divergence.
pub(crate) fn are_reordered(events: [&Parting; 2], sources: [&Source; 2], compared: &Compared) -> bool {
    let next = |side: Side| {
        let (source, start) = (sources[side as usize], events[side as usize].row.number);
        let mut trees = Vec::new();
        let cursor = Cursor::<RunEvents>::open(source, None, start, compared.heartbeats);
        let Ok(mut cursor) = cursor else { return trees };
        while trees.len() < LOOKED_THROUGH && cursor.advance().unwrap_or(false) {
            trees.extend(cursor.event().and_then(|event| project_event(&event, &compared.ignore)));
        }
        trees
    };
    are_crossed(&next(Side::Left), &next(Side::Right))
}

/// Whether the first event of each list occurs later in the other one.
fn are_crossed(left: &[Tree<'_>], right: &[Tree<'_>]) -> bool {
    // In another order places differ, so all references count as equal.
    let same =
        |left: &Tree<'_>, right: &Tree<'_>| Pair { left, right, same_reference: &|_, _| true }.are_equal(ROOT, ROOT);
    let has = |list: &[Tree<'_>], event: &Tree<'_>| list.iter().any(|other| same(other, event));
    match (left.split_first(), right.split_first()) {
        (Some((one, later)), Some((other, others))) => has(others, one) && has(later, other),
        _ => false,
    }
}
