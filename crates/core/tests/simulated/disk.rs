//! The disk from the crate's point of view: a file system that notes every change in order.

use std::fs::TryLockError;
use std::io::{self, ErrorKind, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use session_tape_core::disk::testing::{Create, FileSystem, MountGuard, Names, OpenFile, mount};
use session_tape_core::disk::{File, FileKind, Inode as InodeMetadata, Metadata, OpenOptions};

use super::cut::Cut;
use super::fault::{Call, Fault, Visit};
use super::tree::{Inode, Number, Op, ROOT, Tree, since_1970};

/// A disk in use. A clone is the same disk.
#[derive(Clone)]
pub struct Disk(Arc<Inner>);

struct Inner {
    root: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// What was durable at the beginning.
    base: Tree,
    log: Vec<Op>,
    /// The current content, as programs see it.
    tree: Tree,
    next: Number,
    locks: Vec<(Number, usize)>,
    calls: Vec<Call>,
    faults: Vec<(Visit, Fault)>,
    /// The calls that the file system does not support, with their errors.
    lacks: Vec<(Call, i32)>,
    /// How many of the next syncs fail.
    failing_syncs: usize,
    /// If set, directories cannot be opened; the value is the error of syncing the file system, if that fails too.
    hides_directories: Option<Option<i32>>,
    /// What another process does just before the next lock is taken.
    before_lock: Option<Box<dyn FnOnce() + Send>>,
}

impl Disk {
    pub fn new(root: &Path) -> Self {
        Self::with(root, Tree::default(), Vec::new())
    }

    /// A disk on which `tree` is durable.
    pub fn of(root: &Path, tree: Tree) -> Self {
        Self::with(root, tree, Vec::new())
    }

    /// A disk with `base`, and these operations of a program that has ended. There was no power cut.
    pub fn with(root: &Path, base: Tree, log: Vec<Op>) -> Self {
        let mut tree = base.clone();
        for op in &log {
            tree.add_inode(op);
            tree.apply(op);
        }
        let next = tree.0.keys().max().map_or(ROOT, |last| last + 1);
        let (locks, calls, faults) = (Vec::new(), Vec::new(), Vec::new());
        let (lacks, failing_syncs, hides_directories, before_lock) = (Vec::new(), 0, None, None);
        let state =
            State { base, log, tree, next, locks, calls, faults, lacks, failing_syncs, hides_directories, before_lock };
        Disk(Arc::new(Inner { root: root.to_path_buf(), state: Mutex::new(state) }))
    }

    pub fn mounted(&self) -> MountGuard {
        mount(&self.0.root, Arc::new(self.clone()))
    }

    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Notes that the program has acknowledged `what` as safe.
    pub fn acknowledge(&self, what: u64) {
        self.state().log.push(Op::Acknowledge(what));
    }

    /// Makes a call end with a fault.
    pub fn fail(&self, visit: Visit, fault: Fault) {
        self.state().faults.push((visit, fault));
    }

    /// Makes the next `count` syncs fail.
    pub fn fail_syncs(&self, count: usize) {
        self.state().failing_syncs = count;
    }

    /// From now on no directory can be opened, as if it were not readable. With an error, the file system cannot be synced either.
    pub fn hide_directories(&self, error: Option<i32>) {
        self.state().hides_directories = Some(error);
    }

    /// From now on, every call of this kind fails with this error: the file system does not support it.
    pub fn lack(&self, call: Call, error: i32) {
        self.state().lacks.push((call, error));
    }

    /// Lets another process do `work` when the next lock file has been opened but is not locked yet.
    pub fn before_lock(&self, work: impl FnOnce() + Send + 'static) {
        self.state().before_lock = Some(Box::new(work));
    }

    /// Notes that a sync of this file has failed, so that the kernel treats its pages as clean.
    pub fn lose(&self, below: &Path) {
        let mut state = self.state();
        let inode = state.find(below).unwrap();
        state.log.push(Op::FailedSync { inode });
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// What was durable at the beginning, and what happened since.
    pub fn history(&self) -> (Tree, Vec<Op>) {
        let state = self.state();
        (state.base.clone(), state.log.clone())
    }

    /// The disk as a power cut now would leave it.
    pub fn cut(&self) -> Cut {
        let state = self.state();
        Cut::after(&state.base, &state.log)
    }

    pub fn tree(&self) -> Tree {
        self.state().tree.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    fn call(&self, call: Call) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        match state.fault_of(call).and_then(Fault::error) {
            Some(error) => Err(error),
            None => Ok(state),
        }
    }

    fn below<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.0.root).unwrap()
    }
}

