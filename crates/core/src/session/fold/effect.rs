//! **Replay is a fold whose effects compose.**
//!
//! A range of lines has an [`Effect`] that does not depend on the lines before it: "the last k items are removed, these are appended; the
//! provider becomes p; n events; these warnings, with line numbers relative to the range". Effects combine associatively: for any text
//! that is cut at the end of a line, `effect(a ++ b) == effect(a).then(effect(b))`. So parts of a file can be scanned separately, and
//! the memory that a replay needs is that of an effect, not of a file.
//!
//! Two questions about an effect are settled only when it is combined with its neighbours: whether its first `seq` is larger than the
//! last one before it, and whether a last line that does not parse is the last line of the file (a torn line, which is forgiven) or not.

use std::collections::BTreeMap;

use super::checkpoint::CheckpointEvent;
use super::editor::Editor;
use super::history::{HistoryEffect, ItemRef};
use super::keyed::KeyedItem;
use super::warnings::{Problem, Tally, Warning, Warnings};
use crate::foreign::Foreign;
use crate::json::{Nesting, Span};
use crate::lines::{LineSource, Lines, ReadError};
use crate::session::format::{
    Body, CheckpointChange, CheckpointFields, Cut, Event, EventType, Fault, Line, Mode, Raw, Severity, StartFields,
    is_string, is_valid_seq,
};
use crate::session::format::{ItemSink, NoItems};

/// The effect of a range of lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effect {
    /// Number of physical lines.
    pub lines: u64,
    /// The lines, counted by the result of reading them.
    pub tally: Tally,
    /// Their warnings. Line numbers are relative to the range, whose first line is 1.
    pub warnings: Warnings,
    /// The last of the lines did not parse. It is counted only once another line follows.
    pub torn: bool,
    /// The first event with a `seq`. Whether it is larger than the last one before these lines is not settled yet.
    first_seq: Option<FirstSeq>,
    /// The last `seq`.
    pub last_seq: Option<f64>,
    /// The largest `seq`.
    pub largest_seq: Option<f64>,
    /// The types of unknown events, as JSON text; `None` for events without one. Of each the line of the first event, and their number.
    pub unknown_types: BTreeMap<Option<Raw>, (u64, u64)>,
    /// Some `seq` is not larger than the one before it. Set even if there are too many warnings to keep the one about it.
    pub is_out_of_sequence: bool,
    /// The result of reading the file's first line. [`Start::Missing`] if these lines do not include it.
    pub start: Start,
    /// The last provider that was switched to.
    pub provider: Option<Raw>,
    /// The last model that was switched to.
    pub model: Option<Raw>,
    /// The last workspace directories.
    pub directories: Option<Raw>,
    /// The last title, a string or `null`.
    pub title: Option<Raw>,
    /// The last name of the session, a string or `null`.
    pub session_name: Option<Raw>,
    /// The payload of the first `session_forked`.
    pub ancestry: Option<Raw>,
    /// All events about checkpoints.
    pub checkpoint_events: Vec<CheckpointEvent>,
    /// All session events.
    pub session_events: Vec<SessionEventRef>,
    /// JSON text of the `frontier` of the last `semantic_media_purge`.
    pub purge_frontier: Option<Raw>,
    /// The effect on the history.
    pub history: HistoryEffect,
    /// The `seq` of the creation of the [requested](FoldOptions::checkpoint_id) checkpoint, and the effect on the history up to there.
    at_checkpoint: Option<(f64, HistoryEffect)>,
    /// Strict mode: the number of the line whose version is not supported, and the JSON text of its `v`; `None` if it has none. The replay ends before it.
    pub unsupported: Option<(u64, Option<Raw>)>,
    /// Whether the replay ends here, whatever lines follow.
    pub stopped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct FirstSeq {
    seq: f64,
    line: u64,
    /// Whether these lines have an event before it.
    event_before: bool,
}

/// The result of reading the file's first line.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// It is not a `session_start`.
    #[default]
    Missing,
    /// The session's metadata.
    Metadata(Box<Metadata>),
    /// A `session_start` without all the fields that the mode requires.
    Invalid,
    /// The `session_start` of another project, with that project's hash.
    OtherProject(Raw),
}

/// The metadata of a session, each value as JSON text.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Metadata {
    pub session_id: Raw,
    pub project_hash: Raw,
    pub provider: Raw,
    pub model: Raw,
    pub workspace_dirs: Raw,
    pub start_time: Raw,
    /// `None` if it was not recorded.
    pub cwd: Option<Raw>,
    pub is_subagent: bool,
    /// `None` if it was not recorded.
    pub parent_session_id: Option<Raw>,
}

