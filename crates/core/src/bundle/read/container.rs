//! The files of a bundle, one after another: of a directory, or of an archive while it is decompressed.
//!
//! Every file below a directory belongs to the bundle; links are never followed, devices never opened.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::vec;

use super::archive::Archive;
use super::io_error::{into_io_error, read_failed};
use crate::bundle::format::{BundleCode, BundleError, BundlePath, Limits, PathSet};
use crate::disk::{File, FileKind, InputFile, Links, OsError, files};
use crate::order;
use crate::task::{Cancellation, Progress, Task};

/// A file, or a problem that does not prevent further reading.
type Entry<F> = Result<F, BundleError>;

/// The files of a bundle in either form. Reading from it yields the content of the current file, and reports progress.
pub(super) struct Container<'c, 't> {
    form: Form,
    /// The number of bytes of the current file that were not read.
    remaining: u64,
    max_files: u64,
    pub progress: Progress,
    task: &'c mut Task<'t>,
}

enum Form {
    /// The directory, what is in it, and the current file.
    Directory(PathBuf, vec::IntoIter<Entry<BundlePath>>, Option<InputFile>),
    Archive(Box<Archive>),
}

impl<'c, 't> Container<'c, 't> {
    /// Opens the bundle at `path`. The files of a directory are listed without reading them.
    pub(super) fn open(path: &Path, limits: &Limits, task: &'c mut Task<'t>) -> Result<Self, BundleError> {
        // The caller's path may be a link; only links inside the bundle are refused.
        let disk = files::canonicalize(path)?;
        let (form, total) = if files::is_directory(&disk) {
            let (entries, total) = list(&disk, limits)?;
            (Form::Directory(disk, entries.into_iter(), None), total)
        } else {
            let (file, size) = open_file(&disk).map_err(|error| match error.code {
                BundleCode::Device => BundleError::new(BundleCode::NotABundle, error.message),
                _ => error,
            })?;
            (Form::Archive(Box::new(Archive::open(file, size, limits)?)), size)
        };
        let progress = Progress { total, ..Progress::default() };
        Ok(Container { form, remaining: 0, max_files: limits.files, progress, task })
    }

    /// Moves to the next file with a valid and unique path, and returns that and its size. After an error there may be further files that can't be reached.
    pub(super) fn next_file(&mut self) -> Result<Option<Entry<(BundlePath, u64)>>, BundleError> {
        self.skip_rest()?;
        let (path, size) = match &mut self.form {
            Form::Directory(root, entries, current) => match entries.next() {
                None => return Ok(None),
                Some(Err(problem)) => (Err(problem), 0),
                Some(Ok(path)) => match open_file(&path.below(root)) {
                    // A file that grows meanwhile is read up to the size that it has now.
                    Ok((file, size)) => {
                        *current = Some(file);
                        (Ok(path), size)
                    }
                    Err(error) if error.is_operational() => return Err(error),
                    Err(error) => (Err(error.of_file(path.as_str())), 0),
                },
            },
            Form::Archive(archive) => match archive.next_entry()? {
                Some(entry) => entry,
                None => return Ok(None),
            },
        };
        self.remaining = size;
        if path.is_ok() {
            self.progress.files += 1;
            if self.progress.files > self.max_files {
                let message = format!("There are more than {} files", self.max_files);
                return Err(BundleError::new(BundleCode::TooManyFiles, message));
            }
            self.task.report(self.progress)?;
        }
        Ok(Some(path.map(|path| (path, size))))
    }

    fn skip_rest(&mut self) -> Result<(), BundleError> {
        if matches!(self.form, Form::Archive(_)) {
            io::copy(self, &mut io::sink()).map_err(read_failed)?;
        }
        Ok(())
    }
}

impl Read for Container<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(usize::try_from(self.remaining).unwrap_or(usize::MAX));
        let buffer = &mut buffer[..length];
        let count = match &mut self.form {
            Form::Directory(_, _, Some(file)) if length > 0 => {
                let count = file.read(buffer)?;
                self.progress.bytes += count as u64;
                count
            }
            Form::Archive(archive) if length > 0 => {
                let count = archive.read_content(buffer)?;
                self.progress.bytes = archive.position()?;
                count
            }
            _ => return Ok(0),
        };
        self.remaining -= count as u64;
        self.task.report(self.progress).map_err(|cancelled| into_io_error(cancelled.into()))?;
        Ok(count)
    }
}