impl State {
    /// Counts a call. Returns the fault with which it is to end, if any.
    fn fault_of(&mut self, call: Call) -> Option<Fault> {
        let visit = (call, self.calls.iter().filter(|before| **before == call).count());
        self.calls.push(call);
        if let Some((_, error)) = self.lacks.iter().find(|(lacking, _)| *lacking == call) {
            return Some(Fault::Error(*error));
        }
        if matches!(call, Call::Sync | Call::SyncDirectory) && self.failing_syncs > 0 {
            self.failing_syncs -= 1;
            return Some(Fault::Error(libc::EIO));
        }
        self.faults.iter().find(|(at, _)| *at == visit).map(|(_, fault)| *fault)
    }

    fn do_op(&mut self, op: Op) {
        self.tree.add_inode(&op);
        self.tree.apply(&op);
        self.log.push(op);
    }

    fn find(&self, below: &Path) -> io::Result<Number> {
        self.tree.find(below).map_err(|is_file| match is_file {
            true => ErrorKind::NotADirectory.into(),
            false => ErrorKind::NotFound.into(),
        })
    }

    fn place(&self, below: &Path) -> io::Result<(Number, std::ffi::OsString)> {
        let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
            return Err(ErrorKind::AlreadyExists.into());
        };
        let directory = self.find(parent)?;
        self.tree.directory(directory).ok_or(ErrorKind::NotADirectory)?;
        Ok((directory, name.to_owned()))
    }

    fn create(&mut self, below: &Path, is_directory: bool) -> io::Result<Number> {
        if self.find(below).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let (directory, name) = self.place(below)?;
        let (inode, at) = (self.next, SystemTime::now());
        self.next += 1;
        self.do_op(Op::Create { directory, name, inode, is_directory, at });
        Ok(inode)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let inode = self.find(from)?;
        let (from, to) = (self.place(from)?, self.place(to)?);
        self.do_op(Op::Rename { from, to, inode });
        Ok(())
    }

    fn metadata(&self, number: Number) -> Metadata {
        match &self.tree.0[&number] {
            Inode::Directory(_) => Metadata { kind: FileKind::Directory, size: 0, modified: None, inode: None },
            Inode::File { bytes, modified } => {
                let time = since_1970(*modified);
                let (links, owner) = (self.tree.names_of(number), (0, 0));
                let inode = Some(InodeMetadata { device: 1, number, modified: time, changed: time, links, owner });
                Metadata { kind: FileKind::File, size: bytes.len() as u64, modified: Some(*modified), inode }
            }
        }
    }
}

impl FileSystem for Disk {
    fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let below = self.below(path);
        let is_there = self.state().find(below).is_ok();
        let call = if is_there || options.create == Create::Never { Call::Open } else { Call::Create };
        let mut state = self.call(call)?;
        let number = match (state.find(below), options.create) {
            (Ok(_), Create::New) => return Err(ErrorKind::AlreadyExists.into()),
            (Ok(number), _) => number,
            (Err(error), Create::Never) => return Err(error),
            (Err(_), _) => state.create(below, false)?,
        };
        let is_directory = state.tree.directory(number).is_some();
        if is_directory && state.hides_directories.is_some() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        if is_directory && (options.write || options.append) {
            return Err(ErrorKind::IsADirectory.into());
        }
        let handle =
            Handle { disk: self.clone(), number, position: Box::default(), append: options.append, is_directory };
        Ok(File::mounted(handle))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let state = self.call(Call::Look)?;
        state.find(self.below(path)).map(|number| state.metadata(number))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.metadata(path)
    }

    fn read_directory(&self, path: &Path) -> io::Result<Names> {
        let state = self.call(Call::List)?;
        let number = state.find(self.below(path))?;
        let entries = state.tree.directory(number).ok_or(ErrorKind::NotADirectory)?;
        let names: Vec<_> = entries.keys().cloned().map(Ok).collect();
        Ok(Box::new(names.into_iter()))
    }

    fn create_directory(&self, path: &Path, _: u32) -> io::Result<()> {
        self.call(Call::CreateDirectory)?.create(self.below(path), true).map(drop)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.call(Call::Rename)?;
        if state.find(self.below(to)).is_ok_and(|there| state.tree.directory(there).is_some()) {
            return Err(ErrorKind::IsADirectory.into());
        }
        state.rename(self.below(from), self.below(to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.call(Call::Rename)?;
        if state.find(self.below(to)).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.rename(self.below(from), self.below(to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call(Call::Remove)?;
        let number = state.find(self.below(path))?;
        if state.tree.directory(number).is_some() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let (directory, name) = state.place(self.below(path))?;
        state.do_op(Op::Remove { directory, name });
        Ok(())
    }

    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call(Call::Remove)?;
        let mut waiting = vec![self.below(path).to_path_buf()];
        let mut entries = Vec::new();
        while let Some(path) = waiting.pop() {
            let number = state.find(&path)?;
            waiting.extend(state.tree.directory(number).into_iter().flatten().map(|(name, _)| path.join(name)));
            entries.push(state.place(&path)?);
        }
        for (directory, name) in entries.into_iter().rev() {
            state.do_op(Op::Remove { directory, name });
        }
        Ok(())
    }
}

/// An open file or directory.
struct Handle {
    disk: Disk,
    number: Number,
    position: Box<Mutex<usize>>,
    append: bool,
    is_directory: bool,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "inode {} of a simulated disk", self.number)
    }
}

