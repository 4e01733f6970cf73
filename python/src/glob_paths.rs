//! The paths that a glob names. Names are compared byte by byte as far as they are UTF-8; what is not is matched by a wildcard.

use std::path::{Component, Path, PathBuf};

use glob::{Pattern, PatternError};

use crate::walk::Found;

/// Whether a path may be a glob.
pub fn is_glob(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// What a glob names, sorted. `**` is any number of directories, none of them a link.
pub fn expand(glob: &Path) -> Result<Vec<Found>, PatternError> {
    let mut paths = vec![PathBuf::new()];
    for component in glob.components() {
        let text = component.as_os_str().to_string_lossy();
        if !matches!(component, Component::Normal(name) if is_glob(Path::new(name))) {
            paths.iter_mut().for_each(|path| path.push(component));
        } else if text == "**" {
            paths = paths.into_iter().flat_map(directories_below).collect();
        } else {
            let pattern = Pattern::new(&text)?;
            let matches =
                |path: &PathBuf| path.file_name().is_some_and(|name| pattern.matches(&name.to_string_lossy()));
            paths = paths.iter().flat_map(|path| entries(path)).filter(matches).collect();
        }
    }
    paths.iter_mut().filter(|path| path.as_os_str().is_empty()).for_each(|path| path.push("."));
    paths.retain(|path| path.symlink_metadata().is_ok());
    paths.sort();
    paths.dedup();
    Ok(paths.into_iter().map(Found::at).collect())
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = listed.read_dir().into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| directory.join(entry.file_name())).collect()
}

fn directories_below(path: PathBuf) -> Vec<PathBuf> {
    let mut found = vec![path];
    let mut next = 0;
    while next < found.len() {
        let inside = entries(&found[next]);
        found.extend(inside.into_iter().filter(|path| path.symlink_metadata().is_ok_and(|entry| entry.is_dir())));
        next += 1;
    }
    found
}
