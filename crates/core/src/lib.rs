//! A flight recorder for AI command-line tools. It records sessions to JSONL files that survive crashes, and replays them from what a crash has left;
//! it records runs of workflows to hash-chained logs, and verifies them; it seals both into bundles, and compares them.
//!
//! The names below are the whole API of the crate. `docs/ARCHITECTURE.md` describes the modules behind them and their dependencies.
//!
//! # Sessions
//!
//! ```
//! use session_tape_core::{FoldOptions, Replay};
//! # let mut file = tempfile::NamedTempFile::new()?;
//! # std::io::Write::write_all(&mut file, br#"{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}"#)?;
//! # let path = file.path();
//! let mut replay = Replay::open(path, FoldOptions::default()).map_err(|error| error.message().to_string())?;
//! while replay.scan_on().map_err(|error| error.message().to_string())?.is_some() {}
//! replay.settle();
//! assert_eq!(replay.outcome(None).event_count, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Runs
//!
//! ```
//! use session_tape_core::{Cancellation, Durability, RunDirectory, RunRecorder, RunRecorderConfig, RunReplayOptions, Task, Scheduler, Text};
//! # let root = tempfile::tempdir()?;
//! # let directory = root.path().join("weekly");
//! let recorder = RunRecorder::open(
//!     &RunRecorderConfig {
//!         directory: directory.clone(),
//!         mode: 0o600,
//!         run_id: Text::from_plain("run-1"),
//!         workflow: r#"{"name":"weekly","version":"1","nodes":[{"id":"fetch","kind":"task"}]}"#,
//!         scheduler: Scheduler::RoundRobin,
//!         capabilities: None,
//!         resume: false,
//!         durability: Durability::Os,
//!         owner: "this process".to_owned(),
//!     },
//!     0.0,
//!     |failure| eprintln!("no longer recording: {}", failure.error),
//! )?;
//! # let (sender, disposed) = std::sync::mpsc::channel();
//! recorder.dispose(move || sender.send(()).unwrap());
//! # disposed.recv()?;
//! let (go_on, mut quietly) = (Cancellation::default(), |_| ());
//! let mut task = Task { cancellation: &go_on, progress: &mut quietly };
//! let replayed = RunDirectory::new(&directory).replay(&RunReplayOptions::default(), &mut task).map_err(|failed| failed.error)?;
//! assert_eq!(replayed.event_count, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Bundles
//!
//! ```
//! use session_tape_core::{Cancellation, Task, ExportOptions, VerifyOptions, export_bundle, verify_bundle};
//! # let root = tempfile::tempdir()?;
//! # let session = root.path().join("session.jsonl");
//! # std::fs::write(&session, "{\"v\":1,\"seq\":1,\"type\":\"session_start\",\"payload\":{\"sessionId\":\"s\",\"projectHash\":\"h\"}}\n")?;
//! let (go_on, mut quietly) = (Cancellation::default(), |_| ());
//! let mut task = Task { cancellation: &go_on, progress: &mut quietly };
//! let bundle = root.path().join("session.cath-bundle.tar.zst");
//! export_bundle(&session, &bundle, &ExportOptions::default(), &mut task)?;
//! assert!(verify_bundle(&bundle, &VerifyOptions::default(), &mut task)?.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Diff
//!
//! ```
//! use session_tape_core::{Cancellation, DiffOptions, DiffSource, Task, diff};
//! # let root = tempfile::tempdir()?;
//! # let line = |model: &str| format!("{{\"v\":1,\"seq\":1,\"type\":\"session_start\",\"payload\":{{\"sessionId\":\"s\",\"projectHash\":\"h\",\"model\":\"{model}\"}}}}\n");
//! # let (left, right) = (root.path().join("left.jsonl"), root.path().join("right.jsonl"));
//! # std::fs::write(&left, line("small"))?;
//! # std::fs::write(&right, line("large"))?;
//! let (go_on, mut quietly) = (Cancellation::default(), |_| ());
//! let mut task = Task { cancellation: &go_on, progress: &mut quietly };
//! let (left, right) = (DiffSource::find(&left)?, DiffSource::find(&right)?);
//! assert!(diff(&left, &right, &DiffOptions::default(), &mut task)?.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! - A value of a session's file stays a byte range until it is laid out for delivery, in the form that its receiver wants ([`ItemLayout`](session::read::ItemLayout)).
//! - Content of a file is validated before it is used, even in files that this crate has written: a number is not used as an offset before it is
//!   known to be in range.
//! - Events take effect in file order, whatever their `seq`.
//! - No content of a file makes this crate panic, or recurse without a limit.
//! - Nothing here depends on Node.js.

// Only the module `disk` accesses files, and there in one place; see `clippy.toml`.
#![cfg_attr(not(test), warn(unreachable_pub))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

/// A point at which a test can end the process.
macro_rules! failpoint {
    ($name:literal) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name);
    };
}

pub mod archived;
pub mod atif;
pub mod bundle;
pub mod clock;
pub mod diff;
pub mod disk;
pub mod foreign;
pub mod hash;
pub mod json;
pub mod lines;
mod order;
pub mod recording;
pub mod repair;
pub mod run;
pub mod search;
pub mod session;
pub mod signature;
pub mod task;

pub use bundle::{
    BundleInfo, ExportOptions, ImportError, RedactOptions, RedactionRule, Report as BundleReport, VerifyOptions,
    export as export_bundle, import as import_bundle, verify as verify_bundle,
};
pub use diff::{Diff, DiffOptions, Source as DiffSource, diff, trace_ancestors};
pub use disk::Durability;
pub use disk::sniff::is_archive as is_archive_beginning;
pub use json::Text;
pub use lines::{LineSource, ReadError, SEGMENT_BYTES, Threads, WriteError, WriteFailure, Writer, equal_segments};
pub use recording::{Recording, RecordingError};
pub use repair::{RepairError, RepairOptions, RepairReceipt, repair as repair_session};
pub use run::record::{EventInput, RecordError, RunRecorder, RunRecorderConfig, WrittenSnapshot};
pub use run::{
    ErrorCode as RunErrorCode, ReplayOptions as RunReplayOptions, Replayed as ReplayedRun, RunDirectory, RunError,
    Scheduler, StartFrom, Verification, Verify,
};
pub use session::fold::{Checkpoint, FoldOptions};
pub use session::format::Mode as ReplayMode;
pub use session::read::{FinalHistory, LineStatus, Outcome, Replay, ReplayError};
pub use session::record::{FileNameForm, Record, Recorder, RecorderConfig};
pub use signature::{SigningKey, TrustedKeys};

pub use task::threading::STACK_BYTES;
pub use task::{Cancellation, InOrder, Pipeline, Progress, Task, Worker, spare_cores};
