//! The rounds in which a source is redacted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read, Write};
use std::path::Path;

use twox_hash::XxHash3_128;

use super::blobs;
use super::document::{Document, Root, check_fixed, redacted};
use super::events::{redacted_event, redacted_payload, tool};
use super::json::{Step, is_json};
use super::leak_check::LeakCheck;
use super::lines::redacted_line;
use super::matcher::{Form, MatchContext, Matcher};
use super::rule::{Rule, RuleSet};
use super::staging::{StagedItem, Staging};
use crate::bundle::checked_log::CheckedSession;
use crate::bundle::container::{read_failed, read_up_to};
use crate::bundle::error::{BundleCode, BundleError, of_run};
use crate::bundle::limits::Limits;
use crate::bundle::manifest::BundleKind;
use crate::bundle::path::{self, BundlePath, REDACTIONS, blob_path};
use crate::bundle::planned_file::{ByteSource, PlannedFile, changed};
use crate::bundle::redactions::{RedactedBlob, RedactedEvent, RedactionList};
use crate::bundle::source::ExportPlan;
use crate::bundle::watch::{JobWatch, Progress};
use crate::hash::{Hash, as_text, from_hex, to_hex};
use crate::jsonl::scan::Nesting;
use crate::jsonl::text::spells;
use crate::run::canonical::{Object, write_text};
use crate::run::event::{EventLine, MAX_LINE_BYTES};
use crate::run::kind::Kind;
use crate::run::payload::Payload;
use crate::run::text::Text;

/// How many rounds it may take until nothing new is found.
const MAX_ROUNDS: usize = 8;

/// How much of a log is read at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Redacts a source by `rules`: its items are replaced by redacted ones, which lie in a directory in `beside` as long as the plan lives.
/// What was found comes as the proof that it is gone; None if there is nothing to be proven.
pub fn redact(
    mut plan: ExportPlan,
    rules: &RuleSet,
    beside: &Path,
    limits: &Limits,
    watch: &mut JobWatch<'_>,
) -> Result<(ExportPlan, Option<LeakCheck>), BundleError> {
    let earlier = plan.redactions.rules();
    let mut matcher = Matcher::new(rules, &earlier)?;
    for name in &earlier {
        let what = "the name of a rule by which the source was redacted before";
        check_fixed(&mut matcher, name.as_bytes(), MatchContext::at(Form::Inside), what)
            .map_err(|error| error.of_file(REDACTIONS))?;
    }
    let mut pass = Pass {
        plan: &plan,
        limits,
        watch,
        matcher,
        staging: None,
        beside,
        to_write: BTreeSet::new(),
        round: Round::default(),
    };
    let mut rounds = 0;
    while !pass.is_settled()? {
        rounds += 1;
        if rounds == MAX_ROUNDS {
            return Err(pass.matcher.endless(pass.round.last_rule));
        }
    }
    let Pass { matcher, staging, round, .. } = pass;
    round.apply(&mut plan, limits)?;
    plan.staging = staging;
    Ok((plan, LeakCheck::new(matcher)))
}

/// The rounds under way.
struct Pass<'p, 'r, 'w> {
    plan: &'p ExportPlan,
    limits: &'p Limits,
    watch: &'p mut JobWatch<'w>,
    matcher: Matcher<'r>,
    staging: Option<Staging>,
    beside: &'p Path,
    /// The files that are known to be hit.
    to_write: BTreeSet<BundlePath>,
    round: Round,
}

/// What one round found.
#[derive(Default)]
struct Round {
    /// Redacted files, by the path of the original.
    items: BTreeMap<BundlePath, PlannedFile>,
    /// The rules that hit a file, by its path.
    files: BTreeMap<BundlePath, Vec<String>>,
    events: BTreeMap<u64, RedactedEvent>,
    lines: BTreeMap<u64, Vec<String>>,
    /// The rules that apply to a blob because of the events that name it.
    named: HashMap<String, Vec<bool>>,
    workflow: Option<(Text<'static>, Text<'static>)>,
    last_rule: usize,
}

