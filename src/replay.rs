//! `replaySession` and `openSession`: a job that replays, and jobs that read items afterwards.

use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::{Function, Result, Utf16String};
use napi_derive::napi;
use parking_lot::Mutex;

use super::batch_builder::failure;
use super::bundles::{Bundles, NativeBundles, Unpacked};
use super::error_json::{CANT_BE_READ, refusal_message};
use super::job::{JobEnd, NativeJob, Sender, new_job};
use super::reading::open_bundle;
use super::session_batches::{Items, SessionOptions, send_items, send_replay};
use super::tape::{Layout, LayoutBackoff, Replay};
use session_tape_core::bundle::{BundleKind, ImportError, is_opened_bundle};
use session_tape_core::foreign::Foreign;
use session_tape_core::lines::{OpenedPath, Threads};
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::format::{Message, Mode};
use session_tape_core::signature::TrustedKeys;

/// The options of a replay.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct NativeReplayOptions {
    pub project_hash: Option<Utf16String>,
    pub through_seq: Option<f64>,
    pub audit_trail: bool,
    pub progress: bool,
    /// Whether it may have to be stopped.
    pub stoppable: bool,
    pub strict: bool,
    /// Whether the file may be a foreign session.
    pub foreign: bool,
    /// The conversation of a foreign session.
    pub conversation: Option<String>,
    /// Whether the result has the hashes of the items.
    pub hashes: bool,
}

/// Replays with all items of the history, in a job.
pub fn replay_in_background(
    bundles: Arc<Bundles>,
    path: String,
    options: NativeReplayOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start(bundles, path, options, Items::All, on_ready, Box::new(|_| ()))
}

/// Replays the session in a file or a bundle. The items stay in the file and are read on demand.
#[napi(catch_unwind)]
pub fn open_replay(
    bundles: &NativeBundles,
    path: String,
    options: NativeReplayOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeReplay> {
    let open = OpenReplay::default();
    let slot = open.clone();
    let keep = Box::new(move |held| slot.lock().keep(held));
    let job = start(bundles.shared(), path, options, Items::OnDemand, on_ready, keep)?;
    Ok(NativeReplay { open, job: Some(job) })
}

/// A replay, finished or not, whose items are read on demand.
#[napi]
pub struct NativeReplay {
    open: OpenReplay,
    job: Option<NativeJob>,
}

type OpenReplay = Arc<Mutex<OpenedReplay>>;

/// Empty until the replay has finished, and once it was closed, which may be earlier.
#[derive(Default)]
struct OpenedReplay {
    held: Option<Held>,
    is_closed: bool,
}

impl OpenedReplay {
    fn keep(&mut self, held: Held) {
        self.held = Some(held).filter(|_| !self.is_closed);
    }
}

/// The replay from which items are read.
#[derive(Clone)]
struct Held {
    replay: Arc<Replay>,
    /// The bundle that contains the session's file.
    _unpacked: Option<Arc<Unpacked>>,
}

#[napi]
impl NativeReplay {
    /// The job that replays. Can be taken once.
    #[napi(catch_unwind)]
    pub fn job(&mut self) -> Option<NativeJob> {
        self.job.take()
    }

    /// Starts a job that reads the items from `from` up to, but not including, `to`. Returns null if the replay is
    /// not open.
    #[napi(catch_unwind)]
    pub fn items(&self, from: u32, to: u32, on_ready: Function<'_, (), ()>) -> Result<Option<NativeJob>> {
        let Some(held) = self.open.lock().held.clone() else { return Ok(None) };
        let (sender, job) = new_job(on_ready)?;
        sender.run_in_background(move |sender| {
            send_items(&held.replay, from as usize..to.max(from) as usize, sender).unwrap_or_else(|_| JobEnd::closed())
        });
        Ok(Some(job))
    }

    /// The end of a page that begins with the item at `from` and ends before `to`: its items have at most `bytes` bytes, or it has one item. Returns
    /// null if the replay is not open.
    #[napi(catch_unwind)]
    pub fn page_end(&self, from: u32, to: u32, bytes: u32) -> Option<u32> {
        let held = self.open.lock().held.clone()?;
        let items = held.replay.history().items().get(from as usize..to as usize)?;
        let mut left = u64::from(bytes);
        let fitting = items.iter().take_while(|item| {
            let fits = u64::from(item.length) <= left;
            left = left.saturating_sub(u64::from(item.length));
            fits
        });
        Some(from + (fitting.count() as u32).max(1))
    }

    /// Closes the file, now or when the replay has finished. Jobs that are reading items still deliver them.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        *self.open.lock() = OpenedReplay { held: None, is_closed: true };
    }
}

