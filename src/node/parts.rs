//! Parts that wait for JavaScript to take them: a few, so that it never waits for one, and no more, so that they need little memory.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::text::Text;
use crate::cancellation::Cancellation;
use crate::jsonl::tape::Tape;

/// How many parts wait at most. The next one is begun when there is room for it.
const WAITING: usize = 4;

/// Whoever waits for room looks up this often whether anybody is there still.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What JavaScript takes at a time.
pub struct Part {
    /// JSON text.
    pub text: Text,
    /// Values that belong to it.
    pub values: Option<Tape>,
}

impl From<Text> for Part {
    fn from(text: Text) -> Self {
        Part { text, values: None }
    }
}

/// Parts between the thread that makes them and the one that takes them.
#[derive(Default)]
pub struct Parts {
    queue: Mutex<Queue>,
    taken: Condvar,
    /// Set while the queue is locked.
    cancellation: Cancellation,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Part>,
    /// A part was asked for when there was none.
    is_not_awaited: bool,
}

/// What became of a part.
#[derive(Debug, PartialEq, Eq)]
pub enum Put {
    /// It waits to be taken.
    Unnoticed,
    /// It waits to be taken by someone who has asked for it, and is to be told.
    Awaited,
    /// Nobody will take it.
    Gone,
}

impl Parts {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next part. If there is none yet, the one that comes next is awaited; so is the very first.
    pub fn take(&self) -> Option<Part> {
        let mut queue = self.lock();
        let part = queue.waiting.pop_front();
        queue.is_not_awaited = part.is_some();
        self.taken.notify_one();
        part
    }

    /// Adds a part as soon as there is room. `is_gone` is asked now and then whether nobody is there any more.
    pub fn put(&self, part: Part, is_gone: impl Fn() -> bool) -> Put {
        let mut queue = self.lock();
        while !self.is_cancelled() && queue.waiting.len() >= WAITING {
            (queue, _) = self.taken.wait_timeout(queue, LOOK_UP).unwrap_or_else(PoisonError::into_inner);
            if is_gone() {
                return Put::Gone;
            }
        }
        if self.is_cancelled() {
            return Put::Gone;
        }
        queue.waiting.push_back(part);
        if std::mem::replace(&mut queue.is_not_awaited, true) { Put::Unnoticed } else { Put::Awaited }
    }

    /// Whether a part could be added at once.
    pub fn has_room(&self) -> bool {
        self.lock().waiting.len() < WAITING
    }

    /// No more parts are wanted.
    pub fn cancel(&self) {
        let mut queue = self.lock();
        self.cancellation.cancel();
        queue.waiting.clear();
        self.taken.notify_one();
    }

    /// Whether no more parts are wanted.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Set when no more parts are wanted.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(byte: u8) -> Part {
        Text::Latin1(vec![byte]).into()
    }

    fn byte(part: Option<Part>) -> Option<u8> {
        match part?.text {
            Text::Latin1(bytes) => bytes.first().copied(),
            Text::Utf16(_) => None,
        }
    }

    #[test]
    fn whoever_found_nothing_is_told_once() {
        let parts = Parts::default();
        let put = |byte| parts.put(part(byte), || false);
        assert_eq!((put(1), put(2)), (Put::Awaited, Put::Unnoticed));
        assert_eq!((byte(parts.take()), byte(parts.take())), (Some(1), Some(2)));
        assert_eq!(put(3), Put::Unnoticed);
        assert_eq!((byte(parts.take()), byte(parts.take())), (Some(3), None));
        assert_eq!((put(4), put(5)), (Put::Awaited, Put::Unnoticed));
    }

    #[test]
    fn no_more_parts_wait_than_there_is_room_for() {
        let parts = Parts::default();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|byte| assert_ne!(parts.put(part(byte), || false), Put::Gone)));
            for expected in 0..100 {
                let next = std::iter::repeat_with(|| byte(parts.take())).find_map(|byte| byte);
                assert_eq!(next, Some(expected));
                assert!(parts.lock().waiting.len() <= WAITING);
            }
        });
        assert!(parts.has_room());
    }

    #[test]
    fn whoever_waits_for_room_learns_that_nobody_is_there() {
        let parts = Parts::default();
        (0..WAITING).for_each(|_| assert_ne!(parts.put(part(0), || false), Put::Gone));
        assert!(!parts.has_room());
        assert_eq!(parts.put(part(0), || true), Put::Gone);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| parts.put(part(0), || false));
            parts.cancel();
            assert_eq!(waiting.join().unwrap(), Put::Gone);
        });
        assert_eq!(parts.put(part(0), || false), Put::Gone);
        assert!(parts.is_cancelled());
    }
}
