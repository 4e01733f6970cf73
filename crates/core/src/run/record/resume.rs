//! Resumes a run at the end of its log. The whole log is read and verified again.

use std::path::Path;
use std::sync::Arc;

use super::recording::RunRecording;
use crate::run::format::{Redactions, RunError};
use crate::run::graph::{Causality, Dag};
use crate::run::read::{Event, FoldRules, Folded, fold};
use crate::run::replay::ReplayStart;
use crate::run::state::{State, StateHasher};
use crate::run::verify::Verifier;
use crate::task::{Cancellation, Task};

/// A log that can be resumed.
pub(super) struct Resumed {
    /// The run as recorded. `None` if the log has no events.
    pub recording: Option<RunRecording>,
    /// Size in bytes of the log's whole lines.
    pub whole_bytes: u64,
    /// Number of bytes after them.
    pub torn_bytes: u64,
}

/// Replays the log at `path`, which must be that of a run of this graph, and verifies the hashes of lines, payloads and states. The error
/// says what is wrong with the log.
pub(super) fn resume(path: &Path, dag: Arc<Dag>) -> Result<Resumed, RunError> {
    let start = ReplayStart::first_event(dag);
    let mut causality = Causality::new(&start.state);
    let mut observer = |state: &State, event: &Event<'_>| causality.observe(state, event);
    let folded = verified(path, start, &mut observer)?;
    if let Some(failure) = folded.findings.first_failure() {
        return Err(failure.error.clone());
    }
    let Folded { state, last_hash, offset, torn, hasher, .. } = folded;
    let hasher = hasher.unwrap_or_else(|| StateHasher::of(&state));
    let exists = state.run().is_some();
    let recording = exists.then(|| RunRecording::resumed(state, hasher, causality, last_hash));
    Ok(Resumed { recording, whole_bytes: offset, torn_bytes: torn.bytes })
}

fn verified(path: &Path, start: ReplayStart, observer: &mut dyn FnMut(&State, &Event<'_>)) -> Result<Folded, RunError> {
    let redactions = Redactions::default();
    let rules = FoldRules { until: None, redactions: &redactions, schedule: false, observer: Some(observer) };
    let verifier = Verifier::new(Some(StateHasher::default()), None, true);
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| {} };
    fold(path, start, rules, Some(verifier), &mut task).map_err(|stop| stop.0)
}
