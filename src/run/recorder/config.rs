//! The configuration of a run's recorder.

use std::path::PathBuf;

use crate::disk::durability::Durability;
use crate::run::scheduler::Scheduler;
use crate::run::text::Text;

/// The configuration of a recorder.
#[derive(Clone, Debug)]
pub struct RunRecorderConfig<'a> {
    /// The run's directory.
    pub directory: PathBuf,
    /// The run's id.
    pub run_id: Text<'a>,
    /// The workflow, as JSON text.
    pub workflow: &'a str,
    /// How tasks find their workers.
    pub scheduler: Scheduler,
    /// What the run as a whole may do. None: nothing, or, resumed, what it was.
    pub capabilities: Option<Vec<Text<'a>>>,
    /// Whether to resume the run in the directory, if there is one.
    pub resume: bool,
    /// What a flush promises.
    pub durability: Durability,
    /// The owner that other recorders find in the lock file.
    pub owner: String,
}
