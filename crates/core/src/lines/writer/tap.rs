//! Reading along: a caller gets all lines that are queued, in order, on the writing thread or when it asks for them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Segment, Shared, Writer};
use crate::task::threading::MutexGuard;

/// Takes whole lines.
pub(crate) type Tap = Arc<dyn Fn(&[u8]) + Send + Sync>;

impl Writer {
    /// From now on `tap` gets all lines that are queued, in order. `None` ends that. Lines that are in the queue already are not passed.
    pub fn tap_with(&self, tap: Option<Tap>) {
        let mut state = self.shared.settled();
        state.queue.iter_mut().for_each(|segment| segment.tapped = segment.bytes.len());
        state.tap = tap;
    }

    /// Passes everything that is queued to the tap, on this thread.
    pub fn tap_queue(&self) {
        let mut state = self.shared.settled();
        if let Some(tap) = state.tap.clone() {
            pass(&tap, &mut state.queue);
        }
    }
}

impl Shared {
    /// The state when the thread is not passing anything to the tap.
    fn settled(&self) -> MutexGuard<'_, super::State> {
        let mut state = self.state.lock();
        while state.is_tapping {
            self.progress.wait(&mut state);
        }
        state
    }

    /// Passes a batch to the tap before it is written. The state must say that this is going on.
    pub(super) fn tap_batch(&self, tap: &Tap, batch: &mut VecDeque<Segment>) {
        pass(tap, batch);
        self.state.lock().is_tapping = false;
        self.progress.notify_all();
    }
}

fn pass(tap: &Tap, segments: &mut VecDeque<Segment>) {
    for segment in segments {
        if segment.tapped < segment.bytes.len() {
            tap(&segment.bytes[segment.tapped..]);
            segment.tapped = segment.bytes.len();
        }
    }
}
