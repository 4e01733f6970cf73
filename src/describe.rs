//! `describeSessions` and the functions based on it: one job that scans many sessions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Function, Result, Utf16String};
use napi_derive::napi;

use super::batch_builder::{checkpoint_json, metadata_json, object_json, unknown_events_json};
use super::job::{Closed, JobEnd, NativeJob, Progress, Sender, new_job};
use super::json::{JsonText, number_json};
use super::message_json::message_json;
use super::replay::{NativeReplayOptions, fold_options};
use session_tape_core::foreign::Foreign;
use session_tape_core::session::read::{CurrentMetadata, Described, Describing, Outcome, Replay, ReplayError, Unread};

/// Size in bytes at which a batch is sent: JavaScript parses it in well under a millisecond.
const BATCH_BYTES: usize = 64 << 10;

/// Maximum time between two batches. Batches carry the progress, and large files have few results.
const BATCH_EVERY: Duration = Duration::from_millis(100);

/// Maximum size, in bytes, of the description of one session: parsing a longer one would block the event loop. JavaScript replays that file
/// separately.
const MAX_BYTES: usize = 256 << 10;

/// Scans the sessions in these files in strict mode. The batches have `described`, an array with an element for each file, in any order. An
/// element is an array of the file's index in `paths`, the description of its replay, `null` if that is too long, and what of the file was not read:
/// `"nothing"`, `"lastLine"` or `"more"`; or of the index and an object with `error`.
#[napi(catch_unwind)]
pub fn describe_sessions(
    paths: Vec<String>,
    project_hash: Option<Utf16String>,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |sender| {
        let strict = NativeReplayOptions { project_hash, strict: true, ..Default::default() };
        let fold = fold_options(&strict, Foreign::Refused);
        let describing = Describing::new(paths.into_iter().map(PathBuf::from), fold);
        DescribedBatches::new(sender, describing.total()).run(describing).unwrap_or_else(|Closed| JobEnd::closed())
    });
    Ok(job)
}

struct DescribedBatches<'s> {
    sender: &'s Sender,
    /// The elements of the next batch as JSON, and their total size.
    elements: Vec<Vec<u8>>,
    bytes: usize,
    progress: Progress,
    /// When the last batch was sent.
    sent: Instant,
}

impl<'s> DescribedBatches<'s> {
    fn new(sender: &'s Sender, total: u64) -> Self {
        let progress = Progress { bytes: 0, total, files: Some(0) };
        DescribedBatches { sender, elements: Vec::new(), bytes: 0, progress, sent: Instant::now() }
    }

    fn run(mut self, describing: Describing) -> std::result::Result<JobEnd, Closed> {
        for described in describing {
            if self.sender.is_cancelled() {
                return Err(Closed);
            }
            self.add(&described);
            if self.bytes >= BATCH_BYTES || self.sent.elapsed() >= BATCH_EVERY {
                let mut json = self.take();
                json.close();
                self.sender.send(json.finish())?;
            }
        }
        if self.sender.is_cancelled() {
            // The last scans may have failed because of the cancellation.
            return Err(Closed);
        }
        Ok(JobEnd::done_behind(self.take(), None, |json| json.syntax("{}")))
    }

    fn add(&mut self, described: &Described) {
        let mut element = format!("[{},", described.index).into_bytes();
        let json = described_json(&described.replay).filter(|json| json.len() <= MAX_BYTES);
        element.extend(json.as_deref().unwrap_or(b"null"));
        if let Ok(replay) = &described.replay {
            element.extend(format!(",\"{}\"", unread_of(replay)).into_bytes());
        }
        element.push(b']');
        self.bytes += element.len();
        self.elements.push(element);
        self.progress.bytes = self.progress.bytes.saturating_add(described.size);
        self.progress.files = self.progress.files.map(|files| files + 1);
    }

    /// The open JSON object of the batch, with the progress so far.
    fn take(&mut self) -> JsonText {
        let mut json = JsonText::with_capacity(self.bytes + 100);
        json.open();
        json.key("described");
        json.array(self.elements.drain(..), |json, element| json.raw(&element));
        self.progress.append_to(&mut json);
        self.bytes = 0;
        self.sent = Instant::now();
        json
    }
}

/// The result of a replay without its history, or its error, as JSON. `None` if a value is too long, which is not copied then.
fn described_json(replay: &std::result::Result<Replay, ReplayError>) -> Option<Vec<u8>> {
    let replay = match replay {
        Ok(replay) => replay,
        Err(error) => return Some(failure_json(error)),
    };
    let outcome = replay.outcome(None);
    match &outcome.metadata {
        Ok(metadata) if has_long_value(&outcome, metadata) => None,
        Ok(metadata) => Some(outcome_json(&outcome, &metadata_json(metadata), replay.items().len())),
        Err(error) => Some(failure_json(error)),
    }
}

fn unread_of(replay: &Replay) -> &'static str {
    match replay.unread() {
        Unread::Nothing => "nothing",
        Unread::LastLine => "lastLine",
        Unread::More => "more",
    }
}

fn has_long_value(outcome: &Outcome<'_>, metadata: &CurrentMetadata<'_>) -> bool {
    let CurrentMetadata { provider, model, workspace_dirs, cwd, title, .. } = *metadata;
    let unknown = outcome.unknown_events.iter().flatten().filter_map(|(name, _)| *name);
    let texts = [cwd, title, outcome.session_name, outcome.ancestry].into_iter().flatten();
    [provider, model, workspace_dirs].into_iter().chain(texts).chain(unknown).any(|value| value.len() > MAX_BYTES)
}

fn failure_json(error: &ReplayError) -> Vec<u8> {
    object_json([(&b"error"[..], &message_json(&error.message())[..])])
}

fn outcome_json(outcome: &Outcome<'_>, metadata: &[u8], items: usize) -> Vec<u8> {
    let (last_seq, is_corrupt) = (number_json(outcome.last_seq), outcome.is_out_of_sequence.to_string());
    let (events, items) = (outcome.event_count.to_string(), items.to_string());
    let checkpoints = array_json(outcome.checkpoints.iter().map(checkpoint_json));
    let warnings = array_json(outcome.warnings.iter().map(message_json));
    let members = [
        (&b"metadata"[..], metadata),
        (b"lastSeq", last_seq.as_bytes()),
        (b"sequenceCorrupt", is_corrupt.as_bytes()),
        (b"eventCount", events.as_bytes()),
        (b"historyLength", items.as_bytes()),
        (b"checkpoints", &checkpoints),
        (b"warnings", &warnings),
    ];
    let unknown = outcome.unknown_events.as_deref().map(unknown_events_json);
    let optional = [
        (&b"name"[..], outcome.session_name),
        (b"ancestry", outcome.ancestry),
        (b"semanticMediaPurgeFrontier", outcome.purge_frontier),
        (b"unknownEvents", unknown.as_deref()),
    ];
    let optional = optional.into_iter().filter_map(|(key, value)| value.map(|value| (key, value)));
    object_json(members.into_iter().chain(optional))
}

fn array_json(elements: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    [b"[", &elements.collect::<Vec<_>>().join(&b","[..])[..], b"]"].concat()
}
