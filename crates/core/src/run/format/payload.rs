//! The payloads of events (`docs/run-format.md` section 4), one type per kind, borrowed from the line.
//!
//! Parsing proves that the text is one JSON object, and that every field that the kind requires is present and has its type. What the
//! fields mean for the state is not checked here. The parser is written out field by field because every replay runs it for every event; a
//! test fails if it differs from the table in [`payload_fields`](super::payload_fields).

use super::error::{ErrorCode, RunError};
use super::kind::Kind;
use crate::json::{Field, FieldError, Nesting, Text, names};
use crate::run::graph::Scheduler;

/// A worker as RunStarted declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerDeclaration<'a> {
    /// Its id.
    pub id: Text<'a>,
    /// Its capabilities, sorted, without duplicates.
    pub capabilities: Vec<Text<'a>>,
}

/// The payload of an event. Fields that neither the state nor a check needs are validated and left out.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The fields are those of the specification's table, under their names there.
pub enum Payload<'a> {
    /// The run exists. `capabilities` are sorted and have no duplicates.
    RunCreated {
        run_id: Text<'a>,
        workflow_name: Text<'a>,
        workflow_version: Text<'a>,
        dag_hash: Text<'a>,
        scheduler: Scheduler,
        capabilities: Vec<Text<'a>>,
    },
    /// The workers exist.
    RunStarted { workers: Vec<WorkerDeclaration<'a>> },
    /// The run succeeded, with the hashes of the nodes' outputs, by node.
    RunCompleted { outputs: Vec<(Text<'a>, Text<'a>)> },
    /// The run failed.
    RunFailed { code: Text<'a>, message: Text<'a>, node: Option<Text<'a>> },
    /// A task waits. `latest_dependency` is the largest of the times in `dependsOn`; `None` if there are none.
    NodeScheduled { task: Text<'a>, priority: Option<f64>, latest_dependency: Option<u64> },
    /// A worker started a task.
    NodeStarted { task: Text<'a>, worker: Text<'a>, input_hash: Text<'a> },
    /// A task succeeded.
    NodeCompleted { task: Text<'a>, output_hash: Text<'a> },
    /// A task failed.
    NodeFailed { task: Text<'a>, code: Text<'a>, message: Text<'a>, will_retry: bool },
    /// A node will not be run. `because` is the time of the event that is the reason.
    NodeSkipped { reason: Text<'a>, because: Option<u64> },
    /// A call began.
    ToolInvoked { tool: Text<'a>, call: Text<'a>, request_hash: Text<'a>, version: Option<Text<'a>> },
    /// A call ended with an output: `raw_hash` is the hash of its bytes, `output_hash` the hash of its normalised form.
    ToolCompleted { tool: Text<'a>, call: Text<'a>, raw_hash: Text<'a>, output_hash: Text<'a>, normalizer: Text<'a> },
    /// A call ended with an error.
    ToolFailed { tool: Text<'a>, call: Text<'a>, code: Text<'a>, message: Text<'a> },
    /// A call timed out after `limit_ms` milliseconds.
    ToolTimedOut { tool: Text<'a>, call: Text<'a>, limit_ms: f64 },
    /// It was checked whether someone has a capability.
    CapabilityCheck { capability: Text<'a>, subject: Option<Text<'a>>, allowed: bool },
    /// A policy made a decision.
    PolicyDecision { decision: Text<'a>, rule: Text<'a>, allowed: bool },
    /// A task was assigned to a worker. `from` is the worker that had it until then.
    TaskAssigned { task: Text<'a>, worker: Text<'a>, reason: Option<Text<'a>>, from: Option<Text<'a>> },
    /// The worker accepted its task.
    TaskAccepted { task: Text<'a>, worker: Text<'a> },
    /// The worker rejected its task.
    TaskRejected { task: Text<'a>, worker: Text<'a>, reason: Text<'a> },
    /// A snapshot of the state after the event at time `at` was written.
    SnapshotCreated { snapshot: Text<'a>, state_hash: Text<'a>, at: u64 },
    /// The state was restored from a snapshot.
    SnapshotRestored { snapshot: Text<'a>, state_hash: Text<'a>, at: u64 },
    /// Bytes were stored under their hash. `size` in bytes.
    BlobStored { blob: Text<'a>, size: f64, media_type: Option<Text<'a>> },
    /// A worker reported its status. `capabilities` are sorted and have no duplicates.
    Heartbeat { worker: Text<'a>, status: Text<'a>, capabilities: Option<Vec<Text<'a>>> },
    /// An error occurred outside of the graph.
    Error { code: Text<'a>, message: Text<'a>, recoverable: bool },
}

impl<'a> Payload<'a> {
    /// Parses the payload of an event of this kind from its JSON text, which has no white space around it.
    ///
    /// The error does not say where the event is, because the caller knows.
    #[inline]
    pub fn parse(kind: Kind, json: &'a str, nesting: &mut Nesting) -> Result<Self, RunError> {
        Self::read(kind, json, nesting).map_err(|error| refused(kind, error))
    }

    #[inline]
    fn read(kind: Kind, json: &'a str, nesting: &mut Nesting) -> Result<Self, FieldError> {
        match kind {
            Kind::RunCreated | Kind::RunStarted | Kind::RunCompleted | Kind::RunFailed => run(kind, json, nesting),
            Kind::NodeScheduled => scheduled(json, nesting),
            Kind::NodeStarted => {
                let [task, worker, input] = Field::read(json, names!["task", "worker", "inputHash"], nesting)?;
                Ok(Payload::NodeStarted { task: task.id()?, worker: worker.id()?, input_hash: input.id()? })
            }
            Kind::NodeCompleted => {
                let [task, output] = Field::read(json, names!["task", "outputHash"], nesting)?;
                Ok(Payload::NodeCompleted { task: task.id()?, output_hash: output.id()? })
            }
            Kind::NodeFailed => {
                let [task, code, message, retry] =
                    Field::read(json, names!["task", "code", "message", "willRetry"], nesting)?;
                let (task, will_retry) = (task.id()?, retry.boolean()?);
                Ok(Payload::NodeFailed { task, code: code.text()?, message: message.text()?, will_retry })
            }
            Kind::NodeSkipped => {
                let [reason, because] = Field::read(json, names!["reason", "because"], nesting)?;
                Ok(Payload::NodeSkipped { reason: reason.text()?, because: because.optional(Field::integer)? })
            }
            Kind::ToolInvoked | Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut => {
                tool(kind, json, nesting)
            }
            Kind::TaskAssigned => {
                let [task, worker, reason, from] =
                    Field::read(json, names!["task", "worker", "reason", "from"], nesting)?;
                let (reason, from) = (reason.optional(Field::text)?, from.optional(Field::id)?);
                Ok(Payload::TaskAssigned { task: task.id()?, worker: worker.id()?, reason, from })
            }
            Kind::TaskAccepted => {
                let [task, worker] = Field::read(json, names!["task", "worker"], nesting)?;
                Ok(Payload::TaskAccepted { task: task.id()?, worker: worker.id()? })
            }
            Kind::TaskRejected => {
                let [task, worker, reason] = Field::read(json, names!["task", "worker", "reason"], nesting)?;
                Ok(Payload::TaskRejected { task: task.id()?, worker: worker.id()?, reason: reason.text()? })
            }
            Kind::CapabilityCheck
            | Kind::PolicyDecision
            | Kind::SnapshotCreated
            | Kind::SnapshotRestored
            | Kind::BlobStored
            | Kind::Heartbeat
            | Kind::Error => beside(kind, json, nesting),
        }
    }

    /// The kind whose payload this is.
    pub fn kind(&self) -> Kind {
        match self {
            Payload::RunCreated { .. } => Kind::RunCreated,
            Payload::RunStarted { .. } => Kind::RunStarted,
            Payload::RunCompleted { .. } => Kind::RunCompleted,
            Payload::RunFailed { .. } => Kind::RunFailed,
            Payload::NodeScheduled { .. } => Kind::NodeScheduled,
            Payload::NodeStarted { .. } => Kind::NodeStarted,
            Payload::NodeCompleted { .. } => Kind::NodeCompleted,
            Payload::NodeFailed { .. } => Kind::NodeFailed,
            Payload::NodeSkipped { .. } => Kind::NodeSkipped,
            Payload::ToolInvoked { .. } => Kind::ToolInvoked,
            Payload::ToolCompleted { .. } => Kind::ToolCompleted,
            Payload::ToolFailed { .. } => Kind::ToolFailed,
            Payload::ToolTimedOut { .. } => Kind::ToolTimedOut,
            Payload::CapabilityCheck { .. } => Kind::CapabilityCheck,
            Payload::PolicyDecision { .. } => Kind::PolicyDecision,
            Payload::TaskAssigned { .. } => Kind::TaskAssigned,
            Payload::TaskAccepted { .. } => Kind::TaskAccepted,
            Payload::TaskRejected { .. } => Kind::TaskRejected,
            Payload::SnapshotCreated { .. } => Kind::SnapshotCreated,
            Payload::SnapshotRestored { .. } => Kind::SnapshotRestored,
            Payload::BlobStored { .. } => Kind::BlobStored,
            Payload::Heartbeat { .. } => Kind::Heartbeat,
            Payload::Error { .. } => Kind::Error,
        }
    }

    /// The task that the event is about. Returns `None` for kinds without a `task`.
    pub fn task(&self) -> Option<&Text<'a>> {
        match self {
            Payload::NodeScheduled { task, .. }
            | Payload::NodeStarted { task, .. }
            | Payload::NodeCompleted { task, .. }
            | Payload::NodeFailed { task, .. }
            | Payload::TaskAssigned { task, .. }
            | Payload::TaskAccepted { task, .. }
            | Payload::TaskRejected { task, .. } => Some(task),
            _ => None,
        }
    }
}

fn run<'a>(kind: Kind, json: &'a str, nesting: &mut Nesting) -> Result<Payload<'a>, FieldError> {
    match kind {
        Kind::RunCreated => {
            let names = names!["runId", "workflow", "dagHash", "scheduler", "capabilities"];
            let [run_id, workflow, dag_hash, scheduler, capabilities] = Field::read(json, names, nesting)?;
            let (run_id, dag_hash) = (run_id.id()?, dag_hash.id()?);
            let inner = Field::read(workflow.required("an object")?, names!["name", "version"], nesting);
            let [name, version] = inner.map_err(|error| error.within("workflow"))?;
            let named = |field: Field<'a>| field.text().map_err(|error| error.within("workflow"));
            let (workflow_name, workflow_version) = (named(name)?, named(version)?);
            let scheduler = scheduler_of(scheduler)?;
            let capabilities = capabilities.id_set(nesting)?;
            Ok(Payload::RunCreated { run_id, workflow_name, workflow_version, dag_hash, scheduler, capabilities })
        }
        Kind::RunStarted => {
            let [list] = Field::read(json, names!["workers"], nesting)?;
            Ok(Payload::RunStarted { workers: workers(list, nesting)? })
        }
        Kind::RunCompleted => {
            let [list] = Field::read(json, names!["outputs"], nesting)?;
            Ok(Payload::RunCompleted { outputs: outputs(list, nesting)? })
        }
        _ => {
            let [code, message, node] = Field::read(json, names!["code", "message", "node"], nesting)?;
            let (code, message) = (code.text()?, message.text()?);
            Ok(Payload::RunFailed { code, message, node: node.optional(Field::id)? })
        }
    }
}

fn scheduler_of(field: Field<'_>) -> Result<Scheduler, FieldError> {
    const EXPECTED: &str = "round-robin, least-loaded or external";
    field.required(EXPECTED)?;
    let name = field.text().map_err(|_| field.wrong(EXPECTED))?;
    Scheduler::parse(name.as_json()).ok_or_else(|| field.wrong(EXPECTED))
}

fn workers<'a>(list: Field<'a>, nesting: &mut Nesting) -> Result<Vec<WorkerDeclaration<'a>>, FieldError> {
    let (mut workers, inner) = (Vec::new(), &mut Nesting::default());
    list.each(nesting, |element| {
        let worker = Field::read(element.required("an object")?, names!["id", "capabilities"], inner)
            .and_then(|[id, list]| Ok(WorkerDeclaration { id: id.id()?, capabilities: list.id_set(inner)? }));
        workers.push(worker.map_err(|error| error.within(&format!("workers[{}]", workers.len())))?);
        Ok(())
    })?;
    Ok(workers)
}

fn outputs<'a>(list: Field<'a>, nesting: &mut Nesting) -> Result<Vec<(Text<'a>, Text<'a>)>, FieldError> {
    let members = list.members(nesting)?;
    let output = |(node, hash): (Text<'a>, &'a str)| {
        let hash = Field::of("outputs", hash).id().map_err(|_| list.wrong("an object of non-empty strings"))?;
        Ok((node, hash))
    };
    members.into_iter().map(output).collect()
}

#[inline]
fn scheduled<'a>(json: &'a str, nesting: &mut Nesting) -> Result<Payload<'a>, FieldError> {
    let [task, priority, depends_on] = Field::read(json, names!["task", "priority", "dependsOn"], nesting)?;
    let (task, priority) = (task.id()?, priority.optional(Field::number)?);
    let mut latest_dependency = None;
    depends_on.each(nesting, |time| {
        let time = time.integer().map_err(|_| depends_on.wrong("an array of integers from 0 on"))?;
        latest_dependency = latest_dependency.max(Some(time));
        Ok(())
    })?;
    Ok(Payload::NodeScheduled { task, priority, latest_dependency })
}

