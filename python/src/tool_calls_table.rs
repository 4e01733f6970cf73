//! The table `tool_calls`: a row for each call, with its answer.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use arrow::array::{ArrayBuilder as _, RecordBatch};
use arrow::error::ArrowError;
use sha2::{Digest, Sha256};

use crate::columns::{BATCH_BYTES, BATCH_ROWS, Column, Durations, Enums, Flags, Hashes, Integers, Texts, Times, batch};
use crate::schema::Table;
use crate::session_scan::{CallFact, CallSide};

/// Maximum memory of the pending calls of one session, in bytes. Beyond it, calls become rows: those that are answered, then the first ones. A later
/// answer is not joined to them.
const MAX_PENDING_BYTES: usize = 12 << 20;

/// Memory of the pending calls after some have become rows because there were too many, in bytes.
const FEWER_PENDING_BYTES: usize = MAX_PENDING_BYTES / 8 * 7;

/// Estimated memory for finding a call again by its id, in bytes.
const PLACE_BYTES: usize = 128;

/// The columns of the table.
#[derive(Default)]
pub struct ToolCallsColumns {
    source: Texts,
    session_id: Texts,
    tool_call_id: Texts,
    tool_name: Enums,
    arguments: Texts,
    arguments_hash: Hashes<32>,
    called_line: Integers,
    called_at: Times,
    answered_line: Integers,
    answered_at: Times,
    duration: Durations,
    is_error: Flags,
    result_bytes: Integers,
    result_text: Texts,
    answers: Integers,
    provider: Enums,
    model: Enums,
    turn: Integers,
}

impl ToolCallsColumns {
    /// Whether there are enough rows for a batch.
    pub fn is_batch(&self) -> bool {
        let texts = [&self.arguments, &self.result_text].map(|texts| texts.values_slice().len());
        self.source.len() >= BATCH_ROWS || texts.iter().sum::<usize>() >= BATCH_BYTES
    }

    /// Takes the rows.
    pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns: &mut [&mut dyn Column] = &mut [
            &mut self.source,
            &mut self.session_id,
            &mut self.tool_call_id,
            &mut self.tool_name,
            &mut self.arguments,
            &mut self.arguments_hash,
            &mut self.called_line,
            &mut self.called_at,
            &mut self.answered_line,
            &mut self.answered_at,
            &mut self.duration,
            &mut self.is_error,
            &mut self.result_bytes,
            &mut self.result_text,
            &mut self.answers,
            &mut self.provider,
            &mut self.model,
            &mut self.turn,
        ];
        batch(&Table::ToolCalls.schema(false), columns)
    }

    fn append(&mut self, source: &str, session_id: Option<&str>, call: PendingCall) {
        let answer = call.answer.as_ref();
        self.source.append_value(source);
        self.session_id.append_option(session_id);
        self.tool_call_id.append_option(call.id);
        self.tool_name.append_option(call.name);
        let hash: Option<[u8; 32]> = call.arguments.as_ref().map(|json| Sha256::digest(json).into());
        self.arguments_hash.append_option(hash.as_ref().map(|hash| &hash[..]));
        self.arguments.append_option(call.arguments);
        self.called_line.append_value(call.line);
        self.called_at.append_option(call.at);
        self.answered_line.append_option(answer.map(|answer| answer.line));
        let answered_at = answer.and_then(|answer| answer.at);
        self.answered_at.append_option(answered_at);
        self.duration.append_option(answered_at.zip(call.at).map(|(end, start)| end.saturating_sub(start)));
        self.is_error.append_option(answer.map(|answer| answer.is_error));
        self.result_bytes.append_option(answer.map(|answer| answer.bytes));
        self.result_text.append_option(call.answer.and_then(|answer| answer.text));
        self.answers.append_value(call.answers);
        self.provider.append_option(call.provider);
        self.model.append_option(call.model);
        self.turn.append_value(call.turn);
    }
}

/// The calls of a session that are not rows yet.
#[derive(Default)]
pub struct PendingCalls {
    /// By their place among all calls of the session.
    calls: BTreeMap<usize, Box<PendingCall>>,
    /// The place of the next call.
    next: usize,
    bytes: usize,
    /// Places of the pending calls without an answer, by id, the most recent last.
    open: HashMap<String, VecDeque<usize>>,
    /// Place of the call that was answered last, by id.
    answered: HashMap<String, usize>,
}

struct PendingCall {
    id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    line: i64,
    at: Option<i64>,
    provider: Option<Arc<str>>,
    model: Option<Arc<str>>,
    turn: i64,
    answers: i64,
    answer: Option<Answer>,
}

struct Answer {
    line: i64,
    at: Option<i64>,
    is_error: bool,
    bytes: i64,
    text: Option<String>,
}

