//! Events of a run, redacted: envelope and hashes stay, the payload becomes another one, the salt goes.
//!
//! | kind | strings that may be redacted | strings that must stay: ids, hashes, names of a list, what the state is built from |
//! |---|---|---|
//! | any | whatever the format does not name | the envelope but for its salt and hashes, which no rule looks at; every key |
//! | `RunCreated` | `workflow.name`, `workflow.version` | `runId`, `dagHash`, `scheduler`, `capabilities` |
//! | `RunStarted` | | `workers[].id`, `workers[].capabilities` |
//! | `RunCompleted` | | `outputs` |
//! | `RunFailed` | `code`, `message` | `node` |
//! | `NodeScheduled`, `NodeStarted`, `NodeCompleted` | | `task`, `worker`, `inputHash`, `outputHash` |
//! | `NodeFailed` | | `task`; `code` and `message`, which are the node's error in the state |
//! | `NodeSkipped` | `reason` | |
//! | `ToolInvoked` | `version` | `tool`, `call`, `requestHash` |
//! | `ToolCompleted` | | `tool`, `call`, `rawHash`, `outputHash`, `normalizer` |
//! | `ToolFailed`, `ToolTimedOut` | `code`, `message` | `tool`, `call` |
//! | `CapabilityCheck` | `subject` | `capability` |
//! | `PolicyDecision` | `decision` | `rule` |
//! | `TaskAssigned`, `TaskAccepted`, `TaskRejected` | `reason` | `task`, `worker`, `from` |
//! | `SnapshotCreated`, `SnapshotRestored` | | `snapshot`, `stateHash` |
//! | `BlobStored` | `mediaType` | `blob` |
//! | `Heartbeat` | | `worker`, `status`, `capabilities` |
//! | `Error` | `code`, `message` | |

use std::collections::BTreeSet;

use super::document::{Document, Root, check_fixed, redacted};
use super::json::Step;
use super::matcher::{Form, Look, Matcher};
use super::rule::Rule;
use crate::bundle::error::BundleError;
use crate::jsonl::scan::Nesting;
use crate::jsonl::text::spells;
use crate::run::event::{EventLine, print_rest};
use crate::run::fields;
use crate::run::kind::Kind;

/// The fields of an event's payload that must stay, with all that is in them.
pub fn fixed_fields(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::RunCreated => &["runId", "dagHash", "scheduler", "capabilities"],
        Kind::RunCompleted => &["outputs"],
        Kind::RunFailed => &["node"],
        Kind::NodeScheduled => &["task"],
        Kind::NodeStarted => &["task", "worker", "inputHash"],
        Kind::NodeCompleted => &["task", "outputHash"],
        Kind::NodeFailed => &["task", "code", "message"],
        Kind::ToolInvoked => &["tool", "call", "requestHash"],
        Kind::ToolCompleted => &["tool", "call", "rawHash", "outputHash", "normalizer"],
        Kind::ToolFailed | Kind::ToolTimedOut => &["tool", "call"],
        Kind::CapabilityCheck => &["capability"],
        Kind::PolicyDecision => &["rule"],
        Kind::TaskAssigned => &["task", "worker", "from"],
        Kind::TaskAccepted | Kind::TaskRejected => &["task", "worker"],
        Kind::SnapshotCreated | Kind::SnapshotRestored => &["snapshot", "stateHash"],
        Kind::BlobStored => &["blob"],
        Kind::Heartbeat => &["worker", "status", "capabilities"],
        Kind::RunStarted | Kind::NodeSkipped | Kind::Error => &[],
    }
}

/// The field that a string of a payload is, if it must stay.
fn fixed(kind: Kind, path: &[Step<'_>]) -> Option<&'static str> {
    let Some(Step::Key(first)) = path.first() else { return None };
    if kind == Kind::RunStarted {
        // Of a worker's declaration, what the format does not name may be redacted.
        let Some(Step::Key(member)) = path.get(2).filter(|_| spells(first, "workers")) else { return None };
        return ["id", "capabilities"].into_iter().find(|field| spells(member, field));
    }
    fixed_fields(kind).iter().copied().find(|field| spells(first, field))
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
    let document = Document { allowed: &|_| allowed.as_deref(), root: Root::Payload, fixed: &|path| fixed(kind, path) };
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
    let look = Look { allowed: allowed.as_deref(), ..Look::at(Form::Inside) };
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
