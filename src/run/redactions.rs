//! What was redacted when a run was exported. Empty for a run as it was recorded: there, nothing may be missing.

use std::collections::BTreeSet;

use super::chain::salt_missing;
use super::error::RunError;
use super::event::EventLine;

/// The events and blobs that may differ from what their hashes say, since a bundle lists them as redacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redactions {
    /// Logical times of events whose payload was redacted.
    pub events: BTreeSet<u64>,
    /// Hashes of blobs that were redacted, as the log names them.
    pub blobs: BTreeSet<String>,
    /// Whether `workflow.json` was redacted.
    pub workflow: bool,
}

impl Redactions {
    /// An event without a salt must be listed: otherwise removing the salt would be enough to change the payload unnoticed.
    #[inline]
    pub fn admit(&self, event: &EventLine<'_>) -> Result<(), RunError> {
        if event.salt.is_some() || self.events.contains(&event.time) { Ok(()) } else { Err(salt_missing(event)) }
    }
}
