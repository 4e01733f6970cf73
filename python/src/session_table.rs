//! The tables of sessions, built from scanned parts in their order.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use session_tape_core::diff::SessionSteps;
use session_tape_core::{FinalHistory, LineStatus};

use crate::columns::{Column, Enums, Flags, Hashes, Integers, Texts, batch};
use crate::file_facts::FileFacts;
use crate::open_session::OpenSession;
use crate::options::Options;
use crate::rows::{SessionFold, SessionSummary};
use crate::schema::{COUNTED_STATUSES, COUNTED_TYPES, Table};
use crate::session_scan::{LineColumns, LineContext, ScannedPart};
use crate::sessions_table::{SessionCounts, SessionsColumns};
use crate::tool_calls_table::{PendingCalls, ToolCallsColumns};
use crate::values::{count, time};

/// The columns of `events` that depend on other lines.
#[derive(Default)]
struct ContextColumns {
    source: Texts,
    source_format: Enums,
    session_id: Texts,
    project_hash: Texts,
    line: Integers,
    status: Enums,
    provider: Enums,
    model: Enums,
    turn: Integers,
    in_history: Flags,
    history_index: Integers,
    step: Integers,
    step_key: Hashes<16>,
    prefix_hash: Hashes<16>,
}

/// Rows of the tables of sessions that are not in a batch yet.
pub struct SessionTables {
    options: Options,
    lines: LineColumns,
    context: ContextColumns,
    rows: usize,
    calls: ToolCallsColumns,
    sessions: SessionsColumns,
}

impl SessionTables {
    /// Creates tables without rows.
    pub fn new(options: Options) -> Self {
        SessionTables {
            options,
            lines: LineColumns::default(),
            context: ContextColumns::default(),
            rows: 0,
            calls: ToolCallsColumns::default(),
            sessions: SessionsColumns::default(),
        }
    }

    /// The columns that a scan fills, before the session takes the scanned part.
    pub fn lines_mut(&mut self) -> &mut LineColumns {
        &mut self.lines
    }

    /// Replaces the columns by those of a part that was scanned elsewhere. Returns the previous ones.
    pub fn set_lines(&mut self, lines: LineColumns) -> LineColumns {
        std::mem::replace(&mut self.lines, lines)
    }

    /// The number of rows of `events`.
    pub fn event_rows(&self) -> usize {
        self.rows
    }

    /// Takes the rows of `events`.
    pub fn take_events(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let (context, lines) = (&mut self.context, &mut self.lines);
        let mut columns: Vec<&mut dyn Column> = vec![
            &mut context.source,
            &mut context.source_format,
            &mut context.session_id,
            &mut context.project_hash,
            &mut context.line,
            &mut lines.byte_offset,
            &mut lines.byte_length,
            &mut lines.line_sha256,
            &mut lines.seq,
            &mut lines.ts,
            &mut lines.event_type,
            &mut context.status,
            &mut context.provider,
            &mut context.model,
            &mut lines.speaker,
            &mut context.turn,
            &mut context.in_history,
            &mut context.history_index,
            &mut lines.text,
            &mut lines.text_bytes,
            &mut lines.tool_name,
            &mut lines.tool_call_id,
            &mut lines.tool_calls,
            &mut lines.is_error,
            &mut lines.result_bytes,
            &mut lines.severity,
            &mut lines.message,
            &mut lines.items_removed,
            &mut lines.items_compressed,
            &mut lines.media_count,
            &mut lines.media_bytes,
            &mut context.step,
            &mut context.step_key,
            &mut context.prefix_hash,
        ];
        if self.options.include_payload {
            columns.push(&mut lines.payload);
        }
        batch(&Table::Events.schema(self.options.include_payload), &mut columns)
    }

    /// Whether there are enough rows of `tool_calls` for a batch.
    pub fn has_call_batch(&self) -> bool {
        self.calls.is_batch()
    }

    /// Takes the rows of `tool_calls`.
    pub fn take_calls(&mut self) -> Result<RecordBatch, ArrowError> {
        self.calls.take()
    }

