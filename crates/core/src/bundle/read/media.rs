//! The media of a session's bundle: whether every object that a reference names is there or counted, and putting them into a store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::bundle::format::{
    BundleCode, BundleError, BundleKind, BundlePath, ListedFile, METADATA, Manifest, MediaCounts, SESSION_LOG,
};
use crate::disk::files;
use crate::session::media::{MediaStore, NamedObjects, PutError, id_of, path_in_bundle};
use crate::task::Task;

/// Where the media of the session at `path` are looked for, whose lines are in the file `log`: in the bundle around that, if there is one, then in the store
/// that is given or beside the path.
pub fn media_store(given: Option<&Path>, path: &Path, log: &Path) -> MediaStore {
    let store = MediaStore::of_session(given, path);
    // The path may be a link.
    let log = files::canonicalize(log).unwrap_or_else(|_| log.to_path_buf());
    if log.ends_with(SESSION_LOG) { store.behind_bundle(files::parent(&log)) } else { store }
}

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
                if let Some(line) =
                    object.contradicted.or_else(|| file.filter(|file| file.size != object.bytes).map(|_| object.line))
                {
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
            let message =
                format!("The object {id} that line {line} refers to is not there, and {METADATA} does not count it");
            BundleError::new(BundleCode::MediaMissing, message)
        }));
    }
    // Where some are left out on purpose, all are.
    if found != listed || (listed.dropped.is_some() && found.sealed > 0) {
        let message = "it counts other objects of media than there are";
        problems.push(BundleError::about(BundleCode::MetadataInvalid, METADATA, message));
    }
    problems
}

/// Puts the media of a session's bundle in the directory `root` into a store. An object that is there stays.
///
/// A verified bundle has only media that its session names. Those of a run's bundle are other files, which are not used.
pub(super) fn put_media(
    manifest: &Manifest,
    root: &Path,
    store: &MediaStore,
    task: &mut Task<'_>,
) -> Result<(), BundleError> {
    let files = manifest.files.keys().filter(|_| manifest.kind == BundleKind::Session);
    for path in files {
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
