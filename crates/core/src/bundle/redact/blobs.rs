//! Redacts blobs of any content, and searches files that can't be redacted.
//!
//! Content up to [`WINDOW_BYTES`] is matched as a whole. Larger content is matched in windows of that size that overlap by
//! [`OVERLAP_BYTES`]: every match up to this length is found, and a longer one that reaches the end of a window is an error.

use std::collections::BTreeSet;
use std::io::{Read, Write};

use super::document::{string_hits, with_distinct_keys};
use super::json::is_json;
use super::matcher::{Form, Hit, MatchContext, Matcher, merged};
use super::rule::RuleMatcher;
use crate::bundle::format::{BundleCode, BundleError};
use crate::bundle::read::read_failed;
use crate::disk::read_up_to;

/// The size of a window.
pub(crate) const WINDOW_BYTES: usize = 8 << 20;

/// The longest match in content that is larger than a window.
pub(crate) const OVERLAP_BYTES: usize = 1 << 20;

/// The largest JSON document to which rules with pointers are applied.
pub(crate) const MAX_JSON_BYTES: usize = 64 << 20;

/// The number of bytes before a window that patterns can see, enough for word boundaries.
const CONTEXT_BYTES: usize = 256;

/// The maximum number of times that replaced content is matched again.
const MAX_ROUNDS: usize = 64;

/// Copies `input` to `out` with all matches replaced, and returns whether there are any. The rules that matched are added to `rules`.
pub(crate) fn redact(
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
        return redact_whole(matcher, window, allowed, rules, out);
    }
    if window.len() <= WINDOW_BYTES {
        return redact_whole(matcher, window, allowed, rules, out);
    }
    Windows { matcher, allowed, rules, out }.redact(window, input, tick)
}

pub(super) fn fill(input: &mut dyn Read, window: &mut Vec<u8>, wanted: usize) -> Result<(), BundleError> {
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
    rules.any(|(number, rule)| matches!(rule.matcher, RuleMatcher::Path(_)) && matcher.applies(number, allowed))
}

/// The byte order of UTF-16 with a mark at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xff, 0xfe, ..] => Some(ByteOrder::Little),
            [0xfe, 0xff, ..] => Some(ByteOrder::Big),
            _ => None,
        }
    }

    /// UTF-8 as UTF-16 with a mark.
    pub(super) fn widened(self, text: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(text);
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units
            .flat_map(|unit| match self {
                ByteOrder::Little => unit.to_le_bytes(),
                ByteOrder::Big => unit.to_be_bytes(),
            })
            .collect()
    }
}

/// UTF-16 with a mark as UTF-8 without it; `None` for anything else.
pub(super) fn from_utf16(bytes: &[u8]) -> Option<(ByteOrder, Vec<u8>)> {
    let order = ByteOrder::of(bytes)?;
    Some((order, narrowed(bytes, order)?))
}

/// UTF-16 as UTF-8, without the mark; `None` if it is not valid.
fn narrowed(bytes: &[u8], order: ByteOrder) -> Option<Vec<u8>> {
    let units = bytes.get(2..)?.chunks_exact(2);
    let is_whole = units.remainder().is_empty();
    let units = units.map(|unit| match order {
        ByteOrder::Little => u16::from_le_bytes([unit[0], unit[1]]),
        ByteOrder::Big => u16::from_be_bytes([unit[0], unit[1]]),
    });
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| is_whole).map(String::into_bytes)
}

