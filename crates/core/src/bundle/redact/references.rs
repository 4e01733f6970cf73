//! The parts of references to media in a line of a session: what makes them references stays, and what a provider knows an image by is a secret.

use std::collections::HashMap;
use std::ops::Range;

use super::json::{JsonPart, Step, visit_parts};
use super::pointer::Reach;
use crate::json::spells;
use crate::session::media::{RecordReferences, is_member_name};

/// The name of the rule for what a provider knows an image by.
pub(crate) const NAME: &str = "provider-file";

/// A part of the name of each member that the rule is for.
pub(super) const LITERALS: &[&str] = &["roviderFile"];

/// A part of a reference that is not redacted as other strings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferencePart {
    /// The id of an object. No rule is applied to it, since it is a hash.
    Id,
    /// What else a reader requires of a reference.
    Fixed,
    /// What the rule is for. Of a scope, which may have the id of the session, [`Within`](Reach::Within): it is not searched for elsewhere.
    ProviderFile(Reach),
}

/// The parts of the references of a line, by their offsets.
#[derive(Default)]
pub(super) struct ReferenceParts(HashMap<usize, ReferencePart>);

impl ReferenceParts {
    /// Those of a line.
    pub(super) fn of_line(line: &[u8]) -> Self {
        let mut parts = HashMap::new();
        for Range { start, end } in RecordReferences::of_line(line).iter().flat_map(RecordReferences::places) {
            let block = &line[start..end];
            let visited: Result<(), std::convert::Infallible> = visit_parts(block, |part, place, range| {
                let found = if place.is_deep { None } else { part_at(part, place.path, &block[range.clone()]) };
                parts.extend(found.map(|found| (start + range.start, found)));
                Ok(())
            });
            let Ok(()) = visited;
        }
        ReferenceParts(parts)
    }

    /// The part at an offset.
    pub(super) fn at(&self, offset: usize) -> Option<ReferencePart> {
        self.0.get(&offset).copied()
    }
}

/// What stands at a path of a reference.
fn part_at(part: JsonPart, path: &[Step<'_>], text: &[u8]) -> Option<ReferencePart> {
    let is = |key: &[u8], names: &[&str]| names.iter().any(|name| spells(key, name));
    let is_object = |key: &[u8]| is(key, &["originalObject", "selectedObject"]);
    match (part, path) {
        (JsonPart::Key, []) => is_member_name(text).then_some(ReferencePart::Fixed),
        (JsonPart::Key, [Step::Key(object)]) if is_object(object) || is(object, &["dimensions"]) => {
            is_member_name(text).then_some(ReferencePart::Fixed)
        }
        (JsonPart::Text, [Step::Key(key)]) if is(key, &["contentId", "originalContentId", "selectedContentId"]) => {
            Some(ReferencePart::Id)
        }
        (JsonPart::Text, [Step::Key(key)]) if is(key, &["type", "encoding", "mimeType"]) => Some(ReferencePart::Fixed),
        (JsonPart::Text, [Step::Key(object), Step::Key(key)]) if is_object(object) => match () {
            () if spells(key, "contentId") => Some(ReferencePart::Id),
            () => spells(key, "mimeType").then_some(ReferencePart::Fixed),
        },
        (JsonPart::Text, [Step::Key(files), Step::Index(_), Step::Key(key)]) if spells(files, "providerFiles") => {
            match () {
                () if spells(key, "scopeId") => Some(ReferencePart::ProviderFile(Reach::Within)),
                () => is(key, &["credentialHash", "fileId"]).then_some(ReferencePart::ProviderFile(Reach::Exactly)),
            }
        }
        (JsonPart::Text, [Step::Key(ids), _, ..]) if spells(ids, "providerFileIds") => {
            Some(ReferencePart::ProviderFile(Reach::Exactly))
        }
        _ => None,
    }
}
