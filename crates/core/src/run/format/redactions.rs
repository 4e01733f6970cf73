//! What was redacted when a run was exported. Empty for an original run, where nothing may be missing.

use std::collections::BTreeSet;

use super::chain::salt_missing;
use super::error::RunError;
use super::event::EventLine;

/// The events and blobs that a bundle lists as redacted, so that they may differ from their hashes.
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
    /// Checks that an event without a salt is listed. Otherwise a payload could be changed unnoticed by removing the salt.
    #[inline]
    pub fn admit(&self, event: &EventLine<'_>) -> Result<(), RunError> {
        if event.salt.is_some() || self.events.contains(&event.time) { Ok(()) } else { Err(salt_missing(event)) }
    }
}
