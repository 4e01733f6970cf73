//! The tables of runs.

use std::ops::ControlFlow;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use session_tape_core::Recording;

use crate::columns::{BATCH_BYTES, BATCH_ROWS, Column, Enums, Flags, Hashes, Integers, Texts, Times, batch};
use crate::failure::Failure;
use crate::file_facts::FileFacts;
use crate::on_disk::OnDisk;
use crate::options::Options;
use crate::rows::{RunRow, RunVerdicts, read_run, run_id, verify_recording};
use crate::schema::Table;
use crate::values::{count, time};
use session_tape_core::Cancellation;

/// The columns of `run_events`.
#[derive(Default)]
struct EventColumns {
    source: Texts,
    run_id: Texts,
    time: Integers,
    event_id: Texts,
    parent: Integers,
    kind: Enums,
    node: Texts,
    task: Texts,
    worker: Texts,
    tool: Enums,
    call: Texts,
    hashes: [Texts; 4],
    ts: Times,
    line_hash: Hashes<32>,
    byte_offset: Integers,
    byte_length: Integers,
    step: Integers,
    step_key: Hashes<16>,
    prefix_hash: Hashes<16>,
}

/// The columns of `runs`.
#[derive(Default)]
struct RunColumns {
    source: Texts,
    run_id: Texts,
    started_at: Times,
    last_at: Times,
    events: Integers,
    bytes: Integers,
    file_sha256: Hashes<32>,
    head_hash: Hashes<32>,
    /// Whether graph, schedule, state hashes and output hashes match.
    holds: [Flags; 4],
    /// Numbers of what was checked, failed and is unverifiable.
    counts: [Integers; 3],
    first_failure: Texts,
    error: Texts,
}

/// Rows of the tables of runs that are not in a batch yet.
pub struct RunTables {
    options: Options,
    events: EventColumns,
    runs: RunColumns,
    rows: usize,
    /// Bytes of the lines that the rows of `run_events` come from.
    read: u64,
}

/// Number of events after which progress is reported.
const EVENTS_TOGETHER: i64 = 1024;

/// What was read of a run so far.
#[derive(Default)]
struct Read {
    started: Option<i64>,
    last: Option<i64>,
    events: i64,
    head: Option<[u8; 32]>,
}

impl RunTables {
    /// Creates tables without rows.
    pub fn new(options: Options) -> Self {
        RunTables { options, events: EventColumns::default(), runs: RunColumns::default(), rows: 0, read: 0 }
    }

    /// The number of rows of `run_events`.
    pub fn event_rows(&self) -> usize {
        self.rows
    }

    /// Whether there are enough rows of `run_events` for a batch.
    pub fn has_event_batch(&self) -> bool {
        self.rows >= BATCH_ROWS || self.read >= BATCH_BYTES as u64
    }

