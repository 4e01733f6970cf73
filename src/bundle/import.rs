//! Import: a bundle is unpacked into a directory, if nothing is wrong with it.

use std::path::Path;

use super::error::{BundleCode, BundleError};
pub use super::import_error::ImportError;
use super::info::BundleInfo;
use super::open_container::open_container;
use super::verify::{Report, VerifyOptions, inspect, verify_with};
use super::watch::JobWatch;
use crate::disk::staged::StagedDirectory;

/// Unpacks the bundle at `path` to `directory`, where there must be nothing. It is read once: what is verified is what is unpacked.
///
/// On an error or a cancellation there is nothing at the directory, nor beside it.
pub fn import(
    path: &Path,
    directory: &Path,
    options: &VerifyOptions,
    watch: &mut JobWatch<'_>,
) -> Result<BundleInfo, ImportError> {
    import_to(StagedDirectory::new(directory)?, path, directory, options, watch)
}

/// The same for a reader, who removes the directory when it was read: nothing waits for the disk.
pub fn import_for_reader(
    path: &Path,
    directory: &Path,
    options: &VerifyOptions,
    watch: &mut JobWatch<'_>,
) -> Result<BundleInfo, ImportError> {
    import_to(StagedDirectory::for_reader(directory)?, path, directory, options, watch)
}

fn import_to(
    staged: StagedDirectory,
    path: &Path,
    directory: &Path,
    options: &VerifyOptions,
    watch: &mut JobWatch<'_>,
) -> Result<BundleInfo, ImportError> {
    let report = unpack(path, &staged, options, watch)?;
    let info = report.info.ok_or_else(|| BundleError::new(BundleCode::ManifestMissing, "There is no manifest.json"))?;
    staged.commit()?;
    Ok(BundleInfo { path: directory.to_path_buf(), ..info })
}

/// Verifies the bundle at `path` as [`verify`](super::verify::verify) does. If nothing is wrong, what it holds is in `directory`
/// then, for a reader.
pub fn verify_onto(
    path: &Path,
    directory: &Path,
    options: &VerifyOptions,
    watch: &mut JobWatch<'_>,
) -> Result<Report, BundleError> {
    let staged = StagedDirectory::for_reader(directory)?;
    let report = verify_with(path, options, Some(&staged), watch)?;
    if report.is_ok() {
        staged.commit()?;
    }
    Ok(report)
}

/// Unpacks a bundle into a staged directory, which no other process reads yet.
pub fn unpack(
    path: &Path,
    staged: &StagedDirectory,
    options: &VerifyOptions,
    watch: &mut JobWatch<'_>,
) -> Result<Report, ImportError> {
    let mut container = open_container(path, &options.limits)?;
    let report = inspect(path, container.as_mut(), options, Some(staged), watch)?;
    if report.is_ok() { Ok(report) } else { Err(ImportError::Refused { problems: report.problems }) }
}

#[cfg(test)]
mod tests;
