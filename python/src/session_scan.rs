//! What a part of a session contributes to the tables, independently of the parts before it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use session_tape_core::diff::RecordDigest;
use session_tape_core::foreign::{Origin, Origins};
use session_tape_core::{LineSource, LineStatus, ReadError};

use crate::columns::{Enums, Flags, Hashes, Integers, Texts, Times};
use crate::options::Options;
use crate::rows::{Block, Change, FileHash, SessionPart, SessionReader, SessionRow, Value, text_of_json};
use crate::values::{append_value, count, integer, limited, time_of_json};

/// The columns of `events` that depend on the line alone.
#[derive(Default)]
pub struct LineColumns {
    pub byte_offset: Integers,
    pub byte_length: Integers,
    pub line_sha256: Hashes<32>,
    pub seq: Integers,
    pub ts: Times,
    pub event_type: Enums,
    pub speaker: Enums,
    pub text: Texts,
    pub text_bytes: Integers,
    pub tool_name: Enums,
    pub tool_call_id: Texts,
    pub tool_calls: Integers,
    pub is_error: Flags,
    pub result_bytes: Integers,
    pub severity: Enums,
    pub message: Texts,
    pub items_removed: Integers,
    pub items_compressed: Integers,
    pub media_count: Integers,
    pub media_bytes: Integers,
    pub payload: Texts,
}

/// What a line contributes to columns and counts that depend on other lines too.
pub struct LineContext {
    /// `None` for blank lines and `null`.
    pub status: Option<LineStatus>,
    /// Index of the type in `COUNTED_TYPES`, if it is counted.
    pub counted_type: Option<usize>,
    pub ts: Option<i64>,
    /// The line of the record that it comes from, if the session was converted.
    pub origin: Option<i64>,
    /// The bytes of the line, if it has items for the history.
    pub items: Option<Range<u64>>,
    pub is_human: bool,
    pub is_compression: bool,
    pub is_rewind: bool,
    /// The provider that is in effect from this line on, and the model if it changes too.
    pub provider: Option<(String, Option<String>)>,
    pub record: Option<RecordDigest>,
    pub calls: u32,
    pub errors: u32,
}

/// A tool call or a tool response.
pub struct CallFact {
    /// Index of its line in the part, from 0.
    pub line: usize,
    pub id: Option<String>,
    pub name: Option<String>,
    pub of: CallSide,
}

/// The data that only a call has, or only a response.
pub enum CallSide {
    Call { arguments: Option<String> },
    Response { result: Option<String>, result_bytes: i64, is_error: bool },
}

/// A scanned part of a session.
pub struct ScannedPart {
    pub part: SessionPart,
    pub lines: Vec<LineContext>,
    pub calls: Vec<CallFact>,
}

/// Scans parts of sessions, and reuses its buffers from one to the next.
pub struct Scanner {
    reader: SessionReader,
    options: Options,
    /// The texts of an item.
    joined: String,
    /// Number of lines in the last part, for which room is reserved: most parts are similar, and growing copies.
    usual_lines: usize,
}

impl Scanner {
    /// Creates a scanner for the tables that `options` selects.
    pub fn new(options: Options) -> Self {
        Scanner { reader: SessionReader::default(), options, joined: String::new(), usual_lines: 0 }
    }

    /// Scans the lines that begin in `range`.
    pub fn scan(
        &mut self,
        text: &SessionText,
        range: Range<u64>,
        whole: Option<&mut FileHash>,
        columns: &mut LineColumns,
    ) -> Result<ScannedPart, ReadError> {
        let Scanner { reader, options, joined, usual_lines } = self;
        let (mut lines, mut calls) = (Vec::with_capacity(*usual_lines), Vec::new());
        let mut origins = text.origins.as_ref().map(OriginReader::new);
        let part = reader.read(&text.lines, range, whole, &mut |row| {
            let record = row.record.take();
            let origin = origins.as_mut().map(|origins| origins.of(row));
            let mut taken = Line { row, origin, columns, options, joined, calls: &mut calls, at: lines.len() };
            lines.push(LineContext { record, ..taken.take() });
        })?;
        if let Some(error) = origins.and_then(|origins| origins.error) {
            return Err(error);
        }
        *usual_lines = lines.len();
        Ok(ScannedPart { part, lines, calls })
    }
}

