//! Exporting recordings to a lake of Parquet files.
//!
//! Recordings of one day are exported in groups, each to one part of each table. A group is committed as a whole: its parts are renamed into place,
//! then its manifest is written. Recordings that a manifest lists and that have not changed are not exported again, so an export can be repeated at
//! any time, even after it was interrupted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use crate::convert::CANCELLED;
use crate::engine::{Done, Engine, Job, LargeSession};
use crate::export_commit::{Commits, Committed, Unit, commits};
use crate::export_group::{Carried, Group, TEMPORARY, TableFiles, Written};
use crate::failure::Failure;
use crate::input::{Content, Input, LARGE_BYTES, can_be_read_again};
use crate::interrupt::Progress;
use crate::manifest::{Manifests, Source};
use crate::options::Options;
use crate::peek::Peeked;
use crate::schema::Table;
use crate::session_table::SessionTables;
use crate::source_name::path_of;
use crate::walk::is_listed;

/// Maximum size of a group in bytes, and its maximum number of recordings.
const GROUP_BYTES: u64 = 32 << 20;
const GROUP_FILES: usize = 4096;

/// Number of recordings that one job peeks at.
const PEEKED_TOGETHER: usize = 64;

/// The folder of a lake for files that are not complete.
const TEMPORARY_FOLDER: &str = "_temporary";

/// The name that query engines give to the partition without a date.
const NO_DATE: &str = "__HIVE_DEFAULT_PARTITION__";

/// The result of an export.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Recordings that were converted.
    pub sources: u64,
    /// Recordings that were exported before and have not changed.
    pub unchanged: u64,
    /// Bytes of the recordings that were converted.
    pub bytes: u64,
    /// Rows that were written, by table.
    pub rows: BTreeMap<String, u64>,
    /// The parts that were written.
    pub parts: Vec<PathBuf>,
    /// Files that were removed because no manifest lists them.
    pub pruned: u64,
}

/// An export to a lake.
pub struct Export {
    lake: PathBuf,
    options: Options,
    cancelled: Arc<AtomicBool>,
    manifests: Manifests,
    report: Report,
    progress: Arc<Progress>,
}

impl Export {
    /// Begins an export to the folder `lake`, which is created if it does not exist.
    pub fn new(
        lake: &Path,
        options: Options,
        cancelled: Arc<AtomicBool>,
        progress: Arc<Progress>,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::at(lake, &error);
        fs::create_dir_all(lake).map_err(failed)?;
        let manifests = Manifests::read(lake).map_err(failed)?;
        Ok(Export { lake: lake.to_owned(), options, cancelled, manifests, report: Report::default(), progress })
    }

    /// Exports recordings. Recordings of different calls are not grouped together.
    pub fn add(&mut self, inputs: Vec<Input>) -> Result<(), Failure> {
        let mut engine = Engine::new(&self.options, &self.cancelled, &self.progress);
        let mut commits = commits(&self.lake, &self.options);
        let mut added = self.add_with(&mut engine, &mut commits, inputs);
        if added.is_err() {
            engine.stop(&self.cancelled);
        }
        // Groups that are complete are committed even after an error.
        while let Some(done) = commits.next_output() {
            let noted = self.note(Some(done));
            added = added.and(noted);
        }
        added
    }

    fn add_with(&mut self, engine: &mut Engine, commits: &mut Commits, inputs: Vec<Input>) -> Result<(), Failure> {
        let peeked = self.peek(inputs, !self.manifests.is_empty(), engine)?;
        let (fresh, mut changed) = self.compare(peeked);
        self.check()?;
        let others = changed.iter().flat_map(|(id, recordings)| self.others_of(id, recordings)).collect();
        for other in self.peek(others, false, engine)? {
            let listed = self.manifests.of(&other.input.name, self.options.is_of_runs());
            if let Some(recordings) = listed.and_then(|(id, _)| changed.get_mut(id)) {
                recordings.push(other);
            }
        }
        let units = self.plan(fresh, changed);
        if units.is_empty() {
            return Ok(());
        }
        // A manifest that is replaced may have added its tables to the options.
        *engine = Engine::new(&self.options, &self.cancelled, &self.progress);
        let mut under_way = VecDeque::new();
        for unit in units {
            match unit.inputs.as_slice() {
                [input] if unit.carried.is_empty() && input.size() >= LARGE_BYTES && !self.options.is_of_runs() => {
                    while !under_way.is_empty() {
                        self.take(engine, commits, &mut under_way)?;
                    }
                    self.export_large(unit, engine, commits)?;
                }
                _ => {
                    while engine.is_full() {
                        self.take(engine, commits, &mut under_way)?;
                    }
                    self.push(unit, engine, &mut under_way);
                }
            }
        }
        while !under_way.is_empty() {
            self.take(engine, commits, &mut under_way)?;
        }
        Ok(())
    }

