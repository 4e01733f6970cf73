//! Removes files of a lake that are no longer needed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::export_group::{TEMPORARY, TEMPORARY_ENDING, TEMPORARY_FOLDER};
use crate::failure::Failure;
use crate::manifest::{FOLDER, Manifests, is_part_name};
use crate::schema::Table;

/// Removes the parts that no manifest lists, and the temporary files that exports have left which did not end. Returns the number of files.
///
/// The caller holds the lock of the lake. Other files are kept, and so is what is behind links: it may belong to another lake.
pub fn prune(lake: &Path) -> Result<u64, Failure> {
    let manifests = Manifests::read(lake)?;
    let mut pruning = Pruning { lake, listed: manifests.parts(), pruned: 0 };
    pruning.run().map_err(|error| Failure::at(lake, &error))?;
    Ok(pruning.pruned)
}

struct Pruning<'l> {
    lake: &'l Path,
    listed: BTreeSet<&'l str>,
    pruned: u64,
}

impl Pruning<'_> {
    fn run(&mut self) -> io::Result<()> {
        for table in Table::ALL {
            let folder = self.lake.join(table.as_str());
            for entry in entries(&folder)? {
                if entry.file_name().to_string_lossy().starts_with("date=") {
                    self.prune_folder(&entry.path(), is_of_table)?;
                }
            }
            remove_if_empty(&folder);
        }
        self.prune_folder(&self.lake.join(TEMPORARY_FOLDER), is_temporary)?;
        self.prune_folder(&self.lake.join(FOLDER), is_temporary_manifest)
    }

    /// Removes the files of a folder whose names `is_ours` accepts, except for parts that are listed.
    fn prune_folder(&mut self, folder: &Path, is_ours: fn(&str) -> bool) -> io::Result<()> {
        for entry in entries(folder)? {
            let path = entry.path();
            let relative = path.strip_prefix(self.lake).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            let is_listed = self.listed.contains(relative.as_str());
            if !is_listed && !entry.file_type()?.is_dir() && is_ours(&entry.file_name().to_string_lossy()) {
                fs::remove_file(&path)?;
                self.pruned += 1;
            }
        }
        remove_if_empty(folder);
        Ok(())
    }
}

fn is_of_table(name: &str) -> bool {
    is_part_name(name) || is_temporary(name)
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY) && name.ends_with(TEMPORARY_ENDING)
}

fn is_temporary_manifest(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(TEMPORARY_ENDING)
}

/// The entries of a folder; none if it does not exist, or is a link.
fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => fs::read_dir(folder)?.collect(),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(Vec::new()),
    }
}

fn remove_if_empty(folder: &Path) {
    // Fails if the folder is not empty, or is a link.
    let _ = fs::remove_dir(folder);
}
