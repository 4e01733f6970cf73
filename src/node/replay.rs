//! `replaySession`: a replay on a background thread, its parts handed to V8.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{Function, Utf16String};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Status, bindgen_prelude::Result};
use napi_derive::napi;

use super::delivery::{Consumer, DeliveryOptions, Items, deliver, deliver_items};
use super::parts::{Parts, Put};
use super::text::Text;
use crate::background;
use crate::session::fold::FoldOptions;
use crate::session::replay::Replay;

/// Holds the process open until the replay is done: someone awaits it.
type OnReady = ThreadsafeFunction<(), (), (), Status, false, false, 0>;

/// What a replay is asked for.
#[napi(object, object_to_js = false)]
pub struct NativeReplayOptions {
    pub project_hash: Option<Utf16String>,
    pub through_seq: Option<f64>,
    pub audit_trail: bool,
    pub progress: bool,
    /// Leave the items of history in the file, to be read when they are asked for.
    pub on_demand: bool,
    /// Use the snapshot beside the file, and keep one.
    pub snapshot: bool,
}

/// Parts on their way to JavaScript.
#[napi]
pub struct NativeDelivery {
    parts: Arc<Parts>,
}

#[napi]
impl NativeDelivery {
    /// The next part. Nothing if it is not there yet: `on_ready` is called when it is.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Option<Text> {
        self.parts.take()
    }

    /// No more parts, please.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.parts.cancel();
    }
}

/// A replay that is done or will be, its items read on demand.
#[napi]
pub struct NativeReplay {
    done: Done,
    delivery: Option<NativeDelivery>,
}

type Done = Arc<Mutex<Option<Arc<Replay>>>>;

fn lock(done: &Done) -> MutexGuard<'_, Option<Arc<Replay>>> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

#[napi]
impl NativeReplay {
    /// The delivery of the result, to whoever asks first.
    #[napi(catch_unwind)]
    pub fn delivery(&mut self) -> Option<NativeDelivery> {
        self.delivery.take()
    }

    /// The delivery of the items `from` up to, not including, `to`; the last part has `warnings`. Nothing if the replay is
    /// closed.
    #[napi(catch_unwind)]
    pub fn items(&self, from: u32, to: u32, on_ready: Function<'_, (), ()>) -> Result<Option<NativeDelivery>> {
        let Some(replay) = lock(&self.done).clone() else { return Ok(None) };
        let (javascript, delivery) = JavaScript::new(on_ready)?;
        javascript.run_in_background(move |javascript| {
            deliver_items(&replay, from as usize..to.max(from) as usize, javascript);
        });
        Ok(Some(delivery))
    }

    /// Closes the file. Items that are being read are still delivered.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        lock(&self.done).take();
    }
}

/// Where parts go.
pub(super) struct JavaScript {
    parts: Arc<Parts>,
    on_ready: OnReady,
}

impl JavaScript {
    pub(super) fn new(on_ready: Function<'_, (), ()>) -> Result<(Self, NativeDelivery)> {
        let on_ready = on_ready.build_threadsafe_function::<()>().callee_handled::<false>().build()?;
        let parts = Arc::new(Parts::default());
        let delivery = NativeDelivery { parts: parts.clone() };
        Ok((JavaScript { parts, on_ready }, delivery))
    }

    /// Runs `work` on a background thread. Should it panic, whoever awaits it is told.
    pub(super) fn run_in_background(self, work: impl FnOnce(&Self) + Send + 'static) {
        background::spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| work(&self))).is_err() {
                self.take(Text::Latin1(br#"{"panicked":true}"#.to_vec()));
            }
        });
    }
}

impl Consumer for JavaScript {
    fn has_room(&self) -> bool {
        self.parts.has_room()
    }

    fn take(&self, part: Text) -> bool {
        match self.parts.put(part, || self.on_ready.aborted()) {
            Put::Gone => false,
            Put::Unnoticed => true,
            Put::Awaited => self.on_ready.call((), ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok,
        }
    }

    fn is_cancelled(&self) -> bool {
        self.parts.is_cancelled() || self.on_ready.aborted()
    }
}

/// Replays the file at `path`. Its delivery has one JSON text after the other, the last of which has `warnings`; `on_ready` is called
/// when the next is there and was not when it was asked for.
#[napi(catch_unwind)]
pub fn start_replay(
    path: String,
    options: NativeReplayOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeReplay> {
    let (javascript, delivery) = JavaScript::new(on_ready)?;
    let fold =
        FoldOptions { project_hash: options.project_hash.map(|hash| hash.to_vec()), through_seq: options.through_seq };
    let items = if options.on_demand { Items::OnDemand } else { Items::All };
    let wanted = DeliveryOptions { items, audit_trail: options.audit_trail, progress: options.progress };
    let done = Done::default();
    let slot = done.clone();
    javascript.run_in_background(move |javascript| {
        let open = if options.snapshot { Replay::open_with_snapshot } else { Replay::open };
        let replay = open(Path::new(&path), fold);
        deliver(replay, wanted, javascript, |replay| {
            if items == Items::OnDemand {
                *lock(&slot) = Some(replay);
            }
        });
    });
    Ok(NativeReplay { done, delivery: Some(delivery) })
}
