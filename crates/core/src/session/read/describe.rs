//! Describes many sessions: all cores together scan each file to its end, and no items are read (`docs/session-format.md` section 5).
//!
//! Most sessions are small, so a job consists of several of them, and threads need not wake each other for every file. A large session
//! would keep its thread busy after all others are done, so large ones come first, one by one, each shared among the cores as in a
//! replay.

use std::path::PathBuf;
use std::vec::IntoIter;

use super::replay::{Replay, ReplayError};
use crate::archived::resolve;
use crate::disk::files;
use crate::lines::Threads;
use crate::session::fold::FoldOptions;
use crate::task::{Pipeline, Worker, grouped, spare_cores};

/// A file of this size in bytes, or more, is shared among the cores.
const LARGE_BYTES: u64 = 8 << 20;

/// Maximum size of a job in bytes, unless a single file is larger, and maximum number of its files.
const JOB_BYTES: u64 = 256 << 10;
const JOB_FILES: usize = 16;

/// A session that was described.
pub struct Described {
    /// The index of its path in the list.
    pub index: usize,
    /// Size of its file at the beginning, in bytes.
    pub size: u64,
    /// The replay, settled, or why it failed. Its outcome may still be an error.
    pub replay: Result<Replay, ReplayError>,
}

/// Sessions that are being described. An iterator over them, in no particular order.
pub struct Describing {
    describer: Describer,
    large: IntoIter<SessionFile>,
    small: IntoIter<Vec<SessionFile>>,
    /// Sessions that are described, but not returned yet.
    ready: Vec<Described>,
    pipeline: Pipeline<Describer>,
    total: u64,
}

struct SessionFile {
    index: usize,
    path: PathBuf,
    size: u64,
}

impl Describing {
    /// Starts to describe the sessions in these files. `options` are those of each replay.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>, options: FoldOptions) -> Self {
        let files = paths.into_iter().enumerate().map(|(index, path)| {
            // If the file can't be read, its replay reports why.
            let size = files::metadata(&resolve(&path)).map_or(0, |metadata| metadata.size);
            SessionFile { index, path, size }
        });
        let (large, small): (Vec<_>, Vec<_>) = files.partition(|file| file.size >= LARGE_BYTES);
        // Sizes are what files claim: their sum may be more than any number.
        let total = large.iter().chain(&small).fold(0, |total: u64, file| total.saturating_add(file.size));
        let small = grouped(small, |file| file.size, JOB_BYTES, JOB_FILES);
        let helpers = spare_cores().min(small.len().saturating_sub(1));
        let describer = Describer { options };
        let workers = vec![describer.clone(); helpers];
        let pipeline = Pipeline::parallel(describer.clone(), workers, 2 * (helpers + 1));
        let (large, small, ready) = (large.into_iter(), small.into_iter(), Vec::new());
        Describing { describer, large, small, ready, pipeline, total }
    }

    /// Total size of all files, in bytes.
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Iterator for Describing {
    type Item = Described;

    fn next(&mut self) -> Option<Described> {
        if let Some(file) = self.large.next() {
            return Some(self.describer.describe(file, Threads::All));
        }
        while self.ready.is_empty() {
            while !self.pipeline.is_full()
                && let Some(job) = self.small.next()
            {
                self.pipeline.push(job);
            }
            self.ready = self.pipeline.next_output()?.1;
        }
        self.ready.pop()
    }
}

#[derive(Clone)]
struct Describer {
    options: FoldOptions,
}

impl Describer {
    fn describe(&self, file: SessionFile, threads: Threads) -> Described {
        let SessionFile { index, path, size } = file;
        let opened = Replay::open_with(&path, self.options.clone(), threads);
        Described { index, size, replay: opened.and_then(Replay::complete) }
    }
}

impl Worker for Describer {
    type Job = Vec<SessionFile>;
    type Output = Vec<Described>;

    fn work(&mut self, files: Vec<SessionFile>) -> Vec<Described> {
        files.into_iter().map(|file| self.describe(file, Threads::Own)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const START: &str = r#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#;
    const CONTENT: &str = r#"{"v":1,"seq":2,"type":"content","payload":{"content":{"speaker":"ai","text":"é"}}}"#;

    fn described(paths: Vec<PathBuf>) -> Vec<String> {
        let count = paths.len();
        let describing = Describing::new(paths, FoldOptions::default());
        let mut all = vec![String::new(); count];
        for Described { index, replay, .. } in describing {
            assert_eq!(all[index], "", "described once");
            all[index] = match replay {
                Ok(replay) => format!("{} events, {} items", replay.outcome(None).event_count, replay.items().len()),
                Err(error) => error.message().to_string(),
            };
        }
        all
    }

    #[test]
    fn every_file_is_described_large_small_or_absent() {
        let directory = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        let mut expected = Vec::new();
        for count in [0, 3, 1, 200_000, 2, 0, 5] {
            let path = directory.path().join(format!("{}.jsonl", paths.len()));
            fs::write(&path, format!("{START}\n{}", format!("{CONTENT}\n").repeat(count))).unwrap();
            expected.push(format!("{} events, {count} items", count + 1));
            paths.push(path);
        }
        assert!(fs::metadata(&paths[3]).unwrap().len() > LARGE_BYTES);
        let absent = directory.path().join("absent.jsonl");
        expected.push(format!("Failed to read file: ENOENT: no such file or directory, open '{}'", absent.display()));
        paths.push(absent);
        let total = Describing::new(paths.clone(), FoldOptions::default()).total();
        assert_eq!(
            total,
            paths.iter().filter_map(|path| fs::metadata(path).ok()).map(|found| found.len()).sum::<u64>()
        );
        assert_eq!(described(paths), expected);
        assert!(described(Vec::new()).is_empty());
    }
}
