//! The media of a session's bundle: whether every object that a reference names is there or counted, and putting them into a store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::bundle::format::{BundleCode, BundleError, BundlePath, ListedFile, METADATA, Manifest, MediaCounts};
use crate::session::media::{MediaStore, NamedObjects, PutError, id_of, path_in_bundle};
use crate::task::Task;

/// Checks the objects of a bundle, whose files are `seen`, against those that its session names and the counts in its metadata.
pub(super) fn check_media(
    named: &NamedObjects,
    seen: &BTreeMap<String, Option<ListedFile>>,
    listed: MediaCounts,
) -> Vec<BundleError> {
    let (mut problems, mut unsealed, mut found) = (Vec::new(), Vec::new(), MediaCounts::default());
    let mut known = BTreeSet::new();
    for object in named.each() {
        let (id, path) = (id_of(&object.hash), path_in_bundle(&object.hash));
        match seen.get(&path) {
            None => unsealed.push((id, object.line)),
            Some(file) => {
                found.sealed += 1;
                found.bytes += file.map_or(object.bytes, |file| file.size);
                if let Some(line) = object.contradicted.or_else(|| file.filter(|file| file.size != object.bytes).map(|_| object.line)) {
                    let message = format!("line {line} says another size of the object {id}");
                    problems.push(BundleError::about(BundleCode::MediaCorrupt, &path, message));
                }
            }
        }
        known.insert(path);
    }
    let is_media = |path: &&String| BundlePath::parse(path.as_bytes()).is_ok_and(|path| path.media().is_some());
    for path in seen.keys().filter(is_media).filter(|path| !known.contains(*path)) {
        problems.push(BundleError::about(BundleCode::MediaCorrupt, path, "no reference of the session names it"));
    }
    let count = unsealed.len() as u64;
    match listed.dropped {
        Some(_) => found.dropped = Some(count),
        None => found.missing = count,
    }
    if count > listed.missing + listed.dropped.unwrap_or(0) {
        problems.extend(unsealed.into_iter().map(|(id, line)| {
            let message = format!("The object {id} that line {line} refers to is not there, and {METADATA} does not count it");
            BundleError::new(BundleCode::MediaMissing, message)
        }));
    }
    if found != listed {
        let message = "it counts other objects of media than there are";
        problems.push(BundleError::about(BundleCode::MetadataInvalid, METADATA, message));
    }
    problems
}

/// Puts the media of the bundle in the directory `root` into a store. An object that is there stays.
pub(super) fn put_media(
    manifest: &Manifest,
    root: &Path,
    store: &MediaStore,
    task: &mut Task<'_>,
) -> Result<(), BundleError> {
    for path in manifest.files.keys() {
        let path = BundlePath::parse(path.as_bytes())?;
        let Some(Some(hash)) = path.media() else { continue };
        task.check()?;
        store.put(&hash, &path.below(root)).map_err(|error| match error {
            PutError::Corrupt(there) => {
                let message = format!("{} is not the image {}; nothing is replaced", there.display(), id_of(&hash));
                BundleError::new(BundleCode::MediaCorrupt, message)
            }
            PutError::System(error) => error.into(),
        })?;
    }
    Ok(())
}
