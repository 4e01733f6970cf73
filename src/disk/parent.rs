//! The directory in which a path is.

use std::path::Path;

/// The directory in which `path` is: the working directory, for a path of one name.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
