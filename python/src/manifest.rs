//! Manifests, which list the parts of a lake and their sources. A file that no manifest lists is not part of the lake.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::identity::Identity;
use crate::schema::Table;
use crate::source_name::path_of;
use crate::walk::is_listed;

/// The folder of the manifests.
pub const FOLDER: &str = "_manifests";

/// A group of recordings that were exported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of converter and columns.
    pub version: String,
    /// The options that determine the rows.
    pub options: BTreeMap<String, u64>,
    pub sources: Vec<Source>,
    /// The number of rows, by table.
    pub rows: BTreeMap<String, u64>,
    /// Their paths relative to the lake, by table.
    pub parts: BTreeMap<String, String>,
}

/// A recording that was exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
    /// The hash of whatever else its rows depend on: the other files of a verified run, or the error of a recording that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl Source {
    /// A recording with this name, as it was when it was read.
    pub fn new(name: &str, identity: &Identity) -> Self {
        let sha256 = const_hex::encode(identity.sha256);
        let context = identity.context.map(const_hex::encode);
        Source { name: name.to_owned(), bytes: identity.bytes, sha256, context }
    }
}

impl Manifest {
    /// The tables of its parts.
    pub fn tables(&self) -> impl Iterator<Item = Table> + '_ {
        self.parts.keys().filter_map(|name| Table::named(name))
    }

    /// The day in the paths of its parts.
    pub fn date(&self) -> Option<&str> {
        let part = self.parts.values().next()?;
        part.split('/').find_map(|folder| folder.strip_prefix("date="))
    }

    /// Whether its rows are of runs. Two manifests may list one file: one with its rows of sessions, the other with those of runs.
    pub fn is_of_runs(&self) -> bool {
        self.tables().any(Table::is_of_runs)
    }

    /// The file name of its parts: the same sources, converted in the same way, give the same name.
    pub fn part_name(version: &str, options: &BTreeMap<String, u64>, sources: &[Source]) -> String {
        let mut text = format!("{version}\n");
        for (name, value) in options {
            text.push_str(&format!("{name}={value}\n"));
        }
        for Source { name, bytes, sha256, context } in sources {
            let context = context.as_ref().map(|context| format!(" {context}")).unwrap_or_default();
            text.push_str(&format!("{}:{name} {bytes} {sha256}{context}\n", name.len()));
        }
        format!("part-{}.parquet", short_hash(&text))
    }

    /// The id of a new manifest of these sources. It does not depend on their content, so that a manifest replaces the previous one.
    pub fn id_of<'s>(is_of_runs: bool, names: impl Iterator<Item = &'s str>) -> String {
        let mut text = (if is_of_runs { "runs\n" } else { "sessions\n" }).to_owned();
        for name in names {
            text.push_str(&format!("{}:{name}\n", name.len()));
        }
        short_hash(&text)
    }

    /// Writes the manifest under this id.
    pub fn save(&self, lake: &Path, id: &str) -> io::Result<()> {
        let folder = lake.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let mut file = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(&folder)?;
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        file.write_all(&json)?;
        commit(file, &folder.join(format!("{id}.json")))
    }
}

fn short_hash(text: &str) -> String {
    const_hex::encode(&Sha256::digest(text)[..16])
}

/// Renames a temporary file to `path`, and makes it durable.
pub fn commit(file: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// All manifests of a lake.
#[derive(Default)]
pub struct Manifests {
    by_id: BTreeMap<String, Manifest>,
    /// The ids of manifests by the name of a source: those of sessions, and those of runs.
    by_source: [BTreeMap<String, String>; 2],
}

impl Manifests {
    /// Reads the manifests of a lake, and ignores files that are not manifests.
    pub fn read(lake: &Path) -> io::Result<Self> {
        let mut manifests = Manifests::default();
        let entries = match fs::read_dir(lake.join(FOLDER)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(manifests),
            entries => entries?,
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
            let id = path.file_stem().map(|id| id.to_string_lossy().into_owned());
            let manifest = fs::read(path).ok().and_then(|json| serde_json::from_slice(&json).ok());
            if let (Some(id), Some(manifest)) = (id, manifest) {
                manifests.insert(id, manifest);
            }
        }
        Ok(manifests)
    }

    /// Adds a manifest, or replaces it.
    pub fn insert(&mut self, id: String, manifest: Manifest) {
        let by_source = &mut self.by_source[usize::from(manifest.is_of_runs())];
        for source in &manifest.sources {
            by_source.insert(source.name.clone(), id.clone());
        }
        self.by_id.insert(id, manifest);
    }

    /// Whether there are no manifests.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The manifest that lists a source, with its rows of sessions or with those of runs, and the id of the manifest. `None` if no manifest lists it.
    pub fn of(&self, source: &str, is_of_runs: bool) -> Option<(&str, &Manifest)> {
        let id = self.by_source[usize::from(is_of_runs)].get(source)?;
        self.by_id.get(id).map(|manifest| (id.as_str(), manifest))
    }

    /// The manifest with this id, if it exists.
    pub fn get(&self, id: &str) -> Option<&Manifest> {
        self.by_id.get(id)
    }

    /// The ids of manifests that have the row of a directory that could not be listed, but now can be.
    pub fn of_listed(&self, is_of_runs: bool) -> BTreeSet<String> {
        let listed = self.by_source[usize::from(is_of_runs)].iter().filter(|(name, id)| {
            let has_no_bytes = |source: &Source| source.bytes == 0 && source.name == **name;
            let manifest = self.by_id.get(*id);
            manifest.is_some_and(|manifest| manifest.sources.iter().any(has_no_bytes)) && is_listed(&path_of(name))
        });
        listed.map(|(_, id)| id.clone()).collect()
    }

    /// The paths of all parts.
    pub fn parts(&self) -> BTreeSet<&str> {
        self.by_id.values().flat_map(|manifest| manifest.parts.values()).map(String::as_str).collect()
    }
}