    /// Takes the rows of `sessions`.
    pub fn take_sessions(&mut self) -> Result<RecordBatch, ArrowError> {
        self.sessions.take()
    }
}

/// A session whose parts are taken in order.
pub struct Session {
    source: Arc<str>,
    format: &'static str,
    /// Whether it was converted.
    is_converted: bool,
    /// Whether its file states its id.
    has_id: bool,
    fold: SessionFold,
    ids: Option<(Option<String>, Option<String>)>,
    steps: SessionSteps,
    provider: Option<Arc<str>>,
    model: Option<Arc<str>>,
    turns: i64,
    line: i64,
    in_history: u64,
    counts: SessionCounts,
    calls: PendingCalls,
    started: Option<i64>,
    last: Option<i64>,
}

impl Session {
    /// A session that was opened, of which no line has been read yet.
    pub fn of(source: &str, opened: &OpenSession) -> Self {
        let mut session = Session { format: opened.format, ..Self::new(source) };
        if let Some(converted) = &opened.converted {
            session.is_converted = true;
            session.has_id = converted.has_id;
            session.counts.statuses = converted.damage;
        }
        session
    }

    /// A session of which nothing can be read.
    pub fn new(source: &str) -> Self {
        Session {
            source: source.into(),
            format: "",
            is_converted: false,
            has_id: true,
            fold: SessionFold::default(),
            ids: None,
            steps: SessionSteps::default(),
            provider: None,
            model: None,
            turns: 0,
            line: 0,
            in_history: 0,
            counts: SessionCounts::default(),
            calls: PendingCalls::default(),
            started: None,
            last: None,
        }
    }

    /// Takes the next part, which has this number. `is_last` says that no line follows the part.
    pub fn take(
        &mut self,
        scanned: ScannedPart,
        history: &FinalHistory,
        number: usize,
        is_last: bool,
        tables: &mut SessionTables,
    ) {
        let ScannedPart { part, lines, calls } = scanned;
        let (edited, remaining) = (history.edited_length(), history.remaining(number));
        let items: Vec<u64> = part.items().take(usize::try_from(remaining).unwrap_or(usize::MAX)).collect();
        self.fold.add(part);
        self.name();
        let is_session = self.fold.is_session();
        // What can't be replayed has no history.
        let mut items = items.into_iter().filter(|_| is_session).peekable();
        let last = lines.len().saturating_sub(1);
        let is_torn = |at, status| is_last && at == last && status == Some(LineStatus::Unparseable);
        let mut calls = calls.into_iter().peekable();
        for (at, context) in lines.iter().enumerate() {
            self.line += 1;
            let index = match &context.items {
                Some(bytes) if edited.is_some() => history.edited_index(bytes.clone()).filter(|_| is_session),
                Some(bytes) => {
                    let (first, end) = (self.in_history, bytes.end);
                    while items.next_if(|kept| *kept < end).is_some() {
                        self.in_history += 1;
                    }
                    Some(first).filter(|first| *first < self.in_history)
                }
                None => None,
            };
            if let Some((provider, model)) = context.provider.as_ref().filter(|_| is_session) {
                let named = |name: &String| Some(Arc::from(name.as_str())).filter(|_| !name.is_empty());
                self.provider = named(provider);
                if let Some(model) = model {
                    self.model = named(model);
                }
            }
            self.turns += i64::from(context.is_human);
            let status = if is_torn(at, context.status) { Some(LineStatus::Torn) } else { context.status };
            self.count(context, status);
            while let Some(call) = calls.next_if(|call| call.line == at) {
                self.calls.add(
                    call,
                    context.origin.unwrap_or(self.line),
                    context.ts,
                    (&self.provider, &self.model),
                    self.turns,
                );
            }
            if tables.options.events {
                self.append(context, status, index, is_session, tables);
            }
        }
        if let Some(length) = edited.filter(|_| is_session) {
            self.in_history = length;
        }
        if tables.options.tool_calls {
            let id = self.ids.as_ref().and_then(|(id, _)| id.as_deref());
            self.calls.flush_if_large(&self.source, id, &mut tables.calls);
        }
    }

