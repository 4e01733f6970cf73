//! The table `sessions`: a row for each file.

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use crate::columns::{Column, Enums, Flags, Hashes, Integers, Texts, Times, batch};
use crate::file_facts::FileFacts;
use crate::rows::SessionSummary;
use crate::schema::{COUNTED_STATUSES, COUNTED_TYPES, Table};
use crate::values::count;

/// Counts of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionCounts {
    pub lines: i64,
    /// The last count is that of all types without a column of their own.
    pub types: [i64; COUNTED_TYPES.len() + 1],
    pub statuses: [i64; COUNTED_STATUSES.len()],
    pub turns: i64,
    pub tool_calls: i64,
    pub tool_errors: i64,
    pub compressions: i64,
    pub rewinds: i64,
}

/// The columns of the table.
#[derive(Default)]
pub struct SessionsColumns {
    source: Texts,
    session_id: Texts,
    project_hash: Texts,
    parent_session_id: Texts,
    title: Texts,
    name: Texts,
    provider_start: Enums,
    model_start: Enums,
    provider_end: Enums,
    model_end: Enums,
    started_at: Times,
    last_at: Times,
    lines: Integers,
    bytes: Integers,
    file_sha256: Hashes<32>,
    types: [Integers; COUNTED_TYPES.len() + 1],
    statuses: [Integers; COUNTED_STATUSES.len()],
    /// Turns, calls, errors, compressions, rewinds, and items of the final history.
    counts: [Integers; 6],
    sequence_corrupt: Flags,
    error: Texts,
}

impl SessionsColumns {
    /// Appends a session, with the times of its start and of its last record.
    pub fn append(
        &mut self,
        source: &str,
        summary: &SessionSummary,
        [started, last]: [Option<i64>; 2],
        file: &FileFacts,
        counts: &SessionCounts,
    ) {
        self.source.append_value(source);
        self.session_id.append_option(summary.session_id.as_deref());
        self.project_hash.append_option(summary.project_hash.as_deref());
        self.parent_session_id.append_option(summary.parent_session_id.as_deref());
        self.title.append_option(summary.title.as_deref());
        self.name.append_option(summary.name.as_deref());
        let ([first_provider, last_provider], [first_model, last_model]) = (&summary.providers, &summary.models);
        self.provider_start.append_option(first_provider.as_deref());
        self.model_start.append_option(first_model.as_deref());
        self.provider_end.append_option(last_provider.as_deref());
        self.model_end.append_option(last_model.as_deref());
        self.started_at.append_option(started);
        self.last_at.append_option(last);
        self.lines.append_value(counts.lines);
        self.bytes.append_value(count(file.bytes));
        self.file_sha256.append_option(file.sha256.as_ref().map(|hash| &hash[..]));
        append_all(&mut self.types, &counts.types);
        append_all(&mut self.statuses, &counts.statuses);
        let of_lines = [counts.turns, counts.tool_calls, counts.tool_errors, counts.compressions, counts.rewinds];
        append_all(&mut self.counts[..5], &of_lines);
        self.counts[5].append_value(count(summary.history_length));
        let is_session = summary.error.is_none();
        self.sequence_corrupt.append_option(is_session.then_some(summary.sequence_corrupt));
        self.error.append_option(summary.error.as_deref());
    }

    /// Takes the rows.
    pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut columns: Vec<&mut dyn Column> = vec![
            &mut self.source,
            &mut self.session_id,
            &mut self.project_hash,
            &mut self.parent_session_id,
            &mut self.title,
            &mut self.name,
            &mut self.provider_start,
            &mut self.model_start,
            &mut self.provider_end,
            &mut self.model_end,
            &mut self.started_at,
            &mut self.last_at,
            &mut self.lines,
            &mut self.bytes,
            &mut self.file_sha256,
        ];
        let counts = self.types.iter_mut().chain(&mut self.statuses).chain(&mut self.counts);
        columns.extend(counts.map(|column| column as &mut dyn Column));
        columns.push(&mut self.sequence_corrupt);
        columns.push(&mut self.error);
        batch(&Table::Sessions.schema(false), &mut columns)
    }
}

fn append_all(columns: &mut [Integers], values: &[i64]) {
    columns.iter_mut().zip(values).for_each(|(column, value)| column.append_value(*value));
}
