//! The same types built on loom's, with the names and signatures of the native ones. Only for models.
//!
//! loom has no notion of time, so the length of a timed wait decides how it ends: a wait shorter than the model's limit times out at once, after the
//! other threads could take a step; a longer wait never times out. So a model in which waits never time out finds a missing signal that a timeout
//! would hide: loom reports that all threads wait for each other.

use std::collections::VecDeque;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvError, SendError, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use loom::sync::{Condvar as Signal, Mutex as Lock, MutexGuard as Held};
use loom::thread;

/// Waits shorter than this, in milliseconds, time out at once.
static ENDS_BELOW: AtomicU64 = AtomicU64::new(0);

/// Runs `model` in every order of its threads with at most `preemptions` preemptions. Waits shorter than `ends_below` time out at once, longer ones
/// end only when they are signalled. Returns the number of orders.
pub fn explore(preemptions: usize, ends_below: Duration, model: impl Fn() + Send + Sync + 'static) -> u64 {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = unpoisoned(ALONE.lock());
    ENDS_BELOW.store(ends_below.as_millis() as u64, Ordering::Relaxed);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(preemptions));
    builder.max_branches = builder.max_branches.max(20_000);
    let orders = Arc::new(AtomicU64::new(0));
    let counted = orders.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    orders.load(Ordering::Relaxed)
}

/// Starts a thread.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// A lock that a panic does not poison. Not loom's own, which counts a thread that only tries to get a lock as one that waits for it.
#[derive(Debug)]
pub struct Mutex<T> {
    is_held: Lock<bool>,
    released: Signal,
    /// Locked by the thread that holds the lock.
    value: std::sync::Mutex<T>,
}

/// Access to the value of a held lock. The value is missing only during a wait for a condition variable.
pub struct MutexGuard<'m, T> {
    mutex: &'m Mutex<T>,
    value: Option<std::sync::MutexGuard<'m, T>>,
}

fn unpoisoned<G>(locked: Result<G, PoisonError<G>>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}

impl<T> Mutex<T> {
    /// A lock around a value.
    pub fn new(value: T) -> Self {
        Mutex { is_held: Lock::new(false), released: Signal::new(), value: std::sync::Mutex::new(value) }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let value = Some(self.take(unpoisoned(self.is_held.lock())));
        MutexGuard { mutex: self, value }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let is_held = unpoisoned(self.is_held.lock());
        let value = (!*is_held).then(|| self.take(is_held))?;
        Some(MutexGuard { mutex: self, value: Some(value) })
    }

    /// The value. Needs no lock, since the reference is exclusive.
    pub fn get_mut(&mut self) -> &mut T {
        unpoisoned(self.value.get_mut())
    }

    fn take<'m>(&'m self, mut is_held: Held<'_, bool>) -> std::sync::MutexGuard<'m, T> {
        while *is_held {
            is_held = unpoisoned(self.released.wait(is_held));
        }
        *is_held = true;
        unpoisoned(self.value.lock())
    }

    fn release<'m>(&'m self, value: std::sync::MutexGuard<'m, T>) -> Held<'m, bool> {
        drop(value);
        let mut is_held = unpoisoned(self.is_held.lock());
        *is_held = false;
        self.released.notify_one();
        is_held
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            drop(self.mutex.release(value));
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect("held unless it waits")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("held unless it waits")
    }
}

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar(Signal);

/// How a timed wait ended.
#[derive(Clone, Copy, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it timed out.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable with no waiting threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes a thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits for a signal.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(value) = guard.value.take() {
            // Releases the lock and begins to wait in one step.
            let is_held = guard.mutex.release(value);
            guard.value = Some(guard.mutex.take(unpoisoned(self.0.wait(is_held))));
        }
    }

    /// Waits for a signal, at most for `limit`.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> WaitTimeoutResult {
        let ends_at_once = (limit.as_millis() as u64) < ENDS_BELOW.load(Ordering::Relaxed);
        if !ends_at_once {
            self.wait(guard);
        } else if let Some(value) = guard.value.take() {
            drop(guard.mutex.release(value));
            thread::yield_now();
            guard.value = Some(guard.mutex.take(unpoisoned(guard.mutex.is_held.lock())));
        }
        WaitTimeoutResult(ends_at_once)
    }

    /// Waits for a signal, at most until `until`.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, until: Instant) -> WaitTimeoutResult {
        self.wait_for(guard, until.saturating_duration_since(Instant::now()))
    }

    /// Waits while `condition` holds, at most until `until`.
    pub fn wait_while_until<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        until: Instant,
    ) -> WaitTimeoutResult {
        while condition(guard) {
            if self.wait_until(guard, until).timed_out() {
                return WaitTimeoutResult(condition(guard));
            }
        }
        WaitTimeoutResult(false)
    }
}

/// A channel that holds `room` messages. Its users never send more, so a send that would have to wait is treated as a bug.
pub fn sync_channel<T>(room: usize) -> (SyncSender<T>, Receiver<T>) {
    let ends = Ends { messages: VecDeque::new(), senders: 1, has_receiver: true };
    let channel = Arc::new(Channel { ends: Mutex::new(ends), changed: Condvar::new(), room });
    (SyncSender(channel.clone()), Receiver(channel))
}

struct Channel<T> {
    ends: Mutex<Ends<T>>,
    changed: Condvar,
    room: usize,
}

struct Ends<T> {
    messages: VecDeque<T>,
    senders: usize,
    has_receiver: bool,
}

/// The sending end of a channel.
pub struct SyncSender<T>(Arc<Channel<T>>);

/// The receiving end of a channel.
pub struct Receiver<T>(Arc<Channel<T>>);

impl<T> SyncSender<T> {
    /// Sends a message.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut ends = self.0.ends.lock();
        if !ends.has_receiver {
            return Err(SendError(message));
        }
        assert!(ends.messages.len() < self.0.room, "a sender would have to wait");
        ends.messages.push_back(message);
        drop(ends);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> Self {
        self.0.ends.lock().senders += 1;
        SyncSender(self.0.clone())
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        self.0.ends.lock().senders -= 1;
        self.0.changed.notify_all();
    }
}

impl<T> Receiver<T> {
    /// Waits for a message.
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut ends = self.0.ends.lock();
        loop {
            if let Some(message) = ends.messages.pop_front() {
                return Ok(message);
            }
            if ends.senders == 0 {
                return Err(RecvError);
            }
            self.0.changed.wait(&mut ends);
        }
    }

    /// Takes a message if there is one.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut ends = self.0.ends.lock();
        let nothing = if ends.senders == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty };
        ends.messages.pop_front().ok_or(nothing)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut ends = self.0.ends.lock();
        ends.has_receiver = false;
        let unread = std::mem::take(&mut ends.messages);
        drop(ends);
        drop(unread);
    }
}
