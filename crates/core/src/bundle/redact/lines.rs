//! Redacts the lines of a session so that a replay sees the same records.
//!
//! The keys that the format names are fixed, and these strings: `type`, the `sessionId` and `projectHash` of a `session_start`, the `severity` of a
//! `session_event`, the `speaker` of an item and the `type` of its blocks, and the `checkpointId` and `parentSessionId` of events about
//! checkpoints and forks.
//!
//! A torn or damaged line that is not JSON is redacted as bytes, and must not become JSON.

use std::collections::BTreeSet;

use super::document::{Document, Root, redacted};
use super::escapes::unescaped;
use super::json::{JsonPart, Step, is_json, visit_parts};
use super::matcher::{Form, MatchContext, Matcher, placeholder};
use super::rule::Rule;
use crate::bundle::format::BundleError;
use crate::disk::BOM;
use crate::json::spells;

/// Redacts a line, without its `\n`; returns `None` if no rule matches.
pub fn redacted_line(
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
    redacted(
        matcher,
        line,
        &Document { allowed: &allowed, root: Root::Member, fixed: &fixed, has_free_keys: &has_free_keys },
        rules,
    )
}

/// Whether the format names no key of the object at a path: it is in a member of a block, as parameters and results of tools are, or in
/// another value within the payload.
fn has_free_keys(path: &[Step<'_>]) -> bool {
    match path {
        [Step::Key(payload), rest @ ..] if spells(payload, "payload") => match rest {
            [Step::Key(item), Step::Key(blocks), rest @ ..] if is_item(item) && spells(blocks, "blocks") => {
                rest.len() > 1
            }
            [Step::Key(item), rest @ ..] if is_item(item) => !rest.is_empty(),
            rest => !rest.is_empty(),
        },
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
    let redacted = matcher.redacted(line, context, rules)?;
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
        let (mut kind, mut tools) = (None, Vec::new());
        let with_tools = matcher.rules().iter().any(Rule::names_tools);
        let visited: Result<(), std::convert::Infallible> = visit_parts(line, |part, place, range| {
            if part != JsonPart::Text || place.is_deep {
                return Ok(());
            }
            let text = || String::from_utf8_lossy(&unescaped(&line[range.clone()])).into_owned();
            match place.path {
                [Step::Key(key)] if spells(key, "type") => kind = Some(text()),
                [Step::Key(payload), rest @ ..] if with_tools && spells(payload, "payload") => {
                    if let Some(block) = block_of(rest).filter(|_| is_tool_name(rest)) {
                        tools.push((block, text()));
                    }
                }
                _ => {}
            }
            Ok(())
        });
        let Ok(()) = visited;
        let of_tool = |tool: Option<&str>| matcher.allowed(kind.as_deref(), tool);
        let blocks = tools.into_iter().map(|(block, tool)| (block, of_tool(Some(&tool)))).collect();
        RuleScope { everywhere: of_tool(None), blocks, kind }
    }

    fn allowed(&self, path: &[Step<'_>]) -> Option<&[bool]> {
        let block = path.split_first().filter(|_| !self.blocks.is_empty()).and_then(|(_, rest)| block_of(rest));
        let of_block = block.and_then(|block| self.blocks.iter().rev().find(|(path, _)| *path == block));
        of_block.map_or(self.everywhere.as_deref(), |(_, allowed)| allowed.as_deref())
    }
}

/// The block around a value of the payload: an element of `content.blocks` or `summary.blocks`.
fn block_of(path: &[Step<'_>]) -> Option<Vec<usize>> {
    let [Step::Key(item), Step::Key(blocks), Step::Index(index), ..] = path else { return None };
    let place = ["content", "summary"].into_iter().position(|name| spells(item, name))?;
    spells(blocks, "blocks").then(|| vec![place, *index])
}

fn is_tool_name(path: &[Step<'_>]) -> bool {
    let [_, _, _, Step::Key(key)] = path else { return false };
    spells(key, "name") || spells(key, "toolName")
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
        (Some("content" | "compressed"), [Step::Key(item), Step::Key(key)]) if is_item(item) => {
            Some(("speaker", "'speaker'")).filter(|(name, _)| spells(key, name))
        }
        (Some("content" | "compressed"), [Step::Key(item), Step::Key(blocks), Step::Index(_), Step::Key(key)])
            if is_item(item) && spells(blocks, "blocks") =>
        {
            Some(("type", "the 'type' of a block")).filter(|(name, _)| spells(key, name))
        }
        _ => None,
    }
    .map(|(_, shown)| shown)
}

fn is_item(key: &[u8]) -> bool {
    spells(key, "content") || spells(key, "summary")
}