/// Starts a replay, which is passed to `keep` when it has finished.
fn start(
    bundles: Arc<Bundles>,
    path: String,
    options: NativeReplayOptions,
    items: Items,
    on_ready: Function<'_, (), ()>,
    keep: Box<dyn FnOnce(Held) + Send>,
) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |sender| {
        let (file, unpacked) = match open_session(path, &bundles, sender) {
            Ok(opened) => opened,
            Err(message) => return failure(&Message::text(message)),
        };
        let foreign = if unpacked.is_none() { foreign_of(&options) } else { Foreign::Refused };
        let fold = fold_options(&options, foreign);
        let pause = (items == Items::All).then(Arc::<LayoutBackoff>::default);
        let layout = || pause.clone().map(Layout::new);
        let replay = Replay::open_laid_out(file, fold, Threads::All, layout);
        let wanted = SessionOptions {
            items,
            audit_trail: options.audit_trail,
            progress: options.progress,
            hashes: options.hashes && items == Items::All,
        };
        let keep = |replay| keep(Held { replay, _unpacked: unpacked });
        send_replay(replay, wanted, sender, keep).unwrap_or_else(|_| JobEnd::closed())
    });
    Ok(job)
}

/// The options of a replay's fold.
pub fn fold_options(options: &NativeReplayOptions, foreign: Foreign) -> FoldOptions {
    FoldOptions {
        project_hash: options.project_hash.as_ref().map(|hash| hash.to_vec()),
        through_seq: options.through_seq,
        checkpoint_id: None,
        mode: if options.strict { Mode::Strict } else { Mode::Lenient },
        ends_at_newer: false,
        foreign,
    }
}

/// Whether a file may be a foreign session, and which of its conversations is meant.
pub fn foreign_of(options: &NativeReplayOptions) -> Foreign {
    if options.foreign { Foreign::Read(options.conversation.clone()) } else { Foreign::Refused }
}

type OpenedSession = (OpenedPath, Option<Arc<Unpacked>>);

/// The session's file, and the bundle that contains it. An error is the message for the user.
fn open_session(path: String, bundles: &Bundles, sender: &Sender) -> std::result::Result<OpenedSession, String> {
    let opened = OpenedPath::at(Path::new(&path));
    if !is_opened_bundle(&opened) {
        return Ok((opened, None));
    }
    drop(opened);
    let cancellation = sender.cancellation();
    let _guard = bundles.begin_reading(&[&path], cancellation);
    // Cancels the work if the environment has ended.
    let mut go_on = |_| {
        sender.is_cancelled();
    };
    match open_bundle(&path, TrustedKeys::default(), cancellation, &mut go_on) {
        Ok(opened) if opened.kind == BundleKind::Session => {
            Ok((OpenedPath::at(&opened.log()), Some(bundles.keep(opened))))
        }
        Ok(_) => Err("Failed to read bundle: it is the bundle of a run, not of a session".to_owned()),
        Err(ImportError::Failed(error)) if error.system.is_some() => Err(format!("Failed to read file: {error}")),
        Err(refusal) => {
            Err(format!("Failed to read bundle: {} ({})", refusal_message(&refusal, CANT_BE_READ), refusal.code()))
        }
    }
}
