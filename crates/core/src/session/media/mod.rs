//! Media by reference: an image that is not in the session but in a store beside the sessions, named by the hash of its bytes
//! (`docs/session-format.md` section 10).
//!
//! `reference` recognises a reference, `walk` finds those of a payload, `named` finds the images that a text names.

mod named;
mod reference;
mod walk;

pub(super) use named::NamedImages;
pub(super) use walk::{has_reference, may_have_reference};

#[cfg(test)]
mod tests;
