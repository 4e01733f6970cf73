//! The graph of a run and the workflow that it was compiled from: whether they belong to the run.

use super::dag::{Dag, Workflow};
use crate::json::{Text, quoted};
use crate::run::format::{Created, ErrorCode, Redactions, RunError};
use crate::run::store::RunDirectory;
use crate::run::verify::Check;

/// The run's graph, as stored and as compiled from the workflow.
pub(crate) struct Graphs {
    dag: Result<Dag, RunError>,
    compiled: Result<Compiled, RunError>,
}

/// A workflow that was compiled.
struct Compiled {
    /// Its name and version.
    workflow: [Text<'static>; 2],
    dag: Dag,
}

impl Graphs {
    /// Reads the files of the run in `directory`.
    pub(crate) fn read(directory: &RunDirectory) -> Self {
        let compiled = directory.workflow_text().and_then(|document| {
            let workflow = Workflow::parse(&document)?;
            let name = [workflow.name.clone(), workflow.version.clone()];
            Ok(Compiled { workflow: name, dag: workflow.compile()? })
        });
        Graphs { dag: directory.read_dag(), compiled }
    }

    /// Why there is no stored graph.
    pub(crate) fn into_error(self) -> Option<RunError> {
        self.dag.err()
    }

    /// Checks that workflow, graph and RunCreated belong together.
    pub(crate) fn check(&self, created: Option<&Created>, redactions: &Redactions, check: &mut Check) {
        let fault = self.fault(created, redactions);
        match &self.compiled {
            // A redacted file or payload proves nothing.
            _ if fault.is_none() && is_redacted(redactions) => check.unverifiable += 1,
            // The workflow is not needed by the run and may have been left out. Then it can't be verified.
            Err(error) if fault.is_none() && error.code == ErrorCode::SystemError => check.unverifiable += 1,
            _ if fault.is_none() && created.is_none() => check.unverifiable += 1,
            _ => check.checked += 1,
        }
        if let Some(error) = fault {
            check.checked = 1;
            check.fail(0, error);
        }
    }

    /// Checks that workflow and graph are those of a state. Without RunCreated, no more can be verified.
    pub(crate) fn check_with(&self, dag: &Dag, check: &mut Check) {
        let fault = self.fault(None, &Redactions::default());
        let other = self.dag.as_ref().ok().filter(|stored| stored.hash() != dag.hash());
        let foreign =
            other.map(|stored| mismatch("The graph in dag.json is not the snapshot's", dag.hash(), stored.hash()));
        match fault.or(foreign) {
            Some(error) => {
                check.checked = 1;
                check.fail(0, error);
            }
            None => check.unverifiable += 1,
        }
    }

    /// Why workflow, graph and RunCreated do not belong together, as far as they are known.
    pub(crate) fn fault(&self, created: Option<&Created>, redactions: &Redactions) -> Option<RunError> {
        let dag = match &self.dag {
            Ok(dag) => dag,
            Err(error) => return Some(error.clone()),
        };
        let compiled = match &self.compiled {
            Ok(compiled) if compiled.dag != *dag => {
                let message = "workflow.json compiles to another graph than dag.json holds";
                return Some(mismatch(message, compiled.dag.hash(), dag.hash()));
            }
            Err(error) if error.code != ErrorCode::SystemError => return Some(error.clone()),
            compiled => compiled,
        };
        let created = created?;
        if created.dag_hash != dag.hash() {
            let message = "The graph in dag.json is not the one that RunCreated names";
            return Some(mismatch(message, &created.dag_hash, dag.hash()));
        }
        let named = compiled.as_ref().ok().filter(|_| !is_redacted(redactions))?;
        let [expected, found] = [&created.workflow, &named.workflow].map(|[name, version]| format!("{name} {version}"));
        let message = "workflow.json has another name or version than RunCreated gives";
        (named.workflow != created.workflow).then(|| mismatch(message, &quoted(&expected), &quoted(&found)))
    }

    /// The graph that RunCreated names, whether that is the stored or the compiled one. If it names neither, returns one of them, and the
    /// fold reports the mismatch.
    pub(crate) fn of_run(&self, created: Option<&Created>) -> Option<Dag> {
        let graphs = || self.dag.iter().chain(self.compiled.iter().map(|compiled| &compiled.dag));
        let is_named = |dag: &&Dag| created.is_some_and(|created| created.dag_hash == dag.hash());
        graphs().find(is_named).or_else(|| graphs().next()).cloned()
    }
}

impl RunDirectory {
    /// Why workflow and graph do not belong together or, if the log begins with RunCreated, to that.
    pub fn graph_fault(&self, has_beginning: bool, redactions: &Redactions) -> Option<RunError> {
        let created = has_beginning.then(|| Created::read(&self.log(), redactions)).and_then(Result::ok);
        Graphs::read(self).fault(created.as_ref(), redactions)
    }
}

/// Whether the name of the workflow may have been redacted.
fn is_redacted(redactions: &Redactions) -> bool {
    redactions.workflow || redactions.events.contains(&0)
}

fn mismatch(message: &str, expected: &str, found: &str) -> RunError {
    RunError::new(ErrorCode::DagMismatch, message).compared(expected, found)
}