/// Lists the files below `root`, by path, after what else is there as problems. Returns the size of all files too.
fn list(root: &Path, limits: &Limits) -> Result<(Vec<Entry<BundlePath>>, u64), BundleError> {
    let (mut found, mut files, total) = walk(root, limits)?;
    order::sort_by(&mut files, Ord::cmp);
    let mut names = PathSet::default();
    let (files, collisions): (Vec<_>, Vec<_>) =
        files.into_iter().map(|path| names.add(&path).map(|()| path)).partition(Result::is_ok);
    if total > limits.total_bytes {
        let message = "The directory holds more bytes than the limit for all files together";
        return Err(BundleError::new(BundleCode::TotalTooLarge, message));
    }
    found.extend(collisions.into_iter().chain(files));
    Ok((found, total))
}

/// Problems, files, and the size of these.
type Walked = (Vec<Entry<BundlePath>>, Vec<BundlePath>, u64);

/// Finds what is below `root`, in any order.
fn walk(root: &Path, limits: &Limits) -> Result<Walked, BundleError> {
    let (mut problems, mut found, mut total, mut entries) = (Vec::new(), Vec::new(), 0u64, 0);
    let cancellation = Cancellation::current();
    let mut waiting = vec![(root.to_path_buf(), String::new())];
    while let Some((directory, prefix)) = waiting.pop() {
        for name in files::read_directory(&directory)? {
            cancellation.check().map_err(|error| OsError::new(&error, "scandir", Some(&directory)))?;
            let name = name?;
            entries += 1;
            if entries > limits.entries() {
                let message = format!("The directory has more than {} entries", limits.entries());
                return Err(BundleError::new(BundleCode::TooManyFiles, message));
            }
            let path = match BundlePath::parse(&[prefix.as_bytes(), name.as_encoded_bytes()].concat()) {
                Ok(path) => path,
                refused => {
                    problems.push(refused);
                    continue;
                }
            };
            let disk = directory.join(name);
            let metadata = files::symlink_metadata(&disk)?;
            let mut refuse = |code, why| problems.push(Err(BundleError::about(code, path.as_str(), why)));
            match metadata.kind {
                FileKind::Directory => waiting.push((disk, format!("{path}/"))),
                FileKind::File => {
                    total = total.saturating_add(metadata.size);
                    found.push(path);
                }
                FileKind::Link => {
                    refuse(BundleCode::Link, "a link, which could lead anywhere; a bundle holds only files");
                }
                _ => refuse(BundleCode::Device, "a device or a pipe; a bundle holds only files"),
            }
        }
    }
    Ok((problems, found, total))
}

/// Opens a regular file for reading and returns its size. Links are refused, and a pipe does not block.
pub(crate) fn open_file(path: &Path) -> Result<(InputFile, u64), BundleError> {
    let (file, metadata) = File::open_any(path, Links::Refused)?;
    if !metadata.is_file() {
        return Err(BundleError::new(BundleCode::Device, format!("{} is not a file", path.display())));
    }
    Ok((InputFile::of(file), metadata.size))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    use crate::bundle::testing::quietly;

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
        let (mut seen, mut problems) = (Vec::new(), Vec::new());
        quietly(|task| {
            let mut container = Container::open(root.path(), &Limits::default(), task).unwrap();
            while let Some(file) = container.next_file().unwrap() {
                match file {
                    Ok((path, size)) => {
                        let mut text = String::new();
                        container.read_to_string(&mut text).unwrap();
                        assert_eq!(text.len() as u64, size);
                        seen.push(format!("{path}={text}"));
                    }
                    Err(problem) => problems.push(problem.code),
                }
            }
        });
        assert_eq!(seen, ["a=a", "b.x=b.x", "b/c/d=b/c/d"]);
        problems.sort();
        assert_eq!(problems, [BundleCode::Link, BundleCode::Link, BundleCode::Device]);
    }

    #[test]
    fn a_directory_with_too_many_entries_is_refused() {
        let root = tempfile::tempdir().unwrap();
        for n in 0..40 {
            fs::write(root.path().join(n.to_string()), "").unwrap();
        }
        let limits = Limits { files: 10, ..Limits::default() };
        let error = quietly(|task| Container::open(root.path(), &limits, task).err()).unwrap();
        assert_eq!(error.code, BundleCode::TooManyFiles);
    }

    #[test]
    fn a_listing_stops_when_it_is_cancelled() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let cancellation = Cancellation::default();
        cancellation.cancel();
        let listed = cancellation.during(|| list(root.path(), &Limits::default()));
        assert_eq!(listed.err().unwrap().code, BundleCode::Cancelled);
    }
}
