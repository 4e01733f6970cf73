//! The events of a run as rows, and what its verification found.

use std::borrow::Cow;
use std::ops::ControlFlow;

use session_tape_core::diff::{RunSteps, Step};
use session_tape_core::json::{Field, Name, Nesting, Text};
use session_tape_core::recording::Recording;
use session_tape_core::run::read::EventReader;
use session_tape_core::run::{Aspect, EventLine, RunDirectory, RunError};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::{Cancellation, Task};

/// The members of a payload that have a column, in the order of [`RunRow::fields`].
pub const FIELDS: [&str; 8] = ["task", "worker", "tool", "call", "inputHash", "requestHash", "rawHash", "outputHash"];

/// An event of a run.
pub struct RunRow<'r> {
    /// The event as written in its line.
    pub line: &'r EventLine<'r>,
    /// Offset of the line in the log.
    pub offset: u64,
    /// Its node.
    pub node: Option<Text<'r>>,
    /// The members of its payload that have a column, see [`FIELDS`]; `None` for one that is missing or not a string.
    pub fields: [Option<Text<'r>>; FIELDS.len()],
    /// The step of the event. `None` if the event is left out of comparisons, and in a log that begins after a snapshot: the earlier events,
    /// which places and prefixes of other runs include, are unknown.
    pub step: Option<Step>,
}

/// The id of a run, from its log, or else from its bundle.
pub fn run_id(recording: &Recording) -> Option<String> {
    recording.source().id_of_run().map(|id| Text::from_json(&id).to_plain().into_owned())
}

/// Calls `take` with each event in order, until it returns `Break`. Returns an error for the first line that is not an event, and for a log
/// without events.
pub fn read_run(recording: &Recording, take: &mut dyn FnMut(&RunRow<'_>) -> ControlFlow<()>) -> Result<(), RunError> {
    let source = recording.source();
    let first = source.first_time()?;
    let mut reader = EventReader::open(&source.log, Some(first), first, Cow::Borrowed(&source.redactions))?;
    let mut steps = (first == 0).then(RunSteps::default);
    let (mut spare, mut is_over, mut is_empty) = (Vec::new(), false, true);
    let mut nesting = Nesting::default();
    while !is_over && let Some(chunk) = reader.next_chunk(std::mem::take(&mut spare))? {
        reader.decode(&chunk, |event| {
            is_empty = false;
            let flow = take(&RunRow {
                line: &event.line,
                offset: chunk.offset + event.start as u64,
                node: event.line.node.map(Text::from_json),
                fields: texts_of(event.line.payload, &mut nesting),
                step: steps.as_mut().and_then(|steps| steps.next(event)),
            });
            is_over = flow.is_break();
            flow
        })?;
        spare = chunk.into_spare();
    }
    // A log that begins after a snapshot may have no events.
    if is_empty && first == 0 { Err(RunError::empty_log()) } else { Ok(()) }
}

fn texts_of<'p>(payload: &'p str, nesting: &mut Nesting) -> [Option<Text<'p>>; FIELDS.len()] {
    let fields = Field::read(payload, const { &FIELDS_NAMED }, nesting);
    fields.map_or([const { None }; FIELDS.len()], |fields| fields.map(|field| field.text().ok()))
}

const FIELDS_NAMED: [Name; FIELDS.len()] = {
    let mut named = [Name::new(FIELDS[0]); FIELDS.len()];
    let mut at = 1;
    while at < FIELDS.len() {
        named[at] = Name::new(FIELDS[at]);
        at += 1;
    }
    named
};

/// The result of verifying a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunVerdicts {
    /// In this order: whether workflow, graph and run belong together; whether tasks were assigned as the scheduler decides; whether states
    /// have their hashes; and whether outputs have theirs.
    pub holds: [bool; 4],
    /// Number of things that were checked, that failed, and that could not be checked.
    pub counts: [u64; 3],
    /// The failure that is first in the run.
    pub first_failure: Option<String>,
}

/// Verifies a run. Setting `cancelled` stops it.
pub fn verify_recording(recording: &Recording, cancelled: &Cancellation) -> Result<RunVerdicts, RunError> {
    let source = recording.source();
    let (trusted, mut task) = (TrustedKeys::default(), Task { cancellation: cancelled, progress: &mut |_| {} });
    let verification = match recording.opened() {
        Some(opened) => opened.verify(&trusted, &mut task)?,
        None => RunDirectory::with_log(&source.root, &source.log).verify(&trusted, &source.redactions, &mut task)?,
    };
    let flags = [Aspect::Dag, Aspect::Schedule, Aspect::StateHashes, Aspect::OutputHashes];
    let all = flags
        .iter()
        .chain(&[Aspect::Chain, Aspect::Snapshots, Aspect::Blobs])
        .map(|aspect| verification.check(*aspect));
    let mut verdicts =
        RunVerdicts { holds: flags.map(|aspect| verification.check(aspect).holds()), ..RunVerdicts::default() };
    let mut first = None;
    for check in all {
        verdicts.counts[0] += check.checked;
        verdicts.counts[1] += check.failed;
        verdicts.counts[2] += check.unverifiable;
        first = first.into_iter().chain(&check.first_failure).min_by_key(|failure| failure.place);
    }
    verdicts.first_failure = first.map(|failure| failure.error.to_string());
    Ok(verdicts)
}