fn begins_as_json(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn write(out: &mut dyn Write, bytes: &[u8]) -> Result<(), BundleError> {
    out.write_all(bytes).map_err(|error| BundleError::system(&error, "write", None))
}

/// Redacts content that is in memory as a whole. In JSON, strings are also matched one by one.
fn redact_whole(
    matcher: &mut Matcher<'_>,
    mut bytes: Vec<u8>,
    allowed: Option<&[bool]>,
    rules: &mut BTreeSet<usize>,
    out: &mut dyn Write,
) -> Result<bool, BundleError> {
    // UTF-16 is redacted as UTF-8.
    let wide = from_utf16(&bytes).map(|(order, text)| {
        debug_assert!(order.widened(&text) == bytes);
        bytes = text;
        order
    });
    let mut changed = false;
    for _ in 0..MAX_ROUNDS {
        let hits = if matcher.may_match(&bytes) { hits(matcher, &bytes, allowed, rules)? } else { Vec::new() };
        if hits.is_empty() {
            if changed && is_json(&bytes) {
                bytes = with_distinct_keys(bytes);
            }
            if let Some(order) = wide {
                bytes = order.widened(&bytes);
            }
            write(out, &bytes)?;
            return Ok(changed);
        }
        bytes = matcher.replaced(&bytes, &hits);
        changed = true;
    }
    Err(matcher.does_not_converge(rules.first().copied().unwrap_or(0)))
}

/// The matches in bytes: in the text as a whole, and, if it is JSON, in each of its strings.
pub(crate) fn hits(
    matcher: &mut Matcher<'_>,
    bytes: &[u8],
    allowed: Option<&[bool]>,
    rules: &mut BTreeSet<usize>,
) -> Result<Vec<Hit>, BundleError> {
    let mut hits = matcher.hits(bytes, MatchContext { allowed, ..MatchContext::at(Form::Bytes) }, rules)?;
    if is_json(bytes) {
        hits.extend(string_hits(matcher, bytes, allowed, rules)?);
    }
    Ok(merged(hits))
}

/// Redacts content that is larger than a window.
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
        // The length of the window's beginning that is already written and serves as context only.
        let (mut context, mut changed) = (0, false);
        loop {
            let filled = window.len();
            fill(input, &mut window, WINDOW_BYTES)?;
            tick((window.len() - filled.min(window.len())) as u64)?;
            let is_last = window.len() < WINDOW_BYTES;
            let limit = if is_last { window.len() } else { window.len() - OVERLAP_BYTES };
            let (text, end) = self.redact_window(&window, context, limit, is_last)?;
            changed |= text.is_some();
            let text = text.as_deref().unwrap_or(&window[..end]);
            write(self.out, &text[context..])?;
            if is_last {
                return Ok(changed);
            }
            let kept = text.len().min(CONTEXT_BYTES);
            let next = [&text[text.len() - kept..], &window[end..]].concat();
            (window, context) = (next, kept);
        }
    }

    /// Redacts the matches that begin at or after `context` and before `limit`. Returns the redacted text, `None` without matches, and
    /// its end in the window: `limit`, or the end of a match that crosses it.
    fn redact_window(
        &mut self,
        window: &[u8],
        context: usize,
        limit: usize,
        is_last: bool,
    ) -> Result<(Option<Vec<u8>>, usize), BundleError> {
        if !self.matcher.may_match(window) {
            return Ok((None, limit));
        }
        let match_context = MatchContext { allowed: self.allowed, ..MatchContext::at(Form::Bytes) };
        let mut matched_rules = BTreeSet::new();
        let mut hits = self.matcher.hits(window, match_context, &mut matched_rules)?;
        hits.retain(|hit| hit.start >= context && hit.start < limit);
        if let Some(hit) = hits.last().filter(|hit| !is_last && hit.end == window.len()) {
            let message = format!(
                "the redaction rule '{}' hits more than {OVERLAP_BYTES} bytes at once in what is larger than {WINDOW_BYTES} bytes, and may hit still more; make the rule narrower",
                self.matcher.name(hit.rule)
            );
            return Err(BundleError::new(BundleCode::RedactionConflict, message));
        }
        let end = hits.last().map_or(limit, |hit| hit.end.max(limit));
        if hits.is_empty() {
            return Ok((None, end));
        }
        self.rules.extend(matched_rules);
        let text = self.matcher.replaced(&window[..end], &hits);
        let again = self.matcher.redacted(&text[context..], match_context, self.rules)?;
        let text = again.map_or(text.clone(), |again| [&text[..context], &again].concat());
        Ok((Some(text), end))
    }
}

#[cfg(test)]
mod tests;
