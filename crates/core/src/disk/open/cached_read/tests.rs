use crate::disk::open::files::{read_cached, read_whole_cached};
use rustix::fs::{Advice, CWD, FileType, Mode, fadvise, inotify, mknodat};
use std::fs::{self, File, OpenOptions};
use std::mem::MaybeUninit;
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

/// The kernel may drop names and pages at any time, and gives up looking up a name while another one is being changed, so only one of
/// many attempts has to succeed.
fn eventually(path: &Path) -> Option<Vec<u8>> {
    (0..1000).find_map(|_| read_cached(path, 64))
}

/// A directory on a file system that supports cached reads. `None` if the system has none; the tests are then skipped.
fn directory() -> Option<TempDir> {
    let directory = tempfile::tempdir().unwrap();
    let type_of = std::process::Command::new("stat").args(["-f", "-c", "%T"]).arg(directory.path()).output().unwrap();
    let known = ["ext2/ext3", "xfs", "btrfs"].contains(&String::from_utf8_lossy(&type_of.stdout).trim());
    (known && has_openat2()).then_some(directory)
}

fn has_openat2() -> bool {
    let flags = rustix::fs::OFlags::PATH;
    rustix::fs::openat2(CWD, "/", flags, Mode::empty(), rustix::fs::ResolveFlags::CACHED).is_ok()
}

#[test]
fn a_file_that_was_just_written_is_read() {
    let Some(directory) = directory() else { return };
    let (path, link) = (directory.path().join("file"), directory.path().join("link"));
    fs::write(&path, "a\nb").unwrap();
    symlink("file", &link).unwrap();
    assert_eq!(eventually(&path).as_deref(), Some(&b"a\nb"[..]));
    // ext4 has the target of a link in memory; other file systems may have to read it.
    let through_link = eventually(&link);
    assert!(through_link.as_deref().is_none_or(|bytes| bytes == b"a\nb"), "{through_link:?}");
    fs::write(&path, "").unwrap();
    assert_eq!(eventually(&path).as_deref(), Some(&b""[..]));
    fs::write(&path, [b'x'; 5000]).unwrap();
    assert_eq!(eventually(&path).unwrap(), [b'x'; 64]);
}

#[test]
fn a_file_that_is_not_in_memory_is_left_alone() {
    let Some(directory) = directory() else { return };
    let path = directory.path().join("file");
    // btrfs stores a small file together with its metadata, which stay in memory.
    let bytes = [b'x'; 1 << 16];
    fs::write(&path, bytes).unwrap();
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    // The kernel may keep a page for a while anyway.
    let is_gone = || {
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        read_cached(&path, 64).is_none()
    };
    assert!((0..100).any(|_| is_gone()));
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(eventually(&path).as_deref(), Some(&bytes[..64]));
}

#[test]
fn a_file_that_is_in_memory_in_part_is_not_taken_for_a_shorter_one() {
    let Some(directory) = directory() else { return };
    let path = directory.path().join("file");
    let bytes: Vec<u8> = (0..1 << 16).map(|at| at as u8).collect();
    fs::write(&path, &bytes).unwrap();
    let whole = |limit| (0..1000).find_map(|_| read_whole_cached(&path, limit));
    assert_eq!(whole(bytes.len()).as_deref(), Some(&bytes[..]));
    assert_eq!(whole(bytes.len() - 1), None);
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    // Only the first page is read back; its bytes must not be returned as the whole file.
    let is_partial = || {
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        fadvise(&file, 0, None, Advice::Random).unwrap();
        file.read_exact_at(&mut [0; 64], 0).unwrap();
        let read = read_whole_cached(&path, bytes.len());
        assert!(read.is_none() || read.as_deref() == Some(&bytes[..]));
        read.is_none() && eventually(&path).is_some()
    };
    assert!((0..100).any(|_| is_partial()));
}

#[test]
fn reading_leaves_the_time_of_access() {
    let Some(directory) = directory() else { return };
    let path = directory.path().join("file");
    fs::write(&path, "a\n").unwrap();
    // Older than the time of change, so that the next ordinary access would update it.
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&path).unwrap().set_times(fs::FileTimes::new().set_accessed(old)).unwrap();
    assert!(eventually(&path).is_some());
    assert_eq!(fs::metadata(&path).unwrap().accessed().unwrap(), old);
}

#[test]
fn what_is_no_file_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, &pipe, inotify::WatchFlags::OPEN).unwrap();
    let mut room = [MaybeUninit::uninit(); 512];
    let mut was_opened = || inotify::Reader::new(&watch, &mut room).next().is_ok();
    for _ in 0..10 {
        assert_eq!(read_cached(&pipe, 64), None);
    }
    assert!(!was_opened());
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
    assert!(was_opened());
    for path in [directory.path(), Path::new("/dev/zero"), Path::new("/proc/self/cmdline"), Path::new("")] {
        assert_eq!(read_cached(path, 64), None, "{}", path.display());
    }
}

#[test]
fn a_file_on_another_file_system_is_not_opened() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
    let path = directory.path().join("file");
    fs::write(&path, "a\n").unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, &path, inotify::WatchFlags::OPEN).unwrap();
    let mut room = [MaybeUninit::uninit(); 512];
    let mut was_opened = || inotify::Reader::new(&watch, &mut room).next().is_ok();
    for _ in 0..10 {
        assert_eq!(read_cached(&path, 64), None);
    }
    assert!(!was_opened());
    assert_eq!(fs::read(&path).unwrap(), b"a\n");
    assert!(was_opened());
}
