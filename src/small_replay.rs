//! `replaySession` of a small file: one task on Node's own thread pool, with a single batch. A background job costs several times as much as the
//! replay itself: a callback, waking a thread, and a turn of the event loop for each batch.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use napi::bindgen_prelude::{AsyncTask, Result};
use napi::{Env, Task};
use napi_derive::napi;

use super::job::{Batch, JobEnd, NativeJob};
use super::replay::{NativeReplayOptions, fold_options, foreign_of};
use super::session_batches::whole_replay;
use super::tape::Replay;
use session_tape_core::disk::{files, sniff};
use session_tape_core::lines::{OpenedPath, Threads};
use session_tape_core::session::{FoldOptions, Snapshots};

/// Maximum size of a file in bytes. Replaying a larger one takes longer than a background job costs.
const MAX_BYTES: u64 = 256 << 10;

/// Number of bytes that suffice to detect the type of a file.
const BEGINNING_BYTES: u64 = 64;

/// Replays the session in a small file. Resolves to a job that has ended, or to null if there is no such file, or if it has to be replayed by
/// [`start_replay`](super::replay::start_replay): if it is large, not a regular file, a bundle, or unreadable.
#[napi(catch_unwind, ts_return_type = "Promise<NativeJob | null>")]
pub fn replay_small(path: String, options: NativeReplayOptions) -> AsyncTask<SmallReplay> {
    let foreign = foreign_of(options.foreign, options.conversation);
    let fold = fold_options(options.project_hash, options.through_seq, options.strict, foreign);
    AsyncTask::new(SmallReplay { path, fold, audit_trail: options.audit_trail, hashes: options.hashes })
}

/// The task.
pub struct SmallReplay {
    path: String,
    fold: FoldOptions,
    audit_trail: bool,
    hashes: bool,
}

impl SmallReplay {
    fn replay(&self) -> Option<JobEnd> {
        let path = Path::new(&self.path);
        // A pipe must not even be opened: its writer would find a reader that disappears at once.
        files::metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.size <= MAX_BYTES)?;
        let threads = Threads::Own;
        self.whole(
            Replay::open_laid_out(OpenedPath::at(path), self.fold.clone(), &Snapshots::None, threads, || None).ok()?,
        )
    }

    /// Completes the replay, in one batch.
    fn whole(&self, replay: Replay) -> Option<JobEnd> {
        // The content of an archive may be much larger than its file.
        (replay.source().size() <= MAX_BYTES && is_recording(&replay)).then_some(())?;
        whole_replay(&replay.complete().ok()?, self.audit_trail, self.hashes)
    }
}

impl Task for SmallReplay {
    type Output = Option<Batch>;
    type JsValue = Option<NativeJob>;

    fn compute(&mut self) -> Result<Option<Batch>> {
        Ok(caught(|| self.replay()).map(JobEnd::into_batch))
    }

    fn resolve(&mut self, _: Env, batch: Option<Batch>) -> Result<Option<NativeJob>> {
        Ok(batch.map(NativeJob::ended))
    }
}

/// Whether the file is not a bundle, whatever its name.
fn is_recording(replay: &Replay) -> bool {
    let (source, mut scratch) = (replay.source(), Vec::new());
    let beginning = source.bytes_at(0, source.size().min(BEGINNING_BYTES) as usize, &mut scratch);
    beginning.is_ok_and(sniff::may_be_recording)
}

/// The end of the replay, or of its panic. On a thread of the pool, a panic would end the process.
fn caught(replay: impl FnOnce() -> Option<JobEnd>) -> Option<JobEnd> {
    let panicked = |panic: Box<dyn Any + Send>| Some(JobEnd::panicked(&*panic));
    catch_unwind(AssertUnwindSafe(replay)).unwrap_or_else(panicked)
}
