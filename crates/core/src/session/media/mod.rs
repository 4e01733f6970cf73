//! Media by reference: an image that is not in the session but in a store beside the sessions, named by the hash of its bytes
//! (`docs/session-format.md` section 10).
//!
//! `reference` recognises a reference, `walk` finds those of a payload, `record` those of a record; `objects` has what a session refers to, `store` where it is.
//! `named` finds the images that a text names.

mod named;
mod objects;
mod record;
mod reference;
mod store;
mod walk;

pub(super) use named::NamedImages;
pub use objects::{Checked, check_media};
pub(crate) use objects::{Named, NamedObjects, id_of, objects_in};
pub use record::RecordReferences;
pub(crate) use record::reference_places;
pub use reference::Stored;
pub use store::MediaStore;
pub(crate) use store::{IN_BUNDLE, Object, PutError, path_in_bundle};
pub use walk::Reference;
pub(crate) use walk::{MAX_LEVELS, could_have_reference, is_member_name};
pub(super) use walk::{has_reference, may_have_reference};

#[cfg(test)]
mod tests;
