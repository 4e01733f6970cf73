//! Bundles: runs and sessions, sealed so that another machine can verify and replay them. `docs/bundle-format.md` specifies the format.
//!
//! The manifest lists every file of a bundle with its size and hash; the hash of the manifest is the bundle's id. The files are in a directory or
//! in an archive, which readers see as one kind of container. `format` has the documents, `read` the containers, `export` writes, [`redact`]
//! replaces secrets on the way.

#[cfg(test)]
mod documentation_tests;
mod export;
mod format;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod read;
mod redact;
#[cfg(test)]
mod testing;

pub use export::{ExportFrom, ExportOptions, MediaPolicy, export};
pub use format::{BundleCode, BundleError, BundleInfo, BundleKind, Limits, MediaCounts, SESSION_LOG, SignaturePolicy};
pub use read::{
    ImportError, OpenedBundle, Report, VerifyOptions, import, is_archive, is_bundle, is_opened_bundle, media_store,
    verify,
};
pub use redact::{RedactOptions, RedactionRule};
#[cfg(test)]
pub use testing::small_run;
