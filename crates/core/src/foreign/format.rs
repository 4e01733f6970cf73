//! What a format has to say.

use super::Stop;
use super::builder::{Builder, Shape, Start};
use super::records::{Head, Layout, RecordPlace};
use super::value::{Json, Object};
use crate::lines::LineSource;

/// A record of a source.
pub(super) struct Record<'a> {
    /// Where it is.
    pub place: RecordPlace,
    /// Its value: an object, or an array where records are [values](Layout::Values).
    pub json: Json<'a>,
    /// Its members.
    pub fields: Object<'a>,
    /// Whether it is a document without the elements of its array, whose elements are the records that follow.
    pub is_head: bool,
}

/// To which conversation of its file a record belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Lane {
    /// That of the file itself.
    Main,
    /// That of a sub-agent with this id.
    Agent(String),
    /// One of several equal ones, a session with this id.
    Session(String),
}

/// What a listing of conversations learns from a record.
pub(super) struct Look<'a> {
    /// The conversation that it belongs to; `None` if it belongs to none.
    pub lane: Option<Lane>,
    /// A title of the conversation.
    pub title: Option<Json<'a>>,
    /// The time of the record.
    pub time: Option<Json<'a>>,
}

/// A conversation within a record.
pub(super) struct Embedded {
    /// The id of its agent.
    pub agent_id: String,
    /// When it begins.
    pub start_time: Option<super::time::Time>,
    /// Number of its records.
    pub records: u64,
}

/// From what a format begins to read a source.
pub(super) struct Opening<'a> {
    /// The beginning of the source.
    pub head: &'a Head<'a>,
    /// The source.
    pub source: &'a LineSource,
    /// The document without the elements of its array, if the source is one.
    pub document: Option<Json<'a>>,
    /// The conversation to read.
    pub lane: Lane,
}

/// A format of foreign sessions.
pub(super) trait Format: Sized {
    /// Its name, as users see it.
    const NAME: &'static str;
    /// How its records make a history.
    const SHAPE: Shape;
    /// Whether a source may have several equal conversations, so that one must be chosen.
    const HAS_SESSIONS: bool = false;

    /// Whether a source with this beginning has this format.
    fn claims(head: &Head<'_>) -> bool;

    /// How a source is divided into records.
    fn layout(head: &Head<'_>) -> Layout;

    /// Begins to read a source, and finds what its `session_start` says.
    fn open(opening: &Opening<'_>) -> Result<(Self, Start), Stop>;

    /// Reads the next record. What it calls on `out` decides the record's fate; a record of which nothing became has no effect.
    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop>;

    /// Called behind the last record.
    fn end(&mut self, source: &LineSource, out: &mut Builder) -> Result<(), Stop>;

    /// What a listing of conversations learns from a record.
    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        Look { lane: Some(Lane::Main), title: None, time: record.fields.get("timestamp") }
    }

    /// The conversations within a record, for a listing.
    fn embedded(&mut self, _: &Record<'_>) -> Vec<Embedded> {
        Vec::new()
    }
}

/// A format that reads a source. Behind a pointer, so that the loops over records are compiled once and not for each format.
pub(super) trait Reader {
    /// [`Format::record`].
    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop>;

    /// [`Format::end`].
    fn end(&mut self, source: &LineSource, out: &mut Builder) -> Result<(), Stop>;

    /// [`Format::look`].
    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a>;

    /// [`Format::embedded`].
    fn embedded(&mut self, record: &Record<'_>) -> Vec<Embedded>;
}

impl<F: Format> Reader for F {
    fn record(&mut self, record: &Record<'_>, out: &mut Builder) -> Result<(), Stop> {
        Format::record(self, record, out)
    }

    fn end(&mut self, source: &LineSource, out: &mut Builder) -> Result<(), Stop> {
        Format::end(self, source, out)
    }

    fn look<'a>(&mut self, record: &Record<'a>) -> Look<'a> {
        Format::look(self, record)
    }

    fn embedded(&mut self, record: &Record<'_>) -> Vec<Embedded> {
        Format::embedded(self, record)
    }
}
