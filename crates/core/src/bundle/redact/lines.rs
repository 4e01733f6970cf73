//! Redacts the lines of a session so that a replay sees the same records.
//!
//! The keys that the format names are fixed, and these strings: `type`, the `sessionId` and `projectHash` of a `session_start`, the `severity` of a
//! `session_event`, the `speaker` of an item and the `type` of its blocks, wherever an event has items, and the `checkpointId` and
//! `parentSessionId` of events about checkpoints and forks, and what makes a block a reference to media.
//!
//! A torn or damaged line that is not JSON is redacted as bytes, and must not become JSON.

use std::collections::BTreeSet;

use super::document::{Document, Root, redacted};
use super::escapes::unescaped;
use super::json::{JsonPart, Step, is_json, visit_parts};
use super::matcher::{Form, MatchContext, Matcher, placeholder};
use super::references::{ReferenceParts, redacted_torn};
use super::rule::Rule;
use crate::bundle::format::BundleError;
use crate::disk::BOM;
use crate::json::spells;

/// Redacts a line, without its `\n`; returns `None` if no rule matches.
pub(crate) fn redacted_line(
    matcher: &mut Matcher<'_>,
    line: &[u8],
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let text = line.strip_prefix(BOM).unwrap_or(line);
    let redacted =
        if is_json(text) { redacted_json(matcher, text, rules)? } else { redacted_bytes(matcher, text, rules)? };
    Ok(redacted.map(|redacted| [&line[..line.len() - text.len()], &redacted].concat()))
}

