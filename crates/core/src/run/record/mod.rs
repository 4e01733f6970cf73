//! Recording a run: writing events, resuming a log and cutting off its torn end.

#[cfg(test)]
mod recorded;
mod recorder;
mod recording;
mod resume;

#[cfg(test)]
pub use recorded::{Record, Recorded, lines};
pub use recorder::{RecordError, RunRecorder, RunRecorderConfig, WrittenSnapshot};
pub(crate) use recording::Salt;
pub use recording::{EventInput, RunRecording};
