//! The lines of a session as rows.

use std::ops::Range;

use super::file_hash::FileHash;
use super::hashed_line::{HashedLine, hashed_lines};
use super::item::{Item, item_of};
use session_tape_core::diff::{RecordDigest, RecordDigester, Tree};
use session_tape_core::disk::OsError;
use session_tape_core::hash::Hash;
use session_tape_core::json::{Nesting, Span, Text};
use session_tape_core::lines::{LineReader, LineSource, ReadError};
use session_tape_core::session::fold::{Effect, FoldOptions, LinePosition};
use session_tape_core::session::format::{Body, Line, StartFields};
use session_tape_core::session::media::RecordReferences;
use session_tape_core::session::read::{LineStatus, RecordReader};
use session_tape_core::task::Cancellation;
use sha2::{Digest as _, Sha256};

/// What an event changes for the events after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change<'l> {
    /// Nothing.
    None,
    /// Adds an item to the history: the one that begins at this offset in the file.
    Item(u64),
    /// Replaces the history by one item: the one that begins at this offset in the file.
    Summary(u64),
    /// Removes this many items from the end of the history, or those from an item that it names on.
    Rewind(u64),
    /// Edits the history with items of its own: replaces items or all of them, or inserts one.
    Edit,
    /// Changes the provider, and the model if there is one: JSON strings.
    Provider(&'l [u8], Option<&'l [u8]>),
}

/// The references to media of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaTotals {
    /// How many there are.
    pub count: u64,
    /// The bytes of the media, as the references say.
    pub bytes: u64,
}

impl MediaTotals {
    fn of_line(line: &[u8]) -> Self {
        let references = RecordReferences::of_line(line).map(|record| record.references).unwrap_or_default();
        let bytes = references.iter().map(|reference| reference.selected.byte_length());
        MediaTotals { count: references.len() as u64, bytes: bytes.fold(0, u64::saturating_add) }
    }
}

/// A line of a session.
pub struct SessionRow<'l> {
    /// Its offset in the file.
    pub offset: u64,
    /// Its length in bytes, without the ending.
    pub length: u64,
    /// The hash of its bytes.
    pub sha256: Hash,
    /// How a replay reads it. `None` for a blank line and for `null`, which a replay skips. Never `Torn`, since it is not known yet
    /// whether the line is the last one.
    pub status: Option<LineStatus>,
    /// The envelope's `seq`, if it is a number.
    pub seq: Option<f64>,
    /// The envelope's `ts`, JSON text.
    pub ts: Option<&'l [u8]>,
    /// The change that it makes.
    pub change: Change<'l>,
    /// The media that its payload refers to. `None` if the line is not an event.
    pub media: Option<MediaTotals>,
    /// The digest of what is compared. `None` if the line is not an event.
    pub record: Option<RecordDigest>,
    tree: Option<Tree<'l>>,
}

impl<'l> SessionRow<'l> {
    /// A row with only the place and the hash of its line.
    fn unread(offset: u64, length: u64, sha256: Hash) -> Self {
        SessionRow {
            offset,
            length,
            sha256,
            status: None,
            seq: None,
            ts: None,
            change: Change::None,
            media: None,
            record: None,
            tree: None,
        }
    }
}

impl SessionRow<'_> {
    /// The event's type, if it is a string.
    pub fn event_type(&self) -> Option<Text<'_>> {
        let tree = self.tree.as_ref()?;
        tree.string(tree.at(&["type"])?)
    }

    /// The payload as written in the line.
    pub fn payload(&self) -> Option<&str> {
        let tree = self.tree.as_ref()?;
        Some(tree.text(tree.at(&["payload"])?))
    }

    /// The item that the event adds to the history.
    pub fn item(&self) -> Option<Item<'_>> {
        let tree = self.tree.as_ref()?;
        match self.change {
            Change::Item(_) | Change::Edit => item_of(tree, "content"),
            Change::Summary(_) => item_of(tree, "summary"),
            _ => None,
        }
    }

    /// A member of the payload that is a string.
    pub fn text(&self, name: &str) -> Option<Text<'_>> {
        let tree = self.tree.as_ref()?;
        tree.string(tree.at(&["payload", name])?)
    }

    /// A member of the payload that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        let tree = self.tree.as_ref()?;
        session_tape_core::session::format::number(tree.text(tree.at(&["payload", name])?).as_bytes())
    }
}

/// The result of reading a part of a file.
#[derive(Debug)]
pub struct SessionPart {
    /// Offset of the first line that begins in the part. `None` if none does.
    pub begin: Option<u64>,
    /// Offset of the first line of the next part.
    pub end: u64,
    /// Number of physical lines.
    pub lines: u64,
    /// The effect of its lines.
    pub(super) effect: Effect,
}

impl SessionPart {
    /// The items that the part adds to the history and does not remove again: their offsets in the file, in order.
    pub fn items(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.effect.history.items().iter().map(|item| item.offset)
    }
}

