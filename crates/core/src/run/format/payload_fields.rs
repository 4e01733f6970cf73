//! The fields of payloads: names and types, how redaction and the diff treat them, and how they are read.

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

pub(super) const fn field(name: &'static str, of: FieldType) -> PayloadField {
    PayloadField { name, of, is_optional: false, is_fixed: false, is_compared: true, shown_as: None }
}

pub(super) const fn id(name: &'static str) -> PayloadField {
    PayloadField { is_fixed: true, ..field(name, FieldType::Id) }
}

pub(super) const fn text(name: &'static str) -> PayloadField {
    field(name, FieldType::Text)
}

impl PayloadField {
    pub(super) const fn optional(self) -> Self {
        PayloadField { is_optional: true, ..self }
    }

    pub(super) const fn fixed(self) -> Self {
        PayloadField { is_fixed: true, ..self }
    }

    pub(super) const fn not_compared(self) -> Self {
        PayloadField { is_compared: false, ..self }
    }

    pub(super) const fn shown(self) -> Self {
        self.shown_as(self.name)
    }

    pub(super) const fn shown_as(self, name: &'static str) -> Self {
        PayloadField { shown_as: Some(name), ..self }
    }
}

pub(super) const TASK: PayloadField = id("task").shown();
pub(super) const WORKER: PayloadField = id("worker").shown();
pub(super) const TOOL: PayloadField = id("tool").shown();
pub(super) const CALL: PayloadField = field("call", FieldType::Call).fixed();
pub(super) const CODE: PayloadField = text("code").shown();
pub(super) const MESSAGE: PayloadField = text("message").shown();
pub(super) const ALLOWED: PayloadField = field("allowed", FieldType::Flag).shown();
pub(super) const CAPABILITIES: PayloadField = field("capabilities", FieldType::Ids).fixed();
pub(super) const OUTPUT_HASH: PayloadField = id("outputHash").shown_as("output_hash");
pub(super) const WORKFLOW: &[PayloadField] =
    &[text("name").shown_as("workflow"), text("version").shown_as("workflow_version")];
pub(super) const WORKERS: &[PayloadField] = &[id("id"), CAPABILITIES];

/// A value of a payload, read from a field as the entry of its table says. Inlined, so that nothing of the entry is left at run time.
pub(super) trait Read<'a>: Sized {
    fn read(field: Field<'a>, entry: &PayloadField, nesting: &mut Nesting) -> Result<Self, FieldError>;
}

impl<'a> Read<'a> for Text<'a> {
    #[inline(always)]
    fn read(field: Field<'a>, entry: &PayloadField, _: &mut Nesting) -> Result<Self, FieldError> {
        match entry.of {
            FieldType::Text => field.text(),
            _ => field.id(),
        }
    }
}

impl<'a, T: Read<'a>> Read<'a> for Option<T> {
    #[inline(always)]
    fn read(field: Field<'a>, entry: &PayloadField, nesting: &mut Nesting) -> Result<Self, FieldError> {
        field.optional(|field| T::read(field, entry, nesting))
    }
}

impl<'a> Read<'a> for bool {
    #[inline(always)]
    fn read(field: Field<'a>, _: &PayloadField, _: &mut Nesting) -> Result<Self, FieldError> {
        field.boolean()
    }
}

impl<'a> Read<'a> for f64 {
    #[inline(always)]
    fn read(field: Field<'a>, entry: &PayloadField, _: &mut Nesting) -> Result<Self, FieldError> {
        match entry.of {
            FieldType::Amount => field.amount(),
            _ => field.number(),
        }
    }
}

/// A time, or the time after the largest of several; 0 if there are none.
impl<'a> Read<'a> for u64 {
    #[inline(always)]
    fn read(field: Field<'a>, entry: &PayloadField, nesting: &mut Nesting) -> Result<Self, FieldError> {
        let mut after = 0;
        if !matches!(entry.of, FieldType::Times) {
            return field.integer();
        }
        field.each(nesting, |time| {
            let time = time.integer().map_err(|_| field.wrong("an array of integers from 0 on"))?;
            after = after.max(time + 1);
            Ok(())
        })?;
        Ok(after)
    }
}

impl<'a> Read<'a> for Scheduler {
    fn read(field: Field<'a>, _: &PayloadField, _: &mut Nesting) -> Result<Self, FieldError> {
        const EXPECTED: &str = "round-robin, least-loaded or external";
        field.required(EXPECTED)?;
        let name = field.text().map_err(|_| field.wrong(EXPECTED))?;
        Scheduler::parse(name.as_json()).ok_or_else(|| field.wrong(EXPECTED))
    }
}

impl<'a> Read<'a> for Vec<Text<'a>> {
    #[inline(always)]
    fn read(field: Field<'a>, _: &PayloadField, nesting: &mut Nesting) -> Result<Self, FieldError> {
        field.id_set(nesting)
    }
}

impl<'a> Read<'a> for Vec<(Text<'a>, Text<'a>)> {
    fn read(field: Field<'a>, entry: &PayloadField, nesting: &mut Nesting) -> Result<Self, FieldError> {
        let output = |(node, hash): (Text<'a>, &'a str)| {
            let hash = Field::of(entry.name, hash).id().map_err(|_| field.wrong("an object of non-empty strings"))?;
            Ok((node, hash))
        };
        field.members(nesting)?.into_iter().map(output).collect()
    }
}

impl<'a> Read<'a> for Vec<WorkerDeclaration<'a>> {
    fn read(field: Field<'a>, _: &PayloadField, nesting: &mut Nesting) -> Result<Self, FieldError> {
        let (mut workers, inner) = (Vec::new(), &mut Nesting::default());
        field.each(nesting, |element| {
            let worker = Field::read(element.required("an object")?, names!["id", "capabilities"], inner)
                .and_then(|[id, list]| Ok(WorkerDeclaration { id: id.id()?, capabilities: list.id_set(inner)? }));
            workers.push(worker.map_err(|error| error.within(&format!("workers[{}]", workers.len())))?);
            Ok(())
        })?;
        Ok(workers)
    }
}

/// Name and version of a workflow.
impl<'a> Read<'a> for (Text<'a>, Text<'a>) {
    fn read(field: Field<'a>, entry: &PayloadField, nesting: &mut Nesting) -> Result<Self, FieldError> {
        let inner = Field::read(field.required("an object")?, names!["name", "version"], nesting);
        let texts = inner.and_then(|[name, version]| Ok((name.text()?, version.text()?)));
        texts.map_err(|error| error.within(entry.name))
    }
}