impl Handle {
    fn id(&self) -> usize {
        std::ptr::from_ref(&*self.position).addr()
    }

    fn read_from(&self, buffer: &mut [u8], offset: usize) -> io::Result<usize> {
        let mut state = self.disk.state();
        let fault = state.fault_of(Call::Read);
        if let Some(error) = fault.and_then(Fault::error) {
            return Err(error);
        }
        if self.is_directory {
            return Err(ErrorKind::IsADirectory.into());
        }
        let most = if fault == Some(Fault::Short) { 1 } else { usize::MAX };
        let (bytes, _) = state.tree.file(self.number);
        let rest = bytes.get(offset..).unwrap_or_default();
        let count = rest.len().min(buffer.len()).min(most);
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let call = if self.is_directory { Call::SyncDirectory } else { Call::Sync };
        match state.fault_of(call).and_then(Fault::error) {
            Some(error) => {
                state.log.push(Op::FailedSync { inode: self.number });
                Err(error)
            }
            None => {
                state.log.push(Op::Sync { inode: self.number });
                Ok(())
            }
        }
    }
}

impl OpenFile for Handle {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut position = self.position.lock().unwrap();
        let count = self.read_from(buffer, *position)?;
        *position += count;
        Ok(count)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_from(buffer, offset as usize)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut position = self.position.lock().unwrap();
        let mut state = self.disk.state();
        let fault = state.fault_of(Call::Write);
        if let Some(error) = fault.and_then(Fault::error) {
            return Err(error);
        }
        let count = if fault == Some(Fault::Short) { bytes.len().min(1) } else { bytes.len() };
        let size = state.tree.file(self.number).0.len();
        let offset = if self.append { size } else { *position };
        let at = SystemTime::now();
        if count > 0 {
            state.do_op(Op::Write { inode: self.number, offset, bytes: bytes[..count].to_vec(), at });
        }
        *position = offset + count;
        Ok(count)
    }

    fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let end = self.disk.state().tree.file(self.number).0.len() as u64;
        let mut position = self.position.lock().unwrap();
        let sought = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => end.checked_add_signed(offset),
            SeekFrom::Current(offset) => (*position as u64).checked_add_signed(offset),
        };
        *position = sought.ok_or(ErrorKind::InvalidInput)? as usize;
        Ok(*position as u64)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        let mut state = self.disk.call(Call::SetLen)?;
        let at = SystemTime::now();
        state.do_op(Op::SetLen { inode: self.number, size: size as usize, at });
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync_file_system(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        if let Some(error) = state.fault_of(Call::Sync).and_then(Fault::error) {
            return Err(error);
        }
        match state.hides_directories {
            Some(Some(number)) => Err(io::Error::from_raw_os_error(number)),
            _ => {
                state.log.push(Op::SyncFileSystem);
                Ok(())
            }
        }
    }

    fn metadata(&self) -> io::Result<Metadata> {
        Ok(self.disk.call(Call::Look)?.metadata(self.number))
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        let meanwhile = self.disk.state().before_lock.take();
        if let Some(work) = meanwhile {
            work();
        }
        let mut state = self.disk.state();
        if let Some((_, error)) = state.lacks.iter().find(|(lacking, _)| *lacking == Call::Lock) {
            return Err(TryLockError::Error(io::Error::from_raw_os_error(*error)));
        }
        match state.locks.iter().find(|(number, _)| *number == self.number) {
            Some((_, owner)) if *owner != self.id() => Err(TryLockError::WouldBlock),
            Some(_) => Ok(()),
            None => {
                state.locks.push((self.number, self.id()));
                Ok(())
            }
        }
    }

    fn unlock(&self) -> io::Result<()> {
        let own = (self.number, self.id());
        self.disk.state().locks.retain(|lock| *lock != own);
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}
