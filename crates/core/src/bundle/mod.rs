//! Bundles: runs and sessions, sealed so that another machine can verify and replay them. `docs/bundle-format.md` specifies the format.
//!
//! The manifest lists every file of a bundle with its size and hash; the hash of the manifest is the bundle's id. The files are in a directory or
//! in an archive, which readers see as one kind of container. `format` has the documents, `read` the containers, `export` writes, [`redact`]
//! replaces secrets on the way.

mod export;
mod format;
mod read;
mod redact;
#[cfg(test)]
mod sample;

pub use export::{ExportFrom, ExportOptions, export};
pub use format::{
    BundleCode, BundleError, BundleInfo, BundleKind, BundlePath, Limits, MAX_MANIFEST_BYTES, MAX_REDACTIONS_BYTES,
    MAX_SMALL_FILE_BYTES, Manifest, PAYLOAD_TYPE, RedactionList, SESSION_LOG, SignaturePolicy, metadata,
};
pub use read::{
    ArchiveReader, Container, ImportError, OpenedBundle, Report, VerifyOptions, Visitor, import, import_for_reader,
    is_archive, is_bundle, is_opened_bundle, open, open_verified, replay_opened, trace_opened, verify, verify_opened,
};
pub use redact::{Matcher, RedactOptions, RedactionRule, RuleSet, blobs, builtin, named, redacted_line, unescaped};
#[cfg(test)]
pub use sample::small_run;
