//! Redacts the events of a run: replaces the payload and removes the salt; the rest of the envelope and the hashes stay the same.
//!
//! The keys that the format names, and the fields that [`Kind::fields`] marks as fixed, can't be redacted.

use std::collections::BTreeSet;

use super::document::{Document, Root, check_fixed, redacted};
use super::json::Step;
use super::matcher::{Form, MatchContext, Matcher};
use super::references::ReferenceParts;
use super::rule::Rule;
use crate::bundle::format::BundleError;
use crate::json::{Field, Nesting, names, spells};
use crate::run::{EventLine, FieldType, Kind, PayloadField};

/// The fixed field at a path of a payload, if it is one.
pub(super) fn fixed_field(fields: &'static [PayloadField], path: &[Step<'_>]) -> Option<&'static str> {
    let (Step::Key(key), inner) = path.split_first()? else { return None };
    let field = fields.iter().find(|field| spells(key, field.name))?;
    match field.of {
        _ if field.is_fixed => Some(field.name),
        FieldType::Object(members) => fixed_field(members, inner),
        FieldType::Objects(members) => fixed_field(members, inner.get(1..)?),
        _ => None,
    }
}

/// The rules that apply to an event; `None` for the unrestricted rules.
pub(super) fn allowed(matcher: &Matcher<'_>, kind: Kind, payload: &str) -> Option<Vec<bool>> {
    let tool = if matcher.rules().iter().any(Rule::names_tools) { tool(kind, payload) } else { None };
    matcher.allowed(Some(kind.as_str()), tool.as_deref())
}

/// The tool of an event that is about a call.
pub(super) fn tool(kind: Kind, payload: &str) -> Option<String> {
    matches!(kind, Kind::ToolInvoked | Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut).then_some(())?;
    let [tool] = Field::read(payload, names!["tool"], &mut Nesting::default()).ok()?;
    Some(tool.id().ok()?.to_plain().into_owned())
}

/// Redacts a payload; returns `None` if no rule matches.
pub(super) fn redacted_payload(
    matcher: &mut Matcher<'_>,
    kind: Kind,
    payload: &str,
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let allowed = allowed(matcher, kind, payload);
    let fixed = |path: &[Step<'_>]| fixed_field(kind.fields(), path);
    // Within a field that the format does not name.
    let has_free_keys = |path: &[Step<'_>]| match path.first() {
        Some(Step::Key(key)) => !kind.fields().iter().any(|field| spells(key, field.name)),
        _ => false,
    };
    let document = Document {
        allowed: &|_| allowed.as_deref(),
        root: Root::Payload,
        fixed: &fixed,
        has_free_keys: &has_free_keys,
        references: ReferenceParts::default(),
    };
    redacted(matcher, payload.as_bytes(), &document, rules)
}

/// Redacts an event; returns its line with `\n`, or `None` if no rule matches.
pub(super) fn redacted_event(
    matcher: &mut Matcher<'_>,
    kind: Kind,
    event: &EventLine<'_>,
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let allowed = allowed(matcher, kind, event.payload);
    let context = MatchContext { allowed: allowed.as_deref(), ..MatchContext::at(Form::JsonString) };
    // Salt and hashes are not checked: they are random digits of the chain, not content.
    let envelope =
        [("its time, 'ts'", event.ts), ("its 'kind'", event.kind), ("its 'node'", event.node.unwrap_or_default())];
    for (what, text) in envelope {
        check_fixed(matcher, text.as_bytes(), context, what)?;
    }
    let payload = redacted_payload(matcher, kind, event.payload, rules)?;
    // The salt may have been found as a secret elsewhere, if the log itself was recorded. Then it is removed as in a redacted event.
    let by_salt = event.salt.and_then(|salt| matcher.secrets.first(salt));
    rules.extend(by_salt);
    if payload.is_none() && by_salt.is_none() {
        return Ok(None);
    }
    Ok(Some(event.redacted(payload.as_deref().unwrap_or(event.payload.as_bytes()))))
}
