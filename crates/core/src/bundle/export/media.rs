//! Plans the media of a session: the objects that its references name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::export::MediaPolicy;
use super::planned_file::PlannedFile;
use super::source::{Planner, bundle_path};
use crate::bundle::format::{BundleCode, BundleError, BundlePath, MediaCounts};
use crate::bundle::read::media_store;
use crate::session::media::{MediaStore, Named, NamedObjects, Object, id_of, path_in_bundle};

impl Planner<'_, '_> {
    /// Adds the objects that the session in `file` refers to, and counts them. `None` if there are none.
    pub(super) fn media(
        &mut self,
        file: &Path,
        objects: &NamedObjects,
        files: &mut BTreeMap<BundlePath, PlannedFile>,
    ) -> Result<Option<MediaCounts>, BundleError> {
        let named: Vec<Named> = objects.each().collect();
        if named.is_empty() {
            return Ok(None);
        }
        if self.options.media == MediaPolicy::Drop {
            return Ok(Some(MediaCounts { dropped: Some(named.len() as u64), ..MediaCounts::default() }));
        }
        let store = media_store(self.options.media_dir.as_deref(), self.source.given(), file);
        let is_skipped = |error: &BundleError| self.options.media == MediaPolicy::Skip && is_unavailable(error);
        let (mut found, mut counts) = (Vec::new(), MediaCounts::default());
        for object in &named {
            match find(&store, object) {
                Ok(disk) => found.push((object, disk)),
                Err(error) if is_skipped(&error) => counts.missing += 1,
                Err(error) => return Err(error),
            }
        }
        let total = found.iter().map(|(object, _)| object.bytes).fold(self.progress.total, u64::saturating_add);
        self.limits.check_total(total)?;
        self.progress.total = total;
        for (object, disk) in found {
            let path = bundle_path(&path_in_bundle(&object.hash))?;
            match self.object(object, &path, &disk) {
                Ok(planned) => {
                    counts.sealed += 1;
                    counts.bytes += planned.listed.size;
                    files.insert(path, planned);
                }
                Err(error) if is_skipped(&error) => counts.missing += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(Some(counts))
    }

    fn object(&mut self, object: &Named, path: &BundlePath, disk: &Path) -> Result<PlannedFile, BundleError> {
        let mut planned = self.plan_file(path, disk, object.bytes)?;
        if planned.listed.sha256 != object.hash {
            return Err(refused(object, BundleCode::MediaCorrupt, OTHER_BYTES));
        }
        // Images are not redacted.
        planned.candidates = None;
        Ok(planned)
    }
}

const OTHER_BYTES: &str = "has another size or other bytes in the store than the session says";

/// The file of an object.
fn find(store: &MediaStore, object: &Named) -> Result<PathBuf, BundleError> {
    match store.find(object)? {
        Object::Present(disk) => Ok(disk),
        Object::Missing => match store.locked() {
            Some(error) => Err(error.clone().into()),
            None => {
                let why = "is not in the store; media: 'skip' goes without it";
                Err(refused(object, BundleCode::MediaMissing, why))
            }
        },
        Object::Corrupt => Err(refused(object, BundleCode::MediaCorrupt, OTHER_BYTES)),
    }
}

fn refused(object: &Named, code: BundleCode, why: &str) -> BundleError {
    let lines = match object.contradicted {
        Some(other) => format!("lines {} and {other}", object.line),
        None => format!("line {}", object.line),
    };
    BundleError::new(code, format!("The image {} that {lines} refers to {why}", id_of(&object.hash)))
}

/// Whether an object can't be had: it is missing or altered, or its file can't be read.
fn is_unavailable(error: &BundleError) -> bool {
    let system = error.system.as_ref().map(|error| error.code);
    matches!(error.code, BundleCode::MediaMissing | BundleCode::MediaCorrupt)
        || matches!(system, Some("EACCES" | "EPERM" | "EIO" | "ENOENT"))
}
