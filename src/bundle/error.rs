//! What can be wrong with a bundle: one code for each refusal, and the error that carries it.
//!
//! Codes are part of the format's documentation: they are added, never renamed.

use std::fmt;
use std::path::Path;

use crate::disk::os_error::OsError;
use crate::disk::staged::StageError;
use crate::run::error::{ErrorCode, RunError, quoted};

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $code:ident,)+) => {
        /// What is wrong. [`as_str`](BundleCode::as_str) is the text that users compare with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum BundleCode {
            $($(#[doc = $doc])+ $code,)+
        }

        impl BundleCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [BundleCode] = &[$(BundleCode::$code,)+];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(BundleCode::$code => stringify!($code),)+
                }
            }
        }
    };
}

codes! {
    /// A path begins with `/`.
    AbsolutePath,
    /// A path has a part `..`.
    ParentPath,
    /// A path begins with a drive letter and `:`.
    DriveLetter,
    /// A path holds a NUL.
    NulInPath,
    /// A path holds a backslash, which separates directories elsewhere.
    BackslashInPath,
    /// A path is not UTF-8.
    NotUtf8Path,
    /// A part of a path is the name of a device on Windows, like `con` or `nul.txt`.
    ReservedName,
    /// A path is empty, too long, or has a part or a character that some system would change.
    InvalidPath,
    /// Two entries have the same path, or one is the directory of another.
    DuplicatePath,
    /// Two paths differ only in case.
    CaseCollision,
    /// A symbolic or hard link.
    Link,
    /// A device, a pipe, a socket.
    Device,
    /// An entry of a kind that no bundle has: extended headers, long names, sparse files.
    UnsupportedEntry,
    /// What is there is neither a run, nor a session, nor a bundle.
    NotABundle,
    /// The archive is damaged: a frame, a block or a header of it is not what it should be.
    ArchiveCorrupt,
    /// The archive ends too early.
    Truncated,
    /// There are bytes after the end of the archive.
    TrailingBytes,
    /// To decompress the archive would take more memory than is given to it.
    WindowTooLarge,
    /// A line is longer than the limit.
    LineTooLong,
    /// A blob is larger than the limit.
    BlobTooLarge,
    /// A file that must be in memory as a whole is larger than what is read of such a file.
    FileTooLarge,
    /// There are more files than the limit.
    TooManyFiles,
    /// The archive expands to more than the limit.
    ExpansionTooLarge,
    /// All files together are larger than the limit.
    TotalTooLarge,
    /// There is no `manifest.json`.
    ManifestMissing,
    /// `manifest.json` is not written as the format has it.
    ManifestInvalid,
    /// A file of a format version that this release does not know.
    UnsupportedVersion,
    /// The manifest's `bundleId` is not the hash of the manifest without it.
    BundleIdMismatch,
    /// A file is not in the manifest.
    NotInManifest,
    /// A file that the manifest lists is missing.
    FileMissing,
    /// A file has not the size that the manifest lists.
    WrongSize,
    /// A file has not the hash that the manifest lists.
    WrongHash,
    /// `manifest.sha256` is not the list of the manifest's hashes.
    ChecksumsMismatch,
    /// A blob's name is not its hash.
    BlobNameMismatch,
    /// A blob that the log names is missing.
    BlobMissing,
    /// The log is not whole: a line is no event, or a hash of it is not the right one.
    LogInvalid,
    /// The log has not as many lines as the manifest says.
    WrongCount,
    /// The log does not begin or end where the manifest says.
    WrongHead,
    /// An event has no salt, and `redactions.json` does not list it; or it is listed and has one.
    RedactionMismatch,
    /// `redactions.json` is not written as the format has it.
    RedactionsInvalid,
    /// `metadata.json` is not written as the format has it, or contradicts the manifest.
    MetadataInvalid,
    /// The snapshot with which a partial bundle begins can't be used.
    SnapshotInvalid,
    /// A signature is required and there is none.
    SignatureMissing,
    /// What stands in `manifest.sig` is no signature.
    SignatureMalformed,
    /// No trusted key signed the manifest.
    SignatureNotTrusted,
    /// There are more problems than are listed.
    TooManyProblems,
    /// The source is damaged, so its bundle could not be verified.
    SourceInvalid,
    /// What is exported was changed meanwhile.
    SourceChanged,
    /// The snapshot with which a partial bundle is to begin is not there, or can't be used.
    SnapshotNotFound,
    /// There is something at the destination already.
    DestinationExists,
    /// A secret stands where it can't be redacted: in an id, a hash, a name.
    RedactionConflict,
    /// A redaction rule can't be used.
    InvalidRule,
    /// An option has a value that it can't have.
    InvalidOption,
    /// The system did not let a file be read or written.
    SystemError,
    /// The caller asked to stop.
    Cancelled,
}

