//! The kinds of events and their payloads (`docs/run-format.md` section 4): one table, from which payloads are read.
//!
//! Reading proves that the text is one JSON object, and that every field that the kind requires is present and has its type. What the
//! fields mean for the state is not checked here. A payload borrows from the line.

use std::fmt;

use super::error::{ErrorCode, RunError};
use super::payload_fields::FieldType::{Amount, Flag, Id, IdsByNode, Number, Object, Objects, Time, Times};
use super::payload_fields::*;
use crate::json::{Field, FieldError, Name, Nesting, Text, quoted};
use crate::run::graph::Scheduler;

/// Defines the kinds: for each its payload's fields, with their types here and their entries in the table of fields.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident { $($field:ident $(& $second:ident)?: $of:ty = $entry:expr,)+ })+) => {
        /// The kind of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $doc])+ $kind,)+
        }

        /// The payload of an event, by its kind.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)] // The fields are those of the specification's table, under their names there.
        pub enum Payload<'a> {
            $($(#[doc = $doc])+ $kind { $($field: $of, $($second: $of,)?)+ },)+
        }

        impl Kind {
            /// Every kind, in the order of the specification's table.
            pub const ALL: [Kind; 23] = [$(Kind::$kind,)+];

            /// The kind with this name, as written in a line. Returns `None` if there is no such kind; names are never guessed.
            #[inline]
            #[allow(non_upper_case_globals)]
            pub fn parse(name: &str) -> Option<Kind> {
                $(const $kind: &str = stringify!($kind);)+
                match name {
                    $($kind => Some(Kind::$kind),)+
                    _ => None,
                }
            }

            /// The name, as written in a line.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Kind::$kind => stringify!($kind),)+
                }
            }

            /// The fields of its payload.
            pub fn fields(self) -> &'static [PayloadField] {
                match self {
                    $(Kind::$kind => const { &[$($entry),+] },)+
                }
            }
        }

        impl<'a> Payload<'a> {
            /// The kind whose payload this is.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Payload::$kind { .. } => Kind::$kind,)+
                }
            }

            #[inline]
            #[allow(unused_parens)] // Most fields of a payload are one field here, too.
            fn read(kind: Kind, json: &'a str, nesting: &mut Nesting) -> Result<Self, FieldError> {
                match kind {
                    $(Kind::$kind => {
                        let [$($field),+] = Field::read(json, const { &[$(Name::new($entry.name)),+] }, nesting)?;
                        $(let ($field $(, $second)?) = Read::read($field, const { &$entry }, nesting)?;)+
                        Ok(Payload::$kind { $($field, $($second,)?)+ })
                    })+
                }
            }
        }
    };
}

