//! Replays a session file: folds its lines, and turns their effect into a result.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use super::item_layout::{ItemLayout, LaidOutItems};
use super::scan::{Scanned, Scanner};
use crate::foreign::{OpenedSource, Stop, open_source};
use crate::lines::{LineSource, OpenedPath, ReadError, Segments, Threads, equal_segments};
use crate::order;
use crate::session::fold::{
    Checkpoint, Checkpoints, Editor, Effect, FoldOptions, HistoryEffect, ItemRef, Metadata, NewMarker, SessionEventRef,
    Start,
};
use crate::session::format::{Message, MessagePart, Mode, NoItems, Raw, string_of};

/// Why a session could not be replayed. Its [`message`](ReplayError::message) is what users read.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayError {
    /// The file could not be opened or read (rule 15).
    Read(ReadError),
    /// The file has no line at all (rule 12).
    EmptyFile,
    /// Which conversation of a foreign session is meant is not clear. The message says why.
    Conversation(String),
    /// The first line is not a `session_start` (rule 12).
    MissingStart,
    /// The `session_start` lacks fields that this mode requires (rules 9 and 22).
    InvalidStart(Mode),
    /// Strict mode: a line has a version that is not supported.
    UnsupportedVersion {
        /// The number of the line.
        line: u64,
        /// JSON text of its `v`; `None` if it has none.
        version: Option<Raw>,
    },
    /// The session belongs to another project (rule 9).
    OtherProject {
        /// The expected hash, in UTF-16.
        expected: Vec<u16>,
        /// The hash in the file, a JSON string.
        found: Raw,
    },
}

impl From<ReadError> for ReplayError {
    fn from(error: ReadError) -> Self {
        ReplayError::Read(error)
    }
}

impl From<Stop> for ReplayError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Read(error) => ReplayError::Read(error),
            stop => ReplayError::Conversation(stop.to_string()),
        }
    }
}

impl ReplayError {
    /// The error as users read it.
    pub fn message(&self) -> Message<'_> {
        match self {
            ReplayError::Read(error) => Message::text(format!("Failed to read file: {error}")),
            ReplayError::Conversation(message) => Message::text(message.clone()),
            ReplayError::EmptyFile => Message::text("Empty file"),
            ReplayError::MissingStart => Message::text("Missing or corrupt session_start event"),
            ReplayError::InvalidStart(Mode::Lenient) => Message::text("Invalid session_start: missing required fields"),
            ReplayError::InvalidStart(Mode::Strict) => {
                Message::text("Invalid session_start: missing or malformed required fields")
            }
            ReplayError::UnsupportedVersion { line, version } => Message(vec![
                MessagePart::Text("Unsupported recording version ".into()),
                MessagePart::OwnJson(version.as_deref().map_or_else(|| b"\"undefined\"".to_vec(), string_of)),
                MessagePart::Text(format!(" at line {line}").into()),
            ]),
            ReplayError::OtherProject { expected, found } => Message(vec![
                MessagePart::Text("Project hash mismatch: expected ".into()),
                MessagePart::Utf16(expected),
                MessagePart::Text(" got ".into()),
                MessagePart::Json(found),
            ]),
        }
    }
}

/// Edits are applied once there are as many of them. Few in tests.
const MIN_PENDING: usize = if cfg!(debug_assertions) { 8 } else { 1 << 16 };

/// A replay in progress, with the effect of the part of the file that is scanned so far. `L` lays out its items, if it was
/// [opened](Self::open_laid_out) with layouts.
pub struct Replay<L: ItemLayout = NoItems> {
    source: Arc<LineSource>,
    options: FoldOptions,
    segments: Option<Segments<Scanner<L>>>,
    effect: Effect,
    /// Applies edits of the history, from the first one on.
    editor: Option<Editor>,
    /// Size of the edits that are not applied yet.
    pending: usize,
    laid_out: L::LaidOut,
    /// Offset of the first line that is not scanned yet.
    scanned: u64,
    /// What the conversion of a foreign session warned of.
    conversion_warnings: Vec<String>,
}

impl Replay {
    /// Opens the file; nothing is scanned yet.
    pub fn open(path: &Path, options: FoldOptions) -> Result<Self, ReplayError> {
        Self::open_with(path, options, Threads::All)
    }

    /// Like [`open`](Self::open); `threads` says which threads scan the file.
    pub fn open_with(path: &Path, options: FoldOptions, threads: Threads) -> Result<Self, ReplayError> {
        Self::open_laid_out(OpenedPath::at(path), options, threads, || None)
    }
}