/// Reads parts of session files. Reuses its buffers.
#[derive(Default)]
pub struct SessionReader {
    reader: LineReader,
    nesting: Nesting,
    digester: RecordDigester,
    options: FoldOptions,
}

impl SessionReader {
    /// Calls `take` with each line that begins in `range`, in order. The range need not begin or end at the boundaries of lines. The lines
    /// are added to `whole` if they are the next bytes there.
    pub fn read(
        &mut self,
        source: &LineSource,
        range: Range<u64>,
        mut whole: Option<&mut FileHash>,
        take: &mut dyn FnMut(&mut SessionRow<'_>),
    ) -> Result<SessionPart, ReadError> {
        self.reader.begin(range);
        let begin = self.reader.first_line(source)?;
        let mut effect = Effect::default();
        let mut lines = 0;
        let SessionReader { reader, nesting, digester, options } = self;
        while let Some(chunk) = reader.next_chunk(source, lines)? {
            let (offset, at_start, is_last) = (chunk.offset, chunk.at_start, chunk.unterminated);
            let is_placeholder = chunk.bytes == RecordReader::SKIPPED;
            if let Some(whole) = whole.as_deref_mut().filter(|_| !is_placeholder) {
                whole.next(offset, chunk.bytes);
            }
            for hashed in hashed_lines(chunk.bytes) {
                lines += 1;
                let HashedLine { at, line, .. } = hashed;
                let place = LinePosition { line, offset: offset + at as u64, first_of_file: at_start && at == 0 };
                let (read, tree) = digester.read(line, nesting);
                let row = (!is_placeholder).then(|| row_of(&read, tree, &place, &hashed, nesting, digester));
                if !effect.stopped {
                    effect.add_read_line(read, &place, options);
                }
                if let Some(mut row) = row {
                    take(&mut row);
                    row.tree.into_iter().for_each(|tree| digester.recycle(tree));
                }
            }
            if is_placeholder {
                let end = reader.position() - u64::from(!is_last);
                take(&mut skipped_row(source, offset..end, !is_last)?);
            }
        }
        Ok(SessionPart { begin, end: reader.position(), lines, effect })
    }
}

/// Number of bytes of a skipped line that are hashed at a time.
const HASHED_BYTES: usize = 64 << 10;

fn row_of<'l>(
    read: &Line,
    tree: Option<Tree<'l>>,
    place: &LinePosition<'l>,
    hashed: &HashedLine<'l>,
    nesting: &mut Nesting,
    digester: &mut RecordDigester,
) -> SessionRow<'l> {
    let line = hashed.line;
    let mut row = SessionRow::unread(place.offset, hashed.content.len() as u64, hashed.sha256);
    row.status = LineStatus::of(read, place.first_of_file);
    if let Line::Event(event) = read {
        row.seq = event.seq;
        row.ts = event.ts.map(|ts| ts.of(line));
        row.change = change_of(&event.body, line, place);
        row.media = Some(MediaTotals::of_line(line));
        (row.record, row.tree) = digester.digest(line, tree, nesting).unzip();
    }
    row
}

/// What a replay takes for a provider that is not a string.
const EMPTY: &[u8] = br#""""#;

fn change_of<'l>(body: &Body, line: &'l [u8], place: &LinePosition<'l>) -> Change<'l> {
    let offset = |span: &Span| place.offset + u64::from(span.start);
    match body {
        Body::Content(item) => Change::Item(offset(item)),
        Body::Compressed(summary) => Change::Summary(offset(summary)),
        Body::Rewind(count, _) => Change::Rewind(*count),
        Body::Edit(_) | Body::Purge(_) if body.has_items() => Change::Edit,
        Body::ProviderSwitch(provider, model) => Change::Provider(provider.of(line), model.map(|model| model.of(line))),
        Body::SessionStart(Some(StartFields { provider, model, .. })) if place.first_of_file => {
            let provider = provider.map_or(EMPTY, |provider| provider.of(line));
            Change::Provider(provider, model.map(|model| model.of(line)))
        }
        _ => Change::None,
    }
}

/// The row of a line whose bytes were not kept. They are read again.
fn skipped_row(source: &LineSource, line: Range<u64>, is_terminated: bool) -> Result<SessionRow<'static>, ReadError> {
    let content = RecordReader::skipped_content(source, line, is_terminated)?;
    let (offset, length) = (content.start, content.end - content.start);
    let (mut hasher, mut buffer, mut at) = (Sha256::new(), vec![0; HASHED_BYTES], 0);
    let cancellation = Cancellation::current();
    while at < length {
        cancellation.check().map_err(|error| ReadError::System(OsError::new(&error, "read", None)))?;
        let wanted = usize::try_from(length - at).unwrap_or(HASHED_BYTES).min(HASHED_BYTES);
        match source.read_at(&mut buffer[..wanted], offset + at)? {
            0 => return Err(ReadError::Changed),
            count => {
                hasher.update(&buffer[..count]);
                at += count as u64;
            }
        }
    }
    let row = SessionRow::unread(offset, length, hasher.finalize().into());
    Ok(SessionRow { status: Some(LineStatus::Unparseable), ..row })
}
