//! Lines of a session, redacted: the replay sees the same records, in the same places.
//!
//! Every string may be redacted but these: `type`, of a `session_start` its `sessionId` and `projectHash`, of a
//! `session_event` its `severity`, of an item of history its `speaker` and the `type` of its blocks, of events about checkpoints and forks
//! `checkpointId` and `parentSessionId`. Keys stay as well.
//! A line that is no JSON, torn by a crash or damaged, is redacted as the bytes that it is, and stays no JSON.

use std::collections::BTreeSet;

use super::document::{Document, Root, redacted};
use super::escapes::unescaped;
use super::json::{JsonPart, Step, is_json, parts};
use super::matcher::{Form, MatchContext, Matcher, placeholder};
use super::rule::Rule;
use crate::bundle::error::BundleError;
use crate::jsonl::text::spells;

/// The byte order mark with which a file may begin.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A line, without its `\n`, with everything redacted that the rules hit; None if they hit nothing.
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
    let facts = Facts::of(matcher, line);
    let is_fixed = |path: &[Step<'_>]| fixed(&facts, path);
    let allowed = |path: &[Step<'_>]| facts.allowed(path);
    redacted(matcher, line, &Document { allowed: &allowed, root: Root::Member, fixed: &is_fixed }, rules)
}

/// What is no JSON stays no JSON, or the replay would see another record.
fn redacted_bytes(
    matcher: &mut Matcher<'_>,
    line: &[u8],
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    // The kind of a line that does not parse is unknown, so rules apply to it whatever they are restricted to.
    let all = vec![true; matcher.rules().len()];
    let look = MatchContext { allowed: Some(&all), ..MatchContext::at(Form::Bytes) };
    let redacted = matcher.redacted(line, look, rules)?;
    Ok(redacted.map(|redacted| match is_json(&redacted) {
        true => placeholder(rules.first().map_or("", |rule| matcher.name(*rule))),
        false => redacted,
    }))
}

/// What decides which rules apply to a line's strings, and which strings stay.
struct Facts {
    kind: Option<String>,
    /// The rules that apply where no tool is concerned.
    everywhere: Option<Vec<bool>>,
    /// By the path of a block in the payload: the rules that apply in it.
    blocks: Vec<(Vec<usize>, Option<Vec<bool>>)>,
}

impl Facts {
    fn of(matcher: &Matcher<'_>, line: &[u8]) -> Self {
        let (mut kind, mut tools) = (None, Vec::new());
        let with_tools = matcher.rules().iter().any(Rule::names_tools);
        let visited: Result<(), std::convert::Infallible> = parts(line, |part, place, range| {
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
        Facts { everywhere: of_tool(None), blocks, kind }
    }

    fn allowed(&self, path: &[Step<'_>]) -> Option<&[bool]> {
        let block = path.split_first().filter(|_| !self.blocks.is_empty()).and_then(|(_, rest)| block_of(rest));
        let of_block = block.and_then(|block| self.blocks.iter().rev().find(|(path, _)| *path == block));
        of_block.map_or(self.everywhere.as_deref(), |(_, allowed)| allowed.as_deref())
    }
}

/// The block in which a value of the payload is: `content.blocks[n]`, or that of a summary.
fn block_of(path: &[Step<'_>]) -> Option<Vec<usize>> {
    let [Step::Key(item), Step::Key(blocks), Step::Index(index), ..] = path else { return None };
    let place = ["content", "summary"].into_iter().position(|name| spells(item, name))?;
    spells(blocks, "blocks").then(|| vec![place, *index])
}

fn is_tool_name(path: &[Step<'_>]) -> bool {
    let [_, _, _, Step::Key(key)] = path else { return false };
    spells(key, "name") || spells(key, "toolName")
}

/// The field that a string is, if it must stay.
fn fixed(facts: &Facts, path: &[Step<'_>]) -> Option<&'static str> {
    let (Step::Key(first), rest) = path.split_first()? else { return None };
    if rest.is_empty() {
        return spells(first, "type").then_some("the line's 'type'");
    }
    if !spells(first, "payload") {
        return None;
    }
    match (facts.kind.as_deref(), rest) {
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
