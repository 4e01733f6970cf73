//! Recording a run: writing events, resuming a log and cutting off its torn end.

#[cfg(test)]
mod recorded;
mod recorder;
mod recording;
mod resume;

#[cfg(test)]
pub(crate) use recorded::Recorded;
#[cfg(test)]
pub(super) use recorded::{Record, lines};
pub use recorder::{RecordError, RunRecorder, RunRecorderConfig, WrittenSnapshot};
pub use recording::EventInput;
pub(super) use recording::Salt;
