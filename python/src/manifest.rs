//! Manifests, which list the parts of a lake and their sources. A file that no manifest lists is not part of the lake.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::failure::Failure;
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
    /// In the order of their names.
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
    /// The fingerprint of its content; `None` if that could not be read, and in manifests of earlier versions.
    #[serde(default, rename = "xxh3", skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The hash of whatever else its rows depend on: the other files of a verified run, or the error of a recording that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether its name is that of a path, at which it is read again when another source of its manifest has changed. `None` in manifests of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_path: Option<bool>,
}

impl Source {
    /// A recording with this name, as it was when it was read.
    pub fn new(name: &str, has_path: bool, identity: &Identity) -> Self {
        let fingerprint = identity.fingerprint.map(|hash| format!("{hash:032x}"));
        let context = identity.context.map(const_hex::encode);
        Source { name: name.to_owned(), bytes: identity.bytes, fingerprint, context, has_path: Some(has_path) }
    }

    /// Its path. `None` if it was read from bytes or an open file: a file with that name may have nothing to do with it.
    pub fn path(&self) -> Option<PathBuf> {
        self.has_path.unwrap_or(true).then(|| path_of(&self.name))
    }

    /// Whether the content of both is the same.
    pub fn has_content_of(&self, other: &Source) -> bool {
        (self.bytes, &self.fingerprint, &self.context) == (other.bytes, &other.fingerprint, &other.context)
    }

    /// Whether its rows would be the same as those of the other one, and be updated in the same way.
    pub fn is_same(&self, other: &Source) -> bool {
        let both = self.has_path.zip(other.has_path);
        self.name == other.name && self.has_content_of(other) && both.is_none_or(|(one, other)| one == other)
    }

    /// Whether its file could be read, so that its rows are more than an error.
    pub fn was_read(&self) -> bool {
        self.fingerprint.is_some() || self.bytes > 0
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

    /// The sources with this name: at most one, unless another program has written the manifest.
    pub fn sources_named(&self, name: &str) -> &[Source] {
        let begin = self.sources.partition_point(|source| *source.name < *name);
        let count = self.sources[begin..].partition_point(|source| source.name == name);
        &self.sources[begin..begin + count]
    }

    /// The source with this name.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.sources_named(name).first()
    }

    /// Whether its rows are of runs. Two manifests may list one file: one with its rows of sessions, the other with those of runs.
    pub fn is_of_runs(&self) -> bool {
        self.tables().any(Table::is_of_runs)
    }

    /// How suitable the manifest is as the only one for a source: it has more of its parts than another, or a longer state of the source, which only
    /// grows.
    fn rank_of(&self, source: &str, lake: &Path) -> (usize, u64) {
        let parts = self.parts.values().filter(|part| lake.join(part).is_file()).count();
        let bytes = self.sources_named(source).iter().map(|listed| listed.bytes).max();
        (parts, bytes.unwrap_or(0))
    }

    /// The file name of its parts: the same sources, converted in the same way, give the same name.
    pub fn part_name(version: &str, options: &BTreeMap<String, u64>, sources: &[Source]) -> String {
        let mut text = format!("{version}\n");
        for (name, value) in options {
            text.push_str(&format!("{name}={value}\n"));
        }
        for Source { name, bytes, fingerprint, context, .. } in sources {
            let context = context.as_ref().map(|context| format!(" {context}")).unwrap_or_default();
            let fingerprint = fingerprint.as_deref().unwrap_or("-");
            text.push_str(&format!("{}:{name} {bytes} {fingerprint}{context}\n", name.len()));
        }
        format!("{PART}{}{PART_ENDING}", const_hex::encode(short_hash(&text)))
    }

    /// The id of a new manifest of these sources. It does not depend on their content, so that a manifest replaces the previous one.
    pub fn id_of<'s>(is_of_runs: bool, names: impl Iterator<Item = &'s str>) -> String {
        let mut text = (if is_of_runs { "runs\n" } else { "sessions\n" }).to_owned();
        for name in names {
            text.push_str(&format!("{}:{name}\n", name.len()));
        }
        const_hex::encode(short_hash(&text))
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

/// How the file names of parts begin and end, with a hash between.
const PART: &str = "part-";
const PART_ENDING: &str = ".parquet";

/// Whether a file name is one that `Manifest::part_name` returns. Other programs name their files similarly.
pub fn is_part_name(name: &str) -> bool {
    let hash = name.strip_prefix(PART).and_then(|rest| rest.strip_suffix(PART_ENDING));
    hash.is_some_and(|hash| hash.len() == 32 && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')))
}

/// The beginning of the SHA-256 of a text. As the key of a name it takes less memory than the name.
pub fn short_hash(text: &str) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&Sha256::digest(text)[..16]);
    hash
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
    by_id: BTreeMap<Arc<str>, Manifest>,
    /// The ids of manifests by the hash of the name of a source: those of sessions, and those of runs.
    by_source: [HashMap<[u8; 16], Arc<str>>; 2],
    /// The manifests that must be exported again because one of their sources is listed twice, and the tables that each must have.
    doubled: BTreeMap<Arc<str>, BTreeSet<Table>>,
}