/// The lines of a session.
pub struct SessionText {
    pub lines: Arc<LineSource>,
    /// Where they come from, if the session was converted.
    pub origins: Option<Origins>,
}

/// Number of origins that are read at a time.
const READ_ORIGINS: usize = 256;

/// Reads where the lines of a converted session come from, in their order.
struct OriginReader<'o> {
    origins: &'o Origins,
    read: Vec<Origin>,
    /// The number of the event that the first of them belongs to; 0 if none was read.
    first: u64,
    error: Option<ReadError>,
}

impl<'o> OriginReader<'o> {
    fn new(origins: &'o Origins) -> Self {
        OriginReader { origins, read: vec![Origin::default(); READ_ORIGINS], first: 0, error: None }
    }

    fn of(&mut self, row: &SessionRow<'_>) -> Origin {
        // Each line of a converted session is an event with an integer.
        let seq = row.seq.map_or(1, |seq| seq as u64);
        let is_read = self.first > 0 && (self.first..self.first + READ_ORIGINS as u64).contains(&seq);
        if !is_read {
            self.first = seq;
            self.error = self.origins.read(seq, &mut self.read).err().or(self.error.take());
        }
        self.read[(seq - self.first) as usize]
    }
}

/// A line, and where its values go.
struct Line<'l, 'r> {
    row: &'l SessionRow<'r>,
    /// Where the line comes from, if the session was converted.
    origin: Option<Origin>,
    columns: &'l mut LineColumns,
    options: &'l Options,
    joined: &'l mut String,
    calls: &'l mut Vec<CallFact>,
    at: usize,
}

impl Line<'_, '_> {
    fn take(&mut self) -> LineContext {
        // Of other programs that state no times, all events have that of the epoch.
        let ts = self.row.ts.and_then(time_of_json).filter(|ts| *ts != 0 || self.origin.is_none());
        let event_type = self.row.event_type();
        let event_type = event_type.as_ref().map(|name| name.to_plain());
        let counted = |name: &str| crate::schema::COUNTED_TYPES.iter().position(|known| *known == name);
        let mut context = LineContext {
            status: self.row.status,
            counted_type: event_type.as_deref().and_then(counted),
            ts,
            origin: self.origin.map(|origin| count(origin.line)),
            items: None,
            is_human: false,
            is_compression: matches!(self.row.change, Change::Summary(_)),
            is_rewind: matches!(self.row.change, Change::Rewind(_)),
            provider: None,
            record: None,
            calls: 0,
            errors: 0,
        };
        if let Change::Provider(provider, model) = self.row.change {
            let model = model.and_then(text_of_json);
            context.provider = text_of_json(provider).map(|provider| (provider, model));
        }
        if let Change::Item(_) | Change::Summary(_) | Change::Edit = self.row.change {
            context.items = Some(self.row.offset..self.row.offset + self.row.length);
        }
        if self.options.events {
            self.take_envelope(ts, event_type.as_deref());
        }
        self.take_item(&mut context);
        if self.is_copy() {
            (context.calls, context.errors, context.is_human) = (0, 0, false);
        }
        context
    }

    /// Whether the item was counted already.
    fn is_copy(&self) -> bool {
        self.origin.is_some_and(|origin| origin.is_copy)
    }

    fn take_envelope(&mut self, ts: Option<i64>, event_type: Option<&str>) {
        let (row, columns) = (self.row, &mut *self.columns);
        let is_ok = row.status == Some(LineStatus::Ok);
        let (offset, length, sha256) = match &self.origin {
            Some(origin) => (origin.offset, origin.length, &origin.hash),
            None => (row.offset, row.length, &row.sha256),
        };
        columns.byte_offset.append_value(count(offset));
        columns.byte_length.append_value(count(length));
        columns.line_sha256.append_option(Some(sha256));
        columns.seq.append_option(row.seq.and_then(integer));
        columns.ts.append_option(ts);
        columns.event_type.append_option(event_type);
        let is_session_event = is_ok && event_type == Some("session_event");
        let text = |name| if is_session_event { row.text(name) } else { None };
        columns.severity.append_option(text("severity").as_ref().map(|text| text.to_plain()));
        columns.message.append_option(text("message").as_ref().map(|text| text.to_plain()));
        let removed = match row.change {
            Change::Rewind(items) => Some(count(items)),
            _ => None,
        };
        columns.items_removed.append_option(removed);
        let is_compression = matches!(row.change, Change::Summary(_));
        let compressed = is_compression.then(|| row.number("itemsCompressed").and_then(integer)).flatten();
        columns.items_compressed.append_option(compressed);
        columns.media_count.append_option(row.media.map(|media| count(media.count)));
        columns.media_bytes.append_option(row.media.map(|media| count(media.bytes)));
        if self.options.include_payload {
            columns.payload.append_option(row.payload());
        }
    }

