//! Drops the hashes of original blobs from which the secrets in them could be guessed.
//!
//! Whoever has the redacted bytes and the hash of the original can try every value for a short secret. So the events that name such a
//! blob name the redacted one instead, and lose their salt as other redacted events do; `redactions.json` then maps the redacted blob to
//! itself. What the state depends on stays: the output hash of a tool, which every later state hash covers.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use super::escapes::unescaped;
use super::events::fixed_field;
use super::json::{JsonPart, Step, visit_parts};
use super::staging::Staging;
use crate::bundle::export::{ExportPlan, PlannedFile};
use crate::bundle::format::{
    BundleCode, BundleError, BundlePath, EVENT_LOG, RedactedBlob, RedactedEvent, RedactionList, merge_rules, of_run,
};
use crate::hash::{HEX_BYTES, as_text};
use crate::json::spells;
use crate::order;
use crate::run::{EventLine, Kind};
use crate::task::Task;

/// Replacements of original blobs, by the hash of the original.
type Replacements = BTreeMap<String, RedactedBlob>;

/// Replaces the hashes of the original blobs in a redacted plan by those of the redacted ones, for redacted blobs in `guessable`.
pub(super) fn drop_original_hashes(
    plan: &mut ExportPlan,
    guessable: &HashSet<String>,
    beside: &Path,
    task: &mut Task<'_>,
) -> Result<(), BundleError> {
    let listed = plan.redactions.blobs.iter();
    let listed = listed.filter(|(original, blob)| guessable.contains(&blob.redacted) && **original != blob.redacted);
    let dropped: Replacements = order::map(listed.map(|(original, blob)| (original.clone(), blob.clone())));
    if dropped.is_empty() {
        return Ok(());
    }
    for (original, RedactedBlob { redacted, rules }) in &dropped {
        plan.redactions.blobs.remove(original);
        let entry = plan.redactions.blobs.entry(redacted.clone());
        merge_rules(
            &mut entry.or_insert(RedactedBlob { redacted: redacted.clone(), rules: Vec::new() }).rules,
            rules.clone(),
        );
    }
    let path = BundlePath::parse(EVENT_LOG.as_bytes())?;
    let Some(log) = plan.files.get(&path) else { return Ok(()) };
    let staging = match &mut plan.staging {
        Some(staging) => staging,
        None => plan.staging.insert(Staging::new(beside)?),
    };
    let mut out = staging.file()?;
    rewrite(log, &dropped, &mut plan.redactions, &mut out, task).map_err(|error| error.of_file(EVENT_LOG))?;
    let rewritten = out.finish()?;
    plan.files.insert(path, rewritten);
    Ok(())
}

/// Copies a log to `out`, with the replacements in its events, and lists the events that were changed.
fn rewrite(
    log: &PlannedFile,
    dropped: &Replacements,
    list: &mut RedactionList,
    out: &mut dyn Write,
    task: &mut Task<'_>,
) -> Result<(), BundleError> {
    let mut input = BufReader::with_capacity(1 << 20, log.open()?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = input.read_until(b'\n', &mut line).map_err(|error| BundleError::system(&error, "read", None))?;
        if count == 0 {
            return Ok(());
        }
        task.check()?;
        let replaced = rewritten(&line, dropped, list)?;
        let failed = |error| BundleError::system(&error, "write", None);
        out.write_all(replaced.as_deref().unwrap_or(&line)).map_err(failed)?;
    }
}

/// The line of an event with the replacements in it; `None` if there are none.
fn rewritten(line: &[u8], dropped: &Replacements, list: &mut RedactionList) -> Result<Option<Vec<u8>>, BundleError> {
    let text = std::str::from_utf8(line.strip_suffix(b"\n").unwrap_or(line)).unwrap_or_default();
    let event = EventLine::split(text).map_err(|error| of_run(BundleCode::SourceInvalid, error))?;
    let Some(kind) = Kind::parse(event.kind) else { return Ok(None) };
    let mut rules = BTreeSet::new();
    let Some(payload) = replaced(kind, event.payload.as_bytes(), dropped, &mut rules)? else { return Ok(None) };
    let line = event.redacted(&payload);
    let payload_hash = as_text(event.payload_hash).to_owned();
    let known = list.events.entry(event.time).or_insert(RedactedEvent { payload_hash, rules: Vec::new() });
    merge_rules(&mut known.rules, rules.into_iter().collect());
    Ok(Some(line))
}

/// A payload with the replacements in its strings; `None` if there are none.
fn replaced(
    kind: Kind,
    payload: &[u8],
    dropped: &Replacements,
    rules: &mut BTreeSet<String>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let (mut out, mut at) = (Vec::new(), 0);
    visit_parts(payload, |part, place, range| {
        if part != JsonPart::Text || must_stay(kind, place.path) {
            return Ok::<_, BundleError>(());
        }
        let text = unescaped(&payload[range.clone()]);
        for (from, to, blob) in hashes_in(&text, dropped) {
            // A text with escapes is replaced only if it is the name of a blob and nothing else.
            let (start, end) = match text.len() == range.len() {
                true => (range.start + from, range.start + to),
                false if to - from == text.len() => (range.start, range.end),
                false => continue,
            };
            out.extend_from_slice(&payload[at..start]);
            out.extend_from_slice(blob.redacted.as_bytes());
            rules.extend(blob.rules.iter().cloned());
            at = end;
        }
        Ok(())
    })?;
    if at == 0 {
        return Ok(None);
    }
    out.extend_from_slice(&payload[at..]);
    Ok(Some(out))
}

/// Whether the state depends on a field, or it is an id. The names of blobs are neither.
fn must_stay(kind: Kind, path: &[Step<'_>]) -> bool {
    let name = match kind {
        Kind::BlobStored => "blob",
        Kind::ToolCompleted => "rawHash",
        _ => "",
    };
    let names_blob = matches!(path, [Step::Key(key)] if !name.is_empty() && spells(key, name));
    !names_blob && fixed_field(kind.fields(), path).is_some()
}

/// The hashes of dropped blobs in a text, as start, end and replacement.
fn hashes_in<'d>(text: &[u8], dropped: &'d Replacements) -> Vec<(usize, usize, &'d RedactedBlob)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at + HEX_BYTES <= text.len() {
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let name = std::str::from_utf8(&text[at..at + digits]).unwrap_or_default();
        if let Some(blob) = dropped.get(name) {
            found.push((at, at + digits, blob));
        }
        at += digits + 1;
    }
    found
}

#[cfg(test)]
mod tests;
