//! The two sides of a divergence, as people want to see them: what the event is, and what tells it from others.

use super::divergence::{PartingEvent, PartingRecord};
use super::fields::Field;
use super::session_ancestry::tools;
use super::tree::{Index, Shape, Tree};
use crate::hash::{as_text, sha256_hex};
use crate::run::kind::Kind;

/// How many characters of a text are shown before the first that differs, and from there on.
const SHOWN_BEFORE: usize = 30;
const SHOWN_BEHIND: usize = 70;

/// The members of a side behind `run_id` and `event_id`: names and JSON texts, in order.
pub type Members = Vec<(&'static str, String)>;

/// What is shown of a run's event.
pub fn of_event(event: &PartingEvent) -> Members {
    let mut members: Members = vec![("kind", quoted(event.kind.as_str()))];
    let tree = &event.tree;
    if let Some(node) = tree.at(&["node"]).filter(|&node| tree.shape(node) == Shape::String) {
        members.push(("node", tree.text(node).to_owned()));
    }
    for (name, path) in shown(event.kind) {
        if let Some(index) = at(tree, path) {
            members.push((name, tree.text(index).to_owned()));
        }
    }
    members
}

/// The value at a path in the payload, dropped or not.
fn at(tree: &Tree<'_>, path: &[&str]) -> Option<Index> {
    let payload = tree.children(super::tree::ROOT).find(|&child| tree.has_key(child, "payload"))?;
    path.iter().try_fold(payload, |index, name| {
        if tree.shape(index) != Shape::Object {
            return None;
        }
        // Of a key that comes twice the last counts.
        tree.children(index).filter(|&child| tree.has_key(child, name)).last()
    })
}

/// What tells an event of this kind from others: names, and where in the payload they stand.
fn shown(kind: Kind) -> &'static [(&'static str, &'static [&'static str])] {
    match kind {
        Kind::RunCreated => &[
            ("workflow", &["workflow", "name"]),
            ("workflow_version", &["workflow", "version"]),
            ("dag_hash", &["dagHash"]),
            ("scheduler", &["scheduler"]),
        ],
        Kind::RunStarted => &[("workers", &["workers"])],
        Kind::RunCompleted => &[("outputs", &["outputs"])],
        Kind::RunFailed | Kind::Error => &[("code", &["code"]), ("message", &["message"])],
        Kind::NodeScheduled => &[("task", &["task"]), ("priority", &["priority"])],
        Kind::NodeStarted => &[("task", &["task"]), ("worker", &["worker"]), ("input_hash", &["inputHash"])],
        Kind::NodeCompleted => &[("task", &["task"]), ("output_hash", &["outputHash"])],
        Kind::NodeFailed => {
            &[("task", &["task"]), ("code", &["code"]), ("message", &["message"]), ("will_retry", &["willRetry"])]
        }
        Kind::NodeSkipped => &[("reason", &["reason"])],
        Kind::ToolInvoked => &[("tool", &["tool"]), ("request_hash", &["requestHash"]), ("version", &["version"])],
        Kind::ToolCompleted => &[("tool", &["tool"]), ("output_hash", &["outputHash"])],
        Kind::ToolFailed => &[("tool", &["tool"]), ("code", &["code"]), ("message", &["message"])],
        Kind::ToolTimedOut => &[("tool", &["tool"]), ("limit_ms", &["limitMs"])],
        Kind::CapabilityCheck => {
            &[("capability", &["capability"]), ("subject", &["subject"]), ("allowed", &["allowed"])]
        }
        Kind::PolicyDecision => &[("decision", &["decision"]), ("rule", &["rule"]), ("allowed", &["allowed"])],
        Kind::TaskAssigned => &[("task", &["task"]), ("worker", &["worker"]), ("from", &["from"])],
        Kind::TaskAccepted => &[("task", &["task"]), ("worker", &["worker"])],
        Kind::TaskRejected => &[("task", &["task"]), ("worker", &["worker"]), ("reason", &["reason"])],
        Kind::Heartbeat => &[("worker", &["worker"]), ("status", &["status"])],
        Kind::SnapshotCreated | Kind::SnapshotRestored | Kind::BlobStored => &[],
    }
}

