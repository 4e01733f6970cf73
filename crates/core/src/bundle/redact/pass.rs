//! Redacts an export plan, in rounds.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read, Write};
use std::path::Path;

use twox_hash::XxHash3_128;

use super::document::{Document, Root, check_fixed, redacted};
use super::events::{redacted_event, redacted_payload, tool};
use super::json::{Step, is_json};
use super::leak_check::LeakCheck;
use super::lines::redacted_line;
use super::matcher::{Form, MatchContext, Matcher};
use super::original_hashes::drop_original_hashes;
use super::references::ReferenceParts;
use super::rule::{Rule, RuleSet};
use super::staging::{RedactedFile, Staging};
use crate::bundle::export::{ByteSource, ExportPlan, PlannedFile, source_changed};
use crate::bundle::format::{
    BundleCode, BundleError, BundleKind, BundlePath, Limits, REDACTIONS, RedactedBlob, RedactedEvent, RedactionList,
    blob_path, merge_rules, of_run, path,
};
use crate::bundle::read::{CheckedSession, read_failed};
use crate::bundle::redact::blobs;
use crate::disk::read_up_to;
use crate::hash::{Hash, as_text, from_hex, to_hex};
use crate::json::{Nesting, Text, Writer, spells};
use crate::run::{EventLine, Kind, Payload};
use crate::task::{Progress, Task};

/// The maximum number of rounds until no new secrets are found.
const MAX_ROUNDS: usize = 8;

/// The initial size of the buffer for a log.
const BLOCK_BYTES: usize = 1 << 20;

/// Redacts a plan by `rules`: replaces its files by redacted copies, in a directory in `beside` that is removed with the plan. Also returns
/// a check for leaks of the found secrets; `None` if there are no secrets to search for.
pub(crate) fn redact(
    mut plan: ExportPlan,
    rules: &RuleSet,
    beside: &Path,
    limits: &Limits,
    task: &mut Task<'_>,
) -> Result<(ExportPlan, Option<LeakCheck>), BundleError> {
    let earlier = plan.redactions.rules();
    let mut matcher = Matcher::new(rules, &earlier)?;
    matcher.own_id = plan.metadata.id.as_json().as_bytes().to_vec();
    matcher.images.clone_from(&plan.images);
    matcher.cancellation = task.cancellation.clone();
    for name in &earlier {
        let what = "the name of a rule by which the source was redacted before";
        check_fixed(&mut matcher, name.as_bytes(), MatchContext::at(Form::JsonString), what)
            .map_err(|error| error.of_file(REDACTIONS))?;
    }
    let mut pass = Pass {
        plan: &plan,
        limits,
        task: &mut *task,
        matcher,
        staging: None,
        beside,
        to_write: BTreeSet::new(),
        round: Round::default(),
    };
    let mut rounds = 0;
    while !pass.run_round()? {
        rounds += 1;
        if rounds == MAX_ROUNDS {
            return Err(pass.matcher.does_not_converge(pass.round.last_rule));
        }
    }
    let Pass { matcher, staging, round, .. } = pass;
    let guessable = round.apply(&mut plan, limits)?;
    plan.staging = staging;
    drop_original_hashes(&mut plan, &guessable, beside, limits, task)?;
    Ok((plan, LeakCheck::new(matcher)))
}

/// The state across rounds.
struct Pass<'p, 'r, 'w> {
    plan: &'p ExportPlan,
    limits: &'p Limits,
    task: &'p mut Task<'w>,
    matcher: Matcher<'r>,
    staging: Option<Staging>,
    beside: &'p Path,
    /// The files with matches, which are written in the next round.
    to_write: BTreeSet<BundlePath>,
    round: Round,
}

/// The results of one round.
#[derive(Default)]
struct Round {
    /// The redacted files, by the path of the original.
    files: BTreeMap<BundlePath, PlannedFile>,
    /// The names of the rules that matched in a file, by its path.
    file_rules: BTreeMap<BundlePath, Vec<String>>,
    events: BTreeMap<u64, RedactedEvent>,
    lines: BTreeMap<u64, Vec<String>>,
    /// The rules that apply to a blob because of the events that name it, by its hash.
    blob_rules: HashMap<String, Vec<bool>>,
    /// The blobs with secrets that could be guessed from the hash of the original.
    guessable: BTreeSet<BundlePath>,
    /// The redacted name and version of the workflow.
    workflow: Option<(Text<'static>, Text<'static>)>,
    /// The last rule that matched, for the error about too many rounds.
    last_rule: usize,
}