    fn take_item(&mut self, context: &mut LineContext) {
        let item = self.row.item();
        let blocks = item.as_ref().map_or(&[][..], |item| &item.blocks);
        let (mut responses, mut result_bytes) = (0, 0);
        let mut first = None;
        for block in blocks {
            match block {
                Block::Text(_) => {}
                Block::Call { id: call, name: tool, arguments } => {
                    context.calls += 1;
                    first.get_or_insert((tool.as_ref(), call.as_ref()));
                    self.note(call.as_ref(), tool.as_ref(), || CallSide::Call {
                        arguments: arguments.map(str::to_owned),
                    });
                }
                Block::Response { id: call, name: tool, result, is_error } => {
                    responses += 1;
                    context.errors += u32::from(*is_error);
                    first.get_or_insert((tool.as_ref(), call.as_ref()));
                    let bytes = result.as_ref().map_or(0, value_bytes);
                    result_bytes += bytes;
                    let limit = self.options.text_limit;
                    self.note(call.as_ref(), tool.as_ref(), || CallSide::Response {
                        result: result.as_ref().map(|result| limited_value(result, limit)),
                        result_bytes: bytes,
                        is_error: *is_error,
                    });
                }
            }
        }
        context.is_human =
            item.as_ref().is_some_and(|item| item.speaker.as_json() == "human") && !context.is_compression;
        if !self.options.events {
            return;
        }
        let text = joined(blocks, self.joined);
        let columns = &mut *self.columns;
        columns.speaker.append_option(item.as_ref().map(|item| item.speaker.to_plain()));
        columns.text.append_option(text.as_deref().map(|text| limited(text, self.options.text_limit)));
        columns.text_bytes.append_option(item.as_ref().map(|_| text.map_or(0, |text| text.len() as i64)));
        let (name, id) = first.unwrap_or_default();
        columns.tool_name.append_option(name.map(|name| name.to_plain()));
        columns.tool_call_id.append_option(id.map(|id| id.to_plain()));
        columns.tool_calls.append_option(item.as_ref().map(|_| i64::from(context.calls)));
        columns.is_error.append_option((responses > 0).then_some(context.errors > 0));
        columns.result_bytes.append_option((responses > 0).then_some(result_bytes));
    }

    fn note(
        &mut self,
        id: Option<&session_tape_core::Text<'_>>,
        name: Option<&session_tape_core::Text<'_>>,
        of: impl FnOnce() -> CallSide,
    ) {
        if self.options.tool_calls && !self.is_copy() {
            let plain = |text: &session_tape_core::Text<'_>| text.to_plain().into_owned();
            self.calls.push(CallFact { line: self.at, id: id.map(plain), name: name.map(plain), of: of() });
        }
    }
}

/// The texts among these blocks, joined with newlines; `None` if there are none. Several are joined in `buffer`; a single one need not be copied.
fn joined<'b>(blocks: &'b [Block<'_>], buffer: &'b mut String) -> Option<Cow<'b, str>> {
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    });
    let first = texts.next()?;
    let Some(second) = texts.next() else { return Some(first.to_plain()) };
    buffer.clear();
    first.append_plain(buffer);
    for text in std::iter::once(second).chain(texts) {
        buffer.push('\n');
        text.append_plain(buffer);
    }
    Some(Cow::Borrowed(buffer))
}

fn value_bytes(value: &Value<'_>) -> i64 {
    match value {
        Value::Text(text) => text.to_plain().len() as i64,
        Value::Json(json) => json.len() as i64,
    }
}

fn limited_value(value: &Value<'_>, limit: usize) -> String {
    let mut text = String::new();
    append_value(&mut text, value);
    text.truncate(limited(&text, limit).len());
    text
}
