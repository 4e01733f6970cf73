//! `replaySession`: a replay on a background thread, its parts handed to V8.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use napi::bindgen_prelude::{Function, Utf16String};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Status, bindgen_prelude::Result};
use napi_derive::napi;

use super::delivery::{Consumer, DeliveryOptions, deliver};
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
}

/// A replay under way.
#[napi]
pub struct NativeReplay {
    cancelled: Arc<AtomicBool>,
}

#[napi]
impl NativeReplay {
    /// No more parts, please.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

struct JavaScript {
    on_part: OnPart,
    cancelled: Arc<AtomicBool>,
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
    let on_part: OnPart = on_part.build_threadsafe_function::<Text>().callee_handled::<false>().build()?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let javascript = JavaScript { on_part, cancelled: cancelled.clone() };
    let fold =
        FoldOptions { project_hash: options.project_hash.map(|hash| hash.to_vec()), through_seq: options.through_seq };
    let delivery = DeliveryOptions { audit_trail: options.audit_trail, progress: options.progress };
    background::spawn(move || {
        let replayed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            deliver(Replay::open(&PathBuf::from(path), fold), delivery, &javascript);
        }));
        if replayed.is_err() {
            let report = Text::Latin1(br#"{"panicked":true}"#.to_vec());
            let _ = javascript.on_part.call(report, ThreadsafeFunctionCallMode::NonBlocking);
        }
    });
    Ok(NativeReplay { cancelled })
}