#[inline]
fn tool<'a>(kind: Kind, json: &'a str, nesting: &mut Nesting) -> Result<Payload<'a>, FieldError> {
    match kind {
        Kind::ToolInvoked => {
            let [tool, call, request, version] =
                Field::read(json, names!["tool", "call", "requestHash", "version"], nesting)?;
            let (tool, call, request_hash) = (tool.id()?, call.id()?, request.id()?);
            Ok(Payload::ToolInvoked { tool, call, request_hash, version: version.optional(Field::text)? })
        }
        Kind::ToolCompleted => {
            let names = names!["tool", "call", "rawHash", "outputHash", "normalizer"];
            let [tool, call, raw, output, normalizer] = Field::read(json, names, nesting)?;
            let (tool, call, raw_hash, output_hash) = (tool.id()?, call.id()?, raw.id()?, output.id()?);
            Ok(Payload::ToolCompleted { tool, call, raw_hash, output_hash, normalizer: normalizer.id()? })
        }
        Kind::ToolFailed => {
            let [tool, call, code, message] = Field::read(json, names!["tool", "call", "code", "message"], nesting)?;
            let (tool, call, code, message) = (tool.id()?, call.id()?, code.text()?, message.text()?);
            Ok(Payload::ToolFailed { tool, call, code, message })
        }
        _ => {
            let [tool, call, limit] = Field::read(json, names!["tool", "call", "limitMs"], nesting)?;
            Ok(Payload::ToolTimedOut { tool: tool.id()?, call: call.id()?, limit_ms: limit.amount()? })
        }
    }
}

