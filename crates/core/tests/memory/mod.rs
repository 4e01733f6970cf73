//! A file system in memory, with files, directories, locks and inodes, but without links. It does not simulate power cuts; it shows that the whole
//! crate can run on another file system, and notes which of its methods are called.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::TryLockError;
use std::io::{self, ErrorKind, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use session_tape_core::disk::testing::{Create, FileSystem, Names, OpenFile};
use session_tape_core::disk::{File, FileKind, Inode, Metadata, OpenOptions};

/// A file system in memory, which initially has one directory.
#[derive(Clone)]
pub struct Memory(Arc<Mutex<Entries>>);

struct Entries {
    nodes: BTreeMap<PathBuf, Node>,
    inodes: u64,
    /// The names of the methods that were called.
    calls: BTreeSet<&'static str>,
}

#[derive(Clone)]
enum Node {
    Directory,
    File(Arc<Mutex<Content>>),
}

#[derive(Debug)]
struct Content {
    inode: u64,
    bytes: Vec<u8>,
    modified: SystemTime,
    /// The address of the `position` of the handle that has the lock, which is unique.
    locked_by: Option<usize>,
}

impl Memory {
    pub fn with_root(root: &Path) -> Self {
        let nodes = [(root.to_path_buf(), Node::Directory)].into();
        Memory(Arc::new(Mutex::new(Entries { nodes, inodes: 0, calls: BTreeSet::new() })))
    }

    /// The methods of the traits that were called, except those that only query.
    pub fn calls(&self) -> BTreeSet<&'static str> {
        self.0.lock().unwrap().calls.clone()
    }

    /// The paths of all files.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries = self.0.lock().unwrap();
        let files = entries.nodes.iter().filter(|(_, node)| matches!(node, Node::File(_)));
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Changes the bytes of a file without its users' knowledge.
    pub fn edit<T>(&self, path: &Path, edit: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let entries = self.0.lock().unwrap();
        let Some(Node::File(content)) = entries.nodes.get(path) else { panic!("no file at {}", path.display()) };
        edit(&mut content.lock().unwrap().bytes)
    }

    fn call(&self, name: &'static str) -> MutexGuard<'_, Entries> {
        let mut entries = self.0.lock().unwrap();
        entries.calls.insert(name);
        entries
    }
}

impl Entries {
    fn find(&self, path: &Path) -> io::Result<Node> {
        self.nodes.get(path).cloned().ok_or_else(|| match path.parent().and_then(|parent| self.nodes.get(parent)) {
            Some(Node::File(_)) => ErrorKind::NotADirectory.into(),
            _ => ErrorKind::NotFound.into(),
        })
    }

    /// Checks that a file or directory may be created at `path`.
    fn expect_free(&self, path: &Path) -> io::Result<()> {
        match (self.nodes.get(path), path.parent().and_then(|parent| self.nodes.get(parent))) {
            (Some(_), _) => Err(ErrorKind::AlreadyExists.into()),
            (None, Some(Node::Directory)) => Ok(()),
            (None, Some(Node::File(_))) => Err(ErrorKind::NotADirectory.into()),
            (None, None) => Err(ErrorKind::NotFound.into()),
        }
    }

    fn move_all(&mut self, from: &Path, to: &Path) {
        let moved: Vec<PathBuf> = self.nodes.keys().filter(|path| path.starts_with(from)).cloned().collect();
        for path in moved {
            let node = self.nodes.remove(&path).unwrap();
            let below = path.strip_prefix(from).unwrap();
            self.nodes.insert(if below.as_os_str().is_empty() { to.to_path_buf() } else { to.join(below) }, node);
        }
    }
}

impl FileSystem for Memory {
    fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let mut entries = self.call(if options.create == Create::New { "create" } else { "open" });
        let node = match (entries.find(path), options.create) {
            (Ok(_), Create::New) => return Err(ErrorKind::AlreadyExists.into()),
            (Ok(Node::Directory), _) if options.write || options.append => return Err(ErrorKind::IsADirectory.into()),
            (Ok(node), _) => node,
            (Err(error), Create::Never) => return Err(error),
            (Err(_), _) => {
                entries.expect_free(path)?;
                entries.inodes += 1;
                let content =
                    Content { inode: entries.inodes, bytes: Vec::new(), modified: SystemTime::now(), locked_by: None };
                let node = Node::File(Arc::new(Mutex::new(content)));
                entries.nodes.insert(path.to_path_buf(), node.clone());
                node
            }
        };
        let OpenOptions { read, write, append, .. } = *options;
        let position = Box::new(Mutex::new(0));
        Ok(File::mounted(Handle { disk: self.clone(), node, position, read, write, append }))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        Ok(metadata_of(&self.call("metadata").find(path)?))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<Metadata> {
        Ok(metadata_of(&self.call("symlink_metadata").find(path)?))
    }

    fn read_directory(&self, path: &Path) -> io::Result<Names> {
        let entries = self.call("read_directory");
        let Node::Directory = entries.find(path)? else { return Err(ErrorKind::NotADirectory.into()) };
        let inside = entries.nodes.keys().filter(|inside| inside.parent() == Some(path));
        let names: Vec<OsString> = inside.map(|inside| inside.file_name().unwrap().to_owned()).collect();
        Ok(Box::new(names.into_iter().map(Ok)))
    }

    fn create_directory(&self, path: &Path, _: u32) -> io::Result<()> {
        let mut entries = self.call("create_directory");
        entries.expect_free(path)?;
        entries.nodes.insert(path.to_path_buf(), Node::Directory);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut entries = self.call("rename");
        if let (Node::File(_), Ok(Node::Directory)) = (entries.find(from)?, entries.find(to)) {
            return Err(ErrorKind::IsADirectory.into());
        }
        entries.move_all(from, to);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut entries = self.call("rename_new");
        entries.find(from)?;
        entries.expect_free(to)?;
        entries.move_all(from, to);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut entries = self.call("remove_file");
        let Node::File(_) = entries.find(path)? else { return Err(ErrorKind::IsADirectory.into()) };
        entries.nodes.remove(path);
        Ok(())
    }

    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        let mut entries = self.call("remove_tree");
        entries.find(path)?;
        entries.nodes.retain(|inside, _| !inside.starts_with(path));
        Ok(())
    }
}

