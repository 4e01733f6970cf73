//! `replaySession` of a small file: one task on Node's own thread pool, with a single batch. A background job costs several times as much as the
//! replay itself: a callback, waking a thread, and a turn of the event loop for each batch.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Either, Function, FunctionRef, Result};
use napi::{Env, Task};
use napi_derive::napi;

use super::bundles::{Bundles, NativeBundles};
use super::job::{Batch, JobEnd, NativeJob};
use super::replay::{NativeReplayOptions, fold_options, foreign_of, replay_in_background};
use super::session_batches::whole_replay;
use super::tape::Replay;
use session_tape_core::disk::{files, sniff};
use session_tape_core::lines::{OpenedPath, Threads};

/// Maximum size of a file in bytes. Replaying a larger one takes longer than a background job costs.
const MAX_BYTES: u64 = 256 << 10;

/// Number of bytes that suffice to detect the type of a file.
const BEGINNING_BYTES: u64 = 64;

/// Replays the session in a small file. A background job replays what is large, not a regular file, a bundle, or unreadable.
pub struct SmallReplay {
    bundles: Arc<Bundles>,
    path: String,
    options: NativeReplayOptions,
    on_ready: FunctionRef<(), ()>,
}

/// Replays the session in a file or a bundle, with all items of its history. Returns the job, or a promise of it if it may have ended by then: its
/// only batch is there, and `on_ready` is not called.
#[napi(catch_unwind, ts_return_type = "NativeJob | Promise<NativeJob>")]
pub fn start_replay(
    bundles: &NativeBundles,
    path: String,
    options: NativeReplayOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<Either<NativeJob, AsyncTask<SmallReplay>>> {
    let bundles = bundles.shared();
    // Only a job can be stopped or report progress.
    if options.stoppable || options.progress {
        return replay_in_background(bundles, path, options, on_ready).map(Either::A);
    }
    SmallReplay::new(bundles, path, options, &on_ready).map(AsyncTask::new).map(Either::B)
}

impl SmallReplay {
    /// The task; `on_ready` is called by a background job only.
    pub fn new(
        bundles: Arc<Bundles>,
        path: String,
        options: NativeReplayOptions,
        on_ready: &Function<'_, (), ()>,
    ) -> Result<Self> {
        Ok(SmallReplay { bundles, path, options, on_ready: on_ready.create_ref()? })
    }

    fn replay(&self) -> Option<JobEnd> {
        let path = Path::new(&self.path);
        files::metadata(path).ok().filter(|metadata| metadata.is_file() && metadata.size <= MAX_BYTES)?;
        let fold = fold_options(&self.options, foreign_of(&self.options));
        self.whole(Replay::open_laid_out(OpenedPath::at(path), fold, Threads::Own, || None).ok()?)
    }

    /// Completes the replay, in one batch.
    fn whole(&self, replay: Replay) -> Option<JobEnd> {
        // The content of an archive may be much larger than its file.
        (replay.source().size() <= MAX_BYTES && is_recording(&replay)).then_some(())?;
        whole_replay(&replay.complete().ok()?, self.options.audit_trail, self.options.hashes)
    }
}

impl Task for SmallReplay {
    type Output = Option<Batch>;
    type JsValue = NativeJob;

    fn compute(&mut self) -> Result<Option<Batch>> {
        Ok(caught(|| self.replay()).map(JobEnd::into_batch))
    }

    fn resolve(&mut self, env: Env, batch: Option<Batch>) -> Result<NativeJob> {
        if let Some(batch) = batch {
            return Ok(NativeJob::ended(batch));
        }
        let (path, options) = (std::mem::take(&mut self.path), std::mem::take(&mut self.options));
        replay_in_background(self.bundles.clone(), path, options, self.on_ready.borrow_back(&env)?)
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