/// What is shown of a session's record. `excerpt` is what it has where the two first differ.
///
/// Of an item with several calls or responses, the first that differs is shown: `block` is its place.
pub fn of_record(record: &PartingRecord, block: usize, excerpt: Option<String>) -> Members {
    let tree = &record.tree;
    let name = tree.at(&["type"]).map_or_else(|| quoted("undefined"), |index| tree.text(index).to_owned());
    let mut members: Members = vec![("kind", name)];
    if let Some(item) = at(tree, &["content"]) {
        if let Some(speaker) = tree.member(item, "speaker") {
            members.push(("speaker", tree.text(speaker).to_owned()));
        }
        let tools = tools(tree, item);
        if let Some(tool) = tool_of(tree, item, block).or(tools.first().cloned()) {
            members.push(("tool", quoted(&tool)));
        }
        if let Some(result) = result_from(tree, item, block) {
            members.push(("output_hash", quoted(as_text(&sha256_hex([tree.text(result).as_bytes()])))));
        }
    }
    for (name, member) in [
        ("project_hash", "projectHash"),
        ("provider", "provider"),
        ("model", "model"),
        ("items_compressed", "itemsCompressed"),
        ("items_removed", "itemsRemoved"),
        ("severity", "severity"),
        ("message", "message"),
        ("directories", "directories"),
    ] {
        if let Some(index) = at(tree, &[member]) {
            members.push((name, tree.text(index).to_owned()));
        }
    }
    members.extend(excerpt.map(|excerpt| ("excerpt", quoted(&excerpt))));
    members
}

/// The result in a block; of the first that has one, if that block has none.
fn result_from(tree: &Tree<'_>, item: Index, block: usize) -> Option<Index> {
    let blocks = tree.member(item, "blocks")?;
    let own = tree.children(blocks).nth(block).and_then(|block| tree.member(block, "result"));
    own.or_else(|| tree.children(blocks).find_map(|block| tree.member(block, "result")))
}

/// The tool that a block calls or that answers in it.
fn tool_of(tree: &Tree<'_>, item: Index, block: usize) -> Option<String> {
    let block = tree.children(tree.member(item, "blocks")?).nth(block)?;
    let is = |kind: &str| {
        let found = tree.member(block, "type").and_then(|index| tree.string(index));
        found.is_some_and(|text| text.as_json() == kind)
    };
    let name = match () {
        () if is("tool_call") => "name",
        () if is("tool_response") => "toolName",
        () => return None,
    };
    let text = tree.string(tree.member(block, name)?)?;
    Some(text.to_plain().into_owned())
}

/// The place of the block of an item in which two records first differ; the first one, if they differ elsewhere.
pub fn parting_block(fields: &[Field]) -> usize {
    let place = |field: &Field| {
        let rest = field.path.strip_prefix("/payload/content/blocks/")?;
        rest.split('/').next()?.parse().ok()
    };
    fields.iter().find_map(place).unwrap_or(0)
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    // A string has a JSON text, always.
    serde_json::to_string(text).unwrap_or_default()
}

/// What each side has where a field first differs.
pub fn excerpts(fields: &[Field]) -> (Option<String>, Option<String>) {
    let Some(field) = fields.first() else { return (None, None) };
    let shown = |json: &Option<String>| {
        json.as_ref().map(|json| match json.starts_with('"') {
            true => crate::run::text::Text::from_json(super::tree::inside(json)).to_plain().into_owned(),
            false => json.clone(),
        })
    };
    match (shown(&field.left), shown(&field.right)) {
        (Some(left), Some(right)) => {
            let common = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
            (Some(excerpt(&left, common)), Some(excerpt(&right, common)))
        }
        (left, right) => (left.map(|left| excerpt(&left, 0)), right.map(|right| excerpt(&right, 0))),
    }
}

fn excerpt(text: &str, at: usize) -> String {
    let from = at.saturating_sub(SHOWN_BEFORE);
    let mut rest = text.chars().skip(from);
    let shown: String = rest.by_ref().take(at - from + SHOWN_BEHIND).collect();
    let ellipsis = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{shown}{}", ellipsis(from > 0), ellipsis(rest.next().is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_show_what_differs_and_a_little_before_it() {
        let field = |left: &str, right: Option<&str>| Field {
            path: String::new(),
            left: Some(left.to_owned()),
            right: right.map(str::to_owned),
            note: None,
        };
        let long = "é".repeat(200);
        let (left, right) = excerpts(&[field(&format!("\"{long}a{long}\""), Some(&format!("\"{long}b\"")))]);
        let before = "é".repeat(SHOWN_BEFORE);
        assert_eq!(left.unwrap(), format!("…{before}a{}…", "é".repeat(SHOWN_BEHIND - 1)));
        assert_eq!(right.unwrap(), format!("…{before}b"));
        assert_eq!(excerpts(&[field("[1]", None)]), (Some("[1]".into()), None));
        assert_eq!(excerpts(&[]), (None, None));
    }
}
