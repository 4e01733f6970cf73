//! Removes dropped hashes from other blobs. The hash of such a blob could be guessed in the same way, one blob further, so it is
//! dropped too, and so are those of the blobs that name it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{Read, Write};
use std::path::Path;

use super::digits::{Found, find};
use super::{Dropped, staging_of};
use crate::bundle::export::{ExportPlan, PlannedFile};
use crate::bundle::format::{BundleCode, BundleError, BundlePath, Limits, merge_rules};
use crate::bundle::redact::blobs::{WINDOW_BYTES, fill, from_utf16};
use crate::bundle::redact::document::with_distinct_keys;
use crate::bundle::redact::json::is_json;
use crate::bundle::redact::matcher::placeholder;
use crate::bundle::redact::pass::{blobs_by_storage, map_blob};
use crate::hash::{Hash, as_text, from_hex, to_hex};
use crate::task::Task;

/// How far a hash reaches beyond the end of a window, with all of its escapes.
const OVERLAP_BYTES: usize = 4 << 10;

/// Looks at a window up to an offset, or beyond it up to where a hash ends, and returns that.
type Take<'t> = dyn FnMut(&[u8], usize) -> Result<usize, BundleError> + 't;

/// Redacts the blobs that name what is in `dropped`, and adds their own hashes.
pub(super) fn redact_holders(
    plan: &mut ExportPlan,
    dropped: &mut Dropped,
    beside: &Path,
    limits: &Limits,
    task: &mut Task<'_>,
) -> Result<(), BundleError> {
    let holders = holders(plan, dropped, task)?;
    let by_storage = blobs_by_storage(&plan.redactions);
    for (path, rules) in holders {
        let Some(file) = plan.files.remove(&path) else { continue };
        let mut out = staging_of(plan, beside)?.file()?;
        copy(&file, dropped, &mut out, task).map_err(|error| error.of_file(path.as_str()))?;
        let redacted = out.finish()?;
        if redacted.listed.size > limits.blob_bytes {
            let message = format!("redacted it is larger than {} bytes, the limit for blobs", limits.blob_bytes);
            return Err(BundleError::about(BundleCode::BlobTooLarge, path.as_str(), message));
        }
        let stored_at = map_blob(&mut plan.redactions, &by_storage, &plan.named, &path, &redacted, rules)?;
        plan.files.insert(stored_at, redacted);
    }
    plan.metadata.blobs = plan.files.keys().filter(|path| path.blob().is_some()).count() as u64;
    Ok(())
}

/// The blobs that name what is in `dropped`, directly or through others, each with the rules that are the reason. Their hashes are added.
fn holders(
    plan: &ExportPlan,
    dropped: &mut Dropped,
    task: &mut Task<'_>,
) -> Result<BTreeMap<BundlePath, Vec<String>>, BundleError> {
    // Every name of a blob: what it is stored under, and the originals of what was redacted.
    let mut names = HashSet::<Hash>::new();
    let mut names_of = BTreeMap::<&BundlePath, Vec<Hash>>::new();
    let originals = blobs_by_storage(&plan.redactions);
    for path in plan.files.keys() {
        let Some(Some(stored)) = path.blob() else { continue };
        let digits = as_text(&to_hex(&stored)).to_owned();
        let all = [digits.clone()].into_iter().chain(originals.get(&digits).into_iter().flatten().cloned());
        for hash in all.filter_map(|name| from_hex(name.as_bytes())) {
            names.insert(hash);
            names_of.entry(path).or_default().push(hash);
        }
    }
    let mut named_in = HashMap::<Hash, BTreeSet<&BundlePath>>::new();
    for (path, file) in plan.files.iter().filter(|(path, _)| path.blob().is_some()) {
        let is_name = |hash: &Hash| names.contains(hash).then_some(*hash);
        each_window(file, task, &mut |window, limit| {
            for Found { known, .. } in find(from_utf16(window).as_ref().map_or(window, |(_, text)| text), &is_name) {
                named_in.entry(known).or_default().insert(path);
            }
            Ok(limit)
        })
        .map_err(|error| error.of_file(path.as_str()))?;
    }
    let mut holders = BTreeMap::<BundlePath, Vec<String>>::new();
    let mut waiting: Vec<Hash> = dropped.keys().copied().collect();
    while let Some(hash) = waiting.pop() {
        let rules = dropped.get(&hash).cloned().unwrap_or_default();
        for holder in named_in.get(&hash).into_iter().flatten() {
            let is_known = holders.contains_key(holder);
            merge_rules(holders.entry((*holder).clone()).or_default(), rules.clone());
            for name in names_of.get(holder).into_iter().flatten().filter(|_| !is_known) {
                if !dropped.contains_key(name) {
                    dropped.insert(*name, rules.clone());
                    waiting.push(*name);
                }
            }
        }
    }
    Ok(holders)
}

/// Copies a blob, with placeholders for the hashes in it.
fn copy(file: &PlannedFile, dropped: &Dropped, out: &mut dyn Write, task: &mut Task<'_>) -> Result<(), BundleError> {
    let rule = |hash: &Hash| dropped.get(hash).map(|rules| rules.first().map_or("", String::as_str));
    let whole = file.listed.size <= WINDOW_BYTES as u64;
    each_window(file, task, &mut |window, limit| {
        let wide = from_utf16(window);
        let text = wide.as_ref().map_or(window, |(_, text)| text);
        let limit = if wide.is_some() { text.len() } else { limit };
        let (mut copied, mut at) = (Vec::with_capacity(text.len()), 0);
        for found in find(text, &rule).into_iter().take_while(|found| found.start < limit) {
            copied.extend_from_slice(&text[at..found.start]);
            copied.extend_from_slice(&placeholder(found.known));
            at = found.end;
        }
        let end = at.max(limit);
        copied.extend_from_slice(&text[at..end]);
        if whole && is_json(&copied) {
            copied = with_distinct_keys(copied);
        }
        let copied = wide.as_ref().map_or(copied.clone(), |(order, _)| order.widened(&copied));
        out.write_all(&copied).map_err(|error| BundleError::system(&error, "write", None))?;
        Ok(if wide.is_some() { window.len() } else { end })
    })
}

/// Passes a file to `take` in windows, each with the end of what may be taken from it, and goes on where `take` says.
fn each_window(file: &PlannedFile, task: &mut Task<'_>, take: &mut Take<'_>) -> Result<(), BundleError> {
    let mut input: Box<dyn Read + '_> = file.open()?;
    let mut window = Vec::new();
    loop {
        task.check()?;
        fill(&mut *input, &mut window, file.listed.size.min(WINDOW_BYTES as u64) as usize + 1)?;
        let is_last = window.len() <= WINDOW_BYTES;
        let taken = take(&window, if is_last { window.len() } else { window.len() - OVERLAP_BYTES })?;
        if is_last {
            return Ok(());
        }
        window.drain(..taken.min(window.len()));
    }
}