/// The place of a session event in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionEventRef {
    /// Offset in the file of its line, to which the spans are relative.
    pub line_offset: u64,
    /// How serious it is.
    pub severity: Severity,
    /// The message, a JSON string.
    pub message: Span,
    /// The envelope's `ts`, of any type.
    pub ts: Option<Span>,
    /// The envelope's `seq`, if it is a number.
    pub seq: Option<f64>,
}

/// Options of a fold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoldOptions {
    /// The hash, in UTF-16, that the session's project must have.
    pub project_hash: Option<Vec<u16>>,
    /// Stops before the first line with a larger `seq`, whatever else is in that line.
    pub through_seq: Option<f64>,
    /// The id, in UTF-16, of a checkpoint. The history at its creation is kept, see [`Effect::items_at_checkpoint`].
    pub checkpoint_id: Option<Vec<u16>>,
    /// How strictly lines are validated.
    pub mode: Mode,
    /// Strict mode: a line whose version is not supported ends the replay as if the file ended before it, rather than with an error.
    pub ends_at_newer: bool,
    /// Whether the file may be a foreign session.
    pub foreign: Foreign,
}

/// Turns lines into effects.
pub struct Fold {
    options: FoldOptions,
    nesting: Nesting,
}

impl Fold {
    /// A fold with these options.
    pub fn new(options: FoldOptions) -> Self {
        Fold { options, nesting: Nesting::default() }
    }

    /// The effect of whole lines that begin at `offset` in their file. `at_start` says whether the first of them is the file's first.
    pub fn effect(&mut self, text: &[u8], offset: u64, at_start: bool) -> Effect {
        self.effect_into(&mut NoItems, text, offset, at_start)
    }

    /// Like [`effect`](Self::effect), and passes what may be an item to `items`.
    pub fn effect_into(&mut self, items: &mut impl ItemSink, text: &[u8], offset: u64, at_start: bool) -> Effect {
        let mut effect = Effect::default();
        for (at, line) in Lines::new(text) {
            let place = LinePosition { line, offset: offset + at as u64, first_of_file: at_start && at == 0 };
            items.begin_line(place.offset);
            effect.add_line(&place, &self.options, &mut self.nesting, items);
            if effect.stopped {
                break;
            }
        }
        effect
    }
}

/// A line and its place in the file.
pub struct LinePosition<'a> {
    /// The line, without its ending.
    pub line: &'a [u8],
    /// Its offset in the file.
    pub offset: u64,
    /// Whether it is the file's first.
    pub first_of_file: bool,
}

impl LinePosition<'_> {
    /// Applies what an event of this line, which has this number, does to the history.
    #[inline]
    pub fn change_history(&self, body: &Body, number: u64, history: &mut HistoryEffect) {
        if let Some(change) = body.change(|span| self.item(span)) {
            history.apply(number, change);
        }
    }

    /// The item at this place, with its key.
    pub(crate) fn keyed(&self, span: Span) -> KeyedItem {
        KeyedItem::of(span.of(self.line), self.offset + u64::from(span.start))
    }

    fn item(&self, span: Span) -> ItemRef {
        ItemRef::at(self.offset + u64::from(span.start), span.end - span.start)
    }

    #[inline]
    fn raw(&self, span: Span) -> Raw {
        span.of(self.line).into()
    }

    /// The event about a checkpoint. The payload was accepted, so `seq` is valid.
    fn checkpoint_event(
        &self,
        fields: &CheckpointFields,
        seq: Option<f64>,
        ts: Option<Span>,
    ) -> Option<CheckpointEvent> {
        let change = match fields.change {
            CheckpointChange::Created(name) => CheckpointChange::Created(self.raw(name)),
            CheckpointChange::Renamed(name) => CheckpointChange::Renamed(self.raw(name)),
            CheckpointChange::Deleted => CheckpointChange::Deleted,
        };
        let seq = seq.filter(|seq| is_valid_seq(*seq))?;
        let ts = ts.map(|ts| self.raw(ts)).filter(|ts| ts.starts_with(b"\""));
        Some(CheckpointEvent { seq, id: self.raw(fields.id), change, ts })
    }

    fn raw_or(&self, span: Option<Span>, otherwise: &[u8]) -> Raw {
        span.map_or_else(|| otherwise.into(), |span| self.raw(span))
    }
}

impl Effect {
    fn add_line(
        &mut self,
        place: &LinePosition<'_>,
        options: &FoldOptions,
        nesting: &mut Nesting,
        items: &mut impl ItemSink,
    ) {
        self.add_read_line(Line::read_into(items, place.line, options.mode, nesting), place, options);
    }