/// Parses the kinds that are about neither the course of the run nor a task.
fn beside<'a>(kind: Kind, json: &'a str, nesting: &mut Nesting) -> Result<Payload<'a>, FieldError> {
    match kind {
        Kind::CapabilityCheck => {
            let [capability, subject, allowed] =
                Field::read(json, names!["capability", "subject", "allowed"], nesting)?;
            let (capability, subject) = (capability.id()?, subject.optional(Field::text)?);
            Ok(Payload::CapabilityCheck { capability, subject, allowed: allowed.boolean()? })
        }
        Kind::PolicyDecision => {
            let [decision, rule, allowed] = Field::read(json, names!["decision", "rule", "allowed"], nesting)?;
            let (decision, rule) = (decision.text()?, rule.id()?);
            Ok(Payload::PolicyDecision { decision, rule, allowed: allowed.boolean()? })
        }
        Kind::SnapshotCreated | Kind::SnapshotRestored => {
            let [snapshot, state_hash, at] = Field::read(json, names!["snapshot", "stateHash", "at"], nesting)?;
            let (snapshot, state_hash, at) = (snapshot.id()?, state_hash.id()?, at.integer()?);
            Ok(match kind {
                Kind::SnapshotCreated => Payload::SnapshotCreated { snapshot, state_hash, at },
                _ => Payload::SnapshotRestored { snapshot, state_hash, at },
            })
        }
        Kind::BlobStored => {
            let [blob, size, media_type] = Field::read(json, names!["blob", "size", "mediaType"], nesting)?;
            let (blob, size) = (blob.id()?, size.amount()?);
            Ok(Payload::BlobStored { blob, size, media_type: media_type.optional(Field::text)? })
        }
        Kind::Heartbeat => {
            let [worker, status, capabilities] =
                Field::read(json, names!["worker", "status", "capabilities"], nesting)?;
            let (worker, status) = (worker.id()?, status.id()?);
            let capabilities = capabilities.optional(|field| field.id_set(nesting))?;
            Ok(Payload::Heartbeat { worker, status, capabilities })
        }
        _ => {
            let [code, message, recoverable] = Field::read(json, names!["code", "message", "recoverable"], nesting)?;
            let (code, message) = (code.text()?, message.text()?);
            Ok(Payload::Error { code, message, recoverable: recoverable.boolean()? })
        }
    }
}

#[cold]
fn refused(kind: Kind, error: FieldError) -> RunError {
    let message = format!("The payload of {kind} is not valid: {error}.");
    match error {
        FieldError::NotAnObject => RunError::new(ErrorCode::NotAJsonLine, message),
        FieldError::Missing { field, expected } => {
            RunError::new(ErrorCode::MissingField, message).compared(format!("{field}: {expected}"), "nothing")
        }
        FieldError::Wrong { field, expected, found } => {
            RunError::new(ErrorCode::InvalidField, message).compared(format!("{field}: {expected}"), found)
        }
    }
}

#[cfg(test)]
mod tests;
