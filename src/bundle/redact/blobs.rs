//! Bytes, redacted: blobs, whatever is in them, and documents that are looked through without being changed.
//!
//! What has no more than [`WINDOW_BYTES`] is looked at as a whole. Of what is larger no more than that is in memory: windows that
//! overlap by [`OVERLAP_BYTES`], which is how long a match is that can't be missed. A longer one that shows is an error.

use std::collections::BTreeSet;
use std::io::{Read, Write};

use super::document::string_hits;
use super::json::is_json;
use super::matcher::{Form, Hit, MatchContext, Matcher, apart};
use super::rule::RuleMatcher;
use crate::bundle::container::{read_failed, read_up_to};
use crate::bundle::error::{BundleCode, BundleError};

/// As much as is in memory at a time.
pub const WINDOW_BYTES: usize = 8 << 20;

/// How long a match may be in what is larger than a window.
pub const OVERLAP_BYTES: usize = 1 << 20;

/// The largest JSON that pointers are followed in.
pub const MAX_JSON_BYTES: usize = 64 << 20;

/// How much before a window a pattern can see: enough for where words begin.
const CONTEXT_BYTES: usize = 256;

/// How often a window is looked at again after something was replaced in it.
const MAX_ROUNDS: usize = 64;

/// Copies `input` to `out` with everything replaced that the rules hit. Whether they hit anything.
pub fn redact(
    matcher: &mut Matcher<'_>,
    input: &mut dyn Read,
    size: u64,
    allowed: Option<&[bool]>,
    rules: &mut BTreeSet<usize>,
    out: &mut dyn Write,
    tick: &mut dyn FnMut(u64) -> Result<(), BundleError>,
) -> Result<bool, BundleError> {
    let mut window = Vec::new();
    fill(input, &mut window, size.min(WINDOW_BYTES as u64) as usize + 1)?;
    tick(window.len() as u64)?;
    if window.len() > WINDOW_BYTES && follows_pointers(matcher, allowed) && begins_as_json(&window) {
        let before = window.len();
        fill(input, &mut window, MAX_JSON_BYTES + 1)?;
        tick((window.len() - before) as u64)?;
        if window.len() > MAX_JSON_BYTES {
            let message = format!(
                "it is larger than {MAX_JSON_BYTES} bytes, too large for the redaction rules that are pointers to be followed in it"
            );
            return Err(BundleError::new(BundleCode::RedactionConflict, message));
        }
        return whole(matcher, window, allowed, rules, out);
    }
    if window.len() <= WINDOW_BYTES {
        return whole(matcher, window, allowed, rules, out);
    }
    Windows { matcher, allowed, rules, out }.redact(window, input, tick)
}

fn fill(input: &mut dyn Read, window: &mut Vec<u8>, wanted: usize) -> Result<(), BundleError> {
    let filled = window.len();
    if wanted > filled {
        window.resize(wanted, 0);
        let count = read_up_to(input, &mut window[filled..]).map_err(read_failed)?;
        window.truncate(filled + count);
    }
    Ok(())
}

fn follows_pointers(matcher: &Matcher<'_>, allowed: Option<&[bool]>) -> bool {
    let mut rules = matcher.rules().iter().enumerate();
    rules.any(|(number, rule)| matches!(rule.sought, RuleMatcher::Path(_)) && matcher.applies(number, allowed))
}