    /// Adds a line that was already read.
    pub fn add_read_line(&mut self, line: Line, place: &LinePosition<'_>, options: &FoldOptions) {
        self.settle_torn();
        self.lines += 1;
        if let (Some(seq), Some(limit)) = (line.seq(), options.through_seq)
            && seq > limit
        {
            self.stopped = true;
            return;
        }
        match line {
            Line::Blank | Line::Null => {}
            Line::Unparseable => self.torn = true,
            Line::Unsupported { version, .. } => {
                let version = version.map(|version| place.raw(version));
                self.unsupported = Some((self.lines, version));
                self.stopped = true;
            }
            Line::WithoutSeq => {
                self.tally.without_seq += 1;
                self.warnings.push(self.lines, Problem::MalformedSeq);
            }
            Line::Event(event) => self.add_event(event, place, options),
        }
    }

    /// Called when another line follows: if the last line did not parse, it was not the file's last, and is counted.
    fn settle_torn(&mut self) {
        if std::mem::take(&mut self.torn) {
            self.tally.unparseable += 1;
            self.warnings.push(self.lines, Problem::Unparseable);
        }
    }

    fn add_event(&mut self, event: Event, place: &LinePosition<'_>, options: &FoldOptions) {
        if let Some(seq) = event.seq {
            self.add_seq(seq);
        }
        self.tally.events += 1;
        place.change_history(&event.body, self.lines, &mut self.history);
        match event.body {
            Body::SessionStart(fields) if place.first_of_file => self.add_start(fields, place, options),
            Body::SessionStart(_) => self.warnings.push(self.lines, Problem::MisplacedStart),
            Body::Content(_) | Body::Compressed(_) | Body::Edit(_) => {}
            Body::Rewind(_, cut) => {
                if cut == Cut::Malformed {
                    self.tally.malformed += 1;
                    self.warnings.push(self.lines, Problem::Malformed(EventType::Rewind, Fault::Cut));
                }
            }
            Body::Purge(purge) => self.purge_frontier = Some(purge.frontier),
            Body::CompressionDetail => {}
            Body::ProviderSwitch(provider, model) => {
                self.provider = Some(place.raw(provider));
                if let Some(model) = model {
                    self.model = Some(place.raw(model));
                }
            }
            Body::SessionEvent(severity, message) => self.session_events.push(SessionEventRef {
                line_offset: place.offset,
                severity,
                message,
                ts: event.ts,
                seq: event.seq,
            }),
            Body::DirectoriesChanged(directories) => self.directories = Some(place.raw(directories)),
            Body::SessionMetadata(title) => {
                if let Some(title) = title {
                    self.title = Some(place.raw(title));
                }
            }
            Body::SessionNamed(name) => self.session_name = Some(place.raw(name)),
            Body::SessionForked(payload) => {
                self.ancestry.get_or_insert_with(|| place.raw(payload));
            }
            Body::Checkpoint(fields) => {
                if let (Some(wanted), CheckpointChange::Created(_), Some(seq)) =
                    (&options.checkpoint_id, &fields.change, event.seq)
                    && is_string(fields.id.of(place.line), wanted)
                {
                    self.at_checkpoint.get_or_insert_with(|| (seq, self.history.clone()));
                }
                self.checkpoint_events.extend(place.checkpoint_event(&fields, event.seq, event.ts));
            }
            Body::Malformed(event_type, fault) => {
                self.tally.malformed += 1;
                self.warnings.push(self.lines, Problem::Malformed(event_type, fault));
            }
            Body::Unknown(name) => {
                self.tally.unknown += 1;
                let name = name.map(|span| place.raw(span));
                self.unknown_types.entry(name.clone()).or_insert((self.lines, 0)).1 += 1;
                self.warnings.push(self.lines, Problem::UnknownType(name));
            }
        }
    }

    fn add_seq(&mut self, seq: f64) {
        match self.last_seq {
            Some(last) if seq <= last => {
                self.is_out_of_sequence = true;
                self.warnings.push(self.lines, Problem::NonMonotonicSeq { seq, last });
            }
            Some(_) => {}
            None => {
                self.first_seq = Some(FirstSeq { seq, line: self.lines, event_before: self.tally.events > 0 });
            }
        }
        self.last_seq = Some(seq);
        self.largest_seq = larger(self.largest_seq, Some(seq));
    }

    fn add_start(&mut self, fields: Option<StartFields>, place: &LinePosition<'_>, options: &FoldOptions) {
        self.start = match fields {
            None => Start::Invalid,
            Some(fields) if !options.is_expected(fields.project_hash.of(place.line)) => {
                Start::OtherProject(place.raw(fields.project_hash))
            }
            Some(fields) => Start::Metadata(Box::new(Metadata {
                session_id: place.raw(fields.session_id),
                project_hash: place.raw(fields.project_hash),
                provider: place.raw_or(fields.provider, b"\"\""),
                model: place.raw_or(fields.model, b"\"\""),
                workspace_dirs: place.raw_or(fields.workspace_dirs, b"[]"),
                start_time: place.raw_or(fields.start_time, b"\"\""),
                cwd: fields.cwd.map(|span| place.raw(span)),
                is_subagent: fields.is_subagent,
                parent_session_id: fields.parent_session_id.map(|span| place.raw(span)),
            })),
        };
        self.stopped = !matches!(self.start, Start::Metadata(_));
    }