    /// Ends the export. If `prune`, removes the files that no manifest lists.
    pub fn finish(mut self, prune: bool) -> Result<Report, Failure> {
        if prune {
            self.prune().map_err(|error| Failure::at(&self.lake, &error))?;
        }
        // Fails if another export still uses the folder.
        let _ = fs::remove_dir(self.lake.join(TEMPORARY_FOLDER));
        Ok(self.report)
    }

    fn peek(&self, inputs: Vec<Input>, hash: bool, engine: &mut Engine) -> Result<Vec<Peeked>, Failure> {
        let (mut peeked, mut inputs) = (Vec::with_capacity(inputs.len()), inputs.into_iter().peekable());
        loop {
            while !engine.is_full() && inputs.peek().is_some() {
                engine.push(Job::Peek(inputs.by_ref().take(PEEKED_TOGETHER).collect(), hash));
            }
            match engine.next() {
                Some(Done::Peeked(more)) => peeked.extend(more),
                Some(_) => {}
                None => return Ok(peeked),
            }
            self.check()?;
        }
    }

    /// Splits recordings into those that no manifest lists, and those of manifests with a changed source, by the id of the manifest.
    fn compare(&mut self, peeked: Vec<Peeked>) -> (Vec<Peeked>, BTreeMap<String, Vec<Peeked>>) {
        let mut seen = BTreeSet::new();
        let (mut fresh, mut listed) = (Vec::new(), BTreeMap::<String, Vec<Peeked>>::new());
        for recording in peeked {
            if matches!(recording.input.content, Content::Path(_)) && !seen.insert(recording.input.name.clone()) {
                continue;
            }
            match self.manifests.of(&recording.input.name, self.options.is_of_runs()) {
                Some((id, _)) => listed.entry(id.to_owned()).or_default().push(recording),
                None => fresh.push(recording),
            }
        }
        for id in self.manifests.of_listed(self.options.is_of_runs()) {
            listed.entry(id).or_default();
        }
        listed.retain(|_, recordings| {
            let is_changed = recordings.is_empty() || !recordings.iter().all(|recording| self.is_unchanged(recording));
            if !is_changed {
                self.report.unchanged += recordings.len() as u64;
                self.progress.add_bytes(recordings.iter().map(|recording| recording.bytes).sum());
                self.progress.add_files(recordings.len() as u64);
            }
            is_changed
        });
        (fresh, listed)
    }

    /// Plans the groups: a manifest is exported again as a whole; recordings that no manifest lists are grouped by day.
    fn plan(&mut self, mut fresh: Vec<Peeked>, changed: BTreeMap<String, Vec<Peeked>>) -> Vec<Unit> {
        let mut units: Vec<Unit> =
            changed.into_iter().map(|(id, recordings)| self.replace(id, recordings, &mut fresh)).collect();
        fresh.sort_by(|one, other| (one.date, &one.input.name).cmp(&(other.date, &other.input.name)));
        let mut bytes = 0;
        let first_fresh = units.len();
        for recording in fresh {
            let date = name_of(&recording);
            bytes += recording.bytes;
            match units[first_fresh..].last_mut() {
                Some(unit)
                    if unit.date == date
                        && bytes <= GROUP_BYTES
                        && recording.bytes < LARGE_BYTES
                        && unit.inputs.len() < GROUP_FILES =>
                {
                    unit.inputs.push(recording.input);
                }
                _ => {
                    // A large recording is a group of its own.
                    bytes = if recording.bytes >= LARGE_BYTES { GROUP_BYTES } else { recording.bytes };
                    let inputs = vec![recording.input];
                    units.push(Unit { id: None, date, inputs, carried: Vec::new(), kept: Vec::new() });
                }
            }
        }
        units
    }

    fn is_unchanged(&self, recording: &Peeked) -> bool {
        let listed = self.manifests.of(&recording.input.name, self.options.is_of_runs());
        let Some((_, manifest)) = listed else { return false };
        let now = recording.identity.as_ref().map(|identity| Source::new(&recording.input.name, identity));
        let mut sources = manifest.sources.iter();
        let tables: Vec<Table> = manifest.tables().collect();
        manifest.version == crate::parquet_file::version()
            && manifest.options == self.options.deciding()
            && self.options.tables().all(|table| tables.contains(&table))
            && sources.any(|source| Some(source) == now.as_ref())
            && manifest.parts.values().all(|part| self.lake.join(part).is_file())
    }