fn begins_as_json(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn write(out: &mut dyn Write, bytes: &[u8]) -> Result<(), BundleError> {
    out.write_all(bytes).map_err(|error| BundleError::system(&error, "write", None))
}

/// What is in memory as a whole. If it is JSON, its strings are looked at one by one too.
fn whole(
    matcher: &mut Matcher<'_>,
    mut bytes: Vec<u8>,
    allowed: Option<&[bool]>,
    rules: &mut BTreeSet<usize>,
    out: &mut dyn Write,
) -> Result<bool, BundleError> {
    let mut changed = false;
    for _ in 0..MAX_ROUNDS {
        let hits = if matcher.suspects(&bytes) { hits(matcher, &bytes, allowed, rules)? } else { Vec::new() };
        if hits.is_empty() {
            write(out, &bytes)?;
            return Ok(changed);
        }
        bytes = matcher.replaced(&bytes, &hits);
        changed = true;
    }
    Err(matcher.endless(rules.first().copied().unwrap_or(0)))
}

/// Where the rules hit bytes: as text, and if they are JSON in each of its strings.
pub fn hits(
    matcher: &mut Matcher<'_>,
    bytes: &[u8],
    allowed: Option<&[bool]>,
    rules: &mut BTreeSet<usize>,
) -> Result<Vec<Hit>, BundleError> {
    let mut hits = matcher.hits(bytes, MatchContext { allowed, ..MatchContext::at(Form::Bytes) }, rules)?;
    if is_json(bytes) {
        hits.extend(string_hits(matcher, bytes, allowed, rules)?);
    }
    Ok(apart(hits))
}

/// What is larger than a window.
struct Windows<'w, 'm, 'r> {
    matcher: &'m mut Matcher<'r>,
    allowed: Option<&'w [bool]>,
    rules: &'w mut BTreeSet<usize>,
    out: &'w mut dyn Write,
}

impl Windows<'_, '_, '_> {
    fn redact(
        &mut self,
        mut window: Vec<u8>,
        input: &mut dyn Read,
        tick: &mut dyn FnMut(u64) -> Result<(), BundleError>,
    ) -> Result<bool, BundleError> {
        // How much of the window was written before and is there to be seen only.
        let (mut seen, mut changed) = (0, false);
        loop {
            let filled = window.len();
            fill(input, &mut window, WINDOW_BYTES)?;
            tick((window.len() - filled.min(window.len())) as u64)?;
            let is_last = window.len() < WINDOW_BYTES;
            let decided = if is_last { window.len() } else { window.len() - OVERLAP_BYTES };
            let (text, end) = self.decide(&window, seen, decided, is_last)?;
            let rest = match text {
                Some(text) => {
                    changed = true;
                    write(self.out, &text[seen..])?;
                    let context = text.len() - text.len().min(CONTEXT_BYTES);
                    (text[context..].to_vec(), text.len() - context)
                }
                None => {
                    write(self.out, &window[seen..end])?;
                    let context = end - end.min(CONTEXT_BYTES);
                    (window[context..end].to_vec(), end - context)
                }
            };
            if is_last {
                return Ok(changed);
            }
            let (mut next, before) = rest;
            next.extend_from_slice(&window[end..]);
            (window, seen) = (next, before);
        }
    }

    /// What a window is up to where everything is decided that begins before `decided`, None if nothing is hit; and where that is.
    fn decide(
        &mut self,
        window: &[u8],
        seen: usize,
        decided: usize,
        is_last: bool,
    ) -> Result<(Option<Vec<u8>>, usize), BundleError> {
        if !self.matcher.suspects(window) {
            return Ok((None, decided));
        }
        let look = MatchContext { allowed: self.allowed, ..MatchContext::at(Form::Bytes) };
        let mut hit_by = BTreeSet::new();
        let mut hits = self.matcher.hits(window, look, &mut hit_by)?;
        hits.retain(|hit| hit.start >= seen && hit.start < decided);
        if let Some(hit) = hits.last().filter(|hit| !is_last && hit.end == window.len()) {
            let message = format!(
                "the redaction rule '{}' hits more than {OVERLAP_BYTES} bytes at once in what is larger than {WINDOW_BYTES} bytes, and may hit still more; make the rule narrower",
                self.matcher.name(hit.rule)
            );
            return Err(BundleError::new(BundleCode::RedactionConflict, message));
        }
        let end = hits.last().map_or(decided, |hit| hit.end.max(decided));
        if hits.is_empty() {
            return Ok((None, end));
        }
        self.rules.extend(hit_by);
        let text = self.matcher.replaced(&window[..end], &hits);
        let again = self.matcher.redacted(&text[seen..], look, self.rules)?;
        let text = again.map_or(text.clone(), |again| [&text[..seen], &again].concat());
        Ok((Some(text), end))
    }
}

#[cfg(test)]
mod tests;
