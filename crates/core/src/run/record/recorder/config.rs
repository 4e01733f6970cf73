//! The configuration of a run's recorder.

use std::path::PathBuf;

use crate::disk::Durability;
use crate::json::Text;
use crate::run::graph::Scheduler;

/// The configuration of a recorder.
#[derive(Clone, Debug)]
pub struct RunRecorderConfig<'a> {
    /// The run's directory.
    pub directory: PathBuf,
    /// The run's id.
    pub run_id: Text<'a>,
    /// The workflow, as JSON text.
    pub workflow: &'a str,
    /// The scheduler that assigns tasks.
    pub scheduler: Scheduler,
    /// The capabilities of the run as a whole. `None` for none or, if the run is resumed, for those that it has.
    pub capabilities: Option<Vec<Text<'a>>>,
    /// Whether to resume the run in the directory, if there is one.
    pub resume: bool,
    /// The permissions of the log, less the umask. Those of directories follow from it.
    pub mode: u32,
    /// What a flush promises.
    pub durability: Durability,
    /// The owner to write to the lock file, for the errors of other recorders.
    pub owner: String,
}
