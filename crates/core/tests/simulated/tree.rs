//! The content of a disk: inodes with bytes or with entries, and the operations that change them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub type Number = u64;

/// The inode of the directory at which a tree is mounted.
pub const ROOT: Number = 1;

/// A change of a disk, a sync that makes earlier ones durable, or a note about them.
#[derive(Clone, Debug)]
pub enum Op {
    /// Creates a file or directory, and its entry.
    Create {
        directory: Number,
        name: OsString,
        inode: Number,
        is_directory: bool,
        at: SystemTime,
    },
    /// Removes an entry.
    Remove {
        directory: Number,
        name: OsString,
    },
    /// Moves an entry, replacing any entry at the destination.
    Rename {
        from: (Number, OsString),
        to: (Number, OsString),
        inode: Number,
    },
    Write {
        inode: Number,
        offset: usize,
        bytes: Vec<u8>,
        at: SystemTime,
    },
    SetLen {
        inode: Number,
        size: usize,
        at: SystemTime,
    },
    Sync {
        inode: Number,
    },
    /// Makes all changes to all files durable.
    SyncFileSystem,
    /// A sync that failed: the kernel treats the data as clean, and no later sync writes it.
    FailedSync {
        inode: Number,
    },
    /// The program has acknowledged this as safe.
    Acknowledge(u64),
}

impl Op {
    /// Whether a sync of this inode makes the operation durable.
    pub fn is_synced_by(&self, number: Number) -> bool {
        match self {
            Op::Create { directory, .. } | Op::Remove { directory, .. } => *directory == number,
            Op::Rename { from, to, .. } => from.0 == number || to.0 == number,
            Op::Write { inode, .. } | Op::SetLen { inode, .. } => *inode == number,
            Op::Sync { .. } | Op::SyncFileSystem | Op::FailedSync { .. } | Op::Acknowledge(_) => false,
        }
    }
}