/// An open file or directory.
struct Handle {
    disk: Memory,
    node: Node,
    position: Box<Mutex<u64>>,
    read: bool,
    write: bool,
    append: bool,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a file in memory")
    }
}

impl Handle {
    fn content(&self, call: &'static str) -> io::Result<MutexGuard<'_, Content>> {
        drop(self.disk.call(call));
        match &self.node {
            Node::Directory => Err(ErrorKind::IsADirectory.into()),
            Node::File(content) => Ok(content.lock().unwrap()),
        }
    }

    fn readable(&self, call: &'static str) -> io::Result<MutexGuard<'_, Content>> {
        if self.read { self.content(call) } else { Err(ErrorKind::PermissionDenied.into()) }
    }

    fn writable(&self, call: &'static str) -> io::Result<MutexGuard<'_, Content>> {
        if self.write || self.append { self.content(call) } else { Err(ErrorKind::PermissionDenied.into()) }
    }

    fn id(&self) -> usize {
        std::ptr::from_ref(&*self.position).addr()
    }
}

fn read_from(content: &Content, buffer: &mut [u8], offset: u64) -> usize {
    let rest = content.bytes.get(offset as usize..).unwrap_or_default();
    let count = rest.len().min(buffer.len());
    buffer[..count].copy_from_slice(&rest[..count]);
    count
}

impl OpenFile for Handle {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.readable("read")?;
        let mut position = self.position.lock().unwrap();
        let count = read_from(&content, buffer, *position);
        *position += count as u64;
        Ok(count)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(read_from(&*self.readable("read_at")?, buffer, offset))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut content = self.writable(if self.append { "append" } else { "write" })?;
        let mut position = self.position.lock().unwrap();
        let at = if self.append { content.bytes.len() } else { *position as usize };
        let end = at + bytes.len();
        if content.bytes.len() < end {
            content.bytes.resize(end, 0);
        }
        content.bytes[at..end].copy_from_slice(bytes);
        content.modified = SystemTime::now();
        *position = end as u64;
        Ok(bytes.len())
    }

    fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let end = self.content("seek")?.bytes.len() as u64;
        let mut position = self.position.lock().unwrap();
        let sought = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => end.checked_add_signed(offset),
            SeekFrom::Current(offset) => position.checked_add_signed(offset),
        };
        *position = sought.ok_or(ErrorKind::InvalidInput)?;
        Ok(*position)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.writable("set_len")?.bytes.resize(size as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.content("sync_data").map(drop)
    }

    fn sync_all(&self) -> io::Result<()> {
        let call = if matches!(self.node, Node::Directory) { "sync_directory" } else { "sync_all" };
        drop(self.disk.call(call));
        Ok(())
    }

    fn sync_file_system(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn metadata(&self) -> io::Result<Metadata> {
        Ok(metadata_of(&self.node))
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        let mut content = self.content("try_lock").map_err(TryLockError::Error)?;
        match content.locked_by {
            Some(other) if other != self.id() => Err(TryLockError::WouldBlock),
            _ => {
                content.locked_by = Some(self.id());
                Ok(())
            }
        }
    }

    fn unlock(&self) -> io::Result<()> {
        let mut content = self.content("unlock")?;
        content.locked_by = content.locked_by.filter(|owner| *owner != self.id());
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Node::File(content) = &self.node {
            let mut content = content.lock().unwrap();
            content.locked_by = content.locked_by.filter(|owner| *owner != self.id());
        }
    }
}

fn metadata_of(node: &Node) -> Metadata {
    match node {
        Node::Directory => Metadata { kind: FileKind::Directory, size: 0, modified: None, inode: None },
        Node::File(content) => {
            let content = content.lock().unwrap();
            let since_1970 = content.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
            let time = (since_1970.as_secs() as i64, i64::from(since_1970.subsec_nanos()));
            let (links, owner) = (1, (0, 0));
            let inode = Inode { device: 1, number: content.inode, modified: time, changed: time, links, owner };
            let size = content.bytes.len() as u64;
            Metadata { kind: FileKind::File, size, modified: Some(content.modified), inode: Some(inode) }
        }
    }
}
