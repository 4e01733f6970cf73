//! Events of a run, redacted: envelope and hashes stay, the payload becomes another one, the salt goes.
//!
//! Of a payload, the fields that [`fields_of`] calls fixed must stay, and so must every key.

use std::collections::BTreeSet;

use super::document::{Document, Root, check_fixed, redacted};
use super::json::Step;
use super::matcher::{Form, MatchContext, Matcher};
use super::rule::Rule;
use crate::bundle::error::BundleError;
use crate::jsonl::scan::Nesting;
use crate::jsonl::text::spells;
use crate::run::event::{EventLine, print_rest};
use crate::run::fields;
use crate::run::kind::Kind;
use crate::run::payload_fields::{FieldType, PayloadField, fields_of};

/// The field that a string of a payload is in, if it must stay.
fn fixed(fields: &'static [PayloadField], path: &[Step<'_>]) -> Option<&'static str> {
    let (Step::Key(key), inner) = path.split_first()? else { return None };
    let field = fields.iter().find(|field| spells(key, field.name))?;
    match field.of {
        _ if field.is_fixed => Some(field.name),
        FieldType::Object(members) => fixed(members, inner),
        FieldType::Objects(members) => fixed(members, inner.get(1..)?),
        _ => None,
    }
}

/// Which rules apply to an event.
pub fn allowed(matcher: &Matcher<'_>, kind: Kind, payload: &str) -> Option<Vec<bool>> {
    let tool = if matcher.rules().iter().any(Rule::names_tools) { tool(kind, payload) } else { None };
    matcher.allowed(Some(kind.as_str()), tool.as_deref())
}

/// The tool that an event is about.
pub fn tool(kind: Kind, payload: &str) -> Option<String> {
    matches!(kind, Kind::ToolInvoked | Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut).then_some(())?;
    let [tool] = fields::read(payload, ["tool"], &mut Nesting::default()).ok()?;
    Some(tool.id().ok()?.to_plain().into_owned())
}

/// The payload of an event with everything redacted that the rules hit; None if they hit nothing.
pub fn redacted_payload(
    matcher: &mut Matcher<'_>,
    kind: Kind,
    payload: &str,
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let allowed = allowed(matcher, kind, payload);
    let is_fixed = |path: &[Step<'_>]| fixed(fields_of(kind), path);
    let document = Document { allowed: &|_| allowed.as_deref(), root: Root::Payload, fixed: &is_fixed };
    redacted(matcher, payload.as_bytes(), &document, rules)
}

/// The line of an event with everything redacted that the rules hit, with its `\n`; None if they hit nothing.
pub fn redacted_event(
    matcher: &mut Matcher<'_>,
    kind: Kind,
    event: &EventLine<'_>,
    rules: &mut BTreeSet<usize>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let allowed = allowed(matcher, kind, event.payload);
    let look = MatchContext { allowed: allowed.as_deref(), ..MatchContext::at(Form::Inside) };
    // Salt and hashes of the envelope are the chain's own: random digits that no rule means.
    let envelope =
        [("its time, 'ts'", event.ts), ("its 'kind'", event.kind), ("its 'node'", event.node.unwrap_or_default())];
    for (what, text) in envelope {
        check_fixed(matcher, text.as_bytes(), look, what)?;
    }
    let payload = redacted_payload(matcher, kind, event.payload, rules)?;
    // A salt that was found as a secret elsewhere (somebody recorded the log itself) can go, as that of a redacted event does.
    let by_salt = event.salt.and_then(|salt| matcher.secrets.first(salt));
    rules.extend(by_salt);
    if payload.is_none() && by_salt.is_none() {
        return Ok(None);
    }
    let mut line = event.covered_bytes().to_vec();
    print_rest(&mut line, event.hash, None, payload.as_deref().unwrap_or(event.payload.as_bytes()));
    Ok(Some(line))
}