    /// The effect of these lines followed by those of `later`, which come directly after them.
    #[must_use]
    pub fn then(mut self, mut later: Effect) -> Effect {
        if self.stopped || later.lines == 0 {
            return self;
        }
        if self.lines == 0 {
            return later;
        }
        self.settle_torn();
        self.settle_seq(&mut later);
        self.warnings.append(later.warnings, self.lines);
        let lines = self.lines;
        self.lines += later.lines;
        for (name, (first, count)) in later.unknown_types {
            self.unknown_types.entry(name).or_insert((lines + first, 0)).1 += count;
        }
        self.unsupported = later.unsupported.map(|(line, version)| (lines + line, version));
        self.purge_frontier = later.purge_frontier.or(self.purge_frontier);
        self.tally.add(later.tally);
        self.torn = later.torn;
        self.last_seq = later.last_seq.or(self.last_seq);
        self.largest_seq = larger(self.largest_seq, later.largest_seq);
        self.is_out_of_sequence |= later.is_out_of_sequence;
        self.provider = later.provider.or(self.provider);
        self.model = later.model.or(self.model);
        self.directories = later.directories.or(self.directories);
        self.title = later.title.or(self.title);
        self.session_name = later.session_name.or(self.session_name);
        self.ancestry = self.ancestry.or(later.ancestry);
        self.checkpoint_events.extend(later.checkpoint_events);
        self.session_events.extend(later.session_events);
        if let (None, Some((seq, noted))) = (&self.at_checkpoint, later.at_checkpoint) {
            let mut history = self.history.clone();
            history.append(noted, lines);
            self.at_checkpoint = Some((seq, history));
        }
        self.history.append(later.history, lines);
        self.stopped = later.stopped;
        self
    }

    /// Settles whether the first `seq` of `later` is larger than our last one. If we have none, the question stays open.
    fn settle_seq(&mut self, later: &mut Effect) {
        let Some(first) = later.first_seq.take() else { return };
        match self.last_seq {
            Some(last) => {
                if first.seq <= last {
                    later.is_out_of_sequence = true;
                    later.warnings.insert_about_seq(first.warning(last));
                }
            }
            None => {
                self.first_seq = Some(FirstSeq {
                    line: first.line + self.lines,
                    event_before: first.event_before || self.tally.events > 0,
                    ..first
                });
            }
        }
    }

    /// The items of the history at the creation of the requested checkpoint, if that has this `seq` and these are the file's first lines.
    /// `None` if there are edits between the last ones that were [resolved](Self::resolve_edits) and the creation.
    pub fn history_at_checkpoint(&self, seq: f64) -> Option<&HistoryEffect> {
        let (noted_seq, history) = self.at_checkpoint.as_ref()?;
        (*noted_seq == seq && !history.has_edits()).then_some(history)
    }

    /// Applies the edits of the history. These lines must be the first of the file; `kept` is the number of items that the history at the last call
    /// with this editor has still in common with this one.
    pub fn resolve_edits(&mut self, editor: &mut Editor, kept: usize, source: &LineSource) -> Result<(), ReadError> {
        for (line, event_type) in editor.resolve(&mut self.history, kept, source)? {
            self.tally.malformed += 1;
            self.warnings.insert_about_event(Warning { line, problem: Problem::Malformed(event_type, Fault::Event) });
        }
        Ok(())
    }

    /// Settles the first `seq`, given that these lines are the file's first: if events without a `seq` come before it, it must be larger
    /// than 0.
    pub fn settle_beginning(&mut self) {
        if let Some(first) = self.first_seq.take()
            && first.event_before
            && first.seq <= 0.0
        {
            self.is_out_of_sequence = true;
            self.warnings.insert_about_seq(first.warning(0.0));
        }
    }
}

/// The larger of two numbers, neither of which is NaN.
fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other > one { other } else { one }),
        (one, other) => one.or(other),
    }
}

impl FirstSeq {
    fn warning(&self, last: f64) -> Warning {
        Warning { line: self.line, problem: Problem::NonMonotonicSeq { seq: self.seq, last } }
    }
}

impl FoldOptions {
    /// Whether the project hash, a JSON string, is the one that the options require, if they require one.
    pub fn is_expected(&self, project_hash: &[u8]) -> bool {
        let Some(expected) = &self.project_hash else { return true };
        let inside = project_hash.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        inside.is_some_and(|inside| crate::json::decode(inside).eq(expected.iter().copied()))
    }
}

#[cfg(test)]
mod tests;
