//! The options of a conversion: which tables are wanted, and how they are filled.

use std::collections::{BTreeMap, BTreeSet};

use session_tape_core::FileHash;

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

    /// The same options with other tables.
    pub fn with_tables(&self, tables: &BTreeSet<Table>) -> Self {
        let Options { verify, text_limit, include_payload, .. } = *self;
        let tables: Vec<Table> = tables.iter().copied().collect();
        Options { verify, text_limit, include_payload, ..Options::of(&tables) }
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

    /// The tables that are wanted.
    pub fn tables(&self) -> impl Iterator<Item = Table> + use<> {
        let wanted = [self.events, self.tool_calls, self.sessions, self.run_events, self.runs];
        Table::ALL.into_iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(table, _)| table)
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

    /// The options that determine the values of rows.
    pub fn deciding(&self) -> BTreeMap<String, u64> {
        let values = [
            ("text_limit", self.text_limit as u64),
            ("include_payload", u64::from(self.include_payload)),
            ("verify", u64::from(self.verify)),
        ];
        values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
