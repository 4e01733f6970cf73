//! The directory container. Every file below the directory belongs to the bundle; links are never followed, devices never opened.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::container::{Container, Visitor};
use crate::bundle::format::{BundleCode, BundleError, BundlePath, Limits, PathSet};
use crate::disk::{File, FileKind, InputFile, Links, OsError, files};
use crate::order;
use crate::task::Cancellation;

/// Opens a regular file for reading and returns its size. Links are refused, and a pipe does not block.
pub(crate) fn open_file(path: &Path) -> Result<(InputFile, u64), BundleError> {
    let (file, metadata) = File::open_any(path, Links::Refused)?;
    if !metadata.is_file() {
        return Err(BundleError::new(BundleCode::Device, format!("{} is not a file", path.display())));
    }
    Ok((InputFile::of(file), metadata.size))
}

/// Reads the files of a bundle directory.
pub(super) struct DirectoryReader {
    root: PathBuf,
    files: Vec<(BundlePath, u64)>,
    problems: Vec<BundleError>,
    total: u64,
    position: Rc<Cell<u64>>,
}

impl DirectoryReader {
    /// Lists the files below `root` without reading them.
    pub(crate) fn open(root: &Path, limits: &Limits) -> Result<Self, BundleError> {
        let mut listing =
            Listing { max_entries: limits.files.saturating_mul(2).saturating_add(16), ..Listing::default() };
        listing.walk(root)?;
        let Listing { mut files, mut problems, .. } = listing;
        order::sort_by(&mut files, Ord::cmp);
        let mut names = PathSet::default();
        files.retain(|(path, _)| names.add(path).map_err(|error| problems.push(error)).is_ok());
        let total = files.iter().fold(0u64, |sum, (_, size)| sum.saturating_add(*size));
        if total > limits.total_bytes {
            let message = "The directory holds more bytes than the limit for all files together";
            return Err(BundleError::new(BundleCode::TotalTooLarge, message));
        }
        Ok(DirectoryReader { root: root.to_path_buf(), files, problems, total, position: Rc::default() })
    }
}

#[derive(Default)]
struct Listing {
    files: Vec<(BundlePath, u64)>,
    problems: Vec<BundleError>,
    entries: u64,
    max_entries: u64,
}

impl Listing {
    /// Lists all files below `root`, without recursion.
    fn walk(&mut self, root: &Path) -> Result<(), BundleError> {
        let cancellation = Cancellation::current();
        let mut waiting = vec![(root.to_path_buf(), String::new())];
        while let Some((directory, prefix)) = waiting.pop() {
            for name in files::read_directory(&directory)? {
                cancellation.check().map_err(|error| OsError::new(&error, "scandir", Some(&directory)))?;
                let name = name?;
                self.entries += 1;
                if self.entries > self.max_entries {
                    let message = format!("The directory has more than {} entries", self.max_entries);
                    return Err(BundleError::new(BundleCode::TooManyFiles, message));
                }
                if let Some(below) = self.add(&directory, &prefix, &name)? {
                    waiting.push(below);
                }
            }
        }
        Ok(())
    }

    /// Adds a file or a problem. Returns a directory, with the prefix of the paths below it.
    fn add(&mut self, directory: &Path, prefix: &str, name: &OsStr) -> Result<Option<(PathBuf, String)>, BundleError> {
        let path = match BundlePath::parse(&[prefix.as_bytes(), name.as_encoded_bytes()].concat()) {
            Ok(path) => path,
            Err(error) => {
                self.problems.push(error);
                return Ok(None);
            }
        };
        let disk = directory.join(name);
        let metadata = files::symlink_metadata(&disk)?;
        let mut refuse = |code, why| self.problems.push(BundleError::about(code, path.as_str(), why));
        match metadata.kind {
            FileKind::Directory => return Ok(Some((disk, format!("{path}/")))),
            FileKind::File => self.files.push((path, metadata.size)),
            FileKind::Link => refuse(BundleCode::Link, "a link, which could lead anywhere; a bundle holds only files"),
            _ => refuse(BundleCode::Device, "a device or a pipe; a bundle holds only files"),
        }
        Ok(None)
    }
}

impl Container for DirectoryReader {
    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<(), BundleError> {
        for problem in self.problems.drain(..) {
            visitor.problem(problem)?;
        }
        for (path, _) in &self.files {
            match open_file(&path.below(&self.root)) {
                // A file that grows meanwhile is read up to the size that it has now.
                Ok((file, size)) => {
                    let mut content = Counted { input: file.take(size), position: &self.position };
                    visitor.file(path, size, &mut content)?;
                }
                Err(error) if error.code == BundleCode::Device => visitor.problem(error.of_file(path.as_str()))?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn total(&self) -> u64 {
        self.total
    }

    fn position(&self) -> Rc<Cell<u64>> {
        self.position.clone()
    }
}

struct Counted<'c, R> {
    input: R,
    position: &'c Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.position.set(self.position.get() + count as u64);
        Ok(count)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    #[derive(Default)]
    struct Seen(Vec<String>, Vec<BundleCode>);

    impl Visitor for Seen {
        fn file(&mut self, path: &BundlePath, size: u64, content: &mut dyn Read) -> Result<(), BundleError> {
            let mut text = String::new();
            content.read_to_string(&mut text).map_err(crate::bundle::read::container::read_failed)?;
            assert_eq!(text.len() as u64, size);
            self.0.push(format!("{path}={text}"));
            Ok(())
        }

        fn problem(&mut self, problem: BundleError) -> Result<(), BundleError> {
            self.1.push(problem.code);
            Ok(())
        }
    }

    #[test]
    fn files_come_in_order_and_nothing_else_is_opened() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("b/c")).unwrap();
        for name in ["b/c/d", "a", "b.x"] {
            fs::write(path(name), name).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", path("link")).unwrap();
        std::os::unix::fs::symlink("/etc", path("b/linked")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        let mut seen = Seen::default();
        DirectoryReader::open(root.path(), &Limits::default()).unwrap().visit(&mut seen).unwrap();
        assert_eq!(seen.0, ["a=a", "b.x=b.x", "b/c/d=b/c/d"]);
        seen.1.sort();
        assert_eq!(seen.1, [BundleCode::Link, BundleCode::Link, BundleCode::Device]);
    }

    #[test]
    fn a_directory_with_too_many_entries_is_refused() {
        let root = tempfile::tempdir().unwrap();
        for n in 0..40 {
            fs::write(root.path().join(n.to_string()), "").unwrap();
        }
        let limits = Limits { files: 10, ..Limits::default() };
        let error = DirectoryReader::open(root.path(), &limits).err().unwrap();
        assert_eq!(error.code, BundleCode::TooManyFiles);
    }

    #[test]
    fn a_listing_stops_when_it_is_cancelled() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let cancellation = Cancellation::default();
        cancellation.cancel();
        let listed = cancellation.during(|| DirectoryReader::open(root.path(), &Limits::default()));
        assert_eq!(listed.err().unwrap().code, BundleCode::Cancelled);
    }
}