    /// Adds a run, or as much of it as can be read. After some events, calls `so_far` with the number of bytes of the log that were read. It may take
    /// rows; an error that it returns ends the run. Returns why it is no run, or could not be read or verified.
    pub fn add(
        &mut self,
        file: &OnDisk<'_>,
        recording: &Recording,
        facts: &FileFacts,
        cancelled: &Cancellation,
        so_far: &mut dyn FnMut(&mut Self, u64) -> Result<(), Failure>,
    ) -> Result<Option<String>, Failure> {
        let (id, mut read, mut ended) = (run_id(recording), Read::default(), Ok(()));
        let error = read_run(recording, &mut |row| {
            read.add(row);
            if self.options.run_events {
                self.append(file.name(), id.as_deref(), row);
            }
            if read.events % EVENTS_TOGETHER == 0 || self.has_event_batch() {
                ended = so_far(self, row.offset);
            }
            match ended.is_err() || cancelled.is_cancelled() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        ended?;
        let error = error.err().map(|error| file.message_of(error));
        let verdicts = self.options.verify.then(|| verified(file, recording, cancelled)).transpose();
        let (verdicts, unverified) = verdicts.map_or_else(|error| (None, Some(error)), |verdicts| (verdicts, None));
        let error = error.or(unverified);
        if self.options.runs {
            self.append_run(file.name(), id.as_deref(), &read, facts, verdicts.as_ref(), error.as_deref());
        }
        Ok(error)
    }

    /// Adds the error of a recording that cannot be opened as a run.
    pub fn add_error(&mut self, source: &str, file: &FileFacts, error: &str) {
        if self.options.runs {
            self.append_run(source, None, &Read::default(), file, None, Some(error));
        }
    }

    fn append(&mut self, source: &str, run_id: Option<&str>, row: &RunRow<'_>) {
        let (columns, line) = (&mut self.events, row.line);
        columns.source.append_value(source);
        columns.run_id.append_option(run_id);
        columns.time.append_value(count(line.time));
        columns.event_id.append_value(line.id());
        columns.parent.append_option(line.parent.map(count));
        columns.kind.append_option(Some(line.kind));
        columns.node.append_option(row.node.as_ref().map(|text| text.to_plain()));
        let [task, worker, tool, call, hashes @ ..] = &row.fields;
        columns.task.append_option(task.as_ref().map(|text| text.to_plain()));
        columns.worker.append_option(worker.as_ref().map(|text| text.to_plain()));
        columns.tool.append_option(tool.as_ref().map(|text| text.to_plain()));
        columns.call.append_option(call.as_ref().map(|text| text.to_plain()));
        for (column, hash) in columns.hashes.iter_mut().zip(hashes) {
            column.append_option(hash.as_ref().map(|text| text.to_plain()));
        }
        columns.ts.append_option(time(line.ts));
        columns.line_hash.append_option(from_hex(line.hash).as_ref().map(|hash| &hash[..]));
        columns.byte_offset.append_value(count(row.offset));
        columns.byte_length.append_value(line.line.len() as i64);
        self.read += line.line.len() as u64;
        columns.step.append_option(row.step.map(|step| count(step.place)));
        columns.step_key.append_option(row.step.as_ref().map(|step| &step.key[..]));
        columns.prefix_hash.append_option(row.step.as_ref().map(|step| &step.prefix[..]));
        self.rows += 1;
    }

    fn append_run(
        &mut self,
        source: &str,
        run_id: Option<&str>,
        read: &Read,
        file: &FileFacts,
        verdicts: Option<&RunVerdicts>,
        error: Option<&str>,
    ) {
        let columns = &mut self.runs;
        columns.source.append_value(source);
        columns.run_id.append_option(run_id);
        columns.started_at.append_option(read.started);
        columns.last_at.append_option(read.last);
        columns.events.append_value(read.events);
        columns.bytes.append_value(count(file.bytes));
        columns.file_sha256.append_option(file.sha256.as_ref().map(|hash| &hash[..]));
        columns.head_hash.append_option(read.head.as_ref().map(|hash| &hash[..]));
        for (at, column) in columns.holds.iter_mut().enumerate() {
            column.append_option(verdicts.map(|verdicts| verdicts.holds[at]));
        }
        for (at, column) in columns.counts.iter_mut().enumerate() {
            column.append_option(verdicts.map(|verdicts| count(verdicts.counts[at])));
        }
        columns.first_failure.append_option(verdicts.and_then(|verdicts| verdicts.first_failure.as_deref()));
        columns.error.append_option(error);
    }

    /// Takes the rows of `run_events`.
    pub fn take_events(&mut self) -> Result<RecordBatch, ArrowError> {
        (self.rows, self.read) = (0, 0);
        let columns = &mut self.events;
        let [input, request, raw, output] = &mut columns.hashes;
        let columns: &mut [&mut dyn Column] = &mut [
            &mut columns.source,
            &mut columns.run_id,
            &mut columns.time,
            &mut columns.event_id,
            &mut columns.parent,
            &mut columns.kind,
            &mut columns.node,
            &mut columns.task,
            &mut columns.worker,
            &mut columns.tool,
            &mut columns.call,
            input,
            request,
            raw,
            output,
            &mut columns.ts,
            &mut columns.line_hash,
            &mut columns.byte_offset,
            &mut columns.byte_length,
            &mut columns.step,
            &mut columns.step_key,
            &mut columns.prefix_hash,
        ];
        batch(&Table::RunEvents.schema(false), columns)
    }

    /// Takes the rows of `runs`.
    pub fn take_runs(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns = &mut self.runs;
        let [dag, schedule, states, outputs] = &mut columns.holds;
        let [checked, failed, unverifiable] = &mut columns.counts;
        let columns: &mut [&mut dyn Column] = &mut [
            &mut columns.source,
            &mut columns.run_id,
            &mut columns.started_at,
            &mut columns.last_at,
            &mut columns.events,
            &mut columns.bytes,
            &mut columns.file_sha256,
            &mut columns.head_hash,
            dag,
            schedule,
            states,
            outputs,
            checked,
            failed,
            unverifiable,
            &mut columns.first_failure,
            &mut columns.error,
        ];
        batch(&Table::Runs.schema(false), columns)
    }
}

impl Read {
    fn add(&mut self, row: &RunRow<'_>) {
        let at = time(row.line.ts);
        self.started = self.started.or(at);
        self.last = at.or(self.last);
        self.events += 1;
        self.head = from_hex(row.line.hash);
    }
}

/// Verifies a run.
fn verified(file: &OnDisk<'_>, recording: &Recording, cancelled: &Cancellation) -> Result<RunVerdicts, String> {
    let found = verify_recording(recording, cancelled).map_err(|error| file.message_of(error))?;
    Ok(RunVerdicts { first_failure: found.first_failure.map(|failure| file.message_of(failure)), ..found })
}

fn from_hex(digits: &[u8]) -> Option<[u8; 32]> {
    const_hex::decode_to_array(digits).ok()
}