    /// The sources of a manifest that exist, other than `recordings`.
    fn others_of(&self, id: &str, recordings: &[Peeked]) -> Vec<Input> {
        let given: BTreeSet<&str> = recordings.iter().map(|recording| recording.input.name.as_str()).collect();
        let sources = self.manifests.get(id).into_iter().flat_map(|manifest| &manifest.sources);
        let others = sources.filter(|source| !given.contains(source.name.as_str()));
        let paths = others.map(|source| path_of(&source.name));
        let is_there = |path: &PathBuf| path.exists() && can_be_read_again(path) && !is_listed(path);
        paths.filter(is_there).map(Input::at).collect()
    }

    /// Plans the group that replaces a manifest with a changed source. `recordings` are its sources that still exist; the rows of those that are gone
    /// are kept. Recordings that began on another day than the manifest's are added to `moved`: they are exported after this group, so that they are
    /// never listed twice.
    fn replace(&mut self, id: String, recordings: Vec<Peeked>, moved: &mut Vec<Peeked>) -> Unit {
        let is_of_runs = self.options.is_of_runs();
        let (mut carried, mut kept, mut date) = (Vec::new(), Vec::new(), None);
        if let Some(manifest) = self.manifests.get(&id) {
            for table in manifest.tables().filter(|table| table.is_of_runs() == is_of_runs) {
                self.options.add(table);
            }
            let there: BTreeSet<&str> = recordings.iter().map(|recording| recording.input.name.as_str()).collect();
            let is_gone =
                |source: &&Source| !there.contains(source.name.as_str()) && !is_listed(&path_of(&source.name));
            kept.extend(manifest.sources.iter().filter(is_gone).cloned());
            let names: Arc<BTreeSet<String>> = Arc::new(kept.iter().map(|source| source.name.clone()).collect());
            if !kept.is_empty() {
                let parts = manifest.parts.iter().filter_map(|(table, part)| Some((Table::named(table)?, part)));
                let parts = parts.filter(|(table, _)| table.is_of_runs() == is_of_runs);
                let parts = parts.map(|(table, part)| (table, self.lake.join(part))).filter(|(_, part)| part.is_file());
                carried.extend(parts.map(|(table, part)| Carried { table, part, sources: names.clone() }));
            }
            if carried.is_empty() {
                // Neither the sources nor their rows exist any more.
                kept.clear();
            }
            let listed = manifest.date();
            let has_listed = |recording: &Peeked| Some(name_of(recording).as_str()) == listed;
            date = listed.filter(|_| !kept.is_empty() || recordings.iter().any(has_listed)).map(str::to_owned);
        }
        let date = date.or_else(|| recordings.first().map(name_of)).unwrap_or_else(|| NO_DATE.to_owned());
        let (stay, leave): (Vec<_>, Vec<_>) = recordings.into_iter().partition(|recording| name_of(recording) == date);
        moved.extend(leave);
        let mut inputs: Vec<Input> = stay.into_iter().map(|recording| recording.input).collect();
        inputs.sort_by(|one, other| one.name.cmp(&other.name));
        Unit { id: Some(id), date, inputs, carried, kept }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.cancelled.load(Ordering::Relaxed) { Err(CANCELLED.into()) } else { Ok(()) }
    }

    fn files(&self) -> TableFiles {
        TableFiles::new(&self.lake.join(TEMPORARY_FOLDER), &self.options)
    }

    fn push(&self, mut unit: Unit, engine: &mut Engine, under_way: &mut VecDeque<Unit>) {
        let (inputs, carried) = (std::mem::take(&mut unit.inputs), std::mem::take(&mut unit.carried));
        engine.push(Job::Write(Box::new(Group { inputs, carried, files: self.files() })));
        under_way.push_back(unit);
    }

    fn take(
        &mut self,
        engine: &mut Engine,
        commits: &mut Commits,
        under_way: &mut VecDeque<Unit>,
    ) -> Result<(), Failure> {
        match engine.next() {
            Some(Done::Written(written)) => {
                let unit = under_way.pop_front().ok_or(CANCELLED)?;
                self.commit(commits, unit, (*written)?)?;
            }
            Some(_) => {}
            None => under_way.clear(),
        }
        self.check()
    }

