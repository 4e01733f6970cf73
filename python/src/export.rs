//! Exporting recordings to a lake of Parquet files.
//!
//! Recordings of one day are exported in groups, each to one part of each table. A group is committed as a whole: its parts are renamed into place,
//! then its manifest is written. Recordings that a manifest lists and that have not changed are not exported again, so an export can be repeated at
//! any time, even after it was interrupted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use chrono::NaiveDate;

use crate::convert::CANCELLED;
use crate::engine::{Done, Engine, Job, LargeSession};
use crate::export_commit::{Commits, Committed, Unit, commits};
use crate::export_group::{Carried, Group, TEMPORARY_FOLDER, TableFiles, Written};
use crate::failure::Failure;
use crate::input::{Input, LARGE_BYTES, can_be_read_again};
use crate::interrupt::Progress;
use crate::manifest::{Manifest, Manifests, Source, short_hash};
use crate::options::Options;
use crate::peek::Peeked;
use crate::prune::prune;
use crate::schema::Table;
use crate::session_table::SessionTables;
use crate::walk::is_listed;

/// Maximum size of a group in bytes, and its maximum number of recordings.
const GROUP_BYTES: u64 = 32 << 20;
const GROUP_FILES: usize = 4096;

/// Number of recordings that one job peeks at.
const PEEKED_TOGETHER: usize = 64;

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

/// A recording that no manifest lists, or that moves to another one.
struct Fresh {
    recording: Peeked,
    tables: BTreeSet<Table>,
}

impl Fresh {
    /// Recordings that can be exported together follow each other in this order.
    fn order(&self) -> (Option<NaiveDate>, &BTreeSet<Table>, &str) {
        (self.recording.date, &self.tables, &self.recording.input.name)
    }
}

/// An export to a lake.
pub struct Export {
    lake: PathBuf,
    options: Options,
    cancelled: Arc<AtomicBool>,
    manifests: Manifests,
    /// The names of the recordings of previous calls of `add`, as hashes.
    exported: HashSet<[u8; 16]>,
    report: Report,
    progress: Arc<Progress>,
}

