//! Imports a bundle: verifies it and unpacks it into a directory.

use std::path::{Path, PathBuf};

use super::import_error::ImportError;
use super::media::put_media;
use super::verify::{Report, VerifyOptions, inspect};
use crate::bundle::format::{BundleCode, BundleError, BundleInfo};
use crate::disk::files;
use crate::disk::write::StagedDirectory;
use crate::session::media::MediaStore;
use crate::task::Task;

/// Verifies the bundle at `path` and unpacks it to `directory`, which must not exist. The bundle is read only once, so the unpacked bytes
/// are the verified ones.
///
/// The media of a session are put into the store that the options name, else into the one beside the directory if there is one, before the directory appears.
///
/// An import that fails or is cancelled leaves nothing at the directory or next to it, but perhaps media in the store.
pub fn import(
    path: &Path,
    directory: &Path,
    options: &VerifyOptions,
    task: &mut Task<'_>,
) -> Result<BundleInfo, ImportError> {
    expect_outside(options.media_dir.as_deref(), directory)?;
    let staged = StagedDirectory::new(directory, !options.is_for_reader)?;
    let Report { info: Some(info), manifest: Some(manifest), .. } =
        inspect(path, options, Some(&staged), task)?.expect_ok()?
    else {
        return Err(BundleError::new(BundleCode::ManifestMissing, "There is no manifest.json").into());
    };
    put_media(&manifest, staged.path(), &MediaStore::of(options.media_dir.as_deref(), directory), task)?;
    if options.is_for_reader { task.check() } else { task.conclude() }.map_err(BundleError::from)?;
    staged.commit()?;
    Ok(BundleInfo { path: directory.to_path_buf(), ..info })
}

/// Fails for a store that would be made in the directory of the import, which then could not get its name.
fn expect_outside(media_dir: Option<&Path>, directory: &Path) -> Result<(), BundleError> {
    let Some(media_dir) = media_dir else { return Ok(()) };
    if whole(media_dir)?.starts_with(whole(directory)?) {
        let message = format!("{} is within {}, which the import makes", media_dir.display(), directory.display());
        return Err(BundleError::new(BundleCode::InvalidOption, message));
    }
    Ok(())
}

/// A path without links and dots, as far as it exists.
fn whole(path: &Path) -> Result<PathBuf, BundleError> {
    let absolute = std::path::absolute(path).map_err(|error| BundleError::system(&error, "getcwd", None))?;
    let known = absolute.ancestors().find_map(|known| Some((known, files::canonicalize(known).ok()?)));
    Ok(match known {
        Some((known, found)) => absolute.strip_prefix(known).map_or(found.clone(), |rest| found.join(rest)),
        None => absolute,
    })
}

#[cfg(test)]
mod tests;
