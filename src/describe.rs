//! `describeSessions` and the functions based on it: one job that scans many sessions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Function, Result, Utf16String};
use napi_derive::napi;

use super::batch_builder::{append_checkpoint, append_metadata, append_present, append_unknown_events};
use super::job::{Closed, JobEnd, NativeJob, Progress, Sender, new_job};
use super::json::{JsonText, finished};
use super::message_json::append_message;
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
    /// The elements of the next batch.
    elements: JsonText,
    progress: Progress,
    /// When the last batch was sent.
    sent: Instant,
}

impl<'s> DescribedBatches<'s> {
    fn new(sender: &'s Sender, total: u64) -> Self {
        let progress = Progress { bytes: 0, total, files: Some(0) };
        DescribedBatches { sender, elements: JsonText::default(), progress, sent: Instant::now() }
    }

    fn run(mut self, describing: Describing) -> std::result::Result<JobEnd, Closed> {
        for described in describing {
            if self.sender.is_cancelled() {
                return Err(Closed);
            }
            self.add(&described);
            if self.elements.bytes() >= BATCH_BYTES || self.sent.elapsed() >= BATCH_EVERY {
                let mut json = self.take();
                json.close();
                self.sender.send(finished(json))?;
            }
        }
        if self.sender.is_cancelled() {
            // The last scans may have failed because of the cancellation.
            return Err(Closed);
        }
        Ok(JobEnd::done_behind(self.take(), None, |json| json.raw(b"{}")))
    }

    fn add(&mut self, described: &Described) {
        let json = described_json(&described.replay).map(JsonText::into_bytes).filter(|json| json.len() <= MAX_BYTES);
        self.elements.array(|element| {
            element.value(&described.index);
            element.raw(json.as_deref().unwrap_or(b"null"));
            if let Ok(replay) = &described.replay {
                element.value(unread_of(replay));
            }
        });
        self.progress.bytes = self.progress.bytes.saturating_add(described.size);
        self.progress.files = self.progress.files.map(|files| files + 1);
    }

    /// The open JSON object of the batch, with the progress so far.
    fn take(&mut self) -> JsonText {
        let elements = std::mem::take(&mut self.elements).into_bytes();
        let mut json = JsonText::with_capacity(elements.len() + 100);
        json.open();
        json.key("described").array(|json| json.raw(&elements));
        self.progress.append_to(&mut json);
        self.sent = Instant::now();
        json
    }
}

/// The result of a replay without its history, or its error. `None` if a value is too long, which is not copied then.
fn described_json(replay: &std::result::Result<Replay, ReplayError>) -> Option<JsonText> {
    let failed = |error: &ReplayError| JsonText::of_object(|json| append_message(json.key("error"), &error.message()));
    let replay = match replay {
        Ok(replay) => replay,
        Err(error) => return Some(failed(error)),
    };
    let outcome = replay.outcome(None);
    match &outcome.metadata {
        Ok(metadata) if has_long_value(&outcome, metadata) => None,
        Ok(metadata) => {
            Some(JsonText::of_object(|json| append_outcome(json, &outcome, metadata, replay.items().len())))
        }
        Err(error) => Some(failed(error)),
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

fn append_outcome(json: &mut JsonText, outcome: &Outcome<'_>, metadata: &CurrentMetadata<'_>, items: usize) {
    append_metadata(json.key("metadata"), metadata);
    json.key("lastSeq").number(outcome.last_seq);
    json.member("sequenceCorrupt", &outcome.is_out_of_sequence);
    json.member("eventCount", &outcome.event_count);
    json.member("historyLength", &items);
    json.key("checkpoints").array(|json| outcome.checkpoints.iter().for_each(|one| append_checkpoint(json, one)));
    json.key("warnings").array(|json| outcome.warnings.iter().for_each(|warning| append_message(json, warning)));
    let optional = [
        ("name", outcome.session_name),
        ("ancestry", outcome.ancestry),
        ("semanticMediaPurgeFrontier", outcome.purge_frontier),
    ];
    append_present(json, &optional);
    if let Some(unknown) = &outcome.unknown_events {
        append_unknown_events(json.key("unknownEvents"), unknown);
    }
}
