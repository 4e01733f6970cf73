//! Searches everything that is written to a bundle for the found secrets, undecoded and decoded, and in every view. An occurrence is an error.

use std::borrow::Cow;

use super::escapes::{MAX_LEVELS, unescaped};
use super::matcher::Matcher;
use super::secrets::Secrets;
use super::views::views;
use crate::bundle::format::{BundleCode, BundleError};

/// The maximum number of steps back to a place outside of an escape. A text may consist of backslashes.
const MAX_STEPS_BACK: usize = 64;

/// Checks files, one after the other.
pub(crate) struct LeakCheck {
    secrets: Secrets,
    /// The names of the rules.
    names: Vec<String>,
    path: String,
    /// The last bytes of the current file, in which a secret may begin.
    carry: Vec<u8>,
}

impl LeakCheck {
    /// A check for the secrets that `matcher` found; `None` if there are none to search for.
    pub(crate) fn new(matcher: Matcher<'_>) -> Option<Self> {
        let names = matcher.rules().iter().map(|rule| rule.name.clone()).collect();
        let secrets = matcher.secrets;
        (!secrets.is_empty()).then(|| LeakCheck { secrets, names, path: String::new(), carry: Vec::new() })
    }

    /// Begins a file, and checks its path.
    pub(crate) fn begin(&mut self, path: &str) -> Result<(), BundleError> {
        path.clone_into(&mut self.path);
        self.carry.clear();
        self.check(path.as_bytes())
    }

    /// Checks the next bytes of the current file.
    pub(crate) fn update(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        let mut text = std::mem::take(&mut self.carry);
        text.extend_from_slice(bytes);
        self.check(&text)?;
        // An escape takes at most eight bytes for a byte of the secret.
        let kept = text.len().min(self.secrets.longest() * 8 + 64);
        let mut start = text.len() - kept;
        // The carried bytes must not begin in the middle of an escape.
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

    /// The rule of the first secret in a text, or in what may be read instead of it.
    fn first(&self, text: &[u8]) -> Option<usize> {
        self.secrets.first(text).or_else(|| views(text).find_map(|view| self.secrets.first(&view.text)))
    }

    fn check(&self, text: &[u8]) -> Result<(), BundleError> {
        let mut level = Cow::Borrowed(text);
        let mut found = self.first(&level);
        for _ in 0..MAX_LEVELS {
            if found.is_some() || memchr::memchr(b'\\', &level).is_none() {
                break;
            }
            let next = unescaped(&level).into_owned();
            if next == *level {
                break;
            }
            level = Cow::Owned(next);
            found = self.first(&level);
        }
        let Some(rule) = found else { return Ok(()) };
        let message = format!(
            "what the redaction rule '{}' hits stands here too, where it can't be redacted; leave it out of what is recorded, or export with a narrower rule",
            self.names.get(rule).map_or("", String::as_str)
        );
        Err(BundleError::about(BundleCode::RedactionConflict, &self.path, message))
    }
}