    /// Exports a large session, whose parts are converted in parallel.
    fn export_large(&mut self, unit: Unit, engine: &mut Engine, commits: &mut Commits) -> Result<(), Failure> {
        let input = unit.inputs.first().ok_or(CANCELLED)?;
        let Some(mut large) = LargeSession::open(input, true, &self.cancelled, &self.progress) else {
            let mut under_way = VecDeque::new();
            self.push(unit, engine, &mut under_way);
            return self.take(engine, commits, &mut under_way);
        };
        let (mut tables, mut files) = (SessionTables::new(self.options.clone()), self.files());
        let mut waiting = VecDeque::new();
        loop {
            while !engine.is_full()
                && let Some(job) = waiting.pop_front().or_else(|| large.next_job())
            {
                engine.push(job);
            }
            match engine.next() {
                Some(Done::Scanned(scanned)) => {
                    let batch = large.take(scanned.0, scanned.1, &mut tables)?;
                    let calls = tables.take_calls()?;
                    for (table, batch) in [(Table::Events, batch), (Table::ToolCalls, Some(calls))] {
                        let Some(batch) = batch.filter(|batch| batch.num_rows() > 0) else { continue };
                        let full = files.add(table, batch)?;
                        waiting.extend(full.into_iter().map(|rows| Job::Encode(table, rows)));
                    }
                }
                Some(Done::Encoded(table, encoded)) => files.append(table, encoded?)?,
                Some(_) => {}
                None => break,
            }
            self.check()?;
        }
        let mut add = |table, batch: Result<RecordBatch, ArrowError>| {
            let batch = batch?;
            for rows in files.add(table, batch)? {
                files.append(table, rows.encode()?)?;
            }
            Ok::<_, Failure>(())
        };
        while large.drain_calls(&mut tables) {
            add(Table::ToolCalls, tables.take_calls())?;
        }
        let converted = large.finish(&mut tables);
        if self.options.tool_calls {
            add(Table::ToolCalls, tables.take_calls())?;
        }
        if self.options.sessions {
            add(Table::Sessions, tables.take_sessions())?;
        }
        self.commit(commits, unit, Written { sources: vec![converted], files: files.finish()? })
    }

    /// Hands over the files of a group, to be renamed into place and listed.
    fn commit(&mut self, commits: &mut Commits, unit: Unit, written: Written) -> Result<(), Failure> {
        // After a cancellation, a large session may have been read only in part.
        self.check()?;
        while commits.is_full() {
            self.note(commits.next_output())?;
        }
        commits.push((unit, written));
        while let Some(done) = commits.ready_output() {
            self.note(Some(done))?;
        }
        Ok(())
    }

    fn note(&mut self, done: Option<(u64, Result<Committed, Failure>)>) -> Result<(), Failure> {
        let Some((_, committed)) = done else { return Ok(()) };
        let Committed { id, manifest, parts, converted } = committed?;
        self.report.parts.extend(parts);
        for (table, rows) in &manifest.rows {
            *self.report.rows.entry(table.clone()).or_default() += rows;
        }
        self.manifests.insert(id, manifest);
        self.report.sources += converted.len() as u64;
        self.report.bytes += converted.iter().map(|source| source.identity.bytes).sum::<u64>();
        self.progress.add_files(converted.len() as u64);
        Ok(())
    }

    /// Removes the files that no manifest lists, and those that unfinished exports have left.
    fn prune(&mut self) -> std::io::Result<()> {
        // Other exports may have written manifests meanwhile.
        let manifests = Manifests::read(&self.lake)?;
        let listed = manifests.parts();
        let mut folders: Vec<PathBuf> = Table::ALL.iter().map(|table| self.lake.join(table.as_str())).collect();
        folders.push(self.lake.join(TEMPORARY_FOLDER));
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let relative = path.strip_prefix(&self.lake).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let is_ours = name.starts_with(TEMPORARY) || (name.starts_with("part-") && name.ends_with(".parquet"));
                if is_ours && !listed.contains(relative.as_str()) {
                    fs::remove_file(&path)?;
                    self.report.pruned += 1;
                }
            }
            // Succeeds only if the folder is empty.
            let _ = fs::remove_dir(&folder);
        }
        Ok(())
    }
}

fn name_of(recording: &Peeked) -> String {
    recording.date.map_or_else(|| NO_DATE.to_owned(), |date| date.to_string())
}