fn redacted_json(
    matcher: &mut Matcher<'_>,
    line: &[u8],
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let scope = RuleScope::of(matcher, line);
    let fixed = |path: &[Step<'_>]| fixed_field(scope.kind.as_deref(), path);
    let allowed = |path: &[Step<'_>]| scope.allowed(path);
    let has_free_keys = |path: &[Step<'_>]| has_free_keys(scope.kind.as_deref(), path);
    redacted(
        matcher,
        line,
        &Document {
            allowed: &allowed,
            root: Root::Member,
            fixed: &fixed,
            has_free_keys: &has_free_keys,
            references: ReferenceParts::of_line(line),
        },
        rules,
    )
}

/// Whether the format names no key of the object at a path: it is in a member of a block, as parameters and results of tools are, or in
/// another value within the payload.
fn has_free_keys(kind: Option<&str>, path: &[Step<'_>]) -> bool {
    let [Step::Key(payload), rest @ ..] = path else { return false };
    if !spells(payload, "payload") || is_part_of_edit(kind, rest) {
        return false;
    }
    match item_of(kind, rest) {
        Some((_, [Step::Key(blocks), rest @ ..])) if spells(blocks, "blocks") => rest.len() > 1,
        Some((_, [Step::Key(metadata), Step::Key(marker)])) if spells(metadata, "metadata") => {
            !spells(marker, "chronology")
        }
        Some((_, rest)) => !rest.is_empty(),
        None => !rest.is_empty(),
    }
}

/// Whether the value at a path of the payload is an object, not an item, of an edit of the history.
fn is_part_of_edit(kind: Option<&str>, path: &[Step<'_>]) -> bool {
    match (kind, path) {
        (Some("density_mutation"), [Step::Key(key), Step::Index(_)]) => spells(key, "replacements"),
        (Some("chronology_bind"), [Step::Key(key)]) => spells(key, "chronology"),
        (Some("semantic_media_purge"), [Step::Key(key)]) => spells(key, "frontier"),
        _ => false,
    }
}

/// Redacts a line that is not JSON. If the result is JSON by accident, it is replaced by a placeholder, because a replay would see
/// another record.
fn redacted_bytes(
    matcher: &mut Matcher<'_>,
    line: &[u8],
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    // The type and tool of a line that does not parse are unknown, so restricted rules apply too.
    let all = vec![true; matcher.rules().len()];
    let context = MatchContext { allowed: Some(&all), ..MatchContext::at(Form::Bytes) };
    let known = redacted_torn(matcher, line, rules)?;
    let redacted = matcher.redacted(known.as_deref().unwrap_or(line), context, rules)?.or(known);
    Ok(redacted.map(|redacted| match is_json(&redacted) {
        true => placeholder(rules.first().map_or("", |rule| matcher.name(*rule))),
        false => redacted,
    }))
}

/// The rules that apply to the strings of a line.
struct RuleScope {
    /// The `type` of the line.
    kind: Option<String>,
    /// The rules that apply outside of blocks with a tool.
    everywhere: Option<Vec<bool>>,
    /// The rules that apply in blocks with a tool, by the path of the block in the payload.
    blocks: Vec<(Vec<usize>, Option<Vec<bool>>)>,
}

impl RuleScope {
    fn of(matcher: &Matcher<'_>, line: &[u8]) -> Self {
        let with_tools = matcher.rules().iter().any(Rule::names_tools);
        let mut kind = None;
        each_text(line, |path, text| {
            if let [Step::Key(key)] = path
                && spells(key, "type")
            {
                kind = Some(text());
            }
        });
        let of_tool = |tool: Option<&str>| matcher.allowed(kind.as_deref(), tool);
        let mut blocks = Vec::new();
        if with_tools {
            each_text(line, |path, text| {
                if let Some((block, true)) = block_at(kind.as_deref(), path) {
                    blocks.push((block, of_tool(Some(&text()))));
                }
            });
        }
        RuleScope { everywhere: of_tool(None), blocks, kind }
    }

    fn allowed(&self, path: &[Step<'_>]) -> Option<&[bool]> {
        let block =
            Some(path).filter(|_| !self.blocks.is_empty()).and_then(|path| block_at(self.kind.as_deref(), path));
        let of_block = block.and_then(|(block, _)| self.blocks.iter().rev().find(|(path, _)| *path == block));
        of_block.map_or(self.everywhere.as_deref(), |(_, allowed)| allowed.as_deref())
    }
}

/// Passes the strings of a line, with their paths, to `take`.
fn each_text(line: &[u8], mut take: impl FnMut(&[Step<'_>], &dyn Fn() -> String)) {
    let visited: Result<(), std::convert::Infallible> = visit_parts(line, |part, place, range| {
        if part == JsonPart::Text && !place.is_deep {
            take(place.path, &|| String::from_utf8_lossy(&unescaped(&line[range.clone()])).into_owned());
        }
        Ok(())
    });
    let Ok(()) = visited;
}

/// The block around a value of a line, by the path of the block, and whether the value is the name of its tool.
fn block_at(kind: Option<&str>, path: &[Step<'_>]) -> Option<(Vec<usize>, bool)> {
    let [Step::Key(payload), path @ ..] = path else { return None };
    let (mut block, path) = item_of(kind, path).filter(|_| spells(payload, "payload"))?;
    let [Step::Key(blocks), Step::Index(index), path @ ..] = path else { return None };
    block.push(*index);
    let is_tool_name = matches!(path, [Step::Key(key)] if spells(key, "name") || spells(key, "toolName"));
    spells(blocks, "blocks").then_some((block, is_tool_name))
}

/// The item around a value of the payload of a line of type `kind`: which one of the line it is, and the path of the value in it.
fn item_of<'p, 's>(kind: Option<&str>, path: &'p [Step<'s>]) -> Option<(Vec<usize>, &'p [Step<'s>])> {
    match (kind, path) {
        (_, [Step::Key(item), rest @ ..]) if spells(item, "content") => Some((vec![0], rest)),
        (_, [Step::Key(item), rest @ ..]) if spells(item, "summary") => Some((vec![1], rest)),
        (Some("density_mutation"), [Step::Key(list), Step::Index(index), Step::Key(item), rest @ ..]) => {
            (spells(list, "replacements") && spells(item, "replacement")).then(|| (vec![2, *index], rest))
        }
        (Some("semantic_media_purge"), [Step::Key(list), Step::Index(index), rest @ ..]) => {
            spells(list, "history").then(|| (vec![3, *index], rest))
        }
        _ => None,
    }
}

/// The fixed field at a path of a line of type `kind`, if it is one.
fn fixed_field(kind: Option<&str>, path: &[Step<'_>]) -> Option<&'static str> {
    let (Step::Key(first), rest) = path.split_first()? else { return None };
    if rest.is_empty() {
        return spells(first, "type").then_some("the line's 'type'");
    }
    if !spells(first, "payload") {
        return None;
    }
    match (kind, rest) {
        (Some("session_start"), [Step::Key(key)]) => [("sessionId", "'sessionId'"), ("projectHash", "'projectHash'")]
            .into_iter()
            .find(|(name, _)| spells(key, name)),
        (Some("session_event"), [Step::Key(key)]) => {
            Some(("severity", "'severity'")).filter(|(name, _)| spells(key, name))
        }
        (Some("checkpoint_created" | "checkpoint_renamed" | "checkpoint_deleted"), [Step::Key(key)]) => {
            Some(("checkpointId", "'checkpointId'")).filter(|(name, _)| spells(key, name))
        }
        (Some("session_forked"), [Step::Key(key)]) => {
            [("checkpointId", "'checkpointId'"), ("parentSessionId", "'parentSessionId'")]
                .into_iter()
                .find(|(name, _)| spells(key, name))
        }
        (Some(kind), _) if has_items(kind) => fixed_in_item(item_of(Some(kind), rest)?.1),
        _ => None,
    }
    .map(|(_, shown)| shown)
}

/// The fixed field at a path of an item.
fn fixed_in_item(path: &[Step<'_>]) -> Option<(&'static str, &'static str)> {
    match path {
        [Step::Key(key)] => Some(("speaker", "'speaker'")).filter(|(name, _)| spells(key, name)),
        [Step::Key(blocks), Step::Index(_), Step::Key(key)] if spells(blocks, "blocks") => {
            Some(("type", "the 'type' of a block")).filter(|(name, _)| spells(key, name))
        }
        _ => None,
    }
}

/// Whether an event of this type has items.
fn has_items(kind: &str) -> bool {
    matches!(
        kind,
        "content" | "compressed" | "density_mutation" | "synthetic_insert" | "chronology_bind" | "semantic_media_purge"
    )
}
