//! The two sides of a divergence for display: what the event is, and what distinguishes it from others.

use crate::diff::align::Parting;
use crate::diff::ancestry::{tool_of, tools};
use crate::diff::document::quoted;
use crate::diff::error::Side;
use crate::diff::projection::{Field, Tree};
use crate::hash::{as_text, sha256_hex};
use crate::json::{Index, ROOT, Shape, Text, inside};
use crate::run::{FieldType, PayloadField};

/// Number of characters of an excerpt before the first difference, and from there on.
const SHOWN_BEFORE: usize = 30;
const SHOWN_BEHIND: usize = 70;

/// The members of a side after `run_id` and `event_id`: names and JSON texts, in order.
pub(crate) type Members = Vec<(&'static str, String)>;

/// The members to show of a run's event.
pub(crate) fn of_event(event: &Parting) -> Members {
    let Some(kind) = event.row.kind else { return Members::new() };
    let mut members: Members = vec![("kind", quoted(kind.as_str()))];
    let tree = &event.tree;
    if let Some(node) = tree.at(&["node"]).filter(|&node| tree.shape(node) == Shape::String) {
        members.push(("node", tree.text(node).to_owned()));
    }
    for field in kind.fields() {
        add_shown(&mut members, tree, field, &[field.name]);
    }
    members
}

fn add_shown(members: &mut Members, tree: &Tree<'_>, field: &PayloadField, path: &[&str]) {
    if let Some(name) = field.shown_as
        && let Some(index) = at(tree, path)
    {
        members.push((name, tree.text(index).to_owned()));
    }
    if let FieldType::Object(inner) = field.of {
        inner.iter().for_each(|inner| add_shown(members, tree, inner, &[path, &[inner.name]].concat()));
    }
}

/// The value at a path in the payload, dropped or not.
fn at(tree: &Tree<'_>, path: &[&str]) -> Option<Index> {
    let payload = tree.children(ROOT).find(|&child| tree.has_key(child, "payload"))?;
    path.iter().try_fold(payload, |index, name| {
        if tree.shape(index) != Shape::Object {
            return None;
        }
        // The last of several equal keys counts.
        tree.children(index).filter(|&child| tree.has_key(child, name)).last()
    })
}

/// The members to show of a session's record on a side: among others its text at the first difference, and, of an item with several calls or
/// responses, the first one that differs.
pub(crate) fn of_record(record: &Parting, fields: &[Field], side: Side) -> Members {
    let (tree, block) = (&record.tree, parting_block(fields));
    let name = tree.at(&["type"]).map_or_else(|| quoted("undefined"), |index| tree.text(index).to_owned());
    let mut members: Members = vec![("kind", name)];
    if let Some(item) = at(tree, &["content"]) {
        if let Some(speaker) = tree.member(item, "speaker") {
            members.push(("speaker", tree.text(speaker).to_owned()));
        }
        let block_at = |blocks| tree.children(blocks).nth(block);
        let tool = tree.member(item, "blocks").and_then(block_at).and_then(|block| tool_of(tree, block));
        if let Some(tool) = tool.or_else(|| tools(tree, item).into_iter().next()) {
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
    let [left, right] = excerpts(fields);
    let excerpt = if side == Side::Left { left } else { right };
    members.extend(excerpt.map(|excerpt| ("excerpt", quoted(&excerpt))));
    members
}

/// The result in a block, or the first one in the item if that block has none.
fn result_from(tree: &Tree<'_>, item: Index, block: usize) -> Option<Index> {
    let result = |block: Index| tree.member(block, "result");
    let blocks = tree.member(item, "blocks")?;
    tree.children(blocks).nth(block).and_then(result).or_else(|| tree.children(blocks).find_map(result))
}

/// The index of the first block of an item in which two records differ; 0 if they differ elsewhere.
fn parting_block(fields: &[Field]) -> usize {
    let place = |field: &Field| {
        let rest = field.path.strip_prefix("/payload/content/blocks/")?;
        rest.split('/').next()?.parse().ok()
    };
    fields.iter().find_map(place).unwrap_or(0)
}

/// The text of each side at the first field that differs.
fn excerpts(fields: &[Field]) -> [Option<String>; 2] {
    let Some(field) = fields.first() else { return [None, None] };
    let shown = |json: &Option<String>| {
        json.as_ref().map(|json| match json.starts_with('"') {
            true => Text::from_json(inside(json)).to_plain().into_owned(),
            false => json.clone(),
        })
    };
    match (shown(&field.left), shown(&field.right)) {
        (Some(left), Some(right)) => {
            let common = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
            [left, right].map(|text| Some(excerpt(&text, common)))
        }
        (left, right) => [left, right].map(|text| text.map(|text| excerpt(&text, 0))),
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
    fn excerpts_begin_shortly_before_the_difference() {
        let field = |left: &str, right: Option<&str>| Field {
            path: String::new(),
            left: Some(left.to_owned()),
            right: right.map(str::to_owned),
            note: None,
        };
        let long = "é".repeat(200);
        let [left, right] = excerpts(&[field(&format!("\"{long}a{long}\""), Some(&format!("\"{long}b\"")))]);
        let before = "é".repeat(SHOWN_BEFORE);
        assert_eq!(left.unwrap(), format!("…{before}a{}…", "é".repeat(SHOWN_BEHIND - 1)));
        assert_eq!(right.unwrap(), format!("…{before}b"));
        assert_eq!(excerpts(&[field("[1]", None)]), [Some("[1]".into()), None]);
        assert_eq!(excerpts(&[]), [None, None]);
    }
}
