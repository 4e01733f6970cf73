//! The error of opening or importing a bundle.

use crate::bundle::format::{BundleCode, BundleError};
use crate::disk::OsError;
use crate::disk::write::StageError;

/// Why a bundle was not opened or imported.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ImportError {
    /// The bundle did not verify.
    #[error("The bundle was not imported: {}", first(problems))]
    Refused {
        /// All problems, at least one.
        problems: Vec<BundleError>,
    },
    /// The cause is not the bundle.
    #[error("{0}")]
    Failed(BundleError),
}

impl ImportError {
    /// The code of the error, or of the first problem.
    pub fn code(&self) -> BundleCode {
        match self {
            ImportError::Refused { problems } => {
                problems.first().map_or(BundleCode::NotABundle, |problem| problem.code)
            }
            ImportError::Failed(error) => error.code,
        }
    }
}

fn first(problems: &[BundleError]) -> String {
    let more = problems.len().saturating_sub(1);
    let first = problems.first().map(ToString::to_string).unwrap_or_default();
    if more > 0 { format!("{first} (and {more} more problems)") } else { first }
}

impl From<StageError> for ImportError {
    fn from(error: StageError) -> Self {
        BundleError::from(error).into()
    }
}

impl From<OsError> for ImportError {
    fn from(error: OsError) -> Self {
        BundleError::from(error).into()
    }
}

impl From<BundleError> for ImportError {
    fn from(error: BundleError) -> Self {
        let is_of_call = matches!(error.code, BundleCode::DestinationExists | BundleCode::InvalidOption);
        if error.is_operational() || is_of_call {
            ImportError::Failed(error)
        } else {
            ImportError::Refused { problems: vec![error] }
        }
    }
}