impl Pass<'_, '_, '_> {
    /// Goes through the source once. Whether all that is hit was written, and nothing was found that was not looked for.
    fn is_settled(&mut self) -> Result<bool, BundleError> {
        self.round = Round::default();
        let mut order: Vec<_> = self.plan.items.iter().collect();
        // The log first: it says of what tool a blob is.
        order.sort_by_key(|(path, _)| ![path::EVENT_LOG, path::SESSION_LOG].contains(&path.as_str()));
        let mut is_settled = true;
        for (path, item) in order {
            let out = self.to_write.contains(path).then(|| self.stage()).transpose()?;
            let (is_hit, item) = self.item(path, item, out).map_err(|error| error.of_file(path.as_str()))?;
            if is_hit {
                is_settled &= item.is_some();
                self.to_write.insert(path.clone());
                self.round.items.extend(item.map(|item| (path.clone(), item)));
            }
        }
        self.metadata()?;
        let has_more = self.matcher.secrets.has_more();
        if has_more {
            self.matcher.secrets.build()?;
        }
        if !is_settled || has_more {
            // A new round writes everything anew.
            self.staging = None;
        }
        Ok(is_settled && !has_more)
    }

    fn stage(&mut self) -> Result<StagedItem, BundleError> {
        match &mut self.staging {
            Some(staging) => staging.file(),
            None => self.staging.insert(Staging::new(self.beside)?).file(),
        }
    }

    fn item(
        &mut self,
        path: &BundlePath,
        item: &PlannedFile,
        out: Option<StagedItem>,
    ) -> Result<(bool, Option<PlannedFile>), BundleError> {
        if out.is_none() && self.matcher.goes_by_marks() && item.marked.as_ref().is_some_and(Vec::is_empty) {
            // It was looked through when it was hashed.
            self.tick(0)?;
            return Ok((false, None));
        }
        let mut sink = io::sink();
        let mut out = out;
        let to: &mut dyn Write = match &mut out {
            Some(out) => out,
            None => &mut sink,
        };
        let is_hit = match path.as_str() {
            path::EVENT_LOG | path::SESSION_LOG => self.log(item, to)?,
            path::WORKFLOW => self.workflow(path, item, to)?,
            other if path.blob().is_some() => self.blob(path, other, item, to)?,
            _ => self.fixed(item)?,
        };
        match (is_hit, out) {
            (true, Some(out)) => Ok((true, Some(out.finish()?))),
            (is_hit, Some(out)) => out.discard().map(|()| (is_hit, None)),
            (is_hit, None) => Ok((is_hit, None)),
        }
    }

    /// The lines of a log.
    fn log(&mut self, item: &PlannedFile, out: &mut dyn Write) -> Result<bool, BundleError> {
        let mut input = item.open()?;
        let marked = item.marked.as_deref().filter(|_| self.matcher.goes_by_marks());
        let is_run = self.plan.kind == BundleKind::Run;
        let mut lines = LogLines { is_run, marked, offset: 0, number: 0, is_hit: false };
        let mut fingerprint = XxHash3_128::new();
        let (mut buffer, mut filled) = (vec![0; BLOCK_BYTES], 0);
        loop {
            let count = read_up_to(&mut *input, &mut buffer[filled..]).map_err(read_failed)?;
            self.tick(count as u64)?;
            let is_last = count < buffer.len() - filled;
            if marked.is_some() {
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
                return match &item.origin {
                    // Where the marks are was found in what it was then.
                    ByteSource::File(disk, _, known) if marked.is_some() && fingerprint.finish_128() != *known => {
                        Err(changed(disk))
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
        self.note_blob(kind, &event);
        if !self.matcher.suspects(line.as_bytes()) {
            return Ok(None);
        }
        let mut rules = BTreeSet::new();
        let redacted = redacted_event(&mut self.matcher, kind, &event, &mut rules);
        let redacted = redacted.map_err(|error| at(error, &event.id()))?;
        if let Some(redacted) = &redacted {
            let limit = self.limits.line_bytes.min(MAX_LINE_BYTES as u64);
            if redacted.len() as u64 > limit + 1 {
                let message = format!("redacted it is longer than {limit} bytes");
                return Err(at(BundleError::new(BundleCode::LineTooLong, message), &event.id()));
            }
            self.round.last_rule = rules.first().copied().unwrap_or(0);
            let payload_hash = as_text(event.payload_hash).to_owned();
            let rules = self.matcher.names(&rules);
            self.round.events.insert(event.time, RedactedEvent { payload_hash, rules });
        }
        Ok(redacted)
    }

    /// Notes which rules apply to the blob that an event names.
    fn note_blob(&mut self, kind: Kind, event: &EventLine<'_>) {
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
        match self.round.named.get_mut(&stored) {
            Some(known) => known.iter_mut().zip(allowed).for_each(|(known, new)| *known |= new),
            None => drop(self.round.named.insert(stored, allowed)),
        }
    }

    fn line(&mut self, number: u64, line: &[u8]) -> Result<Option<Vec<u8>>, BundleError> {
        if !self.matcher.suspects(line) {
            return Ok(None);
        }
        let mut rules = BTreeSet::new();
        let place = || format!("line {number}");
        let redacted = redacted_line(&mut self.matcher, line, &mut rules).map_err(|error| at(error, &place()))?;
        if let Some(redacted) = &redacted {
            let limit = self.limits.session_line_bytes();
            if redacted.len() as u64 > limit {
                let message = format!("redacted it is longer than {limit} bytes");
                return Err(at(BundleError::new(BundleCode::LineTooLong, message), &place()));
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
        item: &PlannedFile,
        out: &mut dyn Write,
    ) -> Result<bool, BundleError> {
        let hash = name.rsplit('/').next().unwrap_or_default();
        let mut allowed = self.matcher.allowed(None, None);
        if let Some((allowed, named)) = allowed.as_mut().zip(self.round.named.get(hash)) {
            allowed.iter_mut().zip(named).for_each(|(allowed, named)| *allowed |= named);
        }
        self.bytes(path, item, allowed.as_deref(), out)
    }

    fn bytes(
        &mut self,
        path: &BundlePath,
        item: &PlannedFile,
        allowed: Option<&[bool]>,
        out: &mut dyn Write,
    ) -> Result<bool, BundleError> {
        let (mut rules, mut input) = (BTreeSet::new(), item.open()?);
        let (watch, half) = (&mut *self.watch, half(self.plan));
        let mut tick = |_| watch.tell(half);
        let is_hit =
            blobs::redact(&mut self.matcher, &mut *input, item.listed.size, allowed, &mut rules, out, &mut tick)?;
        self.note_file(path, &rules);
        Ok(is_hit)
    }

    fn note_file(&mut self, path: &BundlePath, rules: &BTreeSet<usize>) {
        if let Some(rule) = rules.first() {
            self.round.last_rule = *rule;
            self.round.files.insert(path.clone(), self.matcher.names(rules));
        }
    }

    /// What the graph was compiled from. What the graph has of it must stay.
    fn workflow(&mut self, path: &BundlePath, item: &PlannedFile, out: &mut dyn Write) -> Result<bool, BundleError> {
        if item.listed.size > blobs::MAX_JSON_BYTES as u64 {
            return self.fixed(item);
        }
        let mut json = Vec::new();
        item.open()?.read_to_end(&mut json).map_err(read_failed)?;
        if !is_json(&json) {
            return self.bytes(path, item, self.matcher.allowed(None, None).as_deref(), out);
        }
        if !self.matcher.suspects(&json) {
            return Ok(false);
        }
        let (allowed, mut rules) = (self.matcher.allowed(None, None), BTreeSet::new());
        let document = Document { allowed: &|_| allowed.as_deref(), root: Root::Here, fixed: &of_graph };
        let redacted = redacted(&mut self.matcher, &json, &document, &mut rules)?;
        self.note_file(path, &rules);
        if let Some(redacted) = &redacted {
            out.write_all(redacted).map_err(|error| BundleError::system(&error, "write", None))?;
        }
        Ok(redacted.is_some())
    }

    /// What is all state: nothing in it can be redacted.
    fn fixed(&mut self, item: &PlannedFile) -> Result<bool, BundleError> {
        let (mut rules, mut input) = (BTreeSet::new(), item.open()?);
        let (watch, half) = (&mut *self.watch, half(self.plan));
        let mut tick = |_| watch.tell(half);
        // Pointers lead to nothing in it.
        let rule_count = self.matcher.rules().len();
        let patterns: Vec<bool> = (0..rule_count)
            .map(|rule| self.matcher.applies(rule, None) && !self.matcher.rules()[rule].is_pointer())
            .collect();
        let size = item.listed.size;
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

    /// What the metadata says of a run is what its first event says, redacted by the same rules.
    fn metadata(&mut self) -> Result<(), BundleError> {
        let metadata = &self.plan.metadata;
        for time in [&metadata.started_at, &metadata.completed_at].into_iter().flatten() {
            // A session's are read again from what was redacted.
            if self.plan.kind == BundleKind::Run {
                check_fixed(&mut self.matcher, time.as_bytes(), MatchContext::at(Form::Inside), "a time of the run")
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

    fn tick(&mut self, _: u64) -> Result<(), BundleError> {
        self.watch.tell(half(self.plan))
    }
}

/// To look for secrets is between the two halves of the work.
fn half(plan: &ExportPlan) -> Progress {
    Progress { bytes: plan.source_bytes / 2, total: plan.source_bytes, files: 0 }
}

/// The payload of a RunCreated as far as metadata has it.
fn created_payload(id: &str, name: &str, version: &str) -> String {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    object.key("capabilities").extend_from_slice(b"[]");
    write_text(object.key("dagHash"), "-");
    write_text(object.key("runId"), id);
    write_text(object.key("scheduler"), "external");
    let mut workflow = Object::open(object.key("workflow"));
    write_text(workflow.key("name"), name);
    write_text(workflow.key("version"), version);
    workflow.close();
    object.close();
    String::from_utf8(out).unwrap_or_default()
}

/// The fields of a workflow that the graph is compiled from.
fn of_graph(path: &[Step<'_>]) -> Option<&'static str> {
    let [Step::Key(nodes), Step::Index(_), Step::Key(field), ..] = path else { return None };
    let fields = ["id", "kind", "tool", "dependsOn", "capabilities"];
    fields.into_iter().find(|name| spells(nodes, "nodes") && spells(field, name))
}

fn at(error: BundleError, place: &str) -> BundleError {
    if error.is_outside() {
        return error;
    }
    BundleError { message: format!("{place}: {}", error.message), ..error }
}

/// The lines of a log, one chunk after the other.
struct LogLines<'l> {
    is_run: bool,
    /// Where the marks are, if that is known.
    marked: Option<&'l [u64]>,
    /// How many bytes came before.
    offset: u64,
    /// How many lines came before.
    number: u64,
    is_hit: bool,
}

impl LogLines<'_> {
    /// Where from `from` on a line has to be looked at.
    fn suspect(&self, matcher: &Matcher<'_>, chunk: &[u8], from: usize) -> Option<usize> {
        let Some(marked) = self.marked else { return matcher.suspect(chunk, from) };
        let next = marked.get(marked.partition_point(|place| *place < self.offset + from as u64))?;
        let place = usize::try_from(next - self.offset).ok()?;
        (place < chunk.len()).then_some(place)
    }

    fn chunk(&mut self, pass: &mut Pass<'_, '_, '_>, chunk: &[u8], out: &mut dyn Write) -> Result<(), BundleError> {
        let (mut written, mut from) = (0, 0);
        let failed = |error: io::Error| BundleError::system(&error, "write", None);
        while let Some(suspect) = self.suspect(&pass.matcher, chunk, from) {
            let start = memchr::memrchr(b'\n', &chunk[from..suspect]).map_or(from, |newline| from + newline + 1);
            let end = memchr::memchr(b'\n', &chunk[suspect..]).map_or(chunk.len(), |newline| suspect + newline);
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
    /// Puts what was redacted in the place of the original.
    fn apply(self, plan: &mut ExportPlan, limits: &Limits) -> Result<(), BundleError> {
        let list = &mut plan.redactions;
        let mut stored = HashMap::<String, Vec<String>>::new();
        for (blob, redacted) in &list.blobs {
            stored.entry(redacted.redacted.clone()).or_default().push(blob.clone());
        }
        for (time, RedactedEvent { payload_hash, rules }) in self.events {
            let known = list.events.entry(time).or_insert(RedactedEvent { payload_hash, rules: Vec::new() });
            merge(&mut known.rules, rules);
        }
        for (line, rules) in self.lines {
            merge(list.lines.entry(line).or_default(), rules);
        }
        for (path, item) in self.items {
            plan.items.remove(&path);
            let rules = self.files.get(&path).cloned().unwrap_or_default();
            let stored_at = match path.blob() {
                Some(_) => {
                    if item.listed.size > limits.blob_bytes {
                        let message =
                            format!("redacted it is larger than {} bytes, the limit for blobs", limits.blob_bytes);
                        return Err(BundleError::about(BundleCode::BlobTooLarge, path.as_str(), message));
                    }
                    map_blob(list, &stored, &plan.named, &path, &item, rules)?
                }
                None => {
                    if path.as_str() == path::WORKFLOW {
                        merge(list.files.entry(path.as_str().to_owned()).or_default(), rules);
                    }
                    path
                }
            };
            if stored_at.as_str() == path::SESSION_LOG {
                let mut session = CheckedSession::of_source();
                session.read(&mut *item.open()?, limits)?;
                plan.metadata.started_at = session.started_at;
                plan.metadata.completed_at = session.completed_at;
            }
            plan.items.insert(stored_at, item);
        }
        plan.metadata.blobs = plan.items.keys().filter(|path| path.blob().is_some()).count() as u64;
        if let Some(workflow) = self.workflow {
            plan.metadata.workflow = Some(workflow);
        }
        Ok(())
    }
}

/// Notes where a blob is stored that was redacted. `stored` are those that were redacted before, by where they were.
fn map_blob(
    list: &mut RedactionList,
    stored: &HashMap<String, Vec<String>>,
    named: &HashSet<Hash>,
    path: &BundlePath,
    item: &PlannedFile,
    rules: Vec<String>,
) -> Result<BundlePath, BundleError> {
    let before = path.as_str().rsplit('/').next().unwrap_or_default();
    let after = as_text(&to_hex(&item.listed.sha256)).to_owned();
    for blob in stored.get(before).into_iter().flatten() {
        if let Some(blob) = list.blobs.get_mut(blob) {
            blob.redacted.clone_from(&after);
            merge(&mut blob.rules, rules.clone());
        }
    }
    if !stored.contains_key(before) || from_hex(before.as_bytes()).is_some_and(|hash| named.contains(&hash)) {
        list.blobs.insert(before.to_owned(), RedactedBlob { redacted: after.clone(), rules });
    }
    BundlePath::parse(blob_path(&after).as_bytes())
}

fn merge(known: &mut Vec<String>, rules: Vec<String>) {
    known.extend(rules);
    known.sort_unstable();
    known.dedup();
}
