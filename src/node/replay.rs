//! `replaySession`: a replay on a background thread, its parts handed to V8.

use std::mem::{replace, take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi::bindgen_prelude::{Error, Function, Int32ArraySlice, Utf16String};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status, bindgen_prelude::Result};
use napi_derive::napi;

use super::bundle_json::refusal_message;
use super::bundle_source::{CANT_BE_READ, open_source};
use super::bundles::{NativeBundles, UnderWay, Unpacked};
use super::delivery::{Consumer, DeliveryOptions, Items, deliver, deliver_items};
use super::draft::failure;
use super::json::JsonText;
use super::panic::panicked;
use super::parts::{Part, Parts, Put};
use super::text::Text;
use crate::background;
use crate::bundle::import::ImportError;
use crate::bundle::manifest::BundleKind;
use crate::bundle::open::is_bundle;
use crate::jsonl::tape::{OwnText, Tape};
use crate::session::fold::FoldOptions;
use crate::session::message::Message;
use crate::session::replay::Replay;
use crate::signature::TrustedKeys;

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
    /// The values of the part that was taken last.
    values: Tape,
    /// Gone with the work that makes the parts.
    on_ready: Weak<OnReady>,
}

impl Drop for NativeDelivery {
    /// The environment ends, or JavaScript has dropped it: no further part will be taken.
    fn drop(&mut self) {
        self.parts.cancel();
    }
}

#[napi]
impl NativeDelivery {
    /// The next part. Nothing if it is not there yet: `on_ready` is called when it is.
    #[napi(catch_unwind)]
    pub fn take(&mut self) -> Option<Text> {
        let Part { text, values } = self.parts.take()?;
        self.values = values.unwrap_or_default();
        Some(text)
    }

    /// Copies the codes of the values that belong to the part.
    #[napi(catch_unwind)]
    pub fn codes(&self, mut into: Int32ArraySlice<'_>) -> Result<()> {
        let codes = &self.values.codes;
        // SAFETY: nothing else has a reference into the array while this call lasts: it is on the thread of the array's owner.
        let room = unsafe { into.as_mut() }.get_mut(..codes.len());
        room.ok_or_else(|| Error::from_reason("there is no room for the codes of a part"))?.copy_from_slice(codes);
        Ok(())
    }

    /// The pool of the part's strings that have no character beyond U+00FF.
    #[napi(catch_unwind)]
    pub fn narrow(&mut self) -> Text {
        Text::Latin1(take(&mut self.values.narrow))
    }

    /// The pool of its other strings.
    #[napi(catch_unwind)]
    pub fn wide(&mut self) -> Text {
        Text::Utf16(take(&mut self.values.wide))
    }

    /// A text that is in no pool, once.
    #[napi(catch_unwind)]
    pub fn text(&mut self, index: u32) -> Option<Text> {
        let text = self.values.texts.get_mut(index as usize)?;
        Some(match replace(text, OwnText::Wide(Vec::new())) {
            OwnText::Narrow(bytes) => Text::Latin1(bytes),
            OwnText::Wide(units) => Text::Utf16(units),
            OwnText::Json(json) => {
                let mut text = JsonText::with_capacity(json.len());
                text.raw(&json);
                text.finish()
            }
        })
    }

    /// No more parts, please. The work that makes them ends soon, unless the system does not let it: that holds nothing open any more.
    #[napi(catch_unwind)]
    pub fn cancel(&self, env: Env) {
        self.parts.cancel();
        if let Some(on_ready) = self.on_ready.upgrade().filter(|on_ready| !on_ready.aborted()) {
            // SAFETY: the function was not released, for it is held here, nor finalized, which would have marked it aborted: that
            // happens on the environment's own thread, which this is.
            unsafe { napi::sys::napi_unref_threadsafe_function(env.raw(), on_ready.raw()) };
        }
    }
}

/// A replay that is done or will be, its items read on demand.
#[napi]
pub struct NativeReplay {
    done: Done,
    delivery: Option<NativeDelivery>,
}

type Done = Arc<Mutex<Option<Held>>>;

/// What items are read from.
#[derive(Clone)]
struct Held {
    replay: Arc<Replay>,
    /// The bundle that the session's file is in.
    _unpacked: Option<Arc<Unpacked>>,
}

fn lock(done: &Done) -> MutexGuard<'_, Option<Held>> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

#[napi]
impl NativeReplay {
    /// The delivery of the result, to whoever asks first.
    #[napi(catch_unwind)]
    pub fn delivery(&mut self) -> Option<NativeDelivery> {
        self.delivery.take()
    }

