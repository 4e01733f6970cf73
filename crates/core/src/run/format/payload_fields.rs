//! The fields of the payload of each kind (`docs/run-format.md` section 4): names and types, and how redaction and the diff treat them.
//!
//! The parser of payloads is written by hand, because it runs for every event of a replay. Tests compare it, and the documentation, with this table.

use super::kind::Kind;

/// A field of a payload, or of an object in one.
#[derive(Clone, Copy, Debug)]
pub struct PayloadField {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub of: FieldType,
    /// Whether it may be absent or `null`.
    pub is_optional: bool,
    /// Whether redaction must leave its strings unchanged: ids, hashes, names from a list, and whatever the state is built from. Fields
    /// that are not in the table may be redacted.
    pub is_fixed: bool,
    /// Whether the diff compares it. Fields that differ from run to run are not compared.
    pub is_compared: bool,
    /// The name under which the diff shows it, if it distinguishes an event from others of its kind.
    pub shown_as: Option<&'static str>,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
    /// A string that is not empty.
    Id,
    /// The id of a call. The diff compares the event that opened the call instead.
    Call,
    /// Any string.
    Text,
    /// `true` or `false`.
    Flag,
    /// The logical time of an event: an integer from 0 on.
    Time,
    /// An array of times.
    Times,
    /// A number from 0 on.
    Amount,
    /// Any finite number.
    Number,
    /// An array of ids that represents a set.
    Ids,
    /// An object of ids, by node.
    IdsByNode,
    /// The name of a scheduler.
    Scheduler,
    /// An object with these fields.
    Object(&'static [PayloadField]),
    /// An array of such objects.
    Objects(&'static [PayloadField]),
}

const fn field(name: &'static str, of: FieldType) -> PayloadField {
    PayloadField { name, of, is_optional: false, is_fixed: false, is_compared: true, shown_as: None }
}

const fn id(name: &'static str) -> PayloadField {
    PayloadField { is_fixed: true, ..field(name, FieldType::Id) }
}

const fn text(name: &'static str) -> PayloadField {
    field(name, FieldType::Text)
}

impl PayloadField {
    const fn optional(self) -> Self {
        PayloadField { is_optional: true, ..self }
    }

    const fn fixed(self) -> Self {
        PayloadField { is_fixed: true, ..self }
    }

    const fn not_compared(self) -> Self {
        PayloadField { is_compared: false, ..self }
    }

    const fn shown(self) -> Self {
        self.shown_as(self.name)
    }

    const fn shown_as(self, name: &'static str) -> Self {
        PayloadField { shown_as: Some(name), ..self }
    }
}

const TASK: PayloadField = id("task").shown();
const WORKER: PayloadField = id("worker").shown();
const TOOL: PayloadField = id("tool").shown();
const CALL: PayloadField = field("call", FieldType::Call).fixed();
const CODE: PayloadField = text("code").shown();
const MESSAGE: PayloadField = text("message").shown();
const ALLOWED: PayloadField = field("allowed", FieldType::Flag).shown();
const CAPABILITIES: PayloadField = field("capabilities", FieldType::Ids).fixed();
const OUTPUT_HASH: PayloadField = id("outputHash").shown_as("output_hash");
const WORKFLOW: &[PayloadField] = &[text("name").shown_as("workflow"), text("version").shown_as("workflow_version")];
const WORKERS: &[PayloadField] = &[id("id"), CAPABILITIES];
const SNAPSHOT: &[PayloadField] = &[id("snapshot"), id("stateHash"), field("at", FieldType::Time)];

impl Kind {
    /// The fields of its payload.
    pub fn fields(self) -> &'static [PayloadField] {
        use FieldType::{Amount, Flag, Id, IdsByNode, Number, Object, Objects, Scheduler, Time, Times};
        match self {
            Kind::RunCreated => {
                const {
                    &[
                        id("runId").not_compared(),
                        field("workflow", Object(WORKFLOW)),
                        id("dagHash").shown_as("dag_hash"),
                        field("scheduler", Scheduler).fixed().shown(),
                        CAPABILITIES,
                    ]
                }
            }
            Kind::RunStarted => const { &[field("workers", Objects(WORKERS)).shown()] },
            Kind::RunCompleted => const { &[field("outputs", IdsByNode).fixed().shown()] },
            Kind::RunFailed => const { &[CODE, MESSAGE, id("node").optional()] },
            Kind::NodeScheduled => {
                const { &[TASK, field("priority", Number).optional().shown(), field("dependsOn", Times)] }
            }
            Kind::NodeStarted => const { &[TASK, WORKER, id("inputHash").shown_as("input_hash")] },
            Kind::NodeCompleted => const { &[TASK, OUTPUT_HASH] },
            // Code and message become the node's error in the state.
            Kind::NodeFailed => {
                const { &[TASK, CODE.fixed(), MESSAGE.fixed(), field("willRetry", Flag).shown_as("will_retry")] }
            }
            Kind::NodeSkipped => const { &[text("reason").shown(), field("because", Time).optional()] },
            Kind::ToolInvoked => {
                const {
                    &[
                        TOOL,
                        // This event opens the call. The call's id is specific to the run.
                        CALL.not_compared(),
                        id("requestHash").shown_as("request_hash"),
                        text("version").optional().shown(),
                    ]
                }
            }
            Kind::ToolCompleted => const { &[TOOL, CALL, id("rawHash"), OUTPUT_HASH, id("normalizer")] },
            Kind::ToolFailed => const { &[TOOL, CALL, CODE, MESSAGE] },
            Kind::ToolTimedOut => const { &[TOOL, CALL, field("limitMs", Amount).shown_as("limit_ms")] },
            Kind::CapabilityCheck => const { &[id("capability").shown(), text("subject").optional().shown(), ALLOWED] },
            Kind::PolicyDecision => const { &[text("decision").shown(), id("rule").shown(), ALLOWED] },
            Kind::TaskAssigned => const { &[TASK, WORKER, text("reason").optional(), id("from").optional().shown()] },
            Kind::TaskAccepted => const { &[TASK, WORKER] },
            Kind::TaskRejected => const { &[TASK, WORKER, text("reason").shown()] },
            Kind::SnapshotCreated | Kind::SnapshotRestored => SNAPSHOT,
            Kind::BlobStored => const { &[id("blob"), field("size", Amount), text("mediaType").optional()] },
            Kind::Heartbeat => const { &[WORKER, field("status", Id).fixed().shown(), CAPABILITIES.optional()] },
            Kind::Error => const { &[CODE, MESSAGE, field("recoverable", Flag)] },
        }
    }
}
