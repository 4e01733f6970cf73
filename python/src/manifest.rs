//! Manifests: which parts of a lake are of which sources. What no manifest lists is not part of the lake.

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

/// What was exported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of converter and columns.
    pub version: String,
    /// What else decides about the rows.
    pub options: BTreeMap<String, u64>,
    pub sources: Vec<Source>,
    /// By table.
    pub rows: BTreeMap<String, u64>,
    /// By table, as paths in the lake.
    pub parts: BTreeMap<String, String>,
}

/// A recording that was exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
    /// Of what else its rows depend on: the other files of a verified run, or the error of what can't be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl Source {
    /// A recording, as it was.
    pub fn new(name: &str, identity: &Identity) -> Self {
        let sha256 = const_hex::encode(identity.sha256);
        let context = identity.context.map(const_hex::encode);
        Source { name: name.to_owned(), bytes: identity.bytes, sha256, context }
    }
}

impl Manifest {
    /// The tables that it has parts of.
    pub fn tables(&self) -> impl Iterator<Item = Table> + '_ {
        self.parts.keys().filter_map(|name| Table::named(name))
    }

    /// The day in the paths of its parts.
    pub fn date(&self) -> Option<&str> {
        let part = self.parts.values().next()?;
        part.split('/').find_map(|folder| folder.strip_prefix("date="))
    }

    /// Whether its rows are of runs. A file that holds either may be listed twice: with its rows of sessions, and with those of runs.
    pub fn is_of_runs(&self) -> bool {
        self.tables().any(Table::is_of_runs)
    }

    /// The name of its parts: the same for the same sources, converted in the same way.
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

    /// The id of a manifest of these sources. It does not depend on what is in them, so that a manifest replaces the one before.
    pub fn id_of<'s>(is_of_runs: bool, names: impl Iterator<Item = &'s str>) -> String {
        let mut text = (if is_of_runs { "runs\n" } else { "sessions\n" }).to_owned();
        for name in names {
            text.push_str(&format!("{}:{name}\n", name.len()));
        }
        short_hash(&text)
    }

    /// Writes it as the one with this id.
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

/// Makes a temporary file the one at `path`, on stable storage.
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
    /// Those of sessions, and those of runs.
    by_source: [BTreeMap<String, String>; 2],
}

impl Manifests {
    /// Reads those of a lake. What is no manifest is passed over.
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The manifest that lists a source with its rows of sessions or with those of runs, and its id.
    pub fn of(&self, source: &str, is_of_runs: bool) -> Option<(&str, &Manifest)> {
        let id = self.by_source[usize::from(is_of_runs)].get(source)?;
        self.by_id.get(id).map(|manifest| (id.as_str(), manifest))
    }

    /// The manifest with this id.
    pub fn get(&self, id: &str) -> Option<&Manifest> {
        self.by_id.get(id)
    }

    /// The ids of manifests with the row of a directory that could not be listed, and can be now.
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
