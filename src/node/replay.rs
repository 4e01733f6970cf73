//! `replaySession`: a replay on a background thread, its parts handed to V8.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

/// Parts on their way to JavaScript.
#[napi]
pub struct NativeDelivery {
    cancelled: Arc<AtomicBool>,
    acknowledge: Sender<()>,
}

#[napi]
impl NativeDelivery {
    /// A part is dealt with, in an earlier turn of the event loop.
    #[napi(catch_unwind)]
    pub fn acknowledge(&self) {
        // When the delivery has come to its end there is nobody to tell.
        let _ = self.acknowledge.send(());
    }

    /// No more parts, please.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
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

    /// Gives `on_part` the items `from` up to, not including, `to`; the last part has `warnings`. Nothing if the replay is
    /// closed.
    #[napi(catch_unwind)]
    pub fn items(&self, from: u32, to: u32, on_part: Function<'_, Text, ()>) -> Result<Option<NativeDelivery>> {
        let Some(replay) = lock(&self.done).clone() else { return Ok(None) };
        let (javascript, delivery) = JavaScript::new(on_part)?;
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

/// Where parts go. It looks up this often whether anybody is there still.
const LOOK_UP: Duration = Duration::from_millis(100);

struct JavaScript {
    on_part: OnPart,
    cancelled: Arc<AtomicBool>,
    acknowledged: Receiver<()>,
}

impl JavaScript {
    fn new(on_part: Function<'_, Text, ()>) -> Result<(Self, NativeDelivery)> {
        let on_part = on_part.build_threadsafe_function::<Text>().callee_handled::<false>().build()?;
        let (acknowledge, acknowledged) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let delivery = NativeDelivery { cancelled: cancelled.clone(), acknowledge };
        Ok((JavaScript { on_part, cancelled, acknowledged }, delivery))
    }

    /// Runs `work` on a background thread. Should it panic, whoever awaits it is told.
    fn run_in_background(self, work: impl FnOnce(&Self) + Send + 'static) {
        background::spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| work(&self))).is_err() {
                self.take(Text::Latin1(br#"{"panicked":true}"#.to_vec()));
            }
        });
    }
}

impl Consumer for JavaScript {
    fn take(&self, part: Text) -> bool {
        self.on_part.call(part, ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok
    }

    fn is_one_done(&self, wait: bool) -> bool {
        let pause = if wait { LOOK_UP } else { Duration::ZERO };
        self.acknowledged.recv_timeout(pause).is_ok()
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
    let (javascript, delivery) = JavaScript::new(on_part)?;
    let fold =
        FoldOptions { project_hash: options.project_hash.map(|hash| hash.to_vec()), through_seq: options.through_seq };
    let items = if options.on_demand { Items::OnDemand } else { Items::All };
    let wanted = DeliveryOptions { items, audit_trail: options.audit_trail, progress: options.progress };
    let done = Done::default();
    let slot = done.clone();
    javascript.run_in_background(move |javascript| {
        let replay = Replay::open(Path::new(&path), fold);
        deliver(replay, wanted, javascript, |replay| {
            if items == Items::OnDemand {
                *lock(&slot) = Some(replay);
            }
        });
    });
    Ok(NativeReplay { done, delivery: Some(delivery) })
}
