//! What bundles have under way in one JavaScript environment: work that writes, and archives that are unpacked for a reader. When the
//! environment ends, the work is stopped and has time to clean up, and what was unpacked is removed.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Function, Result};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use napi_derive::napi;

use crate::bundle::open::{Opened, is_archive, is_bundle};
use crate::cancellation::Cancellation;

/// How long the end of an environment waits for work to clean up behind itself.
const LAST_CLEANUP: Duration = Duration::from_secs(2);

/// How often who waits for the JavaScript thread looks whether there still is one.
const LOOK_UP: Duration = Duration::from_millis(100);

/// The bundles of one JavaScript environment, the main thread's or a worker's.
#[napi]
pub struct NativeBundles {
    under_way: Arc<UnderWay>,
}

#[napi]
impl NativeBundles {
    /// None yet. `on_unpack` is called when something is to be unpacked and nobody [listens](Self::listens) for the end.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, on_unpack: Function<'_, (), ()>) -> Result<Self> {
        // It holds no process open, and whoever reads an archive waits for that anyway.
        let ask = on_unpack.build_threadsafe_function::<()>().callee_handled::<false>().weak::<true>().build()?;
        let under_way = Arc::new(UnderWay { ask: Some(ask), ..UnderWay::default() });
        // Runs when the process or the worker ends by itself or is terminated; `process.exit` and signals pass it by.
        env.add_env_cleanup_hook(under_way.clone(), |under_way| under_way.end())?;
        Ok(NativeBundles { under_way })
    }

    /// Somebody listens for the end of the process, and calls `end` then.
    #[napi(catch_unwind)]
    pub fn listens(&self) {
        self.under_way.hear_of_end();
    }

    /// Stops what is under way, and removes what is unpacked: the end.
    #[napi(catch_unwind)]
    pub fn end(&self) {
        self.under_way.end();
    }
}

impl NativeBundles {
    /// What is under way, to add to it.
    pub fn under_way(&self) -> Arc<UnderWay> {
        self.under_way.clone()
    }
}

/// Asks JavaScript to listen for the end of the process.
type Ask = ThreadsafeFunction<(), (), (), Status, false, true, 0>;

/// What is under way. Whatever has ended is forgotten.
#[derive(Default)]
pub struct UnderWay {
    lists: Mutex<Lists>,
    ask: Option<Ask>,
    /// Whether the end of the process is heard of, so that what is unpacked is removed then.
    hears_of_end: Mutex<bool>,
    heard: Condvar,
}

#[derive(Default)]
struct Lists {
    works: Vec<Weak<Work>>,
    unpacked: Vec<Weak<Unpacked>>,
}

impl UnderWay {
    /// Work that begins now.
    pub fn begin(&self) -> Begun {
        self.list(Work::default())
    }

    fn list(&self, work: Work) -> Begun {
        let work = Arc::new(work);
        let works = &mut lock(&self.lists).works;
        works.retain(|work| work.strong_count() > 0);
        works.push(Arc::downgrade(&work));
        Begun(work)
    }

    /// Reading what is at these paths begins now, as part of the work that this thread does. Where something has to be unpacked the end
    /// of the environment waits for it; unpacking waits until the environment listens for its end, which only the JavaScript thread can
    /// see to. Never called on that.
    pub fn begin_reading<P: AsRef<Path>>(&self, paths: &[P]) -> Begun {
        let work = Work { cancellation: Cancellation::current(), ..Work::default() };
        if !paths.iter().any(|path| is_bundle(path.as_ref())) {
            return Begun(Arc::new(work));
        }
        let begun = self.list(work);
        if paths.iter().any(|path| is_archive(path.as_ref())) {
            self.wait_for_listener(begun.work());
        }
        begun
    }

    fn wait_for_listener(&self, work: &Work) {
        let Some(ask) = &self.ask else { return };
        let mut hears = lock(&self.hears_of_end);
        if !*hears {
            ask.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
        // An environment that ends calls nobody back.
        while !*hears && !work.cancellation().is_cancelled() && !ask.aborted() {
            (hears, _) = self.heard.wait_timeout(hears, LOOK_UP).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn hear_of_end(&self) {
        *lock(&self.hears_of_end) = true;
        self.heard.notify_all();
    }

    /// A bundle that is read from now on.
    pub fn keep(&self, opened: Opened) -> Arc<Unpacked> {
        let kept = Arc::new(Unpacked(Mutex::new(Some(opened))));
        let unpacked = &mut lock(&self.lists).unpacked;
        unpacked.retain(|kept| kept.strong_count() > 0);
        unpacked.push(Arc::downgrade(&kept));
        kept
    }

    fn end(&self) {
        let deadline = Instant::now() + LAST_CLEANUP;
        let works: Vec<_> = lock(&self.lists).works.iter().filter_map(Weak::upgrade).collect();
        works.iter().for_each(|work| work.stop());
        works.iter().for_each(|work| work.wait(deadline));
        // What that work unpacked meanwhile is among these.
        let unpacked = std::mem::take(&mut lock(&self.lists).unpacked);
        unpacked.iter().filter_map(Weak::upgrade).for_each(|kept| kept.remove());
    }
}

/// A bundle, or an original, that somebody reads. It is removed with this, if it was unpacked.
pub struct Unpacked(Mutex<Option<Opened>>);

impl Unpacked {
    fn remove(&self) {
        lock(&self.0).take();
    }
}

/// Work on a background thread.
#[derive(Default)]
pub struct Work {
    cancellation: Cancellation,
    has_ended: Mutex<bool>,
    end: Condvar,
}

impl Work {
    /// Set when it is to stop.
    pub fn cancelled(&self) -> &AtomicBool {
        self.cancellation.flag()
    }

    /// What ends its reads when it is to stop, if it is run [during](Cancellation::during) this.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Asks it to stop, soon.
    pub fn stop(&self) {
        self.cancellation.cancel();
    }

    fn wait(&self, deadline: Instant) {
        let mut has_ended = lock(&self.has_ended);
        while !*has_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            (has_ended, _) = self.end.wait_timeout(has_ended, left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Work until it has ended, well or by a panic: dropped after everything that has to be cleaned up.
pub struct Begun(Arc<Work>);

impl Begun {
    /// The work.
    pub fn work(&self) -> &Arc<Work> {
        &self.0
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        *lock(&self.0.has_ended) = true;
        self.0.end.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn the_end_stops_work_and_waits_for_it() {
        let under_way = UnderWay::default();
        let begun = under_way.begin();
        let work = begun.work().clone();
        let cleaned_up = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let cleaned_up = cleaned_up.clone();
            move || {
                while !begun.work().cancelled().load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(50));
                cleaned_up.store(true, Ordering::Relaxed);
                drop(begun);
            }
        });
        under_way.end();
        assert!(cleaned_up.load(Ordering::Relaxed) && *lock(&work.has_ended));
        thread.join().unwrap();
    }

    #[test]
    fn the_end_removes_what_is_unpacked_though_it_is_held() {
        use crate::bundle::sample::{exported, quietly, session};
        let root = tempfile::tempdir().unwrap();
        let archive = root.path().join("a.tar.zst");
        exported(&session(root.path()), &archive);
        let opened = quietly(|watch| crate::bundle::open::open(&archive, &Default::default(), watch)).unwrap();
        let log = opened.log();
        let under_way = UnderWay::default();
        let kept = under_way.keep(opened);
        assert!(log.exists());
        under_way.end();
        assert!(!log.exists());
        drop(kept);
    }
}