impl Export {
    /// Begins an export to the folder `lake`, whose lock the caller holds until the export has ended.
    pub fn new(
        lake: &Path,
        options: Options,
        cancelled: Arc<AtomicBool>,
        progress: Arc<Progress>,
    ) -> Result<Self, Failure> {
        let (lake, manifests) = (lake.to_owned(), Manifests::read(lake)?);
        let (exported, report) = (HashSet::new(), Report::default());
        Ok(Export { lake, options, cancelled, manifests, exported, report, progress })
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
        let peeked = self.without_duplicates(peeked, engine)?;
        let (fresh, mut changed) = self.compare(self.without_unreadable(peeked));
        self.check()?;
        let others = changed.iter().flat_map(|(id, recordings)| self.others_of(id, recordings)).collect();
        // With hashes, since only reading a file to its end shows whether it can be read.
        for other in self.without_unreadable(self.peek(others, true, engine)?) {
            let listed = self.manifests.of(&other.input.name, self.options.is_of_runs());
            if let Some(recordings) = listed.and_then(|(id, _)| changed.get_mut(id)) {
                recordings.push(other);
            }
        }
        let units = self.plan(fresh, changed)?;
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

    /// Ends the export. If `is_pruned`, removes the files that no manifest lists.
    pub fn finish(mut self, is_pruned: bool) -> Result<Report, Failure> {
        if is_pruned {
            self.report.pruned = prune(&self.lake)?;
        }
        // Fails if an export that was killed has left files in the folder.
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

    /// Leaves out a recording that has the name and the content of an earlier one. Two different recordings must not have the same name: one of them
    /// would replace the other.
    fn without_duplicates(&mut self, peeked: Vec<Peeked>, engine: &mut Engine) -> Result<Vec<Peeked>, Failure> {
        let is_of_runs = self.options.is_of_runs();
        let (mut kept, mut places) = (Vec::<Peeked>::with_capacity(peeked.len()), HashMap::<[u8; 16], usize>::new());
        for recording in peeked {
            let name = &recording.input.name;
            let key = short_hash(name);
            let first = match places.get(&key).and_then(|at| kept.get(*at)) {
                // A directory that can't be listed may be found in several ways.
                Some(first) if first.input.has_path() && recording.input.has_path() => continue,
                Some(first) => self.source_now(first, engine)?,
                None if self.exported.contains(&key) => {
                    let listed = self.manifests.of(name, is_of_runs).and_then(|(_, manifest)| manifest.source(name));
                    listed.cloned().ok_or_else(|| format!("{name}: it is no longer in the manifests of the lake"))?
                }
                None => {
                    places.insert(key, kept.len());
                    kept.push(recording);
                    continue;
                }
            };
            if !first.has_content_of(&self.source_now(&recording, engine)?) {
                return Err(Failure::Argument(format!("paths has two different recordings with the name '{name}'")));
            }
        }
        self.exported.extend(places.into_keys());
        Ok(kept)
    }

    /// A recording as a manifest would list it.
    fn source_now(&self, recording: &Peeked, engine: &mut Engine) -> Result<Source, Failure> {
        let input = &recording.input;
        let identity = match &recording.identity {
            Some(identity) => Some(identity.clone()),
            None => self.peek(vec![input.clone()], true, engine)?.pop().and_then(|peeked| peeked.identity),
        };
        let identity = identity.ok_or_else(|| format!("{}: it cannot be copied to a temporary file", input.name))?;
        Ok(Source::new(&input.name, input.has_path(), &identity))
    }

    /// Leaves out the recordings that can't be read at present if the lake has rows of them, which are then kept like those of sources that are gone.
    fn without_unreadable(&self, mut peeked: Vec<Peeked>) -> Vec<Peeked> {
        let found = peeked.len();
        peeked.retain(|recording| !recording.is_unreadable || !self.has_rows_of(&recording.input.name));
        self.progress.add_files((found - peeked.len()) as u64);
        peeked
    }

    /// Whether the lake has rows of a source, other than that of its error.
    fn has_rows_of(&self, name: &str) -> bool {
        let listed = self.manifests.of(name, self.options.is_of_runs());
        listed.is_some_and(|(_, manifest)| {
            manifest.source(name).is_some_and(Source::was_read)
                && manifest.parts.values().any(|part| self.lake.join(part).is_file())
        })
    }

    /// Splits recordings into those that no manifest lists, and those of manifests that must be exported again, by the id of the manifest.
    fn compare(&mut self, peeked: Vec<Peeked>) -> (Vec<Peeked>, BTreeMap<String, Vec<Peeked>>) {
        let (mut fresh, mut listed) = (Vec::new(), BTreeMap::<String, Vec<Peeked>>::new());
        for recording in peeked {
            match self.manifests.of(&recording.input.name, self.options.is_of_runs()) {
                Some((id, _)) => listed.entry(id.to_owned()).or_default().push(recording),
                None => fresh.push(recording),
            }
        }
        let to_repair = self.manifests.to_repair(self.options.is_of_runs());
        for id in &to_repair {
            listed.entry(id.clone()).or_default();
        }
        listed.retain(|id, recordings| {
            let is_changed = to_repair.contains(id) || !recordings.iter().all(|recording| self.is_unchanged(recording));
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
    fn plan(&mut self, fresh: Vec<Peeked>, changed: BTreeMap<String, Vec<Peeked>>) -> Result<Vec<Unit>, Failure> {
        let tables: BTreeSet<Table> = self.options.tables().collect();
        let mut fresh: Vec<Fresh> =
            fresh.into_iter().map(|recording| Fresh { recording, tables: tables.clone() }).collect();
        let mut units = Vec::new();
        for (id, recordings) in changed {
            units.extend(self.replace(id, recordings, &mut fresh)?);
        }
        fresh.sort_by(|one, other| one.order().cmp(&other.order()));
        let mut bytes = 0;
        let first_fresh = units.len();
        for Fresh { recording, tables } in fresh {
            let date = name_of(&recording);
            bytes += recording.bytes;
            match units[first_fresh..].last_mut() {
                Some(unit)
                    if unit.date == date
                        && unit.options.tables().eq(tables.iter().copied())
                        && bytes <= GROUP_BYTES
                        && recording.bytes < LARGE_BYTES
                        && unit.inputs.len() < GROUP_FILES =>
                {
                    unit.inputs.push(recording.input);
                }
                _ => {
                    // A large recording is a group of its own.
                    bytes = if recording.bytes >= LARGE_BYTES { GROUP_BYTES } else { recording.bytes };
                    let (inputs, options) = (vec![recording.input], self.options.with_tables(&tables));
                    units.push(Unit { id: None, date, inputs, carried: Vec::new(), kept: Vec::new(), options });
                }
            }
        }
        Ok(units)
    }

    fn is_unchanged(&self, recording: &Peeked) -> bool {
        let name = &recording.input.name;
        let listed = self.manifests.of(name, self.options.is_of_runs());
        let (Some((_, manifest)), Some(identity)) = (listed, &recording.identity) else { return false };
        let now = Source::new(name, recording.input.has_path(), identity);
        let tables: Vec<Table> = manifest.tables().collect();
        manifest.version == crate::parquet_file::version()
            && manifest.options == self.options.deciding()
            && self.options.tables().all(|table| tables.contains(&table))
            && matches!(manifest.sources_named(name), [source] if source.is_same(&now))
            && manifest.parts.values().all(|part| self.lake.join(part).is_file())
    }

    /// The sources of a manifest that exist, other than `recordings`.
    fn others_of(&self, id: &str, recordings: &[Peeked]) -> Vec<Input> {
        let given = names_of(recordings);
        let others = self.manifests.sources_of(id).filter(|source| !given.contains(source.name.as_str()));
        let is_there = |path: &PathBuf| path.exists() && can_be_read_again(path) && !is_listed(path);
        others.filter_map(Source::path).filter(is_there).map(Input::at).collect()
    }

    /// Plans the group that replaces a manifest with a changed source. `recordings` are its sources that still exist; the rows of those that are gone
    /// are kept. Recordings that began on another day than the manifest's are added to `moved`: they are exported after this group, so that they are
    /// never listed twice. A manifest without any source left is removed, and `None` returned.
    fn replace(
        &mut self,
        id: String,
        recordings: Vec<Peeked>,
        moved: &mut Vec<Fresh>,
    ) -> Result<Option<Unit>, Failure> {
        let mut tables = self.manifests.tables_of(&id);
        tables.retain(|table| table.is_of_runs() == self.options.is_of_runs());
        tables.extend(self.options.tables());
        let (carried, kept) = self.carried_of(&id, &recordings);
        let listed = self.manifests.get(&id).and_then(Manifest::date);
        let has_listed = |recording: &Peeked| Some(name_of(recording).as_str()) == listed;
        let date = listed.filter(|_| !kept.is_empty() || recordings.iter().any(has_listed)).map(str::to_owned);
        let date = date.or_else(|| recordings.first().map(name_of)).unwrap_or_else(|| NO_DATE.to_owned());
        let (stay, leave): (Vec<_>, Vec<_>) = recordings.into_iter().partition(|recording| name_of(recording) == date);
        moved.extend(leave.into_iter().map(|recording| Fresh { recording, tables: tables.clone() }));
        if stay.is_empty() && kept.is_empty() {
            self.manifests.remove(&self.lake, &id).map_err(|error| Failure::at(&self.lake, &error))?;
            return Ok(None);
        }
        let mut inputs: Vec<Input> = stay.into_iter().map(|recording| recording.input).collect();
        inputs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(Unit { id: Some(id), date, inputs, carried, kept, options: self.options.with_tables(&tables) }))
    }

    /// The sources of a manifest whose rows are kept because they are not among `recordings`, and the parts with these rows.
    fn carried_of(&self, id: &str, recordings: &[Peeked]) -> (Vec<Carried>, Vec<Source>) {
        let Some(manifest) = self.manifests.get(id) else { return Default::default() };
        let there = names_of(recordings);
        let is_gone = |source: &&Source| {
            !there.contains(source.name.as_str()) && !source.path().is_some_and(|path| is_listed(&path))
        };
        let kept: Vec<Source> = self.manifests.sources_of(id).filter(is_gone).cloned().collect();
        if kept.is_empty() {
            return Default::default();
        }
        let names: Arc<BTreeSet<String>> = Arc::new(kept.iter().map(|source| source.name.clone()).collect());
        let parts = manifest.parts.iter().filter_map(|(table, part)| Some((Table::named(table)?, part)));
        let parts = parts.filter(|(table, _)| table.is_of_runs() == self.options.is_of_runs());
        let parts = parts.map(|(table, part)| (table, self.lake.join(part))).filter(|(_, part)| part.is_file());
        let carried: Vec<_> = parts.map(|(table, part)| Carried { table, part, sources: names.clone() }).collect();
        // Without a part, neither the sources nor their rows exist any more.
        if carried.is_empty() { Default::default() } else { (carried, kept) }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.cancelled.load(Ordering::Relaxed) { Err(CANCELLED.into()) } else { Ok(()) }
    }

    fn files(&self, options: &Options) -> TableFiles {
        TableFiles::new(&self.lake.join(TEMPORARY_FOLDER), options)
    }

    fn push(&self, mut unit: Unit, engine: &mut Engine, under_way: &mut VecDeque<Unit>) {
        let (inputs, carried) = (std::mem::take(&mut unit.inputs), std::mem::take(&mut unit.carried));
        engine.push(Job::Write(Box::new(Group {
            inputs,
            carried,
            files: self.files(&unit.options),
            options: unit.options.clone(),
        })));
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
        let Some(mut large) =
            LargeSession::open(input, Some(unit.options.file_hash()), &self.cancelled, &self.progress)
        else {
            let mut under_way = VecDeque::new();
            self.push(unit, engine, &mut under_way);
            return self.take(engine, commits, &mut under_way);
        };
        let has_own_tables = !unit.options.tables().eq(self.options.tables());
        let mut own = has_own_tables.then(|| Engine::new(&unit.options, &self.cancelled, &self.progress));
        let engine = own.as_mut().unwrap_or(engine);
        let (mut tables, mut files) = (SessionTables::new(unit.options.clone()), self.files(&unit.options));
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
        if unit.options.tool_calls {
            add(Table::ToolCalls, tables.take_calls())?;
        }
        if unit.options.sessions {
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
}

fn names_of(recordings: &[Peeked]) -> BTreeSet<&str> {
    recordings.iter().map(|recording| recording.input.name.as_str()).collect()
}

/// The name of the day on which a recording began, in the path of its parts.
fn name_of(recording: &Peeked) -> String {
    recording.date.map_or_else(|| NO_DATE.to_owned(), |date| date.to_string())
}
