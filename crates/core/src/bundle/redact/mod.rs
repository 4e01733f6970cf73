//! Redaction of an export: replaces matches of redaction rules by `[redacted:<rule>]`. The source is never changed.
//!
//! [`pass`] works in rounds. The first finds the files with matches. Each further round writes redacted copies of them to a
//! [`staging`] directory, and also removes every secret that an earlier round found from all other places; the round that finds
//! nothing new is exported. While the bundle is written, a [`leak_check::LeakCheck`] searches every byte for the found secrets.
//!
//! - *Escapes*: strings are matched decoded, and JSON inside strings decoded again, until nothing changes ([`escapes`]),
//!   and so is what a terminal, a URL, a page or a shell would show instead ([`views`]). Base64 and hex digits are decoded once
//!   ([`encoded`]), and found secrets are also searched for in these encodings ([`spellings`]).
//! - *Idempotence*: placeholders are never matched, so that redacting a bundle again by the same rules changes nothing.
//! - *Other occurrences*: a secret is removed everywhere, unless it is so short or common that it occurs by coincidence ([`secrets`]).
//! - *Hashes of originals*: where a secret could be guessed from the hash of an original blob, the hash is dropped ([`original_hashes`]).
//! - *Fixed content*: keys, numbers, and strings that ids, hashes and states depend on are not redacted; a match there fails the
//!   export ([`document`]).
//!
//! [`rule`] validates rules; [`builtin`] contains the built-in ones, [`references`] the one for media, and [`mod@pointer`] the JSON pointers. [`matcher`] applies them to
//! one text; [`prefilter`] finds candidate places quickly, [`stream_prefilter`] does so while a file is read. [`events`], [`lines`]
//! and [`blobs`] redact the three kinds of content, with [`json`] to walk documents.

mod blobs;
pub(super) mod builtin;
mod document;
mod encoded;
mod escapes;
mod events;
mod json;
mod leak_check;
mod lines;
mod matcher;
pub(super) mod named;
mod original_hashes;
mod pass;
mod pointer;
mod prefilter;
pub(super) mod references;
mod rule;
mod secrets;
mod siblings;
mod spellings;
mod staging;
mod stream_prefilter;
mod views;

pub(crate) use pass::redact;
pub(crate) use rule::RuleSet;
pub use rule::{RedactOptions, RedactionRule};
#[cfg(feature = "fuzzing")]
pub(super) use {blobs::redact as redacted_blob, escapes::unescaped, lines::redacted_line, matcher::Matcher};

#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod sequence_tests;
#[cfg(test)]
mod session_tests;

pub(crate) use leak_check::LeakCheck;
pub(crate) use prefilter::Prefilter;
pub(crate) use staging::Staging;
pub(crate) use stream_prefilter::StreamPrefilter;
