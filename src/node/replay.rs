//! `replaySession`: a replay on a background thread, its parts handed to V8.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{Function, Utf16String};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Status, bindgen_prelude::Result};
use napi_derive::napi;

use super::delivery::{Consumer, DeliveryOptions, Items, deliver, deliver_items};
use super::text::Text;
use crate::background;
use crate::session::fold::FoldOptions;
use crate::session::replay::Replay;

/// Holds the process open until the replay is done: someone awaits it.
type OnPart = ThreadsafeFunction<Text, (), Text, Status, false, false, 0>;

/// What a replay is asked for.
#[napi(object, object_to_js = false)]
pub struct NativeReplayOptions {
    pub project_hash: Option<Utf16String>,
    pub through_seq: Option<f64>,
    pub audit_trail: bool,
    pub progress: bool,
    /// Leave the items of history in the file, to be read when they are asked for.
    pub on_demand: bool,
}

/// A replay under way, or done.
#[napi]
pub struct NativeReplay {
    cancelled: Arc<AtomicBool>,
    done: Done,
}

/// The replay, when it is done and its items are read on demand.
type Done = Arc<Mutex<Option<Arc<Replay>>>>;

fn lock(done: &Done) -> MutexGuard<'_, Option<Arc<Replay>>> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

#[napi]
impl NativeReplay {
    /// No more parts, please.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Gives `on_part` the items `from` up to, not including, `to`; the last part has `warnings`. False if the replay is
    /// closed.
    #[napi(catch_unwind)]
    pub fn items(&self, from: u32, to: u32, on_part: Function<'_, Text, ()>) -> Result<bool> {
        let Some(replay) = lock(&self.done).clone() else { return Ok(false) };
        let javascript = JavaScript::new(on_part, Arc::default())?;
        javascript.run_in_background(move |javascript| {
            deliver_items(&replay, from as usize..to.max(from) as usize, javascript);
        });
        Ok(true)
    }

    /// Closes the file. Items that are being read are still delivered.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        lock(&self.done).take();
    }
}

struct JavaScript {
    on_part: OnPart,
    cancelled: Arc<AtomicBool>,
}

impl JavaScript {
    fn new(on_part: Function<'_, Text, ()>, cancelled: Arc<AtomicBool>) -> Result<Self> {
        let on_part = on_part.build_threadsafe_function::<Text>().callee_handled::<false>().build()?;
        Ok(JavaScript { on_part, cancelled })
    }

    /// Runs `work` on a background thread. Should it panic, whoever awaits it is told.
    fn run_in_background(self, work: impl FnOnce(&Self) + Send + 'static) {
        background::spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| work(&self))).is_err() {
                let report = Text::Latin1(br#"{"panicked":true}"#.to_vec());
                let _ = self.on_part.call(report, ThreadsafeFunctionCallMode::NonBlocking);
            }
        });
    }
}

impl Consumer for JavaScript {
    fn take(&self, part: Text, dealt_with: SyncSender<()>) -> bool {
        let status =
            self.on_part.call_with_return_value(part, ThreadsafeFunctionCallMode::NonBlocking, move |result, _| {
                // When the callback threw, or could not be called, the sender is dropped unused, and the replay ends.
                if result.is_ok() {
                    let _ = dealt_with.send(());
                }
                Ok(())
            });
        status == Status::Ok
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.on_part.aborted()
    }
}

/// Replays the file at `path`, giving `on_part` one JSON text after the other, the last of which has `warnings`.
#[napi(catch_unwind)]
pub fn start_replay(
    path: String,
    options: NativeReplayOptions,
    on_part: Function<'_, Text, ()>,
) -> Result<NativeReplay> {
    let (cancelled, done) = (Arc::default(), Done::default());
    let javascript = JavaScript::new(on_part, Arc::clone(&cancelled))?;
    let fold =
        FoldOptions { project_hash: options.project_hash.map(|hash| hash.to_vec()), through_seq: options.through_seq };
    let items = if options.on_demand { Items::OnDemand } else { Items::All };
    let delivery = DeliveryOptions { items, audit_trail: options.audit_trail, progress: options.progress };
    let slot = done.clone();
    javascript.run_in_background(move |javascript| {
        let replay = Replay::open(Path::new(&path), fold);
        deliver(replay, delivery, javascript, |replay| {
            if items == Items::OnDemand {
                *lock(&slot) = Some(replay);
            }
        });
    });
    Ok(NativeReplay { cancelled, done })
}