    /// Makes rows of the pending calls until there are enough for a batch. Returns `false` if no call is left.
    pub fn drain_calls(&mut self, tables: &mut SessionTables) -> bool {
        let id = self.ids.as_ref().and_then(|(id, _)| id.as_deref());
        tables.options.tool_calls && self.calls.drain(&self.source, id, &mut tables.calls)
    }

    /// Takes the ids from the first part.
    fn name(&mut self) {
        if self.ids.is_none() {
            let (id, project) = self.fold.ids();
            self.ids = Some((id.filter(|_| self.has_id), project));
        }
    }

    fn count(&mut self, context: &LineContext, status: Option<LineStatus>) {
        self.started = self.started.or(context.ts);
        self.last = context.ts.or(self.last);
        let counts = &mut self.counts;
        if let Some(status) = status {
            let at = COUNTED_STATUSES.iter().position(|known| *known == status.as_str());
            counts.statuses[at.unwrap_or_default()] += 1;
            if matches!(status, LineStatus::Ok | LineStatus::Malformed | LineStatus::Unknown) {
                counts.types[context.counted_type.unwrap_or(COUNTED_TYPES.len())] += 1;
            }
        }
        counts.tool_calls += i64::from(context.calls);
        counts.tool_errors += i64::from(context.errors);
        counts.compressions += i64::from(context.is_compression);
        counts.rewinds += i64::from(context.is_rewind);
    }

    fn append(
        &mut self,
        context: &LineContext,
        status: Option<LineStatus>,
        index: Option<u64>,
        is_session: bool,
        tables: &mut SessionTables,
    ) {
        let step = context.record.as_ref().filter(|_| is_session).map(|record| self.steps.next(record));
        let columns = &mut tables.context;
        columns.source.append_value(&self.source);
        columns.source_format.append_option(Some(self.format));
        let (id, project) = self.ids.as_ref().map_or((None, None), |(id, project)| (id.as_deref(), project.as_deref()));
        columns.session_id.append_option(id);
        columns.project_hash.append_option(project);
        columns.line.append_value(context.origin.unwrap_or(self.line));
        columns.status.append_option(status.map(LineStatus::as_str));
        columns.provider.append_option(self.provider.as_deref());
        columns.model.append_option(self.model.as_deref());
        columns.turn.append_value(self.turns);
        columns.in_history.append_option(context.items.as_ref().map(|_| index.is_some()));
        columns.history_index.append_option(index.map(count));
        columns.step.append_option(step.map(|step| count(step.place)));
        columns.step_key.append_option(step.as_ref().map(|step| &step.key[..]));
        columns.prefix_hash.append_option(step.as_ref().map(|step| &step.prefix[..]));
        tables.rows += 1;
    }

    /// Ends the session: adds rows for its remaining calls, and its own row. `error` is the error with which reading ended, if any. Returns it, or else
    /// why the file is no session.
    pub fn finish(mut self, file: FileFacts, error: Option<String>, tables: &mut SessionTables) -> Option<String> {
        let id = self.ids.take().and_then(|(id, _)| id);
        if tables.options.tool_calls {
            self.calls.finish(&self.source, id.as_deref(), &mut tables.calls);
        }
        let mut summary: SessionSummary = self.fold.finish(self.in_history);
        summary.error = error.or(summary.error);
        summary.session_id = summary.session_id.filter(|_| self.has_id);
        if !tables.options.sessions {
            return summary.error;
        }
        let started = summary.start_time.as_deref().and_then(time).filter(|time| !self.is_converted || *time != 0);
        let started = started.or(self.started);
        self.counts.lines = self.line;
        self.counts.turns = self.turns;
        tables.sessions.append(&self.source, &summary, [started, self.last], &file, &self.counts);
        summary.error
    }
}
