//! Recorded runs for the tests of all rooms, and what they change lines with.

pub(crate) use super::format::{Envelope, GENESIS, append_line};
pub(crate) use super::record::Recorded;
pub(crate) use super::sample::{Chance, Sample, SampleEvent, SampleOptions, any_options};
