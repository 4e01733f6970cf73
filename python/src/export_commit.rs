//! Commits the groups of an export on a thread of its own, so that conversions continue while it waits for the disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use session_tape_core::{Pipeline, Worker};

use crate::convert::Converted;
use crate::export_group::{Carried, Written};
use crate::failure::Failure;
use crate::input::Input;
use crate::manifest::{Manifest, Source, commit};
use crate::options::Options;
use crate::parquet_file::version;

/// Maximum number of groups that wait for the disk.
const WAITING: usize = 8;

/// A group, and the data for its manifest.
pub struct Unit {
    pub id: Option<String>,
    pub date: String,
    pub inputs: Vec<Input>,
    pub carried: Vec<Carried>,
    pub kept: Vec<Source>,
    /// The options of the export, with the tables of this group.
    pub options: Options,
}

/// A group that was committed.
pub struct Committed {
    pub id: String,
    pub manifest: Manifest,
    pub parts: Vec<PathBuf>,
    pub converted: Vec<Converted>,
}

/// The pipeline that commits groups, in their order.
pub type Commits = Pipeline<Committer>;

/// Creates the pipeline that commits to a lake. Its thread is started with the second group.
pub fn commits(lake: &Path, options: &Options) -> Commits {
    Pipeline::serial(Committer { lake: lake.to_owned(), options: options.deciding() }, WAITING)
}

/// Commits a group: renames its parts into place, then writes its manifest.
pub struct Committer {
    lake: PathBuf,
    options: BTreeMap<String, u64>,
}

impl Worker for Committer {
    type Job = (Unit, Written);
    type Output = Result<Committed, Failure>;

    fn work(&mut self, (unit, written): Self::Job) -> Self::Output {
        let Written { sources: converted, files } = written;
        let mut sources: Vec<Source> =
            converted.iter().map(|one| Source::new(&one.name, one.has_path, &one.identity)).chain(unit.kept).collect();
        sources.sort_by(|one, other| one.name.cmp(&other.name));
        let (version, options) = (version().to_owned(), self.options.clone());
        let name = Manifest::part_name(&version, &options, &sources);
        let (mut rows, mut parts) = (BTreeMap::new(), BTreeMap::new());
        let mut paths = Vec::new();
        for file in files {
            let folder = Path::new(file.table.as_str()).join(format!("date={}", unit.date));
            let failed = |error: std::io::Error| Failure::at(&self.lake.join(&folder), &error);
            fs::create_dir_all(self.lake.join(&folder)).map_err(failed)?;
            let part = folder.join(&name);
            commit(file.file, &self.lake.join(&part)).map_err(failed)?;
            paths.push(self.lake.join(&part));
            rows.insert(file.table.as_str().to_owned(), file.rows as u64);
            parts.insert(file.table.as_str().to_owned(), part.to_string_lossy().replace('\\', "/"));
        }
        let manifest = Manifest { version, options, sources, rows, parts };
        let names = manifest.sources.iter().map(|source| source.name.as_str());
        let id = unit.id.unwrap_or_else(|| Manifest::id_of(manifest.is_of_runs(), names));
        manifest.save(&self.lake, &id).map_err(|error| Failure::at(&self.lake, &error))?;
        Ok(Committed { id, manifest, parts: paths, converted })
    }
}