impl<L: ItemLayout> Replay<L> {
    /// Like [`open_with`](Replay::open_with), of a path that is open already, and items are [laid out](Self::laid_out) while they are scanned.
    /// `layout` is called for each thread that scans. If it returns `None`, nothing is laid out.
    pub fn open_laid_out(
        opened: OpenedPath,
        options: FoldOptions,
        threads: Threads,
        layout: impl Fn() -> Option<L>,
    ) -> Result<Self, ReplayError> {
        let (path, opened) = (opened.path().to_path_buf(), Cell::new(Some(opened)));
        // What is opened first is the path itself.
        let open = |at: &Path| LineSource::of_opened(opened.take().unwrap_or_else(|| OpenedPath::at(at)));
        let (source, conversion_warnings) = match open_source(&path, &options.foreign, open)? {
            OpenedSource::Native(source) => (source, Vec::new()),
            OpenedSource::Foreign(conversion) => (conversion.native, conversion.summary.warnings),
        };
        let source = Arc::new(source);
        let make = || Scanner::new(source.clone(), options.clone(), layout());
        let segments = Some(Segments::new(equal_segments(&source, 0), threads, make));
        Ok(Replay {
            source,
            options,
            segments,
            effect: Effect::default(),
            editor: None,
            pending: 0,
            laid_out: L::LaidOut::default(),
            scanned: 0,
            conversion_warnings,
        })
    }

    /// Continues the scan. Returns how many of the items that the history had before are still in it; `None` at the end.
    pub fn scan_on(&mut self) -> Result<Option<usize>, ReplayError> {
        let Some(scanned) = self.segments.as_mut().and_then(Segments::next_output) else {
            let has_edits = self.effect.history.has_edits();
            return Ok(if has_edits { Some(self.apply_edits()?) } else { None });
        };
        let result = self.add(scanned);
        if result.is_err() || self.effect.stopped {
            self.segments = None;
        }
        result.map(Some)
    }

    /// Scans to the end, and settles.
    pub fn complete(mut self) -> Result<Self, ReplayError> {
        while self.scan_on()?.is_some() {}
        self.settle();
        Ok(self)
    }

    fn add(&mut self, scanned: Scanned<L>) -> Result<usize, ReplayError> {
        if let Some(begin) = scanned.begin.filter(|begin| *begin != self.scanned) {
            if self.source.damage().is_some_and(|damage| damage <= begin) {
                // Another thread has read lines behind a damaged frame before that was found.
                self.segments = None;
                return Ok(self.items().len());
            }
            return Err(ReadError::Changed.into());
        }
        let lines_before = self.effect.lines;
        let mut kept = self.items().len();
        let base = self.combine(scanned.effect, &mut kept)?;
        if !self.is_edited() {
            self.laid_out.append(base, scanned.laid_out);
        }
        if scanned.begin.is_some() {
            self.scanned = scanned.end;
        }
        if scanned.at_end {
            self.segments = None;
        }
        if scanned.error.is_some() || self.effect.stopped {
            // No more lines follow, and the warnings about these are wanted.
            kept = kept.min(self.apply_edits()?);
        }
        scanned.error.map_or(Ok(kept), |error| Err(error.behind(lines_before).into()))
    }

    /// Appends the effect of the next lines. Returns how many of the items before them they leave, and limits `kept` to that number.
    fn combine(&mut self, later: Effect, kept: &mut usize) -> Result<usize, ReadError> {
        let length = self.items().len();
        let mut left = if self.effect.history.has_edits() { length } else { later.history.kept_of(length) };
        if let Some(editor) = &mut self.editor {
            editor.truncate(left);
        }
        self.pending += later.history.edit_size();
        self.effect = std::mem::take(&mut self.effect).then(later);
        // Applying edits takes time in proportion to the history too, so that as many are awaited.
        if self.effect.history.has_edits() && self.pending >= MIN_PENDING.max(length) {
            left = left.min(self.apply_edits()?);
        }
        *kept = (*kept).min(left);
        self.laid_out.truncate(left);
        Ok(left)
    }

    /// Applies the edits of the history that are not applied yet. Returns how many of the items before them they leave as they are.
    fn apply_edits(&mut self) -> Result<usize, ReadError> {
        self.pending = 0;
        if !self.effect.history.has_edits() {
            return Ok(self.items().len());
        }
        let before = self.items().to_vec();
        let editor = self.editor.get_or_insert_default();
        self.effect.resolve_edits(editor, usize::MAX, &self.source)?;
        let is_same = |(item, before): &(&ItemRef, &ItemRef)| item == before && item.marker.is_none();
        let left = self.items().iter().zip(&before).take_while(is_same).count();
        self.laid_out.truncate(left);
        Ok(left)
    }

    /// The items of the history, as far as the file is scanned.
    pub fn items(&self) -> &[ItemRef] {
        self.effect.history.items()
    }

