//! Normalisers reduce the raw output of a tool to what matters, so that outputs that differ only in form have equal hashes.

use std::borrow::Cow;

use crate::json::quoted;
use crate::run::format::{ErrorCode, RunError};

/// How a raw output becomes the output that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Normalizer {
    /// The raw output, unchanged.
    None,
    /// Canonical JSON, RFC 8785.
    Json,
    /// CRLF and CR become LF, and spaces and tabs are removed from the end of each line.
    Text,
}

impl Normalizer {
    /// The normaliser that events call `name`. Returns `None` if this release does not know it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Normalizer::None),
            "json" => Some(Normalizer::Json),
            "text" => Some(Normalizer::Text),
            _ => None,
        }
    }

    /// Its name in events.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Normalizer::None => "none",
            Normalizer::Json => "json",
            Normalizer::Text => "text",
        }
    }

    /// The normalised output. Returns an error if the output can't be normalised.
    pub(crate) fn apply(self, raw: &[u8]) -> Result<Cow<'_, [u8]>, RunError> {
        match self {
            Normalizer::None => Ok(Cow::Borrowed(raw)),
            Normalizer::Json => json(raw).map(Cow::Owned),
            Normalizer::Text => Ok(Cow::Owned(text(raw))),
        }
    }
}

/// Numbers are doubles, as in JavaScript, and of duplicate keys the last one counts. Nesting is limited to 127 levels.
fn json(raw: &[u8]) -> Result<Vec<u8>, RunError> {
    let canonical = serde_json::from_slice::<serde_json::Value>(raw)
        .and_then(|value| serde_json_canonicalizer::to_vec(&value))
        .map_err(|error| {
            let message = format!("An output that was to be normalised as JSON has no RFC 8785 form: {error}");
            let found = String::from_utf8_lossy(&raw[..raw.len().min(512)]);
            RunError::new(ErrorCode::OutputMismatch, message).compared("JSON", quoted(&found))
        })?;
    Ok(canonical)
}

fn text(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(end) = memchr::memchr2(b'\r', b'\n', rest) {
        out.extend_from_slice(without_trailing_blanks(&rest[..end]));
        out.push(b'\n');
        rest = &rest[end..];
        rest = rest.strip_prefix(b"\r\n").unwrap_or_else(|| &rest[1..]);
    }
    out.extend_from_slice(without_trailing_blanks(rest));
    out
}

fn without_trailing_blanks(line: &[u8]) -> &[u8] {
    let blanks = line.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &line[..line.len() - blanks]
}

#[cfg(test)]
mod tests;
