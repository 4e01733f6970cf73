//! A run that a job reads: in its own directory, or in a bundle. Only a bundle needs the code for bundles.

use std::path::Path;

use super::reading::open_bundle;
use session_tape_core::bundle::{ImportError, OpenedBundle, is_bundle};
use session_tape_core::run::read::{Range, Trace};
use session_tape_core::run::{Failed, Redactions, ReplayOptions, Replayed, RunDirectory, RunError, Verification};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::{self, Cancellation, Task};

/// A run, ready to be read.
pub enum OpenedRun {
    /// The directory of a run that is not a bundle.
    Plain(RunDirectory),
    /// A verified bundle.
    Bundle(Box<OpenedBundle>),
}

impl OpenedRun {
    /// Opens the run at `path`. Verifies a bundle; if it is signed and there are `trusted` keys, one of them must have signed it.
    pub fn open(
        path: &str,
        trusted: TrustedKeys,
        cancellation: &Cancellation,
        progress: &mut dyn FnMut(task::Progress),
    ) -> Result<Self, ImportError> {
        if !is_bundle(Path::new(path)) {
            return Ok(OpenedRun::Plain(RunDirectory::new(Path::new(path))));
        }
        Self::of_bundle(open_bundle(path, trusted, cancellation, progress)?)
    }

    /// Like [`open`](Self::open), for the directory of a bundle that has been verified and not changed since.
    pub fn open_verified(
        path: &str,
        trusted: TrustedKeys,
        _: &Cancellation,
        _: &mut dyn FnMut(task::Progress),
    ) -> Result<Self, ImportError> {
        Self::of_bundle(OpenedBundle::open_verified(Path::new(path), &trusted)?)
    }

    fn of_bundle(opened: OpenedBundle) -> Result<Self, ImportError> {
        Ok(OpenedRun::Bundle(Box::new(opened.expect_run()?)))
    }

    /// The directory of the run.
    pub fn directory(&self) -> RunDirectory {
        match self {
            OpenedRun::Plain(directory) => directory.clone(),
            OpenedRun::Bundle(opened) => opened.run_directory(),
        }
    }

    /// Replays the run.
    pub fn replay(&self, options: &ReplayOptions, task: &mut Task<'_>) -> Result<Replayed, Box<Failed>> {
        match self {
            OpenedRun::Plain(directory) => directory.replay(options, task),
            OpenedRun::Bundle(opened) => opened.replay(options, task),
        }
    }

    /// Verifies the run. If there are `trusted` keys, a snapshot counts only if one of them has signed it.
    pub fn verify(&self, trusted: &TrustedKeys, task: &mut Task<'_>) -> Result<Verification, RunError> {
        match self {
            OpenedRun::Plain(directory) => directory.verify(trusted, &Redactions::default(), task),
            OpenedRun::Bundle(opened) => opened.verify(trusted, task),
        }
    }

    /// The events in a range of the run's log.
    pub fn trace(&self, range: Range) -> Result<Trace, RunError> {
        match self {
            OpenedRun::Plain(directory) => {
                Trace::open(&directory.log(), Range { first: Some(0), ..range }, Redactions::default())
            }
            OpenedRun::Bundle(opened) => opened.trace(range),
        }
    }
}