    /// The delivery of the items `from` up to, not including, `to`; the last part says that it is. Nothing if the replay is
    /// closed.
    #[napi(catch_unwind)]
    pub fn items(&self, from: u32, to: u32, on_ready: Function<'_, (), ()>) -> Result<Option<NativeDelivery>> {
        let Some(held) = lock(&self.done).clone() else { return Ok(None) };
        let (javascript, delivery) = JavaScript::new(on_ready)?;
        javascript.run_in_background(move |javascript| {
            deliver_items(&held.replay, from as usize..to.max(from) as usize, javascript);
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
    on_ready: Arc<OnReady>,
}

impl JavaScript {
    pub(super) fn new(on_ready: Function<'_, (), ()>) -> Result<(Self, NativeDelivery)> {
        let on_ready = Arc::new(on_ready.build_threadsafe_function::<()>().callee_handled::<false>().build()?);
        let parts = Arc::new(Parts::default());
        let delivery =
            NativeDelivery { parts: parts.clone(), values: Tape::default(), on_ready: Arc::downgrade(&on_ready) };
        Ok((JavaScript { parts, on_ready }, delivery))
    }

    /// Runs `work` on a background thread. If it panics, the last part says so. Its reads end when it is cancelled.
    pub(super) fn run_in_background(self, work: impl FnOnce(&Self) + Send + 'static) {
        background::spawn(move || {
            let cancellation = self.parts.cancellation().clone();
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| cancellation.during(|| work(&self)))) {
                self.take(panicked(&*panic));
            }
        });
    }
}

impl Consumer for JavaScript {
    fn has_room(&self) -> bool {
        self.parts.has_room()
    }

    fn take(&self, part: impl Into<Part>) -> bool {
        match self.parts.put(part.into(), || self.on_ready.aborted()) {
            Put::Gone => false,
            Put::Unnoticed => true,
            Put::Awaited => self.on_ready.call((), ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok,
        }
    }

    fn is_cancelled(&self) -> bool {
        self.parts.is_cancelled() || self.on_ready.aborted()
    }
}

/// Replays the file at `path`, or the bundle. Its delivery has one JSON text after the other, the last of which says so; `on_ready`
/// is called when the next is there and was not when it was asked for.
#[napi(catch_unwind)]
pub fn start_replay(
    bundles: &NativeBundles,
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
    let (slot, under_way) = (done.clone(), bundles.under_way());
    javascript.run_in_background(move |javascript| {
        let bundle = is_bundle(Path::new(&path)).then(|| open_bundle(&path, &under_way, javascript)).transpose();
        let (file, unpacked) = match bundle {
            Ok(None) => (path.into(), None),
            Ok(Some((log, unpacked))) => (log, Some(unpacked)),
            Err(message) => {
                javascript.take(failure(&Message::text(message)));
                return;
            }
        };
        // A snapshot in a bundle would be a file too many.
        let keeps_snapshot = options.snapshot && unpacked.is_none();
        let open = if keeps_snapshot { Replay::open_with_snapshot } else { Replay::open };
        deliver(open(&file, fold), wanted, javascript, |replay| {
            if items == Items::OnDemand {
                *lock(&slot) = Some(Held { replay, _unpacked: unpacked });
            }
            // Else what was unpacked goes here: the file is open, and its name is needed no more.
        });
    });
    Ok(NativeReplay { done, delivery: Some(delivery) })
}

/// Opens the bundle of a session: the session's file, and what holds it. An error is what its reader is told.
fn open_bundle(
    path: &str,
    under_way: &UnderWay,
    javascript: &JavaScript,
) -> std::result::Result<(PathBuf, Arc<Unpacked>), String> {
    let begun = under_way.begin_reading(&[path]);
    let mut look_up = |_| {
        if javascript.is_cancelled() {
            begun.work().stop();
        }
    };
    match open_source(path, TrustedKeys::default(), begun.work(), &mut look_up) {
        Ok(opened) if opened.kind == BundleKind::Session => Ok((opened.log(), under_way.keep(opened))),
        Ok(_) => Err("Failed to read bundle: it is the bundle of a run, not of a session".to_owned()),
        Err(ImportError::Failed(error)) if error.system.is_some() => Err(format!("Failed to read file: {error}")),
        Err(refusal) => {
            Err(format!("Failed to read bundle: {} ({})", refusal_message(&refusal, CANT_BE_READ), refusal.code()))
        }
    }
}