    /// The markers that items got from edits.
    pub fn markers(&self) -> &[NewMarker] {
        &self.effect.history.markers
    }

    /// The indices of the items whose responses that a provider has stored are invalid.
    pub fn invalidated(&self) -> impl Iterator<Item = usize> + '_ {
        let is_invalid = move |item: &ItemRef| item.new_marker(self.markers()).is_some_and(|marker| marker.invalidates);
        self.items().iter().enumerate().filter(move |(_, item)| is_invalid(item)).map(|(index, _)| index)
    }

    /// Whether items were edited: they are then not in the order of the file, and any of them may change until the end of the scan.
    pub fn is_edited(&self) -> bool {
        self.effect.history.is_edited || self.effect.history.has_edits()
    }

    /// The items that are laid out.
    pub fn laid_out(&mut self) -> &mut L::LaidOut {
        &mut self.laid_out
    }

    /// The history at the creation of the checkpoint that the options name, which has this `seq`. `None` if it is not known:
    /// there are edits shortly before it.
    pub fn history_at_checkpoint(&self, seq: f64) -> Option<&HistoryEffect> {
        self.effect.history_at_checkpoint(seq)
    }

    /// The history, as far as the file is scanned.
    pub fn history(&self) -> &HistoryEffect {
        &self.effect.history
    }

    /// The session events, as far as the file is scanned.
    pub fn session_events(&self) -> &[SessionEventRef] {
        &self.effect.session_events
    }

    /// The file, to read items from.
    pub fn source(&self) -> &LineSource {
        &self.source
    }

    /// Why the replay ended before the end of the file, if it [does so](FoldOptions::ends_at_newer) at a line of a newer version.
    pub fn newer(&self) -> Option<ReplayError> {
        self.effect.newer()
    }

    /// How far the file is scanned, in bytes.
    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// Settles the replay at the end of the scan: no lines come before those that were scanned, and none after.
    pub fn settle(&mut self) {
        self.effect.settle_beginning();
    }

    /// The result, once the replay is [settled](Self::settle). `failure` is the error that ended [`scan_on`](Self::scan_on), if any; of
    /// the warnings, only those about lines are then included.
    pub fn outcome(&self, failure: Option<ReplayError>) -> Outcome<'_> {
        let effect = &self.effect;
        // A replay that stopped before the end may not have come to the damage.
        let damage = self.source.damage().filter(|_| !effect.stopped).map(ReadError::Damaged);
        let mut warnings: Vec<_> = damage.iter().map(|damage| Message::text(damage.to_string())).collect();
        warnings.extend(self.conversion_warnings.iter().map(|text| Message::text(text.clone())));
        warnings.extend(effect.warnings.messages());
        let mut checkpoints = Vec::new();
        let error = match effect.error(&self.options) {
            // Nothing can be read of it.
            Some(ReplayError::MissingStart) if damage == Some(ReadError::Damaged(0)) => damage.map(ReplayError::Read),
            error => error,
        };
        let metadata = match (failure.or(error), &effect.start) {
            (None, Start::Metadata(metadata)) => {
                let folded = Checkpoints::of(&effect.checkpoint_events);
                warnings.extend(effect.tally.messages(self.options.mode));
                warnings.extend(folded.messages());
                checkpoints = folded.all;
                Ok(effect.current(metadata, self.options.mode))
            }
            (error, _) => Err(error.unwrap_or(ReplayError::MissingStart)),
        };
        Outcome {
            metadata,
            last_seq: self.last_seq(),
            event_count: effect.tally.events,
            is_out_of_sequence: effect.is_out_of_sequence,
            checkpoints,
            session_name: effect.session_name.as_deref(),
            ancestry: effect.ancestry.as_deref(),
            purge_frontier: effect.purge_frontier.as_deref(),
            unknown_events: self.unknown_events(),
            warnings,
        }
    }

    /// What of the file is not in the result, once the replay is [settled](Self::settle).
    pub fn unread(&self) -> Unread {
        let tally = &self.effect.tally;
        if self.source.damage().is_some() || tally.unparseable > 0 || tally.without_seq > 0 {
            Unread::More
        } else if self.effect.torn {
            Unread::LastLine
        } else {
            Unread::Nothing
        }
    }

    /// In strict mode, the types of unknown events, in the order of their first ones.
    fn unknown_events(&self) -> Option<UnknownEvents<'_>> {
        let mut types: Vec<_> = self.effect.unknown_types.iter().collect();
        order::sort_by(&mut types, |(_, (one, _)), (_, (other, _))| one.cmp(other));
        let named = types.into_iter().map(|(name, (_, count))| (name.as_deref(), *count));
        (self.options.mode == Mode::Strict).then(|| named.collect())
    }

    fn last_seq(&self) -> f64 {
        match self.options.mode {
            Mode::Lenient => self.effect.last_seq.unwrap_or(0.0),
            // The maximum of 0 and every `seq`, so never -0.
            Mode::Strict => self.effect.largest_seq.filter(|seq| *seq > 0.0).unwrap_or(0.0),
        }
    }
}

