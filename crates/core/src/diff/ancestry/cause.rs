//! Guesses the likely cause of a divergence from the two events. `Unknown` if they do not show it.

use super::session_ancestry::tools;
use crate::diff::align::{PartingEvent, PartingRecord, RunDivergence, SessionDivergence};
use crate::diff::projection::{Field, Mark, Note, Pair, ROOT, Tree, same_place};
use crate::run::Kind;

/// The likely cause of a divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Cause {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::ExternalDataChanged => "ExternalDataChanged",
            Cause::InputChanged => "InputChanged",
            Cause::ScheduleChanged => "ScheduleChanged",
            Cause::PolicyChanged => "PolicyChanged",
            Cause::WorkflowChanged => "WorkflowChanged",
            Cause::LogTruncated => "LogTruncated",
            Cause::Unknown => "Unknown",
        }
    }
}

/// Whether every difference may be due to redaction, which says nothing about the original values.
fn is_redaction(fields: &[Field]) -> bool {
    !fields.is_empty() && fields.iter().all(|field| field.note == Some(Note::Redacted))
}

/// The likely cause of the divergence of two runs. `is_reordered` returns whether each event also occurs later in the other log; it is
/// called only if that matters.
pub(crate) fn of_runs(
    divergence: &RunDivergence,
    fields: &[Field],
    is_header: bool,
    is_reordered: impl FnOnce() -> bool,
) -> Cause {
    let (left, right) = match (&divergence.left, &divergence.right) {
        (Some(left), Some(right)) => (left, right),
        // A finished run can't go on, so the log that ended is incomplete.
        _ => return Cause::LogTruncated,
    };
    if is_header {
        return Cause::WorkflowChanged;
    }
    if is_redaction(fields) {
        return Cause::Unknown;
    }
    let touches =
        |path: &str| fields.iter().any(|field| field.path == path || field.path.starts_with(&format!("{path}/")));
    let is_either = |kinds: &[Kind]| kinds.contains(&left.kind) || kinds.contains(&right.kind);
    if answers_same_call(left, right) {
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
        return if left.kind == right.kind && !touches("/payload") { Cause::Unknown } else { Cause::PolicyChanged };
    }
    if left.kind == right.kind && left.tree.at(&["node"]).is_some() && !touches("/node") {
        match left.kind {
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
    const SCHEDULING: [Kind; 4] = [Kind::NodeScheduled, Kind::TaskAssigned, Kind::TaskAccepted, Kind::TaskRejected];
    let schedules = |event: &PartingEvent| SCHEDULING.contains(&event.kind) || event.kind == Kind::NodeStarted;
    if (schedules(left) && schedules(right)) || is_reordered() { Cause::ScheduleChanged } else { Cause::Unknown }
}

/// Whether both events end the same call. Its request was the same too, since all events before the divergence are equal.
fn answers_same_call(left: &PartingEvent, right: &PartingEvent) -> bool {
    let ends = |kind| matches!(kind, Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut);
    ends(left.kind) && ends(right.kind) && left.invoked.is_some() && left.invoked == right.invoked
}

/// The likely cause of the divergence of two sessions.
pub(crate) fn of_sessions(divergence: &SessionDivergence, fields: &[Field], is_header: bool) -> Cause {
    let (left, right) = match (&divergence.left, &divergence.right) {
        (Some(left), Some(right)) => (left, right),
        _ if divergence.is_cut_off => return Cause::LogTruncated,
        _ => return Cause::Unknown,
    };
    if is_header {
        return Cause::WorkflowChanged;
    }
    if is_redaction(fields) {
        return Cause::Unknown;
    }
    let (one, other) = (Said::of(&left.tree), Said::of(&right.tree));
    match (one, other) {
        (Said::Tool, Said::Tool) => answered(left, right),
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
fn answered(left: &PartingRecord, right: &PartingRecord) -> Cause {
    let calls = |tree: &Tree<'_>| -> Vec<Mark> {
        let blocks = tree.at(&["payload", "content", "blocks"]);
        let blocks = blocks.map(|blocks| tree.children(blocks).collect::<Vec<_>>()).unwrap_or_default();
        blocks.into_iter().filter_map(|block| tree.member(block, "callId")).map(|id| tree.mark(id)).collect()
    };
    let (one, other) = (calls(&left.tree), calls(&right.tree));
    let are_known = !one.is_empty() && one.iter().chain(&other).all(|mark| matches!(mark, Mark::Refers(Some(_))));
    if !are_known {
        return Cause::Unknown;
    }
    if one != other {
        return Cause::ScheduleChanged;
    }
    // The calls are the same, since all records before are equal. But the difference may be outside the blocks, or in the names of the
    // tools.
    let (left, right) = (&left.tree, &right.tree);
    let item = |tree: &Tree<'_>| tree.at(&["payload", "content"]).map(|item| tools(tree, item));
    let blocks = |tree: &Tree<'_>| tree.at(&["payload", "content", "blocks"]);
    let (Some(one), Some(other)) = (blocks(left), blocks(right)) else { return Cause::Unknown };
    let is_same = Pair { left, right, same_reference: &same_place }.are_equal(one, other);
    if is_same || item(left) != item(right) { Cause::Unknown } else { Cause::ExternalDataChanged }
}

/// Whether the first event of each list occurs later in the other one.
pub(crate) fn are_crossed(left: &[Tree<'_>], right: &[Tree<'_>]) -> bool {
    // In another order places differ, so all references count as equal.
    let same =
        |left: &Tree<'_>, right: &Tree<'_>| Pair { left, right, same_reference: &|_, _| true }.are_equal(ROOT, ROOT);
    let has = |list: &[Tree<'_>], event: &Tree<'_>| list.iter().any(|other| same(other, event));
    match (left.split_first(), right.split_first()) {
        (Some((one, later)), Some((other, others))) => has(others, one) && has(later, other),
        _ => false,
    }
}
