//! Redaction: what the rules hit does not get into a bundle.
//!
//! It happens on export, never in place, and in rounds. The first looks for what the rules hit. Those that follow replace it by
//! `[redacted:<rule>]`, and remove each secret that was found from wherever else it occurs; when a round finds nothing new, what
//! it wrote is what is sealed. While that is done, a [`leak_check::LeakCheck`] looks at every byte once more.
//!
//! - *Decoded*: strings are looked at without their escapes, and once more without the escapes of what is in them, four times at most.
//! - *Again*: what was replaced is never hit again, so that a second redaction by the same rules changes nothing.
//! - *Elsewhere*: a secret is removed from everywhere unless it is so short or plain that it occurs by chance: see [`secrets`].
//! - *Kept*: keys, numbers, and strings that ids, hashes and states are made of. What hits them fails the export.

pub mod blobs;
pub mod builtin;
pub mod document;
pub mod escapes;
pub mod events;
pub mod json;
pub mod leak_check;
pub mod lines;
pub mod matcher;
pub mod pass;
pub mod pointer;
pub mod prefilter;
pub mod rule;
pub mod secrets;
pub mod staging;
pub mod stream_prefilter;

pub use pass::redact;
pub use rule::{RedactOptions, RedactionRule, RuleSet};

#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod session_tests;