impl Pass<'_, '_, '_> {
    /// Runs one round over all files. Returns whether it was the last: all files with matches were written, and no new secrets were found.
    fn run_round(&mut self) -> Result<bool, BundleError> {
        self.round = Round::default();
        // The log comes first, because its events decide which rules apply to a blob.
        let is_log = |(path, _): &(&BundlePath, _)| [path::EVENT_LOG, path::SESSION_LOG].contains(&path.as_str());
        // Images can't be redacted.
        let files = self.plan.files.iter().filter(|(path, _)| path.media().is_none());
        let (logs, others): (Vec<_>, Vec<_>) = files.partition(is_log);
        let mut is_settled = true;
        for (path, file) in logs.into_iter().chain(others) {
            let out = self.to_write.contains(path).then(|| self.stage()).transpose()?;
            let (is_hit, redacted) = self.redact_file(path, file, out).map_err(|error| error.of_file(path.as_str()))?;
            if is_hit {
                is_settled &= redacted.is_some();
                self.to_write.insert(path.clone());
                self.round.files.extend(redacted.map(|redacted| (path.clone(), redacted)));
            }
        }
        self.metadata()?;
        let has_new = self.matcher.secrets.has_new();
        if has_new {
            self.matcher.secrets.build()?;
        }
        if !is_settled || has_new {
            // The next round writes all redacted files again.
            self.staging = None;
        }
        Ok(is_settled && !has_new)
    }

    fn stage(&mut self) -> Result<RedactedFile, BundleError> {
        match &mut self.staging {
            Some(staging) => staging.file(),
            None => self.staging.insert(Staging::new(self.beside)?).file(),
        }
    }

    /// Matches a file, and writes the redacted copy to `out` if it is given. Returns whether there are matches, and the copy if so.
    fn redact_file(
        &mut self,
        path: &BundlePath,
        file: &PlannedFile,
        out: Option<RedactedFile>,
    ) -> Result<(bool, Option<PlannedFile>), BundleError> {
        if out.is_none() && self.matcher.prefilter_suffices() && file.candidates.as_ref().is_some_and(Vec::is_empty) {
            // The prefilter ran while the file was hashed.
            self.tick()?;
            return Ok((false, None));
        }
        let mut sink = io::sink();
        let mut out = out;
        let to: &mut dyn Write = match &mut out {
            Some(out) => out,
            None => &mut sink,
        };
        let is_hit = match path.as_str() {
            path::EVENT_LOG | path::SESSION_LOG => self.log(file, to)?,
            path::WORKFLOW => self.workflow(path, file, to)?,
            other if path.blob().is_some() => self.blob(path, other, file, to)?,
            _ => self.fixed(file)?,
        };
        match (is_hit, out) {
            (true, Some(out)) => Ok((true, Some(out.finish()?))),
            (is_hit, Some(out)) => out.discard().map(|()| (is_hit, None)),
            (is_hit, None) => Ok((is_hit, None)),
        }
    }

    /// Redacts a log, line by line.
    fn log(&mut self, file: &PlannedFile, out: &mut dyn Write) -> Result<bool, BundleError> {
        let mut input = file.open()?;
        let candidates = file.candidates.as_deref().filter(|_| self.matcher.prefilter_suffices());
        let is_run = self.plan.kind == BundleKind::Run;
        let mut lines = LogLines { is_run, candidates, offset: 0, number: 0, is_hit: false };
        let mut fingerprint = XxHash3_128::new();
        let (mut buffer, mut filled) = (vec![0; BLOCK_BYTES], 0);
        loop {
            let count = read_up_to(&mut *input, &mut buffer[filled..]).map_err(read_failed)?;
            self.tick()?;
            let is_last = count < buffer.len() - filled;
            if candidates.is_some() {
                fingerprint.write(&buffer[filled..filled + count]);
            }
            filled += count;
            let whole = match memchr::memrchr(b'\n', &buffer[..filled]) {
                _ if is_last => filled,
                Some(newline) => newline + 1,
                None => 0,
            };
            lines.chunk(self, &buffer[..whole], out)?;
            buffer.copy_within(whole..filled, 0);
            filled -= whole;
            if is_last {
                return match &file.origin {
                    // The candidates are only valid for the bytes that were hashed.
                    ByteSource::File(disk, _, known) | ByteSource::Archive(disk, known)
                        if candidates.is_some() && fingerprint.finish_128() != *known =>
                    {
                        Err(source_changed(disk))
                    }
                    _ => Ok(lines.is_hit),
                };
            }
            if filled == buffer.len() {
                buffer.resize(buffer.len() * 2, 0);
            }
        }
    }

    fn event(&mut self, line: &[u8]) -> Result<Option<Vec<u8>>, BundleError> {
        let damaged = |error| of_run(BundleCode::SourceInvalid, error);
        let line = std::str::from_utf8(line).unwrap_or_default();
        let event = EventLine::split(line).map_err(damaged)?;
        let Some(kind) = Kind::parse(event.kind) else { return Ok(None) };
        self.collect_blob_rules(kind, &event);
        if !self.matcher.may_match(line.as_bytes()) {
            return Ok(None);
        }
        let mut rules = BTreeSet::new();
        let redacted = redacted_event(&mut self.matcher, kind, &event, &mut rules);
        let redacted = redacted.map_err(|error| with_place(error, &event.id()))?;
        if let Some(redacted) = &redacted {
            let limit = self.limits.line_bytes.min(EventLine::MAX_BYTES as u64);
            if redacted.len() as u64 > limit + 1 {
                let message = format!("redacted it is longer than {limit} bytes");
                return Err(with_place(BundleError::new(BundleCode::LineTooLong, message), &event.id()));
            }
            self.round.last_rule = rules.first().copied().unwrap_or(0);
            let payload_hash = as_text(event.payload_hash).to_owned();
            let rules = self.matcher.names(&rules);
            self.round.events.insert(event.time, RedactedEvent { payload_hash, rules });
        }
        Ok(redacted)
    }

    /// Adds the rules that apply to an event to those of the blob that it names.
    fn collect_blob_rules(&mut self, kind: Kind, event: &EventLine<'_>) {
        if !matches!(kind, Kind::BlobStored | Kind::ToolCompleted)
            || !self.matcher.rules().iter().any(Rule::is_restricted)
        {
            return;
        }
        let payload = Payload::parse(kind, event.payload, &mut Nesting::default());
        let Ok(Payload::BlobStored { blob, .. } | Payload::ToolCompleted { raw_hash: blob, .. }) = payload else {
            return;
        };
        let tool = tool(kind, event.payload);
        let Some(allowed) = self.matcher.allowed(Some(kind.as_str()), tool.as_deref()) else { return };
        let hash = blob.as_json().to_owned();
        let stored = self.plan.redactions.blobs.get(&hash).map_or(hash, |blob| blob.redacted.clone());
        match self.round.blob_rules.get_mut(&stored) {
            Some(known) => known.iter_mut().zip(allowed).for_each(|(known, new)| *known |= new),
            None => drop(self.round.blob_rules.insert(stored, allowed)),
        }
    }

    fn line(&mut self, number: u64, line: &[u8]) -> Result<Option<Vec<u8>>, BundleError> {
        if !self.matcher.may_match(line) {
            return Ok(None);
        }
        let mut rules = BTreeSet::new();
        let place = || format!("line {number}");
        let redacted =
            redacted_line(&mut self.matcher, line, &mut rules).map_err(|error| with_place(error, &place()))?;
        if let Some(redacted) = &redacted {
            let limit = self.limits.session_line_bytes();
            if redacted.len() as u64 > limit {
                let message = format!("redacted it is longer than {limit} bytes");
                return Err(with_place(BundleError::new(BundleCode::LineTooLong, message), &place()));
            }
            self.round.last_rule = rules.first().copied().unwrap_or(0);
            self.round.lines.insert(number, self.matcher.names(&rules));
        }
        Ok(redacted)
    }

    fn blob(
        &mut self,
        path: &BundlePath,
        name: &str,
        file: &PlannedFile,
        out: &mut dyn Write,
    ) -> Result<bool, BundleError> {
        let hash = name.rsplit('/').next().unwrap_or_default();
        let mut allowed = self.matcher.allowed(None, None);
        if let Some((allowed, named)) = allowed.as_mut().zip(self.round.blob_rules.get(hash)) {
            allowed.iter_mut().zip(named).for_each(|(allowed, named)| *allowed |= named);
        }
        self.matcher.has_guessable = false;
        let is_hit = self.bytes(path, file, allowed.as_deref(), out)?;
        if is_hit && self.matcher.has_guessable {
            self.round.guessable.insert(path.clone());
        }
        Ok(is_hit)
    }

    fn bytes(
        &mut self,
        path: &BundlePath,
        file: &PlannedFile,
        allowed: Option<&[bool]>,
        out: &mut dyn Write,
    ) -> Result<bool, BundleError> {
        let (mut rules, mut input) = (BTreeSet::new(), file.open()?);
        let (task, halfway) = (&mut *self.task, halfway(self.plan));
        let mut tick = |_| Ok(task.report(halfway)?);
        let is_hit =
            blobs::redact(&mut self.matcher, &mut *input, file.listed.size, allowed, &mut rules, out, &mut tick)?;
        self.collect_file_rules(path, &rules);
        Ok(is_hit)
    }

    fn collect_file_rules(&mut self, path: &BundlePath, rules: &BTreeSet<usize>) {
        if let Some(rule) = rules.first() {
            self.round.last_rule = *rule;
            self.round.file_rules.insert(path.clone(), self.matcher.names(rules));
        }
    }

    /// Redacts `workflow.json`, except for the fields that the graph is compiled from.
    fn workflow(&mut self, path: &BundlePath, file: &PlannedFile, out: &mut dyn Write) -> Result<bool, BundleError> {
        if file.listed.size > blobs::MAX_JSON_BYTES as u64 {
            return self.fixed(file);
        }
        let mut json = Vec::new();
        file.open()?.read_to_end(&mut json).map_err(read_failed)?;
        if !is_json(&json) {
            return self.bytes(path, file, self.matcher.allowed(None, None).as_deref(), out);
        }
        if !self.matcher.may_match(&json) {
            return Ok(false);
        }
        let (allowed, mut rules) = (self.matcher.allowed(None, None), BTreeSet::new());
        let document = Document {
            allowed: &|_| allowed.as_deref(),
            root: Root::Here,
            fixed: &graph_field,
            has_free_keys: &|path| !path.is_empty() && !is_node(path),
            references: ReferenceParts::default(),
        };
        let redacted = redacted(&mut self.matcher, &json, &document, &mut rules)?;
        self.collect_file_rules(path, &rules);
        if let Some(redacted) = &redacted {
            out.write_all(redacted).map_err(|error| BundleError::system(&error, "write", None))?;
        }
        Ok(redacted.is_some())
    }

    /// Fails if a rule matches in a file that can't be redacted: the graph or a snapshot.
    fn fixed(&mut self, file: &PlannedFile) -> Result<bool, BundleError> {
        let (mut rules, mut input) = (BTreeSet::new(), file.open()?);
        let (task, halfway) = (&mut *self.task, halfway(self.plan));
        let mut tick = |_| Ok(task.report(halfway)?);
        // Pointers do not apply to these files. Nor do names: a node may be called `auth`.
        let rule_count = self.matcher.rules().len();
        let patterns: Vec<bool> = (0..rule_count)
            .map(|rule| self.matcher.applies(rule, None) && self.matcher.rules()[rule].applies_to_states())
            .collect();
        let size = file.listed.size;
        let is_hit = blobs::redact(
            &mut self.matcher,
            &mut *input,
            size,
            Some(&patterns),
            &mut rules,
            &mut io::sink(),
            &mut tick,
        )?;
        if !is_hit {
            return Ok(false);
        }
        let message = format!(
            "the redaction rule '{}' hits an id or a state in it, which can't be redacted; leave it out of what is recorded, or export with a narrower rule",
            self.matcher.name(rules.first().copied().unwrap_or(0))
        );
        Err(BundleError::new(BundleCode::RedactionConflict, message))
    }

    /// Redacts the metadata of a run, which is that of its first event, by the rules for that event.
    fn metadata(&mut self) -> Result<(), BundleError> {
        let metadata = &self.plan.metadata;
        for time in [&metadata.started_at, &metadata.completed_at].into_iter().flatten() {
            // The metadata of a session is read again from the redacted log.
            if self.plan.kind == BundleKind::Run {
                check_fixed(
                    &mut self.matcher,
                    time.as_bytes(),
                    MatchContext::at(Form::JsonString),
                    "a time of the run",
                )
                .map_err(|error| error.of_file(path::METADATA))?;
            }
        }
        let Some((name, version)) = &metadata.workflow else { return Ok(()) };
        let payload = created_payload(metadata.id.as_json(), name.as_json(), version.as_json());
        let mut rules = BTreeSet::new();
        let redacted = redacted_payload(&mut self.matcher, Kind::RunCreated, &payload, &mut rules);
        if let Some(redacted) = redacted.map_err(|error| error.of_file(path::METADATA))? {
            let redacted = String::from_utf8(redacted).unwrap_or_default();
            let parsed = Payload::parse(Kind::RunCreated, &redacted, &mut Nesting::default());
            if let Ok(Payload::RunCreated { workflow_name, workflow_version, .. }) = parsed {
                self.round.workflow = Some((workflow_name.into_owned(), workflow_version.into_owned()));
            }
        }
        Ok(())
    }

    fn tick(&mut self) -> Result<(), BundleError> {
        Ok(self.task.report(halfway(self.plan))?)
    }
}