impl PendingCall {
    fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let answer = self.answer.as_ref().map_or(0, |answer| length(&answer.text));
        size_of::<Self>() + PLACE_BYTES + 2 * length(&self.id) + length(&self.arguments) + answer
    }
}

impl PendingCalls {
    /// Adds a call, or the answer to one. An answer belongs to the most recent unanswered call with its id. If all are answered, it counts as a
    /// further answer to the call that was answered last.
    pub fn add(
        &mut self,
        fact: CallFact,
        line: i64,
        at: Option<i64>,
        (provider, model): (&Option<Arc<str>>, &Option<Arc<str>>),
        turn: i64,
    ) {
        match fact.of {
            CallSide::Call { arguments } => {
                if let Some(id) = &fact.id {
                    self.open.entry(id.clone()).or_default().push_back(self.next);
                }
                let (provider, model) = (provider.clone(), model.clone());
                let call = PendingCall {
                    id: fact.id,
                    name: fact.name,
                    arguments,
                    line,
                    at,
                    provider,
                    model,
                    turn,
                    answers: 0,
                    answer: None,
                };
                self.bytes += call.bytes();
                self.calls.insert(self.next, Box::new(call));
                self.next += 1;
            }
            CallSide::Response { result, result_bytes, is_error } => {
                let answer = Answer { line, at, is_error, bytes: result_bytes, text: result };
                if let Some(id) = fact.id {
                    self.answer(id, answer);
                }
            }
        }
    }

    fn answer(&mut self, id: String, answer: Answer) {
        let opened = self.open.get_mut(&id).and_then(VecDeque::pop_back);
        if self.open.get(&id).is_some_and(VecDeque::is_empty) {
            self.open.remove(&id);
        }
        let place = opened.or_else(|| self.answered.get(&id).copied());
        let call = place.and_then(|place| self.calls.get_mut(&place));
        let Some((place, call)) = place.zip(call) else { return };
        call.answers += 1;
        if call.answer.is_none() {
            self.bytes += answer.text.as_ref().map_or(0, String::len);
            call.answer = Some(answer);
        }
        self.answered.insert(id, place);
    }

    /// Makes rows of some calls if the pending ones take more than `MAX_PENDING_BYTES`. Answered calls are taken first, so that an answer finds its
    /// call however much comes between them.
    pub fn flush_if_large(&mut self, source: &str, session_id: Option<&str>, columns: &mut ToolCallsColumns) {
        if self.bytes <= MAX_PENDING_BYTES {
            return;
        }
        let (mut freed, wanted) = (0, self.bytes - FEWER_PENDING_BYTES);
        let answered = self.calls.iter().filter(|(_, call)| call.answer.is_some());
        let first = answered.take_while(|(_, call)| {
            let is_needed = freed < wanted;
            freed += call.bytes();
            is_needed
        });
        for place in first.map(|(place, _)| *place).collect::<Vec<_>>() {
            self.append(place, source, session_id, columns);
        }
        while self.bytes > FEWER_PENDING_BYTES && self.pass(source, session_id, columns) {}
    }

    /// Makes rows of the first calls until there are enough for a batch. Returns `false` if no call is left.
    pub fn drain(&mut self, source: &str, session_id: Option<&str>, columns: &mut ToolCallsColumns) -> bool {
        while !columns.is_batch() {
            if !self.pass(source, session_id, columns) {
                return false;
            }
        }
        true
    }

    /// Makes rows of all calls.
    pub fn finish(&mut self, source: &str, session_id: Option<&str>, columns: &mut ToolCallsColumns) {
        while self.pass(source, session_id, columns) {}
    }

    /// Makes a row of the first call. Returns `false` if there is none.
    fn pass(&mut self, source: &str, session_id: Option<&str>, columns: &mut ToolCallsColumns) -> bool {
        let first = self.calls.first_key_value().map(|(place, _)| *place);
        first.map(|place| self.append(place, source, session_id, columns)).is_some()
    }

    /// Makes a row of the call at this place, which later answers will not find any more.
    fn append(&mut self, place: usize, source: &str, session_id: Option<&str>, columns: &mut ToolCallsColumns) {
        let Some(call) = self.calls.remove(&place) else { return };
        self.bytes = self.bytes.saturating_sub(call.bytes());
        if let Some(id) = &call.id {
            if self.answered.get(id) == Some(&place) {
                self.answered.remove(id);
            }
            if let Some(places) = self.open.get_mut(id) {
                // Calls without an answer become rows in their order.
                if places.front() == Some(&place) {
                    places.pop_front();
                }
                if places.is_empty() {
                    self.open.remove(id);
                }
            }
        }
        columns.append(source, session_id, *call);
    }
}
