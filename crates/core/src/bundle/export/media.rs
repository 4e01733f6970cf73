//! Plans the media of a session: the objects that its references name.

use std::collections::BTreeMap;
use std::path::Path;

use super::export::MediaPolicy;
use super::planned_file::PlannedFile;
use super::source::{Planner, bundle_path};
use crate::bundle::format::{BundleCode, BundleError, BundlePath, MediaCounts, SESSION_LOG};
use crate::disk::files;
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
        let store = MediaStore::of_session(self.options.media_dir.as_deref(), self.source.given());
        let store = if file.ends_with(SESSION_LOG) { store.behind_bundle(files::parent(file)) } else { store };
        let total: u64 = named.iter().map(|object| object.bytes).fold(self.progress.total, u64::saturating_add);
        self.limits.check_total(total)?;
        self.progress.total = total;
        let mut counts = MediaCounts::default();
        for object in &named {
            match self.object(&store, object) {
                Ok((path, planned)) => {
                    counts.sealed += 1;
                    counts.bytes += planned.listed.size;
                    files.insert(path, planned);
                }
                Err(BundleError { code: BundleCode::MediaMissing | BundleCode::MediaCorrupt, .. })
                    if self.options.media == MediaPolicy::Skip =>
                {
                    counts.missing += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(counts))
    }

    fn object(&mut self, store: &MediaStore, object: &Named) -> Result<(BundlePath, PlannedFile), BundleError> {
        let lines = match object.contradicted {
            Some(other) => format!("lines {} and {other}", object.line),
            None => format!("line {}", object.line),
        };
        let refused = |code, why: &str| {
            let message = format!("The image {} that {lines} refers to {why}", id_of(&object.hash));
            Err(BundleError::new(code, message))
        };
        let why = "has another size or other bytes in the store than the session says";
        let disk = match store.find(object)? {
            Object::Present(disk) => disk,
            Object::Missing => return refused(BundleCode::MediaMissing, "is not in the store; media: 'skip' goes without it"),
            Object::Corrupt => return refused(BundleCode::MediaCorrupt, why),
        };
        let path = bundle_path(&path_in_bundle(&object.hash))?;
        let mut planned = self.plan_file(&path, &disk, object.bytes)?;
        if planned.listed.sha256 != object.hash {
            return refused(BundleCode::MediaCorrupt, why);
        }
        // Images are not redacted.
        planned.candidates = None;
        Ok((path, planned))
    }
}
