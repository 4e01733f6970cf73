//! The proof that no secret is left: every byte that goes into a bundle is looked at once more, as it stands and without escapes.

use std::borrow::Cow;

use super::escapes::unescaped;
use super::matcher::{MAX_LEVELS, Matcher};
use super::secrets::Secrets;
use crate::bundle::error::{BundleCode, BundleError};

/// How far back it is looked for a place that is in no escape. A text may be all backslashes.
const MAX_STEPS_BACK: usize = 64;

/// Looks at the bytes of one file after the other.
pub struct LeakCheck {
    secrets: Secrets,
    names: Vec<String>,
    path: String,
    /// What was seen of the file last: as much as the beginning of a secret may have.
    carry: Vec<u8>,
}

impl LeakCheck {
    /// A proof that what `matcher` found is nowhere. None if it found nothing that could be told from chance.
    pub fn new(matcher: Matcher<'_>) -> Option<Self> {
        let names = matcher.rules().iter().map(|rule| rule.name.clone()).collect();
        let secrets = matcher.secrets;
        (!secrets.is_empty()).then(|| LeakCheck { secrets, names, path: String::new(), carry: Vec::new() })
    }

    /// Begins a file.
    pub fn begin(&mut self, path: &str) -> Result<(), BundleError> {
        path.clone_into(&mut self.path);
        self.carry.clear();
        self.look(path.as_bytes())
    }

    /// Looks at bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        let mut text = std::mem::take(&mut self.carry);
        text.extend_from_slice(bytes);
        self.look(&text)?;
        // A character takes six bytes at most when it is written as an escape.
        let kept = text.len().min(self.secrets.longest() * 6 + 12);
        let mut start = text.len() - kept;
        // Not in the middle of an escape: what stands before must not change what it means.
        for _ in 0..MAX_STEPS_BACK {
            if start == 0 || !text[start.saturating_sub(6)..start].contains(&b'\\') {
                break;
            }
            start -= 1;
        }
        text.drain(..start);
        self.carry = text;
        Ok(())
    }

    fn look(&self, text: &[u8]) -> Result<(), BundleError> {
        let mut found = self.secrets.first(text);
        let mut level = Cow::Borrowed(text);
        for _ in 0..MAX_LEVELS {
            if found.is_some() || memchr::memchr(b'\\', &level).is_none() {
                break;
            }
            level = Cow::Owned(unescaped(&level).into_owned());
            found = self.secrets.first(&level);
        }
        let Some(rule) = found else { return Ok(()) };
        let message = format!(
            "what the redaction rule '{}' hits stands here too, where it can't be redacted; leave it out of what is recorded, or export with a narrower rule",
            self.names.get(rule).map_or("", String::as_str)
        );
        Err(BundleError::about(BundleCode::RedactionConflict, &self.path, message))
    }
}