/// Redaction comes between the two halves of an export, and does not advance its progress.
fn halfway(plan: &ExportPlan) -> Progress {
    Progress { bytes: plan.source_bytes / 2, total: plan.source_bytes, ..Progress::default() }
}

/// The payload of a RunCreated event with the values of the metadata.
fn created_payload(id: &str, name: &str, version: &str) -> String {
    let mut out = Vec::new();
    let mut object = Writer::new(&mut out).object();
    object.key("capabilities").json(b"[]");
    object.key("dagHash").text("-");
    object.key("runId").text(id);
    object.key("scheduler").text("external");
    let mut workflow = object.key("workflow").object();
    workflow.key("name").text(name);
    workflow.key("version").text(version);
    workflow.close();
    object.close();
    String::from_utf8(out).unwrap_or_default()
}

/// The field of a workflow at a path, if the graph is compiled from it.
pub(super) fn graph_field(path: &[Step<'_>]) -> Option<&'static str> {
    let [Step::Key(nodes), Step::Index(_), Step::Key(field), ..] = path else { return None };
    let fields = ["id", "kind", "tool", "dependsOn", "capabilities"];
    fields.into_iter().find(|name| spells(nodes, "nodes") && spells(field, name))
}

/// Whether a path is that of the list of nodes, or of a node.
fn is_node(path: &[Step<'_>]) -> bool {
    matches!(path, [Step::Key(nodes)] | [Step::Key(nodes), Step::Index(_)] if spells(nodes, "nodes"))
        || graph_field(path).is_some()
}

/// Prepends the place in the file to the message of an error.
fn with_place(error: BundleError, place: &str) -> BundleError {
    if error.is_operational() {
        return error;
    }
    BundleError { message: format!("{place}: {}", error.message), ..error }
}

/// Redacts the lines of a log in chunks of whole lines.
struct LogLines<'l> {
    is_run: bool,
    /// The offsets of the prefilter's candidates, if they are known.
    candidates: Option<&'l [u64]>,
    /// The number of bytes before the chunk.
    offset: u64,
    /// The number of lines before the current one.
    number: u64,
    is_hit: bool,
}

impl LogLines<'_> {
    /// The next offset in the chunk, from `from` on, at which a match may begin.
    fn next_candidate(&self, matcher: &Matcher<'_>, chunk: &[u8], from: usize) -> Option<usize> {
        let Some(candidates) = self.candidates else { return matcher.next_candidate(chunk, from) };
        let next = candidates.get(candidates.partition_point(|place| *place < self.offset + from as u64))?;
        let place = usize::try_from(next - self.offset).ok()?;
        (place < chunk.len()).then_some(place)
    }

    fn chunk(&mut self, pass: &mut Pass<'_, '_, '_>, chunk: &[u8], out: &mut dyn Write) -> Result<(), BundleError> {
        let (mut written, mut from) = (0, 0);
        let failed = |error: io::Error| BundleError::system(&error, "write", None);
        while let Some(candidate) = self.next_candidate(&pass.matcher, chunk, from) {
            let start = memchr::memrchr(b'\n', &chunk[from..candidate]).map_or(from, |newline| from + newline + 1);
            let end = memchr::memchr(b'\n', &chunk[candidate..]).map_or(chunk.len(), |newline| candidate + newline);
            self.number += newlines(&chunk[from..start]) + 1;
            let line = &chunk[start..end];
            let redacted = if self.is_run { pass.event(line)? } else { pass.line(self.number, line)? };
            from = (end + 1).min(chunk.len());
            if let Some(redacted) = redacted {
                self.is_hit = true;
                out.write_all(&chunk[written..start]).and_then(|()| out.write_all(&redacted)).map_err(failed)?;
                written = if self.is_run { from } else { end };
            }
        }
        self.number += newlines(&chunk[from..]);
        self.offset += chunk.len() as u64;
        out.write_all(&chunk[written..]).map_err(failed)
    }
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

impl Round {
    /// Replaces the files of the plan by the redacted ones, and adds to its redactions. Returns the hashes of redacted blobs with secrets
    /// that could be guessed from the hash of the original.
    fn apply(self, plan: &mut ExportPlan, limits: &Limits) -> Result<HashSet<String>, BundleError> {
        let list = &mut plan.redactions;
        let mut guessable = HashSet::new();
        let blobs_by_storage = blobs_by_storage(list);
        for (time, RedactedEvent { payload_hash, rules }) in self.events {
            let known = list.events.entry(time).or_insert(RedactedEvent { payload_hash, rules: Vec::new() });
            merge_rules(&mut known.rules, rules);
        }
        for (line, rules) in self.lines {
            merge_rules(list.lines.entry(line).or_default(), rules);
        }
        for (path, file) in self.files {
            plan.files.remove(&path);
            let rules = self.file_rules.get(&path).cloned().unwrap_or_default();
            let stored_at = match path.blob() {
                Some(_) => {
                    if file.listed.size > limits.blob_bytes {
                        let message =
                            format!("redacted it is larger than {} bytes, the limit for blobs", limits.blob_bytes);
                        return Err(BundleError::about(BundleCode::BlobTooLarge, path.as_str(), message));
                    }
                    if self.guessable.contains(&path) {
                        guessable.insert(as_text(&to_hex(&file.listed.sha256)).to_owned());
                    }
                    map_blob(list, &blobs_by_storage, &plan.named, &path, &file, rules)?
                }
                None => {
                    if path.as_str() == path::WORKFLOW {
                        merge_rules(list.files.entry(path.as_str().to_owned()).or_default(), rules);
                    }
                    path
                }
            };
            if stored_at.as_str() == path::SESSION_LOG {
                let mut session = CheckedSession::for_export();
                session.read(&mut *file.open()?, limits)?;
                plan.metadata.started_at = session.started_at;
                plan.metadata.completed_at = session.completed_at;
            }
            plan.files.insert(stored_at, file);
        }
        plan.metadata.blobs = plan.files.keys().filter(|path| path.blob().is_some()).count() as u64;
        if let Some(workflow) = self.workflow {
            plan.metadata.workflow = Some(workflow);
        }
        Ok(guessable)
    }
}

/// The original names of redacted blobs, by the name under which they are stored.
pub(super) fn blobs_by_storage(list: &RedactionList) -> HashMap<String, Vec<String>> {
    let mut originals = HashMap::<String, Vec<String>>::new();
    for (blob, redacted) in &list.blobs {
        originals.entry(redacted.redacted.clone()).or_default().push(blob.clone());
    }
    originals
}

/// Adds a redacted blob to the list and returns its new path. `blobs_by_storage` has the original names of blobs that were redacted
/// before, by the name of the redacted blob.
pub(super) fn map_blob(
    list: &mut RedactionList,
    blobs_by_storage: &HashMap<String, Vec<String>>,
    named: &HashSet<Hash>,
    path: &BundlePath,
    file: &PlannedFile,
    rules: Vec<String>,
) -> Result<BundlePath, BundleError> {
    let before = path.as_str().rsplit('/').next().unwrap_or_default();
    let after = as_text(&to_hex(&file.listed.sha256)).to_owned();
    for blob in blobs_by_storage.get(before).into_iter().flatten() {
        if let Some(blob) = list.blobs.get_mut(blob) {
            blob.redacted.clone_from(&after);
            merge_rules(&mut blob.rules, rules.clone());
        }
    }
    if !blobs_by_storage.contains_key(before) || from_hex(before.as_bytes()).is_some_and(|hash| named.contains(&hash)) {
        let entry = list.blobs.entry(before.to_owned());
        let known = entry.or_insert(RedactedBlob { redacted: after.clone(), rules: Vec::new() });
        merge_rules(&mut known.rules, rules);
    }
    BundlePath::parse(blob_path(&after).as_bytes())
}
