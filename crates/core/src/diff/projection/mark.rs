//! What is noted at the values of an event that is compared as a tree.

use crate::json;

/// An event as it is compared.
pub type Tree<'a> = json::Tree<'a, Mark>;

/// The memory of a discarded tree.
pub(crate) type SpareTree = json::SpareTree<Mark>;

/// A reference to another record of the same log, by its place among the records compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The place of the record. Negative before the start of the comparison.
    pub place: i64,
    /// The part of that record, if it has several.
    pub part: u32,
}

/// How a value counts in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// By its value.
    #[default]
    Plain,
    /// Not at all.
    Dropped,
    /// By what it refers to. `None` if it refers to nothing in the recording; all such references are equal.
    Refers(Option<Reference>),
    /// As an array in which order and repetitions do not matter.
    Set,
}

impl json::Mark for Mark {
    const DROPPED: Self = Mark::Dropped;
}
