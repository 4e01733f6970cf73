//! The first event of a log, RunCreated, which describes the run as a whole.

use std::path::Path;

use super::error::{ErrorCode, RunError};
use super::payload::Payload;
use super::redactions::Redactions;
use crate::json::{Nesting, Text};
use crate::run::graph::Scheduler;
use crate::run::read::{Event, Range, Trace};
use crate::run::store::RunDirectory;

/// The content of RunCreated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Created {
    /// The run's id.
    pub run_id: Text<'static>,
    /// Name and version of its workflow.
    pub workflow: [Text<'static>; 2],
    /// The hash of its graph.
    pub dag_hash: String,
    /// The scheduler that assigns tasks.
    pub scheduler: Scheduler,
    /// The capabilities that a run may use.
    pub capabilities: Vec<Text<'static>>,
}

impl RunDirectory {
    /// The id of the run, as the inside of its JSON string.
    pub fn run_id(&self, redactions: &Redactions) -> Result<String, RunError> {
        Created::read(&self.log(), redactions).map(|created| created.run_id.as_json().to_owned())
    }
}

impl Created {
    /// Reads the first event of the log at `path`.
    pub(crate) fn read(path: &Path, redactions: &Redactions) -> Result<Self, RunError> {
        let range = Range { to: 0, ..Range::default() };
        let mut trace = Trace::open(path, range, redactions.clone())?;
        let line = trace.next().unwrap_or_else(|| Err(RunError::empty_log()))?;
        match Event::decode(&line, &mut Nesting::default())?.payload {
            Payload::RunCreated { run_id, workflow_name, workflow_version, dag_hash, scheduler, capabilities } => {
                Ok(Created {
                    run_id: run_id.into_owned(),
                    workflow: [workflow_name, workflow_version].map(Text::into_owned),
                    dag_hash: dag_hash.as_json().to_owned(),
                    scheduler,
                    capabilities: capabilities.into_iter().map(Text::into_owned).collect(),
                })
            }
            other => {
                let message = "A log begins with RunCreated";
                let error = RunError::new(ErrorCode::IllegalTransition, message).at(0);
                Err(error.compared("RunCreated", other.kind().as_str()))
            }
        }
    }
}
