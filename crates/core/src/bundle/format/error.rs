//! Errors and problems of bundles. Codes are documented for users: new ones are added, none is renamed.

use std::fmt;
use std::path::Path;

use crate::disk::OsError;

use crate::disk::write::StageError;
use crate::json::quoted;
use crate::run::{ErrorCode, RunError};
use crate::task::Cancelled;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $code:ident,)+) => {
        /// The kind of an error or problem. [`as_str`](BundleCode::as_str) is its stable name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum BundleCode {
            $($(#[doc = $doc])+ $code,)+
        }

        impl BundleCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [BundleCode] = &[$(BundleCode::$code,)+];

            /// The stable name, which users compare with.
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
    /// A path has a component `..`.
    ParentPath,
    /// A path begins with a drive letter and `:`.
    DriveLetter,
    /// A path contains a NUL.
    NulInPath,
    /// A path contains a backslash, which separates directories on Windows.
    BackslashInPath,
    /// A path is not UTF-8.
    NotUtf8Path,
    /// A component of a path is the name of a device on Windows, such as `con` or `nul.txt`.
    ReservedName,
    /// A path is empty, too long, or has a component or a character that some systems do not preserve.
    InvalidPath,
    /// Two entries have the same path, or one is the directory of another.
    DuplicatePath,
    /// Two paths differ only in case.
    CaseCollision,
    /// A symbolic or hard link.
    Link,
    /// A device, a pipe or a socket.
    Device,
    /// An entry of an unsupported type: an extended header, a long name, a sparse file.
    UnsupportedEntry,
    /// The path leads to neither a run, nor a session, nor a bundle.
    NotABundle,
    /// The archive is damaged: a frame, a block or a header is invalid.
    ArchiveCorrupt,
    /// The archive ends too early.
    Truncated,
    /// There are bytes after the end of the archive.
    TrailingBytes,
    /// Decompressing the archive would take more memory than the limit.
    WindowTooLarge,
    /// A line is longer than the limit.
    LineTooLong,
    /// A blob is larger than the limit.
    BlobTooLarge,
    /// A file that is read into memory as a whole is larger than the limit.
    FileTooLarge,
    /// There are more files than the limit.
    TooManyFiles,
    /// The archive expands to more than the limit.
    ExpansionTooLarge,
    /// All files together are larger than the limit.
    TotalTooLarge,
    /// There is no `manifest.json`.
    ManifestMissing,
    /// `manifest.json` does not have the form of the format.
    ManifestInvalid,
    /// A file has a format version that this release does not know.
    UnsupportedVersion,
    /// The manifest's `bundleId` is not the hash of the manifest without it.
    BundleIdMismatch,
    /// A file is not in the manifest.
    NotInManifest,
    /// A file that the manifest lists is missing.
    FileMissing,
    /// A file's size differs from the one in the manifest.
    WrongSize,
    /// A file's hash differs from the one in the manifest.
    WrongHash,
    /// `manifest.sha256` is not the list of the manifest's hashes.
    ChecksumsMismatch,
    /// A blob's name is not the hash of its bytes.
    BlobNameMismatch,
    /// A blob that the log names is missing.
    BlobMissing,
    /// An object that a reference names is missing.
    MediaMissing,
    /// An object of media has another size or other bytes than a reference says, or no reference names it.
    MediaCorrupt,
    /// The log is damaged: a line is not an event, or one of its hashes is wrong.
    LogInvalid,
    /// The log's number of lines differs from the one in the manifest.
    WrongCount,
    /// The log's first or last event differs from the one in the manifest.
    WrongHead,
    /// An event without a salt is not listed in `redactions.json`, or an event with a salt is.
    RedactionMismatch,
    /// `redactions.json` does not have the form of the format.
    RedactionsInvalid,
    /// `metadata.json` does not have the form of the format, or contradicts the manifest.
    MetadataInvalid,
    /// The snapshot with which a partial bundle begins is missing or invalid.
    SnapshotInvalid,
    /// A signature is required and there is none.
    SignatureMissing,
    /// `manifest.sig` does not have the form of a signature.
    SignatureMalformed,
    /// No trusted key signed the manifest.
    SignatureNotTrusted,
    /// There are more problems than the report lists.
    TooManyProblems,
    /// The source is damaged, so that its bundle would not verify.
    SourceInvalid,
    /// The source was changed during the export.
    SourceChanged,
    /// The requested snapshot of a partial export does not exist, or is invalid.
    SnapshotNotFound,
    /// The destination exists already.
    DestinationExists,
    /// A redaction rule matches where nothing can be redacted, such as in an id, a hash or a name.
    RedactionConflict,
    /// A redaction rule is invalid.
    InvalidRule,
    /// An option has an invalid value.
    InvalidOption,
    /// A system call failed.
    SystemError,
    /// The caller cancelled the operation.
    Cancelled,
}

impl fmt::Display for BundleCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error of an operation on a bundle, or one of the problems that a verification reports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BundleError {
    /// The kind of the error.
    pub code: BundleCode,
    /// A readable description: what was found, where, and what to do.
    pub message: String,
    /// The path of the file concerned, inside the bundle. `None` if the error is not about one file.
    pub path: Option<String>,
    /// The system error, for [`BundleCode::SystemError`] if there is one.
    pub system: Option<Box<OsError>>,
}

impl BundleError {
    /// An error without a path.
    pub fn new(code: BundleCode, message: impl Into<String>) -> Self {
        BundleError { code, message: message.into(), path: None, system: None }
    }

    /// An error about the file `path` of the bundle. The path is put before the message.
    pub fn about(code: BundleCode, path: &str, message: impl fmt::Display) -> Self {
        let path = quoted(path);
        BundleError { path: Some(path.clone()), ..Self::new(code, format!("{path}: {message}")) }
    }

    /// Adds the path of a file, unless the error has one or is operational.
    #[must_use]
    pub fn of_file(self, path: &str) -> Self {
        if self.path.is_some() || matches!(self.code, BundleCode::SystemError | BundleCode::Cancelled) {
            return self;
        }
        Self::about(self.code, path, self.message)
    }

    /// A failed system call.
    pub fn system(error: &std::io::Error, syscall: &'static str, path: Option<&Path>) -> Self {
        OsError::new(error, syscall, path).into()
    }

    /// Whether the cause is not the bundle: a system call failed, or the caller cancelled.
    pub fn is_operational(&self) -> bool {
        matches!(self.code, BundleCode::SystemError | BundleCode::Cancelled)
    }
}

impl From<Cancelled> for BundleError {
    fn from(_: Cancelled) -> Self {
        Self::new(BundleCode::Cancelled, "The caller asked to stop")
    }
}

impl From<OsError> for BundleError {
    fn from(error: OsError) -> Self {
        if error.is_cancelled() {
            return BundleError::from(Cancelled);
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

/// Converts an error of a run to an error of a bundle: one with `code`, unless it is operational.
pub(crate) fn of_run(code: BundleCode, error: RunError) -> BundleError {
    match error.system {
        Some(system) => (*system).into(),
        None if error.code == ErrorCode::Cancelled => BundleError::from(Cancelled),
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