/// What a replay could not read of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// All lines were read, those of unknown types included.
    Nothing,
    /// The last line is not JSON: a write that was interrupted.
    LastLine,
    /// Other lines are no events, or an archive is damaged, so that nothing is known of what is behind the damage.
    More,
}

/// The types of unknown events as JSON text, `None` for events without one, with their numbers.
pub(crate) type UnknownEvents<'a> = Vec<(Option<&'a [u8]>, u64)>;

/// The result of a replay. The history and the session events stay with the [`Replay`].
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The session's metadata, or why there is none.
    pub metadata: Result<CurrentMetadata<'a>, ReplayError>,
    /// The last `seq` seen, in strict mode the largest; 0 if there was none.
    pub last_seq: f64,
    /// Number of lines that parsed, except `null`, and in strict mode have a valid `seq`.
    pub event_count: u64,
    /// Whether some `seq` was not larger than the one before it.
    pub is_out_of_sequence: bool,
    /// The checkpoints, deleted ones included, ascending by watermark.
    pub checkpoints: Vec<Checkpoint<'a>>,
    /// JSON text of the session's last name, a string or `null`, if it ever had one.
    pub session_name: Option<&'a [u8]>,
    /// JSON text of the payload of the first `session_forked`.
    pub ancestry: Option<&'a [u8]>,
    /// JSON text of the `frontier` of the last `semantic_media_purge`.
    pub purge_frontier: Option<&'a [u8]>,
    /// In strict mode, the types of unknown events as JSON text, `None` for events without one, with their numbers.
    pub unknown_events: Option<UnknownEvents<'a>>,
    /// The warnings, in the order in which users read them.
    pub warnings: Vec<Message<'a>>,
}

/// The metadata at the end of the session; each value is JSON text.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CurrentMetadata<'a> {
    pub session_id: &'a [u8],
    pub project_hash: &'a [u8],
    pub provider: &'a [u8],
    pub model: &'a [u8],
    pub workspace_dirs: &'a [u8],
    pub start_time: &'a [u8],
    pub cwd: Option<&'a [u8]>,
    /// A string or `null`.
    pub title: Option<&'a [u8]>,
    /// In strict mode, `main` or `subagent`, a string.
    pub kind: Option<&'a [u8]>,
    /// In strict mode, the id of the parent, if it was recorded.
    pub parent_session_id: Option<&'a [u8]>,
}

impl Effect {
    /// Why a file whose lines have this effect can't be replayed; `None` if it can.
    pub fn error(&self, options: &FoldOptions) -> Option<ReplayError> {
        if let Some(error) = self.newer().filter(|_| !options.ends_at_newer) {
            return Some(error);
        }
        match &self.start {
            Start::Metadata(_) => None,
            Start::Missing if self.lines == 0 => Some(ReplayError::EmptyFile),
            Start::Missing => Some(ReplayError::MissingStart),
            Start::Invalid => Some(ReplayError::InvalidStart(options.mode)),
            Start::OtherProject(found) => Some(ReplayError::OtherProject {
                expected: options.project_hash.clone().unwrap_or_default(),
                found: found.clone(),
            }),
        }
    }

    /// Which line has a version that is not supported, as an error.
    fn newer(&self) -> Option<ReplayError> {
        let (line, version) = self.unsupported.clone()?;
        Some(ReplayError::UnsupportedVersion { line, version })
    }

    /// The metadata at the end of the session.
    pub fn current<'a>(&'a self, start: &'a Metadata, mode: Mode) -> CurrentMetadata<'a> {
        let (is_strict, kind) =
            (mode == Mode::Strict, if start.is_subagent { &br#""subagent""#[..] } else { br#""main""# });
        let switched = |later: &'a Option<Raw>, first: &'a Raw| -> &'a [u8] { later.as_ref().unwrap_or(first) };
        CurrentMetadata {
            session_id: &start.session_id,
            project_hash: &start.project_hash,
            provider: switched(&self.provider, &start.provider),
            model: switched(&self.model, &start.model),
            workspace_dirs: switched(&self.directories, &start.workspace_dirs),
            start_time: &start.start_time,
            cwd: start.cwd.as_deref(),
            title: self.title.as_deref(),
            kind: is_strict.then_some(kind),
            parent_session_id: start.parent_session_id.as_deref().filter(|_| is_strict),
        }
    }
}

#[cfg(test)]
mod tests;