impl Manifests {
    /// Reads the manifests of a lake. A manifest that cannot be read is an error: without it, its sources would be exported a second time.
    pub fn read(lake: &Path) -> Result<Self, Failure> {
        let folder = lake.join(FOLDER);
        let failed = |error: io::Error| Failure::at(&folder, &error);
        let mut manifests = Manifests::default();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(manifests),
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if let Some(id) = id_at(&path) {
                manifests.by_id.insert(id.into(), read_manifest(&path)?);
            }
        }
        manifests.choose(lake);
        Ok(manifests)
    }

    /// Chooses one manifest for each source. Overlapping exports of earlier versions could list a source in two manifests.
    fn choose(&mut self, lake: &Path) {
        for (id, manifest) in &self.by_id {
            let by_source = &mut self.by_source[usize::from(manifest.is_of_runs())];
            for Source { name, .. } in &manifest.sources {
                let key = short_hash(name);
                let other = by_source.get(&key).and_then(|id| self.by_id.get(id));
                if other.is_none_or(|other| manifest.rank_of(name, lake) > other.rank_of(name, lake)) {
                    by_source.insert(key, id.clone());
                }
            }
        }
        for (id, manifest) in &self.by_id {
            for Source { name, .. } in &manifest.sources {
                let chosen = self.by_source[usize::from(manifest.is_of_runs())].get(&short_hash(name));
                if let Some(chosen) = chosen.filter(|chosen| *chosen != id) {
                    self.doubled.entry(id.clone()).or_default();
                    self.doubled.entry(chosen.clone()).or_default().extend(manifest.tables());
                }
            }
        }
    }

    /// Adds a manifest, or replaces it.
    pub fn insert(&mut self, id: String, manifest: Manifest) {
        let (id, by_source) = (Arc::<str>::from(id), &mut self.by_source[usize::from(manifest.is_of_runs())]);
        for source in &manifest.sources {
            by_source.insert(short_hash(&source.name), id.clone());
        }
        self.doubled.remove(&id);
        self.by_id.insert(id, manifest);
    }

    /// Removes a manifest that has no sources any more.
    pub fn remove(&mut self, lake: &Path, id: &str) -> io::Result<()> {
        fs::remove_file(lake.join(FOLDER).join(format!("{id}.json")))?;
        self.by_source.iter_mut().for_each(|by_source| by_source.retain(|_, of_source| **of_source != *id));
        self.doubled.remove(id);
        self.by_id.remove(id);
        Ok(())
    }

    /// Whether there are no manifests.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The manifest that lists a source, with its rows of sessions or with those of runs, and the id of the manifest. `None` if no manifest lists it.
    pub fn of(&self, source: &str, is_of_runs: bool) -> Option<(&str, &Manifest)> {
        let id = self.by_source[usize::from(is_of_runs)].get(&short_hash(source))?;
        self.by_id.get(id).map(|manifest| (&**id, manifest))
    }

    /// The manifest with this id, if it exists.
    pub fn get(&self, id: &str) -> Option<&Manifest> {
        self.by_id.get(id)
    }

    /// The sources of a manifest, without those that another manifest lists too and was chosen for.
    pub fn sources_of(&self, id: &str) -> impl Iterator<Item = &Source> {
        let manifest = self.by_id.get(id);
        let by_source = &self.by_source[usize::from(manifest.is_some_and(Manifest::is_of_runs))];
        let sources = manifest.into_iter().flat_map(|manifest| &manifest.sources);
        sources.filter(move |source| by_source.get(&short_hash(&source.name)).is_some_and(|chosen| **chosen == *id))
    }

    /// The ids of manifests that must be exported again whether or not their sources have changed: those that list a source of another manifest, and
    /// those that have the row of a directory that could not be listed, but now can be.
    pub fn to_repair(&self, is_of_runs: bool) -> BTreeSet<String> {
        let is_listed_now = |source: &Source| source.bytes == 0 && source.path().is_some_and(|path| is_listed(&path));
        let is_wanted = |(id, manifest): &(&Arc<str>, &Manifest)| {
            manifest.is_of_runs() == is_of_runs
                && (self.doubled.contains_key(*id) || manifest.sources.iter().any(is_listed_now))
        };
        self.by_id.iter().filter(is_wanted).map(|(id, _)| id.to_string()).collect()
    }

    /// The tables that a manifest must have when it is exported again.
    pub fn tables_of(&self, id: &str) -> BTreeSet<Table> {
        let of_manifest = self.by_id.get(id).into_iter().flat_map(Manifest::tables);
        of_manifest.chain(self.doubled.get(id).into_iter().flatten().copied()).collect()
    }

    /// The paths of all parts.
    pub fn parts(&self) -> BTreeSet<&str> {
        self.by_id.values().flat_map(|manifest| manifest.parts.values()).map(String::as_str).collect()
    }
}

/// The id of the manifest at a path. `None` for other files in the folder of the manifests.
fn id_at(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".json").filter(|id| !id.starts_with('.')).map(str::to_owned)
}

fn read_manifest(path: &Path) -> Result<Manifest, String> {
    let read = fs::read(path).and_then(|json| Ok(serde_json::from_slice::<Manifest>(&json)?));
    let sorted = |mut manifest: Manifest| {
        manifest.sources.sort_by(|one, other| one.name.cmp(&other.name));
        manifest
    };
    read.map(sorted).map_err(|error| {
        format!(
            "{}: this manifest of the lake cannot be read: {error}. Nothing was exported or removed. Restore the file, or delete it to export its \
             sources again; the rows of those that no longer exist are lost then",
            path.display()
        )
    })
}
