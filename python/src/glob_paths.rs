//! Expands globs to paths. Names are compared byte by byte where they are UTF-8; bytes that are not UTF-8 are matched by wildcards only.

use std::io;
use std::path::{Component, Path, PathBuf};

use glob::{Pattern, PatternError};

/// Whether a path may be a glob.
pub fn is_glob(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// A directory that cannot be listed, and why.
pub type Unlisted = (PathBuf, io::Error);

/// The paths that match a glob, and the directories that cannot be listed, both sorted. `**` matches any number of directories and does not follow
/// links.
pub fn expand(glob: &Path) -> Result<(Vec<PathBuf>, Vec<Unlisted>), PatternError> {
    let (mut paths, mut unlisted) = (vec![PathBuf::new()], Vec::<Unlisted>::new());
    for component in glob.components() {
        let text = component.as_os_str().to_string_lossy();
        if !matches!(component, Component::Normal(name) if is_glob(Path::new(name))) {
            paths.iter_mut().for_each(|path| path.push(component));
        } else if text == "**" {
            paths = paths.into_iter().flat_map(|path| directories_below(path, &mut unlisted)).collect();
        } else {
            let pattern = Pattern::new(&text)?;
            let matches =
                |path: &PathBuf| path.file_name().is_some_and(|name| pattern.matches(&name.to_string_lossy()));
            paths = paths.iter().flat_map(|path| entries(path, &mut unlisted)).filter(matches).collect();
        }
    }
    paths.iter_mut().filter(|path| path.as_os_str().is_empty()).for_each(|path| path.push("."));
    paths.retain(|path| path.symlink_metadata().map_or_else(|error| !is_missing(&error), |_| true));
    paths.sort();
    paths.dedup();
    unlisted.sort_by(|(one, _), (other, _)| one.cmp(other));
    unlisted.dedup_by(|(one, _), (other, _)| one == other);
    Ok((paths, unlisted))
}

/// Whether the error means that nothing exists at the path.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn entries(directory: &Path, unlisted: &mut Vec<Unlisted>) -> Vec<PathBuf> {
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let mut paths = Vec::new();
    let listing = listed.read_dir().and_then(|entries| {
        for entry in entries {
            paths.push(directory.join(entry?.file_name()));
        }
        Ok(())
    });
    if let Err(error) = listing
        && !is_missing(&error)
    {
        unlisted.push((listed.to_owned(), error));
    }
    paths
}

fn directories_below(path: PathBuf, unlisted: &mut Vec<Unlisted>) -> Vec<PathBuf> {
    let mut found = vec![path];
    let mut next = 0;
    while next < found.len() {
        let inside = entries(&found[next], unlisted);
        found.extend(inside.into_iter().filter(|path| path.symlink_metadata().is_ok_and(|entry| entry.is_dir())));
        next += 1;
    }
    found
}
