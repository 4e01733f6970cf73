//! Drops the hashes of original blobs from which the secrets in them could be guessed.
//!
//! Whoever has the redacted bytes and the hash of the original can try every value for a short secret. So the events that name such a
//! blob name the redacted one instead, and lose their salt as other redacted events do; `redactions.json` then maps the redacted blob to
//! itself. [`holders`] removes the hash from other blobs. What the state depends on stays: the output hash of a tool, which every later
//! state hash covers.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

mod digits;
mod holders;

use digits::{Found, find};
use holders::redact_holders;

use super::blobs::MAX_JSON_BYTES;
use super::events::fixed_field;
use super::json::{JsonPart, Step, is_json, visit_parts};
use super::pass::graph_field;
use super::staging::Staging;
use crate::bundle::export::{ExportPlan, PlannedFile};
use crate::bundle::format::{
    BundleCode, BundleError, BundlePath, EVENT_LOG, Limits, RedactedBlob, RedactedEvent, RedactionList, merge_rules,
    of_run, path,
};
use crate::bundle::read::read_failed;
use crate::hash::{Hash, as_text, from_hex, to_hex};
use crate::json::{Text, spells};
use crate::order;
use crate::run::{EventLine, Kind};
use crate::task::Task;

/// Replacements of original blobs, by their hash.
type Replacements = BTreeMap<Hash, RedactedBlob>;

/// The hashes that are dropped, each with the rules that are the reason.
type Dropped = BTreeMap<Hash, Vec<String>>;

/// Removes the hashes of the original blobs from a redacted plan, for redacted blobs in `guessable`: in the log, the workflow and the
/// metadata those of the redacted ones stand instead, in blobs placeholders.
pub(super) fn drop_original_hashes(
    plan: &mut ExportPlan,
    guessable: &HashSet<String>,
    beside: &Path,
    limits: &Limits,
    task: &mut Task<'_>,
) -> Result<(), BundleError> {
    let listed = plan.redactions.blobs.iter();
    let listed = listed.filter(|(original, blob)| guessable.contains(&blob.redacted) && **original != blob.redacted);
    let listed = listed.filter_map(|(original, blob)| Some((from_hex(original.as_bytes())?, blob.rules.clone())));
    let mut dropped: Dropped = order::map(listed);
    if dropped.is_empty() {
        return Ok(());
    }
    redact_holders(plan, &mut dropped, beside, limits, task)?;
    let replacements = listed_under_the_redacted(&mut plan.redactions, &dropped);
    replace_in_log(plan, &replacements, beside, task)?;
    replace_in_workflow(plan, &replacements)
}

/// Lists blobs under the hash of the redacted bytes instead of the dropped one, and returns them by the latter.
fn listed_under_the_redacted(list: &mut RedactionList, dropped: &Dropped) -> Replacements {
    let mut replacements = Replacements::new();
    for hash in dropped.keys() {
        let Some(blob) = list.blobs.remove(as_text(&to_hex(hash))) else { continue };
        replacements.insert(*hash, blob);
    }
    for RedactedBlob { redacted, rules } in replacements.values() {
        let entry = list.blobs.entry(redacted.clone());
        let entry = entry.or_insert(RedactedBlob { redacted: redacted.clone(), rules: Vec::new() });
        merge_rules(&mut entry.rules, rules.clone());
    }
    replacements
}

fn staging_of<'p>(plan: &'p mut ExportPlan, beside: &Path) -> Result<&'p mut Staging, BundleError> {
    let staging = match plan.staging.take() {
        Some(staging) => staging,
        None => Staging::new(beside)?,
    };
    Ok(plan.staging.insert(staging))
}

fn replace_in_log(
    plan: &mut ExportPlan,
    replacements: &Replacements,
    beside: &Path,
    task: &mut Task<'_>,
) -> Result<(), BundleError> {
    let path = BundlePath::parse(EVENT_LOG.as_bytes())?;
    let Some(log) = plan.files.remove(&path) else { return Ok(()) };
    let mut out = staging_of(plan, beside)?.file()?;
    rewrite(&log, replacements, &mut plan.redactions, &mut out, task).map_err(|error| error.of_file(EVENT_LOG))?;
    plan.files.insert(path, out.finish()?);
    Ok(())
}