#[allow(dead_code)] // Not used by tests without a search.
impl Op {
    /// The inode that the operation may make reachable.
    pub fn named(&self) -> Option<Number> {
        match self {
            Op::Create { inode, .. } | Op::Rename { inode, .. } => Some(*inode),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Inode {
    File { bytes: Arc<Vec<u8>>, modified: SystemTime },
    Directory(BTreeMap<OsString, Number>),
}

/// The content of a disk at one moment.
#[derive(Clone, Debug)]
pub struct Tree(pub BTreeMap<Number, Inode>);

impl Default for Tree {
    fn default() -> Self {
        Tree([(ROOT, Inode::Directory(BTreeMap::new()))].into())
    }
}

impl Tree {
    pub fn directory(&self, number: Number) -> Option<&BTreeMap<OsString, Number>> {
        match self.0.get(&number)? {
            Inode::Directory(entries) => Some(entries),
            Inode::File { .. } => None,
        }
    }

    /// The number of entries that lead to an inode.
    pub fn names_of(&self, number: Number) -> u64 {
        let directories = self.0.keys().filter_map(|directory| self.directory(*directory));
        directories.flat_map(BTreeMap::values).filter(|inode| **inode == number).count() as u64
    }

    fn entries(&mut self, number: Number) -> &mut BTreeMap<OsString, Number> {
        match self.0.get_mut(&number) {
            Some(Inode::Directory(entries)) => entries,
            other => panic!("inode {number} is no directory: {other:?}"),
        }
    }

    pub fn file(&mut self, number: Number) -> (&mut Vec<u8>, &mut SystemTime) {
        match self.0.get_mut(&number) {
            Some(Inode::File { bytes, modified }) => (Arc::make_mut(bytes), modified),
            other => panic!("inode {number} is no file: {other:?}"),
        }
    }

    /// Adds the inode that an operation creates. It exists from then on, even if no entry leads to it after a power cut.
    pub fn add_inode(&mut self, op: &Op) {
        if let Op::Create { inode, is_directory, at, .. } = op {
            let empty = if *is_directory {
                Inode::Directory(BTreeMap::new())
            } else {
                Inode::File { bytes: Arc::default(), modified: *at }
            };
            self.0.insert(*inode, empty);
        }
    }

    /// Applies an operation completely, except for creating its inode.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::Create { directory, name, inode, .. } => {
                self.entries(*directory).insert(name.clone(), *inode);
            }
            Op::Remove { directory, name } => {
                self.entries(*directory).remove(name);
            }
            Op::Rename { from, to, inode } => {
                let entries = self.entries(from.0);
                // After a power cut, something else may have the old name.
                if entries.get(&from.1) == Some(inode) {
                    entries.remove(&from.1);
                }
                self.entries(to.0).insert(to.1.clone(), *inode);
            }
            Op::Write { inode, offset, bytes, at } => {
                let (content, modified) = self.file(*inode);
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset..end].copy_from_slice(bytes);
                *modified = *at;
            }
            Op::SetLen { inode, size, at } => {
                let (content, modified) = self.file(*inode);
                content.resize(*size, 0);
                *modified = *at;
            }
            Op::Sync { .. } | Op::SyncFileSystem | Op::FailedSync { .. } | Op::Acknowledge(_) => {}
        }
    }

    /// The inode at a path below the root. `Err(true)` if a component that should be a directory is a file, `Err(false)` if it is missing.
    pub fn find(&self, below: &Path) -> Result<Number, bool> {
        below.components().try_fold(ROOT, |at, component| {
            let Component::Normal(name) = component else { return Ok(at) };
            let entries = self.directory(at).ok_or(true)?;
            entries.get(name).copied().ok_or(false)
        })
    }

    /// Reads a directory of the real disk.
    pub fn read(root: &Path) -> Self {
        let mut tree = Tree::default();
        let mut waiting = vec![(root.to_path_buf(), ROOT)];
        while let Some((path, directory)) = waiting.pop() {
            for entry in std::fs::read_dir(&path).unwrap().map(Result::unwrap) {
                let inode = tree.0.len() as Number + ROOT;
                let is_directory = entry.file_type().unwrap().is_dir();
                let op =
                    Op::Create { directory, name: entry.file_name(), inode, is_directory, at: SystemTime::UNIX_EPOCH };
                tree.add_inode(&op);
                tree.apply(&op);
                if is_directory {
                    waiting.push((entry.path(), inode));
                } else {
                    *tree.file(inode).0 = std::fs::read(entry.path()).unwrap();
                }
            }
        }
        tree
    }

    /// Every file that has a path.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut waiting = vec![(ROOT, PathBuf::new())];
        while let Some((number, path)) = waiting.pop() {
            match self.0.get(&number) {
                Some(Inode::Directory(entries)) => {
                    waiting.extend(entries.iter().map(|(name, inode)| (*inode, path.join(name))));
                }
                Some(Inode::File { bytes, .. }) => drop(files.insert(path, bytes.to_vec())),
                None => panic!("an entry without an inode: {}", path.display()),
            }
        }
        files
    }

    /// A hash of the reachable files and directories, and of those that the inodes `more` lead to.
    pub fn fingerprint(&self, more: impl Iterator<Item = Number>) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut waiting: Vec<Number> = more.collect();
        let mut seen = BTreeSet::new();
        waiting.push(ROOT);
        while let Some(number) = waiting.pop() {
            match self.0.get(&number) {
                Some(Inode::Directory(entries)) if seen.insert(number) => {
                    entries.keys().for_each(|name| name.hash(&mut hasher));
                    waiting.extend(entries.values());
                }
                Some(Inode::File { bytes, .. }) => bytes.hash(&mut hasher),
                _ => {}
            }
            u8::MAX.hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Seconds and nanoseconds since 1970.
pub fn since_1970(time: SystemTime) -> (i64, i64) {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    (since.as_secs() as i64, i64::from(since.subsec_nanos()))
}