kinds! {
    /// The run exists, with its graph. Always the event at time 0, and no other.
    RunCreated {
        run_id: Text<'a> = id("runId").not_compared(),
        workflow_name & workflow_version: Text<'a> = field("workflow", Object(WORKFLOW)),
        dag_hash: Text<'a> = id("dagHash").shown_as("dag_hash"),
        scheduler: Scheduler = field("scheduler", FieldType::Scheduler).fixed().shown(),
        capabilities: Vec<Text<'a>> = CAPABILITIES,
    }
    /// The workers exist, and work may begin.
    RunStarted {
        workers: Vec<WorkerDeclaration<'a>> = field("workers", Objects(WORKERS)).shown(),
    }
    /// The run succeeded, with the hashes of the nodes' outputs, by node.
    RunCompleted {
        outputs: Vec<(Text<'a>, Text<'a>)> = field("outputs", IdsByNode).fixed().shown(),
    }
    /// The run failed.
    RunFailed {
        code: Text<'a> = CODE,
        message: Text<'a> = MESSAGE,
        node: Option<Text<'a>> = id("node").optional(),
    }
    /// A node is ready, and its next task waits for a worker. All dependencies ended before `earliest`.
    NodeScheduled {
        task: Text<'a> = TASK,
        priority: Option<f64> = field("priority", Number).optional().shown(),
        earliest: u64 = field("dependsOn", Times),
    }
    /// A worker started a task.
    NodeStarted {
        task: Text<'a> = TASK,
        worker: Text<'a> = WORKER,
        input_hash: Text<'a> = id("inputHash").shown_as("input_hash"),
    }
    /// A task succeeded, and with it its node.
    NodeCompleted {
        task: Text<'a> = TASK,
        output_hash: Text<'a> = OUTPUT_HASH,
    }
    /// A task failed. Its node failed too, or waits for another attempt. Code and message become the node's error in the state.
    NodeFailed {
        task: Text<'a> = TASK,
        code: Text<'a> = CODE.fixed(),
        message: Text<'a> = MESSAGE.fixed(),
        will_retry: bool = field("willRetry", Flag).shown_as("will_retry"),
    }
    /// A node will not be run. `because` is the time of the event that is the reason.
    NodeSkipped {
        reason: Text<'a> = text("reason").shown(),
        because: Option<u64> = field("because", Time).optional(),
    }
    /// A call to a tool began. This event opens the call, whose id is specific to the run.
    ToolInvoked {
        tool: Text<'a> = TOOL,
        call: Text<'a> = CALL.not_compared(),
        request_hash: Text<'a> = id("requestHash").shown_as("request_hash"),
        version: Option<Text<'a>> = text("version").optional().shown(),
    }
    /// A call ended with an output: `raw_hash` is the hash of its bytes, `output_hash` the hash of its normalised form.
    ToolCompleted {
        tool: Text<'a> = TOOL,
        call: Text<'a> = CALL,
        raw_hash: Text<'a> = id("rawHash"),
        output_hash: Text<'a> = OUTPUT_HASH,
        normalizer: Text<'a> = id("normalizer"),
    }
    /// A call ended with an error.
    ToolFailed {
        tool: Text<'a> = TOOL,
        call: Text<'a> = CALL,
        code: Text<'a> = CODE,
        message: Text<'a> = MESSAGE,
    }
    /// A call timed out after `limit_ms` milliseconds.
    ToolTimedOut {
        tool: Text<'a> = TOOL,
        call: Text<'a> = CALL,
        limit_ms: f64 = field("limitMs", Amount).shown_as("limit_ms"),
    }
    /// It was checked whether someone has a capability.
    CapabilityCheck {
        capability: Text<'a> = id("capability").shown(),
        subject: Option<Text<'a>> = text("subject").optional().shown(),
        allowed: bool = ALLOWED,
    }
    /// A policy made a decision.
    PolicyDecision {
        decision: Text<'a> = text("decision").shown(),
        rule: Text<'a> = id("rule").shown(),
        allowed: bool = ALLOWED,
    }
    /// The task was assigned to a worker. `from` is the worker that had it until then.
    TaskAssigned {
        task: Text<'a> = TASK,
        worker: Text<'a> = WORKER,
        reason: Option<Text<'a>> = text("reason").optional(),
        from: Option<Text<'a>> = id("from").optional().shown(),
    }
    /// The worker accepted its task.
    TaskAccepted {
        task: Text<'a> = TASK,
        worker: Text<'a> = WORKER,
    }
    /// The worker rejected its task.
    TaskRejected {
        task: Text<'a> = TASK,
        worker: Text<'a> = WORKER,
        reason: Text<'a> = text("reason").shown(),
    }
    /// A snapshot of the state after the event at time `at` was written.
    SnapshotCreated {
        snapshot: Text<'a> = id("snapshot"),
        state_hash: Text<'a> = id("stateHash"),
        at: u64 = field("at", Time),
    }
    /// The state was restored from a snapshot.
    SnapshotRestored {
        snapshot: Text<'a> = id("snapshot"),
        state_hash: Text<'a> = id("stateHash"),
        at: u64 = field("at", Time),
    }
    /// Bytes were stored under their hash. `size` in bytes.
    BlobStored {
        blob: Text<'a> = id("blob"),
        size: f64 = field("size", Amount),
        media_type: Option<Text<'a>> = text("mediaType").optional(),
    }
    /// A worker reported its status.
    Heartbeat {
        worker: Text<'a> = WORKER,
        status: Text<'a> = field("status", Id).fixed().shown(),
        capabilities: Option<Vec<Text<'a>>> = CAPABILITIES.optional(),
    }
    /// An error occurred outside of the graph.
    Error {
        code: Text<'a> = CODE,
        message: Text<'a> = MESSAGE,
        recoverable: bool = field("recoverable", Flag),
    }
}

impl Kind {
    /// The error for a kind that this release does not know.
    #[cold]
    pub fn unknown(name: &str) -> RunError {
        let shown = quoted(name);
        RunError::new(ErrorCode::UnknownKind, format!("There is no kind '{shown}'. A newer release may know it."))
            .compared("one of the 23 kinds", name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'a> Payload<'a> {
    /// Parses the payload of an event of this kind from its JSON text, which has no white space around it.
    ///
    /// The error does not say where the event is, because the caller knows.
    #[inline]
    pub fn parse(kind: Kind, json: &'a str, nesting: &mut Nesting) -> Result<Self, RunError> {
        Self::read(kind, json, nesting).map_err(|error| refused(kind, error))
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