impl fmt::Display for BundleCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with a bundle, and where: an error, or one of the problems that a verification lists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BundleError {
    /// What is wrong.
    pub code: BundleCode,
    /// The same for people: what was found, where, and what to do.
    pub message: String,
    /// The file concerned, as the bundle names it. None where it is about no file of the bundle.
    pub path: Option<String>,
    /// What the system said, where that is what is wrong.
    pub system: Option<Box<OsError>>,
}

impl BundleError {
    /// An error that is about no file yet.
    pub fn new(code: BundleCode, message: impl Into<String>) -> Self {
        BundleError { code, message: message.into(), path: None, system: None }
    }

    /// An error about the file `path` of the bundle, whose name the message begins with.
    pub fn about(code: BundleCode, path: &str, message: impl fmt::Display) -> Self {
        let path = quoted(path);
        BundleError { path: Some(path.clone()), ..Self::new(code, format!("{path}: {message}")) }
    }

    /// The same, about a file unless it is about one already.
    #[must_use]
    pub fn of_file(self, path: &str) -> Self {
        if self.path.is_some() || matches!(self.code, BundleCode::SystemError | BundleCode::Cancelled) {
            return self;
        }
        Self::about(self.code, path, self.message)
    }

    /// What the system refused.
    pub fn system(error: &std::io::Error, syscall: &'static str, path: Option<&Path>) -> Self {
        OsError::new(error, syscall, path).into()
    }

    /// The caller asked to stop.
    pub fn cancelled() -> Self {
        Self::new(BundleCode::Cancelled, "The caller asked to stop")
    }

    /// Whether it says nothing of the bundle: the system refused, or the caller asked to stop.
    pub fn is_outside(&self) -> bool {
        matches!(self.code, BundleCode::SystemError | BundleCode::Cancelled)
    }
}

impl From<OsError> for BundleError {
    fn from(error: OsError) -> Self {
        if error.is_cancelled() {
            return BundleError::cancelled();
        }
        let message = error.to_string();
        BundleError { system: Some(Box::new(error)), ..Self::new(BundleCode::SystemError, message) }
    }
}

impl From<StageError> for BundleError {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Exists(_) => BundleError::new(BundleCode::DestinationExists, error.to_string()),
            StageError::System(error) => error.into(),
        }
    }
}

/// What is wrong with a run, as a bundle's problem of the kind `code`.
pub fn of_run(code: BundleCode, error: RunError) -> BundleError {
    match error.system {
        Some(system) => (*system).into(),
        None if error.code == ErrorCode::Cancelled => BundleError::cancelled(),
        None => BundleError::new(code, format!("{} ({})", error.message, error.code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_name() {
        let names: std::collections::HashSet<_> = BundleCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), BundleCode::ALL.len());
        assert_eq!(BundleCode::WrongHead.to_string(), "WrongHead");
    }

    #[test]
    fn an_error_names_its_file_once() {
        let error = BundleError::new(BundleCode::WrongHash, "changed").of_file("a/b").of_file("c");
        assert_eq!((error.path.as_deref(), error.message.as_str()), (Some("a/b"), "a/b: changed"));
    }
}
