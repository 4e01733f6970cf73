//! Redaction of single texts, for a fuzz target. An export compiles the rules each time, which takes a thousand times as long as redacting a line.

use std::collections::BTreeSet;

use super::format::BundleError;
use super::redact::{self, Matcher, RedactOptions, RedactionRule, RuleSet, redacted_blob, redacted_line};

/// The built-in rules and further ones, compiled.
pub struct Redaction(Matcher<'static>);

impl Redaction {
    /// Compiles the rules, for good.
    pub fn new(rules: Vec<RedactionRule>) -> Result<Self, BundleError> {
        let rules = Box::leak(Box::new(RuleSet::new(&RedactOptions { builtin: true, rules })?));
        Matcher::new(rules, &BTreeSet::new()).map(Redaction)
    }

    /// The redacted line of a session; `None` if nothing in it matches.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<Vec<u8>>, BundleError> {
        redacted_line(&mut self.0, line, &mut BTreeSet::new())
    }

    /// The redacted blob; `None` if nothing in it matches.
    pub fn blob(&mut self, mut blob: &[u8]) -> Result<Option<Vec<u8>>, BundleError> {
        let (mut out, size) = (Vec::new(), blob.len() as u64);
        let is_hit =
            redacted_blob(&mut self.0, &mut blob, size, None, &mut BTreeSet::new(), &mut out, &mut |_| Ok(()))?;
        Ok(is_hit.then_some(out))
    }
}

/// The text with its escapes decoded.
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    redact::unescaped(text).into_owned()
}
