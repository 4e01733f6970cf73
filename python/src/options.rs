//! The options of a conversion: which tables are wanted, and how they are filled.

use crate::rows::FileHash;
use crate::schema::Table;

/// The options of a conversion.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of `events` are wanted.
    pub events: bool,
    /// Rows of `tool_calls` are wanted.
    pub tool_calls: bool,
    /// Rows of `sessions` are wanted.
    pub sessions: bool,
    /// Rows of `run_events` are wanted.
    pub run_events: bool,
    /// Rows of `runs` are wanted.
    pub runs: bool,
    /// Runs are verified.
    pub verify: bool,
    /// Maximum length of a text in bytes.
    pub text_limit: usize,
    /// Whether `events` has a column of payloads.
    pub include_payload: bool,
}

impl Options {
    /// Options with these tables and the default limits.
    pub fn of(tables: &[Table]) -> Self {
        let mut options = Options {
            events: false,
            tool_calls: false,
            sessions: false,
            run_events: false,
            runs: false,
            verify: false,
            text_limit: 64 << 10,
            include_payload: false,
        };
        tables.iter().for_each(|table| options.add(*table));
        options
    }

    /// Adds a table.
    fn add(&mut self, table: Table) {
        match table {
            Table::Events => self.events = true,
            Table::ToolCalls => self.tool_calls = true,
            Table::Sessions => self.sessions = true,
            Table::RunEvents => self.run_events = true,
            Table::Runs => self.runs = true,
        }
    }

    /// Whether tables of runs are wanted, which excludes tables of sessions.
    pub fn is_of_runs(&self) -> bool {
        self.run_events || self.runs
    }

    /// Computes the hashes of a file that these tables need.
    pub fn file_hash(&self) -> FileHash {
        let has_column = self.sessions || self.runs;
        if has_column { FileHash::default().with_sha256() } else { FileHash::default() }
    }
}
