//! The columns of the tables, in their order.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// The version of the columns, which is in the metadata of each schema.
pub const SCHEMA_VERSION: &str = "3";

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// The lines of sessions.
    Events,
    /// The calls in sessions.
    ToolCalls,
    /// Sessions.
    Sessions,
    /// The events of runs.
    RunEvents,
    /// Runs.
    Runs,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 5] = [Table::Events, Table::ToolCalls, Table::Sessions, Table::RunEvents, Table::Runs];

    /// The name of the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Table::Events => "events",
            Table::ToolCalls => "tool_calls",
            Table::Sessions => "sessions",
            Table::RunEvents => "run_events",
            Table::Runs => "runs",
        }
    }

    /// The table with this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.as_str() == name)
    }

    /// Whether it is a table of runs.
    pub fn is_of_runs(self) -> bool {
        matches!(self, Table::RunEvents | Table::Runs)
    }

    /// The columns of the table; `include_payload` adds that of the payloads to `events`.
    pub fn schema(self, include_payload: bool) -> SchemaRef {
        let fields = match self {
            Table::Events => events(include_payload),
            Table::ToolCalls => tool_calls(),
            Table::Sessions => sessions(),
            Table::RunEvents => run_events(),
            Table::Runs => runs(),
        };
        let metadata = [("schema_version", SCHEMA_VERSION), ("session_tape_version", env!("CARGO_PKG_VERSION"))];
        let metadata: HashMap<_, _> =
            metadata.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Arc::new(Schema::new_with_metadata(fields, metadata))
    }
}

/// The type of a column with few distinct values: a dictionary.
pub fn enumeration() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn time() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

const SHA256: DataType = DataType::FixedSizeBinary(32);
const KEY: DataType = DataType::FixedSizeBinary(16);

fn fields<const N: usize>(columns: [(&str, DataType); N]) -> Vec<Field> {
    let required = ["source", "line", "byte_offset", "byte_length", "line_sha256", "answers", "called_line"];
    columns.into_iter().map(|(name, of)| Field::new(name, of, !required.contains(&name))).collect()
}

fn events(include_payload: bool) -> Vec<Field> {
    use DataType::{Boolean, Int64, Utf8};
    let mut columns = fields([
        ("source", Utf8),
        ("source_format", enumeration()),
        ("session_id", Utf8),
        ("project_hash", Utf8),
        ("line", Int64),
        ("byte_offset", Int64),
        ("byte_length", Int64),
        ("line_sha256", SHA256),
        ("seq", Int64),
        ("ts", time()),
        ("type", enumeration()),
        ("status", enumeration()),
        ("provider", enumeration()),
        ("model", enumeration()),
        ("speaker", enumeration()),
        ("turn", Int64),
        ("in_history", Boolean),
        ("history_index", Int64),
        ("text", Utf8),
        ("text_bytes", Int64),
        ("tool_name", enumeration()),
        ("tool_call_id", Utf8),
        ("tool_calls", Int64),
        ("is_error", Boolean),
        ("result_bytes", Int64),
        ("severity", enumeration()),
        ("message", Utf8),
        ("items_removed", Int64),
        ("items_compressed", Int64),
        ("media_count", Int64),
        ("media_bytes", Int64),
        ("step", Int64),
        ("step_key", KEY),
        ("prefix_hash", KEY),
    ]);
    if include_payload {
        columns.push(Field::new("payload", Utf8, true));
    }
    columns
}

fn tool_calls() -> Vec<Field> {
    use DataType::{Boolean, Duration, Int64, Utf8};
    fields([
        ("source", Utf8),
        ("session_id", Utf8),
        ("tool_call_id", Utf8),
        ("tool_name", enumeration()),
        ("arguments", Utf8),
        ("arguments_hash", SHA256),
        ("called_line", Int64),
        ("called_at", time()),
        ("answered_line", Int64),
        ("answered_at", time()),
        ("duration", Duration(TimeUnit::Microsecond)),
        ("is_error", Boolean),
        ("result_bytes", Int64),
        ("result_text", Utf8),
        ("answers", Int64),
        ("provider", enumeration()),
        ("model", enumeration()),
        ("turn", Int64),
    ])
}

/// The types of events that have a column of counts of their own. All others are counted in `type_other`.
pub const COUNTED_TYPES: [&str; 13] = [
    "session_start",
    "content",
    "compressed",
    "rewind",
    "provider_switch",
    "session_event",
    "directories_changed",
    "session_metadata",
    "checkpoint_created",
    "checkpoint_renamed",
    "checkpoint_deleted",
    "session_forked",
    "session_named",
];

/// The statuses, each of which has a column of counts of its own.
pub const COUNTED_STATUSES: [&str; 5] = ["ok", "malformed", "unknown", "unparseable", "torn"];

fn sessions() -> Vec<Field> {
    use DataType::{Boolean, Int64, Utf8};
    let ids = fields([
        ("source", Utf8),
        ("session_id", Utf8),
        ("project_hash", Utf8),
        ("parent_session_id", Utf8),
        ("title", Utf8),
        ("name", Utf8),
        ("provider_start", enumeration()),
        ("model_start", enumeration()),
        ("provider_end", enumeration()),
        ("model_end", enumeration()),
        ("started_at", time()),
        ("last_at", time()),
        ("lines", Int64),
        ("bytes", Int64),
        ("file_sha256", SHA256),
    ]);
    let count = |name: String| Field::new(name, Int64, false);
    let types = COUNTED_TYPES.iter().chain(&["other"]).map(|name| count(format!("type_{name}")));
    let statuses = COUNTED_STATUSES.iter().map(|name| count(format!("status_{name}")));
    let counts = ["turns", "tool_calls", "tool_errors", "compressions", "rewinds", "history_length"];
    let counts = counts.iter().map(|name| count((*name).to_owned()));
    let rest = fields([("sequence_corrupt", Boolean), ("error", Utf8)]);
    ids.into_iter().chain(types).chain(statuses).chain(counts).chain(rest).collect()
}

fn run_events() -> Vec<Field> {
    use DataType::{Int64, Utf8};
    fields([
        ("source", Utf8),
        ("run_id", Utf8),
        ("time", Int64),
        ("event_id", Utf8),
        ("parent", Int64),
        ("kind", enumeration()),
        ("node", Utf8),
        ("task", Utf8),
        ("worker", Utf8),
        ("tool", enumeration()),
        ("call", Utf8),
        ("input_hash", Utf8),
        ("request_hash", Utf8),
        ("raw_hash", Utf8),
        ("output_hash", Utf8),
        ("ts", time()),
        ("line_hash", SHA256),
        ("byte_offset", Int64),
        ("byte_length", Int64),
        ("step", Int64),
        ("step_key", KEY),
        ("prefix_hash", KEY),
    ])
}

fn runs() -> Vec<Field> {
    use DataType::{Boolean, Int64, Utf8};
    fields([
        ("source", Utf8),
        ("run_id", Utf8),
        ("started_at", time()),
        ("last_at", time()),
        ("events", Int64),
        ("bytes", Int64),
        ("file_sha256", SHA256),
        ("head_hash", SHA256),
        ("dag_match", Boolean),
        ("schedule_match", Boolean),
        ("state_hashes_match", Boolean),
        ("output_hashes_match", Boolean),
        ("checked", Int64),
        ("failed", Int64),
        ("unverifiable", Int64),
        ("first_failure", Utf8),
        ("error", Utf8),
    ])
}