/// Replaces hashes in `workflow.json`, except for what the graph is compiled from, and in what the metadata has of it.
fn replace_in_workflow(plan: &mut ExportPlan, replacements: &Replacements) -> Result<(), BundleError> {
    if let Some((name, version)) = &mut plan.metadata.workflow {
        for text in [name, version] {
            let replaced = replaced_text(text.as_json().as_bytes(), replacements, &mut BTreeSet::new());
            if let Some(replaced) = replaced.and_then(|replaced| String::from_utf8(replaced).ok()) {
                *text = Text::from_json(&replaced).into_owned();
            }
        }
    }
    let at = BundlePath::parse(path::WORKFLOW.as_bytes())?;
    let Some(file) = plan.files.get(&at).filter(|file| file.listed.size <= MAX_JSON_BYTES as u64) else {
        return Ok(());
    };
    let (mut json, mut rules) = (Vec::new(), BTreeSet::new());
    file.open()?.read_to_end(&mut json).map_err(read_failed)?;
    let must_stay = |path: &[Step<'_>]| graph_field(path).is_some();
    let replaced = match is_json(&json) {
        true => replaced(&json, replacements, &must_stay, &mut rules)?,
        false => replaced_text(&json, replacements, &mut rules),
    };
    let Some(replaced) = replaced else { return Ok(()) };
    plan.files.insert(at, PlannedFile::of_bytes(replaced));
    merge_rules(plan.redactions.files.entry(path::WORKFLOW.to_owned()).or_default(), rules.into_iter().collect());
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
    let replaced = replaced(event.payload.as_bytes(), dropped, &|path| must_stay(kind, path), &mut rules)?;
    let Some(payload) = replaced else { return Ok(None) };
    let line = event.redacted(&payload);
    let payload_hash = as_text(event.payload_hash).to_owned();
    let known = list.events.entry(event.time).or_insert(RedactedEvent { payload_hash, rules: Vec::new() });
    merge_rules(&mut known.rules, rules.into_iter().collect());
    Ok(Some(line))
}

/// A document with the replacements in its strings and keys; `None` if there are none.
fn replaced(
    json: &[u8],
    replacements: &Replacements,
    must_stay: &dyn Fn(&[Step<'_>]) -> bool,
    rules: &mut BTreeSet<String>,
) -> Result<Option<Vec<u8>>, BundleError> {
    let (mut out, mut at) = (Vec::new(), 0);
    visit_parts(json, |part, place, range| {
        if part == JsonPart::Number || must_stay(place.path) {
            return Ok::<_, BundleError>(());
        }
        if let Some(replaced) = replaced_text(&json[range.clone()], replacements, rules) {
            out.extend_from_slice(&json[at..range.start]);
            out.extend_from_slice(&replaced);
            at = range.end;
        }
        Ok(())
    })?;
    if at == 0 {
        return Ok(None);
    }
    out.extend_from_slice(&json[at..]);
    Ok(Some(out))
}

/// A text, which may have escapes, with the replacements in it; `None` if there are none.
fn replaced_text(text: &[u8], replacements: &Replacements, rules: &mut BTreeSet<String>) -> Option<Vec<u8>> {
    let (mut out, mut at) = (Vec::new(), 0);
    for Found { start, end, known: blob, folder } in find(text, &|hash| replacements.get(hash)) {
        out.extend_from_slice(&text[at..start]);
        if folder > 0 {
            out.extend_from_slice(&blob.redacted.as_bytes()[..2]);
            out.extend_from_slice(&text[start + 2..start + folder]);
        }
        out.extend_from_slice(blob.redacted.as_bytes());
        rules.extend(blob.rules.iter().cloned());
        at = end;
    }
    out.extend_from_slice(&text[at..]);
    (at > 0).then_some(out)
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

#[cfg(test)]
mod tests;
