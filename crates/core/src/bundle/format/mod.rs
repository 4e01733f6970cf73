//! The documents of a bundle, each parsed and printed in one file, and the rules for its paths and sizes.

pub mod checksums;
mod error;
mod info;
mod limits;
mod manifest;
pub mod metadata;
pub mod path;
mod redactions;
pub mod signed;

pub use error::{BundleCode, BundleError, of_run};
pub use info::BundleInfo;
pub use limits::{DEFAULT_EXPANSION, Limits, MAX_MANIFEST_BYTES, MAX_REDACTIONS_BYTES, MAX_SMALL_FILE_BYTES};
pub use manifest::{BundleKind, ListedFile, LogExtent, Manifest, PAYLOAD_TYPE, Partial};
pub use metadata::{Metadata, RunSummary};
pub use path::{
    BundlePath, CHECKSUMS, EVENT_LOG, MANIFEST, METADATA, PathSet, REDACTIONS, SESSION_LOG, SIGNATURE, SNAPSHOT,
    blob_path,
};
pub use redactions::{RedactedBlob, RedactedEvent, RedactionList, merge_rules};
pub use signed::SignaturePolicy;
