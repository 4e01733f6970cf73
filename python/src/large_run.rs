//! A large run, whose rows are taken while it is being read.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use arrow::array::RecordBatch;
use session_tape_core::{Cancellation, STACK_BYTES};

use crate::convert::{CANCELLED, Converted, Converter};
use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt::Progress;
use crate::options::Options;
use crate::schema::Table;

/// The next step of a run.
pub enum RunStep {
    Batch(Table, RecordBatch),
    End(Result<Converted, Failure>),
}

/// A run that is converted on a thread of its own, which waits while its batches are not taken.
pub struct LargeRun {
    /// Never locked: the mutex makes the receiver `Sync`, which a Python class must be.
    steps: Option<Mutex<Receiver<RunStep>>>,
    thread: Option<JoinHandle<()>>,
    cancelled: Cancellation,
    is_over: bool,
}

impl LargeRun {
    /// Starts to convert a run, until `cancelled` is set. Dropping the run before its end sets `cancelled`. An error if the system cannot start a
    /// thread.
    pub fn start(
        input: Input,
        options: &Options,
        cancelled: &Cancellation,
        progress: &Arc<Progress>,
    ) -> std::io::Result<Self> {
        let (sender, steps) = sync_channel(1);
        let mut converter = Converter::new(options.clone(), cancelled.clone(), progress.clone());
        let work = move || {
            let mut send =
                |table, batch| sender.send(RunStep::Batch(table, batch)).map_err(|_| Failure::from(CANCELLED));
            let converted = converter.convert(&input, &mut send);
            let converted = converted.and_then(|converted| converter.finish(&mut send).map(|()| converted));
            // Fails if the receiver was dropped.
            let _ = sender.send(RunStep::End(converted));
        };
        let cancellation = cancelled.clone();
        let thread = thread::Builder::new()
            .name("session-tape".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || cancellation.during(work))?;
        let steps = Some(Mutex::new(steps));
        Ok(LargeRun { steps, thread: Some(thread), cancelled: cancelled.clone(), is_over: false })
    }

    /// Waits for the next batch or the end.
    pub fn next(&mut self) -> RunStep {
        let steps = self.steps.as_mut().map(|steps| steps.get_mut().unwrap_or_else(PoisonError::into_inner));
        if let Some(step) = steps.and_then(|steps| steps.recv().ok()) {
            self.is_over = matches!(step, RunStep::End(_));
            return step;
        }
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
        RunStep::End(Err(CANCELLED.into()))
    }
}

impl Drop for LargeRun {
    fn drop(&mut self) {
        if !self.is_over {
            self.cancelled.cancel();
        }
        // Dropped first, so that a thread that waits for its batch to be taken ends.
        self.steps = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
