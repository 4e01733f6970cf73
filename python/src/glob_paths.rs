//! Expands globs to paths. Names are compared byte by byte where they are UTF-8; bytes that are not UTF-8 are matched by wildcards only.

use std::fs::DirEntry;
use std::io;
use std::path::{Component, Path, PathBuf};

use glob::{Pattern, PatternError};
use pyo3::PyResult;

use crate::interrupt::SignalCheck;

/// Whether a path may be a glob.
pub fn is_glob(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// Whether a path has `*` or `?`, which names rarely have.
pub fn has_wildcard(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?".contains(byte))
}

/// A directory that cannot be listed, and why.
pub type Unlisted = (PathBuf, io::Error);

/// A glob.
pub struct Glob<'p>(Vec<Step<'p>>);

enum Step<'p> {
    Name(Component<'p>),
    /// `**`
    AnyDirectories,
    Pattern(Pattern),
}

impl<'p> Glob<'p> {
    /// Parses a glob. `**` matches any number of directories and does not follow links.
    pub fn parse(glob: &'p Path) -> Result<Self, PatternError> {
        glob.components().map(Step::of).collect::<Result<_, _>>().map(Glob)
    }

    /// The paths that match, and the directories that cannot be listed, both sorted.
    pub fn expand(&self, signals: &mut SignalCheck) -> PyResult<(Vec<PathBuf>, Vec<Unlisted>)> {
        let (mut paths, mut unlisted) = (vec![PathBuf::new()], Vec::<Unlisted>::new());
        for step in &self.0 {
            paths = step.follow(paths, &mut unlisted, signals)?;
        }
        let mut existing = Vec::with_capacity(paths.len());
        for mut path in paths {
            signals.check()?;
            if path.as_os_str().is_empty() {
                path.push(".");
            }
            if path.symlink_metadata().map_or_else(|error| !is_missing(&error), |_| true) {
                existing.push(path);
            }
        }
        existing.sort();
        existing.dedup();
        unlisted.sort_by(|(one, _), (other, _)| one.cmp(other));
        unlisted.dedup_by(|(one, _), (other, _)| one == other);
        Ok((existing, unlisted))
    }
}

impl<'p> Step<'p> {
    fn of(component: Component<'p>) -> Result<Self, PatternError> {
        match component {
            Component::Normal(name) if name == "**" => Ok(Step::AnyDirectories),
            Component::Normal(name) if is_glob(Path::new(name)) => {
                Pattern::new(&name.to_string_lossy()).map(Step::Pattern)
            }
            _ => Ok(Step::Name(component)),
        }
    }

    /// The paths that this step leads to from `paths`.
    fn follow(
        &self,
        mut paths: Vec<PathBuf>,
        unlisted: &mut Vec<Unlisted>,
        signals: &mut SignalCheck,
    ) -> PyResult<Vec<PathBuf>> {
        let pattern = match self {
            Step::Name(name) => {
                paths.iter_mut().for_each(|path| path.push(name));
                return Ok(paths);
            }
            Step::AnyDirectories => return directories_below(paths, unlisted, signals),
            Step::Pattern(pattern) => pattern,
        };
        let mut matching = Vec::new();
        for path in &paths {
            let mut inside = entries(path, unlisted, signals)?;
            inside.retain(|path| path.file_name().is_some_and(|name| pattern.matches(&name.to_string_lossy())));
            matching.append(&mut inside);
        }
        Ok(matching)
    }
}

/// Whether the error means that nothing exists at the path.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Passes the entries of a directory to `take`, as far as it can be listed. The outer error is the exception of a signal handler.
pub fn for_each_entry(
    directory: &Path,
    signals: &mut SignalCheck,
    mut take: impl FnMut(DirEntry),
) -> PyResult<io::Result<()>> {
    signals.check()?;
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(error) => return Ok(Err(error)),
    };
    for entry in entries {
        signals.check()?;
        match entry {
            Ok(entry) => take(entry),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(()))
}

fn entries(directory: &Path, unlisted: &mut Vec<Unlisted>, signals: &mut SignalCheck) -> PyResult<Vec<PathBuf>> {
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let mut paths = Vec::new();
    let listing = for_each_entry(listed, signals, |entry| paths.push(directory.join(entry.file_name())))?;
    if let Err(error) = listing
        && !is_missing(&error)
    {
        unlisted.push((listed.to_owned(), error));
    }
    Ok(paths)
}

/// These directories, and all that are below them.
fn directories_below(
    paths: Vec<PathBuf>,
    unlisted: &mut Vec<Unlisted>,
    signals: &mut SignalCheck,
) -> PyResult<Vec<PathBuf>> {
    let mut found = paths;
    let mut next = 0;
    while next < found.len() {
        for path in entries(&found[next], unlisted, signals)? {
            signals.check()?;
            if path.symlink_metadata().is_ok_and(|entry| entry.is_dir()) {
                found.push(path);
            }
        }
        next += 1;
    }
    Ok(found)
}
