//! The parent directory of a path.

use std::path::Path;

/// The directory that contains `path`: the working directory if the path has only one component.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
