//! The documents of a bundle, each parsed and printed in one file, and the rules for its paths and sizes.

pub(super) mod checksums;
mod error;
mod info;
mod limits;
mod manifest;
pub(crate) mod metadata;
pub(crate) mod path;
mod redactions;
pub(crate) mod signed;

pub(crate) use error::of_run;
pub use error::{BundleCode, BundleError};
pub use info::BundleInfo;
pub(crate) use limits::DEFAULT_EXPANSION;
pub use limits::Limits;
#[cfg(test)]
pub(crate) use limits::{MAX_MANIFEST_BYTES, MAX_REDACTIONS_BYTES, MAX_SMALL_FILE_BYTES};
pub use manifest::BundleKind;
pub(crate) use manifest::Manifest;
#[cfg(test)]
pub(crate) use manifest::PAYLOAD_TYPE;
pub(crate) use manifest::{ListedFile, LogExtent, Partial};
pub use metadata::MediaCounts;
pub(crate) use metadata::{Metadata, RunSummary};
pub(crate) use path::BundlePath;
pub use path::SESSION_LOG;
pub(crate) use path::{CHECKSUMS, EVENT_LOG, MANIFEST, METADATA, PathSet, REDACTIONS, SIGNATURE, SNAPSHOT, blob_path};
pub(crate) use redactions::RedactionList;
pub(crate) use redactions::{RedactedBlob, RedactedEvent, merge_rules};
pub use signed::SignaturePolicy;
